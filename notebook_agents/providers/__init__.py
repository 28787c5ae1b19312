"""Model providers: an adapter for each wire format, and the registry."""

from __future__ import annotations

from notebook_agents.providers.base import (
    BaseProvider,
    ModelReply,
    ModelRequest,
    Provider,
    ProviderResponse,
    ReasoningDelta,
    TextDelta,
)
from notebook_agents.providers.registry import (
    register_provider,
)
from notebook_agents.providers.scripted import (
    ScriptedProvider,
)

__all__ = [
    "BaseProvider",
    "ModelReply",
    "ModelRequest",
    "Provider",
    "ProviderResponse",
    "ReasoningDelta",
    "ScriptedProvider",
    "TextDelta",
    "register_provider",
]
