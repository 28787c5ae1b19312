"""Optional packages: import one, or name the extra that brings it."""

from __future__ import annotations

import importlib
from types import ModuleType

from notebook_agents.errors import MissingExtraError

__all__ = ["require"]


def require(module: str, *, extra: str) -> ModuleType:
    """Import an optional package.

    Parameters
    ----------
    module : str
        Dotted name of the module.
    extra : str
        The extra of this package that installs it.

    Returns
    -------
    module
        The imported module.

    Raises
    ------
    MissingExtraError
        If the package is not installed.
    ModuleNotFoundError
        If it is, but something that it needs itself is not.

    Examples
    --------
    >>> require("json", extra="none").loads("[1]")
    [1]
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        # Something that the package itself lacks is not ours to explain away.
        if (
            error.name is None
            or error.name.partition(".")[0] != module.partition(".")[0]
        ):
            raise
        message = (
            f"{module} is not installed. Run: pip install 'notebook-agents[{extra}]'"
        )
        raise MissingExtraError(message, extra=extra) from error
