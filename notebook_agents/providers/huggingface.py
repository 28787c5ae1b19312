"""`HuggingFaceProvider`: open models on the inference services of Hugging Face."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, Unpack

from notebook_agents.providers._http_options import HttpOptions
from notebook_agents.providers.openai_compatible import OpenAICompatibleProvider
from notebook_agents.providers.profiles import ChatProfile
from notebook_agents.settings import Settings

__all__ = ["HuggingFaceProvider"]

ROUTER = "https://router.huggingface.co/v1"


class HuggingFaceProvider(OpenAICompatibleProvider):
    """Open models behind the router of Hugging Face, or an endpoint of your own.

    Parameters
    ----------
    model : str, optional
        The model, as ``owner/model``.
    api_key : str, optional
        The token; by default ``HF_TOKEN`` or ``HUGGINGFACE_API_KEY``.
    base_url : str, optional
        Where the service is.
    profile : ChatProfile, optional
        What the model takes, if it differs from what is known.
    extra_body : mapping, optional
        More keys for the body of each request; they win.
    **options
        As in `HttpOptions`.

    Examples
    --------
    >>> HuggingFaceProvider().model
    'openai/gpt-oss-120b'
    """

    name = "huggingface"
    key_name = "huggingface"

    def __init__(
        self,
        model: str | None = None,
        api_key: str | None = None,
        *,
        base_url: str = ROUTER,
        profile: ChatProfile | None = None,
        extra_body: Mapping[str, Any] | None = None,
        **options: Unpack[HttpOptions],
    ) -> None:
        super().__init__(
            base_url,
            model or "openai/gpt-oss-120b",
            api_key,
            profile=profile,
            extra_body=extra_body,
            **options,
        )

    @classmethod
    def from_settings(cls, model: str | None, settings: Settings) -> Self:
        """Make one from the environment; ``HUGGINGFACE_BASE_URL`` counts."""
        base_url = settings.base_urls.get(cls.name, ROUTER)
        return cls(model, settings.require_key(cls.name), base_url=base_url)
