"""Notebooks that run with nobody there: nbclient, papermill, nbconvert."""

from __future__ import annotations

import json

import pytest
from nbconvert import HTMLExporter

from tests.jupyter.cells import executed, text_of

pytestmark = pytest.mark.notebook


@pytest.fixture(scope="module")
def denied():
    """Ask for the same risky call from every entry point."""
    return executed(
        "agent = bot(['Let me see. ', call('delete', n=1)], 'It was **denied**.')",
        "%%agent agent\ndelete",
        "r = bot(call('delete', n=2), 'no').run_sync('delete'); r",
        "r = await bot(call('delete', n=3), 'no').run('delete'); r",
        "async for text in bot(call('delete', n=4), 'no').stream('x'): print(text)",
        "log",
    )


@pytest.mark.parametrize("index", [2, 3, 4, 5])
def test_a_risky_call_is_denied_at_once_and_the_flag_is_named(denied, index):
    flag = "-y allow" if index == 2 else 'policy="allow"'
    shown = text_of(denied.cells[index])
    assert "needs approval and nobody is there to ask" in shown
    assert flag in shown


def test_no_denied_tool_has_run(denied):
    assert text_of(denied.cells[6]) == "[]"


def test_the_notebook_keeps_no_widget(denied):
    assert "widgets" not in denied.metadata
    assert "widget-view" not in json.dumps(denied)


def test_the_answer_is_saved_as_markdown_with_readable_text(denied):
    answers = [
        output["data"]
        for output in denied.cells[2].outputs
        if "text/markdown" in output.get("data", {})
    ]
    assert answers[-1]["text/markdown"] == "It was **denied**."
    assert answers[-1]["text/plain"] == "It was **denied**."
    assert not any("text/html" in answer for answer in answers)


def test_the_answer_is_in_the_cell_once(denied):
    assert text_of(denied.cells[2]).count("It was **denied**.") == 1


def test_the_value_of_the_cell_is_the_result():
    notebook = executed(
        "agent = bot('The **answer**.')", "%%agent agent\nx", "repr(Out[3])", "Out[3]"
    )
    kinds = [output["output_type"] for output in notebook.cells[2].outputs]
    assert kinds == ["display_data", "display_data"]
    assert "<AgentResult: stop, 1 step" in text_of(notebook.cells[3])
    assert notebook.cells[4].outputs[0]["data"]["text/markdown"] == "The **answer**."


def test_a_typed_answer_is_shown_as_json_and_bound_as_a_value():
    notebook = executed(
        "from pydantic import BaseModel\n"
        "class Invoice(BaseModel):\n"
        "    vendor: str\n"
        "    parts: list['Part']\n"
        "class Part(BaseModel):\n"
        "    name: str\n"
        'answer = \'{"vendor": "Acme", "parts": [{"name": "a_b_c"}]}\'\n'
        "agent = bot('Hm.', answer, answer, output_type=Invoice)",
        "%%agent agent -o result\nRead it.",
        "print(repr(result.output), result.steps)",
        "(await agent.run('Again.', output_type=Invoice)).output.vendor",
    )
    shown = notebook.cells[2].outputs
    said = [output["data"].get("text/markdown", "") for output in shown]
    assert [text for text in said if text] == [
        '```json\n{\n  "vendor": "Acme",\n  "parts": [\n    {\n'
        '      "name": "a_b_c"\n    }\n  ]\n}\n```'
    ]
    assert "Trying again (the answer is no Invoice" in text_of(notebook.cells[2])
    assert "Invoice(vendor='Acme', parts=[Part(name='a_b_c')]) 2" in text_of(
        notebook.cells[3]
    )
    assert text_of(notebook.cells[4]) == "'Acme'"


def test_nbconvert_renders_the_answer_and_the_record(denied):
    page, _ = HTMLExporter().from_notebook_node(denied)
    assert "<strong>denied</strong>" in page
    assert "nobody is there to ask" in page


def test_dash_y_allow_runs_the_tool():
    notebook = executed(
        "agent = bot(call('delete', n=1), 'ok')",
        "%%agent agent -y allow\ndelete",
        "log",
    )
    assert "Approved" in text_of(notebook.cells[2])
    assert text_of(notebook.cells[3]) == "['deleted 1']"


@pytest.mark.parametrize(
    ("word", "log", "decided"),
    [("allow", ["deleted 1"], "Approved"), ("deny", [], "Denied")],
)
def test_dash_y_holds_for_the_members_of_a_team(word, log, decided):
    notebook = executed(
        "from notebook_agents import Orchestrator\n"
        "member = bot(call('delete', n=1), 'ok')\n"
        "script = [call('delegate', agent_name='m', task='x'), 'The end.']\n"
        "team = Orchestrator(ScriptedProvider(script), {'m': member}, name='team')",
        f"%%agent team -y {word}\ndelete",
        "log",
    )
    assert text_of(notebook.cells[3]) == str(log)
    shown, record = text_of(notebook.cells[2]), f"{decided} by the policy: delete(n=1)"
    assert shown.count(record) == 1
    assert shown.index("delegate(") < shown.index(record) < shown.index("The end.")


def test_a_question_of_a_member_of_a_team_leaves_one_record():
    notebook = executed(
        "from notebook_agents import Orchestrator\n"
        "def member(**options): return bot(call('delete', n=1), 'ok', **options)\n"
        "script = [call('delegate', agent_name='m', task='x'), 'ok']\n"
        "def team(member): return Orchestrator(ScriptedProvider(script), {'m': member})\n"
        "asks, calls = team(member()), team(member(approval_callback=lambda *_: False))",
        "%%agent asks\nx",
        "%%agent calls\nx",
    )
    nobody, callback = map(text_of, notebook.cells[2:])
    assert nobody.count("Denied by the policy: delete(n=1)") == 1
    assert nobody.count("Denied") == 1
    assert callback.count("Denied by the callback: delete(n=1)") == 1


