"""``%%tool`` turns the functions of a cell into tools, and does nothing else to it."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.jupyter.cells import SETUP, attended_kernel, executed, text_of

pytestmark = pytest.mark.notebook

AGENT = "agent = Agent(ScriptedProvider([]), name='bot')"
TOOLS = "{n: (t.approval, t.risk) for n, t in agent.tools.items()}"


def shown(cell) -> str:
    """Give what a cell shows, without colours and blank lines."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", text_of(cell))
    return "\n".join(line for line in text.splitlines() if line.strip())


@pytest.fixture(scope="module")
def notebook():
    """Run cells of many kinds, one after the other, as Run All does."""
    return executed(
        AGENT,
        "%%tool agent\n"
        "from os.path import join\n"
        "def add(a: int, b: int = 1) -> int:\n    'Add.'\n    return a + b\n"
        "def _helper(x): pass\n"
        "class Thing:\n    def method(self): pass\n"
        "if True:\n    def under(x): 'Below an if.'\n"
        "shortcut = lambda x: x\n"
        "gone = 1\n"
        "def gone(): pass\n"
        "del gone",
        "%%tool agent --approval --risk write\n"
        "@tool(name='remove')\ndef delete(n: int): 'Delete.'\n"
        "@tool(approval=lambda args: args['n'] > 1)\ndef pay(n: int): 'Pay.'\n",
        "%%tool\n"
        "@tool(approval=lambda args: args['n'] > 1)\ndef maybe(n: int): 'Maybe.'\n"
        "@tool(approval='risky', risk='read')\ndef look(): 'Look.'\n"
        "@tool(approval='risky')\ndef touch(): 'Touch.'\n",
        TOOLS,
        "%%tool\nfrom __future__ import annotations\n"
        "async def later(x: int):\n    'Later.'\n    await asyncio.sleep(0)\n"
        "    return x\n"
        "await later(5)",
        "%%tool agent\ndef quiet(a): 'x'\n5;",
        "%%tool agent\n%time y = 2\nlines = !echo hi\ndef magic(a): 'x'\nprint(lines)",
        "%%time\n%%tool agent\ndef timed(a): 'x'\n3",
        "%%capture out\n%%tool agent\ndef captured(a): 'x'",
        "print(out.stdout)",
        "cell = '''from __future__ import annotations\n\ndef passed(a: int): 'x'\n'''\n"
        "get_ipython().run_cell_magic('tool', 'agent', cell)",
        "import inspect\nprint(inspect.getsource(add), inspect.getsource(passed))",
        "%%tool agent\nx = 1\n",
        "sorted(agent.tools)",
    )


def test_functions_at_the_top_become_tools_and_nothing_else_does(notebook):
    assert shown(notebook.cells[2]) == "bot: added add(a, b), under(x)"


def test_the_line_says_which_calls_ask(notebook):
    assert shown(notebook.cells[3]) == "bot: added remove(n) [asks], pay(n) [asks]"
    assert shown(notebook.cells[4]) == (
        "bot: added maybe(n) [may ask], look(), touch() [asks]"
    )


def test_what_the_agent_itself_says_about_asking_counts():
    notebook = executed(
        "one = Agent('local', approval_tools=['wipe'], name='one')",
        "two = Agent('local', policy='allow', name='two')",
        "%%tool one\ndef wipe(): 'x'\ndef look(): 'x'",
        "%%tool two --approval\ndef clear(): 'x'",
    )
    assert shown(notebook.cells[3]) == "one: added wipe() [may ask], look()"
    assert shown(notebook.cells[4]) == "two: added clear()"


def test_options_of_the_line_win_over_the_decorator(notebook):
    tools = shown(notebook.cells[5])
    assert "'remove': (True, 'write')" in tools
    assert "'pay': (True, 'write')" in tools
    assert "'add': (None, None)" in tools


def test_a_cell_may_await_and_has_a_value(notebook):
    assert shown(notebook.cells[6]) == "bot: added later(x)\n5"
    assert shown(notebook.cells[7]) == "bot: added quiet(a)"


def test_a_cell_may_hold_magics(notebook):
    assert shown(notebook.cells[8]).endswith("['hi']\nbot: added magic(a)")


def test_it_works_below_another_magic_and_called_by_a_program(notebook):
    assert shown(notebook.cells[9]).startswith("bot: added timed(a)\nCPU times")
    assert shown(notebook.cells[9]).endswith("\n3")
    assert shown(notebook.cells[11]) == "bot: added captured(a)"
    assert shown(notebook.cells[12]) == "bot: added passed(a)"


def test_the_source_of_a_tool_can_be_looked_up(notebook):
    assert shown(notebook.cells[13]).startswith("def add(a: int, b: int = 1) -> int:")
    assert "def passed(a: int): 'x'" in shown(notebook.cells[13])


