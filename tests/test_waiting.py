"""A waiting thread runs errands, wakes at once, and refuses when it has left."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import threading
import time

import pytest

from notebook_agents.sync import Call, agent_loop, run_sync
from notebook_agents.waiting import TICK_SECONDS, Waiter, WaiterGone, in_thread


def ask_waiter(function):
    """Run a function through a waiter, as a blocked cell does."""
    waiter = Waiter()
    return Call(waiter.run(function), waiter).wait()


# ------------------------------------------------------------ errands


def test_an_errand_runs_in_the_waiting_thread():
    assert ask_waiter(threading.current_thread) is threading.current_thread()


async def test_an_errand_runs_in_an_awaiting_thread_too():
    waiter = Waiter()
    running = Call(waiter.run(threading.current_thread), waiter)
    assert await running.wait_async() is threading.current_thread()


def test_an_errand_sees_the_context_of_who_asked():
    who = contextvars.ContextVar("who")

    async def ask():
        who.set("ada")
        return await waiter.run(who.get)

    waiter = Waiter()
    assert Call(ask(), waiter).wait() == "ada"


@pytest.mark.parametrize("kind", [ValueError, TimeoutError])
def test_what_an_errand_raises_is_raised_where_it_was_asked_for(kind):
    def fail():
        raise kind

    with pytest.raises(kind):
        ask_waiter(fail)


@pytest.mark.parametrize("kind", [SystemExit, StopIteration, GeneratorExit])
def test_what_would_end_a_loop_is_wrapped(kind):
    error = kind("out")

    def fail():
        raise error

    with pytest.raises(RuntimeError, match=f"{kind.__name__}: out"):
        ask_waiter(fail)


def test_an_interrupt_in_an_errand_is_one_of_the_whole_cell():
    def fail():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask_waiter(fail)


def test_an_errand_that_comes_too_late_is_refused():
    waiter = Waiter()
    waiter.close()

    async def ask():
        async with asyncio.timeout(5):
            await waiter.run(list)

    with pytest.raises(WaiterGone):
        run_sync(ask())


def test_an_errand_that_waits_is_refused_when_nobody_does():
    waiter = Waiter()

    async def ask():
        errand = asyncio.create_task(waiter.run(list))
        await asyncio.sleep(0)
        waiter.close()
        async with asyncio.timeout(5):
            await errand

    with pytest.raises(WaiterGone):
        run_sync(ask())


def test_no_errand_is_forgotten_while_the_waiter_leaves():
    """It runs or is refused, but whoever asked never hangs."""

    async def ask(waiter):
        errands = (waiter.run(list) for _ in range(50))
        await asyncio.gather(*errands, return_exceptions=True)

    for _ in range(50):
        waiter = Waiter()
        asking = asyncio.run_coroutine_threadsafe(ask(waiter), agent_loop())
        waiter.close()
        asking.result(5)


# ------------------------------------------------------------ waking


def test_a_waiter_wakes_at_once():
    waiter, is_ready = Waiter(), threading.Event()

    def make_ready():
        is_ready.set()
        waiter.wake()

    timer = threading.Timer(TICK_SECONDS / 10, make_ready)
    timer.start()
    waiter.wait(is_ready.is_set)
    timer.join()
    assert is_ready.is_set()


async def test_two_coroutines_may_wait_with_one_waiter():
    waiter, is_ready = Waiter(), threading.Event()
    waits = [asyncio.create_task(waiter.wait_async(is_ready.is_set)) for _ in range(2)]
    await asyncio.sleep(0)
    is_ready.set()
    waiter.wake()
    async with asyncio.timeout(5):
        await asyncio.gather(*waits)


def test_one_waiter_serves_one_loop_after_the_other():
    waiter, is_ready = Waiter(), threading.Event()

    async def leave_early():
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await waiter.wait_async(lambda: False)

    async def wait():
        loop = asyncio.get_running_loop()
        threading.Thread(target=lambda: (is_ready.set(), waiter.wake())).start()
        async with asyncio.timeout(5):
            await waiter.wait_async(is_ready.is_set)
        return loop

    with asyncio.Runner() as runner:
        runner.run(leave_early())
    waiter.wake()  # to a loop that is closed by now
    with asyncio.Runner() as runner:
        runner.run(wait())
    assert is_ready.is_set()


def test_many_wakes_from_many_threads_lose_no_news():
    waiter, news = Waiter(), []

    def tell():
        for _ in range(500):
            news.append(1)
            waiter.wake()

    def has_more(seen):
        return len(news) > seen

    async def listen():
        for seen in range(0, 2000, 10):
            async with asyncio.timeout(5):
                await waiter.wait_async(functools.partial(has_more, seen))

    threads = [threading.Thread(target=tell) for _ in range(4)]
    with asyncio.Runner() as runner:
        for thread in threads:
            thread.start()
        runner.run(listen())
    for thread in threads:
        thread.join()


def test_one_wait_may_be_woken_many_times():
    waiter, looked, is_ready = Waiter(), threading.Semaphore(0), threading.Event()

    def look():
        looked.release()
        return is_ready.is_set()

    def wake_again_and_again():
        for _ in range(5):
            looked.acquire(timeout=5)
            waiter.wake()
        looked.acquire(timeout=5)
        is_ready.set()
        waiter.wake()

    async def wait():
        async with asyncio.timeout(5):
            await waiter.wait_async(look)

    thread = threading.Thread(target=wake_again_and_again)
    thread.start()
    with asyncio.Runner() as runner:
        runner.run(wait())
    thread.join()


@pytest.mark.parametrize("is_blocked", [True, False])
def test_a_tick_is_told_whether_the_thread_blocks(is_blocked):
    ticks = []
    waiter = Waiter(tick=ticks.append)

    def is_enough():
        return len(ticks) > 1

    if is_blocked:
        waiter.wait(is_enough)
    else:
        run_sync(waiter.wait_async(is_enough))
    assert set(ticks) == {is_blocked}


def test_waiting_costs_almost_no_processor_time():
    waiter, end = Waiter(), time.monotonic() + 0.3
    began = time.process_time()
    waiter.wait(lambda: time.monotonic() > end)
    assert time.process_time() - began < 0.15


# ------------------------------------------------------------ the other loop


async def test_async_work_happens_on_the_waiting_loop():
    async def where():
        return asyncio.get_running_loop()

    waiter = Waiter()
    there = await Call(waiter.run_async(where), waiter).wait_async()
    assert there is asyncio.get_running_loop()


def test_async_work_happens_here_when_the_waiting_side_has_no_loop():
    async def where():
        return asyncio.get_running_loop()

    waiter = Waiter()
    assert Call(waiter.run_async(where), waiter).wait().is_running()


def test_async_work_for_a_closed_loop_is_refused_and_not_lost():
    async def wait():
        await waiter.wait_async(lambda: True)

    async def ask():
        async with asyncio.timeout(5):
            await waiter.run_async(lambda: asyncio.sleep(0))

    waiter = Waiter()
    with asyncio.Runner() as runner:
        runner.run(wait())
    with pytest.raises(WaiterGone):
        run_sync(ask())


# ------------------------------------------------------------ threads


async def test_a_thread_of_its_own_is_a_daemon_with_a_name():
    thread = await in_thread(threading.current_thread, name="worker")
    assert (thread.name, thread.daemon) == ("worker", True)


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, StopIteration])
async def test_a_thread_that_exits_raises_where_it_is_awaited(kind):
    def fail():
        raise kind

    with pytest.raises(RuntimeError, match=kind.__name__):
        await in_thread(fail, name="worker")
