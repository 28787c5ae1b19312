"""Where and how a tool's function runs, and what becomes of it.

A sync tool runs in the thread of the cell that waits for the run, exactly as
if the user had called it there; without such a cell, or with
``@tool(thread=True)``, in a thread of its own. An async tool runs on the loop
of the waiting cell, where the user's own clients live, else on the run's loop.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import threading
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import AsyncGeneratorType
from typing import Any

from notebook_agents.errors import ToolTimeoutError
from notebook_agents.sync import current_waiter
from notebook_agents.tools import generators
from notebook_agents.tools.call import BoundCall
from notebook_agents.tools.context import BY_HAND, RunContext
from notebook_agents.tools.definition import ToolDefinition
from notebook_agents.tools.generators import (
    Report,
    is_to_be_read,
    read,
    read_async,
)
from notebook_agents.tools.progress import Progress
from notebook_agents.waiting import Waiter, in_thread

__all__ = ["Outcome", "execute", "needs_main_thread"]


_OURS = {__file__, generators.__file__}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one call of a function: a value, or an error.

    Parameters
    ----------
    value : object
        What it returned.
    error : BaseException or None
        What it raised instead.
    detail : str
        The traceback, for people.
    """

    value: Any = None
    error: BaseException | None = None
    detail: str = ""


def needs_main_thread(definition: ToolDefinition) -> bool:
    """Tell whether a call would run in the thread of the waiting cell."""
    return _waiter_for(definition) is not None and not definition.is_async


async def execute(
    definition: ToolDefinition, bound: BoundCall, context: RunContext[Any] = BY_HAND
) -> Outcome:
    """Call a tool in the place that is right for it.

    Parameters
    ----------
    definition : ToolDefinition
        The tool.
    bound : BoundCall
        Validated arguments.
    context : RunContext, optional
        For a function that takes it; a generator reports its progress there.

    Returns
    -------
    Outcome
        The value or the error; only a cancellation of this run is raised.
    """
    try:
        async with asyncio.timeout(definition.timeout):
            return await _execute(definition, bound.within(context), context)
    except TimeoutError:
        message = f"no result within {definition.timeout:g} s"
        error = ToolTimeoutError(message, tool=definition.name)
        return Outcome(error=error, detail=message)


async def _execute(
    definition: ToolDefinition, bound: BoundCall, context: RunContext[Any]
) -> Outcome:
    if (there := current_waiter()) is not None:
        there.before_tool()
    waiter = _waiter_for(definition)
    report = functools.partial(_report, context)

    def begin() -> Any:
        return definition.func(*bound.args, **bound.kwargs)

    if definition.is_async:
        outcome = await _await_there(lambda: _awaited(begin(), report), waiter)
        return await _read_apart(definition, outcome, report)
    stopped = threading.Event()

    def call() -> Outcome:
        return _captured(lambda: _whole(begin(), report, stopped.is_set))

    try:
        outcome = await _call_there(definition, call, waiter)
    finally:
        stopped.set()  # an iterator that is still read ends with its next value
    value = outcome.value
    if issubclass(type(value), Awaitable | AsyncGeneratorType):
        outcome = await _await_there(lambda: _awaited(value, report), waiter)
        return await _read_apart(definition, outcome, report)
    return outcome


async def _read_apart(
    definition: ToolDefinition, outcome: Outcome, report: Report
) -> Outcome:
    """Read an iterator that async code gave, whose loop must go on meanwhile."""
    value = outcome.value
    if not is_to_be_read(value):
        return outcome
    stopped = threading.Event()
    try:
        return await _apart(
            definition, lambda: _captured(lambda: read(value, report, stopped.is_set))
        )
    finally:
        stopped.set()


def _whole(value: Any, report: Report, is_stopped: Callable[[], bool]) -> Any:
    # Where the tool's own code belongs, and not where the value is shown.
    return read(value, report, is_stopped) if is_to_be_read(value) else value


async def _call_there(
    definition: ToolDefinition, call: Callable[[], Outcome], waiter: Waiter | None
) -> Outcome:
    if waiter is not None:
        return await waiter.run(lambda: _stoppable(call))
    if definition.thread is False:
        return call()
    return await _apart(definition, call)


async def _apart(definition: ToolDefinition, call: Callable[[], Outcome]) -> Outcome:
    return await in_thread(call, name=f"tool {definition.name}")


def _report(context: RunContext[Any], progress: Progress) -> None:
    context.report_progress(progress.done, progress.total, progress.message)


async def _await_there(
    function: Callable[[], Awaitable[Any]], waiter: Waiter | None
) -> Outcome:
    if waiter is None:
        return await _settled(function)
    outcome = await waiter.run_async(lambda: _settled(function))
    if waiter.loop is None or not isinstance(outcome.error, KeyboardInterrupt):
        return outcome
    return await waiter.run(lambda: _stoppable(lambda: outcome))


def _waiter_for(definition: ToolDefinition) -> Waiter | None:
    waiter = current_waiter()
    if waiter is None or not waiter.is_open or definition.thread is True:
        return None
    wanted = definition.thread is False and not definition.is_async
    return waiter if waiter.runs_tools or wanted else None


async def _awaited(value: Any, report: Report) -> Any:
    if issubclass(type(value), Awaitable):
        value = await value
    return await read_async(value, report) if inspect.isasyncgen(value) else value


def _captured(function: Callable[[], Any]) -> Outcome:
    try:
        return Outcome(function())
    except BaseException as error:  # noqa: BLE001 - SystemExit must not end a loop
        return _failed(error)


def _stoppable(call: Callable[[], Outcome]) -> Outcome:
    outcome = call()
    if isinstance(outcome.error, KeyboardInterrupt):
        raise outcome.error  # a person's Stop, which belongs to the whole cell
    return outcome


async def _settled(function: Callable[[], Awaitable[Any]]) -> Outcome:
    task = asyncio.current_task()
    try:
        return Outcome(await function())
    except asyncio.CancelledError as error:
        if task is not None and task.cancelling():
            raise
        return _failed(error)  # the tool cancelled itself
    except BaseException as error:  # noqa: BLE001 - KeyboardInterrupt would end a loop
        return _failed(error)


def _failed(error: BaseException) -> Outcome:
    # The first frames are ours and say nothing about the tool.
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename in _OURS:
        frames = frames.tb_next
    lines = traceback.format_exception(type(error), error, frames)
    return Outcome(error=error, detail="".join(lines))
