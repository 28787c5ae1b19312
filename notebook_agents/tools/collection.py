"""The tools of an agent, as a user lists them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from notebook_agents import checks
from notebook_agents.tools.definition import ToolDefinition
from notebook_agents.tools.derivation import to_tool_definition
from notebook_agents.tools.redefinition import is_redefined

__all__ = ["as_table", "collected"]


def collected(tools: Any) -> dict[str, ToolDefinition]:
    """Give tools by their names; of two with one name, the later one.

    Parameters
    ----------
    tools : iterable of callable or None
        Functions, marked or not.

    Returns
    -------
    dict of str to ToolDefinition
        In their order.

    Raises
    ------
    AgentConfigurationError
        If it is no list, or something in it is no tool.

    Warns
    -----
    UserWarning
        If a tool takes the place of another one.
    """
    if callable(tools) or hasattr(tools, "as_tool") or isinstance(tools, Mapping):
        checks.fail(f"The tools of an agent are a list: Agent(..., [{_named(tools)}]).")
    found: dict[str, ToolDefinition] = {}
    for tool in [] if tools is None else checks.each("tools", tools, "functions"):
        definition = to_tool_definition(tool)
        earlier = found.get(definition.name, definition)
        if earlier.func != definition.func and not is_redefined(earlier, definition):
            checks.warn(
                f"Two tools are called {definition.name!r}; the agent has the later "
                "one. Give one of them another name: to_tool_definition(f, name=...)."
            )
        found[definition.name] = definition
    return found


def as_table(tools: Any) -> dict[str, ToolDefinition]:
    """Give the tools that an agent holds by now; anybody may have set them.

    Parameters
    ----------
    tools : dict or iterable of callable
        By the names that the model is told, or as for `collected`.

    Returns
    -------
    dict of str to ToolDefinition
        The same one, its functions made tools.

    Raises
    ------
    AgentConfigurationError
        If something in it is no tool.
    """
    if not isinstance(tools, dict):
        return collected(tools)
    for name, each in tools.items():
        is_tool = isinstance(each, ToolDefinition)
        definition = each if is_tool else to_tool_definition(each)
        if definition.name != name:
            definition = to_tool_definition(definition, name=name)
        tools[name] = definition
    return tools


def _named(tools: object) -> str:
    """Write how one thing is put into a list."""
    if isinstance(tools, Mapping):
        return ", ".join(map(str, tools))
    if hasattr(tools, "as_tool"):
        return f"{getattr(tools, 'name', 'agent')}.as_tool()"
    return str(getattr(tools, "__name__", tools))
