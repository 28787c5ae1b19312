"""`GeminiProvider`: the models of Google, by Gemini's generateContent."""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self, Unpack
from urllib.parse import quote, urlsplit

from notebook_agents.providers._encoding import encode
from notebook_agents.providers._error_words import words_of
from notebook_agents.providers._failures import ServiceFacts, unreadable
from notebook_agents.providers._gemini_contents import KeptParts
from notebook_agents.providers._gemini_embedding import embedding_body, vectors_in
from notebook_agents.providers._gemini_reply import GeminiReply
from notebook_agents.providers._gemini_request import written
from notebook_agents.providers._http_options import HttpOptions
from notebook_agents.providers._limits import tokens_in
from notebook_agents.providers._pausing import until_complete
from notebook_agents.providers._replayed import Replays
from notebook_agents.providers._service import HttpProvider
from notebook_agents.providers.base import Delta, ModelRequest
from notebook_agents.providers.embedding import Purpose, in_batches
from notebook_agents.providers.gemini_profile import GeminiProfile, gemini_profile
from notebook_agents.providers.lifecycle import warn_of
from notebook_agents.providers.output_format import OutputMode
from notebook_agents.providers.shaped import in_words
from notebook_agents.settings import Settings

__all__ = ["GeminiProvider"]

logger = logging.getLogger(__name__)

HOME = "https://generativelanguage.googleapis.com"
DEFAULT_MODEL = "gemini-3.8-flash"
MOST_TEXTS = 100
"""Texts that are embedded by one request."""
_VERSIONED = re.compile(r"/v\d\w*(/|$)")
_NOT_TAKEN = r".*(not supported|unsupported|not enabled|not allowed|deprecated|invalid)"
_REFUSED = {
    "JSON Schema": re.compile(
        r'Unknown name "(parameters|response)_?[jJ]son_?[sS]chema"'
    ),
    "id": re.compile(r'Unknown name "id"|(?i:function_?(call|response)\S* id\b.*not)'),
    "output format": re.compile(
        r"(?i)response.?(mime.?type|schema|json.?schema)|json mode|too many states"
    ),
    "systemInstruction": re.compile(r"(?i)(developer|system).?instructions?.* not "),
    "temperature": re.compile(r"(?i)temperature" + _NOT_TAKEN),
    "thinkingBudget": re.compile(
        r"(?i)thinking.?budget" + _NOT_TAKEN + r"|Budget \d+ is "
    ),
    "thinkingConfig": re.compile(
        r"(?i)thinking is not |thinking.?config" + _NOT_TAKEN + "|not support thinking"
    ),
    "thinkingLevel": re.compile(r"(?i)thinking.?level" + _NOT_TAKEN),
    "topK": re.compile(r"(?i)top.?k\b" + _NOT_TAKEN),
    "topP": re.compile(r"(?i)top.?p\b" + _NOT_TAKEN),
}
"""What a request can do without, and how a service says that it has to."""
_SILENT = frozenset({"JSON Schema", "id", "output format", "systemInstruction"})
"""What is then said in another way."""
_UNKNOWN = re.compile(r"Unknown name \"(\w+)\"(?: at 'generation_config[\w.]*')?:")
_LOST_SIGNATURE = re.compile(r"(?i)missing a .?thought_?signature")
_BAD_SIGNATURE = re.compile(r"(?i)thought.?signature")
_TOO_MUCH = re.compile(
    r"maxOutputTokens value of (\d+) but .* to (\d+) \(exclusive\)", re.DOTALL
)


