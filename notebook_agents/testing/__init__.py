"""For tests: models without a model, a recorder, and what parts have to keep.

`check_memory_store` and `check_provider` tell whether a store or a provider of
your own keeps every promise.
"""

from __future__ import annotations

from notebook_agents.providers.scripted import ScriptedProvider, call
from notebook_agents.testing.memory_store import (
    MEMORY_STORE_PROMISES,
    check_memory_store,
)
from notebook_agents.testing.provider import PROVIDER_PROMISES, check_provider
from notebook_agents.testing.providers import EchoProvider, FunctionProvider
from notebook_agents.testing.recorder import EventRecorder

__all__ = [
    "MEMORY_STORE_PROMISES",
    "PROVIDER_PROMISES",
    "EchoProvider",
    "EventRecorder",
    "FunctionProvider",
    "ScriptedProvider",
    "call",
    "check_memory_store",
    "check_provider",
]
