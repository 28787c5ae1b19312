"""A page of JupyterLab that is reloaded, or looks elsewhere, while a card waits."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

SETUP = '''
%load_ext notebook_agents
import asyncio
from notebook_agents import Agent, ScriptedProvider, call, tool

log = []

@tool(approval=True, risk="write")
def drop(table: str) -> str:
    """Drop a table."""
    log.append(table)
    return f"dropped {table}"

def bot(*script, **options):
    return Agent(ScriptedProvider(script), [drop], name="bot", **options)

def one(**options):
    said = ["I will ask first.", call("drop", table="sales")]
    return bot(said, "All **done**.", **options)

def two():
    said = ["I will ask first.", call("drop", table="sales")]
    more = ["One more.", call("drop", table="orders")]
    return bot(said, more, "All **done**.")
agent = one()
print("ready")
'''
MAGIC = "%%agent agent\nClean up"
WIDGET = "application/vnd.jupyter.widget-view+json"


@pytest.fixture
def open_waiting(lab, request):
    """Open a notebook in which the cell after the first one asks."""
    opened = []

    def open_(asking, *cells, agent="agent = one()"):
        name = request.node.name.replace("[", "-").strip("]")
        context = lab.notebook(name, f"{SETUP}\n{agent}", asking, *cells)
        notebook = context.__enter__()
        opened.append((name, context, notebook))
        notebook.run(0)
        notebook.wait_shown(0, "ready")
        notebook.start(1)
        notebook.button(1, "Deny").wait_for()
        return notebook

    yield open_
    for name, context, notebook in opened:
        notebook.screenshot(f"{name}-end")
        context.__exit__(None, None, None)


def reload(notebook):
    notebook.saved()
    notebook.page.reload()
    notebook.button(1, "Deny").wait_for(timeout=60_000)


def kept(notebook):
    """Give what the saved cell says; it must need no kernel to be read."""
    outputs = notebook.saved()["cells"][1]["outputs"]
    assert not any(WIDGET in each.get("data", {}) for each in outputs)
    texts = [each["data"]["text/plain"] for each in outputs if "data" in each]
    return ["".join(text) for text in texts]


# ------------------------------------------------------------------- reloaded


def test_a_reloaded_page_shows_and_saves_what_it_would_have_shown(open_waiting):
    notebook = open_waiting(MAGIC, "print('log', log)")
    reload(notebook)
    notebook.screenshot("reload-waiting")
    notebook.button(1, "Approve").click()
    expect(notebook.cell(1).locator("strong", has_text="done")).to_be_visible()
    notebook.wait_shown(1, "drop(table='sales') · done")
    head, text, tool, record, answer = kept(notebook)
    assert head.startswith("✓ bot · scripted:script · done")
    assert text == "I will ask first."
    assert tool.startswith("✓ drop(table='sales') · done")
    assert record.startswith("✓ Approved by you: drop(table='sales')")
    assert answer == "All **done**."
    assert "waiting" not in notebook.shown(1)
    notebook.run(2)
    notebook.wait_shown(2, "log ['sales']")


def test_a_reloaded_page_says_how_it_goes_on_and_is_asked_again(open_waiting):
    notebook = open_waiting(MAGIC, "print('log', log)", agent="agent = two()")
    reload(notebook)
    cell = notebook.cell(1)
    notebook.button(1, "Approve").click()
    expect(cell.locator(".nba-after")).to_contain_text("dropped sales")
    expect(cell.locator(".nba-hint")).to_contain_text("This page was loaded after")
    expect(cell.locator(".nba-hint")).to_contain_text("agent.last_run shows all of it")
    expect(cell.locator(".nba-call").nth(1)).to_contain_text("orders")
    notebook.screenshot("reload-second-question")
    notebook.button(1, "Deny").click()
    notebook.wait_shown(1, "Denied by you: drop(table='orders')")
    expect(cell.locator(".nba-card")).to_have_count(0)
    shown = notebook.shown(1)
    order = ["Approved by you", "One more.", "Denied by you", "All done."]
    assert sorted(order, key=shown.index) == order
    notebook.run(2)
    notebook.wait_shown(2, "log ['sales']")


def test_a_page_may_be_reloaded_several_times(open_waiting):
    notebook = open_waiting(MAGIC, agent="agent = two()")
    reload(notebook)
    notebook.button(1, "Approve").click()
    expect(notebook.cell(1).locator(".nba-call").nth(1)).to_contain_text("orders")
    reload(notebook)
    notebook.button(1, "Approve").click()
    notebook.wait_shown(1, "All done.")
    assert sum("Approved by you" in each for each in kept(notebook)) == 2


def test_two_windows_show_the_same_and_each_can_answer(open_waiting, lab):
    notebook = open_waiting(MAGIC, agent="agent = two()")
    notebook.saved()
    with lab.second_page(notebook) as other:
        other.button(1, "Approve").click(timeout=60_000)
        expect(other.cell(1).locator(".nba-call").nth(1)).to_contain_text("orders")
        notebook.wait_shown(1, "One more.")
        assert "loaded after" not in notebook.shown(1)
        notebook.button(1, "Deny").click()
        for page in (notebook, other):
            page.wait_shown(1, "All done.")
            page.wait_shown(1, "Denied by you: drop(table='orders')")
            assert page.shown(1).count("Approved by you") == 1


def test_stop_in_a_reloaded_page_ends_the_run_and_says_so(open_waiting):
    notebook = open_waiting(MAGIC, "print('log', log)")
    reload(notebook)
    notebook.interrupt()
    notebook.wait_shown(1, "Cancelled")
    notebook.wait_shown(1, "Stopped.")
    notebook.run(2)
    notebook.wait_shown(2, "log []")


def test_a_plain_cell_keeps_the_record_and_the_answer_after_a_reload(open_waiting):
    notebook = open_waiting("result = await agent.run('Clean up')", "print(result)")
    reload(notebook)
    notebook.button(1, "Approve").click()
    notebook.wait_shown(1, "All done.")
    record, answer = kept(notebook)
    assert "Approved by you: drop(table='sales')" in record
    assert answer == "All **done**."
    notebook.run(2)
    notebook.wait_shown(2, "All **done**.")


def test_a_run_in_the_background_goes_on_in_a_reloaded_page(open_waiting):
    notebook = open_waiting("run = agent.start('Clean up'); print('begun')")
    reload(notebook)
    notebook.button(1, "Approve").click()
    notebook.wait_shown(1, "All done.")
    notebook.wait_shown(1, "begun")
    assert "All **done**." in kept(notebook)


def test_what_is_denied_for_want_of_an_answer_is_said_in_a_reloaded_page(open_waiting):
    notebook = open_waiting(MAGIC, agent="agent = one(approval_timeout=25)")
    reload(notebook)
    notebook.wait_shown(1, "Expired", 30)
    notebook.wait_shown(1, "All done.")


def test_a_blocking_cell_cannot_ask_again_but_stop_ends_it(open_waiting):
    """Its kernel answers nobody while it waits, not even a page that asks for it."""
    notebook = open_waiting(
        "agent.run_sync('Clean up')", "print('log', log)", "agent.last_run"
    )
    notebook.saved()
    notebook.page.reload()
    notebook.cell(1).locator(".cm-content").wait_for(timeout=60_000)
    notebook.interrupt()
    notebook.run(2, 20)
    notebook.wait_shown(2, "log []")
    notebook.run(3)
    notebook.wait_shown(3, "Cancelled")


# ------------------------------------------------------------------ the focus

ABOVE = "for n in range(150): print('line', n)\n"


def focused(notebook):
    return notebook.page.evaluate("document.activeElement.textContent")


def test_a_card_that_is_scrolled_away_does_not_take_the_focus(open_waiting):
    notebook = open_waiting(f"{ABOVE}result = await agent.run('Clean up')")
    deny = notebook.button(1, "Deny")
    expect(deny).not_to_be_in_viewport()
    assert focused(notebook) != "Deny"
    notebook.page.keyboard.press("Enter")
    notebook.page.wait_for_timeout(500)
    assert notebook.is_busy(1)
    deny.click()
    notebook.wait_done(1)


def test_a_card_in_sight_has_the_focus_on_deny(open_waiting):
    notebook = open_waiting(MAGIC)
    expect(notebook.button(1, "Deny")).to_be_focused()
    expect(notebook.button(1, "Deny")).to_be_in_viewport(ratio=1)
    notebook.page.keyboard.press("Enter")
    notebook.wait_done(1)


def test_what_gets_the_focus_later_is_scrolled_into_view(open_waiting):
    table = "'\\n'.join(f'line {n}' for n in range(150))"
    agent = (
        f"agent = bot(call('drop', table={table}), call('drop', table={table}), 'done')"
    )
    notebook = open_waiting(MAGIC, agent=agent)
    notebook.button(1, "Edit…").click()
    field = notebook.cell(1).get_by_label("table")
    expect(field).to_be_focused()
    expect(field).to_be_in_viewport(ratio=0.2)
    notebook.button(1, "Stop run").click()
    notebook.wait_done(1)


# ----------------------------------------------------------- shown by itself


def test_a_run_that_ends_a_cell_shows_itself_there_until_it_is_done(open_waiting):
    notebook = open_waiting("agent.start('Clean up')", "print('log', log)")
    notebook.wait_done(1)
    notebook.wait_shown(1, "waiting for approval")
    notebook.screenshot("run-shown-waiting")
    notebook.button(1, "Approve").click()
    notebook.wait_shown(1, "All done.")
    assert notebook.shown(1).count("Approved by you") == 1
    notebook.wait_shown(1, "bot · scripted:script · done")
    notebook.run(2)
    notebook.wait_shown(2, "log ['sales']")


def test_a_run_is_shown_again_in_another_cell(open_waiting):
    notebook = open_waiting(MAGIC, "agent.last_run", "agent.last_run")
    notebook.button(1, "Approve").click()
    notebook.wait_done(1)
    notebook.run(2)
    notebook.wait_shown(2, "All done.")
    notebook.screenshot("run-shown-again")
    assert notebook.shown(2).count("Approved by you") == 1


def test_the_card_of_a_captured_start_reaches_the_person(open_waiting):
    notebook = open_waiting(
        "%%capture\nrun = agent.start('Clean up')", "print('log', log)"
    )
    notebook.wait_done(1)
    notebook.button(1, "Approve").click()
    notebook.wait_shown(1, "Approved by you")
    notebook.run(2)
    notebook.wait_shown(2, "log ['sales']")
