"""A cell that defines a tool runs again: the agent has the new one, and no ghost."""

from __future__ import annotations

import sys
import types

import pytest

from notebook_agents import Agent, ScriptedProvider, cached_tool, call, tool
from notebook_agents.tools import to_tool_definition


@pytest.fixture
def notebook(monkeypatch):
    """Give a function that runs cells in one namespace, as a notebook does."""
    module = types.ModuleType("cells")
    monkeypatch.setitem(sys.modules, "cells", module)
    module.__dict__.update(tool=tool, cached_tool=cached_tool, Agent=Agent)

    def run(source):
        exec(compile(source, "<cell>", "exec"), module.__dict__)  # noqa: S102 - a cell
        return module

    return run


SEARCH = '@tool\ndef search(query: str) -> str:\n    "Find."\n    return "old " + query'
NEWER = (
    '@tool\ndef search(query: str, limit: int = 5) -> str:\n    "Find more."\n'
    '    return f"new {query} {limit}"'
)


def agent_of(*tools, script=(), **options):
    return Agent(ScriptedProvider([*script, "."]), tools, **options)


def contents(result):
    return [entry["content"] for entry in result.tool_calls]


def test_adding_a_tool_again_replaces_it(notebook):
    agent = agent_of(notebook(SEARCH).search)
    agent.add_tool(notebook(NEWER).search)
    assert list(agent.tools) == ["search"]
    assert agent.tools["search"].description == "Find more."


def test_a_function_that_goes_by_another_name_now_leaves_no_ghost(notebook):
    agent = agent_of(notebook(SEARCH).search)
    renamed = SEARCH.replace("@tool", "@tool(name='find')")
    agent.add_tool(notebook(renamed).search)
    assert list(agent.tools) == ["find"]


def test_two_names_for_one_function_are_two_tools(notebook):
    search = notebook(SEARCH).search
    agent = agent_of()
    agent.add_tool(search)
    agent.add_tool(to_tool_definition(search, name="find"))
    assert list(agent.tools) == ["search", "find"]


LOOP = """
agent = Agent("local")
for table in ("sales", "costs"):
    @tool(name=f"count_{table}")
    def count(table: str = table) -> str:
        "Count."
        return table
    agent.add_tool(count)
"""
FACTORY = """
def make(table):
    @tool(name=f"count_{table}")
    def count() -> str:
        "Count."
        return table
    return count
agent = Agent("local")
agent.add_tool(make("sales"))
agent.add_tool(make("costs"))
"""
LAMBDAS = """
agent = Agent("local")
agent.add_tool(tool(lambda: 1, name="count_sales"))
agent.add_tool(tool(lambda: 2, name="count_costs"))
"""
THROWAWAY = """
agent = Agent("local")
@tool(name="count_sales")
def _() -> int: return 1
agent.add_tool(_)
@tool(name="count_costs")
def _() -> int: return 2
agent.add_tool(_)
"""
METHODS = """
class Table:
    def __init__(self, name): self.name = name
    def count(self) -> str: return self.name
agent = Agent("local")
for name in ("sales", "costs"):
    agent.add_tool(tool(Table(name).count, name=f"count_{name}"))
"""


@pytest.mark.parametrize(
    "source", [LOOP, FACTORY, LAMBDAS, THROWAWAY, METHODS], ids=str.split
)
def test_what_a_loop_or_a_factory_makes_are_all_tools(notebook, source):
    assert list(notebook(source).agent.tools) == ["count_sales", "count_costs"]


async def test_an_agent_made_before_has_the_new_version_in_its_next_run(notebook):
    script = [call("search", query="tea"), ".", call("search", query="tea", limit=2)]
    agent = agent_of(notebook(SEARCH).search, script=script)
    assert contents(await agent.run("go")) == ["old tea"]
    notebook(NEWER)
    result = await agent.run("go")
    assert contents(result) == ["new tea 2"]
    (sent,) = agent._model.get().requests[-1].tools
    assert "limit" in sent["function"]["parameters"]["properties"]


async def test_what_was_allowed_before_is_asked_again_of_a_new_version(notebook):
    asked = []

    def decide(name, args):
        asked.append(name)
        return True

    risky = SEARCH.replace("@tool", "@tool(approval=True)")
    script = [call("search", query="a"), ".", call("search", query="a")]
    agent = agent_of(
        notebook(risky).search,
        script=script,
        approval_callback=decide,
        approval_tools=["search"],
    )
    await agent.run("go")
    notebook(NEWER)  # which says nothing of approval, but the agent does
    assert contents(await agent.run("go")) == ["new a 5"]
    assert asked == ["search", "search"]


async def test_only_a_marked_function_of_the_same_name_takes_its_place(notebook):
    script = [call("search", query="tea"), "."] * 3
    agent = agent_of(notebook(SEARCH).search, script=script)
    old = agent.tools["search"]
    notebook("def search(query: str) -> str:\n    return 'a helper'")
    assert contents(await agent.run("go")) == ["old tea"]
    notebook("@tool(name='other')\ndef search(query: str) -> str:\n    return 'other'")
    assert contents(await agent.run("go")) == ["old tea"]
    notebook("search = 5")
    assert contents(await agent.run("go")) == ["old tea"]
    assert agent.tools["search"] is old


async def test_what_was_added_with_words_of_its_own_keeps_them(notebook):
    script = [call("search", query="tea"), "."]
    guarded = to_tool_definition(notebook(SEARCH).search, approval=True)
    agent = agent_of(guarded, script=script, policy="deny")
    notebook(NEWER)
    assert contents(await agent.run("go"))[0].startswith("Denied")


async def test_a_plain_function_that_is_marked_later_asks_from_then_on(notebook):
    script = [call("search", query="tea"), "."] * 2
    plain = SEARCH.removeprefix("@tool\n")
    agent = agent_of(notebook(plain).search, script=script, policy="deny")
    assert contents(await agent.run("go")) == ["old tea"]
    notebook("@tool(approval=True)\n" + plain)
    assert contents(await agent.run("go"))[0].startswith("Denied")


async def test_a_cached_tool_is_replaced_as_well(notebook):
    script = [call("search", query="tea"), "."] * 2
    cached = SEARCH.replace("@tool", "@cached_tool")
    agent = agent_of(notebook(cached).search, script=script)
    assert contents(await agent.run("go")) == ["old tea"]
    notebook(NEWER.replace("@tool", "@cached_tool"))
    assert contents(await agent.run("go")) == ["new tea 5"]


async def test_a_function_that_was_reloaded_in_place_is_found(notebook):
    """As IPython's autoreload does it: the old object gets the new code."""
    script = [call("search", query="tea"), ".", call("search", query="tea", limit=2)]
    old = notebook(SEARCH).search
    agent = agent_of(old, script=script)
    await agent.run("go")
    new = notebook(NEWER).search
    for name in ("__code__", "__defaults__", "__doc__", "__dict__"):
        setattr(old, name, getattr(new, name))
    notebook("").search = old  # and the module keeps the old one
    assert contents(await agent.run("go")) == ["new tea 2"]


def test_the_tools_of_one_list_are_all_there(notebook):
    first = notebook(SEARCH).search
    second = notebook(SEARCH.replace("@tool", "@tool(name='find')")).search
    assert list(agent_of(first, second).tools) == ["search", "find"]
