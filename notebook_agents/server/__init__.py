"""Serving: the same agent behind a web server that runs beside the notebook.

Nothing here loads FastAPI before a server starts, or before `AgentAPI` or
`sse_response` is asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from notebook_agents._optional import require
from notebook_agents.server.config import CORSConfig, ServerConfig
from notebook_agents.server.handle import ServerHandle, serve
from notebook_agents.server.lifecycle import AgentServer

if TYPE_CHECKING:
    from notebook_agents.server.api import AgentAPI
    from notebook_agents.server.text_stream import sse_response

_HOME = {"AgentAPI": "api", "sse_response": "text_stream"}

__all__ = [
    "AgentAPI",
    "AgentServer",
    "CORSConfig",
    "ServerConfig",
    "ServerHandle",
    "serve",
    "sse_response",
]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    require("fastapi", extra="server")
    value = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
