"""The busy cell on other kernels, in a real JupyterLab: ask, answer and stop on each.

`test_front_ends` goes through all the ways; this is what no emulation can show.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.jupyter.kernels import OLDER
from tests.jupyter.lab import Lab, Notebook
from tests.jupyter.test_busy_cell import SETUP

pytestmark = [pytest.mark.browser, pytest.mark.timeout(400)]

ASK = "agent = asks('All **done**.'); log.clear()"
CELLS = (
    SETUP,
    ASK,
    "%%agent agent\nDelete the rows of the North",
    "r = agent.run_sync('delete'); r",
    "%%time\n%%agent agent\nDelete the rows of the North",
    "async for text in agent.stream('delete'): print(text, end='')",
    "%%capture output\n%%agent agent\nDelete the rows of the North",
    "agent = bot(call('sleep_long', seconds=60), 'woke up'); log.clear()",
    "%%agent agent\nsleep",
    "agent.run_sync('sleep')",
    "print(log, 6 * 7)",
    "%%tool agent\nimport asyncio\ndef twice(n: int):\n    'Twice.'\n    return 2 * n\nawait asyncio.sleep(0, 3)",
    "twice.form()",
    "print(get_ipython().complete(None, '%%agent -f j', 12)[1])",
)
MAGIC, SYNC, TIME, STREAM, CAPTURE, SLEEPER, SLEEP, SLEEP_SYNC, LOG = range(2, 11)
TOOLS, FORM, TAB = range(11, 14)
DELETED = "['deleted in MainThread'] 42"


@pytest.fixture(scope="module", params=OLDER)
def notebook(lab: Lab, older_kernels: None, request: pytest.FixtureRequest):
    """Open a notebook on one of the kernels."""
    name = request.param.replace(".", "-")
    with lab.notebook(name, *CELLS, kernel=request.param) as opened:
        opened.run(0, 60)
        opened.wait_shown(0, "ready", 60)
        yield opened


@pytest.mark.parametrize("cell", [MAGIC, SYNC, TIME, STREAM])
def test_a_click_on_approve_runs_the_tool(notebook: Notebook, cell: int):
    """In cells that await, and in those that block."""
    notebook.run(1)
    notebook.start(cell)
    notebook.button(cell, "Approve").click()
    notebook.wait_done(cell)
    notebook.wait_shown(cell, "Approved by you")
    notebook.wait_shown(cell, "done")
    notebook.run(LOG)
    notebook.wait_shown(LOG, DELETED)


@pytest.mark.parametrize("cell", [MAGIC, SYNC])
def test_enter_on_the_focused_button_denies(notebook: Notebook, cell: int):
    notebook.run(1)
    notebook.start(cell)
    expect(notebook.button(cell, "Deny")).to_be_focused()
    notebook.page.keyboard.press("Enter")
    notebook.wait_done(cell)
    notebook.wait_shown(cell, "Denied by you")
    notebook.run(LOG)
    notebook.wait_shown(LOG, "[] 42")


def test_a_click_on_stop_run_ends_the_cell(notebook: Notebook):
    notebook.run(1)
    notebook.start(SYNC)
    notebook.button(SYNC, "Stop run").click()
    notebook.wait_done(SYNC)
    notebook.wait_shown(SYNC, "RunCancelledError")
    notebook.run(LOG)
    notebook.wait_shown(LOG, "[] 42")


def test_a_captured_cell_asks_in_the_input_box(notebook: Notebook):
    notebook.run(1)
    notebook.start(CAPTURE)
    box = notebook.cell(CAPTURE).locator(".jp-Stdin-input")
    box.fill("y")
    box.press("Enter")
    notebook.wait_done(CAPTURE)
    notebook.run(LOG)
    notebook.wait_shown(LOG, DELETED)


@pytest.mark.parametrize("cell", [SLEEP, SLEEP_SYNC])
def test_stop_ends_a_cell_and_the_next_one_works(notebook: Notebook, cell: int):
    notebook.run(SLEEPER)
    notebook.start(cell)
    notebook.wait_shown(cell, "asleep")
    notebook.interrupt()
    notebook.wait_done(cell, 10)
    notebook.wait_shown(cell, "KeyboardInterrupt")
    notebook.run(LOG)
    notebook.wait_shown(LOG, "['cleaned up'] 42")


def test_functions_of_a_cell_become_tools_and_can_be_tried(notebook: Notebook):
    shown = notebook.run(TOOLS)
    assert "added twice(n)" in shown
    assert shown.strip().endswith("3")
    notebook.run(FORM)
    cell = notebook.cell(FORM)
    cell.get_by_label("n", exact=True).fill("4")
    notebook.button(FORM, "Run").click()
    notebook.wait_shown(FORM, "twice(n=4) · done")
    notebook.wait_shown(FORM, "8")


def test_the_tab_key_knows_the_line_of_a_magic(notebook: Notebook):
    assert "['json']" in notebook.run(TAB)
