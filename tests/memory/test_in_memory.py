"""The store in this process loses nothing and gives nothing away."""

from __future__ import annotations

import threading

from notebook_agents import Agent, InMemoryStore, MemoryScope, ScriptedProvider


def test_eight_threads_lose_nothing():
    """Acceptance check 17."""
    session = InMemoryStore().session()

    def write(number):
        for count in range(500):
            session.add({"role": "user", "content": f"{number} {count}"})

    threads = [threading.Thread(target=write, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    stored = [message["content"] for message in session.messages]
    assert len(set(stored)) == len(stored) == 4000
    for number in range(8):
        own = [text for text in stored if text.startswith(f"{number} ")]
        assert own == [f"{number} {count}" for count in range(500)]


def test_changing_what_was_handed_out_changes_nothing():
    """Acceptance check 17."""
    store, scope = InMemoryStore(), MemoryScope()
    message = {"role": "user", "content": "hi"}
    store.append(scope, message)
    message["content"] = "other"
    store.read(scope)[0]["content"] = "other"
    store.read(scope).clear()
    session = store.session(scope)
    session.messages[0]["content"] = "other"
    assert session.messages == [{"role": "user", "content": "hi"}]


def test_an_unknown_conversation_is_empty_and_leaves_no_trace():
    store = InMemoryStore()
    assert store.read(MemoryScope()) == []
    store.clear(MemoryScope())
    assert store._conversations == {}


def test_agents_of_one_store_share_a_conversation_by_its_scope():
    store, scope = InMemoryStore(), MemoryScope(user_id="ada")
    Agent(ScriptedProvider(["a"]), memory=store.session(scope)).run_sync("1")
    assert len(store.session(scope).messages) == 2


def test_agents_without_a_memory_share_nothing():
    one, two = Agent(ScriptedProvider(["a"])), Agent(ScriptedProvider(["b"]))
    one.run_sync("1")
    assert two.memory.messages == []
