"""A run as a file."""

from __future__ import annotations

import json
import subprocess
import sys

import nbformat
import pytest

from notebook_agents import Agent, ScriptedProvider, call, event_from_dict, tool
from notebook_agents.errors import AgentConfigurationError
from notebook_agents.jupyter.line import split_words
from tests.jupyter.cells import executed, text_of


@tool(approval=True)
def rm(path: str) -> str:
    """Remove a file."""
    return f"removed {path} and ```that```"


@pytest.fixture
def result():
    script = [call("rm", path="a"), "It is **gone**. <script>alert(1)</script>"]
    agent = Agent(ScriptedProvider(script), [rm], name="cleaner")
    return agent.run_sync("Remove a", policy="allow")


def test_markdown_has_the_question_the_calls_and_the_answer(result, tmp_path):
    text = result.export(tmp_path / "run.md").read_text("utf-8")
    assert text.startswith("# cleaner\n\n> Remove a\n\n")
    assert "> ````text\n> " in text  # a longer fence than any in the result
    assert "Approved by the policy" in text
    assert "It is **gone**." in text
    assert "<script>" not in text
    assert text.rstrip().endswith("*")


def test_a_notebook_can_be_run_again_and_read_without(result, tmp_path):
    path = result.export(str(tmp_path / "run.ipynb"))
    document = nbformat.read(path, as_version=4)
    nbformat.validate(document)
    _, cell = document.cells
    assert cell.source == "%%agent cleaner\nRemove a"
    texts = [output.data.get("text/plain", "") for output in cell.outputs]
    assert "done" in texts[0]
    assert any("removed a" in text for text in texts)
    live = [output.data.get("text/markdown", "") for output in cell.outputs]
    assert any("**gone**" in text for text in live)
    assert not any("<script>" in text for text in live)


@pytest.mark.notebook
def test_an_exported_notebook_runs_where_the_agent_is_defined(result, tmp_path):
    path = result.export(tmp_path / "run.ipynb")
    load, ask = (cell.source for cell in nbformat.read(path, as_version=4).cells)
    define = (
        "from notebook_agents import Agent, ScriptedProvider\n"
        "cleaner = Agent(ScriptedProvider(['Nothing is left.']), name='cleaner')"
    )
    notebook = executed(define, load, ask)
    assert "Nothing is left." in text_of(notebook.cells[-1])


def test_a_web_page_shows_the_answer_and_runs_no_script_of_the_model(result, tmp_path):
    page = result.export(tmp_path / "run.html").read_text("utf-8")
    assert "<strong>gone</strong>" in page
    assert "alert(1)</script>" not in page


class Picture:
    """What a tool may return: one that shows itself in several ways."""

    def __init__(self, **shown):
        self._shown = shown

    def _repr_mimebundle_(self, **_):
        return {kind.replace("_", "/"): shown for kind, shown in self._shown.items()}


PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M/wHwAEAQH/7yMK/gAAAABJRU5ErkJggg=="


def drawn(**shown):
    """Give a run with a tool that returns a picture."""

    @tool
    def draw() -> Picture:
        """Draw."""
        return Picture(**shown)

    agent = Agent(ScriptedProvider([call("draw"), "There it is."]), [draw])
    return agent.run_sync("Draw it")


def test_a_notebook_has_what_a_tool_drew_where_the_cell_showed_it(tmp_path):
    path = drawn(image_png=PIXEL, text_plain="<Figure>").export(tmp_path / "run.ipynb")
    outputs = nbformat.read(path, as_version=4).cells[1].outputs
    kinds = ["image/png" in output.data for output in outputs]
    texts = [output.data["text/plain"] for output in outputs]
    assert kinds.count(True) == 1
    assert "draw()" in texts[kinds.index(True) - 1]
    assert texts[kinds.index(True) + 1] == "There it is."
    assert PIXEL in drawn(image_png=PIXEL).export(tmp_path / "run.html").read_text()


def test_what_a_tool_returned_as_markdown_is_made_harmless_in_a_file_too(tmp_path):
    result = drawn(text_markdown="**fine** <script>alert(1)</script>")
    for ending in ("md", "ipynb"):
        text = result.export(tmp_path / f"run.{ending}").read_text("utf-8")
        assert "**fine**" in text
        assert "<script>" not in text


@pytest.mark.parametrize(
    ("shown", "written"),
    [
        (
            {"image_png": f"{PIXEL[:60]}\n{PIXEL[60:]}\n", "text_plain": "<Figure>"},
            f"![&#60;Figure&#62;](data:image/png;base64,{PIXEL})",
        ),
        (
            {"text_html": "<table>", "text_plain": "a  b\n1  2"},
            "> ```text\n> a  b\n> 1  2\n> ```",
        ),
    ],
)
def test_markdown_has_what_a_tool_drew_as_far_as_it_can(shown, written, tmp_path):
    text = drawn(**shown).export(tmp_path / "run.md").read_text("utf-8")
    assert f"\n\n{written}\n\nThere it is." in text


@pytest.mark.parametrize(
    ("name", "prompt", "line"),
    [
        ("data analyst", "Hello", '%%agent "data analyst"'),
        ('the "big" one\\', "Hello", r'%%agent "the \"big\" one\\"'),
        ("analyst", "What is {x}?", "%%agent analyst -r"),
    ],
)
def test_the_cell_of_an_exported_notebook_asks_the_same_again(
    name, prompt, line, tmp_path
):
    result = Agent(ScriptedProvider(["Hi."]), name=name).run_sync(prompt)
    path = result.export(tmp_path / "run.ipynb")
    first, _, rest = nbformat.read(path, as_version=4).cells[1].source.partition("\n")
    assert (first, rest) == (line, prompt)
    assert split_words(first)[1] == name


def test_json_has_everything(result, tmp_path):
    data = json.loads(result.export(tmp_path / "run.json").read_text("utf-8"))
    assert data["answer"] == result.answer
    events = [event_from_dict(each) for each in data["events"]]
    assert [event.seq for event in events] == [event.seq for event in result.events]


def test_another_ending_names_those_there_are_and_touches_nothing(result, tmp_path):
    path = tmp_path / "run.docx"
    path.write_text("mine")
    with pytest.raises(AgentConfigurationError, match=r"\.md, \.ipynb, \.html, \.json"):
        result.export(path)
    assert path.read_text() == "mine"


def test_it_needs_no_notebook(tmp_path):
    code = """
import sys
sys.modules.update(dict.fromkeys(["IPython", "ipywidgets", "anywidget", "nbformat"]))
from notebook_agents import Agent, ScriptedProvider
result = Agent(ScriptedProvider(["Hi."])).run_sync("Hello")
for ending in ("md", "ipynb", "json"):
    print(result.export(f"run.{ending}").name)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.stdout.split() == ["run.md", "run.ipynb", "run.json"], done.stderr