def test_a_magic_works_under_time_and_capture():
    notebook = executed(
        "agent = bot('one', 'two', 'three')",
        "%%time\n%%agent agent\nfirst",
        "%%capture out\n%%agent agent\nsecond",
        "print(len(out.outputs))",
        "get_ipython().run_cell_magic('agent', 'agent -o third', 'x'); third.answer",
    )
    assert "one" in text_of(notebook.cells[2])
    assert "Wall time" in text_of(notebook.cells[2])
    assert int(text_of(notebook.cells[4])) >= 2
    assert "three" in text_of(notebook.cells[5])


def test_sync_and_async_tools_run_where_the_user_works():
    notebook = executed(
        "@tool\n"
        "async def where() -> str:\n"
        "    'Tell.'\n"
        "    same = asyncio.get_running_loop() is kernel_loop\n"
        "    return f'{threading.current_thread().name} {same}'\n"
        "kernel_loop = asyncio.get_running_loop()\n"
        "agent = bot([call('add', a=1, b=2), call('where')], 'ok')\n"
        "agent.add_tool(where)",
        "%%agent agent\nx",
        "print(log, agent.last_run.recorded[-3:])",
    )
    shown = text_of(notebook.cells[3])
    assert "['MainThread']" in shown
    assert "MainThread True" in shown


PRINTING = """
@tool
def loud(n: int): print("loud has run")

@tool
async def soft(n: int): print("soft has run")

@tool(thread=True)
def apart(n: int): print("apart has run")

tools = [loud, soft, apart]
script = [[f"Before {each.__name__}.", call(each.__name__, n=1)] for each in tools]
agent = Agent(ScriptedProvider([*script, "The end."]), tools)
"""


@pytest.mark.parametrize("before", ["", "%%time\n"])
def test_what_a_tool_prints_stands_below_what_led_to_it(before):
    shown = text_of(executed(PRINTING, f"{before}%%agent agent\nhi").cells[2])
    for name in ("loud", "soft", "apart"):
        text, card, printed = f"Before {name}.", f"{name}(n=1)", f"{name} has run"
        assert shown.index(text) < shown.index(card) < shown.index(printed), shown
    assert shown.index("loud has run") < shown.index("Before soft."), shown


ERRORS = {
    "Agent('local').run_sync('hi')": "%run -m notebook_agents models pull",
    "%%agent nosuch\nhi": "There is no agent named 'nosuch' here; agents: agent",
    "%%agent agnet\nhi": "Did you mean 'agent'?",
    "%%agent agent --bad\nhi": "unrecognized arguments: --bad. %%agent? lists",
    "%%agent agent -y maybe\nhi": "invalid choice: 'maybe'",
    "%%agent agent\n  ": "The cell is empty. Write below %%agent",
    "%%agent agent --max-steps 0\nhi": "--max-steps is 0; it must be at least 1",
    "%%agent agent -o 1x\nhi": "--out needs the name of a variable, not '1x'",
    "%%agent agent -o class\nhi": "--out needs the name of a variable, not 'class'",
    "%%agent agent -m nosuch:model\nhi": "There is no provider named 'nosuch'",
    "%%agent agent -m openai:gpt\nhi": "Set OPENAI_API_KEY in your environment",
    "%%agent agent -m local:nosuch\nhi": "nosuch",
    "agent.run_sync('')": "The message is empty. Write what the agent should do",
    "await agent.run('  ')": "The message is empty. Write what the agent should do",
}


@pytest.fixture(scope="module")
def failed():
    """Make every mistake once."""
    places = ("NOTEBOOK_AGENTS_HOME", "XDG_CACHE_HOME", "HOME")
    nowhere = "\n".join(f"%env {place}=/nowhere" for place in places)
    return executed(nowhere, "agent = bot()", *ERRORS, allow_errors=True)


@pytest.mark.parametrize("code", ERRORS)
def test_a_mistake_is_one_clear_line(failed, code):
    cell = next(cell for cell in failed.cells if cell.source == code)
    shown = text_of(cell).strip()
    assert ERRORS[code] in shown
    assert "Traceback" not in shown
    lines = [line for line in shown.splitlines() if line.strip()]
    assert len(lines) == 1, lines


def test_an_unknown_tool_and_bad_arguments_do_not_end_the_cell():
    notebook = executed(
        "agent = bot([call('fly'), call('add', a='x', b=1)], 'sorry')",
        "%%agent agent\nx",
    )
    shown = text_of(notebook.cells[2])
    assert "Tool 'fly' is not registered. Tools here: add, delete" in shown
    assert "sorry" in shown


def test_an_agent_can_be_asked_by_the_name_that_it_shows():
    notebook = executed("agent = bot('yes')", "%%agent bot\nIs it you?")
    assert "yes" in text_of(notebook.cells[2])


def test_a_cell_that_is_still_being_typed_is_not_taken_for_whole():
    notebook = executed("print(get_ipython().check_complete('%%agent bot'))")
    assert "incomplete" in text_of(notebook.cells[1])


def test_the_extension_can_be_unloaded_and_loaded_again():
    notebook = executed(
        "agent = bot('back')",
        "%unload_ext notebook_agents",
        "print(get_ipython().find_cell_magic('agent'))",
        "%load_ext notebook_agents",
        "%load_ext notebook_agents",
        "%%agent\nhi",
    )
    assert text_of(notebook.cells[3]).strip() == "None"
    assert "back" in text_of(notebook.cells[6])
