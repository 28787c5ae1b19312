"""A request is sent, and its reply read as its bytes come.

With `_connections`, the only module that knows the HTTP library.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import cast

import httpx

from notebook_agents.providers._connections import (
    Verify,
    library_errors,
    shared_transport,
)
from notebook_agents.providers._transport import (
    TransportError,
    Trouble,
    transport_error,
)

__all__ = ["Client", "Exchange", "Patience", "TransportError", "Verify", "send"]

Client = httpx.AsyncClient
"""What ``http_client=`` takes."""

MOST_BYTES = 256 * 2**20
"""Bytes of a reply; more cannot be the answer of a model."""
MOST_WHOLE_BYTES = 16 * 2**20
"""Bytes of a reply that is read as a whole, or of one record of a stream."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long to wait for what.

    Parameters
    ----------
    total : float or None
        Seconds for a whole reply; None for no limit.
    connect : float
        Seconds until connected.
    stall : float
        Seconds between two bytes; those of a comment count too.
    """

    total: float | None = None
    connect: float = 10.0
    stall: float = 90.0


class Exchange:
    """A reply whose head is here and whose body is still coming.

    Parameters
    ----------
    response : httpx.Response
        The reply.
    deadline : float or None
        When it has to be complete, by the clock of the loop.
    """

    __slots__ = ("_deadline", "_response", "headers", "status")

    def __init__(self, response: httpx.Response, deadline: float | None) -> None:
        self._response = response
        self._deadline = deadline
        self.status = response.status_code
        self.headers: Mapping[str, str] = response.headers

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
        response = self._response
        is_packed = self.headers.get("content-encoding", "identity") != "identity"
        # What a mock answers is there already, and cannot be read as it comes.
        is_read = response.is_stream_consumed
        found = response.aiter_bytes() if is_packed or is_read else response.aiter_raw()
        stream = cast("AsyncGenerator[bytes, None]", found)
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
            await self._response.aclose()


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
        async with asyncio.timeout_at(deadline):
            response = await _response(
                method,
                url,
                headers,
                body,
                patience=patience,
                verify=verify,
                client=client,
            )
    except TimeoutError as error:
        raise TransportError(Trouble.DEADLINE) from error
    except library_errors() as error:
        failure = transport_error(error)
        raise failure from error
    return Exchange(response, deadline)


async def _response(
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: bytes | None,
    *,
    patience: Patience,
    verify: Verify,
    client: Client | None,
) -> httpx.Response:
    limits = httpx.Timeout(patience.stall, connect=patience.connect, pool=None)
    if client is not None:
        request = client.build_request(
            method, url, headers=headers, content=body, timeout=limits
        )
        return await client.send(request, stream=True)
    # A client of httpx would do nothing that is needed here, and take a quarter
    # of the time of a request for it.
    transport = await shared_transport(url, verify)
    request = httpx.Request(
        method,
        _parsed(url),
        headers=headers,
        content=body,
        extensions={"timeout": limits.as_dict()},
    )
    return await transport.handle_async_request(request)


async def _until(
    deadline: float, stream: AsyncGenerator[bytes, None]
) -> AsyncGenerator[bytes, None]:
    try:
        while True:
            try:
                async with asyncio.timeout_at(deadline):
                    chunk = await anext(stream, None)
            except TimeoutError as error:
                raise TransportError(Trouble.DEADLINE) from error
            if chunk is None:
                return
            yield chunk
    finally:
        await stream.aclose()


_parsed = functools.lru_cache(maxsize=64)(httpx.URL)
"""A provider asks at the same few URLs again and again."""
