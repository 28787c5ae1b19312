"""What a person can do in JupyterLab while a cell runs."""

from __future__ import annotations

import time

import pytest
from playwright.sync_api import expect

from tests.jupyter.lab import Lab, Notebook

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

SETUP = '''
%load_ext notebook_agents
import threading, time
from notebook_agents import Agent, ScriptedProvider, call, tool

log = []

@tool(approval=True, risk="write")
def delete_rows(table: str, where: str) -> str:
    """Delete rows from a table of this notebook."""
    log.append("deleted in " + threading.current_thread().name)
    return f"deleted from {table}"

@tool
def sleep_long(seconds: float) -> str:
    """Sleep in the cell's own thread."""
    try:
        print("asleep", flush=True)
        time.sleep(seconds)
    finally:
        log.append("cleaned up")
    return "slept"

def bot(*script, **options):
    return Agent(ScriptedProvider(script, **options), [delete_rows, sleep_long], name="bot")

def asks(answer, text="I will ask first."):
    return bot([text, call("delete_rows", table="sales", where="region = 'North'")], answer)
print("ready")
'''


@pytest.fixture
def open_notebook(lab: Lab, request: pytest.FixtureRequest):
    """Open a notebook whose first cell has been run."""
    opened, notebooks = [], []

    def open_(*cells: str) -> Notebook:
        name = request.node.name.replace("[", "-").strip("]")
        context = lab.notebook(name, SETUP, *cells)
        notebook = context.__enter__()
        opened.append(context)
        notebooks.append(notebook)
        notebook.run(0)
        notebook.wait_shown(0, "ready")
        return notebook

    yield open_
    for notebook in notebooks:
        notebook.screenshot(f"{request.node.name}-end".replace(" ", "-"))
    for context in opened:
        context.__exit__(None, None, None)


ASKING = {
    "magic": "agent = asks('All **done**.')\n",
    "await": "r = await asks('All **done**.').run('delete'); r",
    "run_sync": "r = asks('All **done**.').run_sync('delete'); r",
    "stream": (
        "async for text in asks('All **done**.').stream('delete'): print(text, end='')"
    ),
}


def ask_cells(way: str) -> list[str]:
    if way == "magic":
        return [ASKING["magic"], "%%agent agent\nDelete the rows of the North"]
    return ["pass", ASKING[way]]


@pytest.mark.parametrize("way", ASKING)
def test_a_click_on_approve_in_a_busy_cell_runs_the_tool(open_notebook, way):
    """Issue 2 and design.md 10: the same question from every entry point."""
    notebook = open_notebook(*ask_cells(way), "print(log)")
    notebook.run(1)
    notebook.start(2)
    approve = notebook.button(2, "Approve")
    approve.wait_for()
    assert notebook.is_busy(2)
    notebook.screenshot(f"{way}-waiting")
    approve.click()
    notebook.wait_done(2)
    notebook.wait_shown(2, "Approved")
    notebook.wait_shown(2, "done")
    notebook.run(3)
    notebook.wait_shown(3, "deleted in MainThread")
    notebook.screenshot(f"{way}-approved")
    outputs = notebook.saved()["cells"][2]["outputs"]
    shown = [set(output.get("data", ())) for output in outputs]
    assert not any("application/vnd.jupyter.widget-view+json" in mime for mime in shown)


@pytest.mark.parametrize("way", ["magic", "run_sync"])
def test_a_click_on_deny_keeps_the_tool_from_running(open_notebook, way):
    notebook = open_notebook(*ask_cells(way), "print(log)")
    notebook.run(1)
    notebook.start(2)
    expect(notebook.button(2, "Deny")).to_be_focused()
    notebook.page.keyboard.press("Enter")
    notebook.wait_done(2)
    notebook.wait_shown(2, "Denied")
    notebook.run(3)
    notebook.wait_shown(3, "[]")


@pytest.mark.parametrize("way", ["magic", "run_sync"])
def test_a_click_on_stop_run_ends_the_cell(open_notebook, way):
    notebook = open_notebook(*ask_cells(way), "print(log)")
    notebook.run(1)
    notebook.start(2)
    notebook.button(2, "Stop run").click()
    notebook.wait_done(2)
    notebook.wait_shown(2, "RunCancelledError")
    notebook.run(3)
    notebook.wait_shown(3, "[]")


STOPPABLE = {
    "streaming": "%%agent agent\ncount",
    "blocking tool": "%%agent agent\nsleep",
    "approval": "%%agent agent\ndelete",
    "streaming sync": "print('begun', flush=True); agent.run_sync('count')",
    "blocking tool sync": "agent.run_sync('sleep')",
    "approval sync": "agent.run_sync('delete')",
    "blocking tool await": "await agent.run('sleep')",
}
AGENTS = {
    "streaming": "agent = bot('word ' * 4000, delay=0.02)",
    "blocking tool": "agent = bot(call('sleep_long', seconds=60), 'woke up')",
    "approval": "agent = asks('done')",
}


@pytest.mark.parametrize("what", STOPPABLE)
def test_the_stop_button_ends_a_cell_soon(open_notebook, what):
    agent = AGENTS[what.removesuffix(" sync").removesuffix(" await")]
    notebook = open_notebook(agent, STOPPABLE[what], "print(log, 6 * 7)")
    notebook.run(1)
    notebook.start(2)
    if "approval" in what:
        notebook.button(2, "Approve").wait_for()
    elif "streaming" in what:
        notebook.wait_shown(2, "begun" if "sync" in what else "word word word")
    else:
        notebook.wait_shown(2, "asleep")
    assert notebook.is_busy(2)
    began = time.monotonic()
    notebook.interrupt()
    notebook.wait_done(2, 10)
    took = time.monotonic() - began
    notebook.wait_shown(2, "KeyboardInterrupt")
    notebook.run(3, 10)
    notebook.wait_shown(3, "42")
    after = notebook.shown(3)
    assert ("cleaned up" in after) is ("blocking" in what)
    assert took < 5, f"stopping took {took:.2f} s"
    notebook.screenshot(f"stopped-{what.replace(' ', '-')}")
