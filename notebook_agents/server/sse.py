"""Server-sent events: the web's renderer of the events of a run.

A stream is ``intermediate`` events and then exactly one ``done`` or ``error``.
Each carries the number of the run's event as its ``id``, so that a reader who
lost the connection can go on from there.

References
----------
.. [1] WHATWG, *HTML Living Standard*, section 9.2, "Server-sent events".
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

from fastapi.responses import StreamingResponse
from pydantic_core import to_json

from notebook_agents.events import (
    ActionEvent,
    ApprovalRequestedEvent,
    Event,
    ObservationEvent,
    RetryEvent,
    ThoughtEvent,
    TokenEvent,
    ToolErrorEvent,
)
from notebook_agents.server.connection import Line
from notebook_agents.server.failures import public_text

__all__ = ["EventStreamResponse", "encode_event", "intermediate"]

Show = Callable[[Any], tuple[str, str, dict[str, Any]]]

ASKED_AGAIN = "The model service is waited for, or asked again."
_LINE_ENDS = re.compile(r"\r\n|\r|\n")
# Line ends to readers that use Python's splitlines, though not to the standard.
_SPLIT_BY_SOME = [
    (char.encode(), f"\\u{ord(char):04x}".encode()) for char in "\x85\u2028\u2029"
]
_NOT_IN_A_FIELD = re.compile(r"[\r\n\0]")
_NOT_INTERMEDIATE = frozenset({"task", "answer", "error"})
_SHARED = frozenset(
    {
        "event",
        "run_id",
        "seq",
        "ts",
        "agent",
        "context_tokens",
        "prompt_tokens",
        "completion_tokens",
        "reasoning_tokens",
    }
)


def encode_event(data: str, *, event: str = "", id: int | str = "") -> bytes:  # noqa: A002 - the field's name
    r"""Write one server-sent event.

    Parameters
    ----------
    data : str
        Any text; each of its lines becomes a ``data`` line [1]_.
    event : str, optional
        Name of the event.
    id : int or str, optional
        What a reader sends back as ``Last-Event-ID``.

    Returns
    -------
    bytes
        The event, with the blank line that ends it.

    Raises
    ------
    ValueError
        If the name or the id holds a line end or a NUL.

    References
    ----------
    .. [1] WHATWG, *HTML Living Standard*, section 9.2.6.

    Examples
    --------
    >>> encode_event("a\nb", event="note")
    b'event: note\ndata: a\ndata: b\n\n'
    """
    lines = []
    for name, value in (("id", str(id)), ("event", event)):
        if _NOT_IN_A_FIELD.search(value):
            message = f"{name} must not hold a line end or a NUL: {value!r}"
            raise ValueError(message)
        if value:
            lines.append(f"{name}: {value}")
    lines += [f"data: {line}" for line in _LINE_ENDS.split(data)]
    return ("\n".join(lines) + "\n\n").encode()


def encode_json(event: str, value: object, *, id: int | str = "") -> bytes:  # noqa: A002 - as above
    """Write one server-sent event whose data is JSON, which is one line.

    Parameters
    ----------
    event : str
        Name of the event, one of ours.
    value : object
        What JSON can hold, a pydantic model, or anything that has a ``str``.
    id : int or str, optional
        As in `encode_event`.

    Returns
    -------
    bytes
        The event.
    """
    data = to_json(value, fallback=str, inf_nan_mode="null")
    for raw, escaped in _SPLIT_BY_SOME:
        data = data.replace(raw, escaped)
    return b"id: %b\nevent: %b\ndata: %b\n\n" % (str(id).encode(), event.encode(), data)


def intermediate(event: Event, *, with_tokens: bool = False) -> dict[str, Any] | None:
    """Show what happens on the way to an answer.

    Parameters
    ----------
    event : Event
        Anything that happened.
    with_tokens : bool, default False
        Whether pieces of text are shown.

    Returns
    -------
    dict or None
        With ``type``, ``label`` and ``data``; None if it is not shown.
    """
    if isinstance(event, TokenEvent):
        if not with_tokens:
            return None
        data = {"text": event.text, "channel": event.channel}
        return {"type": "token", "label": "", "data": data}
    if event.event in _NOT_INTERMEDIATE:
        return None
    show: Show = _SHOWN.get(type(event), _shown)
    kind, label, data = show(event)
    return {"type": kind, "label": label, "data": {"step": event.step, **data}}


def _shown(event: Event) -> tuple[str, str, dict[str, Any]]:
    data = {key: v for key, v in event.to_dict().items() if key not in _SHARED}
    return event.event, str(data.get("tool", "")), data


def _shown_action(event: ActionEvent) -> tuple[str, str, dict[str, Any]]:
    data = {"tool": event.tool, "args": dict(event.args), "call_id": event.call_id}
    return "tool_call", event.label or event.tool, data


def _shown_observation(event: ObservationEvent) -> tuple[str, str, dict[str, Any]]:
    data = {
        "tool": event.tool,
        "call_id": event.call_id,
        "content": public_text(event),
        "seconds": event.seconds,
        "failed": event.failed,
    }
    return "tool_result", event.tool, data


def _shown_thought(event: ThoughtEvent) -> tuple[str, str, dict[str, Any]]:
    data = {"kind": event.kind, "content": event.content}
    return "thought", event.kind.capitalize(), data


def _shown_tool_error(event: ToolErrorEvent) -> tuple[str, str, dict[str, Any]]:
    data = {"tool": event.tool, "call_id": event.call_id, "error": public_text(event)}
    return "tool_error", event.tool, data


def _shown_retry(event: RetryEvent) -> tuple[str, str, dict[str, Any]]:
    # The words of the event name services, models and what is wrong with them.
    data = {
        "attempt": event.attempt,
        "wait_s": event.wait_s,
        "reason": ASKED_AGAIN,
        "discard_partial": event.discard_partial,
    }
    return "retry", "", data


def _shown_request(event: ApprovalRequestedEvent) -> tuple[str, str, dict[str, Any]]:
    data = {
        "agent": event.agent,
        "tool": event.tool,
        "args": dict(event.args),
        "call_id": event.call_id,
        **event.request,
    }
    return "approval_request", event.tool, data


_SHOWN: Mapping[type[Event], Show] = {
    ActionEvent: _shown_action,
    ApprovalRequestedEvent: _shown_request,
    ObservationEvent: _shown_observation,
    RetryEvent: _shown_retry,
    ThoughtEvent: _shown_thought,
    ToolErrorEvent: _shown_tool_error,
}


class EventStreamResponse(StreamingResponse):
    """A response of server-sent events that says when it is alive.

    Parameters
    ----------
    frames : async generator of bytes
        Encoded events.
    heartbeat : float or None
        Seconds of silence after which a comment is sent; None never.
    on_close : callable, optional
        Called when nobody reads any more, at the end or because the client
        has gone.
    headers : mapping, optional
        More response headers.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        frames: AsyncGenerator[bytes, None],
        *,
        heartbeat: float | None,
        on_close: Callable[[], None] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        # A proxy that buffers would hold the events back.
        quiet = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
        super().__init__(frames, headers={**quiet, **(headers or {})})
        self._frames = frames
        self._heartbeat = heartbeat
        self._on_close = on_close

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer, and clean up whatever way it ends."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            # A generator that was cancelled between two events is still open.
            await self._frames.aclose()
            if self._on_close is not None:
                self._on_close()

    async def stream_response(self, send: Any) -> None:
        """Send the events, with comments in between when it is quiet."""
        await send(
            {
                "type": "http.response.start",
                "status": self.status_code,
                "headers": self.raw_headers,
            }
        )
        line = Line(send)
        async with line.beating(self._heartbeat):
            async for frame in self._frames:
                await line.send(frame)
        await line.send(b"", is_last=True)
