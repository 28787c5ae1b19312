"""A conversation with a name is found again, in this kernel and in the next."""

from __future__ import annotations

import subprocess
import sys

import pytest

from notebook_agents import Agent, InMemoryStore, MemoryStore, ScriptedProvider
from notebook_agents.home import home_folder
from notebook_agents.memory import SQLiteStore, list_sessions, open_session
from notebook_agents.memory.named import session_scope

HI = {"role": "user", "content": "hi"}


def names(**options):
    return [info["title"] for info in list_sessions(**options)]


def test_a_session_survives_the_end_of_the_kernel():
    code = (
        "from notebook_agents import Agent, ScriptedProvider\n"
        "from notebook_agents.memory import open_session\n"
        "agent = Agent(ScriptedProvider(['Noted.']), memory=open_session('thesis'))\n"
        "agent.run_sync('I like blue')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30)
    provider = ScriptedProvider(["Blue."])
    Agent(provider, memory=open_session("thesis")).run_sync("What do I like?")
    seen = [message.content for message in provider.requests[0].messages]
    assert seen == ["I like blue", "Noted.", "What do I like?"]


def test_the_scope_of_a_name_is_golden():
    """Stores on disk depend on it: it must never change."""
    scope = session_scope("thesis")
    assert scope.conversation_id == "4b34f1fb-5cab-5981-8b8a-f2e737951a2a"
    assert scope.source_id == "notebook-session"


def test_spaces_and_spellings_of_a_letter_do_not_matter_but_case_does():
    assert session_scope(" e\u0301tude") == session_scope("\u00e9tude")
    assert session_scope("a") != session_scope("A")


@pytest.mark.parametrize("blank", ["", " \n"])
def test_a_name_must_not_be_blank(blank):
    with pytest.raises(ValueError, match="blank"):
        open_session(blank)


def test_sessions_are_listed_by_name_the_last_written_first(monkeypatch):
    times = iter(range(1_000, 9_000))
    monkeypatch.setattr(
        "notebook_agents.memory.sqlite_rows.now_ms", lambda: next(times)
    )
    for name in ("a", "b", "a"):
        open_session(name).add(HI)
    assert names() == ["a", "b"]
    assert names(limit=1, offset=1) == ["b"]
    assert list_sessions()[0]["message_count"] == 2


def test_only_conversations_with_a_name_are_listed():
    session = open_session("a")
    session.add(HI)
    session.store.session(user_id="ada").add(HI)
    assert names() == ["a"]


def test_a_session_is_listed_once_something_is_kept_in_it():
    session = open_session("a")
    assert (names(), session.messages) == ([], [])
    session.turn("cell-1").replace_turn("cell-1", [HI])
    assert names() == ["a"]


def test_looking_for_sessions_writes_nothing():
    assert list_sessions() == []
    assert not home_folder().exists()


def test_a_session_that_another_kernel_has_cleared_gets_its_name_again():
    here, there = open_session("a"), open_session("a")
    here.add(HI)
    there.reset()
    assert names() == []
    there.store.append(there.scope, HI)
    assert names() == [None]
    here.add(HI)
    assert names() == ["a"]


def test_a_title_that_somebody_gave_stays():
    session = open_session("a")
    session.store.set_title(session.scope, "my thesis")
    session.add(HI)
    assert names() == ["my thesis"]


def test_sessions_may_live_in_any_store():
    store = InMemoryStore()
    open_session("a", store=store).add(HI)
    assert names(store=store) == ["a"]
    assert list_sessions() == []


def test_a_store_without_titles_will_do():
    class ThreeMethods(MemoryStore):
        def __init__(self):
            self.records = []

        def read(self, scope):
            return list(self.records)

        def append(self, scope, message):
            self.records.append(message)

        def clear(self, scope):
            self.records.clear()

    session = open_session("a", store=ThreeMethods())
    Agent(ScriptedProvider(["Hi!"]), memory=session).run_sync("hi")
    assert len(session.messages) == 2


def test_the_default_store_follows_the_environment(monkeypatch, tmp_path):
    first = open_session("a").store
    assert open_session("b").store is first
    assert isinstance(first, SQLiteStore)
    monkeypatch.setenv("NOTEBOOK_AGENTS_HOME", str(tmp_path / "other"))
    assert open_session("a").store.path.parent == tmp_path / "other"


def test_the_default_store_is_made_again_when_its_folder_is_gone():
    import shutil

    open_session("a").add(HI)
    shutil.rmtree(home_folder())
    open_session("a").add(HI)
    assert len(open_session("a").messages) == 1
