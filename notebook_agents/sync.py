"""The only place where sync meets async: the agent loop, and waiting for it.

One background thread with an asyncio loop, *the agent loop*, runs whatever is
asked for from sync code or from a notebook cell; the asking thread only waits.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import contextvars
import os
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

from notebook_agents.waiting import CLEANUP_SECONDS, Waiter, running_loop

__all__ = [
    "Call",
    "Waiter",
    "agent_loop",
    "cell_waiter",
    "current_waiter",
    "on_agent_loop",
    "run_sync",
    "waited_for_by",
]

T = TypeVar("T")

STUCK_SECONDS = 0.3
"""How long a loop may take for its next turn before it counts as stuck."""


class _LoopThread:
    """A daemon thread that runs one asyncio loop for ever."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(
            target=self._main, name="notebook-agents-loop", daemon=True
        )
        self.thread.start()

    def _main(self) -> None:
        asyncio.set_event_loop(self.loop)
        while True:  # a task that exits or stops the loop ends only itself
            with contextlib.suppress(SystemExit, KeyboardInterrupt):
                self.loop.run_forever()


_lock = threading.Lock()
_loop_thread: _LoopThread | None = None


def _forget_after_fork() -> None:
    # The lock may have been held by a thread that does not exist in the child.
    global _lock, _loop_thread
    _lock, _loop_thread = threading.Lock(), None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)


def agent_loop() -> asyncio.AbstractEventLoop:
    """Give the agent loop of this process, starting it if need be.

    Returns
    -------
    asyncio.AbstractEventLoop
        Running in a daemon thread; a forked child gets one of its own.
    """
    global _loop_thread  # noqa: PLW0603 - the one loop of the process
    with _lock:
        if _loop_thread is None:
            _loop_thread = _LoopThread()
        return _loop_thread.loop


_waiter: contextvars.ContextVar[Waiter | None] = contextvars.ContextVar(
    "notebook_agents_waiter", default=None
)


def current_waiter() -> Waiter | None:
    """Give the waiter of the code that runs here, if somebody waits for it."""
    return _waiter.get()


def waited_for_by(waiter: Waiter | None) -> None:
    """Say who will wait for what this task starts from now on."""
    _waiter.set(waiter)


def cell_waiter() -> Waiter | None:
    """Give the cell that waits for all of this, also where a tool waits in it."""
    waiter = _waiter.get()
    while waiter is not None and not waiter.runs_tools:
        waiter = waiter.outer
    return waiter


def _leave_if_stuck(loop: asyncio.AbstractEventLoop) -> None:
    """Let the next call have a loop of its own, if this one does not turn.

    An async tool that blocks would hold up every agent of the process.
    """
    global _loop_thread  # noqa: PLW0603 - the one loop of the process
    turned = threading.Event()
    loop.call_soon_threadsafe(turned.set)
    if turned.wait(STUCK_SECONDS):
        return
    with _lock:
        if _loop_thread is not None and _loop_thread.loop is loop:
            _loop_thread = None


class Call(Generic[T]):
    """A coroutine on the agent loop, and its outcome; it runs once waited for.

    Parameters
    ----------
    coroutine : coroutine
        Runs in a copy of the calling context, so what it prints and displays
        belongs to the calling cell.
    waiter : Waiter
        Who will wait for it.
    """

    def __init__(self, coroutine: Coroutine[Any, Any, T], waiter: Waiter) -> None:
        self._waiter = waiter
        self._loop = agent_loop()
        if running_loop() is self._loop:
            coroutine.close()
            message = (
                "This code already runs on the agent loop, where waiting would "
                "block everything. Use `await agent.run(...)` here."
            )
            raise RuntimeError(message)
        self._coroutine = coroutine
        self._done = threading.Event()
        self._task: asyncio.Task[T] | None = None

    def _launch(self) -> None:
        context = contextvars.copy_context()
        context.run(_waiter.set, self._waiter)
        self._loop.call_soon_threadsafe(self._start, context=context)

    def _start(self) -> None:
        self._task = self._loop.create_task(self._coroutine)
        self._task.add_done_callback(self._finish)

    def _finish(self, task: asyncio.Task[T]) -> None:
        if not task.cancelled():
            task.exception()  # seen, even if the waiter has left
        self._done.set()
        self._waiter.wake()

    @property
    def is_done(self) -> bool:
        """Whether the coroutine has ended, its clean-up included."""
        return self._done.is_set()

    def cancel(self) -> None:
        """Ask the coroutine to stop; callable from any thread."""
        self._loop.call_soon_threadsafe(lambda: self._task and self._task.cancel())

    def wait(self) -> T:
        """Block until the coroutine has ended.

        Returns
        -------
        T
            Its result; what it raised is raised here.

        Raises
        ------
        KeyboardInterrupt
            After an interrupt, when the coroutine has cleaned up, or two
            seconds later.
        """
        try:
            self._launch()
            self._waiter.wait(self._done.is_set)
        except BaseException:
            self.cancel()
            if not self._done.wait(CLEANUP_SECONDS):
                _leave_if_stuck(self._loop)
            raise
        finally:
            self._waiter.close()
        return self._result()

    async def wait_async(self) -> T:
        """Await the end of the coroutine; like `wait` in everything else.

        Returns
        -------
        T
            Its result.
        """
        try:
            self._waiter.attend()
            self._launch()
            await self._waiter.wait_async(self._done.is_set)
        except BaseException:
            self.cancel()
            if not await asyncio.to_thread(self._done.wait, CLEANUP_SECONDS):
                await asyncio.to_thread(_leave_if_stuck, self._loop)
            raise
        finally:
            self._waiter.close()
        return self._result()

    def _result(self) -> T:
        assert self._task is not None  # noqa: S101 - done means started
        return self._task.result()


def run_sync(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end from sync code.

    Works whether or not this thread has a running loop, in any thread, any
    number of times, and after an interrupt.

    Parameters
    ----------
    coroutine : coroutine
        Runs on the agent loop.

    Returns
    -------
    T
        Its result.

    Examples
    --------
    >>> import asyncio
    >>> run_sync(asyncio.sleep(0, "done"))
    'done'
    """
    return Call(coroutine, Waiter(outer=current_waiter())).wait()


def on_agent_loop(function: Callable[[], T], waiter: Waiter | None = None) -> T:
    """Call a plain function on the agent loop and wait for what it returns.

    Parameters
    ----------
    function : callable
        Must not block; runs in a copy of this context.
    waiter : Waiter, optional
        Who waits for what it starts; nobody when left out.

    Returns
    -------
    T
        What it returned; what it raised is raised here.
    """
    loop = agent_loop()
    if running_loop() is loop:
        return function()
    future: concurrent.futures.Future[T] = concurrent.futures.Future()
    context = contextvars.copy_context()
    context.run(_waiter.set, waiter)

    def body() -> None:
        try:
            future.set_result(function())
        except BaseException as error:  # noqa: BLE001 - handed to the caller
            future.set_exception(error)

    loop.call_soon_threadsafe(body, context=context)
    return future.result()
