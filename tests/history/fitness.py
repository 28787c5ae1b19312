"""What makes a conversation fit for every service, and conversations of all sorts."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from hypothesis import strategies as st

from notebook_agents import Message, ToolCall

TURN = "u(ct+)*a"  # a question, tool rounds, an answer
CLOSED = re.compile(f"({TURN})*u?")
OPEN = re.compile(f"({TURN})*u(ct+)*")


def letter(message: Message) -> str:
    return "c" if message.tool_calls else message.role[0]


def assert_fit(messages: Sequence[Message], *, is_open: bool = False) -> None:
    """Fail unless any service would take the conversation.

    Written anew, and not in terms of the package: what says that a history is fit
    must not share a mistake with what makes it so.
    """
    shape = "".join(map(letter, messages))
    assert (OPEN if is_open else CLOSED).fullmatch(shape), shape
    seen: set[str] = set()
    for place, message in enumerate(messages):
        assert message.role == "tool" or message.tool_calls or message.content.strip()
        assert (message.tool_call_id is not None) is (message.role == "tool")
        ids = [call.id for call in message.tool_calls]
        results = messages[place + 1 : place + 1 + len(ids)]
        assert [result.tool_call_id for result in results] == ids
        if ids:
            assert shape[place + 1 + len(ids) :][:1] != "t", "a second result"
        assert all(ids)
        assert seen.isdisjoint(ids)
        assert len(set(ids)) == len(ids)
        seen.update(ids)
        for call in message.tool_calls:
            assert call.name
            assert isinstance(json.loads(call.arguments), dict)


texts = st.sampled_from(["", "  ", "one", "two", "a longer text " * 9])
some_calls = st.builds(
    ToolCall,
    id=st.sampled_from(["", "1", "1", "2", "3", "1_2"]),
    name=st.sampled_from(["f", "g", ""]),
    arguments=st.sampled_from(["{}", '{"a": 1}', "{", "[]", ""]),
)
any_message = st.one_of(
    st.builds(Message, st.sampled_from(["user", "assistant", "system"]), texts),
    st.builds(
        Message,
        st.just("assistant"),
        texts,
        st.lists(some_calls, min_size=1, max_size=3).map(tuple),
    ),
    st.builds(
        Message,
        st.just("tool"),
        texts,
        tool_call_id=st.sampled_from(["1", "2", "3", "1_2", "", None]),
    ),
    st.builds(  # what only a record that somebody made by hand can be
        Message,
        st.sampled_from(["user", "assistant", "function"]),
        texts,
        st.lists(some_calls, max_size=1).map(tuple),
        st.sampled_from(["1", None]),
    ),
)
any_messages = st.lists(any_message, max_size=12)


@st.composite
def conversations(draw: st.DrawFn, most_turns: int = 6) -> list[Message]:
    """Give conversations that are in order."""
    number = 0
    messages: list[Message] = []
    for _ in range(draw(st.integers(0, most_turns))):
        size = draw(st.integers(1, 60))
        messages.append(Message("user", f"q{number} " + "x" * size))
        for _ in range(draw(st.integers(0, 3))):
            count = draw(st.integers(1, 3))
            calls = [
                ToolCall(f"c{number}_{n}", "f", json.dumps({"a": "y" * size}))
                for n in range(count)
            ]
            number += 1
            messages.append(Message("assistant", "", tuple(calls)))
            messages += [Message("tool", f"r{c.id}", tool_call_id=c.id) for c in calls]
        number += 1
        messages.append(Message("assistant", f"a{number} " + "z" * size))
    return messages
