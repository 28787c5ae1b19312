"""``%agent history``: a conversation, and what is known of its turns."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from notebook_agents.jupyter._words import (
    call_text,
    clean,
    duration,
    shortened,
    tokens,
)
from notebook_agents.jupyter.rows import Row
from notebook_agents.ledger import CallFacts, Ledger, RunFacts, StepFacts
from notebook_agents.memory.store import MemoryBackend
from notebook_agents.messages import Usage
from notebook_agents.question import shown

__all__ = ["COLUMNS", "history_rows", "history_text"]

COLUMNS = (
    "turn",
    "role",
    "content",
    "tool",
    "args",
    "prompt_tokens",
    "completion_tokens",
    "seconds",
    "status",
    "decision",
    "decided_by",
    "model",
    "run_id",
)
"""Of the table, one row for a message or a tool call."""

_LONGEST = 100  # characters of a message in a list
_DECIDED = {"deny": "denied", "stop": "denied", "respond": "answered"}
_NOTHING = RunFacts(
    run_id="", model="", began_at=0.0, prompt="", answer="", steps=(), calls={}
)

Message = Mapping[str, Any]


def history_rows(memory: MemoryBackend, ledger: Ledger | None) -> list[Row]:
    """Lay out a conversation.

    Parameters
    ----------
    memory : MemoryBackend
        The conversation.
    ledger : Ledger or None
        What is known of the runs of its agent, if that is known.

    Returns
    -------
    list of dict
        Oldest first. What a run of this kernel took stands with its messages;
        of older ones only the messages are known.
    """
    messages = getattr(memory, "all_messages", None) or memory.messages
    turns = list(_turns(messages))
    known: defaultdict[tuple[str, str], list[RunFacts]] = defaultdict(list)
    for facts in () if ledger is None else ledger.runs():
        known[facts.prompt, facts.answer].append(facts)
    # From the last on: of turns that are alike the latest runs are the ones kept.
    found = []
    for turn in reversed(turns):
        alike = known[shown(turn[0]["content"]), turn[-1]["content"]]
        found.append(alike.pop() if alike else _NOTHING)
    return [
        row
        for number, (turn, facts) in enumerate(
            zip(turns, reversed(found), strict=True), 1
        )
        for row in _rows(number, turn, facts)
    ]


def history_text(rows: Sequence[Row]) -> str:
    """Write the rows for people.

    Parameters
    ----------
    rows : sequence of dict
        As `history_rows` gave them.

    Returns
    -------
    str
        One line each.
    """
    lines = [_line(row) for row in rows if row["role"] == "tool" or row["content"]]
    return "\n".join(lines) or "Nothing has been said yet."


def _turns(messages: Sequence[Message]) -> Iterator[list[Message]]:
    """Cut a conversation before each question."""
    turn: list[Message] = []
    for message in messages:
        if message["role"] == "user" and turn:
            yield turn
            turn = []
        turn.append(message)
    if turn:
        yield turn


def _rows(number: int, turn: Sequence[Message], facts: RunFacts) -> Iterator[Row]:
    results = {
        message["tool_call_id"]: message["content"]
        for message in turn
        if message["role"] == "tool"
    }
    steps = iter(facts.steps)
    shared = {
        "turn": number,
        "model": facts.model or None,
        "run_id": facts.run_id or None,
    }
    for message in turn:
        if message["role"] == "tool":
            continue  # told with its call
        row = {**shared, "role": message["role"], "content": shown(message["content"])}
        if message["role"] == "assistant":
            row |= _step_facts(next(steps, None))
        yield row
        for call in message.get("tool_calls", ()):
            yield {
                **shared,
                "role": "tool",
                "content": results.get(call["id"], ""),
                "tool": call["function"]["name"],
                "args": _args(call["function"]["arguments"]),
                **_call_facts(facts.calls.get(call["id"])),
            }


def _step_facts(step: StepFacts | None) -> dict[str, Any]:
    if step is None:
        return {}
    return {
        "prompt_tokens": step.prompt_tokens,
        "completion_tokens": step.completion_tokens,
        "seconds": step.seconds,
    }


def _call_facts(call: CallFacts | None) -> dict[str, Any]:
    if call is None:
        return {}
    return {
        "seconds": call.seconds,
        "status": call.status,
        "decision": call.decision or None,
        "decided_by": call.decided_by or None,
    }


def _args(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _line(row: Row) -> str:
    said = shortened(" ".join(clean(row["content"]).split()), _LONGEST)
    if row["role"] == "tool":
        args = row["args"] if isinstance(row["args"], dict) else {}
        said = f"{call_text(row['tool'], args)} \N{RIGHTWARDS ARROW} {said}"
    usage = Usage.of_call(
        row.get("prompt_tokens") or 0, row.get("completion_tokens") or 0
    )
    facts = [
        _decided(row.get("decision") or "", row.get("decided_by") or ""),
        tokens(usage),
        duration(row.get("seconds") or None),  # what was not run took no time
    ]
    return " · ".join([f"{row['role']}: {said}", *filter(None, facts)])


def _decided(decision: str, by: str) -> str:
    if not decision:
        return ""
    word = _DECIDED.get(decision, "approved")
    return f"{word} by {'you' if by == 'person' else by}"
