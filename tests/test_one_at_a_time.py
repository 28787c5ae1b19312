"""One is in at a time, in the order of arrival, also from several loops."""

from __future__ import annotations

import asyncio
import contextlib
import threading

import pytest

from notebook_agents.one_at_a_time import OneAtATime
from notebook_agents.sync import run_sync


@pytest.fixture
def in_line(wait_until):
    """Give a coroutine that waits until so many are in line."""

    async def wait(turns, number):
        await asyncio.to_thread(wait_until, lambda: len(turns._line) == number, 30)

    return wait


async def test_they_come_in_the_order_of_arrival_from_whatever_loop(in_line):
    turns, order = OneAtATime(), []

    async def enter(name):
        async with turns:
            order.append(name)

    async with turns:
        tasks = [asyncio.create_task(enter("first"))]
        await in_line(turns, 2)
        tasks.append(asyncio.create_task(asyncio.to_thread(run_sync, enter("second"))))
        await in_line(turns, 3)
        tasks.append(asyncio.create_task(enter("third")))
        await in_line(turns, 4)
    await asyncio.wait_for(asyncio.gather(*tasks), 30)
    assert order == ["first", "second", "third"]


async def test_nobody_is_in_beside_another_on_many_loops():
    turns, inside, most = OneAtATime(), 0, 0

    async def enter():
        nonlocal inside, most
        for _ in range(20):
            async with turns:
                inside += 1
                most = max(most, inside)
                await asyncio.sleep(0)
                inside -= 1

    def elsewhere():
        asyncio.run(enter())  # noqa: TID251 - a loop of its own is what is tested

    threads = [threading.Thread(target=elsewhere) for _ in range(4)]
    for thread in threads:
        thread.start()
    await asyncio.wait_for(enter(), 30)
    for thread in threads:
        await asyncio.to_thread(thread.join, 30)
    assert most == 1
    assert not turns._line


async def test_who_gives_up_lets_the_next_one_in_and_nobody_beside_it(in_line):
    turns, order = OneAtATime(), []

    async def enter(name):
        async with turns:
            order.append(name)

    async with turns:
        tasks = [asyncio.create_task(enter(name)) for name in ("first", "second")]
        await in_line(turns, 3)
        tasks[0].cancel()
        await asyncio.wait(tasks[:1])
        assert order == []
    await asyncio.wait_for(tasks[1], 30)
    assert order == ["second"]


async def test_who_is_cancelled_when_its_turn_has_come_hands_it_on(in_line):
    turns, order = OneAtATime(), []

    async def enter(name):
        async with turns:
            order.append(name)

    async with turns:
        tasks = [asyncio.create_task(enter(name)) for name in ("first", "second")]
        await in_line(turns, 3)
    tasks[0].cancel()  # it has been told, and has not gone on yet
    with contextlib.suppress(asyncio.CancelledError):
        await tasks[0]
    await asyncio.wait_for(tasks[1], 30)
    assert order == ["second"]
