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
from notebook_agents.jupyter.record import ApprovalRecord
from notebook_agents.jupyter.widget import STYLE, script

GONE = "The kernel does not answer: it is busy, or no longer waits for this."
TIME_IS_UP = "Time is up; this counts as no."

# A kernel of a few lines: what the card sends it is kept, `hear` is its answer, and
# `set` changes what it keeps.
PAGE = """
<div id="cell"></div><div id="other"></div>
<script type="module">
  const card = await import("data:text/javascript;charset=utf-8;base64,SCRIPT");
  const values = {rows: ROWS, records: {}, hint: ""};
  const listeners = {};
  const tell = (event, ...what) => (listeners[event] ?? []).forEach(each => each(...what));
  window.sent = [];
  window.hear = message => tell("msg:custom", message);
  window.set = (name, value) => { values[name] = value; tell(`change:${name}`); };
  window.add = rows => window.set("rows", [...values.rows, ...rows]);
  window.settle = (id, record) => window.set("records", {...values.records, [id]: record});
  const model = {
    get: name => values[name],
    send: message => {
      if (window.isGone) throw new Error("disposed");
      window.sent.push(JSON.parse(JSON.stringify(message)));
    },
    on: (event, listener) => (listeners[event] ??= []).push(listener),
    off: (event, listener) => {
      listeners[event] = listeners[event].filter(each => each !== listener);
    },
  };
  window.view = id => card.default.render({model, el: document.getElementById(id)});
  window.close_ = window.view("cell");
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


def _row(**changes) -> dict:
    row = {"id": "q1", "agent": "bot", "tool": "rm", "description": "", "risk": "write"}
    return row | {"isCall": True, "fields": FIELDS} | changes


def _request(**changes) -> ApprovalRequest:
    fields = {"id": "q1", "run_id": "r1", "agent": "bot", "tool": "rm", "call_id": "c1"}
    fields |= {"args": {"path": "a.csv"}, "description": "", "expires_at": 0.0}
    return ApprovalRequest(**(fields | changes))


def test_a_card_that_was_closed_leaves_no_widget_behind():
    before = len(_instances)
    cards = [ApprovalCard([_request()]) for _ in range(3)]
    assert len(_instances) > before
    for card in cards:
        card.close()
    assert len(_instances) == before


def test_a_card_says_first_that_a_rule_failed():
    asked = _request(note="The approval rule of rm failed.", description="Remove.")
    card = ApprovalCard([asked])
    assert card.rows[0]["description"] == "The approval rule of rm failed. Remove."
    card.close()


def test_a_card_may_be_closed_twice():
    card = ApprovalCard([_request()])
    card.close()
    card.close()


def test_a_card_can_be_sent_whatever_the_model_wrote():
    request = _request(tool="r\ud800m", args={"pa\udfffth": ["\ud83d"]})
    record = ApprovalRecord(agent="\ud800", tool="\udfff", args={}, decision="\ud83d")
    card = ApprovalCard([request])
    card.settle("q1", record)
    state = card.get_state(["rows", "records"])
    json.dumps([state, card.bundle(card.plain)], ensure_ascii=False).encode("utf-8")
    assert card.rows[0]["tool"] == "r\ufffdm"
    card.close()


def test_a_front_end_without_widgets_reads_what_is_asked():
    card = ApprovalCard([_request()], "Answer elsewhere.")
    card.add([_request(id="q2", tool="mv", args={})])
    asked = (
        "bot asks to run rm(path='a.csv').\nbot asks to run mv().\nAnswer elsewhere."
    )
    assert card.bundle(card.plain)["text/plain"] == asked
    card.close()


@pytest.fixture
def open_page(lab):
    """Show a card of these rows in an empty page whose clock is ours."""
    opened = []

    def open_(*rows: dict):
        page = lab._browser.new_page()
        opened.append(page)
        page.set_default_timeout(5000)
        page.clock.install(time=0)
        page.clock.pause_at(1)
        encoded = base64.b64encode(script("card.js").encode()).decode()
        content = PAGE.replace("SCRIPT", encoded).replace("ROWS", json.dumps(rows))
        page.set_content(f"<style>{STYLE.read_text()}</style>{content}")
        page.get_by_role("button", name="Deny").first.wait_for()
        page.clock.run_for(100)  # the next frame, in which the focus is set
        return page

    yield open_
    for page in opened:
        page.close()


@pytest.fixture
def page(open_page):
    """Show a card with one call."""
    return open_page(_row())


def _view_again(page) -> None:
    page.evaluate("() => { window.view('other'); }")


def _status(page):
    return page.locator(".nba-status")


def _news(page) -> str:
    return page.locator(".nba-news").inner_text()


def _settle(page, call: str, **changes) -> None:
    record = {"state": "done", "mark": "✓", "said": "Approved", "tool": "rm"}
    record |= {"args": "(path='a')", "rest": "now"} | changes
    page.evaluate("([id, record]) => window.settle(id, record)", [call, record])


def _decisions(page) -> list[str]:
    sent = page.evaluate("window.sent")
    return [said["decision"] for said in sent if said["kind"] == "decision"]


def _hear(page, **message) -> None:
    page.evaluate("message => window.hear(message)", message)


@pytest.mark.browser
def test_a_click_is_repeated_until_the_kernel_has_heard_it(page):
    page.get_by_role("button", name="Approve", exact=True).click()
    page.clock.run_for(1000)
    _hear(page, kind="ack", of="decision")
    heard = len(_decisions(page))
    assert heard > 1
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
    assert _status(page).inner_text().startswith(GONE)
    assert page.locator("button:enabled:visible").count() == 0
    sent = len(_decisions(page))
    page.clock.run_for(60_000)
    assert len(_decisions(page)) == sent


@pytest.mark.browser
def test_a_kernel_that_hears_late_is_believed(page):
    page.get_by_role("button", name="Deny", exact=True).click()
    page.clock.run_for(6000)
    assert _status(page).inner_text().startswith(GONE)
    _hear(page, kind="ack", of="decision")
    assert _status(page).inner_text() == "Denying…"


@pytest.mark.browser
def test_the_input_box_may_ask_instead(page):
    _hear(page, kind="ack", of="ready", left=3)
    _hear(page, kind="below", left=3)
    assert _news(page) == "Answer in the input box below."
    assert page.locator("button:enabled:visible").count() == 0
    page.clock.run_for(60_000)
    _hear(page, kind="time", left=9)
    assert _news(page) == "Answer in the input box below."


@pytest.mark.browser
def test_a_question_that_is_decided_elsewhere_shows_what_became_of_it(page):
    _settle(page, "q1", said="<b>Denied</b> by bob")
    record = page.locator(".nba-record").inner_text()
    assert record == "✓ <b>Denied</b> by bob: rm(path='a') · now"
    assert page.locator("button:visible").count() == 0


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
    _hear(page, kind="below")
    _settle(page, "q1")
    page.clock.run_for(60_000)
    assert page.evaluate("window.sent.length") == sent
    assert _news(page) == ""
    assert page.locator(".nba-record").count() == 0


def _focused(page) -> str:
    return page.evaluate("document.activeElement.textContent")


def _last(page) -> dict:
    return page.evaluate("window.sent.findLast(each => each.kind === 'decision')")


@pytest.mark.browser
def test_the_tab_key_goes_from_deny_to_stop_run(page):
    names = []
    for _ in range(6):
        names.append(_focused(page))
        page.keyboard.press("Tab")
    assert names[:3] == ["Deny", "Approve", "Approve for session"]
    assert names[3:] == ["Edit…", "Answer instead…", "Stop run"]


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
    assert _focused(page) == "Edit…"
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
    error = page.locator(".nba-error")
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
    assert _news(page) == TIME_IS_UP
    assert page.locator("button:enabled:visible").count() == 0


@pytest.mark.browser
def test_the_time_stands_still_once_an_answer_was_given(page):
    _hear(page, kind="ack", of="ready", left=3)
    page.get_by_role("button", name="Stop run").click()
    _hear(page, kind="ack", of="decision")
    page.clock.run_for(6000)
    assert _status(page).inner_text() == "Stopping…"


@pytest.mark.browser
@pytest.mark.parametrize("scope", ["tool", "call"])
def test_for_the_session_means_every_call_or_exactly_this_one(page, scope):
    if scope == "call":
        page.get_by_label("For session").select_option("exactly this call")
    page.get_by_role("button", name="Approve for session").click()
    assert (_last(page)["decision"], _last(page)["scope"]) == ("always", scope)


@pytest.mark.browser
def test_an_answer_can_take_the_place_of_the_tool(page):
    page.get_by_role("button", name="Answer instead…").click()
    assert page.get_by_text("a.csv").is_visible()
    names = [each.inner_text() for each in page.locator("button:visible").all()]
    assert names == ["Deny", "Send answer", "Back", "Stop run"]
    page.keyboard.type("It is <b>gone</b>\nalready.")
    page.get_by_role("button", name="Send answer").click()
    assert _last(page)["decision"] == "respond"
    assert _last(page)["text"] == "It is <b>gone</b>\nalready."


@pytest.mark.browser
def test_an_answer_that_cannot_be_is_written_again(page):
    page.get_by_role("button", name="Answer instead…").click()
    page.get_by_role("button", name="Send answer").click()
    _hear(page, kind="invalid", n=_last(page)["n"], text="Write something.")
    assert page.get_by_role("alert").inner_text() == "Write something."
    assert page.evaluate("document.activeElement.tagName") == "TEXTAREA"
    page.keyboard.press("Escape")
    assert _focused(page) == "Answer instead…"
    page.get_by_role("button", name="Approve", exact=True).click()
    assert _last(page)["decision"] == "allow"


@pytest.mark.browser
def test_what_is_no_call_is_not_answered_in_its_place(open_page):
    page = open_page(_row(isCall=False))
    names = [each.inner_text() for each in page.locator("button:visible").all()]
    assert names == ["Deny", "Approve", "Edit…", "Stop run"]
    assert not page.get_by_label("For session").is_visible()


# ------------------------------------------------------------ several calls


def _rows(count: int) -> list[dict]:
    return [_row(id=f"q{n}", tool=f"tool_{n}") for n in range(1, count + 1)]


@pytest.fixture
def three(open_page):
    """Show a card with three calls, of which none is decided."""
    return open_page(*_rows(3))


def _call(page, number: int):
    return page.get_by_role("group", name=f"Call of tool_{number}")


def _in_call(page, number: int, name: str):
    return _call(page, number).get_by_role("button", name=name, exact=True)


def _sent(page) -> list[tuple[str, str]]:
    """Give the decisions that were sent, each once."""
    sent = page.evaluate("window.sent")
    said = {
        each["n"]: (each.get("id"), each["decision"])
        for each in sent
        if each["kind"] == "decision"
    }
    return list(said.values())


def _focus(page) -> tuple[str, str]:
    """Give what has the focus, and in which call."""
    return tuple(
        page.evaluate(
            """[document.activeElement.textContent,
                document.activeElement.closest(".nba-call")?.ariaLabel ?? ""]"""
        )
    )


def _title(page) -> str:
    return page.locator(".nba-top .nba-title").inner_text()


@pytest.mark.browser
def test_calls_of_one_step_wait_side_by_side(three):
    assert _title(three) == "bot: 3 calls wait for your answer"
    assert _focus(three) == ("Deny", "Call of tool_1")
    for number in (1, 2, 3):
        assert _in_call(three, number, "Approve").is_visible()
    assert three.get_by_role("button", name="Stop run").count() == 1
    _hear(three, kind="ack", of="ready", left=192)
    assert three.get_by_role("timer").all_inner_texts() == ["3:12 left"]


@pytest.mark.browser
@pytest.mark.parametrize("how", ["click", "Enter", "Space"])
def test_each_call_is_decided_by_itself_and_the_focus_goes_on(three, how):
    if how == "click":
        _in_call(three, 2, "Approve").click()
    else:
        _in_call(three, 2, "Approve").focus()
        three.keyboard.press(how)
    assert _sent(three) == [("q2", "allow")]
    assert _focus(three) == ("Deny", "Call of tool_3")
    _settle(three, "q2", tool="tool_2", args="()")
    assert _title(three) == "bot: 2 of 3 calls wait for your answer"
    assert _call(three, 2).inner_text() == "✓ Approved: tool_2() · now"
    _in_call(three, 3, "Approve").click()
    assert _focus(three) == ("Deny", "Call of tool_1")
    _settle(three, "q3")
    assert not three.get_by_role("button", name="Approve all").is_visible()
    assert _sent(three) == [("q2", "allow"), ("q3", "allow")]


@pytest.mark.browser
def test_approve_all_takes_edits_along_and_leaves_what_is_being_answered(three):
    _settle(three, "q1")
    _in_call(three, 2, "Edit…").click()
    _call(three, 2).get_by_label("path").fill("b.csv")
    three.evaluate("rows => window.add(rows)", _rows(4)[3:])
    _in_call(three, 4, "Answer instead…").click()
    three.get_by_role("button", name="Approve all").click()
    assert _sent(three) == [("q2", "allow"), ("q3", "allow")]
    changes = three.evaluate("window.sent.find(each => each.id === 'q2').changes")
    assert changes == {"path": "b.csv"}
    assert _focus(three) == ("Deny", "Call of tool_4")


@pytest.mark.browser
def test_deny_all_gives_each_call_its_reason(three):
    _call(three, 3).get_by_label("Reason to deny").fill("not this one")
    three.get_by_role("button", name="Deny all").click()
    said = {each["id"]: each["reason"] for each in _all_decisions(three)}
    assert said == {"q1": "", "q2": "", "q3": "not this one"}
    assert {each["decision"] for each in _all_decisions(three)} == {"deny"}
    assert three.locator("button:enabled:visible").count() == 0


def _all_decisions(page) -> list[dict]:
    return [each for each in page.evaluate("window.sent") if each["kind"] == "decision"]


@pytest.mark.browser
def test_stop_run_is_said_once_for_all(three):
    three.get_by_role("button", name="Stop run").click()
    assert _sent(three) == [("q1", "stop")]


@pytest.mark.browser
def test_a_call_that_comes_later_joins_the_card(page):
    _hear(page, kind="ack", of="ready", left=20)
    assert page.get_by_role("timer").inner_text() == "0:20 left"
    page.evaluate("rows => window.add(rows)", _rows(2)[1:])
    _hear(page, kind="time", left=19)
    assert _title(page) == "bot: 2 calls wait for your answer"
    assert page.get_by_role("button", name="Stop run").count() == 1
    page.get_by_role("button", name="Approve", exact=True).first.click()
    _settle(page, "q1")
    _hear(page, kind="time", left=60)
    page.clock.run_for(20_000)
    assert page.get_by_role("timer").inner_text() == "0:40 left"
    assert _in_call(page, 2, "Approve").is_enabled()


@pytest.mark.browser
def test_a_call_that_lives_longer_can_be_answered_when_the_first_has_expired(three):
    _hear(three, kind="ack", of="ready", left=5)
    three.clock.run_for(6000)
    assert _news(three) == TIME_IS_UP
    assert three.locator("button:enabled:visible").count() == 0
    _settle(three, "q1", said="Expired", state="denied", mark="⊘")
    _hear(three, kind="time", left=30)
    assert _news(three) == ""
    _in_call(three, 2, "Approve").click()
    assert _sent(three) == [("q2", "allow")]


@pytest.mark.browser
def test_what_does_not_fit_in_one_call_leaves_the_others_alone(three):
    three.get_by_role("button", name="Approve all").click()
    first = _all_decisions(three)[0]
    _hear(three, kind="invalid", id="q1", n=first["n"], text="count: write a number.")
    assert _call(three, 1).get_by_role("alert").inner_text() == "count: write a number."
    assert three.get_by_role("alert").count() == 1
    assert _in_call(three, 1, "Deny").is_enabled()
    assert _in_call(three, 2, "Deny").is_disabled()


@pytest.mark.browser
def test_agents_that_share_a_card_are_named_in_each_row(open_page):
    page = open_page(_row(agent="outer"), _row(id="q2", agent="inner"))
    assert _title(page) == "2 calls wait for your answer"
    texts = page.locator(".nba-call .nba-title").all_inner_texts()
    assert texts == ["outer wants to run rm write", "inner wants to run rm write"]


@pytest.mark.browser
def test_what_a_tool_does_is_told_once_for_calls_that_follow_each_other(open_page):
    rows = [_row(id=f"q{n}", description="Remove a file.") for n in range(3)]
    page = open_page(*rows)
    assert page.get_by_text("Remove a file.").count() == 1


@pytest.mark.browser
def test_a_card_that_is_shown_again_has_its_records(three):
    """A page that was reloaded reads what the kernel keeps."""
    _settle(three, "q1", said="Denied")
    three.evaluate("window.close_()")
    _view_again(three)
    other = three.locator("#other")
    assert other.locator(".nba-record").inner_text().startswith("✓ Denied")
    assert other.locator(".nba-title").first.inner_text().startswith("bot: 2 of 3")


# ------------------------------------------------------------ what may go wrong


@pytest.mark.browser
def test_a_double_click_decides_one_call_once(three):
    _in_call(three, 1, "Approve").dblclick()
    assert _sent(three) == [("q1", "allow")]


@pytest.mark.browser
def test_the_second_click_of_two_does_not_count_for_what_has_moved_there(three):
    box = _in_call(three, 1, "Approve").bounding_box()
    at = {"x": box["x"] + 9, "y": box["y"] + 9}
    three.mouse.move(**at)
    three.mouse.down(click_count=1)
    three.mouse.up(click_count=1)
    _settle(three, "q1")
    three.evaluate("y => window.scrollTo(0, y)", 0)
    shift = _in_call(three, 2, "Approve").bounding_box()["y"] - box["y"]
    three.evaluate("y => { document.body.style.marginTop = `${-y}px`; }", shift - 8)
    element = "([x, y]) => document.elementFromPoint(x, y).textContent"
    assert three.evaluate(element, [at["x"], at["y"]]) == "Approve"
    three.mouse.down(click_count=2)
    three.mouse.up(click_count=2)
    assert _sent(three) == [("q1", "allow")]


@pytest.mark.browser
def test_a_key_that_is_held_down_decides_one_call(three):
    three.keyboard.down("Enter")
    three.keyboard.down("Enter")
    three.keyboard.down("Enter")
    three.keyboard.up("Enter")
    assert _sent(three) == [("q1", "deny")]


@pytest.mark.browser
def test_a_late_click_does_nothing(page):
    page.evaluate(
        """window.late = [...document.querySelectorAll("button")];
           window.settle("q1", {state: "done", mark: "", said: "", tool: "", args: "",
                                rest: ""});
           window.late.forEach(each => each.click());"""
    )
    assert _sent(page) == []


@pytest.mark.browser
def test_who_types_in_one_call_is_not_disturbed_by_another(three):
    field = _call(three, 2).get_by_label("Reason to deny")
    field.focus()
    three.keyboard.type("wa")
    _settle(three, "q1")
    three.keyboard.type("it")
    assert field.input_value() == "wait"


@pytest.mark.browser
def test_a_call_that_is_decided_while_it_is_edited_presses_nothing_else(three):
    _in_call(three, 1, "Edit…").click()
    _call(three, 1).get_by_label("path").focus()
    _settle(three, "q1")
    three.keyboard.type("a b")
    three.keyboard.press("Enter")
    assert _sent(three) == []


@pytest.mark.browser
def test_a_call_that_is_decided_elsewhere_hands_its_focus_on(three):
    _in_call(three, 1, "Approve").focus()
    _settle(three, "q1")
    assert _focus(three) == ("Deny", "Call of tool_2")


@pytest.mark.browser
def test_two_views_of_a_card_do_not_confuse_each_other(page):
    _view_again(page)
    first, other = page.locator("#cell"), page.locator("#other")
    first.get_by_role("button", name="Deny", exact=True).click()
    said = _last(page)
    other.get_by_role("button", name="Approve", exact=True).click()
    _hear(page, kind="ack", of="decision", id="q1", n=said["n"])
    page.clock.run_for(6000)
    assert first.locator(".nba-status").inner_text() == "Denying…"
    assert other.locator(".nba-status").inner_text().startswith(GONE)
    _settle(page, "q1", said="Denied")
    for view in (first, other):
        assert view.locator(".nba-record").inner_text().startswith("✓ Denied")


EVIL = '<img src=x onerror="window.isEvil = true">'


@pytest.mark.browser
def test_nothing_that_a_model_wrote_is_html(open_page):
    fields = fields_of({"properties": {EVIL: {"description": EVIL}}}, {EVIL: EVIL})
    row = _row(agent=EVIL, tool=EVIL, description=EVIL, risk=EVIL, fields=fields)
    page = open_page(row, row | {"id": "q2"})
    page.evaluate("text => window.set('hint', text)", EVIL)
    for name in ("Edit…", "Answer instead…"):
        page.get_by_role("button", name=name).first.click()
    _settle(page, "q2", said=EVIL, tool=EVIL, args=EVIL, rest=EVIL, state=EVIL)
    _hear(page, kind="invalid", text=EVIL)
    assert page.locator("img").count() == 0
    assert page.evaluate("window.isEvil") is None


@pytest.mark.browser
@pytest.mark.parametrize("name", ["__proto__", "constructor", "toString", ""])
def test_an_argument_may_have_any_name(open_page, name):
    page = open_page(_row(fields=fields_of({"properties": {}}, {name: "old"})))
    assert page.get_by_text("old", exact=True).is_visible()
    page.get_by_role("button", name="Edit…").click()
    page.locator(".nba-form .nba-field").fill('"new"')
    page.get_by_role("button", name="Approve", exact=True).click()
    changes = page.evaluate(
        "JSON.stringify(window.sent.findLast(each => each.changes).changes)"
    )
    assert json.loads(changes) == {name: '"new"'}


@pytest.mark.browser
def test_a_text_cannot_turn_its_direction_unseen(open_page):
    text = "safe \u202etxt.exe\u202c \u05e9\u05dc\u05d5\u05dd"
    page = open_page(_row(fields=fields_of({"properties": {}}, {"path": text})))
    shown = page.locator(".nba-args pre").inner_text()
    assert shown == "safe \\u202etxt.exe\\u202c \u05e9\u05dc\u05d5\u05dd"


@pytest.mark.browser
def test_a_huge_argument_is_laid_out_when_it_is_asked_for(open_page):
    text = "word " * 200_000
    fields = fields_of({"properties": {"text": {"type": "string"}}}, {"text": text})
    page = open_page(_row(fields=fields), _row(id="q2", fields=fields))
    value = page.locator(".nba-value").first
    assert len(value.locator("pre").inner_text()) < 21_000
    assert value.bounding_box()["height"] < 400
    value.get_by_text("980,000 more characters").click()
    assert len(value.locator("pre").inner_text()) > 999_000
    page.get_by_role("button", name="Edit…").first.click()
    page.get_by_label("text").first.press("Control+End")
    page.keyboard.type("!")
    page.get_by_role("button", name="Approve", exact=True).first.click()
    assert (
        page.evaluate("window.sent.findLast(each => each.changes).changes.text.length")
        == len(text) + 1
    )


@pytest.mark.browser
def test_forty_calls_scroll_inside_the_card(open_page):
    page = open_page(*_rows(40))
    assert page.locator(".nba-card").bounding_box()["height"] < 720
    for number in range(1, 40):
        assert _focus(page) == ("Deny", f"Call of tool_{number}")
        page.keyboard.press("Enter")
        _settle(page, f"q{number}")
    last = _in_call(page, 40, "Deny").bounding_box()
    card = page.locator(".nba-card").bounding_box()
    assert card["y"] < last["y"] < card["y"] + card["height"]
    assert len(_sent(page)) == 39


SETUP = """\
from IPython.display import display
from notebook_agents.approval import ApprovalRequest
from notebook_agents.jupyter.card import ApprovalCard
card = ApprovalCard([ApprovalRequest(run_id="r", call_id="c", agent="bot", tool="rm",
                                     args={"path": "a.csv"})])
