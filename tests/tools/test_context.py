"""A tool gets the context of its run, and the model knows nothing of it."""

from __future__ import annotations

import asyncio
import functools
import json
import pickle
import threading
from types import ModuleType
from typing import Annotated, Optional

import pytest

from notebook_agents import (
    Agent,
    InMemoryStore,
    MemoryScope,
    RunContext,
    ScriptedProvider,
    call,
    tool,
)
from notebook_agents.errors import ToolArgumentsError
from notebook_agents.sync import Call, Waiter
from notebook_agents.tools import to_tool_definition


class Shop:
    """What the tools of these tests need."""

    def __init__(self, stock):
        self.stock = stock


def agent_with(function, **options):
    work = tool(name="work")(function)
    model = ScriptedProvider([call("work", a=1), "."])
    return Agent(model, [work], name="keeper", **options)


def outcome(result):
    return result.tool_calls[0]["content"]


def value(result):
    return next(e.value for e in result.events if e.event == "observation")


def properties(function):
    schema = to_tool_definition(function).schema["function"]
    return list(schema["parameters"]["properties"])


# ------------------------------------------------------------ where it stands

PRELUDE = """
import functools
from typing import Annotated, Optional, TYPE_CHECKING, Union
import notebook_agents
from notebook_agents import RunContext
class Shop: ...
"""
SHAPES = {
    "first": "def f(context: RunContext, a: int): return context, a",
    "last": "def f(a: int, context: RunContext): return context, a",
    "with a default before": "def f(a: int = 5, context: RunContext = None): "
    "return context, a",
    "keyword only": "def f(a: int, *, context: RunContext): return context, a",
    "positional only": "def f(a: int, context: RunContext, /): return context, a",
    "positional only after a hole": "def f(a: int, b: int = 2, c: RunContext = None, /)"
    ": return c, a",
    "beside star args": "def f(context: RunContext, a: int, *rest: int): "
    "return context, a",
    "beside star kwargs": "def f(a: int, context: RunContext, **rest: int): "
    "return context, a",
    "parametrised": "def f(a: int, context: RunContext[Shop]): return context, a",
    "by a dict": "def f(a: int, context: RunContext[dict[str, int]]): "
    "return context, a",
    "by its module": "def f(a: int, context: notebook_agents.RunContext): "
    "return context, a",
    "optional": "def f(a: int, context: Optional[RunContext] = None): "
    "return context, a",
    "optional by bar": "def f(a: int, context: RunContext | None = None): "
    "return context, a",
    "annotated": "def f(a: int, context: Annotated[RunContext, 'The run.']): "
    "return context, a",
    "as a string": "def f(a: int, context: 'RunContext'): return context, a",
    "of what is known to type checkers only": "def f(a: int, "
    "context: 'RunContext[Unknown]'): return context, a",
    "itself known to type checkers only": "def f(a: int, "
    "context: 'elsewhere.RunContext[Unknown] | None' = None): return context, a",
    "partial": "def g(b: int, a: int, context: RunContext): return context, a\n"
    "f = functools.partial(g, 1)",
    "method": "class Box:\n    def f(self, a: int, context: RunContext): "
    "return context, a\nf = Box().f",
    "object": "class Box:\n    def __call__(self, context: RunContext, a: int): "
    "return context, a\nf = Box()",
    "wrapped": "def g(context: RunContext, a: int): return context, a\n"
    "@functools.wraps(g)\ndef f(*args, **kwargs): return g(*args, **kwargs)",
}


@pytest.mark.parametrize("future", ["", "from __future__ import annotations"])
@pytest.mark.parametrize("source", SHAPES.values(), ids=SHAPES.keys())
async def test_it_is_given_wherever_it_stands_and_hidden_from_the_model(source, future):
    space = ModuleType("contexts").__dict__
    code = f"{future}\n{PRELUDE}\n{source}"
    exec(compile(code, "<context>", "exec", dont_inherit=True), space)  # noqa: S102 - the same source in two styles
    definition = to_tool_definition(space["f"], name="work")
    names = list(definition.schema["function"]["parameters"]["properties"])
    assert "a" in names
    assert not {"context", "c"} & set(names)
    agent = Agent(ScriptedProvider([call("work", a=1), "."]), [definition])
    context, a = value(await agent.run("go"))
    assert (context.agent, a) == ("agent", 1)


def test_a_model_cannot_fill_it():
    def f(a: int, context: RunContext, **more: int): ...

    definition = to_tool_definition(f)
    with pytest.raises(ToolArgumentsError, match='there is no "context"'):
        definition.bind('{"a": 1, "context": 2}')


def test_a_model_cannot_replace_what_a_partial_has_fixed():
    def f(secret: str, **more: str): ...

    definition = to_tool_definition(functools.partial(f, secret="s"))
    with pytest.raises(ToolArgumentsError, match='there is no "secret"'):
        definition.bind('{"secret": "mine"}')


