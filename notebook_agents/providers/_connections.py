"""Connections to model services, one set for each event loop and origin.

They are shared by everything that runs on the loop, and closed with it.
"""

from __future__ import annotations

import asyncio
import functools
import importlib
import os
import ssl
import threading
import time
import urllib.request
import weakref
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpcore
import httpx

from notebook_agents.errors import AgentConfigurationError, MissingFileError
from notebook_agents.providers.discovery import is_loopback

__all__ = [
    "Lanes",
    "Verify",
    "check_certificates",
    "library_errors",
    "shared_transport",
]

Verify = bool | str | os.PathLike[str] | ssl.SSLContext

KEEP_ALIVE_SECONDS = 60.0
MOST_IDLE = 100
"""Connections that are kept open although nobody uses them."""


# ------------------------------------------------------ one for each loop and origin

_transports: weakref.WeakKeyDictionary[
    asyncio.AbstractEventLoop, dict[tuple[str, int], _Held]
] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class _Held:
    """A transport, and the generator that closes it when the loop ends."""

    transport: httpx.AsyncBaseTransport
    keeper: AsyncGenerator[None, None]


async def shared_transport(url: str, verify: Verify) -> httpx.AsyncBaseTransport:
    """Give the transport of this loop for an origin, made now if there is none.

    Parameters
    ----------
    url : str
        Where a request goes.
    verify : bool, str, path or SSLContext
        How to know the server; a path is that of certificates to trust.

    Returns
    -------
    httpx.AsyncBaseTransport
        To send requests with; it is closed with the loop.
    """
    parts = urlsplit(url)
    context = _context(verify) if parts.scheme == "https" else _plain_context()
    loop = asyncio.get_running_loop()
    key = (f"{parts.scheme}://{parts.netloc}", id(context))
    held = _transports.get(loop, {}).get(key)
    if held is not None:
        return held.transport
    transport = _new_transport(context, _proxy_for(url))
    keeper = _keep(loop, key, transport)
    with _lock:
        # It knows its loop, so the entry of a closed loop keeps itself alive.
        for other in [other for other in _transports if other.is_closed()]:
            del _transports[other]
        _transports.setdefault(loop, {})[key] = _Held(transport, keeper)
    await anext(keeper)
    return transport


async def _keep(
    loop: asyncio.AbstractEventLoop,
    key: tuple[str, int],
    transport: httpx.AsyncBaseTransport,
) -> AsyncGenerator[None, None]:
    """Close a transport when the loop shuts its generators down, as a run does."""
    try:
        yield
    finally:
        with _lock:
            held = _transports.get(loop, {})
            if key in held and held[key].transport is transport:
                del held[key]
        await transport.aclose()


def _new_transport(
    context: ssl.SSLContext, proxy: httpx.Proxy | None
) -> httpx.AsyncBaseTransport:
    fast = _fast_transport_class()
    if fast is None:
        return Lanes(lambda: _new_lane(context, proxy))
    # There zero means that there is no limit.
    limits = httpx.Limits(max_connections=0, keepalive_expiry=KEEP_ALIVE_SECONDS)
    return fast(verify=context, limits=limits, proxy=proxy)


def _new_lane(
    context: ssl.SSLContext, proxy: httpx.Proxy | None
) -> httpx.AsyncBaseTransport:
    if proxy is None:
        return Line(context)
    limits = httpx.Limits(keepalive_expiry=KEEP_ALIVE_SECONDS)
    return httpx.AsyncHTTPTransport(verify=context, limits=limits, proxy=proxy)


def _proxy_for(url: str) -> httpx.Proxy | None:
    """Look up which proxy the environment names; none leads to this machine."""
    parts = urlsplit(url)
    if is_loopback(parts.hostname) or urllib.request.proxy_bypass(parts.netloc):
        return None
    proxies = urllib.request.getproxies()
    found = proxies.get(parts.scheme) or proxies.get("all")
    if not found:
        return None
    return httpx.Proxy(found if "://" in found else f"http://{found}")


@functools.cache
def _fast_transport_class() -> Callable[..., httpx.AsyncBaseTransport] | None:
    try:
        module = importlib.import_module("httpx_aiohttp")
    except ImportError:
        return None
    found: Callable[..., httpx.AsyncBaseTransport] = module.AiohttpTransport
    return found


def library_errors() -> tuple[type[Exception], ...]:
    """Give all that the HTTP library raises; httpx-aiohttp lets some through."""
    mine = (
        *(httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, OSError),
        *(httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError),
        *(httpcore.ConnectionNotAvailable, httpcore.UnsupportedProtocol),
    )
    if _fast_transport_class() is None:
        return mine
    return (*mine, importlib.import_module("aiohttp").ClientError)


