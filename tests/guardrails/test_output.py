"""What the model says is seen by nobody before the guards have let it through."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notebook_agents import (
    Agent,
    AgentConfigurationError,
    Budget,
    GuardrailBlockedError,
    ScriptedProvider,
    call,
    strip_pii,
)
from notebook_agents.errors import RunCancelledError, StreamInterruptedError
from notebook_agents.providers.base import (
    ModelReply,
    Provider,
    ReasoningDelta,
    RetryDelta,
    TextDelta,
)
from notebook_agents.sync import run_sync
from tests.guardrails.support import SECRET, Told, assert_hidden, hide, refuse

ANSWER = f"It is {SECRET}."


def note(x: int = 0) -> str:
    """Take a note."""
    return f"noted {x}"


async def test_a_changed_answer_is_changed_everywhere(caplog):
    """Requirements, W39, and acceptance check 38."""
    told = await Told([ANSWER, "Bye."], output_guards=[hide]).run()
    changed = "It is [hidden]."
    assert told.result.answer == str(told.result) == changed
    assert told.result.messages[-1]["content"] == changed
    assert told.agent.memory.messages[-1]["content"] == changed
    assert told.result.events[-1].content == changed
    assert told.guardrails == [("output", "hide", "changed")]
    assert_hidden(told, caplog)
    await told.run("and now?")
    assert told.requests()[1] == ["go", changed, "and now?"]


async def test_a_blocked_answer_leaves_nothing_of_it(caplog):
    told = await Told([ANSWER], output_guards=[refuse]).run("tell me")
    assert str(told.error) == "Guard 'refuse' blocked the answer."
    assert (told.error.stage, told.error.guard) == ("output", "refuse")
    assert told.guardrails == [("output", "refuse", "blocked")]
    result = told.result
    assert (result.is_blocked, result.stop_reason) == (True, "blocked")
    assert result.answer == str(told.error)
    assert result.completion_tokens > 0
    assert told.agent.memory.all_messages == []
    assert_hidden(told, caplog)


async def test_a_conversation_goes_on_after_a_blocked_answer():
    told = Told(["One.", ANSWER, "Two."], output_guards=[refuse])
    for message in ("first", "tell", "second"):
        await told.run(message)
    assert told.requests()[2] == ["first", "One.", "second"]


async def test_a_blocked_answer_counts_in_a_budget_all_the_same():
    usage = {"prompt": 500, "completion": 5000}
    inner = Agent(
        ScriptedProvider([{"text": ANSWER, "usage": usage}]),
        name="inner",
        output_guards=[refuse],
    )
    model = ScriptedProvider([call("inner", task="go"), "never"])
    outer = Agent(model, [inner.as_tool()], budget=Budget(tokens=5000))
    result = await outer.run("go")
    assert "blocked the answer" in result.tool_calls[0]["content"]
    assert result.stop_reason == "budget"
    assert len(model.requests) == 1


async def test_what_tools_did_before_a_blocked_answer_is_remembered(caplog):
    script = [call("note", x=7), ANSWER, "Bye."]
    told = await Told(script, [note], output_guards=[refuse]).run()
    kept = [message["content"] for message in told.agent.memory.all_messages]
    assert kept == ["go", "", "noted 7", str(told.error)]
    assert_hidden(told, caplog)
    await told.run("more")
    assert told.requests()[2] == [*kept, "more"]


# ------------------------------------------------------------ streaming


async def test_a_streamed_answer_is_held_back_until_it_is_guarded():
    stream = Agent(ScriptedProvider([ANSWER], chunk=1), output_guards=[hide]).stream(
        "go"
    )
    assert [text async for text in stream] == ["It is [hidden]."]


async def test_an_answer_that_passes_arrives_whole_and_in_order():
    told = await Told(
        [["I note.", call("note")], "Done."], [note], output_guards=hide
    ).run()
    kinds = [event.event for event in told.result.events]
    assert kinds == [
        "task",
        "token",
        "thought",
        "action",
        "observation",
        "token",
        "answer",
    ]
    texts = [event.text for event in told.result.events if event.event == "token"]
    assert texts == ["I note.", "Done."]
    seqs = [event.seq for event in told.result.events]
    assert seqs == list(range(1, len(seqs) + 1))


async def test_a_blocked_answer_is_not_streamed():
    stream = Agent(ScriptedProvider([ANSWER]), output_guards=[refuse]).stream("go")
    texts = []

    async def read():
        texts.extend([text async for text in stream])

    with pytest.raises(GuardrailBlockedError):
        await read()
    assert texts == []
    kinds = [event.event for event in stream.run.recorded]
    assert kinds == ["task", "guardrail", "error"]


async def test_without_guards_of_the_output_text_is_streamed_as_it_comes():
    told = await Told(["abcdef"], input_guards=[hide], tool_guards=[hide]).run()
    texts = [event.text for event in told.result.events if event.event == "token"]
    assert texts == ["abc", "def"]


async def test_a_stop_while_text_is_held_back_shows_nothing_of_it(caplog):
    entered = asyncio.Event()

    async def look(text: str) -> str:
        entered.set()
        await asyncio.Event().wait()
        return text

    told = Told([ANSWER], output_guards=[look])
    run = told.agent.start("go")
    await entered.wait()
    run.cancel()
    with pytest.raises(RunCancelledError) as caught:
        await run.result()
    told.result = caught.value.result
    assert told.result.answer == "[stopped before the answer was complete]"
    assert told.agent.memory.all_messages == []
    assert_hidden(told, caplog)


async def test_a_stop_after_guarded_text_was_shown_keeps_that_text(caplog):
    shown = asyncio.Event()

    async def hear(event):
        if event["event"] == "guardrail":
            shown.set()
            await asyncio.Event().wait()

    agent = Agent(ScriptedProvider([ANSWER]), output_guards=[hide], on_event=hear)
    run = agent.start("go")
    await shown.wait()
    run.cancel()
    with pytest.raises(RunCancelledError) as caught:
        await run.result()
    stopped = "It is [hidden].\n\n[stopped before the answer was complete]"
    assert caught.value.result.answer == stopped
    assert agent.memory.messages[-1]["content"] == stopped


class Broken(Provider):
    """Says a part of its answer, tries again, and breaks off."""

    async def respond(self, request):
        yield ReasoningDelta(SECRET)
        yield TextDelta(SECRET)
        yield RetryDelta(1, 0.0, "again", discard_partial=True)
        yield TextDelta(SECRET)


async def test_a_stream_that_breaks_off_shows_nothing_of_what_was_held_back():
    agent = Agent(Broken(), output_guards=[hide])
    with pytest.raises(StreamInterruptedError):
        await agent.run("go")
    events = [event.to_dict() for event in agent.last_run.recorded]
    assert [event["event"] for event in events] == ["task", "retry", "error"]
    assert SECRET not in str(events)


# ------------------------------------------------------------ other texts


async def test_what_is_said_before_a_call_is_guarded_too(caplog):
    script = [[ANSWER, call("note")], "Done."]
    told = await Told(script, [note], output_guards=[hide]).run()
    plan = next(event for event in told.result.events if event.event == "thought")
    assert plan.content == "It is [hidden]."
    assert told.model.requests[1].messages[1].content == "It is [hidden]."
    assert_hidden(told, caplog)


async def test_a_plan_that_is_blocked_ends_the_run_before_its_tools(caplog):
    ran = []

    def act() -> str:
        """Act."""
        ran.append(1)
        return "done"

    told = await Told([[ANSWER, call("act")]], [act], output_guards=[refuse]).run()
    assert ran == []
    assert told.agent.memory.all_messages == []
    assert_hidden(told, caplog)


async def test_reasoning_is_left_out_where_the_output_is_guarded(caplog):
    script = [
        {"reasoning": ANSWER, "tool_calls": [call("note")]},
        {"reasoning": ANSWER, "text": "Done."},
    ]
    told = await Told(script, [note], output_guards=[hide]).run()
    kinds = {event.event for event in told.result.events}
    assert "thought" not in kinds
    assert_hidden(told, caplog)


async def test_a_reply_without_text_is_not_shown_to_guards():
    asked = []

    def look(text: str) -> str:
        asked.append(text)
        return text

    await Told([call("note"), "Done."], [note], output_guards=[look]).run()
    assert asked == ["Done."]


async def test_an_answer_may_become_empty():
    told = await Told(["x"], output_guards=lambda _: "").run()
    assert told.result.answer == ""
    assert told.result.stop_reason == "stop"


async def test_why_a_text_was_cut_is_told_of_a_guarded_text_as_well():
    script = [{"text": "once", "stop_reason": "length"}]
    told = await Told(script, output_guards=[hide]).run()
    assert told.result.stop_reason == "length"


async def test_a_guard_that_returns_no_text_shows_nothing(caplog):
    told = Told([ANSWER], output_guards=[print])
    with pytest.raises(AgentConfigurationError, match="'print' returned NoneType"):
        await told.agent.run("go")
    events = [event.to_dict() for event in told.agent.last_run.recorded]
    assert SECRET not in str(events) + caplog.text


async def test_several_runs_at_once_keep_their_guards_apart():
    def other(text: str) -> str:
        return text.upper()

    agents = [
        Agent(ScriptedProvider([f"a{n}@b.de"] * 5), output_guards=guard)
        for n, guard in enumerate([strip_pii(), other] * 10)
    ]
    answers = await asyncio.gather(*(agent.run("go") for agent in agents))
    assert [each.answer for each in answers[:2]] == ["[EMAIL]", "A1@B.DE"]
    assert {each.answer for each in answers[::2]} == {"[EMAIL]"}


@given(
    parts=st.lists(
        st.sampled_from(["plain", SECRET, f"a {SECRET} b", "call", "both"]), max_size=4
    ),
    blocks=st.booleans(),
)
def test_no_script_gets_the_secret_out(parts, blocks):
    script = []
    for part in parts:
        if part in {"call", "both"}:
            text = [SECRET] if part == "both" else []
            script.append([*text, call("note", x=len(script))])
        else:
            script.append(
                {"reasoning": SECRET, "text": part, "tool_calls": [call("note")]}
            )
    told = Told([*script, ANSWER], [note], output_guards=[refuse if blocks else hide])
    run_sync(told.run(max_tool_rounds=9))
    seen = told.everything()
    assert "hunter2" not in seen
    assert "swordfish" not in seen
    assert all("hunter2" not in text for sent in told.requests() for text in sent)


class Quick(Provider):
    """Answers at once."""

    async def respond(self, request):
        yield ModelReply(text=ANSWER)


async def test_a_reply_that_comes_in_one_piece_is_guarded():
    assert (
        await Agent(Quick(), output_guards=hide).run("go")
    ).answer == "It is [hidden]."
