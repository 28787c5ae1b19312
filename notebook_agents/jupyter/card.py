"""`ApprovalCard`: the live questions in the cell, an anywidget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import traitlets

from notebook_agents.approval import ApprovalRequest
from notebook_agents.jupyter._words import call_text, encodable
from notebook_agents.jupyter.fields import fields_of
from notebook_agents.jupyter.record import ApprovalRecord
from notebook_agents.jupyter.widget import STYLE, CellWidget, script

__all__ = ["ApprovalCard"]


class ApprovalCard(CellWidget):
    """Show calls that wait, with their buttons, and send back what is clicked.

    What is said back and forth stands at the top of ``card.js``.

    Parameters
    ----------
    requests : sequence of ApprovalRequest
        What is asked, a row each.
    hint : str
        Where else there can be an answer; empty where that needs no saying.
    """

    _esm = script("card.js")
    _css = STYLE

    rows: Any = traitlets.List().tag(sync=True)
    """What is asked; a browser that is reloaded reads it again."""
    records: Any = traitlets.Dict().tag(sync=True)
    """What became of the rows that have been decided, by identifier."""
    hint = traitlets.Unicode().tag(sync=True)
    after: Any = traitlets.Dict().tag(sync=True)
    """What came after, for a page that gets no more outputs of the cell."""

    def __init__(self, requests: Sequence[ApprovalRequest], hint: str = "") -> None:
        self._calls = [_call(request) for request in requests]
        super().__init__(rows=[_row(request) for request in requests], hint=hint)

    def add(self, requests: Sequence[ApprovalRequest]) -> None:
        """Ask about more calls."""
        self._calls += [_call(request) for request in requests]
        self.rows = [*self.rows, *map(_row, requests)]

    def settle(self, request_id: str, record: ApprovalRecord) -> None:
        """Show what became of a call, in the place of its buttons."""
        self.records = {**self.records, request_id: encodable(record.line())}

    @property
    def plain(self) -> str:
        """What is asked, for front ends without widgets."""
        return "\n".join([*self._calls, self.hint]).rstrip()


def _call(request: ApprovalRequest) -> str:
    call = call_text(request.tool, request.args)
    text: str = encodable(f"{request.agent} asks to run {call}.")
    return text


def _row(request: ApprovalRequest) -> dict[str, Any]:
    row: dict[str, Any] = encodable(
        {
            "id": request.id,
            "agent": request.agent,
            "tool": request.tool,
            # A question about a budget has none: there is nothing to answer in its
            # place, and nothing that could be said once for all.
            "isCall": bool(request.call_id),
            "description": request.explained(request.description),
            "risk": request.risk or "",
            # All as text: the order stays, and a number keeps its digits.
            "fields": fields_of(request.schema, request.args),
        }
    )
    return row
