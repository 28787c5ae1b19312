"""Memory: what a conversation remembers, and where it is kept."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from notebook_agents.memory.in_memory import InMemoryStore
from notebook_agents.memory.listing import ConversationInfo
from notebook_agents.memory.scope import MemoryScope, create_conversation_id
from notebook_agents.memory.session import MemoryBackend, MemorySession
from notebook_agents.memory.store import MemoryStore

if TYPE_CHECKING:
    from notebook_agents.memory.named import list_sessions, open_session
    from notebook_agents.memory.sqlite import SQLiteStore

# These load a database, which most agents never use.
_HOME = {"SQLiteStore": "sqlite", "list_sessions": "named", "open_session": "named"}

__all__ = [
    "ConversationInfo",
    "InMemoryStore",
    "MemoryBackend",
    "MemoryScope",
    "MemorySession",
    "MemoryStore",
    "SQLiteStore",
    "create_conversation_id",
    "list_sessions",
    "open_session",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value
