"""`AiohttpWire`: requests over aiohttp, which is much faster where it is installed."""

from __future__ import annotations

import asyncio
import base64
import functools
import ssl
import weakref
from collections.abc import AsyncGenerator, Mapping

import aiohttp
import yarl

from notebook_agents.providers._wire import KEEP_ALIVE_SECONDS, Head, Patience, Proxy

__all__ = ["ERRORS", "AiohttpWire"]

ERRORS: tuple[type[Exception], ...] = (aiohttp.ClientError,)


class AiohttpWire:
    """Send requests with a session of aiohttp.

    Parameters
    ----------
    context : SSLContext
        How to know the server, where it speaks TLS.
    proxy : Proxy or None
        What stands in between.
    """

    def __init__(self, context: ssl.SSLContext, proxy: Proxy | None) -> None:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=0,  # there is none
                keepalive_timeout=KEEP_ALIVE_SECONDS,
                ssl=context,
            ),
            cookie_jar=aiohttp.DummyCookieJar(),  # shared by people who differ
            auto_decompress=False,
        )
        self._bodies: weakref.WeakKeyDictionary[
            asyncio.Future[None], aiohttp.StreamReader
        ] = weakref.WeakKeyDictionary()
        """The reply that each connection carries, by the end of that."""
        self._proxy = None if proxy is None else proxy.url
        self._proxy_headers = _headers_of(proxy)

    async def send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        patience: Patience,
    ) -> Head:
        """Send a request, as in `Wire.send`."""
        if url.startswith("http:"):  # else they are for the tunnel alone
            headers = {**headers, **self._proxy_headers}
        asking = self._session.request(
            method,
            _parsed(url),
            headers=headers,
            data=body,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(
                sock_connect=patience.connect, sock_read=patience.stall
            ),
            proxy=self._proxy,
            proxy_headers=self._proxy_headers,
        )
        # After a "100 Continue" aiohttp 3.14 has no time limit any more.
        limit = asyncio.timeout(2 * (patience.connect + patience.stall))
        try:
            async with limit:
                response = await asking
        except TimeoutError as error:
            if limit.expired():
                raise aiohttp.SocketTimeoutError from error
            raise

        async def close() -> None:
            response.close()  # which leaves one alone that was read to its end

        self._watch(response)
        return Head(
            status=response.status,
            headers=response.headers,
            body=_body(response.content),
            close=close,
        )

    async def aclose(self) -> None:
        """Close all connections."""
        await self._session.close()

    def _watch(self, response: aiohttp.ClientResponse) -> None:
        """See to it that a reply ends with its connection.

        Where a body breaks the rules of HTTP, aiohttp 3.14 drops the connection and
        its time limits, and whoever reads would wait for ever.
        """
        connection = response.connection
        protocol = None if connection is None else connection.protocol
        closed = getattr(protocol, "closed", None)
        if closed is not None:
            if closed not in self._bodies:
                closed.add_done_callback(self._end)
            self._bodies[closed] = response.content

    def _end(self, closed: asyncio.Future[None]) -> None:
        if not closed.cancelled():
            closed.exception()  # now it has been seen
        content = self._bodies.pop(closed, None)
        if content is not None and not content.is_eof() and not content.exception():
            content.set_exception(aiohttp.ClientPayloadError("broken reply"))


async def _body(content: aiohttp.StreamReader) -> AsyncGenerator[bytes, None]:
    while chunk := await content.readany():
        yield chunk


def _headers_of(proxy: Proxy | None) -> dict[str, str]:
    if proxy is None or not (proxy.user or proxy.password):
        return {}
    secret = base64.b64encode(f"{proxy.user}:{proxy.password}".encode()).decode()
    return {"Proxy-Authorization": f"Basic {secret}"}


_parsed = functools.lru_cache(maxsize=64)(yarl.URL)
"""A provider asks at the same few URLs again and again."""
