"""Which names a tool may have, as every model service accepts them."""

from __future__ import annotations

import re
import unicodedata

from notebook_agents.errors import AgentConfigurationError

__all__ = ["check_name", "name_from"]

LONGEST = 64
_VALID = re.compile(rf"[a-zA-Z0-9_-]{{1,{LONGEST}}}")
_REFUSED = re.compile(r"[^a-zA-Z0-9_-]")


def check_name(name: object) -> str:
    """Return a name that a person chose, or say what is wrong with it.

    Parameters
    ----------
    name : object
        What was given as ``name=``.

    Returns
    -------
    str
        The same name.

    Raises
    ------
    AgentConfigurationError
        If model services would refuse it.
    """
    if isinstance(name, str) and _VALID.fullmatch(name):
        return name
    shown = (
        name if not isinstance(name, str) or len(name) <= LONGEST else name[:LONGEST]
    )
    message = (
        f"{shown!r} cannot be the name of a tool: use 1 to {LONGEST} letters "
        "(a-z, A-Z), digits, '_' or '-'."
    )
    if isinstance(name, str) and (better := _fitted(name)):
        message += f" For example name={better!r}."
    raise AgentConfigurationError(message)


def name_from(written: str) -> str:
    """Make a tool's name out of a function's name.

    Parameters
    ----------
    written : str
        The name in Python, which may have letters that services refuse.

    Returns
    -------
    str
        A valid name, the same one if it was valid.

    Raises
    ------
    AgentConfigurationError
        If nothing readable is left of it, as of ``<lambda>``.
    """
    if _VALID.fullmatch(written):
        return written
    if written != "<lambda>" and (fitted := _fitted(written)):
        return fitted
    what = "A lambda" if written == "<lambda>" else f"The function {written!r}"
    message = f"{what} needs a name for the model: tool(function, name='a_name')."
    raise AgentConfigurationError(message)


def _fitted(name: str) -> str:
    """Replace what is refused; empty if no letter or digit is left."""
    plain = unicodedata.normalize("NFKD", name)
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    fitted = _REFUSED.sub("_", plain)[:LONGEST]
    return fitted if fitted.strip("_-") else ""