def test_a_cell_without_functions_says_so(notebook):
    assert shown(notebook.cells[14]) == (
        "bot: the cell defines no function, so nothing was added"
    )
    assert "join" not in shown(notebook.cells[15])


@pytest.fixture(scope="module")
def failed():
    """Make every mistake once."""
    return executed(
        AGENT,
        "%%tool agent\ndef first(x): 'x'\n1 / 0",
        "%%tool nosuch\nprint('ran')",
        "%%tool agent --risk much\nprint('ran')",
        "%%tool agent\ndef good(a): 'x'\n@tool(name='bad name')\ndef bad(a): 'x'",
        "%%tool agent\ndef f(:\n    pass",
        "sorted(agent.tools)",
        allow_errors=True,
    )


def test_a_cell_that_fails_adds_nothing_and_points_at_its_line(failed):
    assert "----> 3 1 / 0" in shown(failed.cells[2])
    assert "'%%tool agent'" in shown(failed.cells[2])
    assert shown(failed.cells[-1]) == "[]"


@pytest.mark.parametrize(
    ("index", "said"),
    [
        (3, "There is no agent named 'nosuch' here; agents: agent"),
        (4, "invalid choice: 'much'"),
        (5, "'bad name' cannot be the name of a tool"),
    ],
)
def test_a_mistake_is_one_line_before_anything_runs(failed, index, said):
    assert said in shown(failed.cells[index])
    assert len(shown(failed.cells[index]).splitlines()) == 1


def test_a_cell_that_runs_again_leaves_no_ghost():
    with attended_kernel() as client:
        client.run(
            "agent = Agent(ScriptedProvider([]), name='bot'); other = Agent('local')"
        )
        client.run("%%tool agent\ndef other_cell(): 'x'", cell="b")
        client.run("%%tool agent\ndef old(a): 'x'\ndef same(a): 'x'", cell="a")
        again = client.run("%%tool agent\ndef new(a): 'x'\ndef same(b): 'x'", cell="a")
        assert again.text.strip() == "bot: added new(a), same(b); removed old"
        assert client.run("sorted(agent.tools)").text == "['new', 'other_cell', 'same']"
        failing = client.run("%%tool agent\ndef newer(a): 'x'\n1/0", cell="a")
        assert failing.status == "error"
        assert client.run("sorted(agent.tools)").text == "['new', 'other_cell', 'same']"
        moved = client.run("%%tool other\ndef same(c): 'x'", cell="a")
        assert moved.text.strip() == "agent: added same(c); removed new, same"
        assert client.run("sorted(agent.tools)").text == "['other_cell']"


def test_a_tool_that_was_replaced_elsewhere_is_no_ghost():
    with attended_kernel() as client:
        client.run("agent = Agent(ScriptedProvider([]), name='bot')")
        client.run("%%tool agent\ndef mine(a): 'x'", cell="a")
        client.run("@tool\ndef mine(b): 'y'\nagent.add_tool(mine)")
        again = client.run("%%tool agent\ndef other(a): 'x'", cell="a")
        assert again.text.strip() == "bot: added other(a)"
        assert client.run("sorted(agent.tools)").text == "['mine', 'other']"


def test_an_agent_runs_such_a_tool_and_asks_where_it_has_to():
    notebook = executed(
        "agent = Agent(ScriptedProvider([[call('twice', n=4), call('wipe')], 'ok']))",
        "%%tool agent\nasync def twice(n: int): 'Twice.'; return 2 * n",
        "%%tool agent --approval\ndef wipe(): log.append('wiped')",
        "%%agent agent\ngo",
        "[each['content'] for each in Out[5].tool_calls], log",
    )
    assert "'8'" in text_of(notebook.cells[5])
    assert "nobody is there to ask" in text_of(notebook.cells[5])
    assert text_of(notebook.cells[5]).endswith("[])")


def test_help_lists_the_options_and_unloading_takes_it_away():
    notebook = executed(
        "print(get_ipython().find_cell_magic('tool').__doc__)",
        "%unload_ext notebook_agents",
        "print(get_ipython().find_cell_magic('tool'), get_ipython().ast_transformers)",
    )
    assert "--approval" in text_of(notebook.cells[1])
    assert text_of(notebook.cells[3]).strip() == "None []"


def test_it_works_in_plain_ipython(home):
    script = (
        SETUP
        + AGENT
        + "\nget_ipython().run_cell('%%tool agent\\ndef f(a): \"x\"\\n7')\nprint(agent)\n"
    )
    (home / "script.ipy").write_text(script)
    command = [sys.executable, "-m", "IPython", "--colors=NoColor", home / "script.ipy"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=40
    )
    added, value, agent = done.stdout.strip().splitlines()
    assert added == "bot: added f(a)"
    assert re.fullmatch(r"Out\[\d\]: 7", value)
    assert agent.endswith("tools: f>")
