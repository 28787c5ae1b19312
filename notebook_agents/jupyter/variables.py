"""`NotebookVariables`: what the user has defined, without what IPython brings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["NotebookVariables"]


class NotebookVariables(Mapping[str, Any]):
    """A live view of the variables of a shell.

    Parameters
    ----------
    shell : InteractiveShell
        Whose variables.
    """

    def __init__(self, shell: Any) -> None:
        self._here: dict[str, Any] = shell.user_ns
        self._hidden: dict[str, Any] = shell.user_ns_hidden

    def __getitem__(self, name: str) -> Any:
        value = self._here[name]
        if self._hidden.get(name, self) is value:
            raise KeyError(name)  # it has not been given another meaning
        return value

    def __iter__(self) -> Iterator[str]:
        names = list(self._here)  # a cell may define some meanwhile
        return (name for name in names if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)
