"""The one place that knows the HTTP library: a reply is read as its bytes come.

Clients are shared by everything that runs on one event loop and talks to one
origin; they are closed with that loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import importlib
import os
import ssl
import threading
import weakref
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

import httpx

from notebook_agents.errors import AgentConfigurationError
from notebook_agents.providers._transport import (
    TransportError,
    Trouble,
    transport_error,
)
from notebook_agents.providers.discovery import is_loopback

__all__ = ["Client", "Exchange", "Patience", "TransportError", "Verify", "send"]

Client = httpx.AsyncClient
"""What ``http_client=`` takes."""
Verify = bool | str | os.PathLike[str] | ssl.SSLContext

MOST_BYTES = 256 * 2**20
"""Bytes of a reply; more cannot be the answer of a model."""
MOST_WHOLE_BYTES = 16 * 2**20
"""Bytes of a reply that is read as a whole, or of one record of a stream."""
KEEP_ALIVE_SECONDS = 60.0
# The pool of httpcore walks all idle connections at each request.
MOST_IDLE = 20


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
        is_packed = self.headers.get("content-encoding", "identity") != "identity"
        response = self._response
        found = response.aiter_bytes() if is_packed else response.aiter_raw()
        stream = cast("AsyncGenerator[bytes, None]", found)
        if self._deadline is not None:
            stream = _until(self._deadline, stream)
        try:
            async for chunk in stream:
                left -= len(chunk)
                if left < 0:
                    raise TransportError(Trouble.OVERSIZED)
                yield chunk
        except _errors() as error:
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
        with contextlib.suppress(*_errors()):
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
    if client is None:
        client = await _shared_client(url, verify)
    timeout = httpx.Timeout(patience.stall, connect=patience.connect, pool=None)
    request = client.build_request(
        method, url, headers=headers, content=body, timeout=timeout
    )
    deadline = None
    if patience.total is not None:
        deadline = asyncio.get_running_loop().time() + patience.total
    try:
        async with asyncio.timeout_at(deadline):
            response = await client.send(request, stream=True)
    except TimeoutError as error:
        raise TransportError(Trouble.DEADLINE) from error
    except _errors() as error:
        failure = transport_error(error)
        raise failure from error
    return Exchange(response, deadline)


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


def _errors() -> tuple[type[Exception], ...]:
    """Give all that the HTTP library raises; httpx-aiohttp lets some through."""
    mine = (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, OSError)
    if _fast_client_class() is None:
        return mine
    return (*mine, importlib.import_module("aiohttp").ClientError)


# ----------------------------------------------------------------- shared clients

_clients: weakref.WeakKeyDictionary[
    asyncio.AbstractEventLoop, dict[tuple[str, int], _Held]
] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class _Held:
    """A client, and the generator that closes it when the loop ends."""

    client: Client
    keeper: AsyncGenerator[None, None]


async def _shared_client(url: str, verify: Verify) -> Client:
    """Give the client of this loop for an origin, made now if there is none."""
    parts = urlsplit(url)
    context = _context(verify) if parts.scheme == "https" else _plain_context()
    loop = asyncio.get_running_loop()
    key = (f"{parts.scheme}://{parts.netloc}", id(context))
    held = _clients.get(loop, {}).get(key)
    if held is not None and not held.client.is_closed:
        return held.client
    client = _new_client(context, is_local=is_loopback(parts.hostname))
    keeper = _keep(loop, key, client)
    with _lock:
        # A client knows its loop, so the entry of a closed loop keeps itself alive.
        for other in [other for other in _clients if other.is_closed()]:
            del _clients[other]
        _clients.setdefault(loop, {})[key] = _Held(client, keeper)
    await anext(keeper)
    return client


async def _keep(
    loop: asyncio.AbstractEventLoop, key: tuple[str, int], client: Client
) -> AsyncGenerator[None, None]:
    """Close a client when the loop shuts its generators down, as a run does."""
    try:
        yield
    finally:
        with _lock:
            held = _clients.get(loop, {})
            if key in held and held[key].client is client:
                del held[key]
        await client.aclose()


def _new_client(context: ssl.SSLContext, *, is_local: bool) -> Client:
    kind = _fast_client_class() or httpx.AsyncClient
    if kind is httpx.AsyncClient:
        limits = httpx.Limits(
            max_connections=None,
            max_keepalive_connections=MOST_IDLE,
            keepalive_expiry=KEEP_ALIVE_SECONDS,
        )
    else:  # there zero means that there is no limit
        limits = httpx.Limits(max_connections=0, keepalive_expiry=KEEP_ALIVE_SECONDS)
    # A proxy of the environment leads away from this machine.
    return kind(
        verify=context, limits=limits, trust_env=not is_local, follow_redirects=False
    )


@functools.cache
def _fast_client_class() -> type[Client] | None:
    try:
        module = importlib.import_module("httpx_aiohttp")
    except ImportError:
        return None
    found: type[Client] = module.HttpxAiohttpClient
    return found


@functools.cache
def _plain_context() -> ssl.SSLContext:
    """Give a context for plain HTTP: httpx wants one, and loading CAs is slow."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _context(verify: Verify) -> ssl.SSLContext:
    if isinstance(verify, ssl.SSLContext):
        return verify
    return _made_context(verify if isinstance(verify, bool) else str(verify))


@functools.lru_cache(maxsize=8)
def _made_context(verify: bool | str) -> ssl.SSLContext:  # noqa: FBT001 - a cache key
    if isinstance(verify, bool):
        return httpx.create_ssl_context(verify=verify)
    path = Path(verify).expanduser()
    try:
        if path.is_dir():
            return ssl.create_default_context(capath=str(path))
        return ssl.create_default_context(cafile=str(path))
    except OSError as error:  # ssl.SSLError is one
        message = f"The certificates {verify!r} cannot be read: {error}"
        raise AgentConfigurationError(message) from error
