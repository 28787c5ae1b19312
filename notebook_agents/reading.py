"""Messages that come from elsewhere: other kits, other people's memories, users.

They are read leniently into `Message` values; what cannot be meant is refused
with a sentence that says where it stands.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Mapping
from typing import Any, cast

from notebook_agents.errors import AgentConfigurationError
from notebook_agents.messages import Message, Role, ToolCall

__all__ = ["read_messages"]

_ROLES: dict[object, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "tool": "tool",
}
_TEXT_PARTS = {"text", "input_text", "output_text", "refusal"}
_THOUGHT_PARTS = {"thinking", "redacted_thinking", "reasoning", "thought"}
_MEDIA_PARTS = {
    "document",
    "file",
    "image",
    "image_url",
    "input_audio",
    "input_file",
    "input_image",
}


class _UnreadableError(ValueError):
    """Why a message cannot be read; the rest of a sentence."""


def read_messages(messages: object, *, name: str) -> list[Message]:
    """Read messages in the OpenAI chat shape, as other kits write it.

    Parameters
    ----------
    messages : iterable
        Dicts or `Message` values, oldest first; or a whole result of a run.
        Content may be text, parts or nothing, arguments of calls text or a
        dict. Reasoning is left out.
    name : str
        What errors call them.

    Returns
    -------
    list of Message
        Which share nothing with the originals.

    Raises
    ------
    AgentConfigurationError
        If one of them is no message.

    Examples
    --------
    >>> parts = [{"type": "text", "text": "hi"}]
    >>> read_messages([{"role": "user", "content": parts}], name="prior_messages")
    [Message(role='user', content='hi', ...)]
    """
    if isinstance(messages, Mapping) and "messages" in messages:
        messages = messages["messages"]
    if isinstance(messages, str | bytes | Mapping) or not isinstance(
        messages, Iterable
    ):
        message = (
            f"{name} is a list of messages such as "
            f"{{'role': 'user', 'content': 'hi'}}, not {type(messages).__name__}."
        )
        raise AgentConfigurationError(message)
    read = []
    for place, item in enumerate(messages):
        try:
            read.append(_message(item))
        except _UnreadableError as error:
            message = f"{name}[{place}] {error}"
            raise AgentConfigurationError(message) from None
    return read


def _message(item: object) -> Message:
    if isinstance(item, Message):
        content: object = item.content
        return item if isinstance(content, str) else copy.deepcopy(item)
    if not isinstance(item, Mapping):
        message = (
            f"is {type(item).__name__}; a message is a dict such as "
            "{'role': 'user', 'content': 'hi'}."
        )
        raise _UnreadableError(message)
    said = item.get("role")
    role = _ROLES.get(said) if isinstance(said, str) else None
    if role is None:
        message = f"has the role {said!r}; known: system, user, assistant, tool."
        raise _UnreadableError(message)
    answers = item.get("tool_call_id") if role == "tool" else None
    return Message(
        role,
        _content(item.get("content")),
        _calls(item.get("tool_calls")) if role == "assistant" else (),
        None if answers is None else str(answers),
        intermediate=bool(item.get("intermediate")),
    )


def _content(content: object) -> str:
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if isinstance(content, Mapping):
        return _json_of(content)
    if not isinstance(content, Iterable):
        return str(content)
    parts = [part for part in map(_part, content) if part is not None]
    if any(isinstance(part, Mapping) for part in parts):
        media = [
            {"type": "text", "text": part} if isinstance(part, str) else part
            for part in parts
        ]
        return cast("str", media)  # a list of parts, which some services take
    return "\n".join(cast("list[str]", parts))


def _part(part: object) -> str | Mapping[str, Any] | None:
    """Give the text of a part, a copy of what is not text, None for a thought."""
    if isinstance(part, str):
        return part
    facts = part if isinstance(part, Mapping) else {"type": type(part).__name__}
    kind = str(facts.get("type", "text"))
    if kind in _THOUGHT_PARTS:
        return None
    if kind in _TEXT_PARTS:
        return str(facts.get("text") or facts.get("refusal") or "")
    if kind in _MEDIA_PARTS:
        return copy.deepcopy(dict(facts))
    message = (
        f"has a content part of the type {kind!r}; text and files are known, and "
        "calls belong in 'tool_calls', results in messages of the role 'tool'."
    )
    raise _UnreadableError(message)


def _calls(calls: object) -> tuple[ToolCall, ...]:
    if calls is None:
        return ()
    if isinstance(calls, str | Mapping) or not isinstance(calls, Iterable):
        message = f"has 'tool_calls' that are {type(calls).__name__}, not a list."
        raise _UnreadableError(message)
    return tuple(map(_call, calls))


def _call(call: object) -> ToolCall:
    if isinstance(call, ToolCall):
        return call
    facts = call.get("function", call) if isinstance(call, Mapping) else None
    name = facts.get("name") if isinstance(facts, Mapping) else None
    if not isinstance(call, Mapping) or not isinstance(facts, Mapping) or not name:
        message = "has a tool call without the name of its tool."
        raise _UnreadableError(message)
    arguments = facts.get("arguments", facts.get("args"))
    if not isinstance(arguments, str):
        arguments = _json_of(arguments or {})
    return ToolCall(str(call.get("id") or ""), str(name), arguments or "{}")


def _json_of(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
