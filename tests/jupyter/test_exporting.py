"""A run as a file."""

from __future__ import annotations

import json
import subprocess
import sys

import nbformat
import pytest

from notebook_agents import Agent, ScriptedProvider, call, event_from_dict, tool
from notebook_agents.errors import AgentConfigurationError


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
    (cell,) = document.cells
    assert cell.source == "%%agent cleaner\nRemove a"
    texts = [output.data.get("text/plain", "") for output in cell.outputs]
    assert "done" in texts[0]
    assert any("removed a" in text for text in texts)
    live = [output.data.get("text/markdown", "") for output in cell.outputs]
    assert any("**gone**" in text for text in live)
    assert not any("<script>" in text for text in live)


def test_a_web_page_shows_the_answer_and_runs_no_script_of_the_model(result, tmp_path):
    page = result.export(tmp_path / "run.html").read_text("utf-8")
    assert "<strong>gone</strong>" in page
    assert "alert(1)</script>" not in page


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
