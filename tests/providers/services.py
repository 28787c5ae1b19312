"""A provider for each wire format, made to ask a server on the loopback."""

from __future__ import annotations

from typing import Any

from notebook_agents.providers import (
    AnthropicProvider,
    GeminiProvider,
    OpenAICompatibleProvider,
    OpenAIProvider,
)

__all__ = ["KEY", "WIRES", "provider_for"]

KEY = "sk-3141-a-key-of-the-tests-5926"

_MAKERS = {
    "anthropic": lambda url, **options: AnthropicProvider(
        "claude-haiku-5-5", KEY, base_url=url, **options
    ),
    "chat": lambda url, **options: OpenAICompatibleProvider(url, "m", KEY, **options),
    "gemini": lambda url, **options: GeminiProvider(
        "gemini-3.8-flash", KEY, base_url=url.removesuffix("/v1"), **options
    ),
    "responses": lambda url, **options: OpenAIProvider(
        "gpt-6-luna", KEY, api="responses", base_url=url, **options
    ),
}
WIRES = tuple(_MAKERS)


def provider_for(wire: str, url: str, **options: Any):
    """Make the provider of a wire format; a scenario names its own, too."""
    return _MAKERS[wire.partition("/")[0]](url, **options)
