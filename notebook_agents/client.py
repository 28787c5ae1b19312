"""`LLMClient`: a model service asked directly, in OpenAI's shapes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, Unpack
from urllib.parse import urlsplit

from notebook_agents.errors import AgentConfigurationError
from notebook_agents.providers._chat_request import limit_key
from notebook_agents.providers._connections import Verify
from notebook_agents.providers._encoding import encode
from notebook_agents.providers._failures import Failure, unreachable, unreadable
from notebook_agents.providers._http import TransportError
from notebook_agents.providers._http_options import ConnectionOptions, normalized_url
from notebook_agents.providers._refusals import is_error, refused, status_of
from notebook_agents.providers._retry import wait_before
from notebook_agents.providers._service import Access
from notebook_agents.providers.discovery import is_loopback, models_in
from notebook_agents.providers.openai_compatible import OpenAICompatibleProvider
from notebook_agents.settings import get_settings

__all__ = ["LLMClient"]

logger = logging.getLogger(__name__)

MOST_TEXTS = 64
"""Texts that are embedded by one request."""


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
        ``max_concurrency``, ``extra_headers``, ``http_client``, as for a
        provider.

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
        self.embed_model = (embed_model or "").strip()
        """The model that embeds; empty for that of the chat."""

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
        reply = await self._fetch(
            "POST", self._path(), body, max_retries=max_retries, is_chat=True
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
        if isinstance(input_texts, str) or not all(
            isinstance(text, str) for text in input_texts
        ):
            message = "embeddings() takes a list of texts: embeddings([text])."
            raise AgentConfigurationError(message)
        vectors: list[list[float]] = []
        for start in range(0, len(input_texts), MOST_TEXTS):
            texts = list(input_texts[start : start + MOST_TEXTS])
            vectors += await self._embed(texts, max_retries)
        return vectors

    async def models(self) -> list[str]:
        """List the models of the service.

        Returns
        -------
        list of str
            Their names, in its order.

        Raises
        ------
        AgentProviderError
            If the service cannot be reached or refuses.
        """
        reply = await self._fetch("GET", "/models", max_retries=self.max_retries)
        return models_in(reply)

    def _auth_headers(self, key: str) -> dict[str, str]:
        # Gateways want the one or the other.
        return {**super()._auth_headers(key), "x-api-key": key}

    async def _embed(self, texts: list[str], max_retries: int) -> list[list[float]]:
        model = self.embed_model or self.model
        if not model:
            message = "Name the model that embeds: LLMClient(embed_model=...)."
            raise AgentConfigurationError(message)
        asked = {"model": model, "input": texts}
        reply = await self._fetch(
            "POST", "/embeddings", lambda: encode(asked), max_retries=max_retries
        )
        try:
            found = {item["index"]: item["embedding"] for item in reply["data"]}
            return [[*map(float, found[number])] for number in range(len(texts))]
        except (LookupError, TypeError, ValueError) as error:
            raise unreadable(str(reply), self._facts(self._given)).error from error

    async def _fetch(
        self,
        method: str,
        path: str,
        body: Callable[[], bytes] | None = None,
        *,
        max_retries: int,
        is_chat: bool = False,
    ) -> dict[str, Any]:
        """Ask until there is a reply, or until trying again is over."""
        access = self._access()
        async with self._gate() or contextlib.nullcontext():
            retry = 0
            while True:
                try:
                    if is_chat:
                        await self._prepare(access)
                    reply = await self._whole(method, path, access, body)
                    return self._read(reply, access)
                except TransportError as error:
                    failure = unreachable(error, self._facts(access))
                    failure.__cause__ = error.original
                except Failure as caught:
                    failure = caught
                if retry >= failure.retries(max_retries):
                    raise failure.error from failure.__cause__
                retry += 1
                wait_s = wait_before(retry, failure.wait_s)
                logger.info("%s; trying again in %.1f s", failure.reason, wait_s)
                await asyncio.sleep(wait_s)

    def _read(self, reply: object, access: Access) -> dict[str, Any]:
        """Give a reply that is an object, and no error in the guise of one."""
        if isinstance(reply, list):  # some list their models so
            reply = {"data": reply}
        if not isinstance(reply, dict):
            failure = unreadable(str(reply), self._facts(access))
            raise failure
        if is_error(reply):
            raise refused(status_of(reply), reply, self._facts(access))
        return reply


def _check(messages: object, more: Mapping[str, Any]) -> None:
    message = ""
    if more.get("stream"):
        message = (
            "chat_completions() gives whole replies. For a stream, ask an agent: "
            "Agent(client).stream(...)."
        )
    elif isinstance(messages, str | Mapping):
        message = (
            'Pass a list of messages: [{"role": "user", "content": "Hello"}], as '
            "OpenAI spells them."
        )
    if message:
        raise AgentConfigurationError(message)
