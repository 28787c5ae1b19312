"""A conversation that its owner carries from run to run, never too large."""

from __future__ import annotations

import asyncio
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from notebook_agents import (
    Agent,
    HistoryBuffer,
    Message,
    ScriptedProvider,
    ToolCall,
    call,
)
from notebook_agents.errors import AgentConfigurationError, AgentProviderError
from notebook_agents.history.groups import amount_of, turns_of
from notebook_agents.history.summary import HEADING
from notebook_agents.reading import read_messages
from tests.history.fitness import any_messages, assert_fit, conversations


def look(n: int) -> str:
    """Look something up."""
    return f"found {n}"


def user(text):
    return {"role": "user", "content": text}


def said(text):
    return {"role": "assistant", "content": text}


def a_round(call_id, arguments="{}", result="ok"):
    function = {"name": "look", "arguments": arguments}
    return [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": call_id, "type": "function", "function": function}],
        },
        {"role": "tool", "content": result, "tool_call_id": call_id},
    ]


def held(buffer):
    return read_messages(buffer.get(), name="get")


def contents(buffer):
    return [message["content"] for message in buffer.get()]


# ------------------------------------------------------------ no duplication


@pytest.mark.parametrize("history", ["full", "final"])
def test_three_turns_hold_six_messages(history):
    """Watch-out W38, acceptance check 38."""
    agent = Agent(
        ScriptedProvider(["one", "two", "three"]),
        system_prompt="Be brief.",
        history=history,
    )
    buffer = HistoryBuffer(max_tokens=8000)
    for question in ("1", "2", "3"):
        result = agent.run_sync(question, prior_messages=buffer.messages)
        buffer.extend(result["messages"])
    assert contents(buffer) == ["1", "one", "2", "two", "3", "three"]


@pytest.mark.parametrize("history", ["full", "final"])
def test_turns_with_tools_are_not_doubled_either(history):
    script = [call("look", n=1), "one", call("look", n=2), "two"]
    agent = Agent(ScriptedProvider(script), [look], history=history)
    buffer = HistoryBuffer()
    for question in ("1", "2"):
        buffer.extend(agent.run_sync(question, prior_messages=buffer.get()))
    assert contents(buffer) == ["1", "", "found 1", "one", "2", "", "found 2", "two"]


def test_the_same_list_twice_counts_once():
    buffer = HistoryBuffer()
    for _ in range(2):
        buffer.extend([user("1"), said("one")])
    assert contents(buffer) == ["1", "one"]


def test_a_list_of_your_own_that_grows_is_read_on_where_it_ended():
    mine, buffer = [], HistoryBuffer(max_messages=4)
    for number in range(8):
        mine += [user(f"{number}"), said("same")]
        buffer.extend(mine)
    assert contents(buffer) == ["6", "same", "7", "same"]


def test_runs_at_once_and_a_pin_meanwhile_double_nothing():
    agent = Agent(ScriptedProvider(["one", "two", "three"]))
    buffer = HistoryBuffer(max_messages=6)
    buffer.extend(agent.run_sync("1", prior_messages=buffer.get()))
    second = agent.run_sync("2", prior_messages=buffer.get())
    third = agent.run_sync("3", prior_messages=buffer.get())
    buffer.extend(third)
    buffer.pin("A fact.")
    buffer.extend(second)
    assert contents(buffer) == ["A fact.\n\n1", "one", "3", "three", "2", "two"]


def test_new_messages_alone_are_added():
    buffer = HistoryBuffer()
    buffer.extend([user("yes"), said("one")])
    buffer.extend([user("yes"), said("two")])
    buffer.extend([user("yes"), said("two")])
    assert contents(buffer) == ["yes", "one", "yes", "two", "yes", "two"]


def test_a_conversation_may_be_fed_message_by_message():
    buffer = HistoryBuffer()
    for message in [user("1"), *a_round("a"), said("one"), user("2")]:
        buffer.extend([message])
    assert contents(buffer) == ["1", "", "ok", "one", "2"]


@settings(max_examples=200)
@given(conversations(), st.integers(1, 12), st.integers(20, 400))
def test_feeding_what_a_run_was_given_adds_only_its_turn(messages, most, tokens):
    buffer = HistoryBuffer(tokens, most)
    for turn in turns_of(messages):
        before = buffer.get()
        new = [message.to_dict() for message in turn]
        other = HistoryBuffer(tokens, most)
        other.extend(before)
        other.extend(new)
        buffer.extend([{"role": "system", "content": "x"}, *before, *new])
        assert buffer.get() == other.get()


# ------------------------------------------------------------ what goes


def test_system_messages_are_left_out():
    """Acceptance check 38."""
    buffer = HistoryBuffer()
    buffer.extend([{"role": "system", "content": "x"}, user("1"), said("one")])
    assert contents(buffer) == ["1", "one"]


