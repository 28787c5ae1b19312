"""Stop, where it meets code that would not see it.

In a cell that awaits, a kernel's own handler only schedules that the cell is
cancelled. Code that blocks the loop would run on to its end: here an interrupt
raises in it, as it does in a plain cell.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import types
from collections.abc import Awaitable, Callable, Generator, Iterator
from typing import Any, TypeVar, cast

__all__ = ["WaiterGone", "interruptible", "sigint_raises"]

T = TypeVar("T")
Handler = Callable[[int, Any], Any]


class WaiterGone(Exception):  # noqa: N818 - an end, not an error
    """Nobody waits any more: the cell was stopped, or it has ended."""


@contextlib.contextmanager
def sigint_raises() -> Iterator[Handler | None]:
    """Let an interrupt raise in the code of a block.

    Yields
    ------
    callable or None
        The handler that it would have had, None where interrupts raise anyway.
    """
    if threading.current_thread() is not threading.main_thread():
        yield None
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    is_own = callable(before) and before is not signal.default_int_handler
    try:
        yield cast("Handler", before) if is_own else None
    finally:
        signal.signal(signal.SIGINT, before)


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
