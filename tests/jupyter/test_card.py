"""The approval card says what is asked, and what became of a click."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from ipywidgets.widgets.widget import _instances
from playwright.sync_api import expect

from notebook_agents.approval import ApprovalRequest
from notebook_agents.jupyter import card as card_module
from notebook_agents.jupyter.card import ApprovalCard

SCRIPT = Path(card_module.__file__).with_name("card.js")
GONE = "The kernel no longer waits for this. Run the cell again."

# A kernel of a few lines: what the card sends it is kept, `hear` is its answer.
PAGE = """
<div id="cell"></div>
<script type="module">
  const card = await import("data:text/javascript;charset=utf-8;base64,SCRIPT");
  const values = {agent: "bot", tool: "rm", args: [["path", "a.csv"]],
                  description: "", risk: "write"};
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
    script = base64.b64encode(SCRIPT.read_bytes()).decode()
    opened.set_content(PAGE.replace("SCRIPT", script))
    opened.get_by_role("button", name="Deny").wait_for()
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
    page.get_by_role("button", name="Approve").click()
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
    page.get_by_role("button", name="Approve").click()
    page.clock.run_for(4900)
    assert _status(page).inner_text() == "Approving…"
    page.clock.run_for(200)
    assert _status(page).inner_text() == GONE
    assert page.locator("button:enabled").count() == 0
    sent = len(_decisions(page))
    page.clock.run_for(60_000)
    assert len(_decisions(page)) == sent


@pytest.mark.browser
def test_a_kernel_that_hears_late_is_believed(page):
    page.get_by_role("button", name="Deny").click()
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
