"""Summaries of what a model no longer sees."""

from __future__ import annotations

import hashlib
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, cast

from notebook_agents.errors import AgentConfigurationError
from notebook_agents.messages import Message, to_dicts
from notebook_agents.patience import call_apart

__all__ = [
    "Summaries",
    "Summarize",
    "checked_summarize",
    "summary_message",
    "update_summary",
]

logger = logging.getLogger(__name__)

LONGEST = 4000
"""Characters of a summary; what is longer is cut."""
HEADING = "[Summary of the earlier conversation]"
MOST_KEPT = 256
"""Summaries that are kept, so that none is made twice."""
LONGEST_MESSAGE = 2000
"""Characters of one message that an agent is shown to summarise."""
LONGEST_TEXT = 48_000
"""Characters that it is shown in all."""
INSTRUCTION = (
    "Summarise the conversation below, so that an assistant can go on with it "
    "without having seen it. Keep names, numbers, decisions, what tools found and "
    "what is still open. Write at most {words} words and nothing else."
)


class Summarizer(Protocol):
    """What can be asked for a summary: an agent."""

    @property
    def run(self) -> Callable[..., Awaitable[Any]]:
        """Ask, as `Agent.run` does."""


Function = Callable[[list[dict[str, Any]]], "str | Awaitable[str]"]
Summarize = Function | Summarizer
"""An agent, or a function of messages; an earlier summary is their first one."""


class Summaries:
    """The summaries that have been made, by what they cover.

    Parameters
    ----------
    summarize : agent or callable
        Who makes them.
    """

    def __init__(self, summarize: Summarize) -> None:
        self._summarize = summarize
        self._kept: OrderedDict[bytes, tuple[str, int]] = OrderedDict()
        # Each with the groups it covers: fewer than asked for, where it failed.

    async def of(self, groups: Sequence[Sequence[Message]], *, longest: int) -> str:
        """Give the summary of some groups of messages.

        Parameters
        ----------
        groups : sequence of sequence of Message
            The beginning of a conversation. Where a part of it has been
            summarised before, only the rest is read. Nobody is asked for the same
            twice: what could not be summarised is read with what comes after it.
        longest : int
            Most characters.

        Returns
        -------
        str
            That of a shorter beginning, or nothing, where it cannot be made.
        """
        marks = _marks_of(groups)
        known = len(marks)
        while known and marks[known - 1] not in self._kept:
            known -= 1
        text, covered = self._kept[marks[known - 1]] if known else ("", 0)
        if known < len(groups):
            new = [message for group in groups[covered:] for message in group]
            made = await update_summary(self._summarize, text, new, longest=longest)
            if made is not None:
                text, covered = made, len(groups)
        if marks:
            self._kept[marks[-1]] = text, covered
            self._kept.move_to_end(marks[-1])
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        return text[:longest]


async def update_summary(
    summarize: Summarize, old: str, messages: Sequence[Message], *, longest: int
) -> str | None:
    """Make a summary of an earlier one and of what came after it.

    Parameters
    ----------
    summarize : agent or callable
        Who makes it.
    old : str
        The earlier summary, or nothing.
    messages : sequence of Message
        What came after it.
    longest : int
        Most characters.

    Returns
    -------
    str or None
        The new summary; None where it cannot be made.
    """
    before = [summary_message(old)] if old else []
    try:
        text = await _asked(summarize, [*before, *messages], longest)
    except Exception:
        logger.exception("the earlier conversation could not be summarised")
        return None
    return text[:longest]


def summary_message(text: str) -> Message:
    """Give a summary as the message that stands for what it covers."""
    return Message("user", f"{HEADING}\n{text}")


def checked_summarize(summarize: Summarize | None) -> Summarize | None:
    """Give back who summarises, if it can."""
    given: object = summarize
    if given is None or callable(given) or callable(getattr(given, "run", None)):
        return summarize
    message = (
        "summarize is an agent or a function that takes a list of messages and "
        f"returns text, not {type(given).__name__}."
    )
    raise AgentConfigurationError(message)


async def _asked(
    summarize: Summarize, messages: Sequence[Message], longest: int
) -> str:
    run = getattr(summarize, "run", None)
    if run is not None:
        words = max(longest // 8, 1)  # most words are shorter
        prompt = f"{INSTRUCTION.format(words=words)}\n\n{_transcript(messages)}"
        result = await run(prompt, memory=_Nowhere(), max_tool_rounds=0)
        text = result.answer if result.stop_reason in {"stop", "length"} else ""
    else:
        function = cast("Function", summarize)
        text = await call_apart(function, to_dicts(messages), name="summarize")
    if not isinstance(text, str) or not text.strip():
        message = f"summarize gave {text!r}, which is no text to go on with."
        raise AgentConfigurationError(message)
    return text.strip()


class _Nowhere:
    """A memory that keeps nothing."""

    @property
    def messages(self) -> list[dict[str, Any]]:
        return []

    def add(self, message: dict[str, Any]) -> None:
        del message

    def reset(self) -> None:
        pass


def _transcript(messages: Sequence[Message]) -> str:
    """Write a conversation down for a reader; too long, its middle is left out."""
    lines = [
        f"{message.role}: {_short(message.content)}"
        + "".join(
            f"\ncalls {c.name}({_short(c.arguments)})" for c in message.tool_calls
        )
        for message in messages
    ]
    text = "\n\n".join(lines)
    if len(text) <= LONGEST_TEXT:
        return text
    half = LONGEST_TEXT // 2
    return f"{text[:half]}\n\n[...]\n\n{text[-half:]}"


def _short(content: object) -> str:
    text = content if isinstance(content, str) else "[parts that are no text]"
    return text if len(text) <= LONGEST_MESSAGE else f"{text[:LONGEST_MESSAGE]} [...]"


def _marks_of(groups: Sequence[Sequence[Message]]) -> list[bytes]:
    """Give for each group a mark of the conversation up to its end."""
    digest, marks = hashlib.blake2b(digest_size=16), []
    for group in groups:
        for message in group:
            digest.update(repr(message).encode("utf-8", "surrogatepass"))
        marks.append(digest.digest())
    return marks
