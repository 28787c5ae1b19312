"""`ApprovalCard`: the live question in the cell, an anywidget."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from notebook_agents.approval import ApprovalRequest

__all__ = ["ApprovalCard"]

_HERE = Path(__file__).parent


class ApprovalCard(anywidget.AnyWidget):
    """Show one request with its buttons, and send back what is clicked.

    Parameters
    ----------
    request : ApprovalRequest
        What is asked.
    """

    _esm = _HERE / "card.js"
    _css = _HERE / "card.css"

    agent = traitlets.Unicode().tag(sync=True)
    tool = traitlets.Unicode().tag(sync=True)
    args: Any = traitlets.List().tag(sync=True)
    description = traitlets.Unicode().tag(sync=True)
    risk = traitlets.Unicode().tag(sync=True)

    def __init__(self, request: ApprovalRequest) -> None:
        super().__init__(
            agent=request.agent,
            tool=request.tool,
            # Pairs of texts: the order stays, and a number keeps its digits.
            args=[[name, _shown(value)] for name, value in request.args.items()],
            description=request.description,
            risk=request.risk or "",
        )

    def bundle(self) -> dict[str, Any]:
        """Give the MIME bundle to display."""
        made: Any = self._repr_mimebundle_()
        bundle = dict(made[0] if isinstance(made, tuple) else made)
        bundle["text/plain"] = f"{self.agent} asks to run {self.tool}."
        return bundle


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)
