"""`Waiter`: a thread that waits, and is of use meanwhile.

Some things must happen in the very thread that asked: a tool that draws a
plot, a prompt for input. The waiting side runs such errands between two looks
at the clock, and lets an environment do chores of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import signal
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

from notebook_agents.stopping import (
    WaiterGone,
    interruptible,
    may_be_stopped,
    sigint_raises,
)
from notebook_agents.threads import Threads

__all__ = [
    "CLEANUP_SECONDS",
    "Waiter",
    "WaiterGone",
    "fit_for_a_future",
    "in_thread",
    "on_loop",
    "running_loop",
]

T = TypeVar("T")

TICK_SECONDS = 0.05
"""How often a waiting thread looks up, in seconds."""
CLEANUP_SECONDS = 2.0
"""How long a cancelled coroutine may clean up before the waiter leaves."""

IS_BLOCKED = True

_threads = Threads()


class _Errand(Generic[T]):
    """A function to run in the waiting thread, and the future of its result."""

    def __init__(self, function: Callable[[], T]) -> None:
        self._function = function
        self._context = contextvars.copy_context()
        self._loop = asyncio.get_running_loop()
        self.future: asyncio.Future[T] = self._loop.create_future()

    def run(self) -> None:
        if self.future.cancelled():
            return
        try:
            self._run()
        except KeyboardInterrupt:
            # The person stopped the cell, not only this function.
            self.refuse()
            raise

    def run_apart(self) -> None:
        """Run it in a thread that no Stop reaches: an interrupt is an error."""
        try:
            self._run()
        except KeyboardInterrupt as error:
            self._refuse_with(error)

    def _run(self) -> None:
        try:
            result = self._context.run(may_be_stopped, self._function)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - handed to whoever awaits it
            self._refuse_with(error)
        else:
            self._settle(lambda: self.future.set_result(result))

    def _refuse_with(self, error: BaseException) -> None:
        refusal = fit_for_a_future(error)
        self._settle(lambda: self.future.set_exception(refusal))

    def refuse(self) -> None:
        # Not by cancelling the future: whoever awaits it could not tell that
        # from a cancellation of their own.
        self._settle(lambda: self.future.set_exception(WaiterGone()))

    def _settle(self, outcome: Callable[[], object]) -> None:
        def settle() -> None:
            if not self.future.done():
                outcome()

        _call_soon(self._loop, settle)


def fit_for_a_future(error: BaseException) -> Exception:
    """Give an error that may be raised in a task: itself, or wrapped in one."""
    # SystemExit would end the loop that awaits it, and a future refuses
    # StopIteration.
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    wrapped = RuntimeError(f"{type(error).__name__}: {error}".rstrip(": "))
    wrapped.__cause__ = error
    return wrapped


class _Sleeper:
    """One coroutine that waits; several may do so for the same `Waiter`."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._awake = asyncio.Event()
        self._is_waking = False

    async def sleep(self, timeout: float | None) -> None:
        if timeout is None:
            await self._awake.wait()
        else:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(timeout):
                    await self._awake.wait()
        self._awake.clear()

    def wake(self) -> None:
        if self._is_waking or self._awake.is_set():
            return
        if running_loop() is self.loop:
            self._awake.set()
            return
        self._is_waking = True  # one hop for everything that happens until then
        _call_soon(self.loop, self._wake_up)

    def _wake_up(self) -> None:
        self._is_waking = False
        self._awake.set()


