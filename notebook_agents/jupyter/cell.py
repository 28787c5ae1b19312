"""A ``%%agent`` cell: one run, shown as it goes."""

from __future__ import annotations

import asyncio
from typing import Any

from notebook_agents.agent import Agent
from notebook_agents.jupyter.approval import CellApprover
from notebook_agents.jupyter.renderer import CellRenderer
from notebook_agents.results import AgentResult, mark_displayed

__all__ = ["show_run"]


async def show_run(
    agent: Agent,
    prompt: str,
    *,
    approver: CellApprover,
    **options: Any,
) -> AgentResult[Any]:
    """Run an agent and show what happens in the calling cell.

    Parameters
    ----------
    agent : Agent
        Who is asked.
    prompt : str
        What the cell says.
    approver : CellApprover
        Asks in the same cell.
    **options
        As for ``agent.run``.

    Returns
    -------
    AgentResult
        Its next display shows nothing, since the answer is on screen.

    Raises
    ------
    CancelledError
        If the cell is stopped; the run has ended by then.
    """
    run = agent.start(prompt, approver=approver, **options)
    note = f"chosen because {agent.model_reason}" if agent.model_reason else ""
    renderer = CellRenderer(agent=agent.name, model=agent.model_label, note=note)
    approver.before_asking = renderer.catch_up
    showing = asyncio.create_task(renderer.follow(run))
    try:
        result = await run.result()
    except asyncio.CancelledError:
        run.cancel()
        await run.ended()
        raise
    finally:
        await showing
    mark_displayed(result)
    return result
