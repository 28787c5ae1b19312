"""`OpenAIProvider`: the models of OpenAI, by Responses or by chat completions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self, Unpack
from urllib.parse import urlsplit

from notebook_agents.errors import AgentConfigurationError
from notebook_agents.providers._failures import ServiceFacts
from notebook_agents.providers._http_options import HttpOptions
from notebook_agents.providers._reading import Reply
from notebook_agents.providers._responses import ResponsesWire
from notebook_agents.providers.base import ModelRequest
from notebook_agents.providers.lifecycle import warn_of
from notebook_agents.providers.openai_compatible import OpenAICompatibleProvider
from notebook_agents.providers.profiles import ChatProfile
from notebook_agents.settings import Settings

__all__ = ["OpenAIProvider"]

HOME = "https://api.openai.com/v1"
DEFAULT_MODEL = "gpt-6-luna"


class OpenAIProvider(OpenAICompatibleProvider):
    """The models of OpenAI.

    Parameters
    ----------
    model : str, optional
        The model.
    api_key : str, optional
        The key; by default ``OPENAI_API_KEY``.
    api : {"responses", "chat"}, optional
        The endpoint: Responses, where models think while they use tools and
        nothing is stored, or chat completions. By default Responses at OpenAI
        itself, and chat completions at another `base_url`.
    base_url : str, optional
        Where the service is, for a proxy in front of it or another service.
    profile : ChatProfile, optional
        What the model takes, if it differs from what is known.
    extra_body : mapping, optional
        More keys for the body of each request; they win. By Responses its
        ``tools``, such as a web search that the service runs itself, are added
        to those of the agent.
    **options
        As in `HttpOptions`.

    Raises
    ------
    AgentConfigurationError
        If `api` is another endpoint, or an option cannot be right.

    Examples
    --------
    >>> provider = OpenAIProvider()
    >>> provider.model, provider.api
    ('gpt-6-luna', 'responses')
    """

    name = "openai"
    key_name = "openai"
    embed_model = "text-embedding-3-small"

    def __init__(
        self,
        model: str | None = None,
        api_key: str | None = None,
        *,
        api: Literal["responses", "chat"] | None = None,
        base_url: str = HOME,
        profile: ChatProfile | None = None,
        extra_body: Mapping[str, Any] | None = None,
        **options: Unpack[HttpOptions],
    ) -> None:
        if api not in {"responses", "chat", None}:
            message = f"api is 'responses' or 'chat', not {api!r}."
            raise AgentConfigurationError(message)
        super().__init__(
            base_url,
            model or DEFAULT_MODEL,
            api_key,
            profile=profile,
            extra_body=extra_body,
            **options,
        )
        self.api = api or ("responses" if _is_home(self.base_url) else "chat")
        """The endpoint: ``"responses"`` or ``"chat"``."""
        if _is_home(self.base_url):
            warn_of(self.name, self.model, DEFAULT_MODEL, is_described=bool(profile))
        self._responses: ResponsesWire | None = None
        if self.api == "responses":
            self._responses = ResponsesWire(self._extra_body)
            self.missing_path_hint = (
                "Check the base URL; a service that speaks chat completions only "
                "wants api='chat'."
            )

    @classmethod
    def from_settings(cls, model: str | None, settings: Settings) -> Self:
        """Make one from the environment, as in `OpenAICompatibleProvider`."""
        return cls(model, settings.require_key(cls.name))

    def _path(self) -> str:
        return "/responses" if self._responses else super()._path()

    def _encode(self, request: ModelRequest) -> bytes:
        if self._responses is None:
            return super()._encode(request)
        return self._responses.encode(request, model=self.model, profile=self.profile)

    def _new_reply(self, request: ModelRequest, service: ServiceFacts) -> Reply:
        if self._responses is None:
            return super()._new_reply(request, service)
        return self._responses.new_reply(request, service)

    def _give_in(self, body: object) -> bool:
        if self._responses is None:
            return super()._give_in(body)
        return self._responses.give_in(body)


def _is_home(url: str) -> bool:
    """Tell whether a URL is OpenAI's own; regions have hosts below it."""
    host = urlsplit(url).hostname or ""
    return host == "api.openai.com" or host.endswith(".api.openai.com")
