"""``-f`` says how an answer is shown and what ``-o`` binds; ``-p`` what is sent."""

from __future__ import annotations

import pytest

from tests.jupyter.cells import attended_kernel, executed, text_of

pytestmark = pytest.mark.notebook

SENT = "agent._model.get().requests[-1]"
RECORDS = """'[{"region": "North", "n": 3}, {"region": "South", "n": 5}]'"""


def mimes(cell):
    """Give the MIME types of each output that shows something."""
    return [
        set(output["data"])
        for output in cell.outputs
        if any(output.get("data", {}).values())
    ]


def test_params_reach_the_model_for_this_cell_alone():
    notebook = executed(
        "agent = bot('a', 'b', temperature=0.9)",
        '%%agent agent -p temperature=0 -p max_tokens=7 --param stop="a b"\nhi',
        f"r = {SENT}; r.temperature, r.max_tokens, dict(r.params)",
        "%%agent agent\nhi",
        f"r = {SENT}; r.temperature, r.max_tokens, dict(r.params)",
    )
    assert text_of(notebook.cells[3]) == "(0, 7, {'stop': 'a b'})"
    assert text_of(notebook.cells[5]) == "(0.9, 1024, {})"


MISTAKES = {
    "%%agent agent -p foo\nhi": "-p needs NAME=VALUE, as in -p temperature=0, not 'foo'",
    "%%agent agent -p model=x\nhi": "params cannot set 'model'",
    "%%agent agent -p temperature=hot\nhi": "temperature is 'hot'; it must be a number",
    "%%agent agent -f yaml\nhi": "invalid choice: 'yaml'",
    "%%agent agent -q -v\nhi": "--quiet and --verbose say the opposite",
}


def test_a_mistake_is_one_line_and_nothing_is_asked():
    notebook = executed("agent = bot()", *MISTAKES, f"{SENT[:-4]}", allow_errors=True)
    for cell, (code, said) in zip(notebook.cells[2:], MISTAKES.items(), strict=False):
        shown = text_of(cell).strip()
        assert (cell.source, said in shown) == (code, True), shown
        assert len(shown.splitlines()) == 1
    assert text_of(notebook.cells[-1]) == "[]"


def test_text_is_shown_as_it_was_written():
    notebook = executed(
        r"agent = bot('**bold** $x$\n  <b>two</b>')",
        "%%agent agent -f text -o out\nhi",
        "type(out).__name__",
    )
    assert mimes(notebook.cells[2])[1:] == [{"text/html", "text/plain"}]
    assert "**bold** $x$\n  <b>two</b>" in text_of(notebook.cells[2])
    assert text_of(notebook.cells[3]) == "'AgentResult'"


def test_json_is_bound_as_a_value_and_shown_in_order():
    notebook = executed(
        """agent = bot('Here:\\n```json\\n{"b":[1,2],"a":null}\\n```')""",
        "%%agent agent -f json -o data\nhi",
        "data, Out[3].output is data, Out[3].answer[:5]",
        f"{SENT}.messages[0].content",
    )
    shown = text_of(notebook.cells[2])
    assert '"b": [\n    1,\n    2\n  ]' in shown
    assert "Here:" not in shown
    assert text_of(notebook.cells[3]) == "({'b': [1, 2], 'a': None}, True, 'Here:')"
    assert "one JSON value" in text_of(notebook.cells[4])


def test_a_table_is_bound_as_a_frame_and_shown_as_one():
    notebook = executed(
        f"agent = bot({RECORDS})",
        "%%agent agent -f df -o frame\nhi",
        "type(frame).__module__, frame['n'].sum().item(), type(Out[3]).__name__",
    )
    assert mimes(notebook.cells[2])[1:] == [{"text/html", "text/plain"}]
    assert '"region"' not in text_of(notebook.cells[2])
    assert text_of(notebook.cells[3]) == "('pandas', 8, 'AgentResult')"


def test_a_long_answer_is_replaced_as_a_whole():
    notebook = executed(
        "import json; rows = [{'n': n, 'text': 'word ' * 9} for n in range(400)]",
        "agent = bot(json.dumps(rows, indent=1))",
        "%%agent agent -f df -o frame\nhi",
        "len(frame)",
    )
    assert '"text"' not in text_of(notebook.cells[3])
    assert len(mimes(notebook.cells[3])) == 2
    assert text_of(notebook.cells[4]) == "400"


def test_text_on_the_way_to_a_value_stays():
    notebook = executed(
        "agent = bot(['Let me add. ', call('add', a=1, b=2)], '[3]')",
        "%%agent agent -f json -o data\nhi",
        "data",
    )
    assert "Let me add." in text_of(notebook.cells[2])
    assert text_of(notebook.cells[3]) == "[3]"


def test_code_is_proposed_as_one_cell_and_shown():
    with attended_kernel() as client:
        client.run(
            "agent = bot('So:\\n```python\\nx = 6\\n```\\nand\\n```python\\nx * 7\\n```')"
        )
        reply = client.run("%%agent agent -f code -o r\nhi")
        assert reply.next_inputs == ["x = 6\n\nx * 7"]
        assert "```python\nx = 6\n```" in reply.text
        assert client.run("r.output").text == "'x = 6\\n\\nx * 7'"


