"""What goes into a tool and what comes out of it passes the guards of tools."""

from __future__ import annotations

import json

import pytest

from notebook_agents import (
    AgentConfigurationError,
    Guard,
    block_keywords,
    call,
    strip_pii,
    tool,
)
from notebook_agents.tools.observation import MODEL_CHARACTERS
from tests.guardrails.support import SECRET, Told, assert_hidden, hide, refuse

NEITHER = ["read me", "noted"]


def keep(text: str, rows: list[dict] | None = None, limit: float = 1.0) -> str:
    """Keep a text."""
    return f"kept {text}, {rows}, {limit}"


def reveal() -> str:
    """Tell it."""
    return f"it is {SECRET}"


def fail() -> str:
    """Fail."""
    message = f"no {SECRET}"
    raise KeyError(message)


class Shown:
    """Shows itself as HTML."""

    def __repr__(self) -> str:
        return f"it is {SECRET}"

    def _repr_html_(self) -> str:
        return f"<b>{SECRET}</b>"


def show() -> Shown:
    """Show it."""
    return Shown()


def observation(told):
    return next(e for e in told.result.events if e.event == "observation")


def only(scope, function):
    return Guard(function, scope=scope)


# ------------------------------------------------------------ results


async def test_a_changed_result_is_what_the_model_reads_and_what_is_kept(caplog):
    told = await Told([call("reveal"), "ok"], [reveal], tool_guards=[hide]).run()
    assert told.requests()[1][-1] == "it is [hidden]"
    assert told.result.tool_calls[0]["content"] == "it is [hidden]"
    assert told.guardrails == [("tool", "hide", "changed")]
    assert observation(told).status == "done"
    assert_hidden(told, caplog)


async def test_a_result_that_a_guard_makes_longer_is_cut_like_any_other():
    longer = Guard(lambda text: text * 1000, scope="output")
    told = await Told([call("reveal"), "ok"], [reveal], tool_guards=longer).run()
    assert len(told.requests()[1][-1]) < MODEL_CHARACTERS + 100


async def test_a_blocked_result_is_withheld_and_the_run_goes_on(caplog):
    told = await Told([call("reveal"), "ok"], [reveal], tool_guards=[refuse]).run()
    assert told.result.answer == "ok"
    assert told.requests()[1][-1] == "Guard 'refuse' blocked the result of reveal."
    assert told.guardrails == [("tool", "refuse", "blocked")]
    assert observation(told).status == "failed"
    assert not told.result.is_blocked
    assert_hidden(told, caplog)


@pytest.mark.parametrize("guard", [hide, refuse])
async def test_the_error_of_a_tool_is_guarded_with_its_traceback(caplog, guard):
    told = await Told([call("fail"), "ok"], [fail], tool_guards=[guard]).run()
    assert told.requests()[1][-1].startswith("Tool execution failed: ")
    kinds = [event.event for event in told.result.events]
    assert kinds[1:5] == ["action", "guardrail", "tool_error", "observation"]
    assert_hidden(told, caplog)


async def test_the_traceback_of_a_tool_stays_where_no_guard_minds():
    told = await Told([call("fail"), "ok"], [fail], tool_guards=[strip_pii()]).run()
    error = next(e for e in told.result.events if e.event == "tool_error")
    assert "raise KeyError(message)" in error.detail


@pytest.mark.parametrize("guard", [hide, refuse])
async def test_what_was_taken_out_of_a_result_is_not_shown_in_another_form(
    caplog, guard
):
    told = await Told([call("show"), "ok"], [show], tool_guards=[guard]).run()
    assert observation(told).bundle == {}
    assert observation(told).value is None
    assert_hidden(told, caplog)


async def test_a_result_that_passes_is_shown_as_ever():
    told = await Told([call("show"), "ok"], [show], tool_guards=[strip_pii()]).run()
    assert observation(told).bundle == {"text/html": f"<b>{SECRET}</b>"}
    assert isinstance(observation(told).value, Shown)


# ------------------------------------------------------------ arguments


async def test_blocked_arguments_are_not_run_nor_kept_and_the_model_hears_why(caplog):
    ran = []

    @tool(approval=True)
    def erase(table: str) -> str:
        """Erase a table."""
        ran.append(table)
        return "erased"

    asked = []
    told = await Told(
        [call("erase", table=SECRET), "ok"],
        [erase],
        tool_guards=[refuse],
        approval_callback=lambda name, _: asked.append(name) or True,
    ).run()
    assert ran == asked == []
    said = "Guard 'refuse' blocked the arguments of erase. The tool was not run."
    assert told.requests()[1][-1] == f"Error: {said}"
    assert told.result.errors == [f"erase: {said}"]
    assert told.guardrails == [("tool", "refuse", "blocked")]
    action = next(e for e in told.result.events if e.event == "action")
    assert action.args == {}
    assert_hidden(told, caplog)


