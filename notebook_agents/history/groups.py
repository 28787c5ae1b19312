"""What of a conversation goes together, how much it is, and what has to go."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from notebook_agents.messages import (
    CHARACTERS_A_FILE,
    CHARACTERS_A_TOKEN,
    Message,
)

__all__ = ["Amount", "amount_of", "estimate_tokens", "is_step", "rounds_of", "turns_of"]


@dataclass(frozen=True, slots=True)
class Amount:
    """How much something is: characters and messages."""

    characters: int = 0
    messages: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(
            self.characters + other.characters, self.messages + other.messages
        )

    def __sub__(self, other: Amount) -> Amount:
        return Amount(
            self.characters - other.characters, self.messages - other.messages
        )

    def fits(self, most: Amount) -> bool:
        """Tell whether it is not more than that in either."""
        return self.characters <= most.characters and self.messages <= most.messages


def amount_of(messages: Iterable[Message]) -> Amount:
    """Measure some messages, the arguments of their tool calls included."""
    characters = count = 0
    for message in messages:
        count += 1
        content: Any = message.content
        characters += len(content) if isinstance(content, str) else _parts_in(content)
        for call in message.tool_calls:
            characters += len(call.name) + len(call.arguments)
    return Amount(characters, count)


def estimate_tokens(messages: Iterable[Message]) -> int:
    """Estimate tokens as a quarter of the characters, rounded up."""
    return math.ceil(amount_of(messages).characters / CHARACTERS_A_TOKEN)


def is_step(message: Message) -> bool:
    """Tell whether a message is on the way to an answer."""
    return message.intermediate or bool(message.tool_calls) or message.role == "tool"


def turns_of(messages: Sequence[Message]) -> list[list[Message]]:
    """Split a conversation that is in order into turns.

    Parameters
    ----------
    messages : sequence of Message
        In order.

    Returns
    -------
    list of list of Message
        Each begins with a question.
    """
    turns: list[list[Message]] = []
    for message in messages:
        if message.role == "user" or not turns:
            turns.append([])
        turns[-1].append(message)
    return turns


def rounds_of(turn: Sequence[Message]) -> tuple[list[Message], list[list[Message]]]:
    """Split a turn into what was said and its tool rounds.

    Parameters
    ----------
    turn : sequence of Message
        In order.

    Returns
    -------
    list of Message
        Question and answer.
    list of list of Message
        Each of the others: calls and all of their results.
    """
    said: list[Message] = []
    rounds: list[list[Message]] = []
    for message in turn:
        if message.tool_calls:
            rounds.append([message])
        elif message.role == "tool":
            rounds[-1].append(message)
        else:
            said.append(message)
    return said, rounds


def _parts_in(content: Iterable[Any]) -> int:
    return sum(
        len(part["text"])
        if isinstance(part, dict) and isinstance(part.get("text"), str)
        else CHARACTERS_A_FILE
        for part in content
    )
