"""`OpenRouterProvider`: the models of many vendors behind one key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, Unpack

from notebook_agents.providers._http_options import HttpOptions
from notebook_agents.providers.openai_compatible import OpenAICompatibleProvider
from notebook_agents.providers.profiles import ChatProfile
from notebook_agents.settings import Settings

__all__ = ["OpenRouterProvider"]


class OpenRouterProvider(OpenAICompatibleProvider):
    """The models that OpenRouter offers.

    Parameters
    ----------
    model : str, optional
        The model, as ``vendor/model``.
    api_key : str, optional
        The key; by default ``OPENROUTER_API_KEY``.
    base_url : str, optional
        Where the service is, for a proxy in front of it.
    profile : ChatProfile, optional
        What the model takes, if it differs from what is known.
    extra_body : mapping, optional
        More keys for the body of each request, such as ``provider``.
    **options
        As in `HttpOptions`.

    Examples
    --------
    >>> OpenRouterProvider("anthropic/claude-sonnet-5.5").base_url
    'https://openrouter.ai/api/v1'
    """

    name = "openrouter"
    key_name = "openrouter"

    def __init__(
        self,
        model: str | None = None,
        api_key: str | None = None,
        *,
        base_url: str = "https://openrouter.ai/api/v1",
        profile: ChatProfile | None = None,
        extra_body: Mapping[str, Any] | None = None,
        **options: Unpack[HttpOptions],
    ) -> None:
        super().__init__(
            base_url,
            model or "~openai/gpt-sol-latest",
            api_key,
            profile=profile,
            extra_body=extra_body,
            **options,
        )
        # It lists the applications that use it by these.
        self._extra_headers = {
            "HTTP-Referer": "https://github.com",
            "X-Title": "notebook_agents",
            **self._extra_headers,
        }

    @classmethod
    def from_settings(cls, model: str | None, settings: Settings) -> Self:
        """Make one from the environment, as in `OpenAICompatibleProvider`."""
        return cls(model, settings.require_key(cls.name))
