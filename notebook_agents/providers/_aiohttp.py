"""`AiohttpWire`: requests over aiohttp, which is much faster where it is installed."""

from __future__ import annotations

import base64
import functools
import ssl
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
        response = await self._session.request(
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

        async def close() -> None:
            response.close()  # which leaves one alone that was read to its end

        return Head(
            status=response.status,
            headers=response.headers,
            body=_body(response.content),
            close=close,
        )

    async def aclose(self) -> None:
        """Close all connections."""
        await self._session.close()


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
