"""`ResultCache`: the results of one function, each computed once.

Equal calls at the same time share one execution, whatever threads and loops they
are on. An error is shared by those who wait for it, and not kept.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import contextvars
import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, NamedTuple

__all__ = ["CacheInfo", "ResultCache"]

LOOK_UP_SECONDS = 0.1
"""How often a blocked thread lets an interrupt in."""
LOST_SECONDS = 1.0
"""How often those who await look whether the loop of the work is still there."""

_leading: contextvars.ContextVar[tuple[_Flight, ...]] = contextvars.ContextVar(
    "notebook_agents_cached_calls", default=()
)
"""The executions that the running code is part of."""


class CacheInfo(NamedTuple):
    """How a cache has done, as `functools.lru_cache` tells it."""

    hits: int
    """Calls that needed no execution of their own."""
    misses: int
    """Executions."""
    maxsize: int | None
    """Most results that are kept; None is any number."""
    currsize: int
    """Results that are kept now."""


class _Kept(NamedTuple):
    """A result."""

    value: Any


class _Flight:
    """One execution that goes on, and who waits for it."""

    def __init__(self, loop: asyncio.AbstractEventLoop | None) -> None:
        self.landed: concurrent.futures.Future[None] = concurrent.futures.Future()
        self.value: Any = None
        self.error: BaseException | None = None
        self.is_shared = False
        """Whether what became of it holds for everybody who waits."""
        self.waiting = 1
        self.loop = loop
        self.task: asyncio.Task[None] | None = None

    @property
    def is_lost(self) -> bool:
        """Whether it will never land: its loop was closed."""
        is_closed = self.loop is not None and self.loop.is_closed()
        return is_closed and not self.landed.done()

    def outcome(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.value


class ResultCache:
    """The results of one function.

    Parameters
    ----------
    maxsize : int or None
        Most results; those that were not asked for the longest go first.
    is_kept : callable
        Tells whether a result may be given to several callers.
    """

    def __init__(
        self, maxsize: int | None, *, is_kept: Callable[[Any], bool] = lambda _: True
    ) -> None:
        self._maxsize = maxsize
        self._is_kept = is_kept
        self._results: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._flights: dict[Hashable, _Flight] = {}
        self._hits = self._misses = 0
        self._lock = threading.Lock()
        _caches.add(self)

    def info(self) -> CacheInfo:
        """Tell how it has done."""
        with self._lock:
            size = len(self._results)
            return CacheInfo(self._hits, self._misses, self._maxsize, size)

    def clear(self) -> None:
        """Forget every result; executions that go on are not kept either."""
        with self._lock:
            self._results.clear()
            self._flights = {}
            self._hits = self._misses = 0

    def call(self, key: Hashable, function: Callable[[], Any]) -> Any:
        """Give the result of a plain function; block while another computes it.

        Parameters
        ----------
        key : hashable
            What was asked for.
        function : callable
            Computes it.

        Returns
        -------
        object
            The result; what the function raised is raised.
        """
        while True:
            found = self._board(key, None)
            if found is None:
                return function()
            if isinstance(found, _Kept):
                return found.value
            flight, is_leader = found
            if is_leader:
                self._lead(key, flight, function)
                return flight.outcome()
            while not flight.landed.done():
                concurrent.futures.wait([flight.landed], timeout=LOOK_UP_SECONDS)
            if flight.is_shared:
                return flight.outcome()

    async def call_async(
        self, key: Hashable, function: Callable[[], Awaitable[Any]]
    ) -> Any:
        """Give the result of an async function, as `call` does.

        Parameters
        ----------
        key : hashable
            What was asked for.
        function : callable
            Gives what computes it.

        Returns
        -------
        object
            The result.

        Raises
        ------
        CancelledError
            If this caller is cancelled, who takes nobody with them; the last one
            ends the work.
        """
        loop = asyncio.get_running_loop()
        while True:
            found = self._board(key, loop)
            if found is None:
                return await function()
            if isinstance(found, _Kept):
                return found.value
            flight, is_leader = found
            if is_leader:
                # In a task of its own, which outlives a caller that is cancelled.
                work = self._lead_async(key, flight, function)
                flight.task = loop.create_task(work)
            try:
                await _landing(flight, loop)
            except asyncio.CancelledError:
                await self._leave(key, flight, loop)
                raise
            if is_leader or flight.is_shared:
                return flight.outcome()

    def _board(
        self, key: Hashable, loop: asyncio.AbstractEventLoop | None
    ) -> _Kept | tuple[_Flight, bool] | None:
        """Find a result, or the execution that goes on, or begin one to lead."""
        with self._lock:
            kept = self._results.get(key)
            if kept is not None:
                self._hits += 1
                self._results.move_to_end(key)
                return kept
            flight = self._flights.get(key)
            if flight in _leading.get():
                return None  # the function asks for what it is computing
            if flight is not None and not flight.is_lost:
                self._hits += 1
                flight.waiting += 1
                return flight, False
            self._misses += 1
            flight = self._flights[key] = _Flight(loop)
            return flight, True

    def _lead(
        self, key: Hashable, flight: _Flight, function: Callable[[], Any]
    ) -> None:
        token = _leading.set((*_leading.get(), flight))
        try:
            flight.value = function()
        except BaseException as error:  # noqa: BLE001 - raised to whom it concerns
            flight.error = error
        finally:
            _leading.reset(token)
            self._land(key, flight)

    async def _lead_async(
        self, key: Hashable, flight: _Flight, function: Callable[[], Awaitable[Any]]
    ) -> None:
        _leading.set((*_leading.get(), flight))  # in the context of this task alone
        try:
            flight.value = await function()
        except BaseException as error:  # noqa: BLE001 - raised to whom it concerns
            flight.error = error
        finally:
            self._land(key, flight)

    def _land(self, key: Hashable, flight: _Flight) -> None:
        # A cancellation and an interrupt concern only whom they were meant for.
        is_good = flight.error is None and self._may_keep(flight.value)
        flight.is_shared = is_good or isinstance(flight.error, Exception)
        with self._lock:
            if self._flights.get(key) is flight:
                del self._flights[key]
                if is_good:
                    self._keep(key, flight.value)
        flight.landed.set_result(None)

    def _may_keep(self, value: Any) -> bool:
        try:
            return self._is_kept(value)
        except Exception:  # noqa: BLE001 - a strange value must not keep others waiting
            return False

    def _keep(self, key: Hashable, value: Any) -> None:
        self._results[key] = _Kept(value)
        while self._maxsize is not None and len(self._results) > self._maxsize:
            self._results.popitem(last=False)

    async def _leave(
        self, key: Hashable, flight: _Flight, loop: asyncio.AbstractEventLoop
    ) -> None:
        """Stop waiting; the last one to leave ends the work."""
        with self._lock:
            flight.waiting -= 1
            if flight.waiting or flight.landed.done():
                return
            if self._flights.get(key) is flight:
                del self._flights[key]
        task = flight.task
        if task is None or flight.loop is None:
            return
        if flight.loop is loop:
            task.cancel()
            await asyncio.wait([task])  # its clean-up is part of the call
        else:
            with contextlib.suppress(RuntimeError):  # that loop has been closed
                flight.loop.call_soon_threadsafe(task.cancel)

    def after_fork(self) -> None:
        """Forget what goes on in threads that a forked child does not have."""
        self._lock = threading.Lock()
        self._flights = {}


async def _landing(flight: _Flight, loop: asyncio.AbstractEventLoop) -> None:
    """Await the end of an execution, on whatever loop or thread it is."""
    landed = asyncio.Event()

    def tell(_: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has been closed
            loop.call_soon_threadsafe(landed.set)

    flight.landed.add_done_callback(tell)
    while not landed.is_set() and not flight.is_lost:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LOST_SECONDS):
                await landed.wait()


_caches: weakref.WeakSet[ResultCache] = weakref.WeakSet()


def _after_fork() -> None:
    for cache in _caches:
        cache.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
