"""Answers of a shape over a socket: natively, by a hidden tool, and in words."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from notebook_agents import Agent, BaseProvider, ProviderResponse, ToolCall, tool
from notebook_agents.events import ActionEvent, ApprovalRequestedEvent, TokenEvent
from notebook_agents.providers import (
    ChatProfile,
    OpenAICompatibleProvider,
    OpenAIProvider,
)
from notebook_agents.providers.profiles import chat_profile
from tests.providers.wire import (
    DONE,
    STOP,
    answer,
    delta,
    event,
    streamed,
    whole,
)


class City(BaseModel):
    """Where people live."""

    name: str
    people: int = 0


OSLO = '{"name": "Oslo", "people": 709}'
BY_TOOL = ChatProfile(output="tool")
IN_WORDS = ChatProfile(output="prompted")


@tool
def look_up(name: str) -> int:
    """Look a city up."""
    return 709


def agent(server, *tools, output_type=City, profile=None, **options) -> Agent:
    provider = OpenAICompatibleProvider(server.url, "m", profile=profile, max_retries=0)
    return Agent(provider, tools, output_type=output_type, **options)


def called(name: str, *pieces: str) -> Any:
    """Give a stream in which a tool is called, its arguments in pieces."""
    first = {"index": 0, "id": "c1", "function": {"name": name, "arguments": ""}}
    rest = [{"index": 0, "function": {"arguments": piece}} for piece in pieces]
    deltas = [event(delta(tool_calls=[piece])) for piece in (first, *rest)]
    return streamed(*deltas, event(delta("tool_calls")), DONE)


def refusal(message: str) -> Any:
    return whole(400, {"error": {"message": message, "type": "invalid_request_error"}})


# --------------------------------------------------------------------- natively


async def test_a_service_is_asked_for_the_schema(server):
    server.say(answer(OSLO))
    result = await agent(server).run("Where?")
    assert result.output == City(name="Oslo", people=709)
    [asked] = [request.body for request in server.requests]
    assert asked["response_format"] == {
        "type": "json_schema",
        "json_schema": {
            "name": "City",
            "strict": True,
            "schema": {
                "type": "object",
                "description": "Where people live.",
                "properties": {
                    "name": {"type": "string"},
                    "people": {
                        "type": ["integer", "null"],
                        "description": "Default: 0.",
                    },
                },
                "required": ["name", "people"],
                "additionalProperties": False,
            },
        },
    }
    assert "tools" not in asked
    assert asked["messages"] == [{"role": "user", "content": "Where?"}]


async def test_without_a_type_nothing_is_added_to_a_request(server):
    server.say(answer("Oslo"))
    await agent(server, output_type=None).run("Where?")
    assert not server.requests[0].body.keys() & {"response_format", "tools"}


@pytest.mark.parametrize(
    "message",
    [
        "This response_format type is unavailable now",
        "This model does not support response format `json_schema`.",
        "json mode cannot be combined with tool/function calling",
        "Invalid schema for response_format 'City': unsupported keyword",
    ],
)
async def test_a_service_that_refuses_a_schema_is_told_it_in_words(server, message):
    server.say(refusal(message), answer(f"Sure:\n```json\n{OSLO}\n```"), answer(OSLO))
    asked = agent(server, system_prompt="Be brief.")
    assert (await asked.run("Where?")).output.name == "Oslo"
    body = server.requests[1].body
    assert "response_format" not in body
    assert body["messages"][0]["role"] == "system"
    assert body["messages"][0]["content"].startswith("Be brief.\n\nYour answer must be")
    assert '"people"' in body["messages"][0]["content"]
    await asked.run("Again?")  # it is not asked for what it refused
    assert len(server.requests) == 3


async def test_a_service_that_overlooks_the_schema_is_told_it_in_words(server):
    server.say(answer("Oslo, I think."), answer(OSLO))
    assert (await agent(server).run("Where?")).output.name == "Oslo"
    assert '"people"' in server.requests[1].body["messages"][-1]["content"]


async def test_a_refusal_of_a_format_of_the_users_own_is_an_error(server):
    server.say(*[refusal("response_format is not supported")] * 2)
    own = {"response_format": {"type": "json_object"}}
    asked = agent(server, output_type=None, tool_calling=own)
    with pytest.raises(RuntimeError, match="did not accept the request"):
        await asked.run("Where?")


async def test_a_model_that_refuses_in_so_many_words_is_an_error(server):
    server.say(streamed(event(delta(refusal="I will not.")), STOP, DONE))
    with pytest.raises(RuntimeError, match="refused to answer"):
        await agent(server).run("Where?")


# ------------------------------------------------------------------ by a hidden tool


async def test_a_tool_that_carries_the_answer_is_never_seen(server):
    server.say(called("final_answer", *OSLO))
    result = await agent(server, profile=BY_TOOL).run("Where?")
    assert (result.output.name, result.answer) == ("Oslo", OSLO)
    assert result.tool_calls == []
    assert not any(isinstance(event, ActionEvent) for event in result.events)
    assert [m["role"] for m in result.messages] == ["user", "assistant"]
    body = server.requests[0].body
    assert [t["function"]["name"] for t in body["tools"]] == ["final_answer"]
    assert body["tool_choice"] == "required"
    assert "response_format" not in body


async def test_what_a_hidden_tool_is_given_arrives_as_text(server):
    pieces = ('{"name": ', '"Oslo"', ', "people": 709}')
    server.say(called("final_answer", *pieces))
    stream = agent(server, profile=BY_TOOL).stream("Where?")
    assert "".join([text async for text in stream]) == OSLO


async def test_tools_are_called_before_the_hidden_one(server):
    """A service that writes JSON from the first token on could call no tool."""
    server.say(called("look_up", '{"name": "Oslo"}'), called("final_answer", OSLO))
    result = await agent(server, look_up).run("How many?")
    assert result.output.people == 709
    assert [each["tool"] for each in result.tool_calls] == ["look_up"]
    names = [t["function"]["name"] for t in server.requests[1].body["tools"]]
    assert names == ["look_up", "final_answer"]


async def test_an_answer_that_comes_with_calls_is_asked_for_again(server):
    both = streamed(
        event(
            delta(
                tool_calls=[
                    {
                        "index": 0,
                        "id": "c1",
                        "function": {"name": "final_answer", "arguments": "{}"},
                    },
                    {
                        "index": 1,
                        "id": "c2",
                        "function": {"name": "look_up", "arguments": '{"name": "x"}'},
                    },
                ]
            )
        ),
        event(delta("tool_calls")),
        DONE,
    )
    server.say(both, called("final_answer", OSLO))
    result = await agent(server, look_up).run("How many?")
    assert (result.output.people, result.steps) == (709, 2)
    said = server.requests[1].body["messages"][1]
    assert [c["function"]["name"] for c in said["tool_calls"]] == ["look_up"]


async def test_nobody_is_asked_about_the_hidden_tool(server):
    server.say(called("final_answer", OSLO))
    asked = agent(server, profile=BY_TOOL, approval_callback=lambda name, args: False)
    result = await asked.run("Where?")
    assert result.output.name == "Oslo"
    assert not any(isinstance(e, ApprovalRequestedEvent) for e in result.events)


async def test_the_name_of_the_hidden_tool_is_one_that_is_free(server):
    @tool
    def final_answer(text: str) -> str:
        """Say something."""
        return text

    server.say(called("final_answer", '{"text": "x"}'), called("final_answer_", OSLO))
    result = await agent(server, final_answer).run("Where?")
    assert [each["content"] for each in result.tool_calls] == ["x"]
    assert result.output.name == "Oslo"
    told = [e.text for e in result.events if isinstance(e, TokenEvent)]
    assert "".join(told) == OSLO


async def test_an_answer_in_words_will_do_where_a_tool_was_asked_for(server):
    server.say(answer(f"Here: {OSLO}"))
    assert (await agent(server, profile=BY_TOOL).run("Where?")).output.name == "Oslo"


async def test_a_call_that_does_not_fit_is_corrected(server):
    server.say(called("final_answer", "{}"), called("final_answer", OSLO))
    assert (await agent(server, profile=BY_TOOL).run("Where?")).output.name == "Oslo"
    assert [m["role"] for m in server.requests[1].body["messages"]] == [
        "user",
        "assistant",
        "user",
    ]


async def test_a_call_that_was_cut_off_is_an_error(server):
    piece = {"index": 0, "id": "c", "function": {"name": "final_answer"}}
    piece["function"]["arguments"] = '{"name": "Os'
    server.say(streamed(event(delta("length", tool_calls=[piece])), DONE))
    with pytest.raises(RuntimeError, match="cut off at the token limit"):
        await agent(server, profile=BY_TOOL).run("Where?")


async def test_a_service_that_refuses_to_be_forced_is_asked_without(server):
    server.say(
        refusal("tool_choice 'required' is not supported"),
        called("final_answer", OSLO),
    )
    assert (await agent(server, profile=BY_TOOL).run("Where?")).output.name == "Oslo"
    assert server.requests[1].body["tool_choice"] == "auto"


async def test_a_choice_of_the_users_own_is_kept(server):
    server.say(called("look_up", '{"name": "Oslo"}'), called("final_answer", OSLO))
    asked = agent(server, look_up, tool_calling={"tool_choice": "look_up"})
    await asked.run("How many?")
    chosen = [request.body["tool_choice"] for request in server.requests]
    assert chosen[0] == {"type": "function", "function": {"name": "look_up"}}
    assert chosen[1] == "required"


async def test_where_no_tool_may_be_called_it_is_asked_for_in_words(server):
    server.say(answer(OSLO))
    asked = agent(server, look_up, tool_calling={"tool_choice": "none"})
    assert (await asked.run("Where?")).output.name == "Oslo"
    assert (
        "Your answer must be JSON" in server.requests[0].body["messages"][0]["content"]
    )


# ---------------------------------------------------------------------- in words


async def test_a_profile_may_ask_in_words(server):
    server.say(answer(OSLO))
    assert (await agent(server, profile=IN_WORDS).run("Where?")).output.name == "Oslo"
    body = server.requests[0].body
    assert not body.keys() & {"response_format", "tools"}
    assert [m["role"] for m in body["messages"]] == ["system", "user"]


# -------------------------------------------------------------------- by profile


@pytest.mark.parametrize(
    ("provider", "model", "alone", "with_tools"),
    [
        ("openai", "gpt-6-luna", "native", "native"),
        ("openai", "gpt-4o", "native", "native"),
        ("openai", "gpt-4-turbo", "tool", "tool"),
        ("openai", "gpt-3.5-turbo", "tool", "tool"),
        ("ollama", "llama3.2", "native", "tool"),
        ("openai-compatible", "deepseek-chat", "tool", "tool"),
        ("openai-compatible", "my-model", "native", "tool"),
    ],
)
def test_how_a_model_is_asked_is_known(provider, model, alone, with_tools):
    profile = chat_profile(provider, model)
    assert (profile.output, profile.output_with_tools) == (alone, with_tools)


async def test_openai_takes_a_schema_and_tools_together(server):
    server.say(called("look_up", '{"name": "Oslo"}'), answer(OSLO))
    provider = OpenAIProvider("gpt-4o", "a-long-key", base_url=server.url)
    result = await Agent(provider, [look_up], output_type=City).run("How many?")
    assert result.output.people == 709
    body = server.requests[0].body
    assert [t["function"]["name"] for t in body["tools"]] == ["look_up"]
    assert body["response_format"]["json_schema"]["name"] == "City"


# ----------------------------------------------------------- providers made elsewhere


class Foreign(BaseProvider):
    """A provider of somebody else's, who notes what it is asked."""

    def __init__(self, reply: ProviderResponse, mode: str | None = None) -> None:
        self.asked: dict[str, Any] = {}
        self._reply, self._mode = reply, mode

    def output_mode(self, *, has_tools: bool) -> Any:
        return self._mode or super().output_mode(has_tools=has_tools)

    async def chat(self, messages, **rest) -> ProviderResponse:
        self.asked = {"messages": messages, **rest}
        return self._reply

    async def stream(self, messages, **rest) -> AsyncIterator[str]:
        yield ""


async def test_a_provider_that_says_nothing_is_asked_in_words():
    provider = Foreign(ProviderResponse(OSLO))
    assert (await Agent(provider, output_type=City).run("Where?")).output.people == 709
    assert '"people"' in provider.asked["messages"][0]["content"]
    assert (provider.asked["tools"], provider.asked["tool_calling"]) == (None, None)


async def test_a_provider_may_take_the_schema_itself():
    provider = Foreign(ProviderResponse('{"answer": "no"}'), "native")
    kind = Literal["yes", "no"]
    assert (await Agent(provider, output_type=kind).run("Well?")).output == "no"
    told = provider.asked["tool_calling"]["response_format"]
    assert told["json_schema"]["schema"]["properties"]["answer"]["enum"] == [
        "yes",
        "no",
    ]


async def test_a_provider_may_have_it_by_a_tool():
    calls = [ToolCall("c1", "final_answer", json.dumps({"name": "Oslo", "people": 1}))]
    provider = Foreign(ProviderResponse(tool_calls=calls), "tool")
    stream = Agent(provider, output_type=City).stream("Where?")
    assert [text async for text in stream] == ['{"name": "Oslo", "people": 1}']
    assert (await stream.result()).output.people == 1
