"""What a service wants back with its calls goes back in that conversation alone.

Many services begin the identifiers of calls anew with each reply: here all of them
are named ``call_0``.
"""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from notebook_agents import Agent, BaseProvider
from notebook_agents.events import ThoughtEvent
from notebook_agents.messages import Message
from notebook_agents.providers import ModelReply, ModelRequest, OpenAICompatibleProvider
from tests.providers import anthropic_wire, gemini_wire, responses_wire, wire
from tests.providers.services import KEY, WIRES, provider_for
from tests.providers.wire import DONE, delta, event, streamed

CALL_ID = "call_0"
THREADS = 4


def provider_at(server, name: str):
    if name == "chat":  # whose thoughts go back for some models only
        return OpenAICompatibleProvider(server.url, "kimi-k2-thinking", KEY)
    return provider_for(name, server.url)


def chat_call(thought: str):
    call = {"index": 0, "id": CALL_ID, "function": {"name": "look", "arguments": "{}"}}
    return streamed(
        event(delta(reasoning_content=thought)),
        event(delta("tool_calls", tool_calls=[call])),
        DONE,
    )


def anthropic_call(thought: str):
    return anthropic_wire.stream(
        anthropic_wire.thought(0, thought),
        anthropic_wire.use(1, CALL_ID, "look", "{}"),
        stop="tool_use",
    )


def gemini_call(thought: str):
    call = gemini_wire.call("look", {}, call_id=CALL_ID, signature=thought)
    return gemini_wire.stream(gemini_wire.thought(thought), call)


def responses_call(thought: str):
    return responses_wire.reply_of(
        responses_wire.reasoning(thought),
        responses_wire.function_call("look", "{}", CALL_ID),
    )


CALLS = {
    "anthropic": anthropic_call,
    "chat": chat_call,
    "gemini": gemini_call,
    "responses": responses_call,
}
ANSWERS = {
    "anthropic": anthropic_wire.answer,
    "chat": wire.answer,
    "gemini": gemini_wire.answer,
    "responses": responses_wire.answer,
}


def thoughts_in(body: dict) -> list[str]:
    """Give the thoughts that go back with a request, in their order."""
    if "input" in body:
        items = [each for each in body["input"] if each.get("type") == "reasoning"]
        return [each["summary"][0]["text"] for each in items]
    if "contents" in body:
        parts = [part for each in body["contents"] for part in each["parts"]]
        signatures = [part.get("thoughtSignature") for part in parts]
        return [each for each in signatures if each and not each.startswith("skip_")]
    said = [each for each in body["messages"] if each["role"] == "assistant"]
    if all(isinstance(each["content"], list) for each in said):
        blocks = [block for each in said for block in each["content"]]
        return [block["thinking"] for block in blocks if block["type"] == "thinking"]
    return [each["reasoning_content"] for each in said if "reasoning_content" in each]


@pytest.mark.parametrize("name", WIRES)
async def test_two_conversations_that_ask_the_same_keep_their_own_thoughts(
    server, name
):
    provider = provider_at(server, name)
    server.say(CALLS[name]("ada's"), CALLS[name]("bob's"))
    server.say(ANSWERS[name]("to bob"), ANSWERS[name]("to ada"))
    seen = []

    async def look() -> str:
        """Look around."""
        if not seen:
            seen.append("while ada waits, bob asks")
            other = Agent(provider, [look], system_prompt="Be brief.")
            await other.chat("bob", "c", "go")
        return "seen"

    agent = Agent(provider, [look], system_prompt="Be brief.")
    assert str(await agent.chat("ada", "c", "go")) == "to ada"
    sent = [thoughts_in(each.body) for each in server.requests]
    assert sent == [[], [], ["bob's"], ["ada's"]]


@pytest.mark.parametrize("name", WIRES)
async def test_each_step_of_a_turn_keeps_its_own_thought(server, name):
    """Though the loop has to give the second call another identifier."""
    server.say(CALLS[name]("one"), CALLS[name]("two"), ANSWERS[name]("done"))
    await Agent(provider_at(server, name), [look]).run("go")
    sent = [thoughts_in(each.body) for each in server.requests]
    assert sent == [[], ["one"], ["one", "two"]]


