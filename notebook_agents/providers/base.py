"""What a model provider is: the request it gets and the reply it gives.

Our own providers are `Provider`: one method, `Provider.respond`, yields typed
deltas and ends with a `ModelReply`. Other people's are `BaseProvider` with
``chat`` and ``stream``; `deltas_of` makes the two look alike to the loop.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, ClassVar

from notebook_agents.errors import (
    AgentConfigurationError,
    AgentProviderError,
    StreamInterruptedError,
)
from notebook_agents.messages import Message, ToolCall, Usage, to_dicts
from notebook_agents.providers.output_format import (
    OutputFormat,
    OutputMode,
    response_format,
)

__all__ = [
    "BaseProvider",
    "Delta",
    "ModelReply",
    "ModelRequest",
    "Provider",
    "ProviderResponse",
    "ReasoningDelta",
    "RetryDelta",
    "TextDelta",
    "ToolCall",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """Everything one model call needs.

    Parameters
    ----------
    messages : sequence of Message
        The conversation, the system message first.
    tools : sequence of dict
        OpenAI function-tool objects; empty when the model may call nothing.
    tool_calling : mapping
        Overrides such as ``{"tool_choice": "required"}``.
    max_tokens : int
        Most tokens of visible output.
    temperature : float or None
        Sampling temperature, no unit; None leaves it to the provider.
    params : mapping
        More sampling parameters, as the service spells them.
    output : OutputFormat or None
        The shape of the answer; None for plain text.
    """

    messages: Sequence[Message]
    tools: Sequence[Mapping[str, Any]] = ()
    tool_calling: Mapping[str, Any] = field(default_factory=dict)
    max_tokens: int = 1024
    temperature: float | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    output: OutputFormat | None = None


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A piece of what the model thinks before it answers."""

    text: str


@dataclass(frozen=True, slots=True)
class RetryDelta:
    """The request failed and is sent again after a wait.

    Parameters
    ----------
    attempt : int
        Which retry it is, from 1.
    wait_s : float
        Seconds until it is sent.
    reason : str
        A few words for people.
    discard_partial : bool
        Whether the text so far is void.
    """

    attempt: int
    wait_s: float
    reason: str
    discard_partial: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """One complete reply of a model, always the last delta.

    Parameters
    ----------
    text : str
        The whole visible text.
    tool_calls : tuple of ToolCall
        What the model asks for, in its order.
    reasoning : str
        The whole reasoning text, if the service shows it.
    usage : Usage
        Token counts of this call.
    stop_reason : str
        ``"stop"``, ``"tool_calls"``, ``"length"``, ``"refusal"`` or
        ``"content_filter"``.
    cached_tokens, cache_write_tokens : int
        Of the prompt, the tokens that came from the cache of the service, and
        those that were put there; 0 if it does not say.
    charged : float or None
        US dollars, if the service says what it charged.
    """

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    usage: Usage = field(default_factory=Usage)
    stop_reason: str = "stop"
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    charged: float | None = None


Delta = TextDelta | ReasoningDelta | RetryDelta | ModelReply


@dataclass(slots=True)
class ProviderResponse:
    """The reply of `BaseProvider.chat`; empty strings and lists, never None.

    Parameters
    ----------
    content : str
        The text.
    tool_calls : list of ToolCall
        The calls.
    raw_message : dict
        The assistant message as the service sent it.
    """

    content: str = ""
    tool_calls: list[ToolCall] = field(default_factory=list)
    raw_message: dict[str, Any] = field(default_factory=dict)


class BaseProvider(ABC):
    """The contract for providers made elsewhere: ``chat`` and ``stream``."""

    name: str = ""
    """Name shown to people; the class name in lower case when empty."""
    model: str = ""
    """Name of the model, as the service spells it."""
    streams_tools: ClassVar[bool] = False
    """Whether ``stream`` may be used although the agent has tools."""

    def output_mode(self, *, has_tools: bool) -> OutputMode:
        """Say how an answer of a given shape is asked for.

        Parameters
        ----------
        has_tools : bool
            Whether the model may call tools on the way.

        Returns
        -------
        {"native", "tool", "prompted"}
            With ``"native"``, `chat` gets the shape as ``response_format`` in
            its ``tool_calling``.
        """
        return "prompted"

    @abstractmethod
    async def chat(
        self,
        messages: list[dict[str, Any]],
        *,
        tools: list[dict[str, Any]] | None = None,
        tool_calling: dict[str, Any] | None = None,
    ) -> ProviderResponse:
        """Ask once and wait for the whole reply.

        Parameters
        ----------
        messages : list of dict
            OpenAI-shaped messages.
        tools : list of dict, optional
            OpenAI function-tool objects.
        tool_calling : dict, optional
            Overrides such as ``{"tool_choice": "required"}``.

        Returns
        -------
        ProviderResponse
            The reply.
        """

    @abstractmethod
    def stream(
        self,
        messages: list[dict[str, Any]],
        *,
        tools: list[dict[str, Any]] | None = None,
        tool_calling: dict[str, Any] | None = None,
    ) -> AsyncIterator[str]:
        """Ask once and yield the text as it arrives.

        Parameters
        ----------
        messages, tools, tool_calling
            As in `chat`.

        Yields
        ------
        str
            Pieces of text.
        """


