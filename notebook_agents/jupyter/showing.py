"""A run, shown in a cell that need not be the one which began it."""

from __future__ import annotations

import asyncio
from typing import Any

from IPython.display import DisplayHandle

from notebook_agents.jupyter import kernel
from notebook_agents.jupyter.begun import approver_of
from notebook_agents.jupyter.output import CellOutput
from notebook_agents.jupyter.renderer import CellRenderer
from notebook_agents.run import Run
from notebook_agents.sync import on_agent_loop, run_sync

__all__ = ["show_here"]

_followers: set[asyncio.Task[None]] = set()
"""So that none of them is lost while its run goes on."""


def show_here(run: Run[Any]) -> None:
    """Show a run in the calling cell, and keep it up to date until it ends.

    Parameters
    ----------
    run : Run
        At work or done.
    """
    if kernel.kernel() is None:  # what a terminal has written stays as it is
        print(repr(run))  # noqa: T201 - as its text would be
        return
    cell = kernel.this_cell()
    approver = approver_of(run)
    is_captured = kernel.is_captured()
    renderer = CellRenderer(
        agent=run.agent,
        model=run.model,
        make_output=lambda _: DisplayHandle() if is_captured else CellOutput(cell),
        is_alone=approver is None or not approver.is_in(cell),
    )
    if run.is_done:
        run_sync(renderer.follow(run))
    elif not is_captured:
        on_agent_loop(lambda: _follow(renderer, run))


def _follow(renderer: CellRenderer, run: Run[Any]) -> None:
    task = asyncio.get_running_loop().create_task(renderer.follow(run))
    _followers.add(task)
    task.add_done_callback(_followers.discard)
