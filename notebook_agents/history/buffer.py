"""`HistoryBuffer`: a conversation that its owner carries from run to run."""

from __future__ import annotations

import hashlib
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from notebook_agents.errors import AgentConfigurationError
from notebook_agents.history.budget import checked_limit, limits, longest_summary
from notebook_agents.history.groups import Amount, amount_of, estimate_tokens, is_step
from notebook_agents.history.pairing import is_blank
from notebook_agents.history.repair import joined, repaired
from notebook_agents.history.summary import (
    HEADING,
    Summarize,
    checked_summarize,
    summary_message,
    update_summary,
)
from notebook_agents.messages import CHARACTERS_A_TOKEN, Message, to_dicts
from notebook_agents.reading import read_messages
from notebook_agents.results import AgentResult
from notebook_agents.spelling import by_name
from notebook_agents.sync import run_sync

__all__ = ["HistoryBuffer"]

FILL_PERCENT = 80
"""What trimming leaves of ``max_tokens``, so that it is not due every turn."""
PINNED_PERCENT = 50
"""What pinned messages may take of ``max_tokens``."""
MOST_GIVEN = 8
"""Views that are remembered, since runs that go on may still repeat them."""
MOST_OWED = 200
"""Messages that wait for a summary which could not be made so far."""
JOINT = Amount(characters=2)
"""What it takes to put a summary or a pinned message before another."""


class _Agent(Protocol):
    """What is run: an agent."""

    @property
    def run(self) -> Callable[..., Awaitable[AgentResult[Any]]]: ...

    @property
    def run_sync(self) -> Callable[..., AgentResult[Any]]: ...


