"""Results are kept for the conversation they were made in, and not for ever."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pandas as pd
import pytest

from notebook_agents import Agent, ScriptedProvider, call, tool
from notebook_agents.errors import ToolArgumentsError
from notebook_agents.memory.scope import MemoryScope
from notebook_agents.tools import handles as module
from notebook_agents.tools import to_tool_definition
from notebook_agents.tools.handles import MOST_HANDLES, HandleBook, Handles
from notebook_agents.tools.variables import Kind, UnknownVariableError, Variables


class Thing:
    """Something to keep."""


class BarChart:
    """Something with a longer name."""


class Session:
    """A conversation."""

    def __init__(self, scope: MemoryScope) -> None:
        self.scope = scope


THING = Kind("Thing", Thing)


def test_a_handle_is_named_after_its_kind():
    handles = Handles()
    kept = [
        pd.DataFrame(),
        pd.Series(dtype=float),
        np.arange(3),
        BarChart(),
        Thing(),
        Thing(),
    ]
    names = ["df_1", "series_1", "array_1", "bar_chart_1", "thing_1", "thing_2"]
    assert [handles.keep(value) for value in kept] == names
    assert dict(handles.items()) == dict(zip(names, kept, strict=True))


def test_the_same_object_keeps_its_handle():
    handles, thing = Handles(), Thing()
    assert handles.keep(thing) == handles.keep(thing) == "thing_1"


def test_the_least_used_is_dropped_and_that_is_told():
    variables = Variables()
    things = [Thing() for _ in range(MOST_HANDLES)]
    for thing in things:
        variables.keep(thing, tuple)
    assert variables.find("thing_1", THING) is things[0]  # which makes it the latest
    variables.keep(Thing(), tuple)
    assert variables.find("thing_1", THING) is things[0]
    with pytest.raises(UnknownVariableError, match="not kept any more; call the tool"):
        variables.find("thing_2", THING)


def test_what_is_dropped_is_let_go():
    handles = Handles()
    first = Thing()
    alive = weakref.ref(first)
    handles.keep(first)
    del first
    for _ in range(MOST_HANDLES):
        handles.keep(Thing())
    gc.collect()
    assert alive() is None


def test_large_tables_are_fewer(monkeypatch):
    monkeypatch.setattr(module, "MOST_BYTES", 1000)
    handles = Handles()
    for _ in range(5):
        handles.keep(np.zeros(50))  # 400 bytes each
    assert list(dict(handles.items())) == ["array_4", "array_5"]
    handles.keep(pd.DataFrame({"a": np.zeros(1000)}))
    assert list(dict(handles.items())) == ["df_1"]


def test_a_name_of_the_user_is_not_taken():
    variables = Variables({"thing_1": 5})
    assert variables.keep(Thing(), tuple) == "thing_2"


def test_a_name_of_an_earlier_process_is_not_used_again():
    """After a restart, a stored conversation still speaks of the old results."""
    variables = Variables()
    earlier = ["Thing, kept as thing_7.", "thing_12 and nothing_99"]
    assert variables.keep(Thing(), lambda: earlier) == "thing_13"
    with pytest.raises(UnknownVariableError, match="not kept any more"):
        variables.find("thing_7", THING)


async def test_a_restarted_conversation_numbers_on():
    @tool
    def table() -> pd.DataFrame:
        """Make one."""
        return pd.DataFrame({"a": [1]})

    agent = Agent(ScriptedProvider([call("table"), "."]), [table])
    agent.memory.add({"role": "user", "content": "What is in df_3?"})
    agent.memory.add({"role": "assistant", "content": "df_3 has a column."})
    result = await agent.run("go")
    assert 'kept as "df_4"' in result.tool_calls[0]["content"]


def test_two_meanings_of_one_name_are_an_error_and_no_guess():
    namespace: dict[str, object] = {}
    variables = Variables(namespace)
    kept = Thing()
    variables.keep(kept, tuple)
    namespace["thing_1"] = kept
    assert variables.find("thing_1", THING) is kept
    namespace["thing_1"] = Thing()
    with pytest.raises(UnknownVariableError, match="both a variable of the user and"):
        variables.find("thing_1", THING)


def test_errors_list_variables_first_and_then_the_latest_results():
    variables = Variables({"mine": Thing()})
    for _ in range(2):
        variables.keep(Thing(), tuple)
    with pytest.raises(UnknownVariableError, match="mine, thing_2, thing_1"):
        variables.find("x", THING)


def test_conversations_do_not_see_each_other():
    book = HandleBook()
    ada, bob = (Session(MemoryScope(user_id=name)) for name in ("ada", "bob"))
    book.of(ada).keep(Thing())
    assert book.of(bob).items() == []
    assert len(book.of(Session(ada.scope)).items()) == 1
    foreign, other = object(), object()
    book.of(foreign).keep(Thing())
    assert (len(book.of(foreign).items()), book.of(other).items()) == (1, [])
    book.forget(foreign)
    assert book.of(foreign).items() == []


def test_an_agent_with_large_tables_keeps_those_of_fewer_conversations(monkeypatch):
    monkeypatch.setattr(module, "MOST_BYTES", 1000)
    book = HandleBook()
    sessions = [Session(MemoryScope()) for _ in range(4)]
    for session in sessions:
        book.of(session).keep(np.zeros(50))
    kept = [len(book.of(session).items()) for session in reversed(sessions)]
    assert kept == [1, 1, 0, 0]


def test_only_so_many_conversations_are_remembered(monkeypatch):
    monkeypatch.setattr(module, "MOST_CONVERSATIONS", 2)
    book = HandleBook()
    scopes = [Session(MemoryScope()) for _ in range(3)]
    for scope in scopes:
        book.of(scope).keep(Thing())
    assert [len(book.of(scope).items()) for scope in (scopes[2], scopes[1])] == [1, 1]
    assert book.of(scopes[0]).items() == []


def test_threads_get_names_of_their_own():
    handles = Handles()
    names: list[str] = []

    def keep() -> None:
        names.extend([handles.keep(Thing()) for _ in range(200)])

    threads = [threading.Thread(target=keep) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(set(names)) == 800


def test_a_variable_that_is_defined_while_names_are_listed_does_no_harm():
    class Growing(dict):
        def __iter__(self):
            found = list(super().__iter__())
            self["more"] = Thing()
            return iter(found)

    def f(thing: Thing): ...

    with pytest.raises(ToolArgumentsError, match="there are: first"):
        to_tool_definition(f).bind('{"thing": "x"}', Variables(Growing(first=Thing())))
