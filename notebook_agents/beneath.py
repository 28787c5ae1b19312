"""`beneath`: what a run hands down to the runs that its tools start."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import Token
from typing import Any

from notebook_agents.budget import spend_like
from notebook_agents.consent import ask_like
from notebook_agents.decisions import tell_like
from notebook_agents.tools.variables import name_like
from notebook_agents.turn import Turn

__all__ = ["beneath"]


@contextlib.contextmanager
def beneath(turn: Turn) -> Iterator[None]:
    """Let runs that begin in here ask, tell, name and spend as that of a turn does.

    Only a tool is called in here. What else helps a run, such as a guard, a
    summary or a listener, is not part of it: an agent that such a function asks has
    the consent and the budget that it was given itself, whatever ran before.

    Parameters
    ----------
    turn : Turn
        The turn whose tool is about to be called.

    Yields
    ------
    None
        While it runs.
    """
    tokens: list[Token[Any]] = [
        ask_like(turn.consent),
        tell_like(turn.decided_within),
        name_like(turn.around.variables),
    ]
    if turn.meter is not None:
        tokens.append(spend_like(turn.meter))
    try:
        yield
    finally:
        # Closed by the garbage collector, it is elsewhere, with nothing to take back.
        with contextlib.suppress(ValueError):
            for token in tokens:
                token.var.reset(token)
