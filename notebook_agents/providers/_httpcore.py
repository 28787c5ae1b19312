"""`HttpcoreWire`: requests over httpcore, the lower half of httpx."""

from __future__ import annotations

import functools
import ssl
import time
from collections import deque
from collections.abc import Mapping
from typing import Any

import httpcore
import httpx

from notebook_agents.providers._wire import KEEP_ALIVE_SECONDS, Head, Patience, Proxy

__all__ = ["ERRORS", "HttpcoreWire"]

ERRORS: tuple[type[Exception], ...] = (
    httpcore.NetworkError,
    httpcore.TimeoutException,
    httpcore.ProtocolError,
    httpcore.ProxyError,
    httpcore.UnsupportedProtocol,
    httpcore.ConnectionNotAvailable,
)

MOST_IDLE = 100
"""Connections that are kept open although nobody uses them."""

Connection = httpcore.AsyncHTTPConnection | httpcore.AsyncConnectionPool


class HttpcoreWire:
    """Send requests over as many connections as there are requests at a time.

    The pool of httpcore looks at all of its connections whenever a request
    begins or ends, which takes quadratic time where many go on at once, and a
    fifth of the time of one that goes on alone. Here the connection that was
    used last is used next, and no other is looked at.

    Parameters
    ----------
    context : SSLContext
        How to know the server, where it speaks TLS.
    proxy : Proxy or None
        What stands in between.
    """

    def __init__(self, context: ssl.SSLContext, proxy: Proxy | None) -> None:
        self._context = context
        self._proxy = proxy
        self._all: set[Connection] = set()
        self._idle: deque[tuple[float, Connection]] = deque()

    async def send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        patience: Patience,
    ) -> Head:
        """Send a request, as in `Wire.send`."""
        target, host = _parsed(url)
        usual = {"host": host, "content-length": str(len(body or b""))}
        named = usual | {name.lower(): value for name, value in headers.items()}
        request = httpcore.Request(
            method,
            target,
            headers=tuple(named.items()),
            content=body,
            extensions={
                "timeout": {
                    "connect": patience.connect,
                    "read": patience.stall,
                    "write": patience.stall,
                }
            },
        )
        connection = await self._take(request.url.origin)
        try:
            reply = await connection.handle_async_request(request)
        except BaseException:
            await self._give_back(connection)
            raise
        stream: Any = reply.stream
        is_closed = False

        async def close() -> None:
            nonlocal is_closed
            if is_closed:
                return  # given back twice, it would be used by two at once
            is_closed = True
            try:
                await stream.aclose()
            finally:
                await self._give_back(connection)

        return Head(
            status=reply.status,
            headers={
                name.decode("latin-1").lower(): value.decode("latin-1")
                for name, value in reply.headers
            },
            body=aiter(stream),
            close=close,
        )

    async def aclose(self) -> None:
        """Close all connections."""
        connections = list(self._all)
        self._all.clear()
        self._idle.clear()
        for connection in connections:
            await connection.aclose()

    async def _take(self, origin: httpcore.Origin) -> Connection:
        while self._idle:
            _, connection = self._idle.pop()
            if not _has_ended(connection):
                return connection
            await self._drop(connection)
        connection = self._new(origin)
        self._all.add(connection)
        return connection

    def _new(self, origin: httpcore.Origin) -> Connection:
        proxy = self._proxy
        if proxy is None:
            return httpcore.AsyncHTTPConnection(
                origin,
                ssl_context=self._context,
                keepalive_expiry=KEEP_ALIVE_SECONDS,
            )
        auth = (proxy.user, proxy.password) if proxy.user or proxy.password else None
        return httpcore.AsyncConnectionPool(
            ssl_context=self._context,
            proxy=httpcore.Proxy(proxy.url, auth=auth),
            keepalive_expiry=KEEP_ALIVE_SECONDS,
        )

    async def _give_back(self, connection: Connection) -> None:
        if connection not in self._all:
            return  # all have been closed meanwhile
        now = time.monotonic()
        idle = self._idle
        idle.append((now, connection))
        while idle and (len(idle) > MOST_IDLE or idle[0][0] < now - KEEP_ALIVE_SECONDS):
            await self._drop(idle.popleft()[1])

    async def _drop(self, connection: Connection) -> None:
        self._all.discard(connection)
        await connection.aclose()


def _has_ended(connection: Connection) -> bool:
    if isinstance(connection, httpcore.AsyncConnectionPool):
        return False  # it makes another one by itself
    if not connection.is_idle() or connection.has_expired():
        return True
    # What a server sent beyond its reply would pass for the next one.
    http = getattr(connection, "_connection", None)
    state = getattr(http, "_h11_state", None)
    return state is not None and bool(state.trailing_data[0])


@functools.lru_cache(maxsize=64)
def _parsed(url: str) -> tuple[httpcore.URL, str]:
    """Read a URL as httpx does; a provider asks at the same few again and again."""
    parts = httpx.URL(url)
    target = httpcore.URL(
        scheme=parts.raw_scheme,
        host=parts.raw_host,
        port=parts.port,
        target=parts.raw_path,
    )
    return target, parts.netloc.decode("ascii")
