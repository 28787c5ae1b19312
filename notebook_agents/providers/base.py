"""What a model provider is: whom to ask, and how the reply comes.

Our own providers are `Provider`: one method, `Provider.respond`, yields typed
deltas and ends with a `ModelReply`. Other people's are `BaseProvider` with
``chat`` and ``stream``; `deltas_of` makes the two look alike to the loop.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, ClassVar

from notebook_agents.errors import (
    AgentConfigurationError,
    AgentProviderError,
    StreamInterruptedError,
)
from notebook_agents.messages import Message, ToolCall
from notebook_agents.providers.deltas import (
    Delta,
    ModelReply,
    ModelRequest,
    ReasoningDelta,
    RetryDelta,
    TextDelta,
)
from notebook_agents.providers.output_format import OutputMode, response_format
from notebook_agents.sync import run_sync

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
        The assistant message as the service sent it. In the `messages` of the
        next request it is better than one of your own: ours takes back with it
        what its service wants to see again, such as what the model thought.
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

    async def models(self) -> list[str]:
        """List the models that there are to choose from.

        Returns
        -------
        list of str
            Their names, as the service spells them.

        Raises
        ------
        AgentConfigurationError
            If the provider has no list.
        """
        message = (
            f"{provider_name(self)} has no list of models. Look up what there is in "
            "its documentation."
        )
        raise AgentConfigurationError(message)

    def models_sync(self) -> list[str]:
        """List the models, as `models` does, from sync code anywhere."""
        return run_sync(self.models())

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
                        delta.text, list(delta.tool_calls), _Said(said, delta.replay)
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
        deltas, has_spoken = self.respond(request), False
        try:
            async for delta in deltas:
                if isinstance(delta, ModelReply):
                    return
                if isinstance(delta, TextDelta):
                    has_spoken = True
                    yield delta.text
                elif has_spoken and is_void(delta):
                    break  # what has been given away cannot be taken back
        finally:
            await deltas.aclose()
        raise interrupted(self)


class _Said(dict[str, Any]):
    """An OpenAI-shaped message with what goes back with it, `ModelReply.replay`."""

    def __init__(self, message: Message, replay: object) -> None:
        super().__init__(message.to_dict())
        self.replay = replay
        first = message.tool_calls[:1] if replay is not None else ()
        self.replays = {call.id: replay for call in first}


def provider_name(provider: BaseProvider) -> str:
    """Name a provider for people: its own name, else its class."""
    return provider.name or type(provider).__name__.lower()


def model_label(provider: BaseProvider) -> str:
    """Name a model for people, as ``provider:model``."""
    name = provider_name(provider)
    return f"{name}:{provider.model}" if provider.model else name


def is_void(delta: Delta) -> bool:
    """Tell whether a delta takes back the text before it."""
    return isinstance(delta, RetryDelta) and delta.discard_partial


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
        _dicts_of(request),
        # A copy: many take out of a schema what their service does not know.
        tools=copy.deepcopy([dict(tool) for tool in request.tools]) or None,
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
    said: object = response.raw_message  # of a provider of ours that it has asked
    if text:
        yield TextDelta(text)
    yield ModelReply(
        text=text,
        tool_calls=calls,
        stop_reason="tool_calls" if calls else "stop",
        replay=said.replay if isinstance(said, _Said) else None,
    )


def _dicts_of(request: ModelRequest) -> list[dict[str, Any]]:
    return [
        _Said(message, request.replays.get(message.tool_calls[0].id))
        if message.tool_calls
        else message.to_dict()
        for message in request.messages
    ]


def _request_of(
    messages: list[dict[str, Any]],
    tools: list[dict[str, Any]] | None,
    tool_calling: dict[str, Any] | None,
) -> ModelRequest:
    replays: dict[str, object] = {}
    for message in messages:
        if isinstance(message, _Said):
            replays |= message.replays
    return ModelRequest(
        messages=[Message.from_dict(message) for message in messages],
        tools=tools or (),
        tool_calling=tool_calling or {},
        replays=replays,
    )
