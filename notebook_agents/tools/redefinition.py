"""A tool that is defined again, as happens whenever a cell runs a second time."""

from __future__ import annotations

import sys
import types
from typing import Any

from notebook_agents.tools.annotation import innermost
from notebook_agents.tools.definition import ToolDefinition
from notebook_agents.tools.derivation import MARK, to_tool_definition

__all__ = ["put", "renewed"]


def put(new: ToolDefinition, tools: dict[str, ToolDefinition]) -> None:
    """Add a tool to others; earlier versions of it go, whatever they were called.

    Parameters
    ----------
    new : ToolDefinition
        The tool.
    tools : dict of str to ToolDefinition
        The others, by name.
    """
    for name in [n for n, old in tools.items() if is_redefined(old, new)]:
        if name != new.name:
            del tools[name]
    tools[new.name] = new


def renewed(tools: dict[str, ToolDefinition]) -> dict[str, ToolDefinition]:
    """Take over the tools whose cell or module has run again.

    Parameters
    ----------
    tools : dict of str to ToolDefinition
        Tools by name, which are brought up to date.

    Returns
    -------
    dict of str to ToolDefinition
        A copy.
    """
    tools.update({name: current(definition) for name, definition in tools.items()})
    return dict(tools)


def is_redefined(old: ToolDefinition, new: ToolDefinition) -> bool:
    """Tell whether a tool is a later version of another, whatever it is called.

    Parameters
    ----------
    old, new : ToolDefinition
        Two tools.

    Returns
    -------
    bool
        Whether both were written as the same function of the same module, but
        not by the same execution. What a loop or a factory makes is not.
    """
    place = _place_of(old.func)
    if place is None or place != _place_of(new.func):
        return False
    return _code_of(old.func) is not _code_of(new.func)


def current(definition: ToolDefinition) -> ToolDefinition:
    """Look up what a tool has become, if its cell or module ran again.

    Parameters
    ----------
    definition : ToolDefinition
        As an agent holds it.

    Returns
    -------
    ToolDefinition
        What `tool` marks now, under the same name in the same place; else the
        same.
    """
    place = _place_of(definition.func) if definition.is_plain else None
    if place is None:
        return definition
    found: Any = sys.modules.get(place[0])
    for name in place[1].split("."):
        found = getattr(found, name, None)
    for function in (found, definition.func):
        new = getattr(function, MARK, None)
        if not isinstance(new, ToolDefinition) or new is definition:
            continue
        # A module that is loaded anew may have changed the old function in place.
        is_later = function is definition.func or is_redefined(definition, new)
        if is_later and (new.name, _place_of(new.func)) == (definition.name, place):
            return to_tool_definition(new)
    return definition


def _place_of(func: Any) -> tuple[str, str] | None:
    """Say where a function was written, if there is one such place."""
    if not isinstance(func, types.FunctionType):
        return None
    name = func.__qualname__
    is_one = "<" not in name and name != "_"
    return (func.__module__, name) if is_one else None


def _code_of(func: Any) -> Any:
    return getattr(innermost(func), "__code__", None)