def test_a_tool_round_goes_whole_and_before_any_question():
    """Acceptance check 38."""
    buffer = HistoryBuffer(max_messages=6)
    buffer.extend([user("1"), said("one"), user("2"), *a_round("a")])
    buffer.extend([said("two"), user("3"), said("three")])
    assert contents(buffer) == ["1", "one", "2", "two", "3", "three"]


def test_a_question_goes_with_its_answer_when_no_tool_round_is_left():
    buffer = HistoryBuffer(max_messages=4)
    buffer.extend([user("1"), said("one"), user("2"), said("two"), user("3")])
    assert contents(buffer) == ["2", "two", "3"]


def test_trimming_leaves_four_fifths_of_the_tokens():
    buffer = HistoryBuffer(max_tokens=100)
    for number in range(10):
        buffer.extend([user(f"{number}" * 20), said("." * 20)])
    # 400 characters fit; what is more is trimmed to 320.
    assert buffer.tokens == 100
    buffer.extend([user("x")])
    assert buffer.tokens <= 80


def test_too_many_messages_do_not_cost_tokens():
    buffer = HistoryBuffer(max_tokens=61, max_messages=19)
    for number in range(10):
        buffer.extend([user(f"{number}" * 16), said("." * 8)])
    # 60 tokens fit, so that only the one turn goes.
    assert len(buffer) == 18


def test_arguments_of_tool_calls_count():
    buffer = HistoryBuffer(max_tokens=50)
    large = '{"text": "' + "x" * 400 + '"}'
    buffer.extend([user("1"), *a_round("a", large), said("one")])
    assert contents(buffer) == ["1", "one"]


def test_a_single_turn_that_is_too_large_stays():
    buffer = HistoryBuffer(max_tokens=5)
    buffer.extend([user("x" * 100), said("y" * 100)])
    assert len(buffer) == 2


@settings(max_examples=400)
@given(
    feeds=st.lists(st.one_of(any_messages, conversations()), max_size=5),
    tokens=st.one_of(st.none(), st.integers(1, 300)),
    count=st.one_of(st.none(), st.integers(1, 12)),
    pins=st.lists(st.sampled_from(["a pin", "another"]), max_size=2),
    summarize=st.sampled_from([None, lambda messages: "s" * 500]),
)
def test_whatever_it_is_fed_it_is_fit_and_fits(feeds, tokens, count, pins, summarize):
    buffer = HistoryBuffer(tokens, count, summarize=summarize)
    fits = True
    for pin in pins:
        try:
            buffer.pin(pin)
        except AgentConfigurationError:
            fits = False
    assert fits or tokens is not None
    for messages in feeds:
        readable = [
            m
            for m in messages
            if m.role != "function" and all(c.name for c in m.tool_calls)
        ]
        buffer.extend(readable)
        view = held(buffer)
        assert_fit(view)
        if not amount_of(view).fits(buffer._most):
            assert len(turns_of(view)) == 1
            assert not any(message.tool_calls for message in view)


@settings(max_examples=200)
@given(conversations(), st.integers(1, 12))
def test_a_round_is_never_split(messages, most):
    buffer = HistoryBuffer(max_messages=most)
    buffer.extend(messages)
    rounds = {
        c.id: [c.id for c in m.tool_calls] for m in messages for c in m.tool_calls
    }
    kept = {c.id for m in held(buffer) for c in m.tool_calls}
    assert all(kept.issuperset(rounds[call_id]) for call_id in kept)
    answers = {m.content: q.content for q, m in pairs(messages)}
    for question, answer in pairs(held(buffer)):
        assert answers[answer.content] == question.content


def pairs(messages):
    return [
        (turn[0], turn[-1]) for turn in turns_of(messages) if turn[-1].role != "user"
    ]


# ------------------------------------------------------------ its other faces


def test_what_it_gives_cannot_change_what_it_holds():
    buffer = HistoryBuffer()
    mine = [user("1"), said("one")]
    buffer.extend(mine)
    mine[0]["content"] = "spoilt"
    buffer.get()[0]["content"] = "spoilt"
    buffer.messages[0]["content"] = "spoilt"
    assert isinstance(buffer.messages, tuple)
    assert contents(buffer) == ["1", "one"]


def test_clear_forgets_everything():
    buffer = HistoryBuffer(max_messages=2, summarize=lambda messages: "s")
    buffer.pin("a pin")
    buffer.extend([user("1"), said("one"), user("2"), said("two")])
    assert HEADING in contents(buffer)[0]
    buffer.clear()
    assert buffer.get() == []
    buffer.extend([user("1"), said("one")])
    assert contents(buffer) == ["1", "one"]