@pytest.mark.parametrize("name", WIRES)
async def test_a_later_turn_is_sent_no_thought_of_an_earlier_one(server, name):
    server.say(CALLS[name]("one"), ANSWERS[name]("done"))
    server.say(CALLS[name]("two"), ANSWERS[name]("done"))
    agent = Agent(provider_at(server, name), [look])
    await agent.run("go")
    await agent.run("on")
    sent = [thoughts_in(each.body) for each in server.requests]
    assert sent == [[], ["one"], [], ["two"]]


@pytest.mark.parametrize("name", WIRES)
def test_threads_that_share_a_provider_keep_their_own_thoughts(server, name):
    provider = provider_at(server, name)
    server.say(*(CALLS[name](f"thought {n}") for n in range(THREADS)))
    server.say(*(ANSWERS[name]("done") for _ in range(THREADS)))
    everybody = threading.Barrier(THREADS, timeout=30)

    def look() -> str:
        """Look around, once all have had their first reply."""
        everybody.wait()
        return "seen"

    def thought_of(question: str) -> str:
        result = Agent(provider, [look]).run_sync(question)
        [said] = [each for each in result.events if isinstance(each, ThoughtEvent)]
        return said.content

    questions = [f"question {n}" for n in range(THREADS)]
    with ThreadPoolExecutor(THREADS) as pool:
        thoughts = list(pool.map(thought_of, questions))
    assert len({*thoughts}) == THREADS
    for question, thought in zip(questions, thoughts, strict=True):
        bodies = [each.body for each in server.requests[THREADS:]]
        [body] = [each for each in bodies if question in json.dumps(each)]
        assert thoughts_in(body) == [thought]


@pytest.mark.parametrize("name", WIRES)
async def test_another_provider_is_told_no_thoughts(server, name):
    server.say(CALLS[name]("mine"), ANSWERS[name]("ok"), ANSWERS[name]("ok"))
    mine, other = provider_at(server, name), provider_at(server, name)
    first = ModelRequest(messages=[Message("user", "go")])
    reply = await last_of(mine, first)
    called = Message("assistant", "", reply.tool_calls)
    [call] = reply.tool_calls
    messages = [*first.messages, called, Message("tool", "3", tool_call_id=call.id)]
    again = ModelRequest(messages=messages, replays={call.id: reply.replay})
    await last_of(other, again)
    await last_of(mine, again)
    sent = [thoughts_in(each.body) for each in server.requests]
    assert sent == [[], [], ["mine"]]


@pytest.mark.parametrize("name", WIRES)
async def test_a_loop_of_your_own_takes_thoughts_back_with_the_raw_message(
    server, name
):
    server.say(CALLS[name]("mine"), ANSWERS[name]("ok"), ANSWERS[name]("ok"))
    provider = provider_at(server, name)
    question = {"role": "user", "content": "go"}
    said = (await provider.chat([question])).raw_message
    result = {"role": "tool", "content": "3", "tool_call_id": CALL_ID}
    await provider.chat([question, said, result])
    plain = json.loads(json.dumps(said))
    assert plain == said
    await provider.chat([question, plain, result])
    sent = [thoughts_in(each.body) for each in server.requests]
    assert sent == [[], ["mine"], []]


class Passing(BaseProvider):
    """One of a user's own, which passes everything on."""

    name = "passing"

    def __init__(self, inner) -> None:
        self._inner = inner

    async def chat(self, messages, *, tools=None, tool_calling=None):
        return await self._inner.chat(messages, tools=tools, tool_calling=tool_calling)

    def stream(self, messages, *, tools=None, tool_calling=None):
        return self._inner.stream(messages, tools=tools, tool_calling=tool_calling)


@pytest.mark.parametrize("name", WIRES)
async def test_a_provider_that_passes_requests_on_passes_on_the_thoughts(server, name):
    server.say(CALLS[name]("one"), CALLS[name]("two"), ANSWERS[name]("done"))
    await Agent(Passing(provider_at(server, name)), [look]).run("go")
    sent = [thoughts_in(each.body) for each in server.requests]
    assert sent == [[], ["one"], ["one", "two"]]


async def last_of(provider, request: ModelRequest) -> ModelReply:
    return [delta async for delta in provider.respond(request)][-1]


def look() -> str:
    """Look around."""
    return "seen"
