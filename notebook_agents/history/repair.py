"""`repaired`: a conversation that broke somewhere is made fit to send."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from notebook_agents.history.pairing import fault_in, has_arguments, is_blank
from notebook_agents.messages import Message, ToolCall

__all__ = ["NO_ANSWER", "NO_RESULT", "joined", "repaired"]

NO_START = "[the conversation began earlier]"
NO_RESULT = "[no result: the run was interrupted before this call had one]"
NO_ANSWER = "[no answer]"

Results = dict[tuple[int, int], Message]
"""Results by the place of their message and of their call in it."""


def repaired(messages: Sequence[Message], *, is_open: bool = False) -> list[Message]:
    """Make a conversation follow the rules of `notebook_agents.history.pairing`.

    Results without a call, second results, blank questions and system messages
    are left out. A call without a result gets one that says so; so does a tool
    round without an answer, a blank answer, and a conversation that begins
    with the assistant. Results are put in the order of their calls, messages
    of the same speaker together, and identifiers that occur twice are changed.

    Parameters
    ----------
    messages : sequence of Message
        In any state.
    is_open : bool, default False
        Whether the model is asked next; else a question follows.

    Returns
    -------
    list of Message
        What is in order stays as it is, and so does a conversation that was
        repaired before.

    Examples
    --------
    >>> crashed = [Message("user", "go"), Message("assistant", "", (ToolCall("1", "f"),))]
    >>> [(message.role, message.content) for message in repaired(crashed)][2:]
    [('tool', '[no result: ...]'), ('assistant', '[no answer]')]
    """
    if not fault_in(messages, is_open=is_open):
        return list(messages)
    results = _results_in(messages)
    new = _Conversation()
    for place, message in enumerate(messages):
        if message.role == "user":
            new.add_question(message)
        elif message.role == "assistant":
            found = [results.get((place, n)) for n in range(len(message.tool_calls))]
            new.add_reply(message, found)
    if not is_open:
        new.close_round()
    return new.messages


def joined(first: Sequence[Message], then: Sequence[Message]) -> list[Message]:
    """Put two conversations together, each of which is in order.

    Parameters
    ----------
    first, then : sequence of Message
        Where the one ends and the other begins with the user, these two
        messages become one.

    Returns
    -------
    list of Message
        In order.
    """
    if first and then and first[-1].role == then[0].role == "user":
        return [*first[:-1], _merged(first[-1], then[0]), *then[1:]]
    return [*first, *then]


def _results_in(said: Sequence[Message]) -> Results:
    """Find the result of each call."""
    results: Results = {}
    strays: dict[str, Message] = {}
    latest: dict[str, list[tuple[int, int]]] = {}
    calling: list[tuple[int, int]] = []
    for place, message in enumerate(said):
        if message.role == "tool":
            answers = message.tool_call_id
            asked = latest.get(answers) if answers else calling
            if asked is None:
                strays.setdefault(answers or "", message)
            else:
                _answer(asked, message, results)
        elif message.role == "assistant" and message.tool_calls:
            calling = [(place, number) for number in range(len(message.tool_calls))]
            latest |= {call.id: [] for call in message.tool_calls}
            for key, call in zip(calling, message.tool_calls, strict=True):
                latest[call.id].append(key)
    for call_id, message in strays.items():  # a result that came before its call
        _answer(latest.get(call_id, ()), message, results)
    return results


def _answer(
    asked: Iterable[tuple[int, int]], result: Message, results: Results
) -> None:
    """Give a result to the first of some calls that has none."""
    for key in asked:
        if key not in results or results[key].content == NO_RESULT:
            results[key] = result
            return


class _Conversation:
    """What is written anew, in order at any time but for an open tool round."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self._ids: set[str] = set()

    def add_question(self, message: Message) -> None:
        # What an earlier repair put first is not needed after something else.
        if is_blank(message.content) or (self.messages and message.content == NO_START):
            return
        self.close_round()
        message = _with(message, tool_calls=(), tool_call_id=None)
        if self._last_role == "user":
            message = _merged(self.messages.pop(), message)
        self.messages.append(message)

    def add_reply(self, message: Message, results: Sequence[Message | None]) -> None:
        if not message.tool_calls and _is_silence(message):
            if self._last_role not in {"user", "tool"}:
                return
            message = _with(message, content=NO_ANSWER)
        if not self.messages:
            self.messages.append(Message("user", NO_START))
        if self._last_role == "assistant":
            message = _merged(self.messages.pop(), message)
        calls = tuple(self._fit(call) for call in message.tool_calls)
        self.messages.append(_with(message, tool_calls=calls, tool_call_id=None))
        for call, result in zip(calls, results, strict=True):
            self.messages.append(_result(call, result, message))

    def close_round(self) -> None:
        """Answer what a tool round left open."""
        if self._last_role == "tool":
            self.messages.append(Message("assistant", NO_ANSWER))

    @property
    def _last_role(self) -> str:
        return self.messages[-1].role if self.messages else ""

    def _fit(self, call: ToolCall) -> ToolCall:
        """Give a call whose identifier is new and whose arguments can be sent."""
        new, number = call.id, len(self._ids)
        while not new or new in self._ids:
            number += 1
            new = f"{call.id or 'call'}_{number}"
        self._ids.add(new)
        arguments = call.arguments if has_arguments(call) else "{}"
        fit = ToolCall(new, call.name or "unknown", arguments)
        return call if fit == call else fit


def _result(call: ToolCall, result: Message | None, asked: Message) -> Message:
    if result is None:
        result = Message("tool", NO_RESULT, intermediate=asked.intermediate)
    return _with(result, tool_calls=(), tool_call_id=call.id)


def _with(message: Message, **facts: Any) -> Message:
    """Give a message with these facts: itself if it has them."""
    if all(getattr(message, name) == fact for name, fact in facts.items()):
        return message
    return replace(message, **facts)


def _merged(first: Message, then: Message) -> Message:
    """Give the second message with the text of the first before its own."""
    before: Any = first.content
    after: Any = then.content
    if _is_silence(first) or is_blank(after):
        content = after if _is_silence(first) else before
    elif isinstance(before, str) and isinstance(after, str):
        content = f"{before}\n\n{after}"
    else:
        content = [*_parts(before), *_parts(after)]
    return replace(then, content=content)


def _is_silence(message: Message) -> bool:
    """Tell whether a reply says nothing; also one that only says so."""
    return is_blank(message.content) or message.content == NO_ANSWER


def _parts(content: Any) -> list[Any]:
    return (
        [{"type": "text", "text": content}] if isinstance(content, str) else [*content]
    )