class Waiter:
    """A thread that waits for something on another loop, and helps meanwhile.

    Parameters
    ----------
    tick : callable, optional
        Called about every 50 ms while waiting, with True if the thread blocks
        and False if its own loop goes on.
    runs_tools : bool, default False
        Whether tools that have no thread of their own run here, as they do
        when a notebook cell waits.
    outer : Waiter, optional
        Who waits for the tool that waits here.
    """

    def __init__(
        self,
        *,
        tick: Callable[[bool], None] | None = None,
        runs_tools: bool = False,
        outer: Waiter | None = None,
    ) -> None:
        self.runs_tools = runs_tools
        self.outer = outer
        self.before_tool: Callable[[], None] = lambda: None
        """Called on the run's loop before a tool starts, wherever that runs."""
        self.loop: asyncio.AbstractEventLoop | None = None
        self._tick = tick
        self._errands: deque[_Errand[Any]] = deque()
        self._wake: threading.Event | None = None  # of a thread that blocks
        self._sleepers: list[_Sleeper] = []
        self.is_open = True

    # The waiting side.

    def wait(self, ready: Callable[[], bool]) -> None:
        """Block until ``ready()``, running errands.

        Parameters
        ----------
        ready : callable
            Looked at about every 50 ms and after each `wake`.
        """
        wake = self._wake = threading.Event()  # made before the first look
        while not ready():
            if self._errands:
                self._serve()
            if self._tick is not None:
                self._tick(IS_BLOCKED)
            wake.wait(TICK_SECONDS)
            wake.clear()

    async def wait_async(self, ready: Callable[[], bool]) -> None:
        """Await until ``ready()``, running errands; the loop goes on.

        Parameters
        ----------
        ready : callable
            Looked at after each `wake`, and every 50 ms if there is a tick.
        """
        self.attend()
        sleeper = _Sleeper()
        self._sleepers.append(sleeper)
        try:
            while not ready():
                if self._errands:
                    self._serve()
                    continue
                if self._tick is not None:
                    self._tick(not IS_BLOCKED)
                await sleeper.sleep(None if self._tick is None else TICK_SECONDS)
        finally:
            self._sleepers.remove(sleeper)

    def attend(self) -> None:
        """Say that this loop is about to wait, before it is asked for."""
        self.loop = asyncio.get_running_loop()

    def wake(self) -> None:
        """Make the waiting side look up; callable from any thread."""
        if self._wake is not None:
            self._wake.set()
        for sleeper in tuple(self._sleepers):
            sleeper.wake()

    def raise_if_stopped(self) -> None:
        """Raise what shows that a person stopped this thread; here, nothing."""

    def close(self) -> None:
        """Refuse every errand that has not begun; nobody waits any more."""
        self.is_open = False
        with contextlib.suppress(IndexError):  # two threads may close it at once
            while True:
                self._errands.popleft().refuse()

    def is_stopped(self) -> bool:
        """Tell whether a person has stopped the waiting side, which may not know yet."""
        return False

    def _serve(self) -> None:
        with sigint_raises() as handler:
            try:
                self._run_errands()
            except KeyboardInterrupt:
                if handler is None:
                    raise
                self.close()  # what was queued behind it is not run any more
            else:
                return
        # The cell's own handler knows whom to cancel. Raised here, the interrupt
        # would end the kernel's loop if this is a task that the user made.
        handler(signal.SIGINT, None)

    def _run_errands(self) -> None:
        while self._errands:
            if self.is_stopped():
                self.close()  # nothing is begun any more
                return
            self._errands.popleft().run()

    # The side that is waited for.

    async def run(self, function: Callable[[], T]) -> T:
        """Run a function in the waiting thread.

        Parameters
        ----------
        function : callable
            Called without arguments, in a copy of this context.

        Returns
        -------
        T
            What it returned; what it raised is raised here.

        Raises
        ------
        WaiterGone
            If nobody waits any more.
        """
        errand = _Errand(function)
        self._errands.append(errand)
        if self.is_open:
            self.wake()
        else:  # also if it was closed just now, and has not seen this errand
            self.close()
        return await errand.future

    async def run_async(self, function: Callable[[], Awaitable[T]]) -> T:
        """Await something on the waiting side's own loop.

        Parameters
        ----------
        function : callable
            Called on that loop; its result is awaited there. Without such a
            loop, everything happens on this one.

        Returns
        -------
        T
            The result. A cancellation is passed on, and waited for.
        """
        if self.loop is None or not self.is_open:
            return await function()
        return await on_loop(
            self.loop, lambda: interruptible(function(), self.is_stopped)
        )


async def on_loop(
    loop: asyncio.AbstractEventLoop, function: Callable[[], Awaitable[T]]
) -> T:
    """Await something on another loop.

    Parameters
    ----------
    loop : AbstractEventLoop
        Which one.
    function : callable
        Called on that loop; its result is awaited there.

    Returns
    -------
    T
        The result.

    Raises
    ------
    WaiterGone
        If that loop has been closed.
    CancelledError
        If this is cancelled, which is passed on, and waited for.
    """
    here = asyncio.get_running_loop()
    finished = asyncio.Event()
    tasks: list[asyncio.Task[T]] = []

    async def body() -> T:
        return await function()

    def start() -> None:
        task = loop.create_task(body())
        tasks.append(task)
        task.add_done_callback(lambda _: _call_soon(here, finished.set))

    try:
        loop.call_soon_threadsafe(start, context=contextvars.copy_context())
    except RuntimeError:  # that loop has been closed
        raise WaiterGone from None
    try:
        await finished.wait()
    except asyncio.CancelledError:
        _call_soon(loop, lambda: [task.cancel() for task in tasks])
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLEANUP_SECONDS):
                await finished.wait()
        raise
    return tasks[0].result()


async def in_thread(function: Callable[[], T], *, name: str) -> T:
    """Run a function in a daemon thread that it has for itself.

    Unlike `asyncio.to_thread`, a function that never ends keeps neither a
    place in a pool nor the interpreter from exiting.

    Parameters
    ----------
    function : callable
        Called without arguments, in a copy of this context.
    name : str
        Name of the thread.

    Returns
    -------
    T
        What it returned; what it raised is raised here.
    """
    errand = _Errand(function)
    _threads.start(errand.run_apart, name=name)
    return await errand.future


def _call_soon(loop: asyncio.AbstractEventLoop, function: Callable[[], object]) -> None:
    with contextlib.suppress(RuntimeError):  # the loop has been closed
        loop.call_soon_threadsafe(function)


def running_loop() -> asyncio.AbstractEventLoop | None:
    """Give the loop that runs this code, or None in sync code."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
