"""A loop of the server's own: nothing that runs on it ends it, or holds it up."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any

from notebook_agents.server.logs import logger

__all__ = ["run_on_own_loop"]

LAST_SECONDS = 1.0
"""How long tasks that are still there at the end may clean up."""

_left: list[asyncio.Task[Any]] = []
"""Tasks that outlived their loop: thrown away, they would be run once more."""


def run_on_own_loop(main: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine on a new loop of this thread, to its own end.

    Parameters
    ----------
    main : coroutine
        What it raises is raised here. ``SystemExit`` in any other task, which
        asyncio would end the loop for, ends that task alone.
    """
    # Neither asyncio.run, which others patch, nor a Runner, which waits for
    # ever for a task that does not heed that it is cancelled.
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        _run(loop, main)
    finally:
        _end_tasks(loop)
        asyncio.set_event_loop(None)
        loop.close()


def _run(loop: asyncio.AbstractEventLoop, main: Coroutine[Any, Any, None]) -> None:
    task = loop.create_task(main)
    while not task.done():
        with contextlib.suppress(SystemExit, KeyboardInterrupt):
            loop.run_until_complete(task)
    task.result()


def _end_tasks(loop: asyncio.AbstractEventLoop) -> None:
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    if tasks:
        _run(loop, _wait(tasks))
    _run(loop, _wait({loop.create_task(loop.shutdown_asyncgens())}))
    left = [task for task in tasks if not task.done()]
    if left:
        _left.extend(left)
        names = ", ".join(task.get_name() for task in left)
        logger.warning("left behind, as they do not end when told: %s", names)


async def _wait(tasks: set[asyncio.Task[Any]]) -> None:
    await asyncio.wait(tasks, timeout=LAST_SECONDS)
