"""A model service on a real socket that says exactly the bytes of a script.

Each reply is a list of steps: bytes to write, `HOLD` to go silent, `CUT` to drop
the connection. Everything waits for the next step of the other side, nothing for
a clock.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum


class Step(Enum):
    """What to do besides writing bytes."""

    HOLD = "say nothing more, and keep the connection"
    CUT = "drop the connection"


HOLD, CUT = Step.HOLD, Step.CUT
TLS_HELLO = b"\x16"

Reply = list["bytes | Step"]


@dataclass
class Request:
    """One request, as it came."""

    method: str
    path: str
    headers: dict[str, str]
    raw: bytes
    connection: int
    """Number of the connection, from 1."""

    @property
    def body(self) -> dict:
        return json.loads(self.raw)


@dataclass
class WireServer:
    """What was asked, and what is still to be said."""

    replies: deque[Reply] = field(default_factory=deque)
    requests: list[Request] = field(default_factory=list)
    connections: int = 0
    open_connections: int = 0
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def say(self, *replies: Reply) -> WireServer:
        self.replies.extend(replies)
        return self

    async def serve(self, reader, writer) -> None:
        self.connections += 1
        self.open_connections += 1
        number = self.connections
        try:
            while (request := await _read(reader, number)) is not None:
                self.requests.append(request)
                reply = self.replies.popleft() if self.replies else NOTHING_LEFT
                for step in reply:
                    if step is HOLD:
                        await reader.read()  # until the other side gives up
                        return
                    if step is CUT:
                        return
                    writer.write(step)
                    await writer.drain()
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.open_connections -= 1
            writer.transport.abort()


@contextmanager
def wire_server(context: ssl.SSLContext | None = None) -> Iterator[WireServer]:
    """Serve in a thread of its own, so that any loop can ask; with TLS if asked to."""
    server, ready = WireServer(), threading.Event()

    async def main() -> None:
        listener = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=context)
        server.port = listener.sockets[0].getsockname()[1]
        ready.set()
        try:
            await stop.wait()
        finally:
            listener.close()
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

    stop = asyncio.Event()
    runner = asyncio.Runner()
    loop = runner.get_loop()
    thread = threading.Thread(target=runner.run, args=(main(),), daemon=True)
    thread.start()
    assert ready.wait(5)
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(5)
        runner.close()


async def _read(reader, number: int) -> Request | None:
    try:
        head = await reader.readexactly(1)
        if head == TLS_HELLO:
            return None
        head += await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").strip().split("\r\n")
    method, path, _ = first.split(" ")
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    raw = await reader.readexactly(int(headers.get("content-length", 0)))
    return Request(method, path, headers, raw, number)


# ------------------------------------------------------------------ what to say


def head(status: int = 200, headers: dict[str, str] | None = None) -> bytes:
    lines = [f"HTTP/1.1 {status} Whatever"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return "\r\n".join([*lines, "", ""]).encode()


def whole(status: int, body: object, **headers: str) -> Reply:
    """Give a reply with a length; a dict is sent as JSON."""
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


def streamed(*pieces: bytes | Step) -> Reply:
    """Give a stream, one chunk a piece, ended unless a step ended it."""
    steps: Reply = [STREAM_HEAD]
    steps += [piece if isinstance(piece, Step) else chunk(piece) for piece in pieces]
    if not isinstance(steps[-1], Step):
        steps.append(LAST_CHUNK)
    return steps


def event(data: object) -> bytes:
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return f"data: {text}\n\n".encode()


def delta(finish: str | None = None, **fields: object) -> dict:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


DONE = event("[DONE]")
STOP = event(delta("stop"))


def answer(text: str, *, usage: dict | None = None) -> Reply:
    """Give a complete streamed answer."""
    counts = [event({"choices": [], "usage": usage})] if usage else []
    return streamed(event(delta(content=text)), STOP, *counts, DONE)


NOTHING_LEFT = whole(418, {"error": {"message": "the script has no line left"}})
