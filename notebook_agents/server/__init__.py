"""Serving: the same agent behind a web server that runs beside the notebook.

Nothing here loads FastAPI before a server starts.
"""

from __future__ import annotations

from notebook_agents.server.config import CORSConfig, ServerConfig
from notebook_agents.server.handle import ServerHandle, serve
from notebook_agents.server.lifecycle import AgentServer

__all__ = ["AgentServer", "CORSConfig", "ServerConfig", "ServerHandle", "serve"]
