"""`OneAtATime`: taking turns, also between loops."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from concurrent.futures import Future

__all__ = ["OneAtATime"]


class OneAtATime:
    """Let one in at a time, in the order of arrival, from whatever loop.

    A lock of asyncio belongs to one loop: when it is released, a coroutine that
    waits on another one is not woken.

    Examples
    --------
    >>> import asyncio
    >>> turns = OneAtATime()
    >>> async def work():
    ...     async with turns:
    ...         return "alone"
    >>> asyncio.run(work())
    'alone'
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._line: deque[Future[None]] = deque()
        """Those who wait; the first has its turn."""

    async def __aenter__(self) -> None:
        mine: Future[None] = Future()
        with self._lock:
            self._line.append(mine)
            is_free = len(self._line) == 1
        if is_free:
            return
        try:
            # Shielded: whoever gives up must not cancel what another one sets.
            await asyncio.shield(asyncio.wrap_future(mine))
        except BaseException:
            self._leave(mine)
            raise

    async def __aexit__(self, *_exception: object) -> None:
        self._leave(self._line[0])

    def _leave(self, who: Future[None]) -> None:
        with self._lock:
            had_its_turn = self._line[0] is who
            self._line.remove(who)
            if had_its_turn and self._line:
                self._line[0].set_result(None)
