"""Guards at work in a turn: what the user says, what the model says, what tools get.

Until the guards have seen a text, it is in no event, no message and no answer.
"""

from __future__ import annotations

import json
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Sequence,
)
from dataclasses import replace
from typing import Any, NamedTuple

from notebook_agents.errors import (
    GuardrailBlockedError,
    NotebookAgentsError,
    ToolArgumentsError,
    ToolRejectedError,
)
from notebook_agents.events import Event, GuardrailEvent, TaskEvent, TokenEvent
from notebook_agents.flattening import Events
from notebook_agents.guardrails.guard import Guard
from notebook_agents.guardrails.screen import screen
from notebook_agents.messages import ToolCall
from notebook_agents.providers.base import Delta, ModelReply, RetryDelta
from notebook_agents.question import Question
from notebook_agents.tools.parsing import parse_object
from notebook_agents.turn import Turn

__all__ = [
    "ScreenedCall",
    "admit",
    "held_back",
    "screen_call",
    "screen_calls",
    "screen_reply",
    "screen_result",
    "told",
]

WITHHELD = "[withheld]"
"""Stands for a message that the guards have not let through."""

Change = Callable[[str], Awaitable[str]]


class Note(NamedTuple):
    """What a guard did to a text of a tool: ``changed`` or ``blocked``."""

    guard: str
    action: str


# What the user says.


async def admit(turn: Turn) -> Events:
    """Begin a turn with what the guards make of the message.

    Parameters
    ----------
    turn : Turn
        Its ``prompt`` is theirs afterwards.

    Yields
    ------
    Event
        A `TaskEvent`, also where the message is blocked, then what was changed.

    Raises
    ------
    GuardrailBlockedError
        If one of them blocks it, or leaves nothing of it.
    NotebookAgentsError
        If one of them is no guard.
    """
    said, turn.asked = turn.asked, Question(WITHHELD)
    # A run that is gone on with was begun with what they had let through.
    guards = () if turn.past else turn.guards.input
    try:
        screened = await screen(guards, said.text, stage="input", subject="the message")
        if screened.changed_by and not screened.text.strip():
            guard = screened.changed_by[-1]
            message = f"Guard {guard!r} blocked the message: it left nothing of it."
            raise GuardrailBlockedError(message, guard=guard, stage="input")
    except NotebookAgentsError:
        yield turn.event(TaskEvent, prompt=turn.asked.shown, output=turn.asked_for)
        raise
    turn.asked = said.saying(screened.text)
    if turn.journal is not None:
        turn.journal.asked(turn.asked)
    yield turn.event(TaskEvent, prompt=turn.asked.shown, output=turn.asked_for)
    for guard in screened.changed_by:
        yield turn.event(GuardrailEvent, stage="input", guard=guard, action="changed")


# What the model says.


async def held_back(
    deltas: AsyncGenerator[Delta, None],
) -> AsyncGenerator[Delta, None]:
    """Keep the pieces of a reply from everybody, and pass on what is whole.

    Parameters
    ----------
    deltas : async generator of Delta
        As it arrives.

    Yields
    ------
    RetryDelta or ModelReply
        The rest.
    """
    try:
        async for delta in deltas:
            if isinstance(delta, RetryDelta | ModelReply):
                yield delta
    finally:
        await deltas.aclose()


async def screen_reply(turn: Turn) -> Events:
    """Let the guards look at the latest reply, and let out what they leave of it.

    Parameters
    ----------
    turn : Turn
        Has the reply afterwards as they left it. The reasoning is left out: it
        speaks of what may not be said.

    Yields
    ------
    Event
        The text that was held back, then who changed it.

    Raises
    ------
    GuardrailBlockedError
        If one of them blocks it.
    """
    reply, turn.reply = turn.reply, ModelReply()
    # A reply that only calls tools has nothing to look at.
    guards = turn.guards.output if reply.text else ()
    seen = await screen(guards, reply.text, stage="output", subject="the answer")
    turn.reply = replace(reply, text=seen.text, reasoning="")
    if seen.text:
        turn.pieces.append(seen.text)
        yield turn.event(TokenEvent, text=seen.text)
    for guard in seen.changed_by:
        yield turn.event(GuardrailEvent, stage="output", guard=guard, action="changed")


# What tools get and give.


class ScreenedResult(NamedTuple):
    """What is told of a result, whether it is one, and what the guards did."""

    text: str
    is_blocked: bool = False
    notes: tuple[Note, ...] = ()


class ScreenedCall(NamedTuple):
    """A call as the guards left it, or why it may not be made."""

    call: ToolCall
    refusal: ToolRejectedError | None = None
    notes: tuple[Note, ...] = ()


