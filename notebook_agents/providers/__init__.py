"""Model providers: an adapter for each wire format, and the registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from notebook_agents._lazy import lazy_names

if TYPE_CHECKING:
    from notebook_agents.providers.anthropic import AnthropicProvider
    from notebook_agents.providers.anthropic_profile import AnthropicProfile
    from notebook_agents.providers.base import (
        BaseProvider,
        ModelReply,
        ModelRequest,
        Provider,
        ProviderResponse,
        ReasoningDelta,
        RetryDelta,
        TextDelta,
    )
    from notebook_agents.providers.embedding import Embedder
    from notebook_agents.providers.fallback import FallbackProvider
    from notebook_agents.providers.gemini import GeminiProvider
    from notebook_agents.providers.gemini_profile import GeminiProfile
    from notebook_agents.providers.huggingface import HuggingFaceProvider
    from notebook_agents.providers.ollama import (
        LlamaCppProvider,
        LMStudioProvider,
        OllamaProvider,
    )
    from notebook_agents.providers.openai import OpenAIProvider
    from notebook_agents.providers.openai_compatible import OpenAICompatibleProvider
    from notebook_agents.providers.openrouter import OpenRouterProvider
    from notebook_agents.providers.profiles import ChatProfile
    from notebook_agents.providers.registry import register_provider
    from notebook_agents.providers.scripted import ScriptedProvider

_HOME = {
    "AnthropicProfile": "anthropic_profile",
    "AnthropicProvider": "anthropic",
    "BaseProvider": "base",
    "ChatProfile": "profiles",
    "Embedder": "embedding",
    "FallbackProvider": "fallback",
    "GeminiProfile": "gemini_profile",
    "GeminiProvider": "gemini",
    "HuggingFaceProvider": "huggingface",
    "LMStudioProvider": "ollama",
    "LlamaCppProvider": "ollama",
    "ModelReply": "base",
    "ModelRequest": "base",
    "OllamaProvider": "ollama",
    "OpenAICompatibleProvider": "openai_compatible",
    "OpenAIProvider": "openai",
    "OpenRouterProvider": "openrouter",
    "Provider": "base",
    "ProviderResponse": "base",
    "ReasoningDelta": "base",
    "RetryDelta": "base",
    "ScriptedProvider": "scripted",
    "TextDelta": "base",
    "register_provider": "registry",
}

__all__ = [
    "AnthropicProfile",
    "AnthropicProvider",
    "BaseProvider",
    "ChatProfile",
    "Embedder",
    "FallbackProvider",
    "GeminiProfile",
    "GeminiProvider",
    "HuggingFaceProvider",
    "LMStudioProvider",
    "LlamaCppProvider",
    "ModelReply",
    "ModelRequest",
    "OllamaProvider",
    "OpenAICompatibleProvider",
    "OpenAIProvider",
    "OpenRouterProvider",
    "Provider",
    "ProviderResponse",
    "ReasoningDelta",
    "RetryDelta",
    "ScriptedProvider",
    "TextDelta",
    "register_provider",
]

__getattr__, __dir__ = lazy_names(__name__, _HOME)
