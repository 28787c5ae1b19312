"""Many conversations with one agent, each by its user and its identifier."""

from __future__ import annotations

import uuid

import pytest

from notebook_agents import (
    Agent,
    AgentServer,
    InMemoryStore,
    ScriptedProvider,
    ServerConfig,
    SQLiteStore,
    block_keywords,
    call,
    create_conversation_id,
)
from notebook_agents.errors import AgentConfigurationError, AgentProviderError


def agent_of(*script, **options):
    return Agent(ScriptedProvider(script), **options)


def said_to(agent, number):
    request = agent._model.get().requests[number]
    return [message.content for message in request.messages]


async def test_a_conversation_goes_on_under_its_identifier():
    agent = agent_of("One.", "Two.")
    first = await agent.chat("ada", "ticket 7", "first")
    second = await agent.chat("ada", "ticket 7", "second")
    assert (first.turn_number, second.turn_number) == (1, 2)
    assert second.conversation_id == "ticket 7"
    assert second.user_id == "ada"
    assert said_to(agent, 1) == ["first", "One.", "second"]


@pytest.mark.parametrize(
    "other", [("bob", "ticket 7"), ("ada", "ticket 8"), ("ada", "")]
)
async def test_nobody_sees_another_conversation(other):
    agent = agent_of("One.", "Two.")
    await agent.chat("ada", "ticket 7", "first")
    await agent.chat(*other, "second")
    assert said_to(agent, 1) == ["second"]
    assert agent.memory.messages == []


@pytest.mark.parametrize("blank", ["", "  "])
async def test_a_blank_conversation_begins_one_that_goes_on_by_its_new_identifier(
    blank,
):
    agent = agent_of("One.", "Two.")
    first = await agent.chat("ada", blank, "first")
    assert uuid.UUID(first.conversation_id)
    second = await agent.chat("ada", first.conversation_id, "second")
    assert second.turn_number == 2


async def test_facts_come_before_the_question():
    agent = agent_of("Yes.", "Yes.", "Yes.")
    for facts in (["It rains.", " "], "It rains.", None):
        await agent.chat("ada", "", "Umbrella?", facts)
    told = "Context for this message:\n- It rains.\n\nUmbrella?"
    assert [said_to(agent, n) for n in range(3)] == [[told], [told], ["Umbrella?"]]


async def test_a_picture_may_be_asked_about():
    agent = agent_of("A dot.")
    picture = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    await agent.chat("ada", "", ["What is it?", picture], ["It is small."])
    [content] = said_to(agent, 0)
    assert [part["type"] for part in content] == ["text", "text", "image_url"]
    assert "It is small." in content[0]["text"]


async def test_what_a_guard_blocks_is_an_answer():
    """Design, section 17: run raises, chat answers."""
    agent = agent_of("Hello!", input_guards=block_keywords(["password"]))
    result = await agent.chat("ada", "c", "My password?")
    assert result.is_blocked
    assert result.stop_reason == "blocked"
    assert result.conversation_id == "c"
    assert "password" not in str(result.to_dict()["answer"])
    assert not (await agent.chat("ada", "c", "Hello")).is_blocked


async def test_a_failure_is_raised_as_ever():
    with pytest.raises(AgentProviderError, match="down"):
        await agent_of(AgentProviderError("down")).chat("ada", "c", "Hello")


async def test_tools_run_and_options_count():
    def add(a: int, b: int) -> int:
        return a + b

    agent = agent_of(call("add", a=1, b=2), "Three.", tools=[add])
    result = await agent.chat("ada", "c", "1 + 2?", system_prompt="Count.")
    assert result.tool_calls[0]["content"] == "3"
    assert said_to(agent, 0)[0] == "Count."


async def test_a_server_goes_on_with_the_same_conversation(tmp_path):
    store = SQLiteStore(tmp_path / "chats.sqlite")
    name = create_conversation_id()
    agent = agent_of("One.", "Two.", memory=store.session())
    server = AgentServer(agent, ServerConfig(port=0))
    await server.start()
    try:
        import httpx

        url = f"http://127.0.0.1:{server.effective_port}/chat"
        body = {"user_id": "ada", "conversation_id": name, "message": "first"}
        async with httpx.AsyncClient() as client:
            reply = await client.post(url, json=body)
        assert reply.status_code == 200, reply.text
    finally:
        await server.stop()
    assert (await agent.chat("ada", name, "second")).turn_number == 2


@pytest.mark.parametrize(
    ("who", "where", "says"),
    [
        ("", "c", "user_id is blank."),
        (" ", "c", "user_id is blank."),
        (None, "c", "user_id is None; it must be a text."),
        (7, "c", "user_id is 7"),
        ("ada", "x" * 129, "more than 128 characters"),
        ("ada", None, "conversation_id is None; it must be a text."),
        ("ada", 7, "conversation_id is 7"),
    ],
)
async def test_a_name_that_is_none_is_refused_before_anything_is_sent(who, where, says):
    agent = agent_of()
    with pytest.raises(AgentConfigurationError) as caught:
        await agent.chat(who, where, "Hello")
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("content", "facts", "says"),
    [
        (7, ["The sky is green."], "The message must be text, not int."),
        (" ", ["The sky is green."], "The message is empty."),
        ("Which?", 7, "explicit_context is 7; it must be a list of texts."),
        ("Which?", [7], "explicit_context: an entry is 7; it must be a text."),
    ],
)
async def test_what_is_no_message_or_no_fact_is_refused(content, facts, says):
    agent = agent_of("never said")
    with pytest.raises(AgentConfigurationError) as caught:
        await agent.chat("ada", "c", content, facts)
    assert says in str(caught.value)
    assert agent._model.get().requests == []


class OneConversation:
    """A memory of somebody else's, with nothing in it."""

    messages = ()

    def add(self, message):
        pass

    def reset(self):
        pass


async def test_a_memory_of_one_conversation_is_refused_with_what_to_do():
    agent = agent_of("no", memory=OneConversation())
    with pytest.raises(AgentConfigurationError, match=r"memory=InMemoryStore\(\)"):
        await agent.chat("ada", "c", "Hello")


async def test_the_memory_is_named_by_user_and_conversation_alone():
    with pytest.raises(AgentConfigurationError, match="takes no memory="):
        await agent_of("no").chat("ada", "c", "Hello", memory=InMemoryStore().session())
