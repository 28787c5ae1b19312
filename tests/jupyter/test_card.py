"""The approval card says what is asked, and what became of a click."""

from __future__ import annotations

import base64
import json

import pytest
from ipywidgets.widgets.widget import _instances
from playwright.sync_api import expect

from notebook_agents.approval import ApprovalRequest
from notebook_agents.jupyter.card import ApprovalCard
from notebook_agents.jupyter.fields import fields_of
from notebook_agents.jupyter.widget import script

GONE = "The kernel no longer waits for this. Run the cell again."

# A kernel of a few lines: what the card sends it is kept, `hear` is its answer.
PAGE = """
<div id="cell"></div>
<script type="module">
  const card = await import("data:text/javascript;charset=utf-8;base64,SCRIPT");
  const values = {agent: "bot", tool: "rm", args: [["path", "a.csv"]],
                  fields: FIELDS, description: "", risk: "write"};
  const listeners = [];
  window.sent = [];
  window.hear = message => listeners.forEach(listener => listener(message));
  const model = {
    get: name => values[name],
    send: message => {
      if (window.isGone) throw new Error("disposed");
      window.sent.push(message);
    },
    on: (_, listener) => listeners.push(listener),
    off: (_, listener) => listeners.splice(listeners.indexOf(listener), 1),
  };
  window.close_ = card.default.render({model, el: document.getElementById("cell")});
</script>
"""
FIELDS = fields_of(
    {
        "properties": {
            "path": {"type": "string"},
            "count": {"type": "integer", "default": 1},
            "force": {"type": "boolean"},
            "mode": {"enum": ["soft", "hard"]},
        }
    },
    {"path": "a.csv", "force": False, "mode": "soft"},
)


def _request(**changes) -> ApprovalRequest:
    fields = {"id": "q1", "run_id": "r1", "agent": "bot", "tool": "rm", "call_id": "c1"}
    fields |= {"args": {"path": "a.csv"}, "description": "", "expires_at": 0.0}
    return ApprovalRequest(**(fields | changes))


def test_a_card_that_was_closed_leaves_no_widget_behind():
    before = len(_instances)
    cards = [ApprovalCard(_request()) for _ in range(3)]
    assert len(_instances) > before
    for card in cards:
        card.close()
    assert len(_instances) == before


def test_a_card_may_be_closed_twice():
    card = ApprovalCard(_request())
    card.close()
    card.close()


def test_a_card_can_be_sent_whatever_the_model_wrote():
    card = ApprovalCard(_request(tool="r\ud800m", args={"pa\udfffth": ["\ud83d"]}))
    json.dumps(card.get_state(["tool", "args"]), ensure_ascii=False).encode("utf-8")
    assert card.tool == "r\ufffdm"
    card.close()


@pytest.fixture
def page(lab):
    """Show one card in an empty page whose clock is ours."""
    opened = lab._browser.new_page()
    opened.set_default_timeout(5000)
    opened.clock.install()
    encoded = base64.b64encode(script("card.js").encode()).decode()
    page = PAGE.replace("SCRIPT", encoded).replace("FIELDS", json.dumps(FIELDS))
    opened.set_content(page)
    opened.get_by_role("button", name="Deny").wait_for()
    opened.clock.run_for(100)  # the next frame, in which the focus is set
    yield opened
    opened.close()


def _status(page):
    return page.locator(".nba-status")


def _decisions(page) -> list[str]:
    sent = page.evaluate("window.sent")
    return [said["decision"] for said in sent if said["kind"] == "decision"]


def _hear(page, **message) -> None:
    page.evaluate("message => window.hear(message)", message)


@pytest.mark.browser
def test_a_click_is_repeated_until_the_kernel_has_heard_it(page):
    page.get_by_role("button", name="Approve", exact=True).click()
    page.clock.run_for(1000)
    heard = len(_decisions(page))
    assert heard > 1
    _hear(page, kind="ack", of="decision")
    page.clock.run_for(60_000)
    assert _decisions(page) == ["allow"] * heard
    assert _status(page).inner_text() == "Approving…"


@pytest.mark.browser
@pytest.mark.parametrize("is_disposed", [False, True])
def test_a_click_that_no_kernel_hears_says_what_to_do(page, is_disposed):
    page.evaluate("gone => { window.isGone = gone; }", is_disposed)
    page.get_by_role("button", name="Approve", exact=True).click()
    page.clock.run_for(4000)
    assert _status(page).inner_text() == "Approving…"
    page.clock.run_for(1500)
    assert _status(page).inner_text() == GONE
    assert page.locator("button:enabled").count() == 0
    sent = len(_decisions(page))
    page.clock.run_for(60_000)
    assert len(_decisions(page)) == sent


@pytest.mark.browser
def test_a_kernel_that_hears_late_is_believed(page):
    page.get_by_role("button", name="Deny", exact=True).click()
    page.clock.run_for(6000)
    _hear(page, kind="ack", of="decision")
    assert _status(page).inner_text() == "Denying…"


@pytest.mark.browser
@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"kind": "below"}, "Answer in the input box below."),
        ({"kind": "decided", "text": "<b>Denied</b>"}, "<b>Denied</b>"),
    ],
)
def test_the_kernel_can_end_the_question(page, message, text):
    _hear(page, **message)
    assert _status(page).inner_text() == text
    assert page.locator("button:enabled").count() == 0
    page.clock.run_for(60_000)
    assert _status(page).inner_text() == text


@pytest.mark.browser
@pytest.mark.parametrize("key", ["Enter", "Space"])
def test_a_key_on_a_button_presses_it(page, key):
    page.get_by_role("button", name="Stop run").focus()
    page.keyboard.press(key)
    assert set(_decisions(page)) == {"stop"}


