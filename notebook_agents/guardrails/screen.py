"""A text goes through guards, in their order, and comes out fit to be passed on.

A guard that raises, hangs, or gives back what is no text never lets a text
through. What is said about it holds nothing of the text.
"""

from __future__ import annotations

import asyncio
import logging
import re
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from notebook_agents.characters import whole
from notebook_agents.errors import AgentConfigurationError, GuardrailBlockedError
from notebook_agents.guardrails.guard import Guard
from notebook_agents.patience import call_apart, dismiss, guarded

__all__ = ["Screened", "screen"]

logger = logging.getLogger(__name__)

DISMISS_SECONDS = 0.2
"""How long a guard may clean up whose time is up."""
REASON_CHARACTERS = 200
"""How much of a reason is told."""
QUOTE_CHARACTERS = 20
"""From which length on what a reason shares with the text is a quotation."""


@dataclass(frozen=True, slots=True)
class Screened:
    """A text that every guard let through.

    Parameters
    ----------
    text : str
        The text as they left it.
    changed_by : tuple of str
        Names of the guards that changed it.
    """

    text: str
    changed_by: tuple[str, ...] = ()


async def screen(
    guards: Sequence[Guard], text: str, *, stage: str, subject: str
) -> Screened:
    """Let guards look at a text, each at what the one before has made of it.

    Parameters
    ----------
    guards : sequence of Guard
        Asked in this order.
    text : str
        What somebody said.
    stage : {"input", "output", "tool"}
        Where the text comes from.
    subject : str
        What to call the text, such as ``"the message"``.

    Returns
    -------
    Screened
        What may be passed on.

    Raises
    ------
    GuardrailBlockedError
        If one of them blocks it, fails, or takes too long.
    AgentConfigurationError
        If one of them returns something that is no text.
    """
    changed_by = []
    for guard in guards:
        verdict = await _ask(guard, text)
        if verdict.why:
            message = f"Guard {guard.name!r} blocked {subject}{verdict.why}"
            raise GuardrailBlockedError(
                message, guard=guard.name, stage=stage, reason=verdict.reason
            )
        if verdict.text != text:
            changed_by.append(guard.name)
            text = verdict.text
    return Screened(text, tuple(changed_by))


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What a guard made of a text, or, if it has blocked it, why."""

    text: str = ""
    why: str = ""
    reason: str = ""


async def _ask(guard: Guard, text: str) -> _Verdict:
    name = f"guard {guard.name}"
    task = asyncio.create_task(
        guarded(lambda: call_apart(guard.function, text, name=name)), name=name
    )
    is_in_time = False
    try:
        done, _ = await asyncio.wait([task], timeout=guard.timeout)
        is_in_time = bool(done)
    finally:
        if not is_in_time:
            await dismiss(task, seconds=DISMISS_SECONDS)
    if not is_in_time:
        return _Verdict(why=f": it did not decide within {guard.timeout:g} s.")
    # Looked at, not raised: the error may quote the text, and would hang on to
    # whatever is raised in its place.
    error = task.exception()
    if error is not None:
        return _blocked(guard, error, text)
    return _Verdict(_checked(guard, task.result()))


def _checked(guard: Guard, answer: Any) -> str:
    if isinstance(answer, str):
        return whole(answer)
    message = (
        f"Guard {guard.name!r} returned {type(answer).__name__}. A guard returns the "
        "text, changed or not, and raises GuardrailBlockedError to block it."
    )
    raise AgentConfigurationError(message)


def _blocked(guard: Guard, error: BaseException, text: str) -> _Verdict:
    is_meant = isinstance(error, GuardrailBlockedError) or type(error) is ValueError
    if not is_meant:
        kind = type(error).__name__
        # The frames alone: the words of the error may quote the text.
        frames = "".join(traceback.format_tb(error.__traceback__))
        logger.warning("guard %s raised %s\n%s", guard.name, kind, frames)
        return _Verdict(why=f", as it raised {kind}.")
    reason = " ".join(str(error).split())[:REASON_CHARACTERS].rstrip(".")
    if not reason or _quotes(reason, text):
        return _Verdict(why=".")
    return _Verdict(why=f": {reason}.", reason=reason)


def _quotes(reason: str, text: str) -> bool:
    """Tell whether a reason repeats a part of the text that could be a secret."""
    reason, text = (" ".join(each.casefold().split()) for each in (reason, text))
    if any(word in text for word in _TELLING.findall(reason)):
        return True
    last = max(len(reason) - QUOTE_CHARACTERS + 1, 0)
    pieces = (reason[start : start + QUOTE_CHARACTERS] for start in range(last))
    return any(piece in text for piece in pieces) or reason == text


_TELLING = re.compile(r"(?=\S*[\d@])[\w@.+-]{4,}")
"""Words such as a number, an address or a password."""
