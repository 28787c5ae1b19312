"""What a person can answer in the card besides yes and no, in JupyterLab."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

SETUP = '''
from typing import Literal
from notebook_agents import Agent, ScriptedProvider, call, tool

log = []

@tool(approval=True, risk="write")
def delete_rows(table: str, limit: int = 10, mode: Literal["soft", "hard"] = "soft",
                dry: bool = False, columns: list[str] | None = None) -> str:
    """Delete rows from a table of this notebook."""
    log.append((table, limit, mode, dry))
    return f"deleted from {table}"

asked = call("delete_rows", table="sales", limit=5, mode="hard", dry=True)
agent = Agent(ScriptedProvider([asked, asked, "All done."]), [delete_rows], name="bot")
print("ready")
'''
RUN = "r = agent.run_sync('x'); print(*[each['content'] for each in r.tool_calls])"


@pytest.fixture
def notebook(lab, request):
    """Open a notebook whose second cell asks twice about one tool."""
    name = request.node.name
    with lab.notebook(name, SETUP, RUN, "print(log)") as opened:
        opened.run(0)
        opened.wait_shown(0, "ready")
        opened.start(1)
        opened.button(1, "Approve").wait_for()
        yield opened
        opened.screenshot(f"{name}-end")


def mimes(notebook):
    outputs = notebook.saved()["cells"][1]["outputs"]
    return {mime for output in outputs for mime in output.get("data", ())}


def test_edited_arguments_run_and_the_record_says_so(notebook):
    cell = notebook.cell(1)
    notebook.screenshot("card-asking")
    notebook.button(1, "Edit…").click()
    cell.get_by_label("table").fill("test")
    cell.get_by_label("limit").fill("7")
    cell.get_by_label("mode").select_option("soft")
    cell.get_by_label("dry").press("Space")
    notebook.screenshot("card-editing")
    notebook.button(1, "Approve").click()
    notebook.wait_shown(1, "Approved by you, edited")
    notebook.button(1, "Stop run").wait_for()
    notebook.button(1, "Deny").click()
    notebook.wait_done(1)
    notebook.wait_shown(1, "The user changed the arguments")
    assert "('test', 7, 'soft', False)" in notebook.run(2)
    assert "application/vnd.jupyter.widget-view+json" not in mimes(notebook)


def test_arguments_that_do_not_fit_are_said_in_the_card_and_can_be_mended(notebook):
    cell = notebook.cell(1)
    notebook.button(1, "Edit…").click()
    cell.get_by_label("limit").fill("many")
    notebook.button(1, "Approve").click()
    expect(cell.get_by_role("alert")).to_have_text("limit: write a number.")
    cell.get_by_label("limit").fill("1.5")
    notebook.button(1, "Approve").click()
    expect(cell.get_by_role("alert")).to_contain_text("valid integer")
    notebook.screenshot("card-invalid")
    assert notebook.is_busy(1)
    cell.get_by_label("limit").fill("2")
    notebook.button(1, "Approve").click()
    notebook.wait_shown(1, "Approved by you, edited")
    notebook.button(1, "Deny").click()
    notebook.wait_done(1)
    assert "('sales', 2, 'hard', True)" in notebook.run(2)


def test_a_reason_to_deny_is_told_to_the_model(notebook):
    cell = notebook.cell(1)
    cell.get_by_label("Reason to deny").fill("use the <b>copy</b>")
    notebook.page.keyboard.press("Enter")
    notebook.wait_shown(1, "Denied by you")
    notebook.button(1, "Deny").click()
    notebook.wait_done(1)
    notebook.wait_shown(1, "Denied: use the <b>copy</b>. The tool was not run.")
    assert "[]" in notebook.run(2)


def test_a_tool_that_is_approved_for_the_session_does_not_ask_again(notebook):
    notebook.button(1, "Approve for session").click()
    notebook.wait_done(1)
    notebook.wait_shown(1, "Approved for this session by you")
    assert notebook.run(2).count("sales") == 2


def test_a_question_says_how_much_time_is_left(notebook):
    expect(notebook.cell(1).get_by_role("timer")).to_contain_text("left")
    notebook.button(1, "Stop run").click()
    notebook.wait_done(1)


def test_keys_of_a_field_are_no_shortcuts(notebook):
    cell = notebook.cell(1)
    notebook.button(1, "Edit…").click()
    cell.get_by_label("mode").focus()
    notebook.page.keyboard.type("ddab")
    cell.get_by_label("dry").focus()
    notebook.page.keyboard.type("ddab")
    assert notebook.page.locator(".jp-Notebook .jp-CodeCell").count() == 3
    notebook.button(1, "Stop run").click()
    notebook.wait_done(1)
