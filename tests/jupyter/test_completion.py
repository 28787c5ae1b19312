"""The Tab key offers what fits on the line of a magic, and nothing else there."""

from __future__ import annotations

import ast

import pytest

from tests.jupyter.cells import executed, text_of

pytestmark = pytest.mark.notebook

LINES = {
    "%%agent ": ["analyst", "helper"],
    "%%agent an": ["analyst"],
    "%%agent analyst ": [],
    "%%agent analyst --mo": ["--model"],
    "%%agent -v --verb": [],
    "%%agent -t add --too": ["--tool"],
    "%%agent -f ": ["markdown", "text", "json", "df", "code", "math"],
    "%%agent --format=j": ["--format=json"],
    "%%agent -y ": ["ask", "policy", "allow", "deny"],
    "%%agent --on-error sh": ["show"],
    "%%agent helper -t ": ["fly"],
    "%%agent -t ": ["add", "delete", "fly"],
    "%%agent -p temp": ["temperature="],
    "%%agent -m local:s": ["local:smollm2-135m"],
    "%%agent -m ope": ["openai-compatible:", "openai:", "openrouter:"],
    "%%agent -m oll": ["ollama:", "ollama:qwen3"],
    "%%agent -S ": ["diary", '"my thesis"'],
    '%%agent -S "my': ['"my thesis"'],
    "%agent us": ["usage", "use"],
    "%agent use ": ["analyst", "helper"],
    "%agent use analyst ": [],
    "%agent usage --": ["--df"],
    "%agent history --df h": ["helper"],
    "%agent reset a": ["analyst"],
    "%agent approve ": [],
}
OTHERS = (
    "%%agent -m mi",
    "analyst = ana",
    "%%agent analyst\nanal",
    "%%agents -",
    "agent -",
)

LOOK = """
from IPython.core.completer import provisionalcompleter
ip = get_ipython()
def offered(text):
    line = text.split("\\n")[-1]
    old = ip.complete(None, line, len(line))[1]
    with provisionalcompleter():
        new = [text[:c.start] + c.text for c in ip.Completer.completions(text, len(text))]
    return old, new
"""


@pytest.fixture(scope="module")
def offered():
    """Press the Tab key at the end of each line, as kernels of two times ask."""
    notebook = executed(
        "from notebook_agents import open_session\n"
        "for name in ('my thesis', 'diary'):\n"
        "    open_session(name).add({'role': 'user', 'content': 'x'})\n"
        "def fly(): 'Fly.'\n"
        "class Mine(ScriptedProvider): name = 'mine'\n"
        "analyst = Agent('ollama:qwen3', [add, delete])\n"
        "helper = Agent(Mine(['y']), [fly])",
        LOOK,
        f"print({{text: offered(text) for text in {[*LINES, *OTHERS]!r}}})",
        "%unload_ext notebook_agents",
        "print(offered('%%agent an')[1], offered('%agent us')[1])",
    )
    given = ast.literal_eval(text_of(notebook.cells[3]))
    return given, text_of(notebook.cells[5])


@pytest.mark.parametrize("line", LINES)
def test_what_fits_is_offered_alone(offered, line):
    old, new = offered[0][line]
    before = line.removesuffix(line.split(" ")[-1])
    if LINES[line]:
        assert sorted(old) == sorted(LINES[line])
        assert {each.removeprefix(before) for each in new} == set(LINES[line])
    else:  # then IPython offers what it likes
        assert not [each for each in new if each.startswith(f"{before}-")]


def test_a_model_that_has_no_name_is_not_offered(offered):
    assert not any("mine" in each for each in offered[0]["%%agent -m mi"][1])


def test_elsewhere_nothing_is_in_the_way(offered):
    assert "analyst = analyst" in offered[0]["analyst = ana"][1]
    assert "%%agent analyst\nanalyst" in offered[0]["%%agent analyst\nanal"][1]
    for text in ("%%agents -", "agent -"):
        assert not any("--model" in each for each in offered[0][text][1])


def test_without_the_extension_nothing_is_offered(offered):
    assert "usage" not in offered[1]
