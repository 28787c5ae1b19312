"""A ``%%agent`` cell: one run, shown as it goes."""

from __future__ import annotations

import asyncio
from typing import Any

from notebook_agents.agent import Agent
from notebook_agents.errors import RunCancelledError
from notebook_agents.jupyter.approval import CellApprover
from notebook_agents.jupyter.begun import note_begun
from notebook_agents.jupyter.formats import AnswerFormat, Formatted
from notebook_agents.jupyter.look import Look
from notebook_agents.jupyter.renderer import CellRenderer
from notebook_agents.results import mark_displayed
from notebook_agents.run import Run

__all__ = ["show_run"]


async def show_run(
    agent: Agent,
    prompt: str,
    *,
    owner: Agent,
    approver: CellApprover,
    look: Look,
    form: AnswerFormat,
    timeout: float | None = None,
    **options: Any,
) -> Formatted:
    """Run an agent and show what happens in the calling cell.

    Parameters
    ----------
    agent : Agent
        Who is asked.
    prompt : str
        What the cell says.
    owner : Agent
        The agent of the notebook: the same, or the one it is a variant of.
    approver : CellApprover
        Asks in the same cell.
    look : Look
        How it is shown.
    form : AnswerFormat
        How the answer is read.
    timeout : float or None
        Seconds until the run is stopped.
    **options
        As for ``agent.run``.

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
    run = agent.start(prompt, approver=approver, **options)
    owner.last_run = run
    approver.attach(run, look)
    note_begun(run, owner, approver)
    note = f"chosen because {agent.model_reason}" if agent.model_reason else ""
    renderer = CellRenderer(
        agent=agent.name, model=agent.model_label, note=note, look=look
    )
    approver.before_asking = renderer.catch_up
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
