"""An agent kit for Jupyter: ask in a cell, approve in the cell, serve the agent.

Reading order: `messages` (what is said) - `events` (what happens) - `loop`
(what decides) - `run` and `agent` (what you hold) - `jupyter.renderer` or
`server.sse` (what you see).

Importing this package loads nothing but itself; every name below comes with
its first use.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from notebook_agents._version import __version__

if TYPE_CHECKING:
    from fastapi import (
        BackgroundTasks,
        Depends,
        FastAPI,
        HTTPException,
        Request,
        Response,
    )
    from fastapi.responses import FileResponse, JSONResponse, StreamingResponse
    from IPython.core.interactiveshell import InteractiveShell
    from pydantic import BaseModel

    from notebook_agents.agent import Agent
    from notebook_agents.approval import (
        Allow,
        Always,
        ApprovalRequest,
        Deny,
        Respond,
        Stop,
    )
    from notebook_agents.budget import Budget
    from notebook_agents.client import LLMClient
    from notebook_agents.conversation_service import ConversationService
    from notebook_agents.errors import (
        AgentAPIProviderError,
        AgentConfigurationError,
        AgentProviderError,
        GuardrailBlockedError,
        NotebookAgentsError,
        OutputValidationError,
        ToolRetry,
    )
    from notebook_agents.events import event_from_dict
    from notebook_agents.guardrails.definition import Guardrail
    from notebook_agents.guardrails.guard import Guard
    from notebook_agents.guardrails.judge import llm_guard
    from notebook_agents.guardrails.keywords import block_keywords
    from notebook_agents.guardrails.pii import strip_pii
    from notebook_agents.guardrails.service import GuardrailService
    from notebook_agents.history.budget import HistoryBudget
    from notebook_agents.history.buffer import HistoryBuffer
    from notebook_agents.memory.in_memory import InMemoryStore
    from notebook_agents.memory.named import list_sessions, open_session
    from notebook_agents.memory.scope import MemoryScope, create_conversation_id
    from notebook_agents.memory.sqlite import SQLiteStore
    from notebook_agents.memory.store import MemoryBackend, MemorySession, MemoryStore
    from notebook_agents.messages import Message, ToolCall
    from notebook_agents.nested_loops import allow_nested_loops
    from notebook_agents.orchestrator import Orchestrator
    from notebook_agents.policy import ApprovalPolicy
    from notebook_agents.providers.base import BaseProvider, ProviderResponse
    from notebook_agents.providers.fallback import FallbackProvider
    from notebook_agents.providers.registry import register_provider
    from notebook_agents.providers.scripted import ScriptedProvider, call
    from notebook_agents.results import AgentResult
    from notebook_agents.run import Run
    from notebook_agents.server import (
        AgentAPI,
        AgentServer,
        CORSConfig,
        ServerConfig,
        serve,
    )
    from notebook_agents.stream import AgentStream
    from notebook_agents.tools.cached import cached_tool
    from notebook_agents.tools.context import RunContext
    from notebook_agents.tools.decorator import tool
    from notebook_agents.tools.progress import Progress

_HOME = {
    "Agent": "agent",
    "AgentAPI": "server",
    "AgentAPIProviderError": "errors",
    "AgentConfigurationError": "errors",
    "AgentProviderError": "errors",
    "AgentResult": "results",
    "AgentServer": "server",
    "AgentStream": "stream",
    "Allow": "approval",
    "Always": "approval",
    "ApprovalPolicy": "policy",
    "ApprovalRequest": "approval",
    "BaseProvider": "providers.base",
    "Budget": "budget",
    "CORSConfig": "server",
    "ConversationService": "conversation_service",
    "Deny": "approval",
    "FallbackProvider": "providers.fallback",
    "Guard": "guardrails.guard",
    "Guardrail": "guardrails.definition",
    "GuardrailBlockedError": "errors",
    "GuardrailService": "guardrails.service",
    "HistoryBudget": "history.budget",
    "HistoryBuffer": "history.buffer",
    "InMemoryStore": "memory.in_memory",
    "LLMClient": "client",
    "MemoryBackend": "memory.store",
    "MemoryScope": "memory.scope",
    "MemorySession": "memory.store",
    "MemoryStore": "memory.store",
    "Message": "messages",
    "NotebookAgentsError": "errors",
    "Orchestrator": "orchestrator",
    "OutputValidationError": "errors",
    "Progress": "tools.progress",
    "ProviderResponse": "providers.base",
    "Respond": "approval",
    "Run": "run",
    "RunContext": "tools.context",
    "SQLiteStore": "memory.sqlite",
    "ScriptedProvider": "providers.scripted",
    "ServerConfig": "server",
    "Stop": "approval",
    "ToolCall": "messages",
    "ToolRetry": "errors",
    "allow_nested_loops": "nested_loops",
    "block_keywords": "guardrails.keywords",
    "cached_tool": "tools.cached",
    "call": "providers.scripted",
    "create_conversation_id": "memory.scope",
    "event_from_dict": "events",
    "list_sessions": "memory.named",
    "llm_guard": "guardrails.judge",
    "open_session": "memory.named",
    "register_provider": "providers.registry",
    "serve": "server",
    "strip_pii": "guardrails.pii",
    "tool": "tools.decorator",
}

# What an app of `AgentAPI` is written with, so that one import will do.
_THEIRS = {
    "BackgroundTasks": "fastapi",
    "BaseModel": "pydantic",
    "Depends": "fastapi",
    "FastAPI": "fastapi",
    "FileResponse": "fastapi.responses",
    "HTTPException": "fastapi",
    "JSONResponse": "fastapi.responses",
    "Request": "fastapi",
    "Response": "fastapi",
    "StreamingResponse": "fastapi.responses",
}

__all__ = [
    "Agent",
    "AgentAPI",
    "AgentAPIProviderError",
    "AgentConfigurationError",
    "AgentProviderError",
    "AgentResult",
    "AgentServer",
    "AgentStream",
    "Allow",
    "Always",
    "ApprovalPolicy",
    "ApprovalRequest",
    "BackgroundTasks",
    "BaseModel",
    "BaseProvider",
    "Budget",
    "CORSConfig",
    "ConversationService",
    "Deny",
    "Depends",
    "FallbackProvider",
    "FastAPI",
    "FileResponse",
    "Guard",
    "Guardrail",
    "GuardrailBlockedError",
    "GuardrailService",
    "HTTPException",
    "HistoryBudget",
    "HistoryBuffer",
    "InMemoryStore",
    "JSONResponse",
    "LLMClient",
    "MemoryBackend",
    "MemoryScope",
    "MemorySession",
    "MemoryStore",
    "Message",
    "NotebookAgentsError",
    "Orchestrator",
    "OutputValidationError",
    "Progress",
    "ProviderResponse",
    "Request",
    "Respond",
    "Response",
    "Run",
    "RunContext",
    "SQLiteStore",
    "ScriptedProvider",
    "ServerConfig",
    "Stop",
    "StreamingResponse",
    "ToolCall",
    "ToolRetry",
    "__version__",
    "allow_nested_loops",
    "block_keywords",
    "cached_tool",
    "call",
    "create_conversation_id",
    "event_from_dict",
    "list_sessions",
    "llm_guard",
    "open_session",
    "register_provider",
    "serve",
    "strip_pii",
    "tool",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        module = importlib.import_module(f"{__name__}.{_HOME[name]}")
    elif name in _THEIRS:
        from notebook_agents._optional import require

        module = require(_THEIRS[name], extra="server")
    else:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message, name=name, obj=sys.modules[__name__])
    value = getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Register ``%%agent``; called by ``%load_ext notebook_agents``."""
    from notebook_agents.jupyter import extension

    extension.load(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Undo `load_ipython_extension`; called by ``%unload_ext``."""
    from notebook_agents.jupyter import extension

    extension.unload(shell)
