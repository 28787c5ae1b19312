"""Text as server-sent events: what a handler yields, in frames of bounded size.

Nothing is sent before there is something to send. A failure until then is an
ordinary error response; a later one is an ``error`` event. ``[DONE]`` is last.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterable, Iterator, MutableMapping
from io import IncrementalNewlineDecoder
from typing import Any

from fastapi.responses import JSONResponse, StreamingResponse
from pydantic_core import to_json
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from notebook_agents import checks
from notebook_agents.errors import (
    AgentConfigurationError,
    AgentProviderError,
    GuardrailBlockedError,
)
from notebook_agents.server.connection import Line, departure
from notebook_agents.server.failures import report
from notebook_agents.server.logs import Redaction
from notebook_agents.server.sse import encode_event

__all__ = ["ANSWERED", "TextStreamResponse", "failure_response", "sse_response"]

CHUNK_SIZE = 64  # characters
DONE = "[DONE]"
_WITHIN_DONE = re.compile(r"(?<=\[)(?=DONE\])")
# Frames after which others have their turn: a source may never wait by itself.
BREATH = 64
_REDACTION = Redaction(())

ANSWERED = (AgentConfigurationError, AgentProviderError, GuardrailBlockedError)
"""What a client is told of in an ordinary response, if nothing has been sent."""


def sse_response(
    stream: AsyncIterable[Any],
    *,
    chunk_size: int = CHUNK_SIZE,
    heartbeat_seconds: float | None = None,
) -> StreamingResponse:
    r"""Answer with a stream of text, in any FastAPI or Starlette application.

    Each piece of text becomes ``data:`` lines, and ``data: [DONE]`` is the
    end. A client that goes away stops the stream, and so the run behind it.

    Parameters
    ----------
    stream : AgentStream or async iterable of str
        What is sent.
    chunk_size : int, default 64
        Most characters of one event.
    heartbeat_seconds : float, optional
        Seconds of silence after which a comment is sent; left out, never.

    Returns
    -------
    StreamingResponse
        A failure of the provider or the set-up before the first text is a 502
        or a 500 with JSON, what a guard blocked a 400; later it is an
        ``error`` event.

    Raises
    ------
    TypeError
        If it is not an async iterable.
    ValueError
        If one of the settings cannot be right.

    Examples
    --------
    >>> import asyncio, httpx
    >>> from fastapi import FastAPI
    >>> from notebook_agents import Agent, ScriptedProvider
    >>> app = FastAPI()
    >>> agent = Agent(ScriptedProvider(["Hello there"]))
    >>> @app.post("/ask")
    ... async def ask(message: str):
    ...     return sse_response(agent.stream(message))
    >>> async def post():
    ...     transport = httpx.ASGITransport(app)
    ...     async with httpx.AsyncClient(transport=transport) as http:
    ...         return (await http.post("http://api/ask?message=Hi")).text
    >>> asyncio.run(post())
    'data: Hello th\n\ndata: ere\n\ndata: [DONE]\n\n'
    """
    if not hasattr(stream, "__aiter__"):
        message = f"A stream is an async iterable, not a {type(stream).__name__}."
        raise TypeError(message)
    checks.whole("chunk_size", chunk_size, least=1)
    if heartbeat_seconds is not None:
        checks.seconds("heartbeat_seconds", heartbeat_seconds)
    return TextStreamResponse(
        stream,
        chunk_size=chunk_size,
        heartbeat=heartbeat_seconds,
        answers_failures=True,
    )


def failure_response(error: Exception) -> Response:
    """Answer with a failure of the provider or the set-up, and log it.

    Parameters
    ----------
    error : Exception
        What went wrong, one of `ANSWERED`.

    Returns
    -------
    Response
        500 for the set-up, 502 for the provider, 504 if it was too slow, 400
        for what a guard blocked; the JSON has the message, without what looks
        like a key.
    """
    body: dict[str, Any] = {"error": _REDACTION.redact(str(error))}
    if isinstance(error, GuardrailBlockedError):
        body["is_blocked"] = True
    return JSONResponse(body, status_code=report(error).status)


class TextStreamResponse(StreamingResponse):
    """Server-sent events made of text, and cleaned up whatever way they end.

    Parameters
    ----------
    source : async iterable
        Gives text. Anything else that it gives is sent as JSON.
    chunk_size : int, default 64
        Most characters of one event.
    heartbeat : float, optional
        Seconds of silence after which a comment is sent.
    answers_failures : bool, default False
        Whether a failure before the first byte is answered here. If not, it
        is raised, for the exception handlers of the application.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        source: AsyncIterable[Any],
        *,
        chunk_size: int = CHUNK_SIZE,
        heartbeat: float | None = None,
        answers_failures: bool = False,
    ) -> None:
        self._frames = frames(source, chunk_size)
        # A proxy that buffers would hold the events back.
        headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
        super().__init__(self._frames, headers=headers)
        self._heartbeat = heartbeat
        self._answers_failures = answers_failures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer until the end, or until the client has gone."""
        line = Line(send, self._first_message(scope))
        work = asyncio.create_task(self._answer(line))
        leaving = asyncio.create_task(departure(receive))
        try:
            await asyncio.wait({work, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            # Whoever made the text has cleaned up before the request is over.
            work.cancel()
            leaving.cancel()
            await asyncio.wait({work, leaving})
        error = None if work.cancelled() else work.exception()
        if isinstance(error, ANSWERED):
            if not self._answers_failures:
                raise error
            await failure_response(error)(scope, receive, send)
        elif error is not None:
            raise error
        if self.background is not None:
            await self.background()

    def _first_message(self, scope: Scope) -> MutableMapping[str, Any]:
        headers = list(self.raw_headers)
        if scope.get("http_version", "1.1").startswith("1"):  # HTTP/2 forbids it
            headers.append((b"connection", b"keep-alive"))
        return {
            "type": "http.response.start",
            "status": self.status_code,
            "headers": headers,
        }

    async def _answer(self, line: Line) -> None:
        try:
            async with line.beating(self._heartbeat):
                await self._relay(line)
        except ClientDisconnect:
            pass  # some servers tell it when something is sent
        finally:
            await self._frames.aclose()

    async def _relay(self, line: Line) -> None:
        try:
            number = 0
            async for frame in self._frames:
                await line.send(frame)
                number += 1
                if number % BREATH == 0:
                    await asyncio.sleep(0)
        except ClientDisconnect:
            raise
        except Exception as error:
            if not line.has_begun:
                raise
            await line.send(encode_event(report(error).detail, event="error"))
        await line.send(encode_event(DONE), is_last=True)


async def frames(
    source: AsyncIterable[Any], chunk_size: int
) -> AsyncGenerator[bytes, None]:
    """Encode what a source gives.

    Parameters
    ----------
    source : async iterable
        Gives text, or anything that JSON can show.
    chunk_size : int
        Most characters of one event.

    Yields
    ------
    bytes
        One or more server-sent events.
    """
    # A line may end within "\r\n" here and go on there: readers know only "\n".
    newlines = IncrementalNewlineDecoder(None, translate=True)
    items = aiter(source)
    try:
        async for item in items:
            if not isinstance(item, str):
                yield encode_event(to_json(item, fallback=str).decode())
            elif text := newlines.decode(item):
                yield encode_text(text, chunk_size)
        if text := newlines.decode("", final=True):
            yield encode_text(text, chunk_size)
    finally:
        close = getattr(items, "aclose", None)
        if close is not None:
            await close()


def encode_text(text: str, size: int) -> bytes:
    r"""Write a text as server-sent events.

    Parameters
    ----------
    text : str
        With ``"\n"`` as the only end of a line.
    size : int
        Most characters of one event.

    Returns
    -------
    bytes
        The events.

    Examples
    --------
    >>> encode_text("a\nbcd", 4)
    b'data: a\ndata: bc\n\ndata: d\n\n'
    """
    events = []
    for piece in pieces(text, size):
        lines = piece.replace("\n", "\ndata: ")
        events.append(f"data: {lines}\n\n")
    # Half a character has no encoding; the rest of the text is not lost for it.
    return "".join(events).encode(errors="replace")


def pieces(text: str, size: int) -> Iterator[str]:
    r"""Cut a text into pieces; an empty one gives none.

    Parameters
    ----------
    text : str
        Any text.
    size : int
        Most characters of a piece.

    Yields
    ------
    str
        A piece that nobody takes for the end of the stream, though they look
        only at a line of it, or for ``[DONE]`` anywhere.

    Examples
    --------
    >>> list(pieces("Hello", 2)), list(pieces("Say\n[DONE]", 64))
    (['He', 'll', 'o'], ['Say\n[', 'DONE]'])
    """
    for start in range(0, len(text), size):
        yield from _WITHIN_DONE.split(text[start : start + size])
