"""`CellApprover`: asks for consent in the cell, by a card or an input box.

The calls of one step arrive in the same turn of the loop and wait side by side
in one card. Whatever the answer, static records take the place of the question,
so the saved notebook holds no widget.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from IPython.display import DisplayHandle

from notebook_agents.approval import NobodyApprover, PendingApproval
from notebook_agents.jupyter import kernel
from notebook_agents.jupyter.input_box import InputBox
from notebook_agents.jupyter.kernel import Cell
from notebook_agents.jupyter.look import Look
from notebook_agents.jupyter.output import CellOutput
from notebook_agents.jupyter.reloaded_page import retell
from notebook_agents.jupyter.waiting_calls import WaitingCalls, record_of
from notebook_agents.run import Run

if TYPE_CHECKING:
    from notebook_agents.jupyter.card import ApprovalCard

__all__ = ["CellApprover"]


class CellApprover:
    """Ask the person in front of the calling cell.

    Parameters
    ----------
    can_ask : bool
        Whether somebody is there at all.
    flag : str
        What to pass to allow without asking, for where nobody is there.
    """

    def __init__(self, *, can_ask: bool, flag: str) -> None:
        self.before_asking: Callable[[], None] = lambda: None
        """Called before anything is shown, so that what led here stands above."""
        self.can_ask = can_ask
        """Whether somebody is there at all."""
        self._asked: set[str] = set()
        self._nobody = NobodyApprover(flag)
        self._cell = kernel.this_cell()
        self._input_box = InputBox(self._cell)
        self._waiting: WaitingCalls | None = None
        self._kept: list[ApprovalCard] = []
        self._run: Run[Any] | None = None
        self._look: Look | None = None

    def attach(self, run: Run[Any], look: Look | None = None) -> None:
        """Say which run this asks for.

        Parameters
        ----------
        run : Run
            The run.
        look : Look, optional
            How the cell shows it; None if it does not.
        """
        self._run, self._look = run, look

    def is_in(self, cell: Cell) -> bool:
        """Tell whether it asks in this cell."""
        return bool(self._cell.message == cell.message)

    def has_asked(self, request_id: str) -> bool:
        """Tell whether it has put a question, and so leaves a record of the answer."""
        return request_id in self._asked

    async def ask(self, pending: PendingApproval) -> None:
        """Put the question and leave a record of its answer."""
        self._asked.add(pending.request.id)
        self.before_asking()
        if self.can_ask and kernel.kernel() is not None and self._shows_cards():
            await self._waiting_calls().ask(pending)
            return
        try:
            await (self._input_box if self.can_ask else self._nobody).ask(pending)
        finally:
            self._output().display(record_of(pending).bundle(), raw=True)

    def _shows_cards(self) -> bool:
        # Nobody waits for a run in the background, in whatever cell it was begun.
        is_seen = not kernel.is_captured() or not self._input_box.is_there()
        return is_seen and kernel.shows_cards()

    def _output(self) -> Any:
        is_background = self.can_ask and not self._input_box.is_there()
        return CellOutput(self._cell) if is_background else DisplayHandle()

    def _waiting_calls(self) -> WaitingCalls:
        """Give those that are on screen, or new ones once these are decided."""
        if self._waiting is None or not self._waiting.take_more():
            if self._waiting is not None:
                self._waiting.hand_over()
            self._waiting = WaitingCalls(self._cell, self._retell, self._kept)
        return self._waiting

    async def _retell(self, card: ApprovalCard) -> None:
        if self._run is not None:
            await retell(self._run, card, look=self._look)
