"""`OpenAIProvider`: the models of OpenAI, by chat completions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, Unpack

from notebook_agents.errors import AgentConfigurationError
from notebook_agents.providers._http_options import HttpOptions
from notebook_agents.providers.openai_compatible import OpenAICompatibleProvider
from notebook_agents.providers.profiles import ChatProfile
from notebook_agents.settings import Settings

__all__ = ["OpenAIProvider"]


class OpenAIProvider(OpenAICompatibleProvider):
    """The models of OpenAI.

    Parameters
    ----------
    model : str, optional
        The model.
    api_key : str, optional
        The key; by default ``OPENAI_API_KEY``.
    api : {"chat"}
        The endpoint: chat completions.
    base_url : str, optional
        Where the service is, for a proxy in front of it.
    profile : ChatProfile, optional
        What the model takes, if it differs from what is known.
    extra_body : mapping, optional
        More keys for the body of each request; they win.
    **options
        As in `HttpOptions`.

    Raises
    ------
    AgentConfigurationError
        If `api` is another endpoint, or an option cannot be right.

    Examples
    --------
    >>> OpenAIProvider().model
    'gpt-6-luna'
    """

    name = "openai"
    key_name = "openai"

    def __init__(
        self,
        model: str | None = None,
        api_key: str | None = None,
        *,
        api: str = "chat",
        base_url: str = "https://api.openai.com/v1",
        profile: ChatProfile | None = None,
        extra_body: Mapping[str, Any] | None = None,
        **options: Unpack[HttpOptions],
    ) -> None:
        if api != "chat":
            message = f"OpenAIProvider(api={api!r}) is not here; use api='chat'."
            raise AgentConfigurationError(message)
        super().__init__(
            base_url,
            model or "gpt-6-luna",
            api_key,
            profile=profile,
            extra_body=extra_body,
            **options,
        )

    @classmethod
    def from_settings(cls, model: str | None, settings: Settings) -> Self:
        """Make one from the environment, as in `OpenAICompatibleProvider`."""
        return cls(model, settings.require_key(cls.name))
