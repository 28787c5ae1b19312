"""Tools: functions that a model may call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from notebook_agents._lazy import lazy_names

if TYPE_CHECKING:
    from notebook_agents.tools.cached import cached_tool
    from notebook_agents.tools.call import BoundCall
    from notebook_agents.tools.context import RunContext
    from notebook_agents.tools.decorator import tool
    from notebook_agents.tools.definition import ToolDefinition, ToolOptions
    from notebook_agents.tools.derivation import to_tool_definition
    from notebook_agents.tools.parsing import parse_tool_args
    from notebook_agents.tools.progress import Progress

_HOME = {
    "BoundCall": "call",
    "Progress": "progress",
    "RunContext": "context",
    "ToolDefinition": "definition",
    "ToolOptions": "definition",
    "cached_tool": "cached",
    "parse_tool_args": "parsing",
    "to_tool_definition": "derivation",
    "tool": "decorator",
}

__all__ = [
    "BoundCall",
    "Progress",
    "RunContext",
    "ToolDefinition",
    "ToolOptions",
    "cached_tool",
    "parse_tool_args",
    "to_tool_definition",
    "tool",
]

__getattr__, __dir__ = lazy_names(__name__, _HOME)