class GeminiProvider(HttpProvider):
    """The models of Google, and services that speak as it does.

    Parameters
    ----------
    model : str, optional
        The model.
    api_key : str, optional
        The key; by default ``GEMINI_API_KEY``, or ``GOOGLE_API_KEY``.
    base_url : str, optional
        Where the service is, with or without the version of its interface.
    api_version : str, default "v1beta"
        The version, where `base_url` names none.
    streaming : bool, default True
        Whether a reply is asked for as it is written, or when it is complete.
    profile : GeminiProfile, optional
        What the model takes, if it differs from what is known.
    extra_body : mapping, optional
        More keys for the body of each request; they win. Objects such as
        ``generationConfig`` are merged, and ``tools``, such as a search that the
        service runs itself, are added to those of the agent.
    **options
        As in `HttpOptions`.

    Raises
    ------
    AgentConfigurationError
        If the URL, the key or an option cannot be right.

    Examples
    --------
    >>> GeminiProvider().model
    'gemini-3.8-flash'
    """

    name = "gemini"
    key_name = "gemini"
    missing_model_hint = "Check its name; gemini-3.8-flash and gemini-3.5-flash-lite are two that it has."
    missing_path_hint = "Check the base URL; Google's has no path, or /v1beta."
    embed_model = "gemini-embedding-2"
    """The model that embeds, where `embed` is told none."""

    def __init__(
        self,
        model: str | None = None,
        api_key: str | None = None,
        *,
        base_url: str = HOME,
        api_version: str = "v1beta",
        streaming: bool = True,
        profile: GeminiProfile | None = None,
        extra_body: Mapping[str, Any] | None = None,
        **options: Unpack[HttpOptions],
    ) -> None:
        model = (model or "").strip().removeprefix("models/") or DEFAULT_MODEL
        super().__init__(base_url, model, api_key, **options)
        if self.base_url.startswith(HOME):
            warn_of(self.name, self.model, DEFAULT_MODEL, is_described=bool(profile))
        is_versioned = _VERSIONED.search(urlsplit(self.base_url).path)
        version = "" if is_versioned else api_version.strip("/")
        self._version = f"/{version}" if version else ""
        self._streaming = streaming
        self._profile = profile
        self._extra_body = dict(extra_body or {})
        self._without: set[str] = set()
        self._told: set[str] = set()
        self._most_tokens: int | None = None
        self._needs_signatures = False
        self._replays = Replays[KeptParts]()

    @classmethod
    def from_settings(cls, model: str | None, settings: Settings) -> Self:
        """Make one from the environment, as in `OpenAICompatibleProvider`."""
        return cls(model, settings.require_key(cls.name))

    @property
    def profile(self) -> GeminiProfile:
        """What the model takes."""
        return self._profile or gemini_profile(self.model)

    def output_mode(self, *, has_tools: bool) -> OutputMode:
        """Say how an answer of a given shape is asked for, as the profile knows."""
        profile = self.profile
        return profile.output_with_tools if has_tools else profile.output

    def respond(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        """Ask once, as in `Provider.respond`; a long reply may come in parts."""
        return until_complete(super().respond, request, name=self.name)

    async def embed(
        self,
        texts: Sequence[str],
        *,
        purpose: Purpose | None = None,
        model: str | None = None,
        dimensions: int | None = None,
    ) -> list[list[float]]:
        """Embed texts, 100 a request, each tried again as a question would be.

        Parameters
        ----------
        texts : sequence of str
            Any number.
        purpose : {"document", "query"}, optional
            What they are: something to be found, or what is looked for.
        model : str, optional
            The model that embeds; by default `embed_model`.
        dimensions : int, optional
            Length of a vector; by default 3072.

        Returns
        -------
        list of list of float
            A vector for each text, in the same order.

        Raises
        ------
        AgentConfigurationError
            If it is one text and no list, or there is no key.
        AgentProviderError
            If the service cannot be reached, refuses, or sends no vectors.
        """
        ask = functools.partial(
            self._embed,
            (model or self.embed_model).removeprefix("models/"),
            purpose=purpose,
            dimensions=dimensions,
        )
        return await in_batches(texts, MOST_TEXTS, ask)

    async def _embed(
        self,
        model: str,
        texts: list[str],
        *,
        purpose: Purpose | None,
        dimensions: int | None,
    ) -> list[list[float]]:
        asked = embedding_body(
            texts, model=model, purpose=purpose, dimensions=dimensions
        )
        reply = await self._fetch(
            "POST",
            f"{self._place(model)}:batchEmbedContents",
            lambda: encode(asked),
            max_retries=self.max_retries,
            tokens=tokens_in(texts),
        )
        try:
            return vectors_in(reply, len(texts))
        except (LookupError, TypeError, ValueError) as error:
            raise unreadable(str(reply), self._facts(self._given)).error from error

    def _path(self) -> str:
        how = "streamGenerateContent?alt=sse" if self._streaming else "generateContent"
        return f"{self._place(self.model)}:{how}"

    def _place(self, model: str) -> str:
        """Give the path of a model; others than Google's have a whole one as name."""
        name = model if "/" in model else f"models/{model}"
        return f"{self._version}/{quote(name, safe='/')}"

    def _models_path(self) -> str:
        # As many as there may be: one page by default has 50.
        return f"{self._version}/models?pageSize=1000"

    def _auth_headers(self, key: str) -> dict[str, str]:
        return {"x-goog-api-key": key}

    def _encode(self, request: ModelRequest) -> bytes:
        profile = self.profile
        if self._needs_signatures:
            profile = replace(profile, needs_signatures=True)
        made = written(
            self._possible(request),
            profile=profile,
            extra=self._extra_body,
            without=self._without,
            most_tokens=self._most_tokens,
            kept=self._replays.opened(request),
        )
        for name in made.dropped:
            self._tell(name)
        return encode(made.body)

    def _possible(self, request: ModelRequest) -> ModelRequest:
        """Ask for a shape in words, where the service cannot hold an answer to it."""
        output = request.output
        is_told = output is not None and not output.tool
        if output is None or not is_told or "output format" not in self._without:
            return request
        return in_words(request, output)

    def _new_reply(self, request: ModelRequest, service: ServiceFacts) -> GeminiReply:
        return GeminiReply(request, service, sealed=self._replays.sealed)

    # What the service refuses.

    def _tell(self, name: str) -> None:
        """Say once that something which was asked for is not sent."""
        if name not in self._told:
            self._told.add(name)
            logger.warning("%s takes no %s; it is left out", self.model, name)

    def _give_in(self, body: object) -> bool:
        said = words_of(body).message
        if _BAD_SIGNATURE.search(said):
            return self._give_in_to_signatures(said)
        if found := _TOO_MUCH.search(said):
            asked, most = int(found[1]), int(found[2]) - 1
            is_news = self._most_tokens is None or most < self._most_tokens
            self._most_tokens = most
            return is_news and most < asked
        named = {name for name, says in _REFUSED.items() if says.search(said)}
        named |= set(_UNKNOWN.findall(said))
        if "JSON Schema" in named - self._without:
            named = {"JSON Schema"}  # the older form may do
        new = named - self._without
        for name in sorted(new - _SILENT):
            self._tell(name)
        self._without |= new
        return bool(new)

    def _give_in_to_signatures(self, said: str) -> bool:
        """Send what was missing from now on, or nothing that was not right."""
        if _LOST_SIGNATURE.search(said):
            is_news, self._needs_signatures = not self._needs_signatures, True
        else:  # another key, or another model
            is_news = self._replays.renounce()
        return is_news