display(card.bundle(card.plain), raw=True)
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
def test_a_key_that_is_pressed_by_chance_while_a_button_has_the_focus_does_no_harm(lab):
    """The letters cut, delete, merge or convert a cell, or restart the kernel."""
    with lab.notebook("card_letters", SETUP, "1 + 1") as notebook:
        notebook.run(0)
        notebook.button(0, "Deny").focus()
        for keys in ("x", "m", "a", "dd", "M", "00", "ii"):
            notebook.page.keyboard.type(keys)
            expect(notebook.button(0, "Deny")).to_be_focused()
            expect(notebook.page.locator(".jp-Notebook .jp-CodeCell")).to_have_count(2)
            expect(notebook.page.locator(".jp-Dialog")).to_have_count(0)
        kinds = [cell["cell_type"] for cell in notebook.saved()["cells"]]
        assert kinds == ["code", "code"]
        notebook.page.keyboard.press("ArrowDown")
        expect(notebook.button(0, "Deny")).not_to_be_focused()


@pytest.mark.browser
@pytest.mark.timeout(180)
def test_a_card_of_a_kernel_that_was_restarted_says_so(lab):
    with lab.notebook("card_gone", SETUP) as notebook:
        notebook.run(0)
        notebook.button(0, "Approve").wait_for()
        kernel = lab._call("GET", "kernels")[0]["id"]
        lab._call("POST", f"kernels/{kernel}/restart")
        notebook.button(0, "Approve").click()
        expect(_status(notebook.page)).to_contain_text(GONE, timeout=15_000)
