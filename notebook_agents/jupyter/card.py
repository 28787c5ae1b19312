"""`ApprovalCard`: the live question in the cell, an anywidget."""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets

from notebook_agents.approval import ApprovalRequest
from notebook_agents.jupyter._words import encodable
from notebook_agents.jupyter.fields import fields_of, shown
from notebook_agents.jupyter.widget import STYLE, script

__all__ = ["ApprovalCard"]


class ApprovalCard(anywidget.AnyWidget):
    """Show one request with its buttons, and send back what is clicked.

    Parameters
    ----------
    request : ApprovalRequest
        What is asked.
    """

    _esm = script("card.js")
    _css = STYLE

    agent = traitlets.Unicode().tag(sync=True)
    tool = traitlets.Unicode().tag(sync=True)
    args: Any = traitlets.List().tag(sync=True)
    fields: Any = traitlets.List().tag(sync=True)
    description = traitlets.Unicode().tag(sync=True)
    risk = traitlets.Unicode().tag(sync=True)

    def __init__(self, request: ApprovalRequest) -> None:
        # Pairs of texts: the order stays, and a number keeps its digits.
        args = [[name, shown(value)] for name, value in request.args.items()]
        super().__init__(
            agent=encodable(request.agent),
            tool=encodable(request.tool),
            args=encodable(args),
            fields=encodable(fields_of(request.schema, request.args)),
            description=encodable(request.description),
            risk=encodable(request.risk or ""),
        )

    def bundle(self) -> dict[str, Any]:
        """Give the MIME bundle to display."""
        made: Any = self._repr_mimebundle_()
        bundle = dict(made[0] if isinstance(made, tuple) else made)
        bundle["text/plain"] = f"{self.agent} asks to run {self.tool}."
        return bundle

    def close(self) -> None:
        """Close the widget, and the layout that it was given."""
        layout = self.layout
        super().close()
        if layout is not None:
            layout.close()
