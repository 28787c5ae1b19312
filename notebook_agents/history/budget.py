"""`HistoryBudget`: how much of a conversation is sent, and in what form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from notebook_agents.errors import AgentConfigurationError
from notebook_agents.history.groups import Amount
from notebook_agents.history.summary import (
    HEADING,
    LONGEST,
    Summarize,
    checked_summarize,
)
from notebook_agents.messages import CHARACTERS_A_TOKEN
from notebook_agents.spelling import by_name

__all__ = ["HistoryBudget", "budget_of", "checked_limit", "limits", "longest_summary"]

UNLIMITED = 2**62
SUMMARY_SHARE = 5
"""A summary takes at most one part in this many of the budget."""


@by_name
@dataclass(frozen=True, slots=True)
class HistoryBudget:
    """How much of a conversation a model is sent, for ``Agent(history=...)``.

    What is stored stays whole. Where a request would be larger, the oldest
    turns are left out of it, each as a whole, then the oldest tool rounds of
    the turn that goes on; the question and the latest round always stay. A
    fifth more than necessary goes at once, so that the beginning of a
    conversation stays the same for some turns and a service can cache it.

    Parameters
    ----------
    max_tokens : int, optional
        Most tokens of all messages together, estimated as a quarter of their
        characters. The system prompt and the tools do not count.
    max_messages : int, optional
        Most messages.
    show : {"full", "final"}, default "full"
        Of earlier turns everything, or only questions and answers.
    old_result_characters : int, optional
        What the tool results of earlier turns are cut to, in characters.
    summarize : Agent or callable, optional
        Who summarises what is left out: an agent, or a function, sync or
        async, that takes messages as dicts and returns text; an earlier summary
        is their first message. The summary is sent first. Where it fails, the
        turns are left out without one, and the log says why.

    Raises
    ------
    AgentConfigurationError
        If one of them cannot be.

    Examples
    --------
    >>> from notebook_agents import Agent, HistoryBudget, ScriptedProvider
    >>> provider = ScriptedProvider(["One.", "Two.", "Three."])
    >>> agent = Agent(provider, history=HistoryBudget(max_messages=3))
    >>> for question in ("1?", "2?", "3?"):
    ...     result = agent.run_sync(question)
    >>> [message.content for message in provider.requests[-1].messages]
    ['2?', 'Two.', '3?']
    >>> len(agent.memory.messages)
    6
    """

    max_tokens: int | None = None
    max_messages: int | None = None
    show: Literal["full", "final"] = "full"
    old_result_characters: int | None = None
    summarize: Summarize | None = None

    def __post_init__(self) -> None:
        checked_limit("max_tokens", self.max_tokens)
        checked_limit("max_messages", self.max_messages)
        checked_limit("old_result_characters", self.old_result_characters)
        checked_summarize(self.summarize)
        if self.show not in {"full", "final"}:
            message = f"show is 'full' or 'final', not {self.show!r}."
            raise AgentConfigurationError(message)


def budget_of(history: object) -> HistoryBudget:
    """Read what ``Agent(history=...)`` was given.

    Parameters
    ----------
    history : object
        ``"full"``, ``"final"`` or a `HistoryBudget`.

    Returns
    -------
    HistoryBudget
        What is meant.

    Raises
    ------
    AgentConfigurationError
        If it is something else.
    """
    if isinstance(history, HistoryBudget):
        return history
    if history == "full":
        return HistoryBudget()
    if history == "final":
        return HistoryBudget(show="final")
    message = f'history is "full", "final" or a HistoryBudget, not {history!r}.'
    raise AgentConfigurationError(message)


def limits(max_tokens: int | None, max_messages: int | None) -> Amount:
    """Give two limits as the most that fits."""
    return Amount(
        UNLIMITED if max_tokens is None else max_tokens * CHARACTERS_A_TOKEN,
        UNLIMITED if max_messages is None else max_messages,
    )


def longest_summary(most: Amount) -> int:
    """Give the most characters of a summary in a budget; 0 if there is no room."""
    share = most.characters // SUMMARY_SHARE - len(HEADING) - 1
    return max(0, min(LONGEST, share))


def checked_limit(name: str, value: int | None) -> int | None:
    """Give a limit back, if it is one."""
    given: object = value
    is_number = isinstance(given, int) and not isinstance(given, bool)
    if given is not None and (not is_number or value < 1):  # type: ignore[operator]
        message = f"{name} is {given!r}; it has to be at least 1, or left out."
        raise AgentConfigurationError(message)
    return value