async def screen_calls(turn: Turn, calls: Sequence[ToolCall]) -> list[ScreenedCall]:
    """Let the guards look at the arguments of calls.

    They see the values of a call, one a line. Where a guard changes that, it is
    asked about each value again, so that the arguments keep their form.

    Parameters
    ----------
    turn : Turn
        Whose guards.
    calls : sequence of ToolCall
        As the model wrote them.

    Returns
    -------
    list of ScreenedCall
        In the same order; without arguments where a call is blocked.
    """
    # What was written down before the process was killed had been let through.
    guards = turn.guards.arguments if turn.recalled is None else ()
    if not guards:
        return [ScreenedCall(call) for call in calls]
    return [await screen_call(guards, call) for call in calls]


async def screen_call(guards: Sequence[Guard], call: ToolCall) -> ScreenedCall:
    """Let guards look at the arguments of one call, as `screen_calls` does."""
    try:
        return await _screen_arguments(guards, call)
    except GuardrailBlockedError as error:
        refusal = ToolRejectedError(f"{error} The tool was not run.", tool=call.name)
        # No JSON, so that another process that finds it cannot run it either.
        withheld = replace(call, arguments=WITHHELD)
        return ScreenedCall(withheld, refusal, (Note(error.guard, "blocked"),))


async def _screen_arguments(guards: Sequence[Guard], call: ToolCall) -> ScreenedCall:
    subject = f"the arguments of {call.name}"
    try:
        values = parse_object(call.arguments)
    except ToolArgumentsError:  # it will not run, but what is wrong will be told
        raw = await screen(guards, call.arguments, stage="tool", subject=subject)
        call = replace(call, arguments=raw.text)
        return ScreenedCall(call, notes=_changes(raw.changed_by))
    changed_by = []
    for guard in guards:
        before = "\n".join(_texts(values))

        async def look(text: str, guard: Guard = guard) -> str:
            return (await screen([guard], text, stage="tool", subject=subject)).text

        if before and await look(before) != before:
            await _rewrite(values, look)
            if "\n".join(_texts(values)) != before:
                changed_by.append(guard.name)
    if changed_by:
        call = replace(call, arguments=json.dumps(values, ensure_ascii=False))
    return ScreenedCall(call, notes=_changes(changed_by))


async def screen_result(turn: Turn, tool: str, text: str) -> ScreenedResult:
    """Let the guards look at what came out of a tool.

    Parameters
    ----------
    turn : Turn
        Whose guards.
    tool : str
        Name of the tool.
    text : str
        As the model would read it.

    Returns
    -------
    ScreenedResult
        The text as they left it, or why it is withheld.
    """
    from notebook_agents.tools.observation import MODEL_CHARACTERS, cut

    subject = f"the result of {tool}"
    try:
        seen = await screen(turn.guards.results, text, stage="tool", subject=subject)
    except GuardrailBlockedError as error:
        notes = (Note(error.guard, "blocked"),)
        return ScreenedResult(str(error), is_blocked=True, notes=notes)
    # It has been cut already; a guard may add some words, but not a book.
    text = seen.text if len(seen.text) < 2 * MODEL_CHARACTERS else cut(seen.text)
    return ScreenedResult(text, notes=_changes(seen.changed_by))


def told(turn: Turn, *screened: ScreenedCall | ScreenedResult) -> Iterator[Event]:
    """Tell what guards did to the texts of tools."""
    for guard, action in (note for each in screened for note in each.notes):
        yield turn.event(GuardrailEvent, stage="tool", guard=guard, action=action)


def _changes(names: Iterable[str]) -> tuple[Note, ...]:
    return tuple(Note(name, "changed") for name in names)


def _containers(values: dict[str, Any]) -> list[dict[str, Any] | list[Any]]:
    found: list[dict[str, Any] | list[Any]] = [values]
    for container in found:  # grows meanwhile
        inner = container.values() if isinstance(container, dict) else container
        found += [each for each in inner if isinstance(each, dict | list)]
    return found


def _texts(values: dict[str, Any]) -> Iterator[str]:
    """Give what can be read of arguments; the names of parameters say nothing."""
    for container in _containers(values):
        if isinstance(container, list):
            found = container
        else:
            found = list(container.values())
            if container is not values:
                found += container
        yield from (str(each) for each in found if _is_leaf(each))


async def _rewrite(values: dict[str, Any], look: Change) -> None:
    for container in _containers(values):
        if isinstance(container, list):
            container[:] = [await _leaf(each, look) for each in container]
            continue
        pairs = [
            (
                name if container is values else await look(name),
                await _leaf(each, look),
            )
            for name, each in container.items()
        ]
        container.clear()
        container.update(pairs)


async def _leaf(value: Any, look: Change) -> Any:
    if not _is_leaf(value):
        return value
    text = await look(str(value))
    return value if text == str(value) else text


def _is_leaf(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)
