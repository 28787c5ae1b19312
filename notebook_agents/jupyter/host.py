"""`JupyterHost`: how a cell runs, waits and asks, in a kernel or in IPython."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from notebook_agents.errors import RunCancelledError
from notebook_agents.jupyter import kernel
from notebook_agents.jupyter.variables import NotebookVariables
from notebook_agents.sync import Call
from notebook_agents.waiting import Waiter

if TYPE_CHECKING:
    from notebook_agents.jupyter.approval import CellApprover
    from notebook_agents.jupyter.form import ToolForm
    from notebook_agents.tools.definition import ToolDefinition

__all__ = ["JupyterHost", "RunStopped"]

T = TypeVar("T")


class RunStopped(KeyboardInterrupt):
    """The person stopped the cell; shown as one line, not as a traceback."""

    def _render_traceback_(self) -> list[str]:
        return ["KeyboardInterrupt: the run was stopped."]


class JupyterHost:
    """Cells of a Jupyter kernel or of terminal IPython."""

    def __init__(self) -> None:
        self._tried: dict[str, Mapping[str, Any]] = {}
        """With what each tool was tried last."""

    def is_here(self) -> bool:
        """Tell whether the main thread of a kernel or of IPython asks."""
        is_main = threading.current_thread() is threading.main_thread()
        return is_main and kernel.shell() is not None

    def waiter(self) -> Waiter:
        """Make a waiter that runs tools in the cell and lets clicks in."""
        # Also where nothing needs pumping: an interrupt of an awaiting cell is
        # seen only when the kernel's loop looks up by itself.
        return Waiter(tick=kernel.pump, runs_tools=True)

    def wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the agent loop while the cell blocks."""
        try:
            return Call(coroutine, self.waiter()).wait()
        except KeyboardInterrupt:
            raise RunStopped from None

    async def wait_async(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the agent loop while the cell awaits."""
        try:
            with kernel.interrupts() as interrupted:
                return await Call(coroutine, self.waiter()).wait_async()
        except KeyboardInterrupt:
            raise RunStopped from None
        except (asyncio.CancelledError, RunCancelledError):
            # Stop cancels the cell, unless an interrupted tool has ended the run
            # before. A time limit of the user's cancels it as well: only for the
            # first is an interrupt what IPython should show.
            if interrupted.is_set() and kernel.is_cell_task(asyncio.current_task()):
                raise RunStopped from None
            raise

    def approver(self, *, flag: str = 'policy="allow"') -> CellApprover:
        """Give the surface that asks in the calling cell.

        Parameters
        ----------
        flag : str
            What to pass to allow without asking, for where nobody is there.

        Returns
        -------
        CellApprover
            Good for one run.
        """
        from notebook_agents.jupyter.approval import CellApprover

        return CellApprover(can_ask=kernel.can_ask_stdin(), flag=flag)

    def namespace(self) -> Mapping[str, Any]:
        """Give the variables of the notebook, as they are at each look."""
        return NotebookVariables(kernel.shell())

    def form(self, definition: ToolDefinition) -> ToolForm:
        """Give a form to try a tool by hand.

        Parameters
        ----------
        definition : ToolDefinition
            The tool.

        Returns
        -------
        ToolForm
            Filled in with what the tool was tried with last.
        """
        from notebook_agents.jupyter.form import ToolForm

        return ToolForm(definition, self._tried)
