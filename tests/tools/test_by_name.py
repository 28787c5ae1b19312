"""What JSON cannot carry is named: live objects go in, results get handles."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, NamedTuple, NewType, Optional, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from pydantic import BaseModel, ConfigDict, Field

from notebook_agents import (
    Agent,
    Allow,
    InMemoryStore,
    MemoryScope,
    ScriptedProvider,
    call,
    tool,
)
from notebook_agents.errors import AgentConfigurationError, ToolArgumentsError
from notebook_agents.tools import to_tool_definition
from notebook_agents.tools.variables import Variables

SALES = pd.DataFrame({"region": ["north", "south"], "revenue": [1.5, 2.5]})
COSTS = pd.DataFrame({"region": ["north"], "cost": [1]})


class Customer:
    """Somebody; pydantic knows nothing of them."""

    def __init__(self, name: str) -> None:
        self.name = name


class Holder(BaseModel):
    """Holds what JSON cannot."""

    model_config = ConfigDict(arbitrary_types_allowed=True)
    frame: pd.DataFrame


class Word(str):
    """A kind of text."""

    __slots__ = ()


class Rows(list):
    """A kind of list."""


class Moment(datetime):
    """A kind of datetime, whose constructor takes parts."""


class Place(type(Path())):
    """A kind of path."""


ADA = Customer("Ada")
HELD = Holder(frame=SALES)
NAMES: dict[str, Any] = {
    "sales": SALES,
    "costs": COSTS,
    "revenue": SALES["revenue"],
    "numbers": np.arange(3),
    "ada": ADA,
    "held": HELD,
    "largest": max,
    "customer_class": Customer,
    "text": "sales",
    "n": 5,
    "_private": SALES,
}
VARIABLES = Variables(NAMES)

Frame = TypeVar("Frame", bound=pd.DataFrame)
Sales = NewType("Sales", pd.DataFrame)


def read(annotation: Any, value: Any, variables: Variables = VARIABLES) -> Any:
    """Read one argument as a function with that annotation gets it."""
    definition = defined(annotation)
    return definition.bind(json.dumps({"a": value}), variables).kwargs["a"]


def defined(annotation: Any):
    def f(a): ...

    f.__annotations__ = {"a": annotation}
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing here is "any value"
        return to_tool_definition(f)


def told(annotation: Any) -> dict[str, Any]:
    schema = defined(annotation).schema["function"]["parameters"]
    return schema["properties"]["a"]


# ------------------------------------------------------------ what may be named


@pytest.mark.parametrize(
    ("annotation", "name", "found"),
    [
        (pd.DataFrame, "sales", SALES),
        (pd.Series, "revenue", NAMES["revenue"]),
        (np.ndarray, "numbers", NAMES["numbers"]),
        (npt.NDArray[np.int64], "numbers", NAMES["numbers"]),
        (Customer, "ada", ADA),
        (Holder, "held", HELD),
        (Callable, "largest", max),
        (Callable[[int], int], "largest", max),
        (type, "customer_class", Customer),
        (type[Customer], "customer_class", Customer),
        (Frame, "sales", SALES),
        (Sales, "sales", SALES),
        (Optional[pd.DataFrame], "sales", SALES),  # noqa: UP045 - as people write it
        (pd.DataFrame | None, "sales", SALES),
        (Annotated[pd.DataFrame, "The sales."], "sales", SALES),
        (Annotated[pd.DataFrame, Field(description="The sales.")], "sales", SALES),
        (Annotated[pd.DataFrame, Field(min_length=1), ["odd"]], "sales", SALES),
        (pd.DataFrame | str, "sales", SALES),
        (str | pd.DataFrame, "sales", SALES),
        (pd.DataFrame, " `sales` ", SALES),
        (pd.DataFrame, "'sales'", SALES),
    ],
)
def test_a_name_becomes_the_live_object(annotation, name, found):
    assert read(annotation, name) is found


@pytest.mark.parametrize(
    ("annotation", "value", "found"),
    [
        (list[pd.DataFrame], ["sales", "costs"], [SALES, COSTS]),
        (dict[str, pd.Series], {"x": "revenue"}, {"x": NAMES["revenue"]}),
        (tuple[pd.DataFrame, int], ["sales", 2], (SALES, 2)),
        (list[Customer] | None, ["ada"], [ADA]),
        (list[pd.DataFrame | None], ["sales", None], [SALES, None]),
    ],
)
def test_names_within_lists_and_dicts_do_too(annotation, value, found):
    got = read(annotation, value)
    assert type(got) is type(found)
    if isinstance(got, dict):
        got, found = got.values(), found.values()
    assert all(a is b for a, b in zip(got, found, strict=True))


def test_star_arguments_may_be_named():
    def f(*frames: pd.DataFrame, **series: pd.Series): ...

    call = to_tool_definition(f).bind(
        '{"frames": ["sales", "costs"], "x": "revenue"}', VARIABLES
    )
    assert call.args[0] is SALES
    assert call.args[1] is COSTS
    assert call.kwargs["x"] is NAMES["revenue"]


def test_what_is_no_name_may_be_the_text_it_looks_like():
    assert read(pd.DataFrame | str, "other.csv") == "other.csv"
    assert read(pd.DataFrame | str, "text") == "text"


@pytest.mark.parametrize(
    ("annotation", "value", "made"),
    [
        (Word, "a", Word("a")),
        (Rows, [1], Rows([1])),
        (Moment, "2025-01-02T03:04:05", Moment(2025, 1, 2, 3, 4, 5)),
        (Place, "a/b", Place("a/b")),
        (pd.Timestamp, "2025-01-02", pd.Timestamp("2025-01-02")),
        (pd.Timedelta, "PT90S", pd.Timedelta(seconds=90)),
        (np.int64, 3, np.int64(3)),
        (np.float64, 1.5, np.float64(1.5)),
        (list[pd.Timestamp], ["2025-01-02"], [pd.Timestamp("2025-01-02")]),
    ],
)
def test_a_kind_of_plain_value_travels_as_that_and_is_made(annotation, value, made):
    got = read(annotation, value)
    assert got == made
    assert type(got) is type(made)


# ------------------------------------------------------------ what the model is told


def test_the_model_is_told_to_write_a_name():
    sentence = "Name of a variable that holds a DataFrame, not the data itself."
    assert told(pd.DataFrame) == {"type": "string", "description": sentence}
    assert told(pd.DataFrame | None)["type"] == ["string", "null"]
    for words in ("The sales.", Field(description="The sales.")):
        described = told(Annotated[pd.DataFrame, words])
        assert described["description"] == f"The sales. {sentence}"
    assert told(list[pd.DataFrame])["items"]["description"] == sentence


def test_the_docstring_comes_before_that():
    def f(frame: pd.DataFrame):
        """Look.

        Args:
            frame: The table to look at
        """

    schema = to_tool_definition(f).schema["function"]
    assert schema["strict"] is True
    assert schema["parameters"]["properties"]["frame"]["description"] == (
        "The table to look at. "
        "Name of a variable that holds a DataFrame, not the data itself."
    )


def test_no_name_of_a_variable_is_in_the_schema():
    assert "sales" not in json.dumps(defined(pd.DataFrame).schema)


# ------------------------------------------------------------ what is not there


@pytest.mark.parametrize(
    ("annotation", "value", "says"),
    [
        (
            pd.DataFrame,
            "salse",
            "there is no DataFrame named 'salse' (did you mean 'sales'?); there are: "
            "sales, costs",
        ),
        (pd.DataFrame, "n", "'n' is an int, not a DataFrame; there are: sales, costs"),
        (pd.DataFrame, [{"a": 1}], "a DataFrame is given by the name of a variable"),
        (pd.DataFrame, "_private", "there is no DataFrame named '_private'"),
        (pd.DataFrame, "", "there is no DataFrame named ''"),
        (pd.DataFrame, "sales.head", "there is no DataFrame named 'sales.head'"),
        (pd.Index, "sales", "'sales' is a DataFrame, not an Index; there is no Index"),
        (pd.DataFrame | None, "x", "there is no DataFrame named 'x'"),
        (list[pd.DataFrame], ["sales", "x"], "'a[1]': there is no DataFrame named"),
        (pd.DataFrame | str, 3, "a DataFrame is given by the name of a variable"),
        (pd.DataFrame, "{text}", "there is no DataFrame named '{text}'"),
        (pd.DataFrame, "x" * 5000, "named 'xxxxx"),
    ],
)
def test_a_wrong_name_lists_the_right_ones(annotation, value, says):
    with pytest.raises(ToolArgumentsError) as caught:
        read(annotation, value)
    assert says in str(caught.value)
    assert len(str(caught.value)) <= 1000
    assert "\n" not in str(caught.value)


def test_a_long_list_of_names_is_cut():
    many = Variables({f"frame{number:03}": SALES for number in range(100)})
    with pytest.raises(ToolArgumentsError, match="frame019 and 80 more"):
        read(pd.DataFrame, "x", many)


def test_without_any_variables_that_is_said():
    with pytest.raises(ToolArgumentsError, match="there is no DataFrame yet"):
        defined(pd.DataFrame).bind('{"a": "sales"}')


def test_a_class_that_answers_wrongly_for_its_objects_does_no_harm():
    class Rude(type):
        def __instancecheck__(cls, other):
            raise ZeroDivisionError

    class Strange(metaclass=Rude):
        pass

    class Named(Protocol):
        name: str

    assert read(Strange, "ada") is ADA
    assert read(Named, "ada") is ADA


def test_a_value_that_answers_wrongly_for_its_class_is_passed_over():
    class Lazy:
        @property
        def __class__(self):
            raise RuntimeError

    here = Variables({"broken": Lazy(), "sales": SALES, 5: SALES})
    assert read(pd.DataFrame, "sales", here) is SALES
    with pytest.raises(ToolArgumentsError, match=r"there are: sales\."):
        read(pd.DataFrame, "x", here)


# ------------------------------------------------------------ in a run


@tool
def rows(frame: pd.DataFrame) -> int:
    """Count rows."""
    return len(frame)


@tool
def top(frame: pd.DataFrame, n: int = 1) -> pd.DataFrame:
    """Take the first rows."""
    return frame.head(n)


@tool
def name_of(customer: Customer) -> str:
    """Tell the name."""
    return customer.name


@tool
def customer(name: str) -> Customer:
    """Find somebody."""
    return Customer(name)


def contents(result):
    return [entry["content"] for entry in result.tool_calls]


def agent_of(*script, tools=(rows, top, name_of, customer), **options):
    return Agent(ScriptedProvider([*script, "."]), tools, **options)


async def test_an_agent_names_what_it_was_given():
    agent = agent_of(call("rows", frame="sales"), namespace={"sales": SALES})
    assert contents(await agent.run("How many?")) == ["2"]


async def test_a_run_may_bring_names_of_its_own():
    agent = agent_of(call("rows", frame="costs"))
    assert contents(await agent.run("go", namespace={"costs": COSTS})) == ["1"]


async def test_the_names_of_the_agent_come_before_those_of_the_run():
    agent = agent_of(call("rows", frame="sales"), namespace={})
    (content,) = contents(await agent.run("go", namespace={"sales": SALES}))
    assert content.startswith("Error: Invalid arguments for 'rows'")


@pytest.mark.parametrize("wrong", [SALES, ["sales"], "sales"])
async def test_names_come_in_a_mapping(wrong):
    with pytest.raises(AgentConfigurationError, match="pass names, as in"):
        agent_of(namespace=wrong)
    with pytest.raises(AgentConfigurationError, match="pass names, as in"):
        await agent_of().run("go", namespace=wrong)
    assert (await agent_of().run("go", namespace=None)).answer == "."


async def test_names_are_looked_up_at_each_call():
    here = {"sales": SALES}

    @tool
    def load() -> str:
        """Load the costs."""
        here["costs"] = COSTS
        return "loaded"

    agent = agent_of(
        call("load"), call("rows", frame="costs"), tools=[load, rows], namespace=here
    )
    assert contents(await agent.run("go")) == ["loaded", "1"]


async def test_without_a_notebook_a_run_sees_none_of_the_programs_variables(
    monkeypatch,
):
    import __main__

    monkeypatch.setattr(__main__, "secret_frame", SALES, raising=False)
    agent = agent_of(call("rows", frame="secret_frame"))
    (content,) = contents(await agent.run("go"))
    assert content.endswith("there is no DataFrame yet.")


async def test_a_result_is_kept_under_a_handle_that_later_calls_name():
    agent = agent_of(
        call("top", frame="sales"),
        call("rows", frame="df_1"),
        namespace={"sales": SALES},
    )
    result = await agent.run("go")
    kept, count = contents(result)
    assert kept.startswith('DataFrame, 1 rows × 2 columns, kept as "df_1"')
    assert count == "1"
    assert list(agent.handles) == ["df_1"]
    assert agent.handles["df_1"].equals(SALES.head(1))
    event = next(e for e in result.events if e.event == "observation")
    assert event.value is agent.handles["df_1"]
    assert "<table" in event.bundle["text/html"]


async def test_handles_last_for_the_conversation():
    script = [call("top", frame="sales"), ".", call("rows", frame="df_1")]
    agent = agent_of(*script, namespace={"sales": SALES})
    await agent.run("Take the first.")
    assert contents(await agent.run("Count them.")) == ["1"]
    agent.reset_memory()
    assert agent.handles == {}


async def test_another_conversation_has_none_of_them():
    store = InMemoryStore()
    script = [call("customer", name="Ada"), ".", call("name_of", customer="customer_1")]
    agent = agent_of(*script, ".", *script[2:])
    ada, bob = (store.session(MemoryScope(user_id=name)) for name in ("ada", "bob"))
    await agent.run("Find Ada", memory=ada)
    (content,) = contents(await agent.run("Who?", memory=bob))
    assert "there is no Customer" in content
    again = store.session(ada.scope)
    assert contents(await agent.run("Who?", memory=again)) == ["Ada"]


async def test_a_guard_that_changes_a_summary_hides_the_table_too():
    agent = agent_of(
        call("top", frame="sales"),
        namespace={"sales": SALES},
        tool_guards=lambda text: text.replace("north", "[withheld]"),
    )
    result = await agent.run("go")
    assert "[withheld]" in contents(result)[0]
    event = next(e for e in result.events if e.event == "observation")
    assert (event.bundle, event.value) == ({}, None)


async def test_an_agent_that_is_a_tool_may_name_what_its_caller_may():
    count = [call("rows", frame="sales"), call("rows", frame="df_1")]
    helper = agent_of(*count, "2 and 1.", *count)
    caller = agent_of(
        call("top", frame="sales"),
        call("ask", task="Count sales and df_1"),
        tools=[top, tool(name="ask")(lambda task: helper.run(task))],  # noqa: PLW0108 - a signature is needed
        namespace={"sales": SALES},
    )
    await caller.run("go")
    assert contents(await helper.last_run.result()) == ["2", "1"]
    # Asked by somebody else, it may name none of it.
    told = contents(await helper.run("Count sales and df_1"))
    assert all("there is no DataFrame yet" in content for content in told)


async def test_an_object_that_no_tool_takes_is_told_and_not_kept():
    class Other:
        def __repr__(self):
            return "<another thing>"

    @tool
    def other() -> Other:
        """Make it."""
        return Other()

    agent = agent_of(call("other"), tools=[other, rows])
    assert contents(await agent.run("go")) == ["<another thing>"]
    assert agent.handles == {}


async def test_an_object_that_a_tool_takes_is_kept():
    agent = agent_of(
        call("customer", name="Ada"), call("name_of", customer="customer_1")
    )
    kept, name = contents(await agent.run("go"))
    assert kept.startswith('Customer, kept as "customer_1" for later calls.\n<')
    assert name == "Ada"


async def test_a_variable_that_comes_back_keeps_its_name():
    @tool
    def same(frame: pd.DataFrame) -> pd.DataFrame:
        """Give it back."""
        return frame

    agent = agent_of(
        call("same", frame="sales"), tools=[same], namespace={"sales": SALES}
    )
    (content,) = contents(await agent.run("go"))
    assert 'kept as "sales"' in content
    assert agent.handles == {}


async def test_parts_of_a_result_are_kept_one_by_one():
    class Split(NamedTuple):
        train: pd.DataFrame
        test: pd.DataFrame

    @tool
    def split(frame: pd.DataFrame) -> Split:
        """Split it."""
        return Split(frame.head(1), frame.tail(1))

    agent = agent_of(
        call("split", frame="sales"),
        call("rows", frame="df_2"),
        tools=[split, rows],
        namespace={"sales": SALES},
    )
    both, count = contents(await agent.run("go"))
    assert json.loads(both) == [
        "df_1 (DataFrame, 1 rows × 2 columns)",
        "df_2 (DataFrame, 1 rows × 2 columns)",
    ]
    assert count == "1"


async def test_a_question_shows_names_and_an_edit_may_name_another():
    asked = []

    class Person:
        async def ask(self, pending):
            asked.append(pending.request.args)
            with pytest.raises(ToolArgumentsError, match="named 'nothing'"):
                pending.decide(Allow(args={"frame": "nothing"}), by="person")
            pending.decide(Allow(args={"frame": "costs"}), by="person")

    drop = to_tool_definition(rows, name="drop", approval=True)
    agent = agent_of(
        call("drop", frame="sales"),
        tools=[drop],
        namespace={"sales": SALES, "costs": COSTS},
        approver=Person(),
    )
    (content,) = contents(await agent.run("go"))
    assert asked == [{"frame": "sales"}]
    assert content.endswith("\n\n1")
