"""A turn that is run again takes the place of its earlier self."""

from __future__ import annotations

import pytest

from notebook_agents import Agent, InMemoryStore, ScriptedProvider, call
from notebook_agents.errors import AgentProviderError
from notebook_agents.memory import SQLiteStore


@pytest.fixture(params=[InMemoryStore, SQLiteStore])
def session(request, tmp_path):
    kind = request.param
    store = kind() if kind is InMemoryStore else kind(tmp_path / "c.sqlite")
    with store:
        yield store.session()


class Notebook:
    """Cells that are run in any order; each asks for its own name."""

    def __init__(self, session, script, **options):
        self.session = session
        self.provider = ScriptedProvider(script)
        self.agent = Agent(self.provider, **options)

    def run(self, *cells):
        for cell in cells:
            self.result = self.agent.run_sync(cell, memory=self.session.turn(cell))

    @property
    def seen(self):
        """What the model saw last, before and with the question."""
        return [message.content for message in self.provider.requests[-1].messages]

    @property
    def kept(self):
        return [message["content"] for message in self.session.messages]


def test_running_all_cells_twice_doubles_nothing(session):
    notebook = Notebook(session, ["A1", "B1", "A2", "B2"])
    notebook.run("a", "b")
    notebook.run("a", "b")
    assert notebook.kept == ["a", "A2", "b", "B2"]


def test_a_cell_in_the_middle_is_replaced_where_it_stands(session):
    notebook = Notebook(session, ["A1", "B1", "C1", "B2"])
    notebook.run("a", "b", "c", "b")
    assert notebook.kept == ["a", "A1", "b", "B2", "c", "C1"]


def test_a_cell_sees_only_what_came_before_it(session):
    notebook = Notebook(session, ["A1", "B1", "C1", "B2"])
    notebook.run("a", "b", "c", "b")
    assert notebook.seen == ["a", "A1", "b"]
    assert notebook.result.turn_number == 2


def test_a_new_cell_sees_everything_and_comes_last(session):
    notebook = Notebook(session, ["A1", "B1", "A2", "C1"])
    notebook.run("a", "b", "a", "c")
    assert notebook.seen == ["a", "A2", "b", "B1", "c"]


def test_the_steps_of_a_turn_go_with_it(session):
    def add(a: int) -> int:
        """Add one."""
        return a + 1

    notebook = Notebook(session, [call("add", a=1), "two", "B1", "A2"], tools=[add])
    notebook.run("a", "b", "a")
    roles = [message["role"] for message in session.all_messages]
    assert roles == ["user", "assistant", "user", "assistant"]


def test_a_run_that_fails_at_once_leaves_the_earlier_turn(session):
    notebook = Notebook(session, ["A1", "B1", AgentProviderError("no service")])
    notebook.run("a", "b")
    with pytest.raises(AgentProviderError):
        notebook.run("a")
    assert notebook.kept == ["a", "A1", "b", "B1"]


def test_runs_without_a_key_are_turns_of_their_own(session):
    agent = Agent(ScriptedProvider(["1", "2"]), memory=session)
    agent.run_sync("x")
    agent.run_sync("x")
    keys = [record["turn"] for record in session.store.read(session.scope)]
    assert keys[0] == keys[1] != keys[2] == keys[3]


def test_a_cleared_conversation_begins_anew(session):
    notebook = Notebook(session, ["A1", "B1", "A2"])
    notebook.run("a", "b")
    session.reset()
    notebook.run("a")
    assert notebook.kept == ["a", "A2"]


def test_a_session_replaces_a_turn_from_sync_code(session):
    for text in ("one", "two"):
        session.replace_turn("k", [{"role": "user", "content": text}])
    session.add({"role": "user", "content": "after"})
    session.replace_turn("k", [])
    assert [message["content"] for message in session.messages] == ["after"]


@pytest.mark.parametrize("blank", ["", "  "])
def test_a_turn_needs_a_key(session, blank):
    with pytest.raises(ValueError, match="blank"):
        session.turn(blank)
    with pytest.raises(ValueError, match="blank"):
        session.replace_turn(blank, [])
