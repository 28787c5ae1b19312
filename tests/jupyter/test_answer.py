"""An answer is read as what was asked for, or refused in a few words."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from notebook_agents.jupyter.answer import code_in, formula_in, frame_in, json_in

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
CELLS = st.text(alphabet="abc |\\$*_,;\"'", max_size=8).map(str.strip)


@given(
    JSON_VALUES, st.sampled_from(["{}", "```json\n{}\n```", "So:\n\n~~~JSON\n{}\n~~~"])
)
def test_json_is_found_alone_and_in_a_fence(value, around):
    assert json_in(around.replace("{}", json.dumps(value))) == value


def test_a_fence_that_is_called_json_comes_first():
    assert json_in("```\n[1]\n```\n\n```json\n[2]\n```") == [2]


@pytest.mark.parametrize("text", ["", "no", "[1,", "```json\n{\n```", "[" * 100_000])
def test_what_is_no_json_is_refused(text):
    with pytest.raises(ValueError, match=r"."):
        json_in(text)


@pytest.mark.parametrize(
    "text",
    [
        '[{"n": 1, "s": "x"}, {"n": 2, "s": "y, z"}]',
        '{"rows": [{"n": 1, "s": "x"}, {"n": 2, "s": "y, z"}]}',
        '{"n": [1, 2], "s": ["x", "y, z"]}',
        'n,s\n1,x\n2,"y, z"',
        "n;s\n1;x\n2;y, z",
        'Here it is:\n```csv\nn,s\n1,x\n2,"y, z"\n```\nDone.',
        "Here it is:\n```csv\nn;s\n1;x\n2;y, z\n```",
        "```tsv\nn\ts\n1\tx\n2\ty, z\n```",
        "The table:\n\n| n | s |\n|---|:-:|\n| 1 | x |\n| 2 | y, z |\n\nDone.",
        "n | s\n--|--\n1 | x\n2 | y, z",
        "```\n| n | s |\n|---|---|\n| 1 | x |\n| 2 | y, z |\n```",
    ],
)
def test_a_table_is_found_in_every_shape(text):
    expected = pd.DataFrame({"n": [1, 2], "s": ["x", "y, z"]})
    pd.testing.assert_frame_equal(frame_in(text), expected)


@pytest.mark.parametrize(
    ("lines", "columns"),
    [
        ("a;b\n1;2,5", {"a": [1], "b": ["2,5"]}),
        ("net, EUR;gross, EUR\n1,5;2,5", {"net, EUR": ["1,5"], "gross, EUR": ["2,5"]}),
        (
            "name\tborn, died\nAda\t1815, 1852",
            {"name": ["Ada"], "born, died": ["1815, 1852"]},
        ),
        ('"a;b",c\n1,2', {"a;b": [1], "c": [2]}),
        ("name\nSmith, Ada\nJones", {"name": ["Smith, Ada", "Jones"]}),
    ],
)
def test_a_comma_within_cells_separates_none(lines, columns):
    frame = frame_in(f"```csv\n{lines}\n```")
    assert frame.to_dict(orient="list") == columns


def test_a_row_that_is_short_or_long_is_made_to_fit():
    frame = frame_in("| a | b |\n|---|---|\n| 1 |\n| 2 | 3 | 4 |")
    assert frame["a"].tolist() == [1, 2]
    assert frame["b"].isna().tolist() == [True, False]


def test_one_record_is_a_table_and_so_is_none():
    assert frame_in('{"a": 1, "b": "x"}').shape == (1, 2)
    assert frame_in("[]").empty


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=4))
def test_a_markdown_table_keeps_its_rows(rows):
    lines = "\n".join(
        "| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |"
        for row in rows
        if not any("\\" in cell for cell in row)
    )
    frame = frame_in(f"| one | two |\n| --- | --- |\n{lines}")
    assert len(frame) == (lines.count("\n") + 1 if lines else 0)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I am sorry, there is none.",
        "I am sorry, there is none.\nReally, none.",
        "42",
        '{"a": [1, 2], "b": [3]}',
        "[1, 2]",
        "a\nb\nc",
        "```csv\na;b;c\n1;2\n```",
        "```csv\na,b\n1,2\n3\n```",
    ],
)
def test_what_is_no_table_is_refused(text):
    with pytest.raises(ValueError, match=r"no JSON, no CSV|no list of|make a table"):
        frame_in(text)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("```python\nx = 1\n```", "x = 1"),
        ("First:\n```py\nx = 1\n```\nthen\n```\ny = 2\n```", "x = 1\n\ny = 2"),
        ("1. So:\n   ```python\n   if x:\n       y()\n   ```", "if x:\n    y()"),
        ("```python\nopen(", "open("),
        ("```python\n%matplotlib inline\n```", "%matplotlib inline"),
        ("df.groupby('a').sum()", "df.groupby('a').sum()"),
        ("```bash\nls\n```\n```python\nx = 1\n```", "x = 1"),
    ],
)
def test_code_is_that_of_the_fences_or_all(text, code):
    assert code_in(text) == code


@pytest.mark.parametrize(
    "text", ["", "Hello", "Hello, world", "42", "I cannot.", "```bash\nls\n```"]
)
def test_what_is_no_code_is_refused(text):
    with pytest.raises(ValueError, match="no Python code"):
        code_in(text)


@pytest.mark.parametrize(
    "text",
    [
        r"\frac{a}{b}",
        r"$$\frac{a}{b}$$",
        r"\[ \frac{a}{b} \]",
        r"\(\frac{a}{b}\)",
        r"$\frac{a}{b}$",
        "```latex\n\\frac{a}{b}\n```",
    ],
)
def test_a_formula_loses_its_delimiters(text):
    assert formula_in(text) == r"\frac{a}{b}"


@pytest.mark.parametrize(
    "text", ["The area is $a$.", "$a$ and $b$", r"So \(a\) it is."]
)
def test_a_text_with_formulas_is_markdown_already(text):
    assert formula_in(text) is None


def test_words_in_a_formula_are_no_prose():
    assert formula_in(r"x \text{ if it is not less than } y")


@pytest.mark.parametrize("text", ["", "I cannot do that.", "$$ $$"])
def test_what_is_no_formula_is_refused(text):
    with pytest.raises(ValueError, match="no formula"):
        formula_in(text)
