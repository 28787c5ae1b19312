"""What a model wrote is read strictly, and what is wrong is told in one line."""

from __future__ import annotations

import contextlib
import enum
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, Field

from notebook_agents.errors import ToolArgumentsError
from notebook_agents.tools import BoundCall, to_tool_definition


class Color(enum.Enum):
    """Of a thing."""

    RED = "red"
    BLUE = "blue"


class City(BaseModel):
    """A place."""

    name: str
    people: int = 5
    tags: list[str] = []


class Tree(BaseModel):
    """A node."""

    value: int
    children: list[Tree] = []


@dataclass
class Point:
    """A place."""

    x: int
    y: int = 0


def refuse(value: Any) -> Any:
    message = "out\nof order"
    raise LookupError(message)


def search(q: str, limit: int = 5) -> tuple[str, int]:
    return q, limit


def broad(  # noqa: PLR0917 - has everything
    a: int,
    b: list[City] | None = None,
    c: Color = Color.RED,
    d: dict[str, Point] | None = None,
    e: Any = None,
    f: Literal["x", 1] | float = 1.5,
    g: date | None = None,
    h: Tree | None = None,
    *rest: bool,
    **more: tuple[int, str],
) -> None: ...


def problem_of(func: Any, text: str) -> str:
    definition = to_tool_definition(func)
    with pytest.raises(ToolArgumentsError) as caught:
        definition.bind(text)
    assert caught.value.tool == definition.name
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ('{"q": "a", "limit": null}', ("a", 5)),
        ('{"q": "a"}', ("a", 5)),
        ('{"q": "a", "limit": 7}', ("a", 7)),
    ],
)
def test_null_and_nothing_mean_the_default(text, result):
    """Acceptance check 9, traps W10 and W11."""
    call = to_tool_definition(search).bind(text)
    assert search(*call.args, **call.kwargs) == result


def test_the_values_are_kept_as_given():
    call = to_tool_definition(search).bind('{"q": "a", "limit": null}')
    assert call == BoundCall({"q": "a", "limit": None}, (), {"q": "a"})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{}", "Invalid arguments for 'search': 'q' is missing (expected: string)."),
        ('{"q": 1}', "'q': input should be a valid string, got 1 (expected: string)"),
        ('{"q": null}', "'q': input should be a valid string, got null"),
        ('{"q": "a", "limit": "many"}', "'limit': input should be a valid integer"),
        ('{"q": "a", "n": 1}', 'there is no "n" (the arguments are q, limit)'),
        ("[1]", "must be one JSON object such as {}, not an array"),
        ('"x"', "not a string"),
        ("null", "not null"),
        ("true", "not a boolean"),
        ("3", "not a number"),
        ('{"q": "a", "limit": 3', "not valid JSON"),
        ("{'q': 1}", "not valid JSON"),
        ('{"q": "a"} and more', "not valid JSON (Extra data"),
        ('{"q": "a", "q": "b"}', "the key 'q' is there twice"),
        ('{"q": "a", "limit": NaN}', "NaN is not a JSON number"),
        ('{"q": "a", "limit": -Infinity}', "-Infinity is not a JSON number"),
        ('{"q": "a", "limit": 1e999}', "the number 1e999 is too large"),
        ("[" * 100_000, "nested too deeply"),
        ('{"q": "' + "\\ud800" + '"}', "'q': "),
    ],
)
def test_what_is_wrong_is_told(text, says):
    """Trap W12: ``[1]`` is no object."""
    assert says in problem_of(search, text)


def test_everything_wrong_is_told_at_once():
    told = problem_of(search, '{"limit": "x", "n": 1, "m": 2}')
    assert "'q' is missing" in told
    assert "'limit': input" in told
    assert 'there is no "n" or "m"' in told


def test_a_place_inside_a_value_is_named():
    told = problem_of(broad, '{"a": 1, "h": {"value": 1, "children": [{}]}}')
    assert "'h.children[0].value': field required" in told


def test_a_choice_is_told_as_one():
    def f(a: int | list[City] | Point): ...

    told = problem_of(f, '{"a": "x"}')
    assert told == (
        "Invalid arguments for 'f': 'a' does not fit "
        "(expected: integer or list of object with name, people, tags or object with x, y)."
    )


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (Color, 'one of "red", "blue"'),
        (list[int], "list of integer"),
        (list, "list"),
        (dict, "object"),
        (date, "string (date)"),
        (int | None, "integer or null"),
        (Any, "any value"),
        (Tree, "object with value, children"),
    ],
    ids=str,
)
def test_what_is_expected_is_told(annotation, expected):
    def f(a): ...

    f.__annotations__ = {"a": annotation}
    assert f"(expected: {expected})" in problem_of(f, "{}")


