"""Outputs that are used like a ``DisplayHandle``, and are something else."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from notebook_agents.jupyter import kernel
from notebook_agents.jupyter.kernel import Cell

__all__ = ["CellOutput", "HeldOutput"]


class CellOutput:
    """Shows something in a cell that may have ended, whichever one runs meanwhile.

    A ``DisplayHandle`` asks the kernel where it is: in another cell, or in one whose
    output is captured, that would be the wrong place.

    Parameters
    ----------
    cell : Cell
        Where it belongs; a cell of a Jupyter kernel.
    """

    def __init__(self, cell: Cell) -> None:
        self._parent = cell.message
        self._id = uuid.uuid4().hex

    def display(self, bundle: Mapping[str, Any], *, raw: bool) -> None:
        """Show a MIME bundle."""
        assert raw  # noqa: S101 - formatting is not its business
        self._send("display_data", bundle)

    def update(self, bundle: Mapping[str, Any], *, raw: bool) -> None:
        """Show another one in its place."""
        assert raw  # noqa: S101 - as above
        self._send("update_display_data", bundle)

    def _send(self, kind: str, bundle: Mapping[str, Any]) -> None:
        here = kernel.kernel()
        shown = {"display_id": self._id}
        content = {"data": dict(bundle), "metadata": {}, "transient": shown}
        message = here.session.msg(kind, content, parent=self._parent)
        topic = f"kernel.{here.ident}.{kind}".encode()
        here.session.send(here.iopub_socket, message, ident=topic)


class HeldOutput:
    """Shows nothing yet, and holds what it would show."""

    def __init__(self) -> None:
        self.bundle: Mapping[str, Any] = {}
        """The latest MIME bundle."""

    def display(self, bundle: Mapping[str, Any], *, raw: bool) -> None:
        """Take a MIME bundle."""
        assert raw  # noqa: S101 - as above
        self.bundle = dict(bundle)

    def update(self, bundle: Mapping[str, Any], *, raw: bool) -> None:
        """Take another one in its place."""
        self.display(bundle, raw=raw)
