"""`AnthropicProvider`: the models of Anthropic, by Messages."""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from typing import Any, Literal, Self, Unpack

from notebook_agents.errors import AgentConfigurationError
from notebook_agents.providers._anthropic_messages import Block, KeptBlocks
from notebook_agents.providers._anthropic_reply import MessagesReply
from notebook_agents.providers._anthropic_request import Written, written
from notebook_agents.providers._encoding import encode
from notebook_agents.providers._error_words import words_of
from notebook_agents.providers._failures import ServiceFacts
from notebook_agents.providers._http_options import HttpOptions
from notebook_agents.providers._pausing import until_complete
from notebook_agents.providers._replayed import Replays
from notebook_agents.providers._service import HttpProvider
from notebook_agents.providers.anthropic_profile import (
    AnthropicProfile,
    anthropic_profile,
)
from notebook_agents.providers.base import Delta, ModelRequest
from notebook_agents.providers.lifecycle import warn_of
from notebook_agents.providers.output_format import OutputMode
from notebook_agents.providers.shaped import in_words
from notebook_agents.settings import Settings

__all__ = ["AnthropicProvider"]

logger = logging.getLogger(__name__)

HOME = "https://api.anthropic.com"
DEFAULT_MODEL = "claude-sonnet-5-5"
VERSION, OLD_VERSION = "2026-10-21", "2023-06-01"
_NOT_TAKEN = r"\b.*(deprecated|not supported|unsupported|not permitted|cannot|removed)"
_REFUSED = {
    "cache_control": re.compile(r"cache_control"),
    "effort": re.compile(r"effort" + _NOT_TAKEN + r"|not support the effort"),
    "forced tool_choice": re.compile(
        r"tool_choice.*(not supported|unsupported|not permitted|forces tool use)"
    ),
    "output format": re.compile(
        r"output_config\.format|output_format|(?i:structured output|grammar|schema is too)"
    ),
    "temperature": re.compile(r"temperature" + _NOT_TAKEN),
    "thinking": re.compile(r"thinking\.type|adaptive.* not supported|^thinking: "),
    "top_k": re.compile(r"top_k" + _NOT_TAKEN),
    "top_p": re.compile(r"top_p" + _NOT_TAKEN),
}
"""What a request can do without, and how a service says that it has to."""
_UNKNOWN = re.compile(r"^(\w+): Extra inputs are not permitted")
_OTHER_THOUGHTS = re.compile(r"(?i)signature|bound to|thinking.* blocks?")
_TOO_MUCH = re.compile(r"max_tokens: (\d+) > (\d+)")


