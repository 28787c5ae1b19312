"""What becomes of braces in a prompt."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notebook_agents.jupyter.interpolation import interpolate


class Thing:
    """Has an attribute, and says what it is."""

    size = 3

    def __str__(self):
        return "a thing"


NAMES = {"x": 1, "text": "a\nb", "rows": [{"id": 7}], "thing": Thing(), "größe": 2}


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ("{x}", "1"),
        ("{text!r}", "'a\\nb'"),
        ("{rows[0]['id']} and {rows[-1]}", "7 and {'id': 7}"),
        ("{thing.size} {thing}", "3 a thing"),
        ("{größe}", "2"),
        ("{{x}} is {x}", "{x} is 1"),
        ("twice {x}{x}", "twice 11"),
    ],
)
def test_a_variable_of_the_notebook_is_put_in(prompt, text):
    assert interpolate(prompt, NAMES).text == text


@pytest.mark.parametrize(
    "prompt",
    [
        "a lone { brace",
        "}{",
        "{}",
        "{ x }",
        "{x()}",
        "{x + 1}",
        "{__import__('os')}",
        '{"key": "value", "n": [1, 2]}',
        "function f(a: number) { return {a: 1}; }",
        r"\frac{1}{2} and \mathbf{v}_{i}",
        "{k: v for k, v in d.items()}",
        "{rows[0][x]}",
        "{rows[9]}",
        "{thing.missing}",
        "{unknown}",
        "{{ user }} in a template",
    ],
)
def test_everything_else_stays_as_it_was_typed(prompt):
    assert interpolate(prompt, NAMES).text == prompt


def test_what_was_left_is_named_once():
    assert interpolate("{y} {z.a} {y} {x}", NAMES).left == ("y", "z.a")


def test_text_that_is_put_in_is_not_looked_at_again():
    assert interpolate("{a}", {"a": "{b}", "b": "no"}).text == "{b}"


@given(st.text(alphabet="{}[]()x.'\"!r0 \\\n", max_size=60))
def test_no_text_is_ever_an_error(prompt):
    assert isinstance(interpolate(prompt, {"x": 1}).text, str)


@pytest.mark.parametrize(
    "field",
    [
        *("city", "x.size", "rows[9]", "rows[0]['no']"),
        *(
            "rows[x]",
            "rows[key]",
            "city[name]",
            "x:>5",
            "thing.size:>5",
            "x!s",
            "x!r:5",
        ),
    ],
)
def test_what_looks_like_a_variable_and_is_left_is_reported(field):
    put = interpolate(f"Say {{{field}}}.", NAMES)
    assert put.text == f"Say {{{field}}}."
    assert put.left == (field,)


@pytest.mark.parametrize(
    "text",
    [
        *('{"x": 1}', "{y: 1}", "{y: number; z: string}", "{x for x in rows}"),
        *("{{x:>5}}", "{f(x)}", "{}", "{ x }", "{x, y}", "{*x}", "{1}"),
    ],
)
def test_what_is_code_or_data_is_not_reported(text):
    assert interpolate(text, NAMES).left == ()
