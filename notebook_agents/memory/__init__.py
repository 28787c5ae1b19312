"""Memory: what a conversation remembers, and where it is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from notebook_agents._lazy import lazy_names

if TYPE_CHECKING:
    from notebook_agents.memory.in_memory import InMemoryStore
    from notebook_agents.memory.listing import ConversationInfo
    from notebook_agents.memory.named import list_sessions, open_session
    from notebook_agents.memory.scope import MemoryScope, create_conversation_id
    from notebook_agents.memory.session import MemoryBackend, MemorySession
    from notebook_agents.memory.sqlite import SQLiteStore
    from notebook_agents.memory.store import MemoryStore

_HOME = {
    "ConversationInfo": "listing",
    "InMemoryStore": "in_memory",
    "MemoryBackend": "session",
    "MemoryScope": "scope",
    "MemorySession": "session",
    "MemoryStore": "store",
    "SQLiteStore": "sqlite",
    "create_conversation_id": "scope",
    "list_sessions": "named",
    "open_session": "named",
}

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

__getattr__, __dir__ = lazy_names(__name__, _HOME)
