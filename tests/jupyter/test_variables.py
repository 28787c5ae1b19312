"""Tools in a notebook take its variables by name, and hand results back."""

from __future__ import annotations

import pytest

from notebook_agents.jupyter.variables import NotebookVariables
from tests.jupyter.cells import attended_kernel, executed, text_of

FRAMES = """
import pandas as pd

@tool
def rows(frame: pd.DataFrame) -> int:
    "Count rows."
    log.append(threading.current_thread().name)
    return len(frame)

@tool
def top(frame: pd.DataFrame, n: int) -> pd.DataFrame:
    "Take the first rows."
    return frame.head(n)

def analyst(*script):
    return Agent(ScriptedProvider([*script, "Done."]), [rows, top], name="analyst")

sales = pd.DataFrame({"region": ["north", "south"], "revenue": [1, 2]})
"""
CONTENTS = "[c['content'] for c in {}.tool_calls]"


@pytest.fixture(scope="module")
def asked():
    """Ask about a variable of the notebook from every entry point."""
    ask = "agent = analyst(call('rows', frame='sales'))"
    return executed(
        FRAMES,
        f"{ask}\nr = agent.run_sync('go'); {CONTENTS.format('r')}",
        f"{ask}\nr = await agent.run('go'); {CONTENTS.format('r')}",
        f"{ask}\nr = await agent.stream('go').result(); {CONTENTS.format('r')}",
        f"{ask}\nr = await agent.start('go').result(); {CONTENTS.format('r')}",
        ask,
        "%%agent agent -o r\nHow many?",
        CONTENTS.format("r"),
    )


@pytest.mark.notebook
@pytest.mark.parametrize("index", [2, 3, 4, 5, 8])
def test_a_tool_takes_a_variable_of_the_notebook(asked, index):
    assert text_of(asked.cells[index]) == "['2']"


@pytest.mark.notebook
def test_a_run_in_another_thread_takes_none():
    notebook = executed(
        FRAMES,
        "agent = analyst(call('rows', frame='sales'))\n"
        "r = await asyncio.to_thread(agent.run_sync, 'go')\n" + CONTENTS.format("r"),
    )
    assert "there is no DataFrame yet" in text_of(notebook.cells[2])


@pytest.mark.notebook
def test_a_served_agent_takes_none_but_what_it_was_given():
    serve = """
from notebook_agents import serve
import urllib.request, json

def asked(agent):
    server = serve(agent)
    request = urllib.request.Request(
        server.url + "/chat", json.dumps({"message": "go", "user_id": "u"}).encode(),
        {"Content-Type": "application/json", "Authorization": "Bearer " + server.token},
    )
    reply = json.load(urllib.request.urlopen(request))
    server.stop()
    return reply["errors"]
"""
    notebook = executed(
        FRAMES,
        serve,
        "await asyncio.to_thread(asked, analyst(call('rows', frame='sales')))",
        "agent = Agent(ScriptedProvider([call('rows', frame='sales'), '.']), [rows],\n"
        "              name='given', namespace={'sales': sales})\n"
        "await asyncio.to_thread(asked, agent)",
    )
    assert "there is no DataFrame yet" in text_of(notebook.cells[3])
    assert text_of(notebook.cells[4]) == "[]"


@pytest.mark.notebook
def test_a_result_is_a_table_for_the_person_and_a_handle_for_the_model():
    with attended_kernel() as client:
        client.run(FRAMES)
        client.run(
            "agent = analyst(call('top', frame='sales', n=1), 'One.',"
            " call('rows', frame='df_1'))"
        )
        shown = client.run("%%agent agent\nTake the first", cell="a").text
        again = client.run("%%agent agent -o r\nCount it", cell="b")
        told = client.run(CONTENTS.format("r")).text
        handles = client.run("list(agent.handles), len(agent.handles['df_1'])").text
    assert "north" in shown
    assert again.status == "ok"
    assert told == "['1']"
    assert handles == "(['df_1'], 1)"


@pytest.mark.notebook
def test_a_cell_that_defines_a_tool_again_is_what_the_next_cell_calls():
    define = (
        '@tool\ndef greet(name: str) -> str:\n    "Greet."\n    return "{} " + name'
    )
    notebook = executed(
        define.format("Hello"),
        "agent = Agent(ScriptedProvider([call('greet', name='Ada'), '.'] * 2), [greet])",
        "%%agent agent -o first\nGreet",
        define.format("Good morning"),
        "%%agent agent -o second\nGreet",
        f"{CONTENTS.format('first')}, {CONTENTS.format('second')}",
    )
    assert text_of(notebook.cells[6]) == "(['Hello Ada'], ['Good morning Ada'])"


@pytest.mark.notebook
def test_progress_is_in_the_cell_and_stop_closes_the_tool():
    with attended_kernel() as client:
        client.run("""
from notebook_agents import Progress

@tool
def load():
    "Load rows."
    try:
        for row in range(10_000):
            yield Progress(row, 10_000, f"row {row}")
            time.sleep(0.05)
    finally:
        log.append("closed in " + threading.current_thread().name)

agent = Agent(ScriptedProvider([call('load'), '.']), [load])
""")
        shown = client.run("%%agent agent\nLoad", stop_at="of 10000 · row 3", cell="a")
        log = client.run("log").text
    assert shown.status == "error"
    assert "of 10000 · row " in shown.text
    assert log == "['closed in MainThread']"


class Shell:
    """What `NotebookVariables` looks at."""

    def __init__(self) -> None:
        self.user_ns_hidden = {"exit": exit, "In": ["a"]}
        self.user_ns = {**self.user_ns_hidden, "sales": 1}


def test_what_ipython_brings_is_no_variable_of_the_user():
    shell = Shell()
    variables = NotebookVariables(shell)
    assert dict(variables) == {"sales": 1}
    assert "exit" not in variables
    shell.user_ns["exit"] = 5  # the user's own now
    shell.user_ns["more"] = 2
    assert dict(variables) == {"sales": 1, "exit": 5, "more": 2}
    assert len(variables) == 3
