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


WIDGET = "application/vnd.jupyter.widget-view+json"


def mimes(notebook, cell=1):
    outputs = notebook.saved()["cells"][cell]["outputs"]
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
    assert WIDGET not in mimes(notebook)


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


def test_an_answer_takes_the_place_of_the_tool(notebook):
    notebook.button(1, "Answer instead…").click()
    notebook.button(1, "Send answer").click()
    said = "Write what the model should read as the result."
    expect(notebook.cell(1).get_by_role("alert")).to_have_text(said)
    notebook.cell(1).get_by_label("Answer in place of").fill("They are <b>gone</b>.")
    notebook.screenshot("card-answering")
    notebook.button(1, "Send answer").click()
    notebook.wait_shown(1, "Answered by you")
    notebook.button(1, "Deny").click()
    notebook.wait_done(1)
    notebook.wait_shown(1, "They are <b>gone</b>.")
    assert "[]" in notebook.run(2)


def test_this_exact_call_may_be_approved_for_the_session(notebook):
    notebook.cell(1).get_by_label("For session").select_option("exactly this call")
    notebook.button(1, "Approve for session").click()
    notebook.wait_done(1)
    notebook.wait_shown(1, "only this exact call")
    assert notebook.run(2).count("sales") == 2


# ------------------------------------------------------------ several calls

SEVERAL = '''
import time
from notebook_agents import Agent, ScriptedProvider, call, tool

%load_ext notebook_agents
log = []

@tool(approval=True, risk="write")
def keep(n: int, text: str = "") -> str:
    """Keep a number."""
    log.append(n)
    return f"kept {n}"

@tool(approval=True, risk="network", thread=True)
def send(n: int) -> str:
    """Send a number."""
    log.append(n)
    return f"sent {n}"

def bot(*calls, **options):
    agent = Agent(ScriptedProvider([list(calls), "All done."]), [keep, send],
                  name="bot", **options)
    globals()["agent"] = agent
    return agent

def three(**options):
    return bot(call("keep", n=1), call("send", n=2), call("keep", n=3), **options)
three()
print("ready")
'''
MAGIC = "%%agent agent\nDo all three"
ASK = "r = {}.run_sync('x'); print(*[each['content'] for each in r.tool_calls])"


@pytest.fixture
def open_several(lab, request):
    """Open a notebook whose second cell asks about several calls."""
    opened = []

    def open_(asking, *cells, wait_for="Approve all"):
        name = request.node.name.replace("[", "-").strip("]")
        context = lab.notebook(name, SEVERAL, asking, "print('log', log)", *cells)
        notebook = context.__enter__()
        opened.append((name, context, notebook))
        notebook.run(0)
        notebook.wait_shown(0, "ready")
        notebook.start(1)
        if wait_for:
            notebook.button(1, wait_for).wait_for()
        return notebook

    yield open_
    for name, context, notebook in opened:
        notebook.screenshot(f"{name}-end")
        context.__exit__(None, None, None)


def row(notebook, number):
    return notebook.cell(1).locator(".nba-call").nth(number - 1)


def press(notebook, number, name):
    row(notebook, number).get_by_role("button", name=name, exact=True).click()


def test_three_calls_are_approved_denied_and_edited_each_for_itself(open_several):
    notebook = open_several(ASK.format("three()"))
    notebook.screenshot("card-several")
    press(notebook, 2, "Approve")
    expect(row(notebook, 2)).to_contain_text("Approved by you: send(n=2)")
    notebook.wait_shown(1, "2 of 3 calls wait for your answer")
    row(notebook, 1).get_by_label("Reason to deny").fill("too <small>")
    press(notebook, 1, "Deny")
    expect(row(notebook, 1)).to_contain_text("Denied by you")
    press(notebook, 3, "Edit…")
    row(notebook, 3).get_by_label("n", exact=True).fill("33")
    notebook.screenshot("card-several-decided")
    press(notebook, 3, "Approve")
    notebook.wait_done(1)
    shown = notebook.shown(1)
    assert "Denied: too <small>. The tool was not run. sent 2" in shown
    assert "Approved by you, edited: keep(n=33" in shown
    records = [shown.index(word) for word in ("keep(n=1", "send(n=2", "keep(n=33")]
    assert records == sorted(records)
    assert "log [2, 33]" in notebook.run(2)
    assert WIDGET not in mimes(notebook)


def test_a_thread_tool_runs_while_the_others_still_wait(open_several):
    notebook = open_several(MAGIC)
    press(notebook, 2, "Approve")
    expect(notebook.cell(1)).to_contain_text("send(n=2) · done")
    press(notebook, 1, "Approve")
    expect(row(notebook, 1)).to_contain_text("Approved by you")
    notebook.wait_shown(1, "keep(n=1) · approved, waits for the others")
    press(notebook, 3, "Deny")
    notebook.wait_done(1)
    assert "log [2, 1]" in notebook.run(2)


def test_all_calls_are_approved_at_once(open_several):
    notebook = open_several(ASK.format("three()"))
    notebook.button(1, "Approve all").click()
    notebook.wait_done(1)
    assert "kept 1 sent 2 kept 3" in notebook.shown(1)
    log = notebook.run(2)
    assert log.index("1") < log.index("3")  # those that run in the cell
    assert WIDGET not in mimes(notebook)


def test_all_calls_are_denied_at_once(open_several):
    notebook = open_several(ASK.format("three()"))
    notebook.button(1, "Deny all").click()
    notebook.wait_done(1)
    assert "log []" in notebook.run(2)
    assert WIDGET not in mimes(notebook)


