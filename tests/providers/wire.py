"""What a service says in these tests: the public server, and chat completions for it."""

from __future__ import annotations

from notebook_agents.testing.wire import (
    CUT,
    HOLD,
    Reply,
    WireRequest,
    WireServer,
    chunk,
    event,
    head,
    streamed,
    whole,
    wire_server,
)
from notebook_agents.testing.wire.chat import DONE, STOP, delta
from notebook_agents.testing.wire.replies import LAST_CHUNK, STREAM_HEAD, Step

__all__ = [
    "CUT",
    "DONE",
    "HOLD",
    "LAST_CHUNK",
    "STOP",
    "STREAM_HEAD",
    "Reply",
    "Step",
    "WireRequest",
    "WireServer",
    "answer",
    "chunk",
    "delta",
    "event",
    "head",
    "streamed",
    "whole",
    "wire_server",
]


def answer(text: str, *, usage: dict | None = None) -> Reply:
    """Give a complete streamed answer."""
    counts = [event({"choices": [], "usage": usage})] if usage else []
    return streamed(event(delta(content=text)), STOP, *counts, DONE)
