"""Stop, where it meets code that would not see it.

In a cell that awaits, a kernel's own handler only schedules that the cell is
cancelled. Code that blocks the loop would run on to its end: here an interrupt
raises in it, as it does in a plain cell. Where such code runs a nested loop, the
tasks of others go on in it, which an interrupt must not end.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import signal
import threading
import types
from collections.abc import Awaitable, Callable, Generator, Iterator
from typing import Any, TypeVar, cast

__all__ = ["WaiterGone", "interruptible", "may_be_stopped", "sigint_raises"]

T = TypeVar("T")
Handler = Callable[[int, Any], Any]

_LOOPS = {"asyncio", "selectors", "nest_asyncio", "nest_asyncio2"}
"""Packages whose code is about the steps of anybody."""

_may_stop = contextvars.ContextVar("_may_stop", default=False)
"""Whether the code of this context, and its tasks, may be ended by an interrupt."""


class WaiterGone(Exception):  # noqa: N818 - an end, not an error
    """Nobody waits any more: the cell was stopped, or it has ended."""


def may_be_stopped(function: Callable[[], T]) -> T:
    """Call a function that an interrupt may end, in a context of its own."""
    _may_stop.set(True)
    return function()


@contextlib.contextmanager
def sigint_raises() -> Iterator[Handler | None]:
    """Let an interrupt raise in what a block calls by `may_be_stopped`.

    Yields
    ------
    callable or None
        The handler that it would have had, None where interrupts raise anyway.
    """
    if threading.current_thread() is not threading.main_thread():
        yield None
        return
    raising = _Raising()
    before = signal.signal(signal.SIGINT, raising)
    is_own = callable(before) and before is not signal.default_int_handler
    try:
        yield cast("Handler", before) if is_own else None
    finally:
        signal.signal(signal.SIGINT, before)
        if raising.take():
            signal.raise_signal(signal.SIGINT)  # as if it came now


class _Raising:
    """A handler that raises, but only in the code that may be stopped.

    In a nested loop tasks of others take steps, too: those of the kernel, of the
    cell that waits, of the user. Raised in one of them, or in the loop that has just
    taken it from the line, an interrupt would end it, and whoever waits for it would
    wait forever. The loop raises it instead, in a step of its own.
    """

    def __init__(self) -> None:
        self._is_postponed = False

    def __call__(self, number: int, frame: types.FrameType | None) -> None:
        if _can_stop(frame) or self._is_postponed:  # pressed twice: now
            self._is_postponed = False
            signal.default_int_handler(number, frame)
        self._is_postponed = True
        with contextlib.suppress(RuntimeError):  # no loop runs, so none is nested
            asyncio.get_running_loop().call_soon_threadsafe(self._raise)

    def take(self) -> bool:
        """Tell whether an interrupt is still to be raised, once."""
        is_postponed, self._is_postponed = self._is_postponed, False
        return is_postponed

    def _raise(self) -> None:
        if self.take():  # in a nested loop, else the block has ended
            raise KeyboardInterrupt


def _can_stop(frame: types.FrameType | None) -> bool:
    """Tell whether an exception raised here leaves the code that may be stopped."""
    if not _may_stop.get():
        return False
    if frame is not None and _top_module(frame) in _LOOPS:
        return False
    while frame is not None:
        if frame.f_code.co_name == "__del__":  # Python lets nothing out of it
            return False
        frame = frame.f_back
    return True


def _top_module(frame: types.FrameType) -> str:
    return str(frame.f_globals.get("__name__")).partition(".")[0]


@types.coroutine
def interruptible(
    awaitable: Awaitable[T], is_stopped: Callable[[], bool]
) -> Generator[Any, Any, T]:
    """Await something, each step of which an interrupt may end.

    Parameters
    ----------
    awaitable : awaitable
        May block the loop.
    is_stopped : callable
        Tells whether an interrupt has come already, between two steps.

    Returns
    -------
    T
        Its result.

    Yields
    ------
    object
        What it waits for.

    Raises
    ------
    WaiterGone
        If an interrupt has ended it.
    KeyboardInterrupt
        The same where no other handler is there to be told.
    """
    _may_stop.set(True)
    steps = awaitable.__await__()
    error: BaseException | None = None
    is_told = False
    while True:
        try:
            with sigint_raises() as handler:
                # Looked at when none can be missed any more.
                if is_stopped() and not (is_told or error):
                    error, is_told = KeyboardInterrupt(), True
                awaited = next(steps) if error is None else steps.throw(error)
        except StopIteration as end:
            return cast("T", end.value)
        except KeyboardInterrupt:
            if is_told:
                raise WaiterGone from None
            if handler is None:
                raise
            # It knows whom to cancel. Raised here, an interrupt would end the loop.
            handler(signal.SIGINT, None)
            raise WaiterGone from None
        error = None
        try:
            yield awaited
        except BaseException as thrown:  # noqa: BLE001 - for what is awaited to handle
            error = thrown
