"""A cell in the terminal: its code, then what it shows, as it comes."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from notebook_agents.errors import NotebookAgentsError

__all__ = ["CellPrinter"]


class CellPrinter:
    """Run one cell in a kernel and print what it shows.

    Text that grows is printed as it grows. What changes otherwise is printed
    once it has settled: a card when something new begins, the line on top,
    which tells how the run went, at the end.

    Parameters
    ----------
    number : int
        What stands in front of the cell.
    """

    def __init__(self, number: int) -> None:
        self._number = number
        self._printed = ""
        self._growing: str | None = None
        self._top: str | None = None
        self._unsettled: dict[str, str] = {}

    def run(self, client: Any, cell: str, *, timeout: float) -> None:
        """Run a cell to its end.

        Parameters
        ----------
        client : jupyter_client.BlockingKernelClient
            A client of the kernel.
        cell : str
            The code.
        timeout : float
            Seconds until it is given up.

        Raises
        ------
        NotebookAgentsError
            If the cell failed.
        """
        print(_indented(f"In [{self._number}]: ", cell), end="\n\n")
        reply = client.execute_interactive(
            cell, allow_stdin=False, timeout=timeout, output_hook=self._on_output
        )
        self._settle()
        if self._top is not None:
            print(self._unsettled.pop(self._top), flush=True)
        content = reply["content"]
        if content["status"] != "ok":
            message = f"{content.get('ename')}: {content.get('evalue')}"
            raise NotebookAgentsError(message)

    def _on_output(self, message: Mapping[str, Any]) -> None:
        kind, content = message["msg_type"], message["content"]
        if kind == "stream":
            self._settle()
            print(content["text"], end="", flush=True)
            return
        if kind not in {"display_data", "update_display_data"}:
            return
        key = content.get("transient", {}).get("display_id", "")
        if kind == "display_data":
            self._settle()
        self._show(key, content["data"])

    def _show(self, key: str, data: Mapping[str, str]) -> None:
        text = data.get("text/plain", "")
        if "text/markdown" not in data:
            self._top = self._top or key
            self._unsettled[key] = text
            return
        self._growing = self._growing or key
        if key == self._growing and text.startswith(self._printed):
            sys.stdout.write(text[len(self._printed) :])
            sys.stdout.flush()
            self._printed = text

    def _settle(self) -> None:
        if self._growing is not None:
            print("\n", flush=True)
            self._growing, self._printed = None, ""
        for key in [key for key in self._unsettled if key != self._top]:
            print(self._unsettled.pop(key), flush=True)


def _indented(prompt: str, cell: str) -> str:
    rest = " " * (len(prompt) - 5) + "...: "
    return prompt + cell.replace("\n", f"\n{rest}")
