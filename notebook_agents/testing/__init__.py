"""For tests: a model that plays a script, and what a memory store must keep."""

from __future__ import annotations

from notebook_agents.providers.scripted import ScriptedProvider, call
from notebook_agents.testing.memory_store import (
    MEMORY_STORE_PROMISES,
    check_memory_store,
)

__all__ = ["MEMORY_STORE_PROMISES", "ScriptedProvider", "call", "check_memory_store"]
