"""Showing a conversation with tools to a model whose template knows only talk."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from notebook_agents.errors import AgentConfigurationError
from notebook_agents.messages import Message

__all__ = [
    "check_text_only",
    "last_user_text",
    "quoting_grammar",
    "results_at_end",
    "to_talk",
]

_SYSTEM = "You are a helpful assistant."
_VALUE_WORDS = 5
"""A result of at most so many words can stand within a sentence."""
_MAX_QUOTE = 600
"""Characters of a result that are quoted."""


def to_talk(messages: Sequence[Message], *, drop_calls: bool) -> list[dict[str, str]]:
    """Render a conversation as system, user and assistant text only.

    Parameters
    ----------
    messages : sequence of Message
        The conversation.
    drop_calls : bool
        Leave out the calls and results of turns that have been answered; a very
        small model would imitate them.

    Returns
    -------
    list of dict
        Roles and texts, a system message first.
    """
    talk: list[dict[str, str]] = []
    names = _call_names(messages)
    turn_start = max(
        (i for i, message in enumerate(messages) if message.role == "user"), default=0
    )
    for index, message in enumerate(messages):
        is_call = message.role == "tool" or bool(message.tool_calls)
        if is_call and drop_calls and index < turn_start:
            continue
        talk.append(_line(message, names))
    if not talk or talk[0]["role"] != "system":
        # Without one, the bundled model answers in French, among other things.
        talk.insert(0, {"role": "system", "content": _SYSTEM})
    return talk


def check_text_only(messages: Sequence[Message]) -> None:
    """Refuse a conversation with images or files in it.

    Parameters
    ----------
    messages : sequence of Message
        The conversation.

    Raises
    ------
    AgentConfigurationError
        If there is one.
    """
    contents: list[object] = [message.content for message in messages]
    if not all(isinstance(content, str) for content in contents):
        message = "The local model reads text only, no image and no file."
        raise AgentConfigurationError(message)


def last_user_text(messages: Sequence[Message]) -> str:
    """Give what the user wrote last; empty if nothing."""
    for message in reversed(messages):
        if message.role == "user":
            return message.content
    return ""


def results_at_end(messages: Sequence[Message]) -> list[tuple[str, str]]:
    """List the tool results that end a conversation, oldest first.

    Parameters
    ----------
    messages : sequence of Message
        The conversation.

    Returns
    -------
    list of (str, str)
        Name of the tool and its result; empty if the end is something else.
    """
    names = _call_names(messages)
    results = []
    for message in reversed(messages):
        if message.role != "tool":
            break
        name = names.get(message.tool_call_id or "", "the tool")
        results.append((name, message.content))
    return results[::-1]


_NOT_RUN = " The tool was not run."
_FAILURES = {
    "Tool execution failed": "failed",
    "Error": "was not run",
    "Denied": "was not run, denied",
    "Cancelled": "was stopped",
}


def quoting_grammar(results: Sequence[tuple[str, str]]) -> str:
    """Make a grammar of answers that quote tool results, word for word.

    Parameters
    ----------
    results : sequence of (str, str)
        Name of the tool and its result; one or more.

    Returns
    -------
    str
        GBNF. One short result may stand in one of a few sentences.
    """
    if len(results) == 1 and not _failure(*results[0]):
        result = _quotable(results[0][1])
        if result and len(result.split()) <= _VALUE_WORDS and "\n" not in result:
            leads = ("The answer is ", "The result is ", "It is ")
            end = "" if result[-1] in ".!?" else "."
            frames = " | ".join(_literal(lead) for lead in leads)
            return f"root ::= ({frames}) {_literal(result + end)}"
    said = "\n".join(
        _failure(name, result) or f"{name} says: {_quotable(result) or 'nothing'}"
        for name, result in results
    )
    return f"root ::= {_literal(said)}"


def _failure(name: str, result: str) -> str:
    """Say that a call gave no result; empty if it gave one."""
    for start, verb in _FAILURES.items():
        if result.startswith(start):
            reason = _quotable(result.removeprefix(start).removesuffix(_NOT_RUN))
            return f"{name} {verb}: {reason.lstrip(': ')}"
    return ""


def _quotable(result: str) -> str:
    # Control characters have no place in an answer, nor in a grammar.
    text = re.sub(r"[^\S\n]|[\x00-\x09\x0b-\x1f\x7f]", " ", result).strip()
    return text if len(text) <= _MAX_QUOTE else text[:_MAX_QUOTE].rstrip() + " ..."


def _literal(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _call_names(messages: Sequence[Message]) -> dict[str, str]:
    return {call.id: call.name for message in messages for call in message.tool_calls}


def _line(message: Message, names: dict[str, str]) -> dict[str, str]:
    if message.role == "tool":
        name = names.get(message.tool_call_id or "", "the tool")
        return {"role": "user", "content": f"Result of {name}: {message.content}"}
    said = [message.content] if message.content else []
    said += [
        f"I call {call.name} with {call.arguments}." for call in message.tool_calls
    ]
    return {"role": message.role, "content": "\n".join(said)}