def test_several_of_them_and_nothing_else_are_a_tool_without_arguments():
    def f(one: RunContext, two: Optional[RunContext] = None): ...  # noqa: UP045 - a shape to test

    assert properties(f) == []
    assert to_tool_definition(f).schema["function"]["strict"] is True


def test_star_arguments_of_contexts_are_left_alone():
    def f(a: int, *contexts: RunContext): ...

    assert properties(f) == ["a"]


# ------------------------------------------------------------ what it says


async def test_it_says_whose_run_it_is():
    store = InMemoryStore()
    scope = MemoryScope(user_id="ada")
    seen = []

    def work(a: int, context: RunContext[Shop]) -> int:
        seen.append(context)
        return context.deps.stock["tea"]

    agent = agent_with(work, deps=Shop({"tea": 3}))
    result = await agent.run("go", memory=store.session(scope))
    assert outcome(result) == "3"
    (context,) = seen
    assert (context.run_id, context.agent) == (result.run_id, "keeper")
    assert (context.user_id, context.conversation_id) == ("ada", scope.conversation_id)
    assert context.step == 1


async def test_a_run_may_have_other_deps():
    def work(a: int, context: RunContext) -> object:
        return context.deps

    model = ScriptedProvider([call("work", a=1), "."] * 3)
    agent = Agent(model, [work], deps="mine")
    assert outcome(await agent.run("go")) == "mine"
    assert outcome(await agent.run("go", deps="yours")) == "yours"
    told = outcome(await agent.run("go", deps=None))
    assert told == "Done; the tool returned nothing."


async def test_an_own_memory_need_not_name_anybody():
    def work(a: int, context: RunContext) -> bool:
        return context.user_id == "" and len(context.conversation_id) == 36

    assert value(await agent_with(work).run("go")) is True

    class Plain:
        def __init__(self):
            self.kept = []

        @property
        def messages(self):
            return self.kept

        def add(self, role, content):
            self.kept.append({"role": role, "content": content})

        def reset(self):
            self.kept.clear()

    def other(a: int, context: RunContext) -> str:
        return context.user_id + context.conversation_id

    assert value(await agent_with(other, memory=Plain()).run("go")) == ""


def test_it_reaches_a_tool_in_the_cell_in_a_thread_and_on_a_loop():
    def here(a: int, context: RunContext) -> tuple[object, object]:
        return context.deps, threading.current_thread()

    async def there(a: int, context: RunContext) -> object:
        await asyncio.sleep(0)
        return context.deps

    agent = agent_with(here, deps=7)
    result = Call(agent.run("go"), Waiter(runs_tools=True)).wait()
    assert value(result) == (7, threading.current_thread())
    deps, thread = value(agent_with(here, deps=7).run_sync("go"))
    assert deps == 7
    assert thread is not threading.current_thread()
    assert value(agent_with(there, deps=7).run_sync("go")) == 7


async def test_two_runs_at_once_have_their_own():
    together = asyncio.Barrier(2)

    async def work(a: int, context: RunContext) -> object:
        await together.wait()
        return context.deps

    first, second = agent_with(work), agent_with(work)
    async with asyncio.timeout(5):
        results = await asyncio.gather(
            first.run("go", deps="one"), second.run("go", deps="two")
        )
    assert [value(result) for result in results] == ["one", "two"]


# ------------------------------------------------------------ by hand


def test_a_tool_is_called_by_hand_with_a_context_of_ones_own():
    @tool
    def stock(item: str, context: RunContext[dict[str, int]]) -> int:
        context.report_progress(1, 1, "counted")
        return context.deps[item]

    assert stock("tea", RunContext(deps={"tea": 3})) == 3
    with pytest.raises(TypeError, match="context"):
        stock("tea")


def test_binding_by_hand_gives_a_context_without_a_run():
    def work(a: int, context: Annotated[RunContext, "The run."]) -> str:
        return context.run_id

    bound = to_tool_definition(work).bind('{"a": 1}')
    assert work(*bound.args, **bound.kwargs) == ""
    assert dict(bound.values) == {"a": 1}


def test_its_repr_shows_no_deps_and_nobody_can_change_it():
    context = RunContext(deps="a password", agent="keeper")
    assert "password" not in repr(context)
    with pytest.raises(AttributeError):
        context.deps = "other"


def test_it_survives_pickling():
    again = pickle.loads(pickle.dumps(RunContext(run_id="r", deps=[1])))  # noqa: S301 - our own
    assert (again.run_id, again.deps) == ("r", [1])


async def test_a_question_shows_the_arguments_and_no_context():
    asked = []

    def decide(name, args):
        asked.append((name, args))
        return True

    def work(a: int, context: RunContext) -> object:
        return context.deps

    agent = agent_with(work, deps=7, approval_callback=decide)
    result = await agent.run("go")
    assert (asked, outcome(result)) == ([("work", {"a": 1})], "7")
    assert "deps" not in json.dumps([event.to_dict() for event in result.events])
