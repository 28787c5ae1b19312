"""What a person reads about one call, filled into the label of its tool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from notebook_agents.tools.arguments import Arguments
from notebook_agents.tools.definition import ToolDefinition
from notebook_agents.tools.signature import MISSING

__all__ = ["label_of"]


def label_of(definition: ToolDefinition, args: Mapping[str, Any]) -> str:
    """Give the label of a call, or the name of the tool where that says nothing.

    Parameters
    ----------
    definition : ToolDefinition
        The tool.
    args : mapping
        The arguments as the model wrote them, which need not fit.

    Returns
    -------
    str
        With its braces where it cannot be filled in: what is only shown never
        decides about a run.
    """
    if not definition.label:
        return definition.name
    try:
        values = _in_force(definition.arguments, args)
        return definition.label.format_map(values) or definition.name
    except Exception:  # noqa: BLE001 - a format that fits no such value, say, or a default
        return definition.label


def _in_force(arguments: Arguments, args: Mapping[str, Any]) -> dict[str, Any]:
    """Give the arguments with the defaults that take the place of null."""
    values = dict(args)
    for parameter in arguments.parameters:
        name = parameter.name
        is_null = values.get(name) is None
        is_said = name in values and arguments.takes_null(name)
        if is_null and not is_said and parameter.default is not MISSING:
            values[name] = parameter.default
    return values
