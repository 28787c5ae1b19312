"""Any callable becomes a tool, and keeps what it was marked with."""

from __future__ import annotations

import copy
import functools
import inspect
import math
import pickle
import sys
import warnings
from typing import Annotated, NotRequired, TypedDict

import pytest

from notebook_agents.errors import AgentConfigurationError
from notebook_agents.tools import ToolDefinition, to_tool_definition, tool


def run(source, space):
    exec(source, space)  # noqa: S102 - as a cell of a notebook is run


class Chain(TypedDict):
    """One or more."""

    value: int
    rest: NotRequired[Chain]


def plain(city: str, days: int = 3) -> str:
    """Forecast the weather."""
    return f"{city} {days}"


@tool(name="remove", description="Removes.", approval=True, risk="write")
def delete(path: str, force: bool = False) -> str:  # noqa: FBT001, FBT002 - a tool of a user's
    return f"{path} {force}"


@functools.wraps(delete)
def loud_delete(*args, **kwargs):
    return delete(*args, **kwargs).upper()


async def fetch(url: str) -> str:
    return url


class Shop:
    """A shop."""

    @tool(approval=True)
    def buy(self, what: str) -> str:
        """Buy something."""
        return what

    async def __call__(self, what: str) -> str:
        """Ask the shop."""
        return what


def test_a_plain_function_is_a_tool():
    """Requirement A39."""
    definition = to_tool_definition(plain)
    assert isinstance(definition, ToolDefinition)
    assert definition.func is plain
    assert (definition.name, definition.description) == (
        "plain",
        "Forecast the weather.",
    )
    assert not hasattr(plain, "__notebook_agents_tool__")


def test_a_marked_function_gives_its_own_definition():
    """Requirement A39."""
    assert to_tool_definition(delete) is to_tool_definition(delete)
    assert to_tool_definition(delete).schema is delete.__agentapi_tool_schema__


def test_overrides_make_a_copy():
    changed = to_tool_definition(delete, name="erase", context="Rarely.", timeout=2)
    assert (changed.name, changed.timeout, changed.approval) == ("erase", 2, True)
    assert changed.schema["function"]["name"] == "erase"
    assert changed.schema["function"]["description"] == "Removes.\n\nContext: Rarely."
    assert to_tool_definition(delete).name == "remove"
    assert delete.__agentapi_tool_schema__["function"]["name"] == "remove"


def test_the_form_of_the_schema_can_be_overridden():
    relaxed = to_tool_definition(delete, strict=False)
    assert relaxed.schema["function"]["strict"] is False
    assert relaxed.relaxed == "strict=False was asked for"
    assert to_tool_definition(relaxed, strict=None).schema["function"]["strict"]


def test_an_unknown_option_is_named():
    with pytest.raises(AgentConfigurationError, match="no option 'retry'"):
        to_tool_definition(plain, retry=2)


@pytest.mark.parametrize(
    "thing", ["search", None, 3, [plain], math], ids=lambda t: type(t).__name__
)
def test_what_is_no_function_is_refused_in_one_line(thing):
    with pytest.raises(AgentConfigurationError) as caught:
        to_tool_definition(thing)
    assert "Pass the function itself" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_called_async_function_is_explained():
    with pytest.raises(AgentConfigurationError, match="without calling it"):
        to_tool_definition(fetch("x"))
    with pytest.raises(AgentConfigurationError, match="without calling it"):
        tool(fetch("x"))


def test_a_method_without_its_object_is_explained():
    with pytest.raises(AgentConfigurationError, match=r"thing\.buy"):
        to_tool_definition(Shop.buy)


def test_an_unreadable_signature_is_explained():
    with pytest.raises(AgentConfigurationError, match="Wrap it"):
        to_tool_definition(max)


@pytest.mark.parametrize(
    ("thing", "name"),
    [
        (Shop().buy, "buy"),
        (functools.partial(delete, force=True), "remove"),
        (functools.partial(functools.partial(delete), "x"), "remove"),
        (loud_delete, "remove"),
    ],
    ids=["method", "partial", "partial twice", "wrapper"],
)
def test_approval_is_not_lost_on_the_way(thing, name):
    definition = to_tool_definition(thing)
    assert definition.approval is True
    assert definition.name == name
    assert definition.func is thing