class Provider(BaseProvider):
    """A provider of this package: it yields typed deltas."""

    streams_tools: ClassVar[bool] = True

    @abstractmethod
    def respond(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        """Ask once; yield deltas, a `ModelReply` last.

        Parameters
        ----------
        request : ModelRequest
            What to ask.

        Yields
        ------
        TextDelta, ReasoningDelta, RetryDelta or ModelReply
            The reply as it arrives. A stream that ends without a `ModelReply`
            counts as interrupted.
        """

    async def aclose(self) -> None:
        """Give back what the provider holds open; using it again reopens it."""

    async def chat(
        self,
        messages: list[dict[str, Any]],
        *,
        tools: list[dict[str, Any]] | None = None,
        tool_calling: dict[str, Any] | None = None,
    ) -> ProviderResponse:
        """Ask once and wait for the whole reply, as in `BaseProvider.chat`."""
        request = _request_of(messages, tools, tool_calling)
        async with aclosing(self.respond(request)) as deltas:
            async for delta in deltas:
                if isinstance(delta, ModelReply):
                    said = Message("assistant", delta.text, delta.tool_calls)
                    return ProviderResponse(
                        delta.text, list(delta.tool_calls), said.to_dict()
                    )
        raise interrupted(self)

    async def stream(
        self,
        messages: list[dict[str, Any]],
        *,
        tools: list[dict[str, Any]] | None = None,
        tool_calling: dict[str, Any] | None = None,
    ) -> AsyncGenerator[str, None]:
        """Ask once and yield the text, as in `BaseProvider.stream`."""
        request = _request_of(messages, tools, tool_calling)
        deltas = self.respond(request)
        try:
            async for delta in deltas:
                if isinstance(delta, ModelReply):
                    return
                if isinstance(delta, TextDelta):
                    yield delta.text
        finally:
            await deltas.aclose()
        raise interrupted(self)


def provider_name(provider: BaseProvider) -> str:
    """Name a provider for people: its own name, else its class."""
    return provider.name or type(provider).__name__.lower()


def model_label(provider: BaseProvider) -> str:
    """Name a model for people, as ``provider:model``."""
    name = provider_name(provider)
    return f"{name}:{provider.model}" if provider.model else name


def interrupted(provider: BaseProvider) -> StreamInterruptedError:
    """Say that a reply broke off before its end."""
    name = provider_name(provider)
    message = f"The reply of {name} ended before it was complete. Run it again."
    return StreamInterruptedError(message, provider=name, retryable=True)


def deltas_of(
    provider: BaseProvider, request: ModelRequest
) -> AsyncGenerator[Delta, None]:
    """Ask any provider and get deltas.

    Parameters
    ----------
    provider : BaseProvider
        Ours or somebody else's.
    request : ModelRequest
        What to ask.

    Returns
    -------
    async generator of Delta
        A `ModelReply` last.
    """
    if isinstance(provider, Provider):
        return provider.respond(request)
    return _foreign_deltas(provider, request)


async def _foreign_deltas(
    provider: BaseProvider, request: ModelRequest
) -> AsyncGenerator[Delta, None]:
    if request.params:
        name, params = provider_name(provider), ", ".join(request.params)
        message = (
            f"{name} takes no params ({params}): its chat() has no place for them."
        )
        raise AgentConfigurationError(message)
    tool_calling = dict(request.tool_calling)
    if request.output is not None and not request.output.tool:
        tool_calling["response_format"] = response_format(request.output)
    response: object = await provider.chat(
        to_dicts(request.messages),
        tools=[dict(tool) for tool in request.tools] or None,
        tool_calling=tool_calling or None,
    )
    if not isinstance(response, ProviderResponse):
        kind = type(response).__name__
        message = (
            f"{provider_name(provider)}.chat() returned {kind}, "
            "but a ProviderResponse is needed."
        )
        raise AgentProviderError(message, provider=provider_name(provider))
    # Against the contract, many say None where they mean nothing.
    text, calls = response.content or "", tuple(response.tool_calls or ())
    if text:
        yield TextDelta(text)
    yield ModelReply(
        text=text,
        tool_calls=calls,
        stop_reason="tool_calls" if calls else "stop",
    )


def _request_of(
    messages: list[dict[str, Any]],
    tools: list[dict[str, Any]] | None,
    tool_calling: dict[str, Any] | None,
) -> ModelRequest:
    return ModelRequest(
        messages=[Message.from_dict(message) for message in messages],
        tools=tools or (),
        tool_calling=tool_calling or {},
    )
