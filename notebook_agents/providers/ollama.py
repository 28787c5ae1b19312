"""Model servers on your own machine: Ollama, LM Studio, llama.cpp."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self, Unpack
from urllib.parse import urlsplit

from notebook_agents.providers._http_options import HttpOptions, normalized_url
from notebook_agents.providers.openai_compatible import OpenAICompatibleProvider
from notebook_agents.providers.profiles import ChatProfile
from notebook_agents.settings import Settings

__all__ = ["LMStudioProvider", "LlamaCppProvider", "OllamaProvider"]


class _OwnServer(OpenAICompatibleProvider):
    default_url: ClassVar[str]

    def __init__(
        self,
        model: str | None = None,
        api_key: str | None = None,
        *,
        base_url: str | None = None,
        profile: ChatProfile | None = None,
        extra_body: Mapping[str, Any] | None = None,
        **options: Unpack[HttpOptions],
    ) -> None:
        super().__init__(
            _up_to_version(base_url or self.default_url),
            model,
            api_key,
            profile=profile,
            extra_body=extra_body,
            **options,
        )

    @classmethod
    def from_settings(cls, model: str | None, settings: Settings) -> Self:
        """Make one where the environment says that it is, or where it usually is."""
        return cls(model, base_url=settings.base_urls.get(cls.name))


def _up_to_version(url: str) -> str:
    """Give the URL of one of these servers; people tend to leave its path out."""
    url = normalized_url(url)
    return url if urlsplit(url).path else f"{url}/v1"


class OllamaProvider(_OwnServer):
    """The models of an Ollama server.

    Parameters
    ----------
    model : str, optional
        The model; by default the first one of the server's list that can chat.
    api_key : str, optional
        A key, if something in front of the server wants one.
    base_url : str, optional
        Where it is; by default ``http://127.0.0.1:11434/v1``.
    profile : ChatProfile, optional
        What the model takes, if it differs from what is known.
    extra_body : mapping, optional
        More keys for the body of each request; they win.
    **options
        As in `HttpOptions`.

    Examples
    --------
    >>> OllamaProvider("llama3.2")
    <OllamaProvider 'llama3.2' at http://127.0.0.1:11434/v1>
    """

    name = "ollama"
    default_url = "http://127.0.0.1:11434/v1"
    unreachable_hint = "Is it running? Start it with: ollama serve"
    missing_model_hint = "Fetch it with: ollama pull {model}"


class LMStudioProvider(_OwnServer):
    """The models of LM Studio's server.

    Parameters
    ----------
    model, api_key
        As for `OllamaProvider`.
    base_url : str, optional
        Where it is; by default ``http://127.0.0.1:1234/v1``.
    profile, extra_body
        As for `OllamaProvider`.
    **options
        As in `HttpOptions`.
    """

    name = "lmstudio"
    default_url = "http://127.0.0.1:1234/v1"
    unreachable_hint = "Is it running? Start it with: lms server start"
    missing_model_hint = "Load it in LM Studio first."


class LlamaCppProvider(_OwnServer):
    """The model of llama.cpp's ``llama-server``.

    Parameters
    ----------
    model, api_key
        As for `OllamaProvider`.
    base_url : str, optional
        Where it is; by default ``http://127.0.0.1:8080/v1``.
    profile, extra_body
        As for `OllamaProvider`.
    **options
        As in `HttpOptions`.
    """

    name = "llamacpp"
    default_url = "http://127.0.0.1:8080/v1"
    unreachable_hint = (
        "Is it running? Start it with: llama-server -m model.gguf --jinja"
    )
    missing_model_hint = "Start llama-server with it."
