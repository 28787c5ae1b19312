"""`OpenAICompatibleProvider`: any service that speaks chat completions."""

from __future__ import annotations

import functools
import logging
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self, Unpack

from notebook_agents.errors import (
    AgentConfigurationError,
    ModelNotFoundError,
    ProviderSetupError,
)
from notebook_agents.providers._chat_refusals import refused_parts, refused_ways
from notebook_agents.providers._chat_reply import ChatReply
from notebook_agents.providers._chat_request import LIMITS, chat_body
from notebook_agents.providers._encoding import encode
from notebook_agents.providers._error_words import words_of
from notebook_agents.providers._failures import ServiceFacts, unreadable
from notebook_agents.providers._http_options import HttpOptions
from notebook_agents.providers._limits import tokens_in
from notebook_agents.providers._reading import Reply
from notebook_agents.providers._refusals import is_too_long
from notebook_agents.providers._replayed import Replays
from notebook_agents.providers._service import Access, HttpProvider
from notebook_agents.providers.base import ModelRequest
from notebook_agents.providers.discovery import chat_model_in
from notebook_agents.providers.embedding import Purpose, in_batches
from notebook_agents.providers.output_format import OutputMode
from notebook_agents.providers.profiles import ChatProfile, chat_profile
from notebook_agents.providers.shaped import in_words
from notebook_agents.settings import Settings

__all__ = ["OpenAICompatibleProvider"]

logger = logging.getLogger(__name__)

MOST_TEXTS = 64
"""Texts that are embedded by one request."""
_CONTEXT_SIZE = re.compile(r"maximum context length is (\d{1,9}) tokens")
_SILENT = frozenset({"stream_options", "strict"})
"""What nobody asked for."""


