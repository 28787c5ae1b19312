"""`Patience`: how long somebody else's code may take, whatever it does.

A coroutine of the user's, of a provider or of a store may hang, may ignore
that it is cancelled, and may raise what would end a whole loop. Here it runs in
a task of its own, which is left behind when its time is up.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from notebook_agents.waiting import fit_for_a_future, in_thread, running_loop

__all__ = ["Patience", "call_apart", "dismiss", "guarded"]

T = TypeVar("T")

logger = logging.getLogger(__name__)

DISMISS_SECONDS = 0.2
"""How long what is left behind may clean up first."""

_strays: set[asyncio.Task[Any]] = set()
"""What was left behind: a loop itself does not keep its tasks alive."""


async def guarded(work: Callable[[], Awaitable[T]]) -> T:
    """Await something, and let nothing out that would end the loop.

    Parameters
    ----------
    work : callable
        Gives what is awaited; not called where this is cancelled at once.

    Returns
    -------
    T
        Its result. ``SystemExit`` and the like, and a cancellation that
        nobody asked for, are raised as a `RuntimeError`.

    Raises
    ------
    BaseException
        What the work raised, else.
    """
    task, loop = asyncio.current_task(), running_loop()
    try:
        return await work()
    except BaseException as error:
        if isinstance(error, asyncio.CancelledError):
            is_ours = task is not None and task.cancelling()
        else:  # where the loop has gone, this coroutine is being closed
            is_ours = isinstance(error, GeneratorExit) and running_loop() is not loop
        if is_ours or isinstance(error, Exception):
            raise
        wrapped = fit_for_a_future(error)
        raise wrapped from error


async def call_apart(function: Callable[..., Any], *args: Any, name: str) -> Any:
    """Call a function of the user's where it cannot block the loop.

    Parameters
    ----------
    function : callable
        Async, then awaited here; or sync, then called in a thread, in a copy of
        this context.
    *args : object
        What it is called with.
    name : str
        What the thread is called.

    Returns
    -------
    object
        What it returned; what it raised is raised here.
    """
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        type(function).__call__
    ):
        answer: Any = function(*args)
    else:
        answer = await in_thread(lambda: function(*args), name=name)
    return await answer if inspect.isawaitable(answer) else answer


class Patience:
    """How long each part of something may take, and less once it is stopped.

    Parameters
    ----------
    on_stop : callable
        Called at the first `stop`.
    """

    def __init__(self, on_stop: Callable[[], object]) -> None:
        self.is_stopped = False
        self._on_stop = on_stop
        self._loop = asyncio.get_running_loop()
        self._pause: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._is_joining = False
        self._is_over = False
        self._rest = 0.0

    def stop(self) -> None:
        """Grant what goes on, and what comes after it, only the shorter time."""
        if self.is_stopped:
            return  # once more would cut a clean-up short
        self.is_stopped = True
        self._on_stop()
        if self._is_joining:
            self._set_timer(self._rest)

    async def join(
        self,
        task: asyncio.Task[Any],
        *,
        seconds: float | None,
        when_stopped: float,
        unattended: float = 0.0,
    ) -> bool:
        """Await the end of a task; a cancellation of this one is a `stop`.

        Parameters
        ----------
        task : Task
            Left behind if it takes too long.
        seconds : float or None
            How long it may take; None is for ever.
        when_stopped : float
            How long it may take from the stop on.
        unattended : float, default 0
            How long it may go on when it has been left behind.

        Returns
        -------
        bool
            Whether it has ended.
        """
        self._is_joining, self._is_over, self._rest = True, False, when_stopped
        self._set_timer(when_stopped if self.is_stopped else seconds)
        task.add_done_callback(self._look_up)
        while not task.done() and not self._is_over:
            self._pause = self._loop.create_future()
            try:
                await self._pause
            except asyncio.CancelledError:
                self.stop()
        self._is_joining = False
        self._set_timer(None)
        if task.done():
            return True
        if unattended:
            timer = self._loop.call_later(unattended, task.cancel)
            task.add_done_callback(lambda _: timer.cancel())
            _keep(task)
        else:
            await dismiss(task, seconds=DISMISS_SECONDS)
        return False

    def _set_timer(self, seconds: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if seconds is not None:
            self._timer = self._loop.call_later(seconds, self._end)

    def _end(self) -> None:
        self._is_over = True
        self._look_up()

    def _look_up(self, _: object = None) -> None:
        if self._pause is not None and not self._pause.done():
            self._pause.set_result(None)


async def dismiss(task: asyncio.Task[Any], *, seconds: float) -> None:
    """Cancel a task, give it a moment to clean up, then leave it behind."""
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):  # already on the way out
        await asyncio.wait([task], timeout=seconds)
    if not task.done():
        name = task.get_name()
        logger.warning("left behind, as it does not end when told: %s", name)
    _keep(task)


def _keep(task: asyncio.Task[Any]) -> None:
    _strays.add(task)
    task.add_done_callback(_forget)


def _forget(task: asyncio.Task[Any]) -> None:
    _strays.discard(task)
    fault = None if task.cancelled() else task.exception()
    if fault is not None:  # nobody else is there to hear of it
        logger.warning("failed when left behind: %s", task.get_name(), exc_info=fault)
