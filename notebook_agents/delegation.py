"""One agent asked by another, in the middle of a tool call."""

from __future__ import annotations

import contextvars
import textwrap
from collections.abc import Callable
from typing import Any

from notebook_agents.errors import ToolError
from notebook_agents.memory.in_memory import InMemoryStore
from notebook_agents.runnable import Runnable
from notebook_agents.telling import OnEvent, Teller
from notebook_agents.tools.decorator import tool

__all__ = ["brief", "delegate_tool", "delegated"]

LONGEST_BRIEF = 300
MOST_NESTED = 10
"""How deep tasks may be handed on: agents that ask each other would never end."""

_nested: contextvars.ContextVar[int] = contextvars.ContextVar(
    "notebook_agents_nested", default=0
)


def brief(instructions: str | None) -> str:
    """Give what another agent reads of an agent's own instructions, on one line."""
    return textwrap.shorten(instructions or "", LONGEST_BRIEF)


async def delegated(
    agent: Runnable, task: str, *, on_event: OnEvent | None = None
) -> str:
    """Ask an agent on behalf of the run whose tool runs here.

    Its tools run and ask where those of that run do. The conversation is one of
    its own, so tasks that are handed out at the same time do not meet.

    Parameters
    ----------
    agent : Runnable
        Who is asked.
    task : str
        What it should do.
    on_event : callable, optional
        Told what happens, besides the agent's own.

    Returns
    -------
    str
        The answer.

    Raises
    ------
    ToolError
        If the task has been handed on ten times already.
    NotebookAgentsError
        If it failed.
    CancelledError
        If this is cancelled; the run has ended by then.
    """
    depth = _nested.get()
    if depth == MOST_NESTED:
        message = f"This task was handed on {depth} times; do it without asking others."
        raise ToolError(message)
    mark = _nested.set(depth + 1)
    try:  # whatever the run asks in its turn is one deeper
        run = agent.start_inside(task, memory=InMemoryStore().session())
    finally:
        _nested.reset(mark)
    teller = Teller(on_event)
    try:
        events = run.events()
        try:
            async for event in events:
                await teller.tell(event)
        finally:
            await events.aclose()
        return str(await run.result())
    finally:
        if not run.is_done:  # cancelled, or nobody can be told any more
            run.cancel()
            await run.ended()


def delegate_tool(
    agent: Runnable, *, name: str, description: str
) -> Callable[..., Any]:
    """Give a tool with which another agent asks this one.

    Parameters
    ----------
    agent : Runnable
        Who is asked.
    name, description : str
        What the model reads.

    Returns
    -------
    callable
        ``(task: str) -> str``, async.
    """

    async def ask(task: str) -> str:
        return await delegated(agent, task)

    return tool(name=name, description=description)(ask)
