"""A question that meets a reload, Run All, or a front end without subshells."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from tests.jupyter.lab import Lab
from tests.jupyter.test_busy_cell import SETUP

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]

ASK = "agent = asks('All **done**.'); log.clear()"
MAGIC = "%%agent agent\nDelete the rows of the North"
LOG = "print(log, 6 * 7)"
DELETED = "['deleted in MainThread'] 42"


def test_a_question_is_answered_after_the_page_was_reloaded(lab: Lab):
    with lab.notebook("reload", SETUP, ASK, MAGIC, LOG) as notebook:
        notebook.run(0)
        notebook.wait_shown(0, "ready")
        notebook.run(1)
        notebook.start(2)
        notebook.button(2, "Approve").wait_for()
        notebook.saved()
        notebook.page.reload()
        notebook.button(2, "Approve").click(timeout=60_000)
        notebook.start(3)
        notebook.wait_shown(3, DELETED, 30)


def test_run_all_waits_for_the_answer(lab: Lab):
    with lab.notebook("run-all", SETUP, ASK, MAGIC, LOG) as notebook:
        notebook.run(0)
        notebook.wait_shown(0, "ready")
        notebook.page.get_by_role("menuitem", name="Run", exact=True).click()
        notebook.page.locator('[data-command="runmenu:run-all"]').first.click()
        approve = notebook.button(2, "Approve")
        approve.wait_for()
        expect(notebook.cell(3).locator(".jp-InputPrompt").first).to_have_text("[*]:")
        assert "42" not in notebook.shown(3)
        approve.click()
        notebook.wait_shown(3, DELETED)


@pytest.fixture
def without_subshells(lab: Lab):
    """Let the front end send clicks the way VS Code does: behind the cell."""
    folder = lab.folder / ".settings" / "@jupyterlab" / "apputils-extension"
    path = folder / "kernels-settings.jupyterlab-settings"
    path.write_text(json.dumps({"commsOverSubshells": "disabled"}))
    yield
    path.unlink()


@pytest.mark.usefixtures("without_subshells")
def test_without_subshells_an_awaited_cell_hears_the_click(lab: Lab):
    with lab.notebook("no-subshells", SETUP, ASK, MAGIC, LOG) as notebook:
        notebook.run(0)
        notebook.wait_shown(0, "ready")
        notebook.run(1)
        notebook.start(2)
        notebook.button(2, "Approve").click()
        notebook.wait_done(2)
        notebook.start(3)
        notebook.wait_shown(3, DELETED)


@pytest.mark.usefixtures("without_subshells")
def test_without_subshells_a_blocked_cell_asks_in_the_input_box(lab: Lab):
    cells = (SETUP, ASK, "print(agent.run_sync('delete'))", LOG)
    with lab.notebook("input-box", *cells) as notebook:
        notebook.run(0)
        notebook.wait_shown(0, "ready")
        notebook.run(1)
        notebook.start(2)
        box = notebook.cell(2).locator(".jp-Stdin-input")
        box.wait_for()
        notebook.wait_shown(2, "Answer in the input box below.")
        box.fill("y")
        box.press("Enter")
        notebook.wait_done(2)
        notebook.wait_shown(2, "Approved by you")
        notebook.start(3)
        notebook.wait_shown(3, DELETED)
