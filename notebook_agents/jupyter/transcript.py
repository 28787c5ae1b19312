"""How the events of a run become what a reader sees of it, in order.

`Transcript` is a pure fold: the same events give the same segments, whether
they come from a live run or from a file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from notebook_agents.events import (
    ActionEvent,
    AnswerEvent,
    ApprovalRequestedEvent,
    ApprovalResultEvent,
    ErrorEvent,
    Event,
    GuardrailEvent,
    ObservationEvent,
    ProgressEvent,
    RetryEvent,
    TaskEvent,
    ThoughtEvent,
    TokenEvent,
    ToolErrorEvent,
)
from notebook_agents.jupyter._words import ENDS, WHY_CUT, Level, guard_text, retry_text
from notebook_agents.jupyter.html import STATES, State, ToolCard, notice
from notebook_agents.jupyter.look import Look
from notebook_agents.jupyter.record import ApprovalRecord
from notebook_agents.jupyter.segments import (
    ApprovalSegment,
    GrowingSegment,
    NoticeSegment,
    Segment,
    TextSegment,
    ThinkingSegment,
    ToolSegment,
)
from notebook_agents.results import laid_out

__all__ = ["Transcript"]

BLOCK_SIZE = 4096
"""Size, in characters, from which a text goes on in a new segment."""

_Args = Mapping[str, Any]

_Kind = TypeVar("_Kind", bound=Segment)

_CARD_STATES: dict[str, State] = {state: state for state in STATES}
_NOES = {"deny", "stop", "expired"}
_OPEN = {"running", "waiting", "approved"}


class Transcript:
    """The segments of a run, built up event by event.

    Parameters
    ----------
    look : Look, optional
        How it is shown.
    block_size : int, default 4096
        Size, in characters, from which a text goes on in a new segment.

    Examples
    --------
    >>> from notebook_agents.events import Origin
    >>> from notebook_agents.messages import Usage
    >>> transcript = Transcript()
    >>> event = TokenEvent(Origin("r1", "agent"), 1, 0.0, 1, Usage(), text="hi")
    >>> transcript.apply(event)
    ['text:1']
    >>> transcript.bundle("text:1")
    {'text/markdown': 'hi', 'text/plain': 'hi'}
    """

    def __init__(
        self, look: Look | None = None, *, block_size: int = BLOCK_SIZE
    ) -> None:
        self.is_finished = False
        """Whether the run has reached its end."""
        self._look = look or Look()
        self._is_json = False
        self._block_size = block_size
        self._segments: dict[str, Segment] = {}
        self._places: dict[str, int] = {}
        self._changed: set[str] = set()
        self._counts: dict[str, int] = {}
        self._calls: dict[str, str] = {}
        self._open: GrowingSegment | None = None

    @property
    def segments(self) -> tuple[Segment, ...]:
        """All segments, in the order in which they are shown."""
        return tuple(self._segments.values())

    @property
    def keys(self) -> tuple[str, ...]:
        """All keys, in the order in which their segments are shown."""
        return tuple(self._segments)

    @property
    def open_size(self) -> int:
        """Size of the text or thought that goes on, in characters."""
        return len(self._open.text) if self._open is not None else 0

    def bundle(self, key: str) -> dict[str, str]:
        """Give the MIME bundle of a segment.

        Parameters
        ----------
        key : str
            One of `keys`.

        Returns
        -------
        dict of str to str
            Markdown or HTML, never both, and plain text.
        """
        return self._segments[key].bundle()

    def apply(self, event: Event) -> list[str]:
        """Take in the next event.

        Parameters
        ----------
        event : Event
            The next event of the run.

        Returns
        -------
        list of str
            Keys of the segments that are new or have changed, in the order in
            which they are shown.
        """
        self._changed = set()
        if isinstance(event, TaskEvent):
            self._is_json = bool(event.output)
        handle = getattr(self, f"_on_{event.event}", None)
        if handle is not None:
            handle(event)
        return sorted(self._changed, key=self._places.__getitem__)

    # Text

    def _on_token(self, event: TokenEvent) -> None:
        if not event.text:
            return
        if event.channel == "reasoning":
            thought = self._thinking(event.step)
            thought.add(event.text)
            self._touch(thought)
        else:
            self._say(event.step, event.text)

    def _on_thought(self, event: ThoughtEvent) -> None:
        if event.kind == "plan":
            self._set_text(event.step, event.content)
            return
        told = [s for s in self._of_step(event.step) if isinstance(s, ThinkingSegment)]
        if _joined(told) != event.content.strip():
            for segment in told:
                self._clear(segment)
            thought = self._thinking(event.step)
            thought.add(event.content)
            self._touch(thought)
        self._close()

    def _on_answer(self, event: AnswerEvent) -> None:
        is_laid_out = self._is_json and not self._look.verbatim
        content = laid_out(event.content) if is_laid_out else event.content
        self._set_text(event.step, content)
        if event.stop_reason in WHY_CUT:
            self._notice(event.step, WHY_CUT[event.stop_reason], level="warning")
        self._finish()

    def _set_text(self, step: int, text: str) -> None:
        """Show a whole text, unless it is what was streamed."""
        told = [s for s in self._of_step(step) if isinstance(s, TextSegment)]
        if _joined(told) != text.strip():
            self._close()  # so that it begins in the first of them
            for segment in told:
                self._clear(segment)
            self._say(step, text)
        self._close()

    def _say(self, step: int, text: str) -> None:
        """Add to a text; where that gets long, go on in a new segment."""
        lead = "```json\n" if self._is_json and text.lstrip()[:1] in {"{", "["} else ""
        for start in range(0, len(text), self._block_size):
            rest: tuple[str, str] | None
            rest = text[start : start + self._block_size], lead
            while rest is not None:
                segment = self._text(step)
                self._touch(segment)
                rest = segment.add(rest[0], lead=rest[1])
                if rest is not None:
                    self._close()

    def _text(self, step: int) -> TextSegment:
        """Give the text segment that goes on, or a new one."""
        open_ = self._open
        if isinstance(open_, TextSegment) and open_.step == step:
            return open_
        self._close()
        for left in self._of_step(step):
            if isinstance(left, TextSegment) and not left.text:
                self._open = left
                left.is_open = True
                return left
        key = self._new_key("text")
        segment = TextSegment(key, step, limit=self._block_size, look=self._look)
        self._open = segment
        return self._add(segment)

    def _thinking(self, step: int) -> ThinkingSegment:
        """Give the thought that goes on, or a new one."""
        open_ = self._open
        if isinstance(open_, ThinkingSegment) and open_.step == step:
            return open_
        self._close()
        for left in self._of_step(step):
            if isinstance(left, ThinkingSegment) and not left.text:
                self._open = left
                left.is_open = True
                return left
        key = self._new_key("thinking")
        segment = ThinkingSegment(key, step, look=self._look)
        self._open = segment
        return self._add(segment)

    # Tools

    def _on_action(self, event: ActionEvent) -> None:
        self._close()
        card = ToolCard(
            tool=event.tool,
            args=event.args,
            label=event.label if event.label != event.tool else "",
        )
        self._add_call(event.call_id, event.step, card)

    def _add_call(self, call_id: str, step: int, card: ToolCard) -> ToolSegment:
        # Some models number their calls from zero again in each reply.
        key = f"tool:{call_id}"
        key = self._new_key(key) if key in self._segments or not call_id else key
        self._calls[call_id] = key
        return self._add(ToolSegment(key, step, card, self._look))

    def _call(self, event: Event, call_id: str, tool: str) -> ToolSegment:
        segment = self._segments.get(self._calls.get(call_id, ""))
        if isinstance(segment, ToolSegment):
            return segment
        return self._add_call(call_id, event.step, ToolCard(tool=tool or "tool"))

    def _update(self, segment: ToolSegment, **changes: Any) -> None:
        segment.card = replace(segment.card, **changes)
        self._touch(segment)

    def _on_progress(self, event: ProgressEvent) -> None:
        segment = self._call(event, event.call_id, event.tool)
        progress = (event.done, event.total, event.message)
        self._update(segment, progress=progress)

    def _on_tool_error(self, event: ToolErrorEvent) -> None:
        segment = self._call(event, event.call_id, event.tool)
        self._update(segment, state="failed", error=event.error, detail=event.detail)

    def _on_observation(self, event: ObservationEvent) -> None:
        segment = self._call(event, event.call_id, event.tool)
        state = segment.card.state
        # How a call was ended says more than the error it may have had before.
        is_stopped = event.status in {"denied", "cancelled"} and state != "cancelled"
        if state in _OPEN or is_stopped:
            state = _CARD_STATES.get(event.status, "failed")
        self._update(
            segment,
            state=state,
            result=event.content,
            seconds=event.seconds or None,
        )

    def _on_waiting_for_approval(self, event: ApprovalRequestedEvent) -> None:
        if event.call_id:  # else about the budget, not about a call
            segment = self._call(event, event.call_id, event.tool)
            self._update(segment, state="waiting")

    def _on_approval_result(self, event: ApprovalResultEvent) -> None:
        if not event.call_id:
            self._record(event, event.tool, event.args, event.args)
            return
        segment = self._call(event, event.call_id, event.tool)
        asked = segment.card.args
        args = event.args or asked
        state = "denied" if event.decision in _NOES else "approved"
        if "cancelled" in {event.decision, event.by}:
            state = "cancelled"
        self._update(segment, state=state, args=args)
        self._record(event, segment.card.tool, args, asked)
        # What runs in the cell runs once nothing is asked any more.
        tools = [s for s in self._of_step(event.step) if isinstance(s, ToolSegment)]
        if not any(each.card.state == "waiting" for each in tools):
            for each in tools:
                if each.card.state == "approved":
                    self._update(each, state="running")

    def _record(
        self, event: ApprovalResultEvent, tool: str, args: _Args, asked: _Args
    ) -> None:
        record = ApprovalRecord(
            agent=event.agent,
            tool=tool,
            args=args,
            decision=event.decision,
            reason=event.reason,
            by=event.by,
            at=event.ts,
            asked=asked,
            scope=event.scope,
            until=event.until,
        )
        key = f"approval:{event.request_id}"
        self._add(ApprovalSegment(key, event.step, record.bundle()))

    # Notices

    def _on_guardrail(self, event: GuardrailEvent) -> None:
        text = guard_text(event.guard, event.stage, event.action)
        level: Level = "warning" if event.action == "blocked" else "info"
        self._notice(event.step, text, level=level, key=f"guard:{event.step}:{text}")

    def _on_retry(self, event: RetryEvent) -> None:
        if event.discard_partial:
            for segment in self._of_step(event.step):
                self._clear(segment)
            self._close()
        text = retry_text(event.attempt, event.wait_s, event.reason, event.model)
        # Each step may have to pass over the same model again.
        self._notice(event.step, text, key=f"retry:{event.model or event.step}")

    def _on_error(self, event: ErrorEvent) -> None:
        text, level = ENDS.get(
            event.reason, (f"{event.reason}: {event.detail}", "error")
        )
        self._notice(event.step, text or event.detail or event.reason, level=level)
        self._finish()

    def _notice(
        self, step: int, text: str, *, level: Level = "info", key: str = ""
    ) -> None:
        self._close()
        key = key or self._new_key("notice")
        self._add(NoticeSegment(key, step, notice(text.strip(" :"), level=level)))

    # Segments

    def _new_key(self, start: str) -> str:
        self._counts[start] = number = self._counts.get(start, 0) + 1
        return f"{start}:{number}"

    def _add(self, segment: _Kind) -> _Kind:
        self._segments[segment.key] = segment
        self._places.setdefault(segment.key, len(self._places))
        self._touch(segment)
        return segment

    def _touch(self, segment: Segment) -> None:
        self._changed.add(segment.key)

    def _of_step(self, step: int) -> list[Segment]:
        return [s for s in self._segments.values() if s.step == step]

    def _clear(self, segment: Segment) -> None:
        """Take back what was said; the segment is used again for what comes."""
        if isinstance(segment, GrowingSegment) and segment.text:
            segment.clear()
            self._touch(segment)

    def _close(self) -> None:
        """End the text or thought that goes on."""
        if self._open is not None:
            self._open.is_open = False
            self._touch(self._open)
            self._open = None

    def _finish(self) -> None:
        self._close()
        for segment in self._segments.values():
            if not isinstance(segment, ToolSegment):
                continue
            if segment.card.state in _OPEN:
                self._update(segment, state="cancelled")
        self.is_finished = True


def _joined(segments: Sequence[GrowingSegment]) -> str:
    return "".join(segment.text for segment in segments).strip()
