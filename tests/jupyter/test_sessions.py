"""Conversations with a name, runs that were cut off, and runs in the background."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.jupyter.cells import attended_kernel

pytestmark = pytest.mark.notebook

KILLED = """
import os, signal
from notebook_agents import Agent, ScriptedProvider, call, tool
from notebook_agents.memory.named import open_session

@tool
def add(a: int, b: int) -> int:
    "Add two numbers."
    return a + b

@tool
def delete(n: int) -> str:
    "Delete rows."
    os._exit(9)

said = ["I will add first.", call("add", a=1, b=2)]
agent = Agent(ScriptedProvider([said, call("delete", n=1)]), [add, delete], name="bot")
agent.run_sync("Add and delete", memory=open_session("diary"))
"""


@pytest.fixture
def kernel():
    """Give a kernel with a person who sees no cards."""
    with attended_kernel() as client:
        yield client


@pytest.fixture
def cut_off():
    """Leave a run of the session "diary" that was killed within its second tool."""
    done = subprocess.run([sys.executable, "-c", KILLED], check=False, timeout=40)
    assert done.returncode == 9


# ----------------------------------------------------------------- by their name


def test_a_cell_says_whether_its_session_is_new_or_continued(kernel):
    script = ("one", "two", "three", "two again", "one again", "anew", "own")
    kernel.run(f"agent = bot(*{script})")
    assert "session trip, new" in kernel.run("%%agent -S trip\nfirst", cell="a").text
    second = kernel.run("%%agent -S trip\nsecond", cell="b").text
    assert "session trip, continued after 1 turn" in second
    third = kernel.run("%%agent -S trip\nthird", cell="c").text
    assert "session trip, continued after 2 turns" in third
    again = kernel.run("%%agent -S trip\nsecond", cell="b").text
    assert "session trip, continued after 1 turn" in again
    first = kernel.run("%%agent -S trip\nfirst", cell="a").text
    assert "session trip, its first turn again" in first
    assert "session trip, new" in kernel.run("%%agent -S trip -n\nx", cell="a").text
    assert "session" not in kernel.run("%%agent\nno name", cell="c").text


def test_history_and_reset_of_a_session_by_its_name(kernel):
    kernel.run("agent = bot('It is 3.', 'x'); other = bot('y')")
    kernel.run("%%agent agent -S sums\n1 + 2?")
    kernel.run("%%agent agent\nsomething else")
    told = kernel.run("%agent history -S sums").text
    assert told.startswith("user: 1 + 2?\nassistant: It is 3. · ")
    assert "assistant: It is 3.\n" in kernel.run("%agent history other -S sums").text
    frame = kernel.run("f = %agent history -S sums --df\nprint(list(f['role']))").text
    assert "['user', 'assistant']" in frame
    assert "something else" in kernel.run("%agent history agent").text
    assert "sums is forgotten" in kernel.run("%agent reset agent -S sums").text
    gone = kernel.run("%agent history -S sums")
    assert "There is no session 'sums'" in gone.text
    assert "something else" in kernel.run("%agent history agent").text


def test_asking_for_a_session_makes_none(kernel, home):
    for line in ("history -S x", "reset -S x", "resume -S x", "sessions"):
        kernel.run(f"%agent {line}")
    assert list(home.rglob("conversations.sqlite")) == []


def test_a_session_that_is_misspelt_is_not_made(kernel):
    kernel.run("agent = bot('hi')")
    kernel.run("%%agent agent -S thesis\nhi")
    for line in ("history -S thesi", "reset -S thesi", "resume -S thesi"):
        reply = kernel.run(f"%agent {line}")
        assert reply.status == "error"
        assert "There is no session 'thesi'. Did you mean 'thesis'?" in reply.text
    assert kernel.run("%agent sessions").text.split() == ["thesis:", "2", "messages"]


# --------------------------------------------------------------------- cut off


def test_a_cell_says_that_a_run_was_cut_off_and_what_to_type(cut_off, kernel):
    kernel.run("agent = bot('Hello.')")
    reply = kernel.run("%%agent agent -S diary\nhi")
    said = (
        "A run of this conversation was cut off (“Add and delete”). "
        "%agent resume agent -S diary goes on with it."
    )
    assert said in reply.text
    assert said not in kernel.run("%agent history -S diary").text


def test_what_to_type_has_a_name_of_several_words_in_quotes(cut_off, kernel):
    kernel.run("agent = bot('Hello.', 'It is done.'); agent.name = 'data analyst'")
    shown = kernel.run('%%agent "data analyst" -S diary\nhi').text
    line = re.search(r"%agent resume .*(?= goes on with it)", shown)[0]
    assert "session diary, resumed" in kernel.run(line).text


@pytest.mark.parametrize(
    "cell",
    ["%agent resume -S diary", "pass\n%agent resume bot -S diary"],
    ids=["awaited", "blocking"],
)
def test_a_run_goes_on_in_a_cell_as_any_other(cut_off, kernel, cell):
    kernel.run("agent = bot('It is done.')")
    shown = kernel.run(cell).text
    assert "session diary, resumed" in shown
    parts = ("I will add first.", "✓ add(a=1, b=2) · done", "✗ delete(n=1) · failed")
    assert all(part in shown for part in parts)
    assert "Whether it took effect is not known" in shown
    assert "It is done." in shown
    assert kernel.run("print(log)").text.strip() == "[]"
    history = kernel.run("%agent history -S diary").text
    assert history.startswith("user: Add and delete")
    assert "It is done." in history
    nothing = kernel.run("%agent resume -S diary")
    assert "No run of this conversation was cut off" in nothing.text


def test_one_of_several_runs_that_were_cut_off_is_named(cut_off, kernel):
    done = subprocess.run([sys.executable, "-c", KILLED], check=False, timeout=40)
    assert done.returncode == 9
    kernel.run("agent = bot('Hello.', 'It is done.')")
    told = kernel.run("%%agent agent -S diary\nhi").text
    assert "2 runs of this conversation were cut off. %agent resume" in told
    reply = kernel.run("%agent resume -S diary")
    assert reply.status == "error"
    lines = [line for line in reply.text.splitlines() if "Add and delete" in line]
    first, _ = [line.split()[0] for line in lines]
    assert "It is done." in kernel.run(f"%agent resume -S diary {first[:8]}").text
    assert "is none of them" in kernel.run("%agent resume -S diary 0000").text
    assert "give 4 characters" in kernel.run("%agent resume -S diary 00").text


def test_there_is_nothing_to_resume_where_nothing_is_kept(kernel):
    kernel.run("agent = bot('x')")
    reply = kernel.run("%agent resume")
    assert reply.status == "error"
    assert "%%agent -S NAME" in reply.text


def test_a_run_that_goes_on_is_not_offered(kernel):
    kernel.run("agent = bot(call('delete', n=1), 'done', 'x')")
    kernel.run(
        "from notebook_agents.memory.named import open_session\n"
        "run = agent.start('slowly', memory=open_session('diary'))\n"
        "while not run.approvals: await asyncio.sleep(0.02)"
    )
    reply = kernel.run("%%agent agent -S diary\nhi")
    assert "cut off" not in reply.text
    kernel.run("run.cancel()")


# --------------------------------------------------------------- in the background

SLOW = "slow = Agent(ScriptedProvider(['word ' * 500] * 9, delay=0.05), name='slow')"
TWO = f"{SLOW}\nother = bot(call('delete', n=1), 'x')\na = slow.start('one')\nb = slow.start('two')\nc = other.start('three')"
ENDED = "for run in (a, b, c): await run.ended()\nprint('all ended')"


def test_stop_ends_all_that_runs_in_the_background(kernel):
    kernel.run(TWO)
    said = kernel.run("%agent stop").text.split("\n")
    assert said[:3] == ["Stopped slow: one", "Stopped slow: two", "Stopped bot: three"]
    assert "all ended" in kernel.run(ENDED).text
    assert "Nothing is running." in kernel.run("%agent stop").text


def test_stop_can_be_meant_for_one_agent(kernel):
    kernel.run(TWO)
    said = kernel.run("%agent stop slow").text
    assert said.split("\n")[:2] == ["Stopped slow: one", "Stopped slow: two"]
    kernel.run("await a.ended(); await b.ended()")
    assert "False" in kernel.run("print(c.is_done)").text
    assert "Stopped bot: three" in kernel.run("%agent stop other").text
    assert "There is no agent named 'slo'" in kernel.run("%agent stop slo").text


def test_a_run_shows_itself_where_it_is_the_value_of_a_cell(kernel):
    kernel.run(
        "agent = Agent(ScriptedProvider(['All **done**.'], delay=1.2), name='bot')"
    )
    kernel.run("run = agent.start('x'); await run.ended()")
    shown = kernel.run("run").text
    assert re.search(r"done · [1-9][.\d]* s", shown)
    assert "✓ bot · scripted:script · done" in shown
    assert "All **done**." in shown
    assert "All **done**." in kernel.run("agent.last_run").text
    assert "<Run" in kernel.run("print(run)").text


def test_the_question_of_a_captured_start_is_listed_and_can_be_answered(kernel):
    kernel.run("agent = bot(call('delete', n=1), 'done')")
    kernel.run(
        "%%capture output\nrun = agent.start('x')\n"
        "pause = threading.Event()\n"
        "for _ in range(500):\n"
        "    if run.approvals: break\n"
        "    pause.wait(0.02)\n"
        "pause.wait(0.2)  # in which a card would come that is captured"
    )
    captured = kernel.run("print([[*each.data] for each in output.outputs])").text
    assert "widget-view" not in captured
    assert "bot asks to run delete" in kernel.run("%agent approvals").text
    kernel.run("%agent approve")
    assert "done" in kernel.run("print(await run.result())").text


# ------------------------------------------------------------------------ usage


def test_what_never_reached_a_model_is_not_counted(kernel):
    kernel.run(
        "def no(text): raise ValueError('not this')\n"
        "shy = bot('hi', input_guards=[no]); keyless = Agent('openai:gpt-6-luna')\n"
        "from notebook_agents.errors import AgentProviderError\n"
        "down = bot(AgentProviderError('down'))"
    )
    for name in ("shy", "keyless"):
        assert kernel.run(f"%%agent {name}\nhi").status == "error"
    assert "Nothing has run yet." in kernel.run("%agent usage").text
    assert kernel.run("%%agent down\nhi").status == "error"
    _, line = kernel.run("%agent usage").text.strip().splitlines()
    assert line.split()[:4] == ["down", "scripted:script", "1", "1"]
