"""Arguments become fields of text, and what was changed becomes arguments."""

from __future__ import annotations

import json
from typing import Literal

import pytest

from notebook_agents import ApprovalRequest
from notebook_agents.errors import ToolArgumentsError
from notebook_agents.jupyter.clicks import decision_of
from notebook_agents.jupyter.fields import changed_args, fields_of
from notebook_agents.tools import to_tool_definition


def work(
    *,
    path: str,
    count: int = 3,
    force: bool = False,
    mode: Literal["soft", "hard"] = "soft",
    note: str | None = None,
    rows: list[int] | None = None,
) -> None:
    """Work on a file."""


SCHEMA = to_tool_definition(work).schema["function"]["parameters"]
ARGS = {"path": "a.csv", "count": 2, "force": True, "mode": "hard", "rows": [1]}


def field_of(args, name, schema=SCHEMA):
    (field,) = [each for each in fields_of(schema, args) if each["name"] == name]
    return field


def changed(args=ARGS, schema=SCHEMA, **texts):
    return changed_args(fields_of(schema, args), args, texts)


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("path", "a.csv", "line"),
        ("path", "two\nlines", "lines"),
        ("path", "long " * 20, "lines"),
        ("path", 3, "json"),
        ("count", 2, "number"),
        ("count", "2", "json"),
        ("force", True, "check"),
        ("force", None, "choice"),
        ("mode", "hard", "choice"),
        ("mode", "other", "line"),
        ("note", "text", "line"),
        ("rows", [1], "json"),
        ("unknown", 1, "json"),
    ],
)
def test_a_field_fits_the_schema_and_the_value(name, value, kind):
    assert field_of({name: value}, name)["kind"] == kind


@pytest.mark.parametrize(
    ("part", "hint"),
    [
        ({"type": "integer", "default": 3}, "default: 3"),
        ({"type": "integer", "description": "How many."}, "How many."),
        (
            {"type": "integer", "description": "Parameter: count. Default: 3."},
            "Default: 3.",
        ),
        ({"type": "integer"}, ""),
    ],
)
def test_an_argument_that_was_not_given_has_an_empty_field_with_a_hint(part, hint):
    field = field_of({}, "count", {"properties": {"count": part}})
    assert (field["text"], field["has"], field["hint"]) == ("", False, hint)


def test_a_reference_in_a_schema_is_followed():
    schema = {
        "properties": {"size": {"$ref": "#/$defs/Size"}},
        "$defs": {"Size": {"enum": [1, None, "x"]}},
    }
    field = field_of({"size": None}, "size", schema)
    assert field["kind"] == "choice"
    assert field["options"] == [["1", "1"], ["null", "null"], ['"x"', "x"]]


@pytest.mark.parametrize("schema", [{}, {"properties": {"path": True}}])
def test_a_schema_that_says_nothing_leaves_json(schema):
    assert field_of({"path": "a"}, "path", schema)["text"] == "a"
    assert changed({"path": "a"}, schema, path='"b"') == {"path": "b"}


def test_changed_texts_become_values_and_the_rest_stays_as_it_was():
    texts = {"count": "12345678901234567890", "force": "false", "mode": '"soft"'}
    expected = ARGS | {"count": 12345678901234567890, "force": False, "mode": "soft"}
    assert changed(**texts) == expected
    assert changed(rows="[1, 2]")["rows"] == [1, 2]
    assert changed(path="")["path"] == ""
    assert changed() == ARGS


def test_an_emptied_field_is_no_argument():
    assert "count" not in changed(count=" ")


@pytest.mark.parametrize("text", ["many", "1 2", "NaN", "Infinity"])
def test_what_is_no_number_is_refused_in_words(text):
    with pytest.raises(ToolArgumentsError, match="count: write a number"):
        changed(count=text)


@pytest.mark.parametrize("text", ["[1", "[NaN]", "[" * 100_000])
def test_what_is_no_json_is_refused_in_words(text):
    with pytest.raises(ToolArgumentsError, match="rows: write JSON"):
        changed(rows=text)


@pytest.mark.parametrize("changes", [{"other": "1"}, {"path": 1}])
def test_what_is_no_field_of_the_form_is_refused(changes):
    with pytest.raises(ToolArgumentsError, match="no field"):
        changed_args(fields_of(SCHEMA, ARGS), ARGS, changes)


def test_fields_can_be_sent():
    json.dumps(fields_of(SCHEMA, ARGS), allow_nan=False)


def test_a_value_that_is_only_equal_to_python_is_a_change():
    schema = {"properties": {"n": {}}}
    request = ApprovalRequest(
        run_id="r", call_id="c", agent="a", tool="t", args={"n": 1}, schema=schema
    )
    for text, args in (("1", None), ("true", {"n": True}), ("1.0", {"n": 1.0})):
        decision = decision_of({"decision": "allow", "changes": {"n": text}}, request)
        assert repr(decision.args) == repr(args)