def test_a_wrapper_runs():
    definition = to_tool_definition(loud_delete)
    call = definition.bind('{"path": "a"}')
    assert definition(*call.args, **call.kwargs) == "A FALSE"


def test_a_wrapper_with_its_own_signature_is_read_anew():
    @functools.wraps(delete)
    def other(path: str) -> str:
        return delete(path, force=True)

    del other.__wrapped__
    definition = to_tool_definition(other)
    assert list(definition.schema["function"]["parameters"]["properties"]) == ["path"]
    assert definition.approval is True


def test_a_mark_is_found_through_call():
    class Sender:
        @tool(name="send", approval=True)
        def __call__(self, text: str) -> str:
            return text

    definition = to_tool_definition(Sender())
    assert (definition.name, definition.approval) == ("send", True)
    assert definition.bind('{"text": "x"}').kwargs == {"text": "x"}


def test_a_keyword_that_a_partial_fixes_is_not_shown():
    part = functools.partial(plain, days=9)
    properties = to_tool_definition(part).schema["function"]["parameters"]["properties"]
    assert list(properties) == ["city"]
    call = to_tool_definition(part).bind('{"city": "Oslo"}')
    assert part(*call.args, **call.kwargs) == "Oslo 9"


def test_names_and_words_of_other_callables():
    shop = to_tool_definition(Shop())
    assert (shop.name, shop.description) == ("Shop", "Ask the shop.")
    part = to_tool_definition(functools.partial(plain, "Oslo"))
    assert (part.name, part.description) == ("plain", "Forecast the weather.")


@pytest.mark.parametrize(
    ("thing", "is_async"),
    [
        (plain, False),
        (fetch, True),
        (functools.partial(fetch, "x"), True),
        (Shop(), True),
        (Shop().buy, False),
        (len, False),
    ],
    ids=["function", "async", "partial", "object", "method", "built-in"],
)
def test_it_is_known_whether_to_await(thing, is_async):
    assert to_tool_definition(thing).is_async is is_async


def test_a_definition_can_be_made_by_hand():
    """Requirement A38: a mutable dataclass."""
    definition = ToolDefinition("f", "Does.", None, lambda **all_of_it: all_of_it, {})
    definition.description = "Does more."
    call = definition.bind('{"a": 1}')
    assert definition(*call.args, **call.kwargs) == {"a": 1}
    assert ToolDefinition("f", "Does.", None, plain, {}) == ToolDefinition(
        "f", "Does.", None, plain, {}
    )


def test_a_definition_survives_pickling_and_copying():
    definition = to_tool_definition(delete)
    for again in (pickle.loads(pickle.dumps(definition)), copy.copy(definition)):  # noqa: S301 - our own bytes
        assert again == definition
        assert again.bind('{"path": "a"}').kwargs == {"path": "a"}


def test_an_unknown_annotation_warns_at_the_function_and_takes_anything():
    def f(a: Missing, b: int): ...  # noqa: F821 - the point

    with pytest.warns(UserWarning, match="'Missing' of 'a' is not known") as caught:
        definition = to_tool_definition(f)
    assert caught[0].filename == __file__
    assert definition.bind('{"a": [1], "b": "2"}').kwargs == {"a": [1], "b": 2}
    assert definition.relaxed == "'a' takes any value"


def test_a_name_that_appears_later_is_found():
    space: dict = {"tool": tool, "__name__": "later"}
    with pytest.warns(UserWarning, match="until it is"):
        run("@tool\ndef f(a: 'Later'): ...", space)
    before = to_tool_definition(space["f"])
    assert before.schema["function"]["strict"] is False
    run("from enum import Enum\nclass Later(Enum):\n    A = 'a'", space)
    after = to_tool_definition(space["f"])
    assert after is before
    assert after.schema["function"]["strict"] is True
    assert after.bind('{"a": "a"}').kwargs == {"a": space["Later"].A}
    assert space["f"].__agentapi_tool_schema__ is after.schema


def test_a_type_of_the_notebook_is_found(monkeypatch):
    import __main__

    monkeypatch.setattr(__main__, "CellType", int, raising=False)
    space: dict = {"__name__": "module"}
    run("def f(a: 'CellType'): ...", space)
    assert to_tool_definition(space["f"]).bind('{"a": "4"}').kwargs == {"a": 4}


