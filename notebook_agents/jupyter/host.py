"""`JupyterHost`: how a cell runs, waits and asks, in a kernel or in IPython."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from notebook_agents.errors import RunCancelledError
from notebook_agents.jupyter import kernel
from notebook_agents.jupyter.variables import NotebookVariables
from notebook_agents.sync import Call
from notebook_agents.waiting import Waiter, running_loop

if TYPE_CHECKING:
    from pathlib import Path

    from notebook_agents.approval import Approver
    from notebook_agents.jupyter.approval import CellApprover
    from notebook_agents.jupyter.form import ToolForm
    from notebook_agents.results import AgentResult
    from notebook_agents.run import Run
    from notebook_agents.tools.definition import ToolDefinition

__all__ = ["JupyterHost", "RunStopped"]

T = TypeVar("T")


class RunStopped(KeyboardInterrupt):
    """The person stopped the cell; shown as one line, not as a traceback."""

    def _render_traceback_(self) -> list[str]:
        return ["KeyboardInterrupt: the run was stopped."]


class _CellWaiter(Waiter):
    """A cell that waits, and knows whether it was stopped meanwhile."""

    def __init__(self) -> None:
        # The tick also where nothing needs pumping: an interrupt of an awaiting
        # cell is seen only when the kernel's loop looks up by itself.
        super().__init__(tick=kernel.pump, runs_tools=True)
        self._interrupts = contextlib.ExitStack()
        self._interrupted: threading.Event | None = None

    def attend(self) -> None:
        """Note interrupts from now on, also between two waits."""
        super().attend()
        self._note_interrupts()

    def _note_interrupts(self) -> None:
        if self._interrupted is None:
            self._interrupted = self._interrupts.enter_context(kernel.interrupts())

    def close(self) -> None:
        """Note no more interrupts; nobody waits any more."""
        super().close()
        if threading.current_thread() is threading.main_thread():
            self._interrupts.close()

    def is_stopped(self) -> bool:
        """Tell whether an interrupt has come since this cell began to wait."""
        return self._interrupted is not None and self._interrupted.is_set()

    def ends_as_stopped(self) -> bool:
        """Tell whether an interrupt is what this cell should end with."""
        # A time limit of the user's cancels a cell as well; and a task that the
        # user made must not raise an interrupt.
        return self.is_stopped() and kernel.is_cell_task(asyncio.current_task())

    def raise_if_stopped(self) -> None:
        """Raise the interrupt, if that is what this cell should end with."""
        if self.ends_as_stopped():
            raise RunStopped from None

    def wait(self, ready: Callable[[], bool]) -> None:
        """Block until ``ready()``, or until the person stops the cell."""
        if running_loop() is not None:  # else every interrupt raises
            self._note_interrupts()
        super().wait(lambda: ready() or self._go_on())

    def _go_on(self) -> Literal[False]:
        # In a cell that awaits, the kernel's handler only schedules that the cell
        # is cancelled, which a loop that stands still does not come to.
        if self.is_stopped():
            self.raise_if_stopped()
            raise asyncio.CancelledError
        return False

    async def wait_async(self, ready: Callable[[], bool]) -> None:
        try:
            await super().wait_async(ready)
        except asyncio.CancelledError:
            self.raise_if_stopped()
            raise


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
        return _CellWaiter()

    def wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the agent loop while the cell blocks."""
        try:
            return Call(coroutine, self.waiter()).wait()
        except KeyboardInterrupt:
            raise RunStopped from None

    async def wait_async(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the agent loop while the cell awaits."""
        waiter = _CellWaiter()
        try:
            return await Call(coroutine, waiter).wait_async()
        except KeyboardInterrupt:
            raise RunStopped from None
        except (asyncio.CancelledError, RunCancelledError):
            # Stop cancels the cell, unless an interrupted tool has ended the run
            # before.
            waiter.raise_if_stopped()
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

    def began(self, run: Run[Any], agent: Any, approver: Approver | None) -> None:
        """Take note of a run that the calling cell has begun, and who asks for it."""
        from notebook_agents.jupyter.approval import CellApprover
        from notebook_agents.jupyter.cell_runs import note_begun

        mine = approver if isinstance(approver, CellApprover) else None
        if mine is not None:
            mine.attach(run)
        note_begun(run, agent, mine)

    def show(self, run: Run[Any]) -> None:
        """Show a run in the calling cell, also while it goes on."""
        from notebook_agents.jupyter.run_display import show_here

        show_here(run, self)

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

    def markdown(self, text: str) -> str:
        """Give the Markdown that a model wrote as it may be shown."""
        from notebook_agents.jupyter.markdown import safe_markdown

        return safe_markdown(text)

    def export(self, result: AgentResult[Any], path: Path) -> None:
        """Write a run into a file, whose name says in which form."""
        from notebook_agents.jupyter.exporting import export

        export(result, path)