@by_name
class HistoryBuffer:
    """A conversation of bounded size, to be passed as ``prior_messages``.

    When it grows too large, the oldest tool round goes first, calls and results
    together; a question with its answer only when no tool round is left. What
    it gives is always fit to send, whatever it was fed.

    Parameters
    ----------
    max_tokens : int, optional
        Most tokens, estimated as a quarter of the characters, arguments of
        tool calls included. Trimming leaves 80 % of it. A single turn that is
        larger stays.
    max_messages : int, optional
        Most messages.
    summarize : Agent or callable, optional
        Who summarises what goes: an agent, or a function, sync or async, that
        takes messages as dicts and returns text; an earlier summary is their
        first message. The summary stands first and takes at most a fifth of
        ``max_tokens``, or 4,000 characters. Where it fails, the log says why
        and the one before it stays.

    Raises
    ------
    AgentConfigurationError
        If a limit is below 1.

    Examples
    --------
    >>> from notebook_agents import Agent, HistoryBuffer, ScriptedProvider
    >>> agent = Agent(ScriptedProvider(["Hi Ada!", "Ada."]))
    >>> buffer = HistoryBuffer(max_tokens=8000)
    >>> result = agent.run_sync("I am Ada.", prior_messages=buffer.get())
    >>> buffer.extend(result["messages"])
    >>> print(buffer.run_sync(agent, "Who am I?"))
    Ada.
    >>> len(buffer.messages)
    4
    """

    def __init__(
        self,
        max_tokens: int | None = None,
        max_messages: int | None = None,
        *,
        summarize: Summarize | None = None,
    ) -> None:
        self.max_tokens = checked_limit("max_tokens", max_tokens)
        self.max_messages = checked_limit("max_messages", max_messages)
        self._most = limits(max_tokens, max_messages)
        self._longest_summary = longest_summary(self._most)
        self._summarize = checked_summarize(summarize)
        self._lock = threading.Lock()
        self._is_summarizing = False
        self._empty()

    def _empty(self) -> None:
        self._held: list[Message] = []
        self._pinned: list[Message] = []
        self._summary = ""
        self._gone: list[Message] = []
        # All that was ever fed, which may be longer than what is held, and what
        # was given last: lists that are fed begin with the one or the other.
        self._fed, self._fed_count = hashlib.blake2b(digest_size=16), 0
        self._given: deque[list[Message]] = deque(maxlen=MOST_GIVEN)

    def __repr__(self) -> str:
        view = self._view()
        tokens = estimate_tokens(view)
        return f"<HistoryBuffer: {len(view)} messages, about {tokens} tokens>"

    def __len__(self) -> int:
        return len(self._view())

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.get())

    @property
    def messages(self) -> tuple[dict[str, Any], ...]:
        """A copy of what `get` gives."""
        return tuple(self.get())

    @property
    def tokens(self) -> int:
        """Estimated tokens of what `get` gives."""
        return estimate_tokens(self._view())

    def get(self) -> list[dict[str, Any]]:
        """Give the conversation, for ``prior_messages``.

        Returns
        -------
        list of dict
            In the OpenAI chat shape: the summary, what is pinned, and what is
            held, oldest first.
        """
        with self._lock:
            view = self._view()
            self._given.append(view)
        return to_dicts(view)

    def extend(self, messages: Iterable[Any]) -> None:
        """Add messages; what a list repeats of the conversation is not added again.

        Feeding the ``messages`` of each result, which begin with what the run
        was given, therefore adds each turn once, and so does a list of your
        own that you append to.

        Parameters
        ----------
        messages : iterable
            Dicts in the OpenAI chat shape, or a whole result. System messages
            are left out.

        Raises
        ------
        AgentConfigurationError
            If one of them is no message; then none is added.

        Notes
        -----
        With ``summarize=`` this waits for the summary. In async code use
        `run`, which does not block the loop.
        """
        read = _read(messages)
        with self._lock:
            self._add(read[self._known(read) :])
        if self._gone:
            run_sync(self._settle())

    def pin(self, message: str | Mapping[str, Any]) -> None:
        """Keep a text for good, before everything but the summary.

        Parameters
        ----------
        message : str or mapping
            What has to stay known: a text, or a message of the user or the
            assistant.

        Raises
        ------
        AgentConfigurationError
            If it is no text, or what is pinned would take more than half of
            ``max_tokens``.

        Examples
        --------
        >>> buffer = HistoryBuffer(max_messages=2)
        >>> buffer.pin("The data ends in 2025.")
        >>> buffer.get()
        [{'role': 'user', 'content': 'The data ends in 2025.'}]
        """
        note = _note(message)
        with self._lock:
            pinned = [*self._pinned, note]
            size = sum((amount_of([one]) + JOINT for one in pinned), Amount())
            if size.characters > self._most.characters * PINNED_PERCENT // 100:
                tokens = -(-size.characters // CHARACTERS_A_TOKEN)
                text = (
                    f"The pinned messages would take about {tokens} tokens; they may "
                    f"take half of max_tokens={self.max_tokens}."
                )
                raise AgentConfigurationError(text)
            self._pinned = pinned
            self._trim()
        if self._gone:
            run_sync(self._settle())

    def clear(self) -> None:
        """Forget everything, what is pinned and the summary included."""
        with self._lock:
            self._empty()

    async def run(self, agent: _Agent, prompt: Any, **options: Any) -> AgentResult[Any]:
        """Ask an agent with this conversation before the question, and add the turn.

        Parameters
        ----------
        agent : Agent
            Whom to ask.
        prompt : str or list
            What it should do: a text, or parts, as for ``agent.run``.
        **options : object
            As for ``agent.run``, but for ``prior_messages``.

        Returns
        -------
        AgentResult
            The outcome. A run that fails or is stopped adds nothing.
        """
        result = await agent.run(prompt, prior_messages=self.get(), **options)
        self._take(result)
        await self._settle()
        return result

    def run_sync(self, agent: _Agent, prompt: Any, **options: Any) -> AgentResult[Any]:
        """Do what `run` does, from sync code anywhere.

        Parameters
        ----------
        agent, prompt, **options
            As for `run`.

        Returns
        -------
        AgentResult
            As from `run`.
        """
        result = agent.run_sync(prompt, prior_messages=self.get(), **options)
        self._take(result)
        if self._gone:
            run_sync(self._settle())
        return result

    # What is held. The lock is taken by the callers of these.

    def _take(self, result: AgentResult[Any]) -> None:
        read = _read(result.new_messages)
        with self._lock:
            self._add(read)

    def _view(self) -> list[Message]:
        rest = repaired([*self._pinned, *self._held])
        if not self._summary:
            return rest
        view = joined([summary_message(self._summary)], rest)
        return view if amount_of(view).fits(self._most) else rest

    def _add(self, new: Sequence[Message]) -> None:
        _update(self._fed, new)
        self._fed_count += len(new)
        self._held = repaired([*self._held, *new])
        self._trim()

    def _known(self, read: Sequence[Message]) -> int:
        """Count the messages at the beginning of a list that were fed before."""
        count = self._fed_count
        if count and len(read) >= count:
            mark = hashlib.blake2b(digest_size=16)
            _update(mark, read[:count])
            if mark.digest() == self._fed.digest():
                return count
        views = [self._view(), *self._given]
        # An agent may show the model, and so repeat, only questions and answers.
        views += [[message for message in v if not is_step(message)] for v in views]
        known = [len(view) for view in views if read[: len(view)] == view]
        return max(known, default=0)

    def _trim(self) -> None:
        held, most = amount_of(self._held), self._most
        total = self._fixed(len(self._summary)) + held
        if total.fits(most):
            return
        is_long = total.characters > most.characters
        percent = FILL_PERCENT if is_long else 100
        left = Amount(most.characters * percent // 100, most.messages)
        if self._summarize is not None:
            total = self._fixed(self._longest_summary) + held
        gone: set[int] = set()
        for group in _groups_in(self._held):
            if total.fits(left):
                break
            gone.update(group)
            total -= amount_of(self._held[place] for place in group)
        if self._summarize is not None and self._longest_summary:
            self._gone += [self._held[place] for place in sorted(gone)]
        self._held = [m for place, m in enumerate(self._held) if place not in gone]

    def _fixed(self, summary: int) -> Amount:
        """Measure what stays whatever goes, with a summary of that length."""
        amount = sum((amount_of([one]) + JOINT for one in self._pinned), Amount())
        if summary:
            amount += Amount(len(HEADING) + 1 + summary) + JOINT
        # These become a part of the first question.
        return Amount(amount.characters)

    # The summary.

    async def _settle(self) -> None:
        """Summarise what has gone; one caller does it for all."""
        with self._lock:
            if self._summarize is None or self._is_summarizing:
                return
            self._is_summarizing = True
        try:
            while self._gone and await self._summarize_once(self._summarize):
                pass
        finally:
            self._is_summarizing = False

    async def _summarize_once(self, summarize: Summarize) -> bool:
        with self._lock:
            owed, gone, old = self._gone, [*self._gone], self._summary
        text = await update_summary(summarize, old, gone, longest=self._longest_summary)
        with self._lock:
            if owed is not self._gone:
                return True  # cleared meanwhile
            if text is None:  # the next one may do it
                del owed[:-MOST_OWED]
                return False
            self._summary = text
            del owed[: len(gone)]
        return True


def _read(messages: Iterable[Any]) -> list[Message]:
    read = read_messages(messages, name="messages")
    return [
        replace(message, intermediate=False)
        for message in read
        if message.role != "system"
    ]


def _note(message: str | Mapping[str, Any]) -> Message:
    given = {"role": "user", "content": message}
    [read] = read_messages([given if isinstance(message, str) else message], name="pin")
    content: object = read.content
    is_text = isinstance(content, str) and not is_blank(content)
    if not is_text or read.tool_calls or read.role not in {"user", "assistant"}:
        text = "Only text of the user or the assistant can be pinned."
        raise AgentConfigurationError(text)
    if read.role == "assistant":
        return Message("user", f"[You said earlier]\n{read.content}")
    return Message("user", read.content)


def _groups_in(held: Sequence[Message]) -> list[list[int]]:
    """Give what may go, in that order, by its places; the last turn stays."""
    rounds: list[list[int]] = []
    turns: list[list[int]] = []
    for place, message in enumerate(held):
        if message.role == "user":
            turns.append([place])
        elif message.tool_calls:
            rounds.append([place])
        elif message.role == "tool":
            rounds[-1].append(place)
        else:
            turns[-1].append(place)
    return [*rounds, *turns[:-1]]


def _update(mark: hashlib.blake2b, messages: Iterable[Message]) -> None:
    for message in messages:
        mark.update(repr(message).encode("utf-8", "surrogatepass"))
