"""What goes before a question."""

from __future__ import annotations

import asyncio
import threading

import pytest

from notebook_agents import Agent, InMemoryStore, Message, ScriptedProvider, call
from notebook_agents.errors import AgentConfigurationError, RunCancelledError
from notebook_agents.memory import SQLiteStore
from notebook_agents.memory.conversation import Conversation


def a_session(*records):
    session = InMemoryStore().session()
    for record in records:
        session.add(record)
    return session


QUESTION = {"role": "user", "content": "1"}
ANSWER = {"role": "assistant", "content": "one"}


async def contents(conversation):
    return [message.content for message in await conversation.load()]


async def test_the_system_prompt_is_first_and_the_only_one():
    session = a_session({"role": "system", "content": "old"}, QUESTION)
    loaded = await Conversation(session, system_prompt="new").load()
    assert loaded == [Message("system", "new"), Message("user", "1")]


async def test_prior_messages_replace_what_is_stored():
    prior = [Message("assistant", "one")]
    conversation = Conversation(a_session(QUESTION), prior=prior)
    assert await contents(conversation) == ["one"]


async def test_no_prior_messages_are_not_the_same_as_none_given():
    assert await contents(Conversation(a_session(QUESTION), prior=[])) == []


async def test_turns_are_counted_by_their_questions():
    conversation = Conversation(a_session(QUESTION, ANSWER, QUESTION, ANSWER))
    await conversation.load()
    assert conversation.facts()["turn_number"] == 3


class Foreign:
    """A memory of somebody else's."""

    def __init__(self, *messages):
        self.messages = list(messages)

    def add(self, message):
        self.messages.append(message)

    def reset(self):
        self.messages.clear()


async def test_a_memory_of_somebody_elses_gets_the_question_and_the_answer():
    memory = Foreign(QUESTION)
    conversation = Conversation(memory)
    assert await contents(conversation) == ["1"]
    step = Message("assistant", "plan", intermediate=True)
    await conversation.keep([Message("user", "2"), step, Message("assistant", "two")])
    assert [message["content"] for message in memory.messages] == ["1", "2", "two"]


async def test_a_session_gets_the_whole_turn():
    session = a_session(QUESTION, ANSWER)
    await Conversation(session.turn("k")).keep([Message("user", "2")])
    assert len(session.all_messages) == 3
    assert session.store.read(session.scope)[-1]["turn"] == "k"


def look() -> str:
    """Look."""
    return "found"


async def test_a_turn_with_tools_is_two_calls_of_add():
    """Requirement A22."""
    memory = Foreign()
    provider = ScriptedProvider([[call("look"), call("look")], "seen"])
    await Agent(provider, [look], system_prompt="x", memory=memory).run("go")
    assert memory.messages == [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "seen"},
    ]


async def test_what_somebody_elses_memory_holds_is_read_as_it_was_meant():
    memory = Foreign(
        {"role": "human", "content": [{"type": "text", "text": "1"}]},
        {"role": "ai", "content": None, "tool_calls": [{"name": "look", "args": {}}]},
        {"role": "tool", "content": "found"},
    )
    provider = ScriptedProvider(["done"])
    await Agent(provider, [look], memory=memory).run("go")
    sent = [message.content for message in provider.requests[0].messages]
    assert sent == ["1", "", "found", "[no answer]", "go"]


async def test_what_it_holds_and_is_no_message_is_named():
    memory = Foreign("hi")
    with pytest.raises(AgentConfigurationError, match=r"Foreign\.messages\[0\] is str"):
        await Agent(ScriptedProvider([]), memory=memory).run("go")


class Slow(Foreign):
    """A memory that answers once the loop has gone on meanwhile."""

    def __init__(self, slow):
        super().__init__()
        self.slow = slow
        self.asked, self.has_gone_on = threading.Event(), threading.Event()

    def wait(self, method):
        if method == self.slow:
            self.asked.set()
            assert self.has_gone_on.wait(30), "the loop was blocked"

    @property
    def messages(self):
        self.wait("messages")
        return self.kept

    @messages.setter
    def messages(self, messages):
        self.kept = messages

    def add(self, message):
        self.wait("add")
        self.kept.append(message)


@pytest.mark.parametrize("slow", ["messages", "add"])
async def test_a_slow_memory_of_somebody_elses_holds_nobody_else_up(slow):
    memory = Slow(slow)
    run = Agent(ScriptedProvider(["hello"]), memory=memory).start("hi")
    assert await asyncio.to_thread(memory.asked.wait, 30)
    memory.has_gone_on.set()
    result = await run.result()
    assert (str(result), result.errors) == ("hello", [])
    assert [message["content"] for message in memory.kept] == ["hi", "hello"]


async def test_a_run_that_is_stopped_does_not_wait_for_a_slow_memory():
    memory = Slow("messages")
    run = Agent(ScriptedProvider(["hello"]), memory=memory).start("hi")
    assert await asyncio.to_thread(memory.asked.wait, 30)
    run.cancel()
    with pytest.raises(RunCancelledError):
        await run.result()
    memory.has_gone_on.set()


@pytest.mark.parametrize("kind", [InMemoryStore, SQLiteStore])
async def test_a_turn_is_stored_in_one_append(kind, tmp_path, monkeypatch):
    """Design, section 6; watch-out W9."""
    store = kind() if kind is InMemoryStore else kind(tmp_path / "c.sqlite")
    written = []
    save = kind.save

    async def saved(self, scope, messages, **options):
        written.append([message.role for message in messages])
        return await save(self, scope, messages, **options)

    monkeypatch.setattr(kind, "save", saved)
    with store:
        session = store.session()
        provider = ScriptedProvider([call("look"), "seen"])
        await Agent(provider, [look], system_prompt="x", memory=session).run("go")
        assert written == [["user", "assistant", "tool", "assistant"]]
        assert [m["role"] for m in session.messages] == ["user", "assistant"]
        assert [m["role"] for m in session.all_messages] == written[0]
