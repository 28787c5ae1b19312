"""A request is sent, and its reply read as its bytes come."""

from __future__ import annotations

import asyncio
import contextlib
import zlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import TypeVar, cast

import httpx

from notebook_agents.providers import _httpcore
from notebook_agents.providers._connections import Verify, fast_library, shared_wire
from notebook_agents.providers._transport import (
    TransportError,
    Trouble,
    transport_error,
)
from notebook_agents.providers._wire import Head, Patience, Wire

__all__ = [
    "Client",
    "Exchange",
    "Patience",
    "TransportError",
    "Verify",
    "interpose",
    "send",
]

T = TypeVar("T")

Client = httpx.AsyncClient
"""What ``http_client=`` takes."""

MOST_BYTES = 256 * 2**20
"""Bytes of a reply; more cannot be the answer of a model."""
MOST_UNPACKED_BYTES = 2**20
"""Bytes that are unpacked at a time."""
MOST_WHOLE_BYTES = 16 * 2**20
"""Bytes of a reply that is read as a whole, or of one record of a stream."""


class Exchange:
    """A reply whose head is here and whose body is still coming.

    Parameters
    ----------
    head : Head
        The beginning of the reply.
    deadline : float or None
        When it has to be complete, by the clock of the loop.
    """

    __slots__ = ("_deadline", "_head", "headers", "status")

    def __init__(self, head: Head, deadline: float | None) -> None:
        self._head = head
        self._deadline = deadline
        self.status = head.status
        self.headers = head.headers

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Read the body as it comes.

        Yields
        ------
        bytes
            Whatever one read gave.

        Raises
        ------
        TransportError
            If it breaks off, stalls, or does not end.
        """
        left = MOST_BYTES
        stream = self._head.body
        if self.headers.get("content-encoding", "identity") != "identity":
            stream = _unpacked(stream)
        if self._deadline is not None:
            stream = _until(self._deadline, stream)
        try:
            async for chunk in stream:
                left -= len(chunk)
                if left < 0:
                    raise TransportError(Trouble.OVERSIZED)
                yield chunk
        except library_errors() as error:
            failure = transport_error(error, is_reading=True)
            raise failure from error
        finally:
            await stream.aclose()

    async def read(self, most: int = MOST_WHOLE_BYTES) -> bytes:
        """Read the body as a whole.

        Parameters
        ----------
        most : int
            Bytes that are accepted.

        Returns
        -------
        bytes
            The body.

        Raises
        ------
        TransportError
            If it breaks off, stalls, or is larger.
        """
        body = bytearray()
        chunks = self.chunks()
        try:
            async for chunk in chunks:
                body += chunk
                if len(body) > most:
                    raise TransportError(Trouble.OVERSIZED)
        finally:
            await chunks.aclose()
        return bytes(body)

    async def aclose(self) -> None:
        """Let go of the reply.

        Read to its end, its connection is used again; else it is closed.
        """
        with contextlib.suppress(*library_errors()):
            await self._head.close()


async def send(
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: bytes | None = None,
    *,
    patience: Patience,
    verify: Verify = True,
    client: Client | None = None,
) -> Exchange:
    """Send a request and wait for the head of its reply.

    Parameters
    ----------
    method : str
        ``GET`` or ``POST``.
    url : str
        Where to.
    headers : mapping of str to str
        The headers.
    body : bytes, optional
        What to send.
    patience : Patience
        How long to wait.
    verify : bool, str, path or SSLContext
        How to know the server; a path is that of certificates to trust.
    client : Client, optional
        Use this one, which is left open.

    Returns
    -------
    Exchange
        The reply; to be closed.

    Raises
    ------
    TransportError
        If there is no reply.
    """
    deadline = None
    if patience.total is not None:
        deadline = asyncio.get_running_loop().time() + patience.total
    try:
        wire: Wire = (
            await shared_wire(url, verify) if client is None else _ClientWire(client)
        )
        for put in _between:
            wire = put(wire)
        sending = wire.send(method, url, headers, body, patience)
        head = await _by(deadline, sending)
    except library_errors() as error:
        failure = transport_error(error)
        raise failure from error
    return Exchange(head, deadline)


_between: list[Callable[[Wire], Wire]] = []


def interpose(put: Callable[[Wire], Wire]) -> Callable[[], None]:
    """Put something between this process and all services, as tests do.

    Parameters
    ----------
    put : callable
        Takes the wire that a request would go over, and gives another.

    Returns
    -------
    callable
        Takes it away again.
    """
    _between.append(put)
    return lambda: _between.remove(put)


class _ClientWire:
    """Send requests with a client of the user's, which stays open."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        patience: Patience,
    ) -> Head:
        limits = httpx.Timeout(patience.stall, connect=patience.connect, pool=None)
        request = self._client.build_request(
            method, url, headers=headers, content=body, timeout=limits
        )
        # A client that follows them would take the key along.
        response = await self._client.send(request, stream=True, follow_redirects=False)
        headers = {
            name: value
            for name, value in response.headers.items()
            if name != "content-encoding"  # it is unpacked by the client
        }
        return Head(
            status=response.status_code,
            headers=headers,
            body=cast("AsyncGenerator[bytes, None]", response.aiter_bytes()),
            close=response.aclose,
        )

    async def aclose(self) -> None:
        """Leave it open."""


async def _unpacked(
    stream: AsyncGenerator[bytes, None],
) -> AsyncGenerator[bytes, None]:
    """Unpack what came packed although it was not asked for; gzip or deflate."""
    packing = zlib.decompressobj(zlib.MAX_WBITS | 32)
    try:
        async for chunk in stream:
            packed = chunk
            while packed:  # a few bytes may become very many
                yield packing.decompress(packed, MOST_UNPACKED_BYTES)
                packed = packing.unconsumed_tail
        yield packing.flush()
    finally:
        await stream.aclose()


async def _until(
    deadline: float, stream: AsyncGenerator[bytes, None]
) -> AsyncGenerator[bytes, None]:
    try:
        while (chunk := await _by(deadline, anext(stream, None))) is not None:
            yield chunk
    finally:
        await stream.aclose()


async def _by(deadline: float | None, work: Awaitable[T]) -> T:
    """Await something until a deadline, if there is one."""
    if deadline is None:
        return await work
    limit = asyncio.timeout_at(deadline)
    try:
        async with limit:
            return await work
    except TimeoutError as error:
        if limit.expired():  # else it is one of the library's own
            raise TransportError(Trouble.DEADLINE) from error
        raise


def library_errors() -> tuple[type[Exception], ...]:
    """Give all that an HTTP library raises."""
    fast = fast_library()
    return (
        *(OSError, zlib.error, httpx.HTTPError, httpx.StreamError, httpx.InvalidURL),
        *_httpcore.ERRORS,
        *(fast.ERRORS if fast else ()),
    )
