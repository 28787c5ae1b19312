"""What a model service says, byte by byte: the parts of a reply."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

__all__ = [
    "CUT",
    "HOLD",
    "LAST_CHUNK",
    "STREAM_HEAD",
    "Reply",
    "Step",
    "Wait",
    "chunk",
    "event",
    "head",
    "streamed",
    "whole",
]


class Step(Enum):
    """What to do besides writing bytes."""

    HOLD = "say nothing more, and keep the connection"
    CUT = "drop the connection"


HOLD, CUT = Step.HOLD, Step.CUT


@dataclass(frozen=True, slots=True)
class Wait:
    """Say nothing for a while.

    Parameters
    ----------
    seconds : float
        How long.
    """

    seconds: float


Reply: TypeAlias = list[bytes | Step | Wait]
"""Bytes to write, one write each, and steps."""


def head(status: int = 200, headers: dict[str, str] | None = None) -> bytes:
    """Give the beginning of a reply.

    Parameters
    ----------
    status : int, default 200
        The status code.
    headers : dict of str to str, optional
        The headers.

    Returns
    -------
    bytes
        Up to the blank line.
    """
    lines = [f"HTTP/1.1 {status} Whatever"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return "\r\n".join([*lines, "", ""]).encode()


def whole(status: int, body: object, **headers: str) -> Reply:
    """Give a reply that comes at once.

    Parameters
    ----------
    status : int
        The status code.
    body : object
        Bytes are sent as a web page, anything else as JSON.
    **headers : str
        More headers, with ``_`` for ``-``.

    Returns
    -------
    list of bytes
        The reply.

    Examples
    --------
    >>> whole(429, {}, retry_after="7")[0].splitlines()[3]
    b'retry-after: 7'
    """
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    kind = "text/html" if isinstance(body, bytes) else "application/json"
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    sent = {"content-type": kind, "content-length": str(len(raw)), **named}
    return [head(status, sent) + raw]


def chunk(data: bytes) -> bytes:
    """Give one chunk of the chunked transfer coding."""
    return b"%x\r\n%s\r\n" % (len(data), data)


STREAM_HEAD = head(
    200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"}
)
LAST_CHUNK = b"0\r\n\r\n"


def streamed(*pieces: bytes | Step | Wait) -> Reply:
    """Give a stream, one chunk a piece, ended unless a step ended it.

    Parameters
    ----------
    *pieces : bytes, Step or Wait
        Events, or parts of them, and what else to do.

    Returns
    -------
    list of bytes, Step and Wait
        The reply.
    """
    steps: Reply = [STREAM_HEAD]
    steps += [chunk(each) if isinstance(each, bytes) else each for each in pieces]
    if not isinstance(steps[-1], Step):
        steps.append(LAST_CHUNK)
    return steps


def event(data: object, name: str = "") -> bytes:
    r"""Give one server-sent event.

    Parameters
    ----------
    data : object
        Text, or what is written as JSON.
    name : str, optional
        Of the event.

    Returns
    -------
    bytes
        With the blank line at its end.

    Examples
    --------
    >>> event({"a": 1})
    b'data: {"a": 1}\n\n'
    """
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    named = f"event: {name}\n" if name else ""
    return f"{named}data: {text}\n\n".encode()