def test_it_says_what_it_holds():
    buffer = HistoryBuffer()
    buffer.extend([user("12345678"), said("one")])
    assert repr(buffer) == "<HistoryBuffer: 2 messages, about 3 tokens>"
    assert len(buffer) == 2
    assert list(buffer) == buffer.get()


@pytest.mark.parametrize("limits", [{"max_tokens": 0}, {"max_messages": "6"}])
def test_a_limit_that_cannot_be_is_refused(limits):
    with pytest.raises(AgentConfigurationError, match=next(iter(limits))):
        HistoryBuffer(**limits)


def test_what_is_no_message_adds_nothing():
    buffer = HistoryBuffer()
    with pytest.raises(AgentConfigurationError, match=r"messages\[1\] is str"):
        buffer.extend([user("1"), "two"])
    assert buffer.get() == []


def test_threads_may_feed_it_at_once():
    buffer = HistoryBuffer(max_messages=50)

    def feed(name):
        for number in range(40):
            buffer.extend([user(f"{name} {number}"), said("ok")])

    threads = [threading.Thread(target=feed, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(buffer) == 50
    assert_fit(held(buffer))


# ------------------------------------------------------------ running an agent


async def test_it_runs_an_agent_and_takes_the_turn():
    provider = ScriptedProvider([call("look", n=1), "one", "two"])
    agent, buffer = Agent(provider, [look]), HistoryBuffer()
    await buffer.run(agent, "1")
    result = await buffer.run(agent, "2", system_prompt="Be brief.")
    assert result.answer == "two"
    assert contents(buffer) == ["1", "", "found 1", "one", "2", "two"]
    assert len(provider.requests[-1].messages) == 6


def test_it_does_so_from_sync_code():
    agent, buffer = Agent(ScriptedProvider(["one", "one"])), HistoryBuffer()
    for _ in range(2):
        buffer.run_sync(agent, "same")
    assert contents(buffer) == ["same", "one", "same", "one"]


async def test_a_run_that_fails_adds_nothing():
    agent = Agent(ScriptedProvider(["one", AgentProviderError("down")]))
    buffer = HistoryBuffer()
    await buffer.run(agent, "1")
    with pytest.raises(AgentProviderError):
        await buffer.run(agent, "2")
    assert contents(buffer) == ["1", "one"]


async def test_two_runs_at_once_are_two_turns():
    agent = Agent(ScriptedProvider(["one", "two"], delay=0.001))
    buffer = HistoryBuffer()
    await asyncio.gather(buffer.run(agent, "1"), buffer.run(agent, "2"))
    assert sorted(contents(buffer)) == ["1", "2", "one", "two"]
    assert_fit(held(buffer))


# ------------------------------------------------------------ pins


def test_what_is_pinned_stays_in_front():
    buffer = HistoryBuffer(max_messages=2)
    buffer.pin("The data ends in 2025.")
    for number in range(3):
        buffer.extend([user(f"{number}"), said("ok")])
    assert contents(buffer) == ["The data ends in 2025.\n\n2", "ok"]


def test_what_is_pinned_is_not_doubled_by_a_run():
    agent, buffer = Agent(ScriptedProvider(["one", "two"])), HistoryBuffer()
    buffer.pin("A fact.")
    for question in ("1", "2"):
        buffer.extend(agent.run_sync(question, prior_messages=buffer.get()).messages)
    assert contents(buffer) == ["A fact.\n\n1", "one", "2", "two"]


def test_an_answer_can_be_pinned():
    buffer = HistoryBuffer()
    buffer.pin(said("It is 42."))
    assert buffer.get() == [user("[You said earlier]\nIt is 42.")]


@pytest.mark.parametrize(
    "unfit", ["", "  ", a_round("a")[0], a_round("a")[1], {"role": "system"}, 3]
)
def test_only_text_can_be_pinned(unfit):
    buffer = HistoryBuffer()
    with pytest.raises(AgentConfigurationError, match=r"Only text|pin\[0\]"):
        buffer.pin(unfit)
    assert buffer.get() == []


def test_pins_leave_room_for_the_conversation():
    buffer = HistoryBuffer(max_tokens=100)
    buffer.pin("x" * 190)
    with pytest.raises(AgentConfigurationError, match="half of max_tokens=100"):
        buffer.pin("y" * 20)
    assert contents(buffer) == ["x" * 190]


# ------------------------------------------------------------ the summary


def test_what_a_list_of_your_own_repeats_is_not_summarised_again():
    asked = []

    def summarize(messages):
        asked.extend(m["content"] for m in messages if "summary" not in m["content"])
        return "summary"

    mine, buffer = [], HistoryBuffer(max_messages=2, summarize=summarize)
    for number in range(5):
        mine += [user(f"{number}"), said(f"a{number}")]
        buffer.extend(mine)
    assert asked == ["0", "a0", "1", "a1", "2", "a2", "3", "a3"]


def test_what_goes_is_summarised_in_its_order():
    asked = []

    def summarize(messages):
        asked.append([message["content"] for message in messages])
        return f"summary {len(asked)}"

    buffer = HistoryBuffer(max_messages=4, summarize=summarize)
    buffer.extend([user("1"), *a_round("a"), said("one"), user("2"), said("two")])
    assert contents(buffer)[0] == f"{HEADING}\nsummary 1\n\n1"
    buffer.extend([user("3"), said("three")])
    assert asked == [
        ["", "ok"],
        [f"{HEADING}\nsummary 1", "1", "one"],
    ]
    assert contents(buffer)[0] == f"{HEADING}\nsummary 2\n\n2"


async def test_an_agent_may_summarise():
    summarizer = Agent(ScriptedProvider(["They counted."]))
    agent = Agent(ScriptedProvider(["one", "two"]))
    buffer = HistoryBuffer(max_messages=2, summarize=summarizer)
    await buffer.run(agent, "1")
    await buffer.run(agent, "2")
    assert contents(buffer) == [f"{HEADING}\nThey counted.\n\n2", "two"]
    assert summarizer.memory.all_messages == []


def test_a_summary_that_fails_loses_nothing_but_itself(caplog):
    answers = iter(["good", None])

    def summarize(messages):
        return next(answers)

    buffer = HistoryBuffer(max_messages=2, summarize=summarize)
    for number in range(3):
        buffer.extend([user(f"{number}"), said("ok")])
    assert contents(buffer) == [f"{HEADING}\ngood\n\n2", "ok"]
    assert "could not be summarised" in caplog.text


def test_what_could_not_be_summarised_is_in_the_next_summary():
    failing = [False, True, False]

    def summarize(messages):
        if failing.pop(0):
            raise ConnectionError
        return " ".join(message["content"].split("\n")[-1] for message in messages)

    buffer = HistoryBuffer(max_messages=2, summarize=summarize)
    for number in range(4):
        buffer.extend([user(f"{number}"), said("ok")])
    assert contents(buffer)[0] == f"{HEADING}\n0 ok 1 ok 2 ok\n\n3"


async def test_what_was_to_be_summarised_when_somebody_stopped_is_in_the_next_one():
    began = asyncio.Event()

    async def summarize(messages):
        if not began.is_set():
            began.set()
            await asyncio.Event().wait()
        return " ".join(message["content"] for message in messages)

    agent = Agent(ScriptedProvider(["a", "b", "c"]))
    buffer = HistoryBuffer(max_messages=2, summarize=summarize)
    await buffer.run(agent, "0")
    stopped = asyncio.create_task(buffer.run(agent, "1"))
    await asyncio.wait_for(began.wait(), 30)
    stopped.cancel()
    await asyncio.wait([stopped])
    await buffer.run(agent, "2")
    assert contents(buffer)[0] == f"{HEADING}\n0 a 1 b\n\n2"


def test_of_what_cannot_be_summarised_no_more_than_the_latest_is_kept():
    shown = []

    def summarize(messages):
        shown.append(len(messages))
        raise ConnectionError

    buffer = HistoryBuffer(max_messages=2, summarize=summarize)
    for number in range(300):
        buffer.extend([user(f"{number}"), said("ok")])
    assert max(shown) <= 210


def test_a_summary_never_grows_without_bound():
    def summarize(messages):
        return "".join(message["content"] for message in messages) * 2

    buffer = HistoryBuffer(max_tokens=400, summarize=summarize)
    for number in range(60):
        buffer.extend([user(f"{number} " * 40), said("ok " * 40)])
        assert buffer.tokens <= 400
    assert HEADING in contents(buffer)[0]


async def test_a_conversation_that_is_cleared_meanwhile_gets_no_old_summary():
    began, release = asyncio.Event(), asyncio.Event()

    async def summarize(messages):
        began.set()
        await release.wait()
        return "old"

    agent = Agent(ScriptedProvider(["one", "two"]))
    buffer = HistoryBuffer(max_messages=2, summarize=summarize)
    await buffer.run(agent, "1")
    task = asyncio.create_task(buffer.run(agent, "2"))
    await began.wait()
    buffer.clear()
    release.set()
    await task
    assert buffer.get() == []


def test_calls_of_ours_may_be_fed_as_values():
    buffer = HistoryBuffer()
    buffer.extend(
        [
            Message("user", "1"),
            Message("assistant", "", (ToolCall("a", "f"),), intermediate=True),
            Message("tool", "ok", tool_call_id="a", intermediate=True),
            Message("assistant", "one"),
        ]
    )
    assert contents(buffer) == ["1", "", "ok", "one"]
