"""`LLMClient`: a model service asked directly, in OpenAI's shapes."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self, Unpack
from urllib.parse import urlsplit

from notebook_agents import checks
from notebook_agents.errors import AgentConfigurationError
from notebook_agents.providers._chat_request import limit_key
from notebook_agents.providers._connections import Verify
from notebook_agents.providers._encoding import encode
from notebook_agents.providers._failures import unreadable
from notebook_agents.providers._http_options import ConnectionOptions, normalized_url
from notebook_agents.providers._limits import tokens_in
from notebook_agents.providers.discovery import is_loopback
from notebook_agents.providers.embedding import in_batches
from notebook_agents.providers.openai_compatible import (
    MOST_TEXTS,
    OpenAICompatibleProvider,
)
from notebook_agents.settings import get_settings
from notebook_agents.spelling import by_name

__all__ = ["LLMClient"]


@by_name
class LLMClient(OpenAICompatibleProvider):
    """A service that speaks chat completions and embeddings, asked directly.

    It is a provider, too: ``Agent(LLMClient(...))`` runs on it.

    Parameters
    ----------
    base_url : str
        Where it is, most often up to ``/v1``.
    api_key : str, optional
        The key, if it wants one; sent as ``Authorization`` and ``x-api-key``.
    model : str, optional
        The model, as the service spells it; by default the first one of its
        list that can chat.
    verify : bool, str, path or SSLContext, default True
        How to know the server; a path is that of certificates to trust, for
        which ``CA_BUNDLE_PATH`` is looked up by default.
    timeout : float or None, default 120
        Seconds for a whole reply; None for no limit.
    embed_model : str, optional
        The model for `embeddings`; by default that of the chat.
    **options
        ``connect_timeout``, ``stall_timeout``, ``max_retries``,
        ``max_concurrency``, ``requests_per_minute``, ``tokens_per_minute``,
        ``extra_headers``, ``http_client``, as for a provider.

    Raises
    ------
    AgentConfigurationError
        If the URL, the key or an option cannot be right.
    FileNotFoundError
        If there are no certificates at the path.

    Notes
    -----
    Making one sends nothing. Connections are shared by everything that runs on
    one event loop, and closed with it, so one client serves any number of loops.

    Examples
    --------
    >>> LLMClient("http://localhost:8000/v1", "a-secret-key", "my-model")
    <LLMClient 'my-model' at http://localhost:8000/v1>
    """

    def __init__(
        self,
        base_url: str,
        api_key: str | None = None,
        model: str | None = None,
        verify: Verify = True,  # noqa: FBT002 - its place in the contract
        *,
        timeout: float | None = 120.0,
        embed_model: str | None = None,
        **options: Unpack[ConnectionOptions],
    ) -> None:
        super().__init__(
            base_url, model, api_key, verify=verify, timeout=timeout, **options
        )
        if embed_model is not None:
            checks.text("embed_model", embed_model)
        self.embed_model = (embed_model or "").strip() or self.model

    @classmethod
    def from_env(cls) -> Self:
        """Make one from the environment and the nearest ``.env`` file.

        ``LLM_BASE_URL``, ``LLM_MODEL`` and, except on this machine,
        ``LLM_API_KEY`` are needed; ``EMBED_MODEL`` and ``CA_BUNDLE_PATH`` may be
        there. A variable that is set wins over the file.

        Returns
        -------
        LLMClient
            Ready for its first request.

        Raises
        ------
        AgentConfigurationError
            If a variable is missing; all that are missing are named.
        FileNotFoundError
            If there are no certificates at ``CA_BUNDLE_PATH``.
        """
        settings = get_settings()
        base_url = settings.base_urls.get(cls.name, "")
        key = settings.keys.get(cls.name)
        host = urlsplit(normalized_url(base_url)).hostname if base_url else None
        wants_key = not is_loopback(host)
        found = {
            "LLM_BASE_URL": base_url,
            "LLM_API_KEY": key or not wants_key,
            "LLM_MODEL": settings.llm_model,
        }
        missing = [name for name, value in found.items() if not value]
        if missing:
            message = f"Set {', '.join(missing)} in your environment or .env file."
            raise AgentConfigurationError(message)
        return cls(
            base_url,
            key,
            settings.llm_model,
            verify=settings.ca_bundle or True,
            embed_model=settings.embed_model,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def chat_completions(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None = None,
        *,
        temperature: float | None = 0.7,
        max_tokens: int | None = 1024,
        max_retries: int = 3,
        response_format: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> dict[str, Any]:
        """Ask once and wait for the whole reply.

        Parameters
        ----------
        messages : sequence of mapping
            The conversation, as OpenAI spells it.
        tools : sequence of mapping, optional
            Function tools.
        temperature : float or None, default 0.7
            Sampling temperature, no unit; None leaves it to the service.
        max_tokens : int or None, default 1024
            Most tokens of the reply; None leaves it to the service.
        max_retries : int, default 3
            Further tries after one that failed in a way that may pass; 0 is
            one try.
        response_format : mapping, optional
            Such as ``{"type": "json_schema", "json_schema": {...}}``.
        **more
            More keys of the request, such as ``seed`` or ``tool_choice``.

        Returns
        -------
        dict
            The reply as it came; ``["choices"][0]["message"]`` is the message.

        Raises
        ------
        AgentConfigurationError
            If the request cannot be sent as it is.
        AgentProviderError
            If the service cannot be reached, refuses, or sends no reply.
        """
        _check(messages, more)
        asked = {
            "messages": list(messages),
            "tools": list(tools) if tools else None,
            "temperature": temperature,
            "response_format": response_format,
            **more,
        }

        def body() -> bytes:
            without = frozenset(self._left_out)
            whole = {"model": self.model, **asked}
            whole[limit_key(self.profile, without)] = max_tokens
            return encode(
                {
                    name: value
                    for name, value in whole.items()
                    if value is not None and name not in without
                }
            )

        try:
            body()
        except (TypeError, ValueError) as error:
            message = f"The request cannot be written as JSON: {error}."
            raise AgentConfigurationError(message) from error
        tokens = tokens_in(messages, tools or ()) + (max_tokens or 0)
        reply = await self._fetch(
            "POST",
            self._path(),
            body,
            max_retries=max_retries,
            tokens=tokens,
            prepares=True,
        )
        if not reply.get("choices"):
            raise unreadable(str(reply), self._facts(self._given)).error
        return reply

    async def embeddings(
        self, input_texts: Sequence[str], max_retries: int = 3
    ) -> list[list[float]]:
        """Embed texts, 64 a request.

        Parameters
        ----------
        input_texts : sequence of str
            Any number.
        max_retries : int, default 3
            As in `chat_completions`, for each request.

        Returns
        -------
        list of list of float
            A vector for each text, in the same order.

        Raises
        ------
        AgentConfigurationError
            If it is one text and no list, or no model is known.
        AgentProviderError
            If the service cannot be reached, refuses, or sends no vectors.
        """
        return await in_batches(
            input_texts,
            MOST_TEXTS,
            functools.partial(self._embed, self.embed_model, max_retries=max_retries),
        )

    def _auth_headers(self, key: str) -> dict[str, str]:
        # Gateways want the one or the other.
        return {**super()._auth_headers(key), "x-api-key": key}


def _check(messages: object, more: Mapping[str, Any]) -> None:
    message = ""
    if more.get("stream"):
        message = (
            "chat_completions() gives whole replies. For a stream, ask an agent: "
            "Agent(client).stream(...)."
        )
    elif (
        not isinstance(messages, Sequence)
        or isinstance(messages, str)
        or not all(isinstance(each, Mapping) for each in messages)
    ):
        message = (
            'Pass a list of messages: [{"role": "user", "content": "Hello"}], as '
            "OpenAI spells them."
        )
    if message:
        raise AgentConfigurationError(message)
