"""An agent with many conversations, each within a budget (requirements, L36)."""

from __future__ import annotations

import asyncio

import pytest

from notebook_agents import (
    Agent,
    ConversationService,
    InMemoryStore,
    Orchestrator,
    ScriptedProvider,
    SQLiteStore,
    call,
)
from notebook_agents.errors import AgentConfigurationError, AgentProviderError
from notebook_agents.testing import EchoProvider, FunctionProvider


def told(model, number):
    return [message.content for message in model.requests[number].messages]


async def test_each_conversation_has_its_own_buffer():
    model = ScriptedProvider(["Hi Ada!", "Hi Bob!", "You are Ada."])
    service = ConversationService(Agent(model))
    await service.run("1", "I am Ada.")
    await service.run("2", "I am Bob.")
    result = await service.run("1", "Who am I?")
    assert told(model, 2) == ["I am Ada.", "Hi Ada!", "Who am I?"]
    assert result.turn_number == 2
    assert len(await service.history("1")) == 4
    assert len(await service.history("2")) == 2
    assert service.agent.memory.messages == []


async def test_two_users_never_share_a_conversation():
    model = ScriptedProvider(["One.", "Two.", "Three."])
    service = ConversationService(Agent(model))
    for user in ("ada", "bob", None):
        await service.run("1", "Hello", user_id=user)
    assert [told(model, n) for n in range(3)] == [["Hello"]] * 3


async def test_a_buffer_holds_8000_tokens_and_the_store_holds_everything():
    service = ConversationService(Agent(EchoProvider()))
    for _ in range(6):
        result = await service.run("1", "x" * 8000)
    buffer = await service.history("1")
    assert buffer.max_tokens == 8000
    assert buffer.tokens <= 8000
    session = service._session("1", None)
    assert result.conversation_id == session.conversation_id
    assert len(session.messages) == 12


async def test_tool_rounds_are_seen_again():
    def add(a: int, b: int) -> int:
        return a + b

    model = ScriptedProvider([call("add", a=1, b=2), "Three.", "Yes."])
    service = ConversationService(Agent(model, [add]))
    await service.run("1", "1 + 2?")
    await service.run("1", "Sure?")
    assert told(model, 2) == ["1 + 2?", "", "3", "Three.", "Sure?"]


async def test_a_conversation_goes_on_after_a_restart(tmp_path):
    path = tmp_path / "talks.sqlite"
    for number in range(2):
        model = ScriptedProvider([f"answer {number}"])
        agent = Agent(model, memory=SQLiteStore(path).session())
        await ConversationService(agent).run("1", f"question {number}")
    assert told(model, 0) == ["question 0", "answer 0", "question 1"]


async def test_a_buffer_that_was_let_go_is_filled_again():
    model = ScriptedProvider(["One.", "Two.", "Three."])
    service = ConversationService(Agent(model), max_conversations=1)
    await service.run("1", "first")
    await service.run("2", "else")
    await service.run("1", "second")
    assert told(model, 2) == ["first", "One.", "second"]
    assert len(service._buffers) == 1


async def test_a_buffer_stays_while_its_turn_goes_on():
    seen, begun, goes_on = [], asyncio.Event(), asyncio.Event()

    async def answer(request):
        question = request.messages[-1].content
        seen.append([message.content for message in request.messages])
        if question == "slow":
            begun.set()
            await goes_on.wait()
        return f"re: {question}"

    service = ConversationService(Agent(FunctionProvider(answer)), max_conversations=1)
    slow = asyncio.create_task(service.run("1", "slow"))
    await begun.wait()
    await service.run("2", "else")
    await service.run("1", "quick")
    goes_on.set()
    await slow
    await service.run("1", "last")
    assert seen[-1] == ["quick", "re: quick", "slow", "re: slow", "last"]


async def test_turns_at_once_are_each_kept_once():
    service = ConversationService(Agent(FunctionProvider(lambda _: "yes")))
    async with asyncio.TaskGroup() as group:
        for number in range(20):
            group.create_task(service.run("1", f"question {number}"))
    buffer = await service.history("1")
    assert len(buffer) == 40
    assert {m["content"] for m in buffer if m["role"] == "user"} == {
        f"question {number}" for number in range(20)
    }


async def test_a_turn_that_fails_is_not_in_the_buffer():
    model = ScriptedProvider([AgentProviderError("down"), "Here."])
    service = ConversationService(Agent(model))
    with pytest.raises(AgentProviderError):
        await service.run("1", "first")
    await service.run("1", "second")
    assert told(model, 1) == ["second"]


async def test_a_forgotten_conversation_begins_anew():
    model = ScriptedProvider(["One.", "Two."])
    service = ConversationService(Agent(model))
    await service.run("1", "first")
    buffer = await service.history("1")
    await service.forget("1")
    assert len(buffer) == 0
    await service.run("1", "second")
    assert told(model, 1) == ["second"]


async def test_an_orchestrator_can_be_served():
    poet = Agent(ScriptedProvider(["Roses."]), name="poet")
    model = ScriptedProvider([call("delegate", agent_name="poet", task="x"), "Done."])
    service = ConversationService(Orchestrator(model, {"poet": poet}))
    assert (await service.run("1", "A poem")).answer == "Done."


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"history_max_tokens": 0}, "history_max_tokens is 0"),
        ({"max_conversations": 0}, "max_conversations is 0"),
    ],
)
def test_a_limit_of_nothing_is_refused(options, says):
    with pytest.raises(AgentConfigurationError, match=says):
        ConversationService(Agent(ScriptedProvider([])), **options)


async def test_a_message_may_be_parts_which_stay_in_the_conversation():
    model = ScriptedProvider(["A cat.", "Yes."])
    service = ConversationService(Agent(model))
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    await service.run("1", ["What is this?", image])
    await service.run("1", "Sure?")
    assert told(model, 1)[0][1] == image


@pytest.mark.parametrize("name", ["", " ", None, "x" * 129])
async def test_a_conversation_needs_a_name(name):
    service = ConversationService(Agent(ScriptedProvider([])))
    with pytest.raises(AgentConfigurationError, match="conversation_id"):
        await service.run(name, "Hello")


def test_a_memory_of_one_conversation_is_refused():
    class Foreign:
        messages = ()

        def add(self, message):
            pass

        def reset(self):
            pass

    agent = Agent(ScriptedProvider([]), memory=Foreign())
    with pytest.raises(AgentConfigurationError, match=InMemoryStore.__name__):
        ConversationService(agent)
