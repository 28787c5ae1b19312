"""The faces of the packages: names that are loaded at their first use (PEP 562)."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["lazy_names"]


def lazy_names(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Give ``__getattr__`` and ``__dir__`` of a package, for names that come when used.

    Parameters
    ----------
    package : str
        Its ``__name__``.
    homes : mapping of str to str
        For each name the module it is in, as seen from the package; a dot in
        front leads one package up.

    Returns
    -------
    tuple of two callables
        An unknown name is an `AttributeError`.

    Examples
    --------
    >>> from notebook_agents import history
    >>> dir(history)
    ['HistoryBudget', 'HistoryBuffer']
    """

    def load(name: str) -> Any:
        if name not in homes:
            message = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(message, name=name, obj=sys.modules[package])
        value = getattr(importlib.import_module(f".{homes[name]}", package), name)
        setattr(sys.modules[package], name, value)
        return value

    return load, lambda: sorted(homes)
