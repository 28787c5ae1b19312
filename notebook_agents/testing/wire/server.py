"""`WireServer`: a model service on the loopback that says what it is told to say."""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

from notebook_agents.testing.wire.catalogue import scenario
from notebook_agents.testing.wire.replies import CUT, HOLD, Reply, Wait, whole

__all__ = ["WireRequest", "WireServer", "wire_server"]

SECONDS = 5.0
"""How long to wait until the server is there, or gone."""
TLS_HELLO = b"\x16"


@dataclass(frozen=True, slots=True)
class WireRequest:
    """One request, as it came.

    Parameters
    ----------
    method, path : str
        The first line, with the query.
    headers : dict of str to str
        Names in lower case.
    raw : bytes
        The body.
    connection : int
        Number of the connection that it came over, from 1.
    """

    method: str
    path: str
    headers: dict[str, str]
    raw: bytes
    connection: int

    @property
    def body(self) -> Any:
        """The body, parsed as JSON."""
        return json.loads(self.raw)


class WireServer:
    """A model service that answers from a script; `wire_server` makes one.

    It speaks whatever it is told to, in the order in which requests come, and
    waits for nothing but the other side.

    Parameters
    ----------
    tls : SSLContext, optional
        The certificate of a server that speaks HTTPS.
    """

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[WireRequest] = []
        """Every request, in order."""
        self.connections = 0
        """How many connections there were."""
        self.open_connections = 0
        """How many of them are open."""
        self.port = 0
        """Where it listens, on 127.0.0.1."""
        self._tls = tls
        self._replies: deque[Reply] = deque()
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def __repr__(self) -> str:
        return f"<WireServer at {self.url}: {len(self._replies)} replies left>"

    @property
    def url(self) -> str:
        """The base URL for a provider; any path below it will do."""
        scheme = "http" if self._tls is None else "https"
        return f"{scheme}://127.0.0.1:{self.port}/v1"

    def say(self, *replies: str | Reply) -> Self:
        """Add replies to the script.

        Parameters
        ----------
        *replies : str or list of bytes
            Names of scenarios, or replies of your own. One is a single reply:
            after ``"chat/tool_call"`` say what comes next.

        Returns
        -------
        WireServer
            The same.

        Raises
        ------
        AgentConfigurationError
            If there is no scenario of that name.
        """
        self._replies.extend(
            scenario(reply).reply if isinstance(reply, str) else reply
            for reply in replies
        )
        return self

    def assert_done(self) -> None:
        """Fail if the script has replies left.

        Raises
        ------
        AssertionError
            With their number.
        """
        if self._replies:
            message = (
                f"{len(self._replies)} replies were not asked for, after "
                f"{len(self.requests)} requests."
            )
            raise AssertionError(message)

    async def serve(self, until: asyncio.Event, is_up: Callable[[], None]) -> None:
        """Listen on a free port.

        Parameters
        ----------
        until : asyncio.Event
            When to end; open connections are dropped then.
        is_up : callable
            Called once it listens.
        """
        listener = await asyncio.start_server(
            self._begin, "127.0.0.1", 0, ssl=self._tls
        )
        self.port = listener.sockets[0].getsockname()[1]
        is_up()
        await until.wait()
        listener.close()
        for writer in tuple(self._writers):
            writer.transport.abort()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=SECONDS)

    def _begin(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        task = asyncio.get_running_loop().create_task(self._talk(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _talk(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Answer everything that comes over one connection."""
        self.connections += 1
        self.open_connections += 1
        number = self.connections
        self._writers.add(writer)
        try:
            while (request := await _read(reader, number)) is not None:
                self.requests.append(request)
                if not await self._answer(request, reader, writer):
                    return
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass  # the other side has gone
        finally:
            self.open_connections -= 1
            self._writers.discard(writer)
            writer.transport.abort()

    async def _answer(
        self,
        request: WireRequest,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> bool:
        """Say the next reply; False if that was the end of the connection."""
        reply = self._replies.popleft() if self._replies else _nothing_left(request)
        for step in reply:
            if step is HOLD:
                await reader.read()  # until the other side gives up
            if step is HOLD or step is CUT:
                return False
            if isinstance(step, Wait):
                await asyncio.sleep(step.seconds)
            elif isinstance(step, bytes):
                writer.write(step)
                await writer.drain()
        return True


@contextmanager
def wire_server(
    *replies: str | Reply, tls: ssl.SSLContext | None = None
) -> Iterator[WireServer]:
    """Serve on the loopback what real model services send, odd and broken things too.

    Works anywhere: in a test, sync or async, and in a cell. The server has a
    thread and a loop of its own.

    Parameters
    ----------
    *replies : str or list of bytes
        What to say, in the order of the requests: names of scenarios such as
        ``"chat/cut_stream"`` (`scenario_names` lists them), or replies of your own.
    tls : SSLContext, optional
        The certificate of a server that speaks HTTPS.

    Yields
    ------
    WireServer
        Running; its ``url`` is for a provider, its ``requests`` are what came.

    Raises
    ------
    AgentConfigurationError
        If there is no scenario of that name.
    RuntimeError
        If the loopback cannot be listened on.

    Examples
    --------
    >>> from notebook_agents import Agent
    >>> from notebook_agents.providers import OpenAICompatibleProvider
    >>> def add(a: int, b: int) -> int:
    ...     return a + b
    >>> def mul(a: int, b: int) -> int:
    ...     return a * b
    >>> from notebook_agents.testing import wire_server
    >>> with wire_server("chat/same_index", "chat/answer") as server:
    ...     provider = OpenAICompatibleProvider(server.url, "any-model")
    ...     result = Agent(provider, [add, mul]).run_sync("1 + 2, and 3 * 4?")
    >>> [call["content"] for call in result.tool_calls], str(result)
    (['3', '12'], 'Hello.')
    >>> len(server.requests)
    2
    """
    server, is_up = WireServer(tls), threading.Event()
    server.say(*replies)
    loops: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def main() -> None:
        stop = asyncio.Event()
        loops.append((asyncio.get_running_loop(), stop))
        await server.serve(stop, is_up.set)

    def run() -> None:
        with asyncio.Runner() as runner:
            runner.run(main())

    thread = threading.Thread(target=run, name="notebook-agents-wire", daemon=True)
    thread.start()
    if not is_up.wait(SECONDS):
        message = "The server on the loopback did not come up."
        raise RuntimeError(message)
    try:
        yield server
    finally:
        loop, stop = loops[0]
        loop.call_soon_threadsafe(stop.set)
        thread.join(SECONDS)


async def _read(reader: asyncio.StreamReader, number: int) -> WireRequest | None:
    try:
        head = await reader.readexactly(1)
        if head == TLS_HELLO:
            return None
        head += await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").strip().split("\r\n")
        method, path, _ = first.split(" ")
        headers = {}
        for line in lines:
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        raw = await reader.readexactly(int(headers.get("content-length", 0)))
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
        return None  # the end, or no HTTP
    return WireRequest(method, path, headers, raw, number)


def _nothing_left(request: WireRequest) -> Reply:
    said = f"the script has no reply left for {request.method} {request.path}"
    return whole(418, {"error": {"message": said}})