class AnthropicProvider(HttpProvider):
    """The models of Anthropic, and services that speak as it does.

    Parameters
    ----------
    model : str, optional
        The model.
    api_key : str, optional
        The key; by default ``ANTHROPIC_API_KEY``.
    base_url : str, optional
        Where the service is, for a proxy in front of it or another service that
        speaks Messages.
    version : str, optional
        The ``anthropic-version``: by default ``"2026-10-21"`` at Anthropic,
        which takes no sampling parameters, and ``"2023-06-01"`` elsewhere.
    cache : {"5m", "1h", None}, default "5m"
        How long the service may keep the beginning of a conversation that it
        has read, so that reading it again costs a tenth; None for not at all.
    profile : AnthropicProfile, optional
        What the model takes, if it differs from what is known.
    extra_body : mapping, optional
        More keys for the body of each request; they win. Its ``tools``, such as
        a web search that the service runs itself, are added to those of the
        agent.
    **options
        As in `HttpOptions`.

    Raises
    ------
    AgentConfigurationError
        If `cache` is something else, or an option cannot be right.

    Examples
    --------
    >>> AnthropicProvider().model
    'claude-sonnet-5-5'
    """

    name = "anthropic"
    key_name = "anthropic"
    missing_model_hint = (
        "Check its name; claude-sonnet-5-5 and claude-haiku-5-5 are two that it has."
    )

    def __init__(
        self,
        model: str | None = None,
        api_key: str | None = None,
        *,
        base_url: str = HOME,
        version: str | None = None,
        cache: Literal["5m", "1h"] | None = "5m",
        profile: AnthropicProfile | None = None,
        extra_body: Mapping[str, Any] | None = None,
        **options: Unpack[HttpOptions],
    ) -> None:
        if cache not in ("5m", "1h", None):
            message = f'cache is "5m", "1h" or None, not {cache!r}.'
            raise AgentConfigurationError(message)
        super().__init__(base_url, model or DEFAULT_MODEL, api_key, **options)
        is_home = self.base_url.startswith(HOME)
        if is_home:
            warn_of(self.name, self.model, DEFAULT_MODEL, is_described=bool(profile))
        self._version = version or (VERSION if is_home else OLD_VERSION)
        self._extra_headers = {
            "anthropic-version": self._version,
            **{name.lower(): value for name, value in self._extra_headers.items()},
        }
        self._cache = cache
        self._profile = profile
        self._extra_body = dict(extra_body or {})
        self._without: set[str] = set()
        self._told: set[str] = set()
        self._most_tokens: int | None = None
        self._replays = Replays[KeptBlocks]()

    @classmethod
    def from_settings(cls, model: str | None, settings: Settings) -> Self:
        """Make one from the environment, as in `OpenAICompatibleProvider`."""
        return cls(model, settings.require_key(cls.name))

    @property
    def profile(self) -> AnthropicProfile:
        """What the model takes."""
        return self._profile or anthropic_profile(self.model)

    def output_mode(self, *, has_tools: bool) -> OutputMode:
        """Say how an answer of a given shape is asked for, as the profile knows."""
        del has_tools  # the service takes both at once
        profile = self.profile
        is_possible = profile.output != "tool" or profile.forces_tools
        return profile.output if is_possible else "prompted"

    def respond(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        """Ask once, as in `Provider.respond`; a pause of the service is no end."""
        return until_complete(super().respond, request, name=self.name)

    def _path(self) -> str:
        return "/messages" if self.base_url.endswith("/v1") else "/v1/messages"

    def _models_path(self) -> str:
        # As many as there may be: one page by default has 20.
        return f"{self._path().removesuffix('/messages')}/models?limit=1000"

    def _auth_headers(self, key: str) -> dict[str, str]:
        return {"x-api-key": key}

    def _encode(self, request: ModelRequest) -> bytes:
        made = self._written(request)
        for name in made.dropped:
            self._tell(name)
        return encode(made.body)

    def _written(self, request: ModelRequest) -> Written:
        profile = self.profile
        return written(
            self._possible(request),
            model=self.model,
            profile=replace(
                profile,
                sends_sampling=profile.sends_sampling and self._version == OLD_VERSION,
                forces_tools=profile.forces_tools
                and "forced tool_choice" not in self._without,
            ),
            extra=self._extra_body,
            cache=self._cache,
            without=self._without,
            most_tokens=self._most_tokens,
            kept=self._replays.opened(request),
        )

    def _possible(self, request: ModelRequest) -> ModelRequest:
        """Ask for a shape in words, where the service cannot hold an answer to it."""
        output = request.output
        if output is None or output.tool:
            return request
        is_held = output.strict and "output format" not in self._without
        return request if is_held else in_words(request, output)

    def _new_reply(self, request: ModelRequest, service: ServiceFacts) -> MessagesReply:
        sealed = functools.partial(self._sealed, request)
        return MessagesReply(request, service, sealed=sealed)

    def _sealed(
        self, request: ModelRequest, text: str, blocks: tuple[Block, ...]
    ) -> object:
        before = self._written(request).conversation.digest()
        return self._replays.sealed(KeptBlocks(blocks=blocks, text=text, before=before))

    # What the service refuses.

    def _tell(self, name: str) -> None:
        """Say once that something which was asked for is not sent."""
        if name not in self._told:
            self._told.add(name)
            logger.warning("%s takes no %s; it is left out", self.model, name)

    def _give_in(self, body: object) -> bool:
        said = words_of(body).message
        # Another key, or another way of reading them.
        if _OTHER_THOUGHTS.search(said) and self._replays.renounce():
            return True
        if found := _TOO_MUCH.search(said):
            asked, most = map(int, found.groups())
            is_news = self._most_tokens is None or most < self._most_tokens
            self._most_tokens = most
            return is_news and most < asked
        named = {name for name, says in _REFUSED.items() if says.search(said)}
        named |= set(_UNKNOWN.findall(said))
        if named >= {"temperature", "top_p"}:  # one of them may be sent
            named -= {"temperature"}
        new = named - self._without - self._extra_body.keys()
        for name in sorted(new - {"output format"}):  # which goes in words
            self._tell(name)
        self._without |= new
        return bool(new)
