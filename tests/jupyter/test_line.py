"""The line of a magic is read as it was meant, on every system alike."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from IPython.core.error import UsageError

from notebook_agents.jupyter.line import check_quotes, params_of, split_words


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", []),
        ("  bot   -q ", ["bot", "-q"]),
        ("-s 'Be brief.'", ["-s", "Be brief."]),
        ('-s "Say \\"no\\"."', ["-s", 'Say "no".']),
        ('-p stop="a b" bot', ["-p", 'stop="a b"', "bot"]),
        ('-p stop=["a b","c"]', ["-p", 'stop=["a b","c"]']),
        ("""-p 'format={"type": "json"}'""", ["-p", 'format={"type": "json"}']),
        ("-s don't", ["-s", "don't"]),
        ('-s "open', ["-s", '"open']),
        ("''", [""]),
        (r"-o C:\temp", ["-o", r"C:\temp"]),
    ],
)
def test_a_line_is_split_at_spaces_outside_of_quotes(line, words):
    assert split_words(line) == words


@given(st.text(alphabet="ab \"'\\=", max_size=60))
def test_any_line_can_be_split_and_loses_no_letter(line):
    words = split_words(line)
    assert "".join(words).count("a") == line.count("a")


@pytest.mark.parametrize(
    ("pair", "value"),
    [
        ("a=0", 0),
        ("a=0.5", 0.5),
        ("a=true", True),
        ("a=null", None),
        ("a=[1, 2]", [1, 2]),
        ('a={"b": 1}', {"b": 1}),
        ("a=text", "text"),
        ("a=", ""),
        ("a=b=c", "b=c"),
        ('a="two words"', "two words"),
        ("a='two words'", "two words"),
        ("a=NaN", "NaN"),
        (f"a={'[' * 100_000}", "[" * 100_000),
    ],
)
def test_a_value_is_json_where_it_can_be_and_text_elsewhere(pair, value):
    assert params_of([pair]) == {"a": value}


@given(st.dictionaries(st.from_regex(r"[a-z_]+", fullmatch=True), st.integers()))
def test_every_pair_counts(params):
    assert params_of(f"{key}={json.dumps(value)}" for key, value in params.items()) == (
        params
    )


@pytest.mark.parametrize("pair", ["foo", "=1", " = 1", ""])
def test_what_is_no_pair_is_refused(pair):
    with pytest.raises(UsageError, match="-p needs NAME=VALUE, as in -p temperature=0"):
        params_of([pair])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('bot -s "Be brief. -q', '"Be brief. -q'),
        ("bot -s 'Be brief.", "'Be brief."),
        ('-p stop=["a b] -q', '"a b] -q'),
        ('-p user="Ada L.', '"Ada L.'),
        ('-s "one" -S "two', '"two'),
        ('-s "', '"'),
    ],
)
def test_a_quote_that_is_not_closed_is_said(line, said):
    with pytest.raises(UsageError) as error:
        check_quotes(line)
    assert str(error.value) == f"A quote is not closed ({said})"


@pytest.mark.parametrize(
    "line",
    [
        *("-s don't", "-s 'a \"b'", '-s "it\'s"', '-p stop=["a b","c"]', "-S o'clock"),
        """-p 'format={"type": "json"}'""",
        r'-s "Say \"no\"."',
    ],
)
def test_other_quotes_are_no_mistake(line):
    check_quotes(line)