def test_stop_run_ends_all_of_them(open_several):
    notebook = open_several(ASK.format("three()"))
    notebook.button(1, "Stop run").click()
    notebook.wait_done(1)
    notebook.wait_shown(1, "RunCancelledError")
    assert "Denied, run stopped by you: keep(n=1" in notebook.shown(1)
    assert notebook.shown(1).count("Cancelled:") == 2
    assert "log []" in notebook.run(2)


def test_approving_for_the_session_answers_the_others_of_that_tool(open_several):
    notebook = open_several(ASK.format("three()"))
    press(notebook, 1, "Approve for session")
    expect(row(notebook, 3)).to_contain_text("Approved for this session: keep(n=3)")
    assert notebook.is_busy(1)
    press(notebook, 2, "Deny")
    notebook.wait_done(1)
    assert "log [1, 3]" in notebook.run(2)


def test_the_keyboard_alone_denies_one_call_after_the_other(open_several):
    notebook = open_several(ASK.format("three()"))
    for number in (1, 2, 3):
        expect(row(notebook, number).get_by_role("button", name="Deny")).to_be_focused()
        notebook.page.keyboard.press("Enter")
    notebook.wait_done(1)
    assert notebook.shown(1).count("Denied by you") == 3


def test_all_calls_expire_together(open_several):
    notebook = open_several(ASK.format("three(approval_timeout=12)"))
    expect(notebook.cell(1).get_by_role("timer")).to_have_count(1)
    press(notebook, 3, "Approve")
    expect(row(notebook, 3)).to_contain_text("Approved by you")
    notebook.wait_done(1)
    assert notebook.shown(1).count("Expired: ") == 2
    assert "log [3]" in notebook.run(2)


def test_a_page_that_is_reloaded_shows_what_still_waits(open_several):
    notebook = open_several(MAGIC)
    press(notebook, 1, "Deny")
    expect(row(notebook, 1)).to_contain_text("Denied by you")
    notebook.saved()
    notebook.page.reload()
    notebook.button(1, "Approve all").wait_for(timeout=60_000)
    expect(row(notebook, 1)).to_contain_text("Denied by you")
    notebook.wait_shown(1, "2 of 3 calls wait for your answer")
    expect(notebook.cell(1).get_by_role("timer")).to_contain_text("left")
    notebook.button(1, "Approve all").click()
    notebook.start(2)
    notebook.wait_shown(2, "log [2, 3]")


def test_a_second_view_of_the_card_shows_what_was_decided_in_the_first(open_several):
    notebook = open_several(ASK.format("three()"))
    output = notebook.cell(1).locator(".jp-OutputArea")
    output.locator(".nba-top").click(button="right")
    notebook.page.get_by_text("Create New View for Cell Output").click()
    other = notebook.page.locator(".jp-LinkedOutputView")
    other.get_by_role("button", name="Approve all").wait_for()
    other.locator(".nba-call").nth(1).get_by_role("button", name="Deny").click()
    expect(row(notebook, 2)).to_contain_text("Denied by you")
    notebook.screenshot("card-two-views")
    press(notebook, 1, "Deny")
    expect(other.locator(".nba-call").nth(0)).to_contain_text("Denied by you")
    other.get_by_role("button", name="Stop run").click()
    notebook.wait_done(1)


def test_forty_calls_are_still_usable(open_several):
    calls = "*[call('keep', n=i, text='word ' * 40) for i in range(40)]"
    notebook = open_several(ASK.format(f"bot({calls})"))
    notebook.screenshot("card-forty")
    assert notebook.cell(1).locator(".nba-card").bounding_box()["height"] < 800
    press(notebook, 40, "Deny")
    expect(row(notebook, 40)).to_contain_text("Denied by you")
    notebook.button(1, "Approve all").click()
    notebook.wait_done(1)
    assert f"log {list(range(39))}" in notebook.run(2)


# ------------------------------------------------------------ in the background

START = "run = three().start('x'); print('started')"
WAITS = "Another cell can answer too"


def test_a_run_in_the_background_is_answered_from_another_cell(open_several):
    cells = (
        "%agent approvals",
        "waiting = [each.request.id for each in run.approvals]\n"
        "get_ipython().run_line_magic('agent', f'approve {waiting[0]} session')\n"
        "get_ipython().run_line_magic('agent', f'deny {waiting[1]} not now')",
        "result = await run.result()\nprint([each['content'] for each in result.tool_calls])",
    )
    notebook = open_several(START, *cells)
    notebook.wait_done(1)
    notebook.wait_shown(1, WAITS)
    notebook.screenshot("card-background")
    listed = notebook.run(3)
    assert "bot asks to run keep · write · " in listed
    notebook.run(4)
    notebook.run(5)
    told = "['kept 1', 'Denied: not now. The tool was not run.', 'kept 3']"
    notebook.wait_shown(5, told)
    notebook.wait_shown(1, "Approved for this session by you")
    assert WAITS not in notebook.shown(1)
    assert WIDGET not in mimes(notebook)


def test_a_run_in_the_background_is_answered_by_its_card_while_a_cell_blocks(
    open_several,
):
    busy = "end = time.time() + 30\nwhile time.time() < end and not log: time.sleep(0.1)\nprint(log)"
    notebook = open_several(START, busy)
    notebook.wait_done(1)
    notebook.start(3)
    notebook.page.wait_for_timeout(500)
    assert notebook.is_busy(3)
    press(notebook, 2, "Approve")
    notebook.wait_shown(3, "[2]", 10)
    notebook.button(1, "Deny all").click()
    expect(notebook.cell(1).locator(".nba-card")).to_have_count(0)
    assert notebook.shown(1).count("Denied by you") == 2
    assert WIDGET not in mimes(notebook)
