"""A ``%%agent`` cell: one run, shown as it goes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from notebook_agents.agent import Agent
from notebook_agents.errors import RunCancelledError
from notebook_agents.jupyter.approval import CellApprover
from notebook_agents.jupyter.cell_runs import note_begun
from notebook_agents.jupyter.formats import AnswerFormat, Formatted
from notebook_agents.jupyter.look import Look
from notebook_agents.jupyter.renderer import CellRenderer
from notebook_agents.results import mark_displayed
from notebook_agents.run import Run
from notebook_agents.sync import cell_waiter

__all__ = ["show_run"]


async def show_run(
    begin: Callable[[], Awaitable[Run[Any]]],
    *,
    asked: Agent,
    owner: Agent,
    approver: CellApprover,
    look: Look,
    form: AnswerFormat,
    note: str = "",
    timeout: float | None = None,
) -> Formatted:
    """Run an agent and show what happens in the calling cell.

    Parameters
    ----------
    begin : callable
        Begins the run.
    asked : Agent
        Who is asked.
    owner : Agent
        The agent of the notebook: the same, or the one it is a variant of.
    approver : CellApprover
        Asks in the same cell.
    look : Look
        How it is shown.
    form : AnswerFormat
        How the answer is read.
    note : str
        Anything to say in the line on top.
    timeout : float or None
        Seconds until the run is stopped.

    Returns
    -------
    Formatted
        The next display of its result shows nothing, since the answer is on
        screen.

    Raises
    ------
    CancelledError
        If the cell is stopped; the run has ended by then.
    AnswerFormatError
        If the answer is not what was asked for; it stays on screen.
    RunCancelledError
        If it took longer than ``timeout``.
    TimeoutError
        If the model did.
    """
    run = await begin()
    owner.last_run = run
    approver.attach(run, look)
    note_begun(run, owner, approver)
    why = f"chosen because {asked.model_reason}" if asked.model_reason else ""
    renderer = CellRenderer(
        agent=asked.name,
        model=asked.model_label,
        note=" · ".join(filter(None, (note, why))),
        look=look,
        is_recorded=approver.has_asked,
    )
    renderer.watch(run)
    approver.before_asking = renderer.catch_up
    if (waiter := cell_waiter()) is not None:
        waiter.before_tool = renderer.catch_up  # it may print
    showing = asyncio.create_task(renderer.follow(run))
    try:
        async with asyncio.timeout(timeout):
            result = await run.result()
    except asyncio.CancelledError:
        await _stopped(run)
        raise
    except TimeoutError:
        if run.is_done:
            raise  # the model's own time limit
        await _stopped(run)
        message = f"The run took longer than {timeout:g} s (--timeout)."
        raise RunCancelledError(message) from None
    finally:
        await showing
    answer = form.apply(result)
    if answer.bundle:
        renderer.replace_answer(answer.bundle)
    mark_displayed(answer.result)
    return answer


async def _stopped(run: Run) -> None:
    run.cancel()
    await run.ended()
