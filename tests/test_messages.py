"""Messages, calls and counts are values with one public shape."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notebook_agents import Message, ToolCall
from notebook_agents.messages import Usage, to_dicts

calls = st.builds(ToolCall, st.text(), st.text(), st.text(min_size=1))
messages = st.builds(
    Message,
    st.sampled_from(["system", "user", "assistant", "tool"]),
    st.text(),
    st.lists(calls, max_size=3).map(tuple),
    st.none() | st.text(),
)


@given(messages)
def test_a_message_comes_back_from_json_as_it_was(message):
    assert Message.from_dict(json.loads(json.dumps(message.to_dict()))) == message


def test_a_call_has_the_shape_of_openai():
    call = ToolCall("1", "add", '{"a": 1}')
    assert Message("assistant", "", (call,)).to_dict() == {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {
                "id": "1",
                "type": "function",
                "function": {"name": "add", "arguments": '{"a": 1}'},
            }
        ],
    }


def test_a_result_names_the_call_that_it_answers():
    message = Message("tool", "2", tool_call_id="1", intermediate=True)
    assert message.to_dict() == {"role": "tool", "content": "2", "tool_call_id": "1"}


@pytest.mark.parametrize("arguments", [None, ""])
def test_no_arguments_are_an_empty_object(arguments):
    data = {"id": "1", "function": {"name": "add", "arguments": arguments}}
    assert ToolCall.from_dict(data).arguments == "{}"


def test_null_content_is_empty():
    assert Message.from_dict({"role": "assistant", "content": None}).content == ""


def test_keys_of_others_are_ignored():
    data = {"role": "user", "content": "hi", "name": "ada", "reasoning_content": "x"}
    assert Message.from_dict(data) == Message("user", "hi")


def test_what_is_handed_out_can_be_changed_without_harm():
    message = Message("user", "hi")
    to_dicts([message])[0]["content"] = "other"
    assert message.content == "hi"


def test_counts_add_up_and_the_context_is_the_last():
    total = Usage().plus(Usage.of_call(10, 2, 1)).plus(Usage.of_call(20, 3))
    assert total == Usage(
        context_tokens=20, prompt_tokens=30, completion_tokens=5, reasoning_tokens=1
    )
