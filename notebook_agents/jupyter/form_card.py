"""`FormCard`: the form by which a person tries a tool, an anywidget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anywidget
import traitlets

from notebook_agents.jupyter._words import encodable
from notebook_agents.jupyter.fields import Field
from notebook_agents.jupyter.widget import script, style
from notebook_agents.tools.definition import ToolDefinition

__all__ = ["FormCard"]


class FormCard(anywidget.AnyWidget):
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

    def bundle(self, plain: str) -> dict[str, Any]:
        """Give the MIME bundle to display, with its twin in plain text."""
        made: Any = self._repr_mimebundle_()
        bundle = dict(made[0] if isinstance(made, tuple) else made)
        return bundle | {"text/plain": plain}

    def close(self) -> None:
        """Close the widget, and the layout that it was given."""
        layout = self.layout
        super().close()
        if layout is not None:
            layout.close()
