"""A conversation that broke somewhere is made fit to send."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings

from notebook_agents import Message, ToolCall
from notebook_agents.history.pairing import fault_in
from notebook_agents.history.repair import (
    NO_ANSWER,
    NO_RESULT,
    NO_START,
    joined,
    repaired,
)
from tests.history.fitness import any_messages, assert_fit, conversations


def user(text="go"):
    return Message("user", text)


def said(text="ok"):
    return Message("assistant", text)


def calls(*ids, text="", arguments="{}"):
    return Message("assistant", text, tuple(ToolCall(i, "f", arguments) for i in ids))


def result(call_id, text="done"):
    return Message("tool", text, tool_call_id=call_id)


CASES = {
    "a result without a call": (
        [user(), result("1"), said()],
        [user(), said()],
    ),
    "a call without a result": (
        [user(), calls("1"), said()],
        [user(), calls("1"), result("1", NO_RESULT), said()],
    ),
    "a crash before the first result": (
        [user(), calls("1", "2")],
        [
            user(),
            calls("1", "2"),
            result("1", NO_RESULT),
            result("2", NO_RESULT),
            said(NO_ANSWER),
        ],
    ),
    "a crash between two results": (
        [user(), calls("1", "2"), result("1"), user("again")],
        [
            user(),
            calls("1", "2"),
            result("1"),
            result("2", NO_RESULT),
            said(NO_ANSWER),
            user("again"),
        ],
    ),
    "a crash after the last result": (
        [user(), calls("1"), result("1")],
        [user(), calls("1"), result("1"), said(NO_ANSWER)],
    ),
    "a second result": (
        [user(), calls("1"), result("1", "first"), result("1", "second"), said()],
        [user(), calls("1"), result("1", "first"), said()],
    ),
    "results in another order": (
        [user(), calls("1", "2"), result("2", "two"), result("1", "one"), said()],
        [user(), calls("1", "2"), result("1", "one"), result("2", "two"), said()],
    ),
    "a result that comes too late": (
        [user(), calls("1"), user("hm"), result("1"), said()],
        [user(), calls("1"), result("1"), said(NO_ANSWER), user("hm"), said()],
    ),
    "a result before its call": (
        [user(), result("1"), calls("1"), said()],
        [user(), calls("1"), result("1"), said()],
    ),
    "a result that names no call": (
        [user(), calls("1", "2"), result(None, "one"), result(None, "two"), said()],
        [user(), calls("1", "2"), result("1", "one"), result("2", "two"), said()],
    ),
    "a result after it was given up": (
        [user(), calls("1"), result("1", NO_RESULT), said(NO_ANSWER), result("1")],
        [user(), calls("1"), result("1"), said(NO_ANSWER)],
    ),
    "two questions in a row": (
        [user("one"), user("two"), said()],
        [user("one\n\ntwo"), said()],
    ),
    "two answers in a row": (
        [user(), said("one"), said("two")],
        [user(), said("one\n\ntwo")],
    ),
    "a plan apart from its calls": (
        [user(), said("I look."), calls("1"), result("1"), said()],
        [user(), calls("1", text="I look."), result("1"), said()],
    ),
    "an empty question": ([user(" "), user("one"), said()], [user("one"), said()]),
    "an empty answer": (
        [user("one"), said(""), user("two"), said()],
        [user("one"), said(NO_ANSWER), user("two"), said()],
    ),
    "a beginning that was cut off": (
        [result("1"), said("Hello, what can I do?"), user("one")],
        [user(NO_START), said("Hello, what can I do?"), user("one")],
    ),
    "a system message in the middle": (
        [user(), Message("system", "be brief"), said()],
        [user(), said()],
    ),
    "an identifier of two calls": (
        [user(), calls("1"), result("1", "a"), calls("1"), result("1", "b"), said()],
        [
            user(),
            calls("1"),
            result("1", "a"),
            calls("1_2"),
            result("1_2", "b"),
            said(),
        ],
    ),
    "an identifier of two calls at once": (
        [user(), calls("1", "1"), result("1", "a"), result("1", "b"), said()],
        [user(), calls("1", "1_2"), result("1", "a"), result("1_2", "b"), said()],
    ),
    "a call without an identifier": (
        [user(), calls(""), result("", "a"), said()],
        [user(), calls("call_1"), result("call_1", "a"), said()],
    ),
    "arguments that were cut off": (
        [user(), calls("1", arguments='{"a": '), result("1"), said()],
        [user(), calls("1"), result("1"), said()],
    ),
    "nothing but results": ([result("1"), result("2")], []),
}


@pytest.mark.parametrize(("broken", "mended"), CASES.values(), ids=CASES)
def test_what_broke_is_mended(broken, mended):
    assert repaired(broken) == mended
    assert_fit(mended)


@settings(max_examples=500)
@given(any_messages)
def test_whatever_it_was_it_is_fit_to_send(messages):
    assert_fit(repaired(messages))
    assert fault_in(repaired(messages)) == ""


@settings(max_examples=300)
@given(any_messages)
def test_before_the_model_answers_it_may_end_with_results(messages):
    mended = repaired([*messages, user("q"), *messages[-3:]], is_open=True)
    assert_fit(mended, is_open=mended[-1].role != "assistant")


@given(any_messages)
def test_mended_once_it_stays_so(messages):
    mended = repaired(messages)
    assert repaired([*mended, Message("system", "x")]) == mended


@given(conversations())
def test_what_is_in_order_stays_as_it_is(messages):
    assert repaired(messages) == messages
    assert repaired([*messages, Message("system", "x")]) == messages


@given(any_messages)
def test_no_question_is_lost(messages):
    kept = "\n\n".join(m.content for m in repaired(messages) if m.role == "user")
    for message in messages:
        if message.role == "user" and message.content.strip():
            assert message.content in kept


def test_a_last_question_and_the_next_one_become_one():
    together = joined([user("data"), said(), user("more")], [user("go"), calls("1")])
    assert together == [user("data"), said(), user("more\n\ngo"), calls("1")]


def test_questions_with_pictures_are_put_together():
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}
    mended = repaired([user("look"), Message("user", [picture]), said()])
    assert mended[0].content == [{"type": "text", "text": "look"}, picture]


def test_a_long_history_is_mended_in_linear_time():
    def seconds(turns):
        messages = [calls("1"), result("1"), user(), user()] * turns
        began = time.thread_time()
        repaired(messages)
        return time.thread_time() - began

    few = min(seconds(100) for _ in range(3))
    many = min(seconds(2000) for _ in range(3))
    assert many < 60 * few