class OpenAICompatibleProvider(HttpProvider):
    """A service that speaks OpenAI's chat completions: vLLM, Groq, a gateway, ...

    Parameters
    ----------
    base_url : str
        Where it is, most often up to ``/v1``.
    model : str, optional
        The model, as the service spells it; by default the first one of its
        list that can chat, asked for before the first request.
    api_key : str, optional
        The key, if it wants one.
    profile : ChatProfile, optional
        What the model takes, if it differs from what is known.
    extra_body : mapping, optional
        More keys for the body of each request; they win.
    **options
        As in `HttpOptions`: ``timeout``, ``connect_timeout``, ``stall_timeout``,
        ``max_retries``, ``max_concurrency``, ``requests_per_minute``,
        ``tokens_per_minute``, ``extra_headers``, ``verify``, ``http_client``.

    Raises
    ------
    AgentConfigurationError
        If the URL, the key or an option cannot be right.

    Notes
    -----
    Making one does no work and sends nothing. An optional part of a request
    that the service refuses is left out from then on, which the log says once.

    Examples
    --------
    >>> OpenAICompatibleProvider("http://localhost:8000/v1", "my-model")
    <OpenAICompatibleProvider 'my-model' at http://localhost:8000/v1>
    """

    name = "openai-compatible"
    embed_model = ""
    """The model that embeds, where `embed` is told none."""

    def __init__(
        self,
        base_url: str,
        model: str | None = None,
        api_key: str | None = None,
        *,
        profile: ChatProfile | None = None,
        extra_body: Mapping[str, Any] | None = None,
        **options: Unpack[HttpOptions],
    ) -> None:
        super().__init__(base_url, model, api_key, **options)
        self._profile = profile
        self._extra_body = dict(extra_body or {})
        self._left_out: set[str] = set()
        self._missing_ways: set[str] = set()
        self._most_thinking: float = math.inf
        self._replays = Replays[Mapping[str, Any]]()

    @classmethod
    def from_settings(cls, model: str | None, settings: Settings) -> Self:
        """Make one from the environment.

        Parameters
        ----------
        model : str or None
            The model; by default ``LLM_MODEL``.
        settings : Settings
            The environment, with ``LLM_BASE_URL`` and perhaps ``LLM_API_KEY`` and
            ``EMBED_MODEL``.

        Returns
        -------
        OpenAICompatibleProvider
            Ready for its first request.

        Raises
        ------
        ProviderSetupError
            If there is no base URL.
        """
        base_url = settings.base_urls.get(cls.name)
        if base_url is None:
            message = (
                f"Missing base URL for provider {cls.name!r}. "
                "Set LLM_BASE_URL in your environment or .env file."
            )
            raise ProviderSetupError(message)
        key = settings.keys.get(cls.name)
        made = cls(base_url, model=model or settings.llm_model, api_key=key)
        made.embed_model = settings.embed_model or ""
        return made

    @property
    def profile(self) -> ChatProfile:
        """What the model takes."""
        return self._profile or chat_profile(self.name, self.model)

    def output_mode(self, *, has_tools: bool) -> OutputMode:
        """Say how an answer of a given shape is asked for, as the profile knows."""
        profile = self.profile
        return profile.output_with_tools if has_tools else profile.output

    async def embed(
        self,
        texts: Sequence[str],
        *,
        purpose: Purpose | None = None,
        model: str | None = None,
        dimensions: int | None = None,
    ) -> list[list[float]]:
        """Embed texts, 64 a request, each tried again as a question would be.

        Parameters
        ----------
        texts : sequence of str
            Any number.
        purpose : {"document", "query"}, optional
            As in `Embedder.embed`; nothing in this wire format.
        model : str, optional
            The model that embeds; by default `embed_model`.
        dimensions : int, optional
            Length of a vector, for models that have several.

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
        del purpose
        ask = functools.partial(
            self._embed, model or self.embed_model, dimensions=dimensions
        )
        return await in_batches(texts, MOST_TEXTS, ask)

    async def _embed(
        self,
        model: str,
        texts: list[str],
        *,
        dimensions: int | None = None,
        max_retries: int | None = None,
    ) -> list[list[float]]:
        if not model:
            message = "Name the model that embeds: embed_model, or model= of embed()."
            raise AgentConfigurationError(message)
        asked: dict[str, Any] = {"model": model, "input": texts}
        if dimensions is not None:
            asked["dimensions"] = dimensions
        reply = await self._fetch(
            "POST",
            "/embeddings",
            lambda: encode(asked),
            max_retries=self.max_retries if max_retries is None else max_retries,
            tokens=tokens_in(texts),
        )
        try:
            found = {item["index"]: item["embedding"] for item in reply["data"]}
            return [[*map(float, found[number])] for number in range(len(texts))]
        except (LookupError, TypeError, ValueError) as error:
            raise unreadable(str(reply), self._facts(self._given)).error from error

    def _path(self) -> str:
        return "/chat/completions"

    def _encode(self, request: ModelRequest) -> bytes:
        profile = self.profile
        if profile.thinking_tokens > self._most_thinking:
            profile = replace(profile, thinking_tokens=int(self._most_thinking))
        is_sent = profile.sends_temperature or "temperature" in self._left_out
        if request.temperature is not None and not is_sent:
            self._left_out.add("temperature")
            logger.warning("%s takes no temperature; it is left out", self.model)
        body = chat_body(
            self._possible(request),
            model=self.model,
            profile=profile,
            extra=self._extra_body,
            without=self._left_out,
            replays=self._replays.opened(request),
        )
        return encode(body)

    def _possible(self, request: ModelRequest) -> ModelRequest:
        """Ask for a shape in another way, where the service refused the usual one."""
        output = request.output
        if output is None:
            return request
        if not output.tool and "response_format" in self._missing_ways:
            return in_words(request, output)
        if output.tool and "tool_choice" in self._missing_ways:
            choice = {**request.tool_calling, "tool_choice": "auto"}
            return replace(request, tool_calling=choice)
        return request

    def _new_reply(self, request: ModelRequest, service: ServiceFacts) -> Reply:
        return ChatReply(
            self.profile,
            service,
            sealed=self._replays.sealed,
            output_tool=request.output.tool if request.output else "",
        )

    def _give_in(self, body: object) -> bool:
        words = words_of(body)
        if is_too_long(words):
            return self._make_room(words.message)
        named = refused_parts(words, limit=self.profile.max_tokens_key)
        named -= self._left_out
        ways = refused_ways(words) - self._missing_ways
        self._left_out |= named
        self._missing_ways |= ways
        has_limit = bool(LIMITS - self._left_out)  # if under its other name
        for name in sorted(named - _SILENT - (LIMITS if has_limit else set())):
            logger.warning("%s takes no %s; it is left out", self.model, name)
        return bool(named or ways)

    def _make_room(self, said: str) -> bool:
        """Leave less room for thoughts where that, and no message, is too long."""
        size = _CONTEXT_SIZE.search(said)
        room = int(size[1]) // 4 if size else self._most_thinking
        is_news = room < min(self._most_thinking, self.profile.thinking_tokens)
        self._most_thinking = min(room, self._most_thinking)
        return is_news

    async def _prepare(self, access: Access) -> None:
        if self.model:
            return
        model = chat_model_in(await self._whole("GET", "/models", access))
        if model is None:
            message = (
                f"{self.name} at {self.shown_url} has no model that can chat. "
                f"{self.missing_model_hint.format(model='NAME')}"
            )
            raise ModelNotFoundError(message)
        self.model = model
