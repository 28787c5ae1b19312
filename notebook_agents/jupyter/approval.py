"""`CellApprover`: asks for consent in the cell, by a card or an input box.

The calls of one step arrive in the same turn of the loop and wait side by side
in one card. Whatever the answer, static records take the place of the question,
so the saved notebook holds no widget.
"""

from __future__ import annotations

from collections.abc import Callable

from IPython.display import DisplayHandle

from notebook_agents.approval import NobodyApprover, PendingApproval
from notebook_agents.jupyter import kernel
from notebook_agents.jupyter.input_box import InputBox
from notebook_agents.jupyter.waiting_calls import WaitingCalls, record_of

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
        self._nobody = NobodyApprover(flag)
        self._cell = kernel.this_cell()
        self._input_box = InputBox(self._cell)
        self._waiting: WaitingCalls | None = None

    async def ask(self, pending: PendingApproval) -> None:
        """Put the question and leave a record of its answer."""
        self.before_asking()
        if self.can_ask and kernel.kernel() is not None and kernel.shows_cards():
            await self._waiting_calls().ask(pending)
            return
        try:
            await (self._input_box if self.can_ask else self._nobody).ask(pending)
        finally:
            DisplayHandle().display(record_of(pending).bundle(), raw=True)

    def _waiting_calls(self) -> WaitingCalls:
        """Give those that are on screen, or new ones once these are decided."""
        if self._waiting is None or not self._waiting.take_more():
            self._waiting = WaitingCalls(self._cell)
        return self._waiting
