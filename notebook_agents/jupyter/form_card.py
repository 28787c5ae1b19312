"""`FormCard`: the form by which a person tries a tool, an anywidget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import traitlets

from notebook_agents.jupyter._words import encodable
from notebook_agents.jupyter.fields import Field
from notebook_agents.jupyter.widget import CellWidget, script, style
from notebook_agents.tools.definition import ToolDefinition

__all__ = ["FormCard"]


class FormCard(CellWidget):
    """Show a field for each argument, and send back what is written.

    Parameters
    ----------
    definition : ToolDefinition
        The tool.
    fields : sequence of dict
        As from `fields_of`.
    """

    _esm = script("form.js")
    _css = style("form.css")

    tool = traitlets.Unicode().tag(sync=True)
    fields: Any = traitlets.List().tag(sync=True)
    description = traitlets.Unicode().tag(sync=True)
    risk = traitlets.Unicode().tag(sync=True)

    def __init__(self, definition: ToolDefinition, fields: Sequence[Field]) -> None:
        super().__init__(
            tool=definition.name,
            fields=encodable(list(fields)),
            description=encodable(definition.description),
            risk=definition.risk or "",
        )
