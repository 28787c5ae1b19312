"""What a session and a store of somebody else's promise."""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict

import pytest

from notebook_agents import (
    Agent,
    InMemoryStore,
    MemoryBackend,
    MemoryScope,
    MemorySession,
    MemoryStore,
    Message,
    ScriptedProvider,
    ToolCall,
    call,
)
from notebook_agents.memory.store import from_record, to_record


class MinimalStore(MemoryStore):
    """As somebody else would write it: the three methods and nothing more."""

    def __init__(self):
        self.records = defaultdict(list)

    def read(self, scope):
        return [dict(record) for record in self.records[scope.key]]

    def append(self, scope, message):
        self.records[scope.key].append(dict(message))

    def clear(self, scope):
        self.records.pop(scope.key, None)


def add(a: int) -> int:
    """Add one."""
    return a + 1


def test_a_session_takes_a_scope_or_its_parts_but_not_both():
    """Acceptance check 15."""
    store = InMemoryStore()
    assert store.session(user_id="ada").user_id == "ada"
    with pytest.raises(TypeError, match="not both"):
        store.session(MemoryScope(), user_id="ada")


def test_a_session_knows_its_scope():
    scope = MemoryScope(user_id="u", tenant_id="t", agent_id="a", source_id="s")
    session = InMemoryStore().session(scope)
    parts = (session.user_id, session.tenant_id, session.agent_id, session.source_id)
    assert parts == ("u", "t", "a", "s")
    assert (session.scope_key, session.conversation_id) == (
        scope.key,
        scope.conversation_id,
    )


@pytest.mark.parametrize("store", [InMemoryStore, MinimalStore])
def test_sessions_of_other_tenants_see_nothing(store):
    """Acceptance check 15."""
    shared, one = store(), MemoryScope().conversation_id
    ours = shared.session(conversation_id=one, tenant_id="a")
    theirs = shared.session(conversation_id=one, tenant_id="b")
    ours.add({"role": "user", "content": "hi"})
    theirs.reset()
    assert (len(ours.messages), theirs.messages) == (1, [])


def test_a_session_is_a_memory_backend():
    assert isinstance(InMemoryStore().session(), MemoryBackend)
    assert isinstance(InMemoryStore().session(), MemorySession)


@pytest.mark.parametrize("store", [InMemoryStore, MinimalStore])
async def test_steps_are_kept_but_only_shown_when_asked_for(store):
    """Acceptance check 5."""
    session = store().session()
    script = [call("add", a=1), "two"]
    await Agent(ScriptedProvider(script), [add], memory=session).run("go")
    assert [m["role"] for m in session.messages] == ["user", "assistant"]
    assert [m["role"] for m in session.all_messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]


@pytest.mark.parametrize("store", [InMemoryStore, MinimalStore])
async def test_a_conversation_can_be_forgotten(store):
    session = store().session()
    await Agent(ScriptedProvider(["hi"]), memory=session).run("go")
    session.reset()
    assert session.all_messages == []


async def test_a_minimal_store_is_all_that_a_run_needs():
    session = MinimalStore().session()
    provider = ScriptedProvider([call("add", a=1), "two", "three"])
    agent = Agent(provider, [add], memory=session)
    await agent.run("go")
    await agent.run("on")
    assert [m.role for m in provider.requests[-1].messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]


async def test_turns_stay_whole_in_a_store_that_only_appends():
    """Acceptance check 17, for stores of other people."""

    class Slow(MinimalStore):
        def append(self, scope, message):
            meanwhile.wait(0.005)
            super().append(scope, message)

    meanwhile = threading.Event()
    session = Slow().session()
    agents = [Agent(ScriptedProvider([name]), memory=session) for name in "ab"]
    await asyncio.gather(
        *(agent.run(name) for agent, name in zip(agents, "ab", strict=True))
    )
    said = [message["content"] for message in session.messages]
    assert said in (["a", "a", "b", "b"], ["b", "b", "a", "a"])


def test_a_record_keeps_the_tag_of_a_step():
    message = Message("assistant", "", (ToolCall("1", "add"),), intermediate=True)
    assert from_record(to_record(message)) == message
    assert to_record(message)["intermediate"] is True
    assert "intermediate" not in to_record(Message("user", "hi"))


def test_a_record_without_a_speaker_is_refused():
    with pytest.raises(ValueError, match="role"):
        InMemoryStore().session().add({"content": "hi"})


def test_a_session_says_what_it_is():
    session = InMemoryStore().session()
    name = session.conversation_id
    assert repr(session) == f"<MemorySession {name!r} in InMemoryStore>"
