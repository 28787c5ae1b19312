"""Answering from another cell: the sub-commands of ``%agent`` about approvals."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

from IPython.core.error import UsageError

from notebook_agents.approval import (
    Allow,
    Always,
    Decision,
    Deny,
    PendingApproval,
    Respond,
    waiting_approvals,
)
from notebook_agents.jupyter._words import arguments_text, capped, indented

__all__ = ["APPROVAL_COMMANDS"]

_SHORTEST_ID = 4  # characters that must be given of an identifier
_MINUTE = 60  # seconds

_SCOPES: dict[str, Decision] = {"session": Always("tool"), "call": Always("call")}


def _approvals(_: Sequence[str]) -> str:
    """List the calls that wait for an answer."""
    waiting = waiting_approvals()
    if not waiting:
        return "Nothing waits."
    first = waiting[0].request.id
    how = f"%agent approve {first}, %agent deny {first} WHY or "
    how += f"%agent respond {first} TEXT answers the first."
    return "\n".join([*map(_shown, waiting), how])


def _approve(words: Sequence[str]) -> str:
    """[ID|all] [session|call]: allow the call that waits, or ones like it."""
    left = list(words)
    decision = _SCOPES.get(left[-1]) if left else None
    if decision is not None:
        left.pop()
    if left == ["all"]:
        chosen = waiting_approvals()
    elif len(left) <= 1:
        chosen = [_chosen(left[0] if left else None)]
    else:
        message = "%agent approve takes [ID] and one of session, call; not "
        raise UsageError(message + repr(" ".join(words)))
    return _decide(chosen, decision or Allow(), "Approved")


def _deny(words: Sequence[str]) -> str:
    """[ID|all] [REASON]: deny the call that waits; the model is told why."""
    if words[:1] == ["all"]:
        reason = " ".join(words[1:])
        return _decide(waiting_approvals(), Deny(reason), "Denied")
    pending, reason = _named(words)
    return _decide([pending], Deny(reason), "Denied")


def _respond(words: Sequence[str]) -> str:
    """[ID] TEXT: answer in place of the tool, which is not run."""
    pending, text = _named(words)
    if not text:
        message = "%agent respond needs the text that the model reads as the result."
        raise UsageError(message)
    return _decide([pending], Respond(text), "Answered")


APPROVAL_COMMANDS: dict[str, Callable[[Sequence[str]], str]] = {
    "approvals": _approvals,
    "approve": _approve,
    "deny": _deny,
    "respond": _respond,
}
"""By name: each takes the words behind it and gives what to print."""


def _shown(pending: PendingApproval) -> str:
    request = pending.request
    left = request.expires_at - time.time()
    minutes, seconds = divmod(
        max(0, round(left)) if math.isfinite(left) else 0, _MINUTE
    )
    parts = [
        f"{request.id}  {request.agent} asks to run {request.tool}",
        request.risk or "",
        f"{minutes}:{seconds:02} left" if math.isfinite(left) else "",
        request.note,
    ]
    line = " · ".join(part for part in parts if part)
    args = capped(arguments_text(request.args)) if request.args else "no arguments"
    return f"{line}\n{indented(indented(args))}"


def _named(words: Sequence[str]) -> tuple[PendingApproval, str]:
    """Read ``[ID] TEXT``; a first word that is no identifier is text."""
    if words and _found(words[0]):
        return _chosen(words[0]), " ".join(words[1:])
    return _chosen(None), " ".join(words)


def _found(name: str) -> list[PendingApproval]:
    """Give the calls whose identifier begins like this."""
    if len(name) < _SHORTEST_ID:
        return []
    return [each for each in waiting_approvals() if each.request.id.startswith(name)]


def _chosen(name: str | None) -> PendingApproval:
    found = waiting_approvals() if name is None else _found(name)
    if len(found) == 1:
        return found[0]
    known = [f"{each.request.id} ({each.request.tool})" for each in waiting_approvals()]
    if not known:
        message = "Nothing waits for an answer."
    elif name is None:
        message = f"Several calls wait; name one: {', '.join(known)}."
    else:
        message = f"{name!r} names none of those that wait: {', '.join(known)}."
    raise UsageError(message)


def _decide(chosen: Sequence[PendingApproval], decision: Decision, word: str) -> str:
    if not chosen:
        return "Nothing waits."
    said = []
    for pending in chosen:
        if pending.decide(decision, by="person"):
            said.append(f"{word}: {pending.request.tool}.")
        else:
            said.append(f"{pending.request.tool} was decided already.")
    return "\n".join(said)
