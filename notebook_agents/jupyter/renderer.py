"""`CellRenderer`: the transcript of a run, kept up to date in the cell.

Every segment has a display of its own. What changes is collected and shown in
rounds, at most ten a second however fast the model is and however many tools
run; text is on screen within 150 ms. The last round is what the notebook saves.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any, Literal

from IPython.display import DisplayHandle

from notebook_agents.events import (
    AnswerEvent,
    ApprovalRequestedEvent,
    ApprovalResultEvent,
    ErrorEvent,
    Event,
    GuardrailEvent,
    ObservationEvent,
    RetryEvent,
)
from notebook_agents.jupyter._words import LIMITS, encodable
from notebook_agents.jupyter.html import header
from notebook_agents.jupyter.look import Look
from notebook_agents.jupyter.markdown import safe_bundle
from notebook_agents.jupyter.record import ApprovalRecord
from notebook_agents.jupyter.segments import TextSegment
from notebook_agents.jupyter.transcript import Transcript
from notebook_agents.messages import Usage
from notebook_agents.run import Run
from notebook_agents.waiting import running_loop

__all__ = ["HEADER", "CellRenderer"]

logger = logging.getLogger(__name__)

SECONDS_BETWEEN_ROUNDS = 0.1
MOST_SECONDS_BETWEEN_ROUNDS = 0.15
CHARACTERS_PER_SECOND = 100_000
"""How much open text is sent again in a second, as far as rounds can wait."""
SECONDS_BETWEEN_CLOCKS = 1.0

HEADER = "header"
"""Name of the line on top."""
_QUIET_PARTS = ("text:", "notice:")

_State = Literal["running", "waiting", "done", "failed", "cancelled"]


class CellRenderer:
    """Show one run in the calling cell.

    Parameters
    ----------
    agent, model : str
        Names for the line above.
    note : str
        Anything else to say there.
    look : Look, optional
        How the run is shown.
    make_output : callable, optional
        ``(name of a part) -> output``, which is used like a ``DisplayHandle``;
        such a handle when left out.
    elapsed : callable, optional
        Gives the seconds since the run began; counted from now when left out.
    is_alone : bool, default False
        Whether nobody else tells how the run failed.
    is_recorded : callable, optional
        ``(request_id) -> bool``: whether somebody else leaves a record of what was
        decided about it; nobody does when left out.
    """

    def __init__(
        self,
        *,
        agent: str,
        model: str,
        note: str = "",
        look: Look | None = None,
        make_output: Callable[[str], Any] | None = None,
        elapsed: Callable[[], float] | None = None,
        is_alone: bool = False,
        is_recorded: Callable[[str], bool] | None = None,
    ) -> None:
        self._look = look or Look()
        self._make_output = make_output or (lambda _: DisplayHandle())
        self._is_alone = is_alone
        self._is_recorded = is_recorded or (lambda _: False)
        self._names = {"agent": agent, "model": model, "note": note}
        self._transcript = Transcript(self._look)
        self._displays: dict[str, Any] = {}
        self._objects: dict[str, dict[str, Any]] = {}
        self._stale: dict[str, None] = {HEADER: None}
        self._shown_elsewhere: set[str] = set()
        self._unshowable: set[str] = set()
        self._told_within: set[str] = set()
        self._waiting: set[str] = set()
        self._state: _State = "running"
        """By the events so far."""
        self._shown_state: _State = "running"
        self._usage = Usage()
        self._run: Run | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._seen = 0
        began = time.monotonic()
        self._elapsed = elapsed or (lambda: time.monotonic() - began)
        self._last_round = float("-inf")
        self._timer: asyncio.TimerHandle | None = None
        self._flush()

    def watch(self, run: Run) -> None:
        """Say what to show, and show what there is of it by now.

        Parameters
        ----------
        run : Run
            What to show.
        """
        self._run, self._loop = run, asyncio.get_running_loop()
        self.catch_up()

    async def follow(self, run: Run) -> None:
        """Show a run until it ends.

        Parameters
        ----------
        run : Run
            What to show.
        """
        self.watch(run)
        clock = asyncio.create_task(self._keep_time())
        try:
            async for _ in run.events():
                self._read()
        except Exception:
            # What cannot be shown must not end what is running.
            logger.exception("the run could not be shown to its end")
        finally:
            clock.cancel()
            self._stale[HEADER] = None
            self._flush()

    def catch_up(self) -> None:
        """Give everything that has happened so far its place on screen, now.

        What has its place already is brought up to date in the next round.
        """
        if self._loop is not None and running_loop() is not self._loop:
            # A tool has started a run on a loop of its own.
            self._loop.call_soon_threadsafe(self.catch_up)
            return
        self._read()
        if self._stale.keys() - self._displays.keys() - self._shown_elsewhere:
            self._flush()

    def replace_answer(self, bundle: dict[str, Any]) -> None:
        """Show the answer as something else than its text.

        Parameters
        ----------
        bundle : dict
            The MIME bundle of that.
        """
        parts = self._transcript.segments
        texts = [part for part in parts if isinstance(part, TextSegment) and part.text]
        keys = [text.key for text in texts if text.step == texts[-1].step] or ["answer"]
        self._objects.update({key: {"text/plain": ""} for key in keys})
        self._objects[keys[0]] = safe_bundle(bundle)
        for key in keys:
            self._show(key)

    def _read(self) -> None:
        events = self._run.recorded if self._run is not None else ()
        for event in events[self._seen :]:
            self._seen = event.seq
            try:
                self._apply(event)
            except Exception:
                logger.exception("an event could not be shown: %s", event.event)
        if self._shown_state != self._state_now:
            self._stale[HEADER] = None
        if self._stale:
            self._flush_soon()

    def _apply(self, event: Event) -> None:
        self._usage = event.usage
        changed = self._transcript.apply(event)
        if isinstance(event, RetryEvent) and event.model:
            self._names["model"] = event.model
            self._stale[HEADER] = None
        if isinstance(event, ApprovalRequestedEvent):
            self._waiting.add(event.request["id"])
        elif self._is_said_elsewhere(event):
            self._hide(changed)
        self._stale.update(dict.fromkeys(changed))
        self._state = self._state_after(event)
        if isinstance(event, ObservationEvent | AnswerEvent | ErrorEvent):
            self._record_within(until=event.ts)
        if isinstance(event, ObservationEvent) and event.bundle:
            key = f"object:{event.seq}"
            self._objects[key] = safe_bundle(event.bundle)
            self._stale[key] = None

    def _record_within(self, *, until: float) -> None:
        """Show what was decided in runs of agents that a tool has asked.

        Their events are not among those of the run.
        """
        for row in self._run.decided_within if self._run is not None else ():
            request_id = row["request_id"]
            if row["at"] > until or request_id in self._told_within:
                continue
            self._told_within.add(request_id)
            if not self._is_recorded(request_id):
                facts = {name: row[name] for name in row if name != "request_id"}
                key = f"approval:{request_id}"
                self._objects[key] = ApprovalRecord(**facts).bundle()
                self._stale[key] = None

    def _is_said_elsewhere(self, event: Event) -> bool:
        if isinstance(event, ApprovalResultEvent):
            return self._is_recorded(event.request_id)
        if self._is_alone:
            return False
        # What ends the cell is raised there, in a line of its own.
        if isinstance(event, GuardrailEvent):
            return event.action == "blocked" and event.stage != "tool"
        return isinstance(event, ErrorEvent) and event.reason not in LIMITS

    def _hide(self, changed: list[str]) -> None:
        kinds = {part.key: part.kind for part in self._transcript.segments}
        hidden = [key for key in changed if kinds[key] in {"approval", "notice"}]
        self._shown_elsewhere.update(hidden)

    def _state_after(self, event: Event) -> _State:
        if isinstance(event, AnswerEvent):
            return "done"
        if isinstance(event, ErrorEvent):
            return "cancelled" if event.reason == "cancelled" else "failed"
        if isinstance(event, ApprovalResultEvent):
            self._waiting.discard(event.request_id)
        return "waiting" if self._waiting else "running"

    @property
    def _state_now(self) -> _State:
        # Events tell of questions of the run itself, and not of those of agents
        # that its tools ask.
        is_asked = self._run is not None and bool(self._run.approvals)
        return "waiting" if self._state == "running" and is_asked else self._state

    def _flush_soon(self) -> None:
        if self._timer is not None:
            return
        # The open text is sent whole each time, so the longer, the less often.
        wait = self._transcript.open_size / CHARACTERS_PER_SECOND
        wait = max(SECONDS_BETWEEN_ROUNDS, min(wait, MOST_SECONDS_BETWEEN_ROUNDS))
        left = self._last_round + wait - time.monotonic()
        if left <= 0:
            self._flush()
        else:
            self._timer = asyncio.get_running_loop().call_later(left, self._flush)

    def _flush(self) -> None:
        """Show all that is new or has changed, in one round."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for key in self._stale:
            if key not in self._shown_elsewhere and self._is_wanted(key):
                self._show(key)
        self._stale.clear()
        self._last_round = time.monotonic()

    def _is_wanted(self, key: str) -> bool:
        return not self._look.quiet or key.startswith(_QUIET_PARTS)

    def _show(self, key: str) -> None:
        try:
            bundle = encodable(self._bundle(key))
            display = self._displays.get(key)
            if display is None:
                display = self._make_output(key)
                display.display(bundle, raw=True)
                self._displays[key] = display
            else:
                display.update(bundle, raw=True)
        except Exception:
            if key not in self._unshowable:
                logger.exception("a part of the run could not be shown: %s", key)
            self._unshowable.add(key)

    def _bundle(self, key: str) -> dict[str, Any]:
        if key == HEADER:
            return self._header_bundle()
        if key in self._objects:
            return self._objects.pop(key)
        return self._transcript.bundle(key)

    async def _keep_time(self) -> None:
        while True:
            await asyncio.sleep(SECONDS_BETWEEN_CLOCKS)
            self._stale[HEADER] = None
            self._flush_soon()

    def _header_bundle(self) -> dict[str, str]:
        self._shown_state = self._state_now
        return header(
            **self._names,
            state=self._shown_state,
            seconds=self._elapsed(),
            usage=self._usage,
        )