WEIRD = {
    "a number": "5",
    "a call": "int('x')",
    "no Python": "'1 +'",
    "a module": "math",
    "a generator": "(x for x in ())",
    "a bad field": "Annotated[int, Field(pattern='[')]",
    "an ellipsis": "...",
    "a list of numbers": "list[5]",
}


@pytest.mark.parametrize("future", ["", "from __future__ import annotations\n"])
@pytest.mark.parametrize("text", WEIRD.values(), ids=WEIRD.keys())
def test_a_weird_annotation_warns_and_never_fails(text, future):
    space = {"math": math, "__name__": "weird"}
    head = (
        f"{future}from typing import Annotated, Callable\nfrom pydantic import Field\n"
    )
    # Without the future import, Python itself evaluates what is not a string.
    body = f"def f(a: {text if future or text != WEIRD['a call'] else repr(text)}): ..."
    run(head + body, space)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        definition = to_tool_definition(space["f"])
    assert [w.category for w in caught] == [UserWarning]
    assert "any value is accepted" in str(caught[0].message)
    assert definition.bind('{"a": {"b": 1}}').kwargs == {"a": {"b": 1}}


def test_unhashable_metadata_is_no_problem():
    def f(a: Annotated[int, ["list"], {"dict": 1}, "Text."]): ...

    definition = to_tool_definition(f)
    properties = definition.schema["function"]["parameters"]["properties"]
    assert properties == {"a": {"type": "integer", "description": "Text."}}


def test_a_notebook_may_have_a_list_named_list(monkeypatch):
    import __main__

    monkeypatch.setattr(__main__, "list", [1], raising=False)
    space: dict = {"__name__": "module"}
    run("def f(a: 'list[int]'): ...", space)
    assert to_tool_definition(space["f"]).bind('{"a": [1]}').kwargs == {"a": [1]}


def test_a_name_of_the_closure_is_found():
    def make(kind):
        def f(a: "kind"):  # noqa: UP037 - the point
            return kind

        return f

    assert to_tool_definition(make(float)).bind('{"a": 1}').kwargs == {"a": 1.0}


def test_a_name_of_the_closure_may_come_later():
    def make():
        @tool
        def f(a: int):
            return later

        later = 1
        return f

    assert to_tool_definition(make()).bind('{"a": 1}').kwargs == {"a": 1}


def test_a_wrapper_whose_signature_is_broken_is_explained():
    @functools.wraps(delete)
    def broken(*args): ...

    broken.__signature__ = 5
    with pytest.raises(AgentConfigurationError, match="Wrap it"):
        to_tool_definition(broken)


def test_a_waiting_object_is_explained():
    class Waiting:
        def __await__(self):
            yield

    with pytest.raises(AgentConfigurationError, match="without calling it"):
        to_tool_definition(Waiting())


def test_a_doubt_about_something_without_code_is_told_too():
    class Odd:
        __signature__ = inspect.Signature(
            [inspect.Parameter("a", inspect.Parameter.KEYWORD_ONLY, annotation=5)]
        )
        __call__ = functools.partial(print)

    with pytest.warns(UserWarning, match="any value is accepted"):
        to_tool_definition(Odd())


def test_a_revised_definition_learns_later_names_without_touching_the_mark():
    space: dict = {"tool": tool, "__name__": "later"}
    with pytest.warns(UserWarning, match="until it is"):
        run("@tool\ndef f(a: 'Later'): ...", space)
    copied = to_tool_definition(space["f"], name="g")
    run("Later = int", space)
    assert to_tool_definition(copied).bind('{"a": "1"}').kwargs == {"a": 1}
    assert space["f"].__agentapi_tool_name__ == "f"
    assert space["f"].__notebook_agents_tool__ is not copied


def test_a_typed_dict_of_itself_is_read_or_doubted():
    def f(chain: Chain): ...

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        definition = to_tool_definition(f)
    # Before Python 3.12, pydantic does not read the one of `typing`.
    assert len(caught) == (1 if sys.version_info < (3, 12) else 0)
    chain = definition.bind('{"chain": {"value": 1, "rest": {"value": 2}}}')
    assert chain.kwargs == {"chain": {"value": 1, "rest": {"value": 2}}}
