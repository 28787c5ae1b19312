"""Stop, where it meets code that blocks the loop of a waiting cell."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import signal
import threading

import pytest

from notebook_agents.jupyter import prompt
from notebook_agents.stopping import may_be_stopped, sigint_raises
from notebook_agents.sync import Call
from notebook_agents.waiting import Waiter, WaiterGone


class Cell(Waiter):
    """A cell that knows of an interrupt before its task is cancelled."""

    def __init__(self) -> None:
        super().__init__(runs_tools=True)
        self.told: list[int] = []

    def is_stopped(self) -> bool:
        return bool(self.told)

    @contextlib.contextmanager
    def handler(self):
        """Take interrupts as a kernel does in an awaiting cell."""
        before = signal.signal(
            signal.SIGINT, lambda number, _: self.told.append(number)
        )
        try:
            yield self
        finally:
            signal.signal(signal.SIGINT, before)


def interrupt() -> None:
    signal.raise_signal(signal.SIGINT)


@pytest.fixture
def cell():
    """Give a cell with a handler of its own."""
    with Cell().handler() as waiter:
        yield waiter


async def outcome(cell, ask):
    """Wait in the cell for what is asked of it from the agent's loop."""

    async def body():
        try:
            return await ask()
        except WaiterGone:
            return "refused"

    return await Call(body(), cell).wait_async()


async def test_no_errand_is_begun_once_an_interrupt_was_seen(cell):
    done = []
    interrupt()
    assert await outcome(cell, lambda: cell.run(lambda: done.append(1))) == "refused"
    assert done == []


async def test_no_coroutine_is_begun_once_an_interrupt_was_seen(cell):
    done = []

    async def work():
        done.append(1)

    interrupt()
    assert await outcome(cell, lambda: cell.run_async(work)) == "refused"
    assert done == []


class Leaves:
    """Is interrupted while it is taken away, from where nothing can be raised."""

    def __del__(self) -> None:
        interrupt()


async def test_an_interrupt_in_a_destructor_is_not_lost(cell):
    assert await outcome(cell, lambda: cell.run(lambda: bool(Leaves()))) is True
    assert cell.told == [signal.SIGINT]


def test_an_interrupt_ends_a_loop_that_sleeps_in_a_tool():
    def work() -> None:
        threading.Timer(0.2, signal.pthread_kill, (ident, signal.SIGINT)).start()
        with sigint_raises(), asyncio.Runner() as runner:
            runner.run(asyncio.sleep(50))

    ident = threading.get_ident()
    with pytest.raises(KeyboardInterrupt):
        contextvars.copy_context().run(may_be_stopped, work)


async def test_an_interrupt_ends_a_step_that_blocks_and_is_told_to_the_cell(cell):
    done = []

    async def work():
        try:
            interrupt()
            done.append("went on")
        finally:
            done.append("cleaned up")

    assert await outcome(cell, lambda: cell.run_async(work)) == "refused"
    assert done == ["cleaned up"]
    assert cell.told == [signal.SIGINT]


async def test_an_interrupt_between_two_steps_is_raised_in_the_next(cell):
    done = []

    async def work():
        try:
            asyncio.get_running_loop().call_soon(interrupt)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            done.append("went on")
        except KeyboardInterrupt:
            done.append("interrupted")
            raise

    assert await outcome(cell, lambda: cell.run_async(work)) == "refused"
    assert done == ["interrupted"]
    assert cell.told == [signal.SIGINT]


async def test_an_interrupt_of_a_nested_loop_ends_the_tool_and_no_task_of_others(cell):
    """Which take their steps in between, as all tasks of a kernel do."""
    others, done = contextvars.copy_context(), []

    def step():
        interrupt()
        done.append("others went on")

    def in_a_nested_loop():
        others.run(step)
        done.append("the rest of this step")

    async def work():
        try:
            in_a_nested_loop()
            await asyncio.sleep(0)
            done.append("went on")
        except KeyboardInterrupt:
            done.append("interrupted")
            raise

    assert await outcome(cell, lambda: cell.run_async(work)) == "refused"
    assert done == ["others went on", "the rest of this step", "interrupted"]
    assert cell.told == [signal.SIGINT]


async def test_an_interrupt_of_a_nested_loop_is_not_lost_if_the_tool_ends(cell):
    others = contextvars.copy_context()

    async def work():
        others.run(interrupt)
        return 1 / 0

    with pytest.raises(ZeroDivisionError):
        await outcome(cell, lambda: cell.run_async(work))
    assert cell.told == [signal.SIGINT]


async def test_a_second_interrupt_in_a_task_of_others_is_raised_at_once(cell):
    others, done = contextvars.copy_context(), []

    def step():
        interrupt()
        interrupt()
        done.append("others went on")

    async def work():
        others.run(step)

    assert await outcome(cell, lambda: cell.run_async(work)) == "refused"
    assert done == []


async def test_what_handles_an_interrupt_has_its_way(cell):
    async def work():
        with contextlib.suppress(KeyboardInterrupt):
            interrupt()
        await asyncio.sleep(0)
        return "an answer"

    assert await outcome(cell, lambda: cell.run_async(work)) == "an answer"
    assert cell.told == []


async def test_a_cancellation_reaches_what_is_awaited(cell):
    done = []

    async def work():
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            done.append("cancelled")
            raise

    call = Call(cell.run_async(work), cell)
    task = asyncio.create_task(call.wait_async())
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert done == ["cancelled"]


def _name(thread: threading.Thread) -> str:
    return thread.name


def test_a_prompt_that_is_interrupted_early_interrupts_nothing_later(
    monkeypatch, wait_until
):
    """What ends an expired prompt is an interrupt too."""

    def stop() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(prompt, "_forget_typed_ahead", stop)
    with Cell().handler() as cell:
        with pytest.raises(KeyboardInterrupt):
            prompt.input_until(lambda: True, "?")
        wait_until(lambda: "input box" not in map(_name, threading.enumerate()))
    assert cell.told == []
