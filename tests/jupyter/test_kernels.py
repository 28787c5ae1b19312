"""The busy cell on other kernels: ask, approve, deny and stop on each."""

from __future__ import annotations

import pytest

from tests.jupyter.kernels import KERNELS, install_kernel
from tests.jupyter.lab import Lab, Notebook
from tests.jupyter.test_busy_cell import SETUP

pytestmark = [pytest.mark.browser, pytest.mark.timeout(400)]

CELLS = (
    SETUP,
    "agent = asks('All **done**.'); log.clear()",
    "%%agent agent\nDelete the rows of the North",
    "agent = asks('All **done**.'); log.clear()",
    "r = agent.run_sync('delete'); r",
    "agent = asks('All **done**.'); log.clear()",
    "%%agent agent\nDelete the rows of the North",
    "agent = bot(call('sleep_long', seconds=60), 'woke up'); log.clear()",
    "%%agent agent\nsleep",
    "print(log, 6 * 7)",
    "%%tool agent\nimport asyncio\ndef twice(n: int):\n    'Twice.'\n    return 2 * n\nawait asyncio.sleep(0, 3)",
    "twice.form()",
    "print(get_ipython().complete(None, '%%agent -f j', 12)[1])",
)
SHARE = ".share"


@pytest.fixture(scope="module", params=KERNELS)
def notebook(lab: Lab, request: pytest.FixtureRequest):
    """Open a notebook on one of the kernels."""
    install_kernel(request.param, lab.folder / SHARE)
    name = request.param.replace(".", "-")
    with lab.notebook(name, *CELLS, kernel=request.param) as opened:
        opened.run(0, 60)
        opened.wait_shown(0, "ready", 60)
        yield opened


@pytest.mark.parametrize("cell", [2, 4])
def test_a_click_on_approve_runs_the_tool(notebook: Notebook, cell: int):
    """In an awaited cell, and in one that blocks."""
    notebook.run(cell - 1)
    notebook.start(cell)
    notebook.button(cell, "Approve").click()
    notebook.wait_done(cell)
    notebook.wait_shown(cell, "Approved by you")
    notebook.wait_shown(cell, "done")
    notebook.run(9)
    notebook.wait_shown(9, "deleted in MainThread")


def test_enter_on_the_focused_button_denies(notebook: Notebook):
    notebook.run(5)
    notebook.start(6)
    notebook.button(6, "Deny").wait_for()
    notebook.page.keyboard.press("Enter")
    notebook.wait_done(6)
    notebook.wait_shown(6, "Denied by you")
    notebook.run(9)
    notebook.wait_shown(9, "[] 42")


def test_stop_ends_a_cell_and_the_next_one_works(notebook: Notebook):
    notebook.run(7)
    notebook.start(8)
    notebook.wait_shown(8, "sleep_long")
    notebook.interrupt()
    notebook.wait_done(8, 10)
    notebook.wait_shown(8, "KeyboardInterrupt")
    notebook.run(9)
    notebook.wait_shown(9, "['cleaned up'] 42")


def test_functions_of_a_cell_become_tools_and_can_be_tried(notebook: Notebook):
    shown = notebook.run(10)
    assert "added twice(n)" in shown
    assert shown.strip().endswith("3")
    notebook.run(11)
    cell = notebook.cell(11)
    cell.get_by_label("n", exact=True).fill("4")
    notebook.button(11, "Run").click()
    notebook.wait_shown(11, "twice(n=4) · done")
    notebook.wait_shown(11, "8")


def test_the_tab_key_knows_the_line_of_a_magic(notebook: Notebook):
    assert "['json']" in notebook.run(12)
