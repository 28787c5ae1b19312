"""Messages of other kits are read as they were meant."""

from __future__ import annotations

import pytest

from notebook_agents import Agent, Message, ScriptedProvider, ToolCall
from notebook_agents.errors import AgentConfigurationError
from notebook_agents.reading import read_messages

PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}


def read(*messages):
    return read_messages(messages, name="prior_messages")


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("hi", "hi"),
        (None, ""),
        ([], ""),
        (
            [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}],
            "one\ntwo",
        ),
        ([{"type": "input_text", "text": "one"}], "one"),
        ([{"type": "output_text", "text": "one", "annotations": []}], "one"),
        ([{"type": "refusal", "refusal": "no"}], "no"),
        ([{"text": "one"}], "one"),
        (["one"], "one"),
        ([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a"}], "a"),
        ({"rows": 3}, '{"rows": 3}'),
        (3, "3"),
    ],
)
def test_content_becomes_text(content, text):
    assert read({"role": "user", "content": content}) == [Message("user", text)]


def test_what_is_no_text_stays_a_part_of_its_own():
    parts = [{"type": "text", "text": "look"}, PICTURE]
    [message] = read({"role": "user", "content": parts})
    assert message.content == parts
    assert message.content[1] is not PICTURE


@pytest.mark.parametrize(
    "call",
    [
        {
            "id": "1",
            "type": "function",
            "function": {"name": "f", "arguments": '{"a": 1}'},
        },
        {"id": "1", "function": {"name": "f", "arguments": {"a": 1}}},
        {"id": "1", "type": "tool_call", "name": "f", "args": {"a": 1}},
        ToolCall("1", "f", '{"a": 1}'),
    ],
)
def test_calls_may_be_written_in_several_ways(call):
    [message] = read({"role": "assistant", "content": None, "tool_calls": [call]})
    assert message == Message("assistant", "", (ToolCall("1", "f", '{"a": 1}'),))


@pytest.mark.parametrize("arguments", [None, "", {}])
def test_no_arguments_are_an_empty_object(arguments):
    call = {"id": "1", "function": {"name": "f", "arguments": arguments}}
    [message] = read({"role": "assistant", "tool_calls": [call]})
    assert message.tool_calls[0].arguments == "{}"


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning", "thought"])
def test_reasoning_is_left_out(key):
    """Requirement L20."""
    [message] = read({"role": "assistant", "content": "42", key: "secret"})
    assert message == Message("assistant", "42")


@pytest.mark.parametrize(
    ("role", "ours"),
    [
        ("human", "user"),
        ("ai", "assistant"),
        ("model", "assistant"),
        ("developer", "system"),
    ],
)
def test_other_words_for_who_speaks_are_known(role, ours):
    assert read({"role": role, "content": "x"})[0].role == ours


def test_a_whole_result_stands_for_its_messages():
    result = Agent(ScriptedProvider(["Hi!"])).run_sync("Hello")
    assert read_messages(result, name="x") == [
        Message("user", "Hello"),
        Message("assistant", "Hi!"),
    ]


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        ("hi", r"is a list of messages such as .*, not str"),
        (3, "not int"),
        ({"role": "user", "content": "hi"}, "not dict"),
        (["hi"], r"prior_messages\[0\] is str; a message is a dict"),
        ([{"content": "hi"}], r"\[0\] has the role None; known: system, user"),
        ([{"role": ["user"]}], "has the role"),
        ([{"role": "user"}, {"role": "function", "name": "f"}], r"\[1\] .*'function'"),
        (
            [{"role": "user", "content": [{"type": "tool_result"}]}],
            "content part of the type 'tool_result'.* results in messages",
        ),
        (
            [{"role": "assistant", "tool_calls": [{"id": "1"}]}],
            "tool call without the name",
        ),
        ([{"role": "assistant", "tool_calls": ["f"]}], "tool call without the name"),
        ([{"role": "assistant", "tool_calls": 3}], "are int, not a list"),
        ([{"role": "assistant", "tool_calls": {"id": "1"}}], "are dict, not a list"),
        ([{"role": "user", "content": b"hi"}], "content part of the type 'int'"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_sentence(messages, said):
    with pytest.raises(AgentConfigurationError, match=said):
        read_messages(messages, name="prior_messages")


def test_a_run_refuses_them_before_anything_is_sent():
    provider = ScriptedProvider(["never"])
    agent = Agent(provider)
    with pytest.raises(AgentConfigurationError, match=r"prior_messages\[0\]"):
        agent.run_sync("go", prior_messages=["hi"])
    assert provider.requests == []
    assert agent.memory.all_messages == []
