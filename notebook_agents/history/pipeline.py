"""`History`: from what is stored to what is sent, before each request of a run.

All of it works on copies: repair, choose, cut, leave out, summarise, let the
user's own functions have their say, and check that the result can be sent.
"""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from notebook_agents import checks
from notebook_agents.errors import (
    AgentConfigurationError,
    HistoryError,
    NotebookAgentsError,
)
from notebook_agents.history.budget import (
    UNLIMITED,
    HistoryBudget,
    limits,
    longest_summary,
)
from notebook_agents.history.groups import (
    Amount,
    amount_of,
    is_step,
    rounds_of,
    turns_of,
)
from notebook_agents.history.pairing import fault_in
from notebook_agents.history.repair import joined, repaired
from notebook_agents.history.summary import HEADING, Summaries, summary_message
from notebook_agents.messages import Message, to_dicts
from notebook_agents.patience import call_apart
from notebook_agents.reading import read_messages

__all__ = ["History", "Processor", "checked_processors"]

Processor = Callable[
    [list[dict[str, Any]]],
    "Iterable[Any] | Awaitable[Iterable[Any]]",
]
"""Takes the messages of a request, without the system prompt, and gives others."""

JOINTS = Amount(characters=4)
"""What joining a summary and a last user message takes."""
STEPS = 5
"""What is left out grows in steps of one part in this many of the budget."""


class History:
    """What is sent of a conversation.

    Parameters
    ----------
    budget : HistoryBudget, optional
        How much of it; everything when left out.
    processors : sequence of callable
        Each gets what the one before it gave; the first, what is in the
        budget.
    """

    def __init__(
        self,
        budget: HistoryBudget | None = None,
        processors: Sequence[Processor] = (),
    ) -> None:
        budget = budget or HistoryBudget()
        self._budget = budget
        self._most = limits(budget.max_tokens, budget.max_messages)
        self._is_limited = self._most != limits(None, None)
        self._longest_summary = longest_summary(self._most)
        self._processors = tuple(processors)
        self._summaries = (
            Summaries(budget.summarize)
            if budget.summarize and self._longest_summary
            else None
        )

    def earlier(self, messages: Sequence[Message]) -> list[Message]:
        """Prepare what came before the question, once a run.

        Parameters
        ----------
        messages : sequence of Message
            As they are stored, in any state.

        Returns
        -------
        list of Message
            In order, a system message first if there was one.
        """
        system, rest = _apart(messages)
        if self._budget.show == "final":
            rest = [message for message in rest if not is_step(message)]
        rest = repaired(rest)
        most = self._budget.old_result_characters
        if most is not None:
            rest = [_cut(message, most) for message in rest]
        return [*system, *rest]

    async def request(
        self, earlier: Sequence[Message], current: Sequence[Message]
    ) -> list[Message]:
        """Choose what to send, before each request.

        Parameters
        ----------
        earlier : sequence of Message
            What `earlier` gave.
        current : sequence of Message
            The turn so far: the question, then complete tool rounds.

        Returns
        -------
        list of Message
            What to send.

        Raises
        ------
        HistoryError
            If a processor fails, or what it leaves cannot be sent.
        """
        if not self._is_limited and not self._processors:
            return joined(earlier, current)
        system, rest = _apart(earlier)
        messages = joined(rest, current)
        if self._is_limited and not amount_of(messages).fits(self._most):
            messages = await self._without_oldest(rest, current)
        if self._processors:
            messages = await self._processed(messages)
        return [*system, *messages]

    # Leaving out what is too much.

    async def _without_oldest(
        self, earlier: Sequence[Message], current: Sequence[Message]
    ) -> list[Message]:
        turns = turns_of(earlier)
        question, rounds = rounds_of(current)
        groups = [*turns, *rounds[:-1]]
        latest = rounds[-1] if rounds else []
        end = self._end_of_what_goes(groups, [*question, *latest])
        kept = [message for turn in turns[end:] for message in turn]
        later = rounds[max(0, end - len(turns)) :]
        rest = [*question, *(message for one in later for message in one)]
        messages = joined(kept, rest)
        if self._summaries is None or end == 0:
            return messages
        text = await self._summaries.of(groups[:end], longest=self._longest_summary)
        told = joined([summary_message(text)], messages) if text else messages
        return told if amount_of(told).fits(self._most) else messages

    def _end_of_what_goes(
        self, groups: Sequence[Sequence[Message]], fixed: Sequence[Message]
    ) -> int:
        """Tell how many groups have to go, the oldest first."""
        amounts = [amount_of(group) for group in groups]
        total = sum(amounts, amount_of(fixed) + JOINTS)
        if self._summaries is not None:  # it becomes a part of another message
            total += Amount(len(HEADING) + 1 + self._longest_summary)
        too_much = total - self._most
        need = Amount(
            _in_steps(too_much.characters, self._most.characters),
            _in_steps(too_much.messages, self._most.messages),
        )
        gone = Amount()
        for end, amount in enumerate(amounts):
            if need.fits(gone):
                return end
            gone += amount
        return len(groups)

    # The user's own functions.

    async def _processed(self, messages: list[Message]) -> list[Message]:
        for processor in self._processors:
            name = getattr(processor, "__name__", type(processor).__name__)
            try:
                made = await call_apart(processor, to_dicts(messages), name=name)
                messages = read_messages(made, name=f"{name}()")
            except NotebookAgentsError as error:
                message = f"The history processor {name!r} failed: {error}"
                raise HistoryError(message) from error
            except Exception as error:
                kind = type(error).__name__
                message = f"The history processor {name!r} failed: {kind}: {error}"
                raise HistoryError(message) from error
        messages = repaired(messages, is_open=True)
        if fault_in(messages, is_open=True):
            message = (
                "The history processors left nothing that a model could answer: the "
                "last message has to be the question or the result of a tool."
            )
            raise HistoryError(message)
        return messages


def checked_processors(
    given: Processor | Iterable[Processor],
) -> tuple[Processor, ...]:
    """Give history processors back, if they are functions; a single one will do."""
    several = checks.each(
        "history_processors", [given] if callable(given) else given, "functions"
    )
    processors = tuple(several)
    unfit: list[object] = list(itertools.filterfalse(callable, processors))
    if unfit:
        message = (
            "A history processor is a function that takes a list of messages and "
            f"returns one, not {unfit[0]!r}."
        )
        raise AgentConfigurationError(message)
    return processors


def _apart(messages: Sequence[Message]) -> tuple[list[Message], list[Message]]:
    """Take a system message off the front."""
    end = 1 if messages and messages[0].role == "system" else 0
    return list(messages[:end]), list(messages[end:])


def _cut(message: Message, most: int) -> Message:
    content: object = message.content
    if message.role != "tool" or not isinstance(content, str) or len(content) <= most:
        return message
    note = f"\n[... {len(content) - most} more characters cut]"
    return replace(message, content=content[:most] + note)


def _in_steps(too_much: int, most: int) -> int:
    """Round up, so that the same goes for some turns."""
    if too_much <= 0 or most == UNLIMITED:
        return max(too_much, 0)
    step = max(most // STEPS, 1)
    return -(-too_much // step) * step
