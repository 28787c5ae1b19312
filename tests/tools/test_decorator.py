"""`@tool` marks a function and changes nothing else."""

from __future__ import annotations

import functools
import inspect
import subprocess
import sys

import pytest

from notebook_agents.errors import AgentConfigurationError
from notebook_agents.tools import ToolDefinition, to_tool_definition, tool


def test_tool_returns_the_same_function():
    """Requirement A37, acceptance check 8."""

    def add(a: int, b: int = 1) -> int:
        return a + b

    assert tool(add) is add
    assert tool(name="plus")(add) is add
    assert tool()(add) is add
    assert add(1, 2) == 3


def test_the_four_attributes_are_attached():
    """Requirement A37, acceptance check 8."""

    @tool(name="renamed", description="Adds.", context="For sums.")
    def add(a: int) -> int:
        return a

    assert add.__agentapi_tool_name__ == "renamed"
    assert add.__agentapi_tool_description__ == "Adds."
    assert add.__agentapi_tool_context__ == "For sums."
    function = add.__agentapi_tool_schema__["function"]
    assert function["name"] == "renamed"
    assert function["description"] == "Adds.\n\nContext: For sums."


def test_without_words_the_name_is_the_description():
    """Requirement A42."""

    @tool
    def add(a: int) -> int:
        return a

    assert add.__agentapi_tool_description__ == "Tool function add"
    assert add.__agentapi_tool_context__ is None


def test_options_are_kept_on_the_definition():
    def ask(args):
        return True

    @tool(
        approval=ask,
        risk="write",
        timeout=1.5,
        retries=2,
        thread=False,
        sequential=True,
        label="Writing {path}",
    )
    def write(path: str) -> None: ...

    definition = to_tool_definition(write)
    assert definition is write.__notebook_agents_tool__
    assert definition.approval is ask
    assert (definition.risk, definition.timeout, definition.retries) == (
        "write",
        1.5,
        2,
    )
    assert (definition.thread, definition.sequential) == (False, True)
    assert definition.label == "Writing {path}"


def test_defining_a_tool_again_gives_a_new_definition():
    def define(default):
        @tool
        def search(query: str = default): ...

        return search

    first, second = define("a"), define("b")
    assert to_tool_definition(first) is not to_tool_definition(second)
    marked_again = tool(first, name="other")
    assert to_tool_definition(marked_again).name == "other"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"name": "has space"}, "name='has_space'"),
        ({"name": ""}, "1 to 64"),
        ({"name": 3}, "1 to 64"),
        ({"name": "x" * 65}, "1 to 64"),
        ({"approval": "sometimes"}, "approval='sometimes'"),
        ({"risk": "huge"}, "read, write, network, code, money"),
        ({"timeout": 0}, "timeout=0"),
        ({"timeout": float("nan")}, "timeout=nan"),
        ({"timeout": True}, "timeout=True"),
        ({"retries": -1}, "retries=-1"),
        ({"retries": 1.5}, "retries=1.5"),
    ],
)
def test_a_wrong_option_is_named(options, says):
    with pytest.raises(AgentConfigurationError) as caught:
        tool(**options)(lambda: None) if "name" in options else tool(
            name="f", **options
        )(lambda: None)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_name_without_its_keyword_is_explained():
    with pytest.raises(AgentConfigurationError, match=r"@tool\(name='search'\)"):
        tool("search")


def test_options_are_keyword_only():
    kinds = {p.kind for p in list(inspect.signature(tool).parameters.values())[1:]}
    assert kinds == {inspect.Parameter.KEYWORD_ONLY}


class Box:
    """Holds a number."""

    size = 3

    def grow(self, by: int) -> int:
        """Grow the box."""
        return self.size + by


class Sealed:
    """Takes no attributes."""

    __slots__ = ()

    def __call__(self, by: int) -> int:
        """Return it."""
        return by


@pytest.mark.parametrize("thing", [Box().grow, Sealed()], ids=["method", "slots"])
def test_an_object_without_attributes_comes_back_as_a_definition(thing):
    made = tool(thing, name="grow", approval=True)
    assert isinstance(made, ToolDefinition)
    assert to_tool_definition(made) is made
    assert (made.name, made.approval) == ("grow", True)
    assert made(2) == thing(2)
    again = tool(made, name="other", thread=False)
    assert (again.name, again.approval, again.thread) == ("other", True, False)


def test_a_built_in_becomes_a_definition():
    made = tool(len, name="count")
    assert made("abc") == 3
    assert made.bind('{"obj": [1]}').args == ([1],)


def test_a_partial_takes_the_mark():
    def add(a: int, b: int) -> int:
        return a + b

    part = functools.partial(add, b=1)
    assert tool(part, name="next") is part
    assert to_tool_definition(part).name == "next"


def test_a_lambda_needs_a_name():
    with pytest.raises(AgentConfigurationError, match="name='a_name'"):
        tool(lambda a: a)
    assert tool(lambda a: a, name="same").__agentapi_tool_name__ == "same"


def test_importing_tools_loads_neither_pydantic_nor_a_docstring_parser():
    code = (
        "import sys, notebook_agents.tools;"
        "print([m for m in ('pydantic', 'pydantic_core', 'docstring_parser')"
        " if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
