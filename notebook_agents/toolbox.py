"""`Toolbox`: the tools of an agent, which it may get before or after it is made."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from notebook_agents.tools.definition import ToolDefinition

__all__ = ["Toolbox", "collected_tools", "tool_table"]

# What is about tools is imported inside the functions: many agents have none.


class Toolbox:
    """What has tools, and may get more."""

    tools: dict[str, ToolDefinition]

    def __copy__(self) -> Self:
        # What is added to the one is not for the other.
        other = object.__new__(type(self))
        vars(other).update(vars(self), tools=dict(tool_table(self.tools)))
        return other

    def add_tool(self, function: Callable[..., Any]) -> None:
        """Let the model call one more function.

        Parameters
        ----------
        function : callable
            Marked by ``@tool`` or not; replaces a tool of the same name, and an
            earlier version of the same function under another name.
        """
        from notebook_agents.tools.derivation import to_tool_definition
        from notebook_agents.tools.redefinition import put

        self.tools = tool_table(self.tools)
        put(to_tool_definition(function), self.tools)

    def _tools_now(self) -> dict[str, ToolDefinition]:
        """Give the tools of a run that begins, in their latest version."""
        if not self.tools:
            return {}
        from notebook_agents.tools.redefinition import renewed

        return renewed(self.tools)


def collected_tools(tools: Any) -> dict[str, ToolDefinition]:
    """Give the tools that a user lists, by their names.

    Parameters
    ----------
    tools : iterable of callable or None
        Functions, marked or not.

    Returns
    -------
    dict of str to ToolDefinition
        In their order.
    """
    if tools == ():
        return {}
    from notebook_agents.tools.collection import collected

    return collected(tools)


def tool_table(tools: Any) -> dict[str, ToolDefinition]:
    """Give the tools that an agent has by now; anybody may have set them.

    Parameters
    ----------
    tools : dict or iterable of callable
        By the names that the model is told, or a list of them.

    Returns
    -------
    dict of str to ToolDefinition
        The same one, its functions made tools.
    """
    if isinstance(tools, dict) and not tools:
        return tools
    from notebook_agents.tools.collection import as_table

    return as_table(tools)
