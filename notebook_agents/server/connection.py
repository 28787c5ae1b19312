"""The connection to a client: what is sent, signs of life, and when it is gone."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Send

__all__ = ["Line", "departure"]

HEARTBEAT = b": keepalive\n\n"


async def departure(receive: Receive) -> None:
    """Await the moment in which the client is gone.

    Parameters
    ----------
    receive : callable
        Gives the next message of the client.
    """
    while (await receive())["type"] != "http.disconnect":
        pass


class Line:
    """The way to a client, for the body of a response.

    Parameters
    ----------
    send : callable
        Takes the messages to the client.
    first : dict, optional
        What begins the response, its status and its headers: it is sent when
        there is something to send. Left out, the response has begun.
    """

    def __init__(self, send: Send, first: Message | None = None) -> None:
        self._send = send
        self._first = first
        self._has_ended = False
        self._lock = asyncio.Lock()
        self._loop = asyncio.get_running_loop()
        self._last = self._loop.time()

    @property
    def has_begun(self) -> bool:
        """Whether the client has the status and the headers."""
        return self._first is None

    async def send(self, frame: bytes, *, is_last: bool = False) -> None:
        """Send a part of the body.

        Parameters
        ----------
        frame : bytes
            The part.
        is_last : bool, default False
            Whether it ends the response.

        Raises
        ------
        ClientDisconnect
            If the client is gone; not every server says so.
        """
        async with self._lock:
            await self._put(frame, is_last=is_last)

    @contextlib.asynccontextmanager
    async def beating(self, seconds: float | None) -> AsyncIterator[None]:
        """Send a comment whenever it was quiet for a while.

        Parameters
        ----------
        seconds : float or None
            How long that is; None is for ever.

        Yields
        ------
        None
            Nothing.
        """
        if seconds is None:
            yield
            return
        beat = asyncio.create_task(self._beat(seconds))
        try:
            yield
        finally:
            beat.cancel()

    async def _beat(self, seconds: float) -> None:
        while True:
            await asyncio.sleep(self._last + seconds - self._loop.time())
            async with self._lock:
                if self._has_ended:
                    return
                if self._loop.time() >= self._last + seconds:
                    try:
                        await self._put(HEARTBEAT, is_last=False)
                    except ClientDisconnect:
                        return

    async def _put(self, frame: bytes, *, is_last: bool) -> None:
        try:
            if self._first is not None:
                first, self._first = self._first, None
                await self._send(first)
            self._has_ended = is_last
            await self._send(
                {"type": "http.response.body", "body": frame, "more_body": not is_last}
            )
        except OSError as error:
            raise ClientDisconnect from error
        self._last = self._loop.time()
