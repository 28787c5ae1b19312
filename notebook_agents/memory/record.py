"""What a store keeps of a message: its chat shape, with two tags."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from notebook_agents import checks
from notebook_agents.messages import ROLES, Message

__all__ = [
    "INTERMEDIATE",
    "TURN",
    "check_record",
    "from_record",
    "to_record",
    "turn_of",
    "unshared",
]

INTERMEDIATE = "intermediate"
"""Tag of a step on the way to an answer; there and true, or absent."""

TURN = "turn"
"""Tag that names the turn a message belongs to; absent if nobody named it."""


def to_record(message: Message, turn: str | None = None) -> dict[str, Any]:
    """Give the record of a message, which shares nothing with it.

    Parameters
    ----------
    message : Message
        What was said.
    turn : str, optional
        The turn it belongs to.

    Returns
    -------
    dict
        In the OpenAI chat shape, with its tags.

    Examples
    --------
    >>> to_record(Message("user", "hi"), "cell-1")
    {'role': 'user', 'content': 'hi', 'turn': 'cell-1'}
    """
    record = unshared(message).to_dict()
    if message.intermediate:
        record[INTERMEDIATE] = True
    if turn is not None:
        record[TURN] = turn
    return record


def from_record(record: Mapping[str, Any]) -> Message:
    """Make a message again from its record.

    Parameters
    ----------
    record : mapping
        In the OpenAI chat shape, with or without tags; other keys are left
        out.

    Returns
    -------
    Message
        Which shares nothing with the record.

    Raises
    ------
    ValueError
        If the record does not say who speaks.
    """
    if not record.get("role"):
        message = "A message to remember needs a 'role'."
        raise ValueError(message)
    made = unshared(Message.from_dict(record))
    return replace(made, intermediate=True) if record.get(INTERMEDIATE) else made


def check_record(record: object) -> None:
    """Refuse what is no message: it would be in the way of the next one.

    Parameters
    ----------
    record : object
        What somebody wants to be remembered.

    Raises
    ------
    AgentConfigurationError
        If it is none.
    """
    is_one = isinstance(record, Mapping) and record.get("role") in ROLES
    if not is_one or not isinstance(record.get("content"), str | list | None):  # type: ignore[attr-defined]
        checks.fail(
            f"{checks.shown(record)} is no message to remember; one looks like "
            "{'role': 'user', 'content': 'hi'}."
        )


def turn_of(record: Mapping[str, Any]) -> str | None:
    """Name the turn that a record belongs to, if it has a name."""
    turn: str | None = record.get(TURN)
    return turn


def unshared(message: Message) -> Message:
    """Give a message that nobody else can change."""
    content: Any = message.content
    # Text cannot change; a list of parts, which some services take, can.
    if isinstance(content, str):
        return message
    return replace(message, content=copy.deepcopy(content))