# --------------------------------------------------------------- without aiohttp


class Line(httpx.AsyncBaseTransport):
    """One connection, made again when it has been closed.

    Parameters
    ----------
    context : SSLContext
        How to know the server, where it speaks TLS.
    """

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        self._connection: httpcore.AsyncHTTPConnection | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; only one at a time.

        Parameters
        ----------
        request : httpx.Request
            The request.

        Returns
        -------
        httpx.Response
            The reply, whose body is still coming.
        """
        target = request.url
        sent = httpcore.Request(
            request.method,
            httpcore.URL(
                scheme=target.raw_scheme,
                host=target.raw_host,
                port=target.port,
                target=target.raw_path,
            ),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        connection = self._connection
        if connection is None or not connection.is_idle() or connection.has_expired():
            await self.aclose()
            connection = self._connection = httpcore.AsyncHTTPConnection(
                sent.url.origin,
                ssl_context=self._context,
                keepalive_expiry=KEEP_ALIVE_SECONDS,
            )
        reply = await connection.handle_async_request(sent)
        return httpx.Response(
            reply.status,
            headers=reply.headers,
            stream=_Body(reply.stream),
            extensions=reply.extensions,
        )

    async def aclose(self) -> None:
        """Close the connection, if there is one."""
        if self._connection is not None:
            await self._connection.aclose()


class Lanes(httpx.AsyncBaseTransport):
    """As many transports as there are requests at the same time.

    The pool of httpcore looks at each of its connections whenever a request
    begins or ends, which takes quadratic time where many go on at once. Here
    nothing is looked at but the one used last, which is used next.

    Parameters
    ----------
    make : callable
        Gives a transport for one connection.
    """

    def __init__(self, make: Callable[[], httpx.AsyncBaseTransport]) -> None:
        self._make = make
        self._all: set[httpx.AsyncBaseTransport] = set()
        self._idle: deque[tuple[float, httpx.AsyncBaseTransport]] = deque()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; its lane is free again when the reply is closed.

        Parameters
        ----------
        request : httpx.Request
            The request.

        Returns
        -------
        httpx.Response
            The reply, whose body is still coming.
        """
        if self._idle:
            _, lane = self._idle.pop()
        else:
            lane = self._make()
            self._all.add(lane)
        try:
            response = await lane.handle_async_request(request)
        except BaseException:
            await self._give_back(lane)
            raise
        response.stream = _Body(response.stream, lambda: self._give_back(lane))
        return response

    async def aclose(self) -> None:
        """Close all connections."""
        lanes = list(self._all)
        self._all.clear()
        self._idle.clear()
        for lane in lanes:
            await lane.aclose()

    async def _give_back(self, lane: httpx.AsyncBaseTransport) -> None:
        if lane not in self._all:
            return  # all have been closed meanwhile
        now = time.monotonic()
        idle = self._idle
        idle.append((now, lane))
        while len(idle) > MOST_IDLE or idle[0][0] < now - KEEP_ALIVE_SECONDS:
            _, surplus = idle.popleft()
            self._all.discard(surplus)
            await surplus.aclose()


class _Body(httpx.AsyncByteStream):
    """The body of a reply, and what to do once it is closed."""

    def __init__(
        self, body: Any, then: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        self._body = body
        self._then = then
        self._is_closed = False

    def __aiter__(self) -> AsyncIterator[bytes]:
        return aiter(self._body)

    async def aclose(self) -> None:
        if self._is_closed:
            return  # given back twice, a lane would be used by two at once
        self._is_closed = True
        try:
            await self._body.aclose()
        finally:
            if self._then is not None:
                await self._then()


# ------------------------------------------------------------------- certificates


@functools.cache
def _plain_context() -> ssl.SSLContext:
    """Give a context for plain HTTP: httpx wants one, and loading CAs is slow."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def check_certificates(verify: Verify) -> None:
    """Refuse a path of certificates where there are none.

    Parameters
    ----------
    verify : bool, str, path or SSLContext
        As in `shared_transport`.

    Raises
    ------
    MissingFileError
        If there is no such file or folder.
    """
    if isinstance(verify, str | os.PathLike) and not Path(verify).expanduser().exists():
        message = (
            f"There are no certificates at {str(verify)!r}. Correct the path, which "
            "verify= or CA_BUNDLE_PATH names, or leave it out."
        )
        raise MissingFileError(message)


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
