"""Providers of ours and of other people look alike."""

from __future__ import annotations

import asyncio

import pytest

from notebook_agents import BaseProvider, ProviderResponse, ScriptedProvider, call
from notebook_agents.errors import AgentConfigurationError, StreamInterruptedError
from notebook_agents.messages import Message, ToolCall
from notebook_agents.providers.base import (
    ModelReply,
    ModelRequest,
    Provider,
    TextDelta,
    deltas_of,
    model_label,
    provider_name,
)

ASK = [{"role": "user", "content": "hi"}]


class Says(Provider):
    """Yields what it is given, and notes that it was closed."""

    def __init__(self, *deltas):
        self.deltas = deltas
        self.is_closed = False

    async def respond(self, request):
        self.request = request
        try:
            for delta in self.deltas:
                await asyncio.sleep(0)
                yield delta
        finally:
            self.is_closed = True


async def test_our_providers_can_be_asked_as_those_of_others():
    """Requirement A46."""
    response = await ScriptedProvider([["a", call("add", x=1)]]).chat(ASK)
    assert (response.content, [c.name for c in response.tool_calls]) == ("a", ["add"])
    assert response.raw_message["tool_calls"][0]["function"]["name"] == "add"


async def test_our_providers_stream_text_as_those_of_others():
    """Requirement A46."""
    stream = ScriptedProvider(["Hello there"]).stream(ASK)
    assert [text async for text in stream] == ["Hello th", "ere"]


async def test_nothing_is_empty_and_never_none():
    """Requirement A46."""
    response = await Says(ModelReply()).chat(ASK)
    assert (response.content, response.tool_calls) == ("", [])
    assert ProviderResponse() == ProviderResponse("", [], {})


async def test_the_public_shape_reaches_the_model_as_a_request():
    provider = Says(ModelReply())
    await provider.chat(ASK, tools=[{"type": "function"}], tool_calling={"a": 1})
    assert provider.request == ModelRequest(
        messages=[Message("user", "hi")],
        tools=[{"type": "function"}],
        tool_calling={"a": 1},
    )


async def test_a_reply_without_its_end_is_an_error():
    """Design, section 6."""
    with pytest.raises(StreamInterruptedError, match="says"):
        await Says(TextDelta("half")).chat(ASK)


async def test_a_stream_without_its_end_is_an_error():
    """Design, section 6."""
    stream = Says(TextDelta("half")).stream(ASK)
    assert await anext(stream) == "half"
    with pytest.raises(StreamInterruptedError):
        await anext(stream)


async def test_a_provider_is_closed_when_it_has_replied():
    provider = Says(ModelReply(), TextDelta("more"))
    await provider.chat(ASK)
    assert provider.is_closed


async def test_a_provider_is_closed_when_its_stream_is():
    provider = Says(TextDelta("a"), TextDelta("b"), ModelReply())
    stream = provider.stream(ASK)
    await anext(stream)
    await stream.aclose()
    assert provider.is_closed


class Foreign(BaseProvider):
    """As somebody else would write it."""

    async def chat(self, messages, *, tools=None, tool_calling=None):
        return ProviderResponse("text", [ToolCall("1", "add")])

    def stream(self, messages, *, tools=None, tool_calling=None):
        raise NotImplementedError


async def test_the_reply_of_a_foreign_provider_becomes_deltas():
    request = ModelRequest(messages=[Message("user", "hi")])
    deltas = [delta async for delta in deltas_of(Foreign(), request)]
    assert deltas == [
        TextDelta("text"),
        ModelReply(
            text="text", tool_calls=(ToolCall("1", "add"),), stop_reason="tool_calls"
        ),
    ]


async def test_params_that_a_foreign_provider_cannot_take_are_not_lost_in_silence():
    request = ModelRequest(messages=[Message("user", "hi")], params={"top_p": 1})
    with pytest.raises(
        AgentConfigurationError, match=r"foreign takes no params \(top_p"
    ):
        await anext(deltas_of(Foreign(), request))


def test_a_provider_needs_both_methods():
    with pytest.raises(TypeError, match="abstract"):
        BaseProvider()


def test_a_provider_without_a_name_is_called_as_its_class():
    assert provider_name(Foreign()) == model_label(Foreign()) == "foreign"
    assert model_label(ScriptedProvider([])) == "scripted:script"
