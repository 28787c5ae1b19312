"""Memory: what a conversation remembers, and where it is kept."""

from __future__ import annotations

from notebook_agents.memory.in_memory import (
    InMemoryStore,
)
from notebook_agents.memory.scope import (
    MemoryScope,
    create_conversation_id,
)
from notebook_agents.memory.store import (
    MemoryBackend,
    MemorySession,
    MemoryStore,
)

__all__ = [
    "InMemoryStore",
    "MemoryBackend",
    "MemoryScope",
    "MemorySession",
    "MemoryStore",
    "create_conversation_id",
]