async def test_changed_arguments_are_what_is_asked_about_run_and_kept(caplog):
    asked = []
    told = await Told(
        [call("keep", text=SECRET, rows=[{"a": [SECRET, 1, None, True]}]), "ok"],
        [keep],
        tool_guards=[only("input", hide)],
        approval_callback=lambda _, args: asked.append(args) or True,
    ).run()
    changed = {"text": "[hidden]", "rows": [{"a": ["[hidden]", 1, None, True]}]}
    assert asked == [changed]
    assert observation(told).content == f"kept [hidden], {changed['rows']}, 1.0"
    sent = told.model.requests[1].messages[1].tool_calls[0].arguments
    assert json.loads(sent) == changed
    assert told.guardrails == [("tool", "hide", "changed")]
    assert_hidden(told, caplog)


async def test_arguments_that_pass_go_on_as_the_model_wrote_them():
    raw = '{ "text" : "\\u00fc", "limit": 2.50 }'
    told = await Told(
        [call("keep", raw), "ok"], [keep], tool_guards=[hide, refuse]
    ).run()
    assert told.model.requests[1].messages[1].tool_calls[0].arguments == raw
    assert told.guardrails == []


@pytest.mark.parametrize(
    "raw",
    [
        '{"text": "\\u0062omb"}',
        '{"text": "a\\nbomb"}',
        '{"text": "", "rows": [{"bomb": 1}]}',
        '{"text": "", "rows": [{"x": [["BOMB"]]}]}',
        '{"text": "bomb"',
        '["bomb"]',
    ],
)
async def test_a_word_is_found_wherever_it_hides_in_arguments(raw):
    guard = block_keywords(["bomb"])
    told = await Told([call("keep", raw), "ok"], [keep], tool_guards=guard).run()
    assert told.guardrails == [("tool", "block_keywords", "blocked")]


async def test_the_names_of_parameters_say_nothing():
    guard = block_keywords(["text"])
    told = await Told([call("keep", text="a"), "ok"], [keep], tool_guards=guard).run()
    assert told.guardrails == []


async def test_a_name_within_arguments_and_a_number_are_changed_like_texts():
    def keep_all(rows: list[dict], number: int | str) -> str:
        """Keep all."""
        return f"{rows} {number}"

    rows = [{"a@b.de": "c@d.de", "n": 4111111111111111}]
    script = [call("keep_all", rows=rows, number=4111111111111111), "ok"]
    guard = only("input", strip_pii(["email", "card"]))
    told = await Told(script, [keep_all], tool_guards=guard).run()
    changed = [{"[EMAIL]": "[EMAIL]", "n": "[CARD]"}]
    assert observation(told).content == f"{changed} [CARD]"


async def test_a_guard_sees_all_values_of_a_call_at_once():
    seen = []

    def look(text: str) -> str:
        seen.append(text)
        return text

    rows = [{"k": "c", "yes": True, "none": None}]
    script = [call("keep", text="a\nb", rows=rows, limit=2.5), "ok"]
    await Told(script, [keep], tool_guards=only("input", look)).run()
    assert seen == ["a\nb\n2.5\nc\nk\nyes\nnone"]


async def test_arguments_that_cannot_be_read_are_changed_before_it_is_told_why(caplog):
    raw = f'{{"{SECRET}": 1, "{SECRET}": 2}}'
    told = await Told([call("keep", raw), "ok"], [keep], tool_guards=[hide]).run()
    assert "the key '[hidden]' is there twice" in told.requests()[1][-1]
    assert told.guardrails == [("tool", "hide", "changed")]
    assert_hidden(told, caplog)


async def test_arguments_that_are_nested_deeply_do_no_harm():
    deep = "[" * 400 + '"bomb"' + "]" * 400
    guard = block_keywords(["bomb"])
    raw = '{"text": "x", "rows": ' + deep + "}"
    told = await Told([call("keep", raw), "ok"], [keep], tool_guards=guard).run()
    assert told.guardrails == [("tool", "block_keywords", "blocked")]


async def test_only_the_call_that_is_blocked_is_not_run():
    script = [[call("keep", text=SECRET), call("keep", text="plain")], "ok"]
    told = await Told(script, [keep], tool_guards=only("input", refuse)).run()
    failed = [each["failed"] for each in told.result.tool_calls]
    assert failed == [True, False]


# ------------------------------------------------------------ scope


@pytest.mark.parametrize(
    ("scope", "results", "arguments"),
    [("input", 0, 1), ("output", 1, 0), ("both", 1, 1)],
)
async def test_a_guard_of_tools_may_be_for_one_side_only(scope, results, arguments):
    script = [[call("keep", text=SECRET), call("reveal")], "ok"]
    told = await Told(script, [keep, reveal], tool_guards=[only(scope, refuse)]).run()
    said = [each["content"] for each in told.result.tool_calls]
    assert ("blocked the arguments" in said[0]) is bool(arguments)
    assert ("blocked the result" in said[1]) is bool(results)


async def test_guards_of_tools_do_not_see_what_people_and_models_say():
    told = await Told([SECRET], tool_guards=[refuse]).run(SECRET)
    assert told.result.answer == SECRET


async def test_a_guard_of_tools_that_returns_no_text_ends_the_run():
    told = Told([call("reveal")], [reveal], tool_guards=only("output", print))
    with pytest.raises(AgentConfigurationError, match="returned NoneType"):
        await told.agent.run("go")
    events = [event.to_dict() for event in told.agent.last_run.recorded]
    assert "swordfish" not in str(events)
