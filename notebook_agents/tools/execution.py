"""Where and how a tool's function runs, and what becomes of it.

A sync tool runs in the thread of the cell that waits for the run, exactly as
if the user had called it there; without such a cell, or with
``@tool(thread=True)``, in a thread of its own. An async tool runs on the loop
of the waiting cell, where the user's own clients live, else on the run's loop.
"""

from __future__ import annotations

import asyncio
import inspect
import traceback
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from notebook_agents.sync import current_waiter
from notebook_agents.tools.call import BoundCall
from notebook_agents.tools.definition import ToolDefinition
from notebook_agents.tools.observation import text_of
from notebook_agents.waiting import Waiter, in_thread

__all__ = ["Outcome", "execute", "needs_main_thread", "said_of"]


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


def said_of(definition: ToolDefinition, outcome: Outcome) -> str:
    """Say in words what became of a call: the value, or one line on the error."""
    error = outcome.error
    if error is None:
        return text_of(outcome.value)
    if isinstance(error, TimeoutError) and definition.timeout and not str(error):
        return f"no result within {definition.timeout:g} s"
    name = type(error).__name__
    try:
        return f"{name}: {error}" if str(error) else name
    except Exception:  # noqa: BLE001 - the error is the user's, and may do anything
        return name


async def execute(definition: ToolDefinition, bound: BoundCall) -> Outcome:
    """Call a tool in the place that is right for it.

    Parameters
    ----------
    definition : ToolDefinition
        The tool.
    bound : BoundCall
        Validated arguments.

    Returns
    -------
    Outcome
        The value or the error; only a cancellation of this run is raised.
    """
    for _ in range(definition.retries):
        outcome = await _attempt(definition, bound)
        if outcome.error is None:
            return outcome
    return await _attempt(definition, bound)


async def _attempt(definition: ToolDefinition, bound: BoundCall) -> Outcome:
    try:
        async with asyncio.timeout(definition.timeout):
            return await _execute(definition, bound)
    except TimeoutError as error:
        return Outcome(error=error, detail=f"no result in {definition.timeout:g} s")


async def _execute(definition: ToolDefinition, bound: BoundCall) -> Outcome:
    waiter = _waiter_for(definition)
    if definition.is_async:
        return await _await_there(
            lambda: definition.func(*bound.args, **bound.kwargs), waiter
        )

    def call() -> Outcome:
        return _captured(lambda: _whole(definition.func(*bound.args, **bound.kwargs)))

    if waiter is not None:
        outcome = await waiter.run(lambda: _stoppable(call))
    elif definition.thread is False:
        outcome = call()
    else:
        outcome = await in_thread(call, name=f"tool {definition.name}")
    if inspect.isasyncgen(outcome.value):
        return await _await_there(lambda: _gathered(outcome.value), waiter)
    if inspect.isawaitable(outcome.value):
        return await _await_there(lambda: outcome.value, waiter)
    return outcome


async def _await_there(
    function: Callable[[], Awaitable[Any]], waiter: Waiter | None
) -> Outcome:
    if waiter is None:
        return await _awaited(function)
    return await waiter.run_async(lambda: _awaited(function))


def _waiter_for(definition: ToolDefinition) -> Waiter | None:
    waiter = current_waiter()
    if waiter is None or not waiter.is_open or definition.thread is True:
        return None
    wanted = definition.thread is False and not definition.is_async
    return waiter if waiter.runs_tools or wanted else None


def _whole(value: Any) -> Any:
    # Here, where the tool's own code belongs, and not where the value is shown.
    return list(value) if inspect.isgenerator(value) else value


async def _gathered(values: AsyncGenerator[Any, None]) -> list[Any]:
    async with aclosing(values):
        return [value async for value in values]


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


async def _awaited(function: Callable[[], Awaitable[Any]]) -> Outcome:
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
    while frames is not None and frames.tb_frame.f_code.co_filename == __file__:
        frames = frames.tb_next
    lines = traceback.format_exception(type(error), error, frames)
    return Outcome(error=error, detail="".join(lines))
