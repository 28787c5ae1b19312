"""The rules that make a conversation fit for every service, and how to check them.

The strictest of each service: a conversation begins with the user; user and
assistant take turns; each call is answered once, in the order of the calls,
right after them; identifiers of calls differ; arguments are JSON objects;
neither of them says nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from notebook_agents.messages import Message, ToolCall

__all__ = ["fault_in", "has_arguments", "is_blank"]

_SPEAKERS = {"user", "assistant"}


def fault_in(messages: Sequence[Message], *, is_open: bool = False) -> str:
    """Find the first rule that a conversation breaks.

    Parameters
    ----------
    messages : sequence of Message
        Without a system message.
    is_open : bool, default False
        Whether the model is asked next, so that the last word must be the
        user's or a result; else a question follows, so that it must not be a
        result.

    Returns
    -------
    str
        A few words; empty if it is fit to send.

    Examples
    --------
    >>> fault_in([Message("user", "hi"), Message("user", "there")])
    'a user message follows a user message'
    """
    waiting: list[str] = []
    seen: set[str] = set()
    plain = _length_of_plain(messages)
    before = messages[plain - 1].role if plain else ""
    for message in messages[plain:]:
        role = message.role
        if fault := _fault_in_turns(message, before, waiting):
            return fault
        if message.tool_calls:
            if fault := _fault_in_calls(message, seen):
                return fault
            waiting = [call.id for call in reversed(message.tool_calls)]
        elif role != "tool" and is_blank(message.content):
            return f"a {role} message is blank"
        before = role
    return _fault_at_end(before, waiting, is_open=is_open)


def _length_of_plain(messages: Sequence[Message]) -> int:
    """Count the messages up to the first that is more than a question or an answer."""
    # Most conversations are nothing else, and this takes a third of the time.
    expected, other = "user", "assistant"
    for place, message in enumerate(messages):
        content: object = message.content
        if (
            message.role != expected
            or message.tool_calls
            or message.tool_call_id is not None
            or type(content) is not str
            or not content
            or content.isspace()
        ):
            return place
        expected, other = other, expected
    return len(messages)


def _fault_in_turns(message: Message, before: str, waiting: list[str]) -> str:
    role = message.role
    if role == "tool":
        if waiting and waiting.pop() == message.tool_call_id:
            return ""
        return "a result does not answer the call before it"
    if waiting:
        return "a call has no result"
    # After whom each of them may speak.
    allowed = ("", "assistant") if role == "user" else ("user", "tool")
    if before not in allowed or role not in _SPEAKERS:
        return (
            f"a {role} message follows {f'a {before} message' if before else 'nothing'}"
        )
    if message.tool_call_id is not None:
        return f"a {role} message answers a call"
    return ""


def _fault_in_calls(message: Message, seen: set[str]) -> str:
    if message.role != "assistant":
        return f"a {message.role} message calls a tool"
    for call in message.tool_calls:
        if not call.id or call.id in seen:
            return "two calls have the same identifier, or none"
        if not call.name or not has_arguments(call):
            return "a call has no name, or arguments that are no JSON object"
        seen.add(call.id)
    return ""


def _fault_at_end(last: str, waiting: list[str], *, is_open: bool) -> str:
    if waiting:
        return "a call has no result"
    if is_open and last not in {"user", "tool"}:
        return "it does not end with a question or a result"
    if not is_open and last == "tool":
        return "it ends with a result"
    return ""


def is_blank(content: Any) -> bool:
    """Tell whether a content says nothing; some services refuse that."""
    if isinstance(content, str):
        return not content or content.isspace()
    return not content


def has_arguments(call: ToolCall) -> bool:
    """Tell whether the arguments of a call are a JSON object."""
    if call.arguments == "{}":
        return True
    from pydantic_core import from_json  # not before there is a call

    try:
        return isinstance(from_json(call.arguments, allow_inf_nan=False), dict)
    except (ValueError, TypeError):
        return False
