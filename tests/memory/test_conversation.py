"""What goes before a question."""

from __future__ import annotations

from notebook_agents import InMemoryStore, Message
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

    def __init__(self):
        self.messages = [QUESTION]

    def add(self, message):
        self.messages.append(message)

    def reset(self):
        self.messages.clear()


async def test_a_memory_of_somebody_elses_gets_the_question_and_the_answer():
    memory = Foreign()
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