def test_a_tool_without_arguments_says_so():
    def f(): ...

    assert 'there is no "x" (it takes none)' in problem_of(f, '{"x": 1}')


def test_long_values_are_cut():
    told = problem_of(search, '{"q": "a", "limit": "' + "9x" * 5000 + '"}')
    assert len(told) < 400
    many = ", ".join(f'"k{n}": 1' for n in range(1000))
    assert len(problem_of(search, f"{{{many}}}")) <= 1000


def test_a_failing_validator_is_told():
    def f(a: Annotated[int, AfterValidator(refuse)]): ...

    assert "'a': out of order" in problem_of(f, '{"a": 1}')

    def g(**more: Annotated[int, AfterValidator(refuse)]): ...

    assert "'k': out of order" in problem_of(g, '{"k": 1}')


def test_a_constraint_is_told():
    def f(a: Annotated[int, Field(ge=1)]): ...

    assert "greater than or equal to 1, got 0" in problem_of(f, '{"a": 0}')


def test_a_string_that_does_not_hold_the_right_json_stays_wrong():
    def f(a: list[int]): ...

    assert "'a'" in problem_of(f, '{"a": "1, 2"}')
    assert "'a[0]'" in problem_of(f, '{"a": "[\\"x\\"]"}')


def test_null_inside_a_choice_means_the_default():
    def f(a: City | Point | int): ...

    call = to_tool_definition(f).bind('{"a": {"x": 1, "y": null}}')
    assert call.kwargs == {"a": Point(1)}


def test_null_inside_open_keys_means_the_default():
    def f(a: dict[str, Point]): ...

    call = to_tool_definition(f).bind('{"a": {"k": {"x": 1, "y": null}}}')
    assert call.kwargs == {"a": {"k": Point(1)}}


def test_edited_arguments_are_validated_the_same_way():
    definition = to_tool_definition(broad)
    call = definition.rebind({"a": "3", "g": date(2025, 1, 2), "c": Color.BLUE})
    assert call.kwargs["a"] == 3
    assert call.kwargs["g"] == date(2025, 1, 2)
    assert call.kwargs["c"] is Color.BLUE
    assert call.values == {"a": "3", "g": "2025-01-02", "c": "blue"}


@pytest.mark.parametrize(
    "values",
    [{"a": object()}, {"a": float("nan")}, {"a": "x"}, {}, {("a",): 1}, {1: 2, "a": 1}],
    ids=str,
)
def test_edited_arguments_may_be_wrong(values):
    def f(a: int): ...

    with pytest.raises(ToolArgumentsError):
        to_tool_definition(f).rebind(values)


def test_a_call_does_not_share_its_values_with_the_function():
    call = to_tool_definition(broad).bind('{"a": 1, "e": [1]}')
    call.kwargs["e"].append(2)
    assert call.values["e"] == [1]


def test_a_field_default_is_made_anew_for_each_call():
    def f(a: list[int] = Field(default_factory=list)): ...  # noqa: B008 - the point

    definition = to_tool_definition(f)
    definition.bind("{}").kwargs["a"].append(1)
    assert definition.bind("{}").kwargs == {"a": []}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text() | st.sampled_from("abcxy"), inner, max_size=4)
    ),
    max_leaves=12,
)
DEFINITIONS = [to_tool_definition(func) for func in (search, broad)]


@settings(max_examples=150)
@given(st.text() | st.text(alphabet='{}[]":,0123456789abq\\u nulltrue', max_size=40))
def test_no_text_makes_bind_raise_anything_else(text):
    for definition in DEFINITIONS:
        with contextlib.suppress(ToolArgumentsError):
            assert isinstance(definition.bind(text), BoundCall)


@settings(max_examples=150)
@given(st.dictionaries(st.sampled_from([*"qabcdefgh", "limit", "rest"]), json_values))
def test_no_json_makes_rebind_raise_anything_else(values):
    for definition in DEFINITIONS:
        try:
            call = definition.rebind(values)
        except ToolArgumentsError as error:
            str(error).encode()
        else:
            # What was accepted can be written down, read again, and called.
            assert definition.rebind(call.values) == call
            definition(*call.args, **call.kwargs)