def test_a_formula_is_shown_as_mathematics():
    notebook = executed(
        r"agent = bot(r'\frac{a}{b} < c', r'a &= b \\ c &= d', 'So $x$ it is.')",
        "%%agent agent -f math\nhi",
        "%%agent agent -f math\nhi",
        "%%agent agent -f math\nhi",
    )
    first, second, third = (
        cell.outputs[1]["data"]["text/markdown"] for cell in notebook.cells[2:]
    )
    assert first == "$$\n\\frac{a}{b} < c\n$$"
    assert second == "$$\n\\begin{aligned}\na &= b \\\\ c &= d\n\\end{aligned}\n$$"
    assert third == "So $x$ it is."


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("json", "is not JSON: Expecting value"),
        ("df", "is not a table: there is no JSON, no CSV and no Markdown table in it"),
        ("code", "is not code: there is no Python code in it"),
        ("math", "is not a formula: there is no formula in it"),
    ],
)
def test_an_answer_that_cannot_be_read_is_kept(name, said):
    notebook = executed(
        "agent = bot('I am sorry, Dave.'); data = 'before'",
        f"%%agent agent -f {name} -o data\nhi",
        "data, (await agent.last_run.result()).answer, type(agent.last_run).__name__",
        "import sys; sys.last_value.result.answer",
        allow_errors=True,
    )
    shown = text_of(notebook.cells[2])
    assert f"AnswerFormatError: The answer above {said}" in shown
    assert "I am sorry, Dave." in shown
    assert "Traceback" not in shown
    assert text_of(notebook.cells[3]) == "('before', 'I am sorry, Dave.', 'Run')"
    assert text_of(notebook.cells[4]) == "'I am sorry, Dave.'"


def test_without_pandas_a_table_is_refused_before_anything_is_asked():
    notebook = executed(
        "import sys; sys.modules['pandas'] = None; agent = bot('x')",
        "%%agent agent -f df\nhi",
        f"{SENT[:-4]}",
        allow_errors=True,
    )
    assert "pip install 'notebook-agents[notebook]'" in text_of(notebook.cells[2])
    assert text_of(notebook.cells[3]) == "[]"


def test_verbose_shows_calls_and_thoughts_open_and_whole():
    notebook = executed(
        "@tool\ndef lines(n: int) -> str:\n    'Give lines.'\n"
        "    return '\\n'.join(f'line {i}' for i in range(n))",
        "asked = {'reasoning': 'Hm.', 'tool_calls': [call('lines', n=60)]}",
        "agent = bot(asked, 'done', asked, 'done'); agent.add_tool(lines)",
        "%%agent agent -v\nhi",
        "%%agent agent\nhi",
    )
    verbose, usual = (
        "".join(output["data"].get("text/html", "") for output in cell.outputs)
        for cell in notebook.cells[4:]
    )
    assert verbose.count("<details open ") == 2
    assert "line 59" in verbose
    assert "<details open " not in usual
    assert "line 59" not in usual


def test_a_variable_can_be_the_system_prompt():
    notebook = executed(
        "agent = bot('a', 'b', system_prompt='own'); tone = 'Be brief.'",
        "%%agent agent -s {tone}\nhi",
        f"{SENT}.messages[0].content",
        "%%agent agent -f code --on-error show\nhi",
        f"{SENT}.messages[0].content",
    )
    assert text_of(notebook.cells[3]) == "'Be brief.'"
    assert text_of(notebook.cells[5]).startswith("'own\\n\\nAnswer with Python")


TYPED = """
from pydantic import BaseModel
class Row(BaseModel):
    city: str
    n: int
Rows = list[Row]
whole = ScriptedProvider(['{"answer": 3}'] * 3)
one = Agent(whole, name='one', output_type=int)
said = '{"answer": [{"city": "Bonn", "n": 1}]}'
several = Agent(ScriptedProvider([said] * 4), name='several')
"""


def test_a_typed_answer_is_read_as_its_value_whatever_the_format():
    notebook = executed(
        TYPED,
        "%%agent one -f json -o value\nhow many",
        "value, one._model.get().requests[-1].messages[0].role",
        "%%agent several --schema Rows -o rows\nlist",
        "rows",
        "%%agent several --schema Rows -f json -o rows\nlist",
        "rows",
        "%%agent several --schema Rows -f df -o frame\nlist",
        "frame.to_dict('records')",
    )
    assert text_of(notebook.cells[2]).endswith("\n3")
    assert text_of(notebook.cells[3]) == "(3, 'user')"
    assert text_of(notebook.cells[5]) == "[Row(city='Bonn', n=1)]"
    assert '"city": "Bonn"' in text_of(notebook.cells[6])
    assert text_of(notebook.cells[7]) == "[Row(city='Bonn', n=1)]"
    assert text_of(notebook.cells[9]) == "[{'city': 'Bonn', 'n': 1}]"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("one -f code", "-f code reads a text, but the answer is of the type int."),
        ("several --schema Rows -f math", "the answer is of the type list[Row]."),
        ("several --schema Row5", "there is no 'Row5'. Did you mean 'Row'?"),
        ("several --schema nope", "there is no 'nope'. Define it in a cell above."),
        ("several --schema asyncio", "cannot be read from JSON"),
    ],
)
def test_a_type_that_cannot_be_answered_with_is_said_before_anything_is_asked(
    typed, line, said
):
    reply = typed.run(f"%%agent {line}\nx")
    assert reply.status == "error"
    assert said in reply.text
    assert "[]" in typed.run("print(several._model.get().requests)").text


@pytest.fixture(scope="module")
def typed():
    """Give a kernel with agents that answer with values."""
    with attended_kernel() as client:
        assert client.run(TYPED).status == "ok"
        yield client
