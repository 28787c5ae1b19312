"""`merge`: several generators of events run at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from functools import partial

from notebook_agents.events import Event
from notebook_agents.patience import guarded
from notebook_agents.waiting import CLEANUP_SECONDS

__all__ = ["merge"]


async def merge(
    sources: Sequence[AsyncGenerator[Event, None]], late: list[Event]
) -> AsyncGenerator[Event, None]:
    """Run several generators at the same time; yield as things happen.

    Parameters
    ----------
    sources : sequence of async generator of Event
        What to run.
    late : list of Event
        Takes what cannot be yielded any more, because this was stopped.

    Yields
    ------
    Event
        Of all sources, as they come.
    """
    queue: asyncio.Queue[Event | asyncio.Task[None]] = asyncio.Queue()

    async def pump(source: AsyncGenerator[Event, None]) -> None:
        async with aclosing(source):
            async for event in source:
                queue.put_nowait(event)

    tasks = [asyncio.create_task(guarded(partial(pump, source))) for source in sources]
    for task in tasks:
        task.add_done_callback(queue.put_nowait)
        task.add_done_callback(_mark_seen)
    left = len(tasks)
    try:
        while left:
            item = await queue.get()
            if isinstance(item, asyncio.Task):
                left -= 1
                item.result()  # raises what ended it
            else:
                yield item
    finally:
        try:
            running = [task for task in tasks if task.cancel()]
            if running:  # a tool that will not stop must not hold the run
                await asyncio.wait(running, timeout=CLEANUP_SECONDS)
        finally:
            items = [queue.get_nowait() for _ in range(queue.qsize())]
            late.extend(item for item in items if isinstance(item, Event))


def _mark_seen(task: asyncio.Task[None]) -> None:
    if not task.cancelled():
        task.exception()
