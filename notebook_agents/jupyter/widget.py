"""`CellWidget`: what the widgets of the package are made of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anywidget

__all__ = ["STYLE", "CellWidget", "script", "style"]

_HERE = Path(__file__).parent

STYLE = _HERE / "card.css"
"""The look of all of them."""


def script(name: str) -> str:
    """Read the script of a widget, with the parts that all of them share.

    A front end gets it as one text and could not import another file.

    Parameters
    ----------
    name : str
        Its file.

    Returns
    -------
    str
        An ECMAScript module.
    """
    names = ("controls.js", name)
    return "\n".join((_HERE / each).read_text(encoding="utf-8") for each in names)


def style(name: str) -> str:
    """Read the style sheet of a widget, after the one that all of them share.

    Parameters
    ----------
    name : str
        Its file.

    Returns
    -------
    str
        A style sheet.
    """
    files = (STYLE, _HERE / name)
    return "\n".join(each.read_text(encoding="utf-8") for each in files)


class CellWidget(anywidget.AnyWidget):
    """A widget that stands in a cell for a while."""

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