@pytest.mark.browser
def test_a_card_that_is_taken_away_listens_no_more(page):
    page.evaluate("window.close_()")
    page.clock.run_for(60_000)
    sent = page.evaluate("window.sent.length")
    _hear(page, kind="decided", text="late")
    page.clock.run_for(60_000)
    assert page.evaluate("window.sent.length") == sent
    assert _status(page).inner_text() == ""


def _last(page) -> dict:
    return page.evaluate("window.sent.findLast(each => each.kind === 'decision')")


@pytest.mark.browser
def test_the_tab_key_goes_from_deny_to_stop_run(page):
    names = []
    for _ in range(5):
        names.append(page.evaluate("document.activeElement.textContent"))
        page.keyboard.press("Tab")
    assert names == ["Deny", "Approve", "Approve for session", "Edit…", "Stop run"]


@pytest.mark.browser
def test_only_arguments_that_were_changed_are_sent(page):
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("path").fill("<b>b</b>.csv")
    page.get_by_label("count").fill("12345678901234567890")
    page.get_by_label("force").check()
    page.get_by_role("button", name="Approve", exact=True).click()
    changes = {"path": "<b>b</b>.csv", "count": "12345678901234567890", "force": "true"}
    assert _last(page)["changes"] == changes
    assert page.locator(".nba-field:enabled").count() == 0


@pytest.mark.browser
@pytest.mark.parametrize("how", ["button", "Escape"])
def test_edits_that_were_undone_are_not_sent(page, how):
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("path").fill("b.csv")
    assert not page.get_by_role("button", name="Approve for session").is_visible()
    if how == "button":
        page.get_by_role("button", name="Undo edits").click()
    else:
        page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.textContent") == "Edit…"
    page.get_by_role("button", name="Approve", exact=True).click()
    assert "changes" not in _last(page)


@pytest.mark.browser
def test_what_does_not_fit_is_said_and_can_be_mended(page):
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("count").fill("many")
    page.get_by_role("button", name="Approve", exact=True).click()
    said = _last(page)
    _hear(page, kind="ack", of="decision", n=said["n"])
    _hear(page, kind="invalid", n=said["n"], text="<b>count</b>: write a number.")
    error = page.get_by_role("alert")
    assert error.inner_text() == "<b>count</b>: write a number."
    assert page.get_by_label("count").input_value() == "many"
    page.get_by_label("count").fill("2")
    page.get_by_role("button", name="Approve", exact=True).click()
    assert _last(page)["changes"] == {"count": "2"}
    assert error.inner_text() == ""
    # The kernel's late word about the first attempt is not one about the second.
    _hear(page, kind="invalid", n=said["n"], text="late")
    assert _status(page).inner_text() == "Approving…"


@pytest.mark.browser
@pytest.mark.parametrize("how", ["click", "Enter"])
def test_a_reason_goes_with_the_denial(page, how):
    page.get_by_label("Reason to deny").fill("use the copy")
    if how == "click":
        page.get_by_role("button", name="Deny", exact=True).click()
    else:
        page.keyboard.press("Enter")
    assert (_last(page)["decision"], _last(page)["reason"]) == ("deny", "use the copy")


@pytest.mark.browser
def test_the_time_that_is_left_is_counted_down_to_a_no(page):
    left = page.get_by_role("timer")
    assert left.inner_text() == ""
    _hear(page, kind="ack", of="ready", left=192)
    assert left.inner_text() == "3:12 left"
    page.clock.run_for(187_000)
    assert left.inner_text() == "0:05 left"
    page.clock.run_for(6000)
    assert left.inner_text() == ""
    assert _status(page).inner_text() == "Time is up; this counts as no."
    assert page.locator("button:enabled").count() == 0


@pytest.mark.browser
def test_the_time_stands_still_once_an_answer_was_given(page):
    _hear(page, kind="ack", of="ready", left=3)
    page.get_by_role("button", name="Stop run").click()
    _hear(page, kind="ack", of="decision")
    page.clock.run_for(6000)
    assert _status(page).inner_text() == "Stopping…"


SETUP = """\
from IPython.display import display
from notebook_agents.approval import ApprovalRequest
from notebook_agents.jupyter.card import ApprovalCard
card = ApprovalCard(ApprovalRequest(run_id="r", call_id="c", agent="bot", tool="rm",
                                    args={"path": "a.csv"}))
display(card.bundle(), raw=True)
"""


@pytest.mark.browser
@pytest.mark.timeout(180)
def test_jupyterlab_keeps_its_keys_while_a_card_has_the_focus(lab):
    with lab.notebook("card_keys", SETUP) as notebook:
        notebook.run(0)
        notebook.button(0, "Deny").focus()
        notebook.saved()  # by Ctrl+S
        assert notebook.page.evaluate("document.activeElement.textContent") == "Deny"
        notebook.page.keyboard.press("Enter")
        expect(_status(notebook.page)).to_have_text("Denying…")
        assert notebook.page.locator(".jp-mod-editMode").count() == 0


@pytest.mark.browser
@pytest.mark.timeout(180)
def test_a_card_of_a_kernel_that_was_restarted_says_so(lab):
    with lab.notebook("card_gone", SETUP) as notebook:
        notebook.run(0)
        notebook.button(0, "Approve").wait_for()
        kernel = lab._call("GET", "kernels")[0]["id"]
        lab._call("POST", f"kernels/{kernel}/restart")
        notebook.button(0, "Approve").click()
        expect(_status(notebook.page)).to_have_text(GONE, timeout=15_000)
