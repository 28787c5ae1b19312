"""A run, shown in a cell that need not be the one which began it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from IPython.display import DisplayHandle

from notebook_agents.hosts import Host
from notebook_agents.jupyter import kernel
from notebook_agents.jupyter.cell_runs import approver_of, elapsed
from notebook_agents.jupyter.kernel import Cell
from notebook_agents.jupyter.output import CellOutput, HeldOutput
from notebook_agents.jupyter.renderer import CellRenderer
from notebook_agents.run import Run

__all__ = ["show_here"]

_followers: set[asyncio.Task[None]] = set()
"""So that none of them is lost while its run goes on."""


def show_here(run: Run[Any], host: Host) -> None:
    """Show a run in the calling cell, and keep it up to date until it ends.

    Parameters
    ----------
    run : Run
        At work or done.
    host : Host
        Waits in that cell until there is something to see.
    """
    is_terminal = kernel.kernel() is None
    is_captured = not is_terminal and kernel.is_captured()
    if not run.is_done and (is_terminal or is_captured):
        print(repr(run))  # noqa: T201 - nothing could be brought up to date there
        return
    cell = kernel.this_cell()
    if run.is_done:
        _show_whole(run, cell, host)
    else:
        host.wait(_follow(run, cell))


def _show_whole(run: Run[Any], cell: Cell, host: Host) -> None:
    """Show a run that has ended, each part once: in a terminal all of them stay."""
    parts: list[HeldOutput] = []

    def hold() -> HeldOutput:
        parts.append(HeldOutput())
        return parts[-1]

    renderer = _renderer(run, cell, hold)
    host.wait(renderer.follow(run))
    for part in parts:
        DisplayHandle().display(part.bundle, raw=True)


async def _follow(run: Run[Any], cell: Cell) -> None:
    renderer = _renderer(run, cell, lambda: CellOutput(cell))
    renderer.watch(run)
    approver = approver_of(run)
    if approver is not None and approver.is_in(cell):
        approver.before_asking = renderer.catch_up
    task = asyncio.get_running_loop().create_task(renderer.follow(run))
    _followers.add(task)
    task.add_done_callback(_followers.discard)


def _renderer(run: Run[Any], cell: Cell, make: Callable[[], Any]) -> CellRenderer:
    approver = approver_of(run)
    is_alone = approver is None or not approver.is_in(cell)
    return CellRenderer(
        agent=run.agent,
        model=run.model,
        make_output=lambda _: make(),
        elapsed=lambda: elapsed(run),
        is_alone=is_alone,
        is_recorded=None if approver is None or is_alone else approver.has_asked,
    )
