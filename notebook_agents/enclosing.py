"""What was decided within a tool: in runs of agents that it asked.

The run whose tool that was tells of those decisions as well.
"""

from __future__ import annotations

import contextvars
from typing import Any

__all__ = ["Decided", "decided_around", "tell_like"]

Decided = list[dict[str, Any]]
"""Rows as in ``AgentResult.approvals``."""

_around: contextvars.ContextVar[Decided | None] = contextvars.ContextVar(
    "notebook_agents_decided", default=None
)


def tell_like(decided: Decided) -> None:
    """Let agents that run within this context tell what is decided in their runs.

    Parameters
    ----------
    decided : list of dict
        Of the run whose tool is about to start; rows are added to it.
    """
    _around.set(decided)


def decided_around() -> Decided | None:
    """Give where the run whose tool runs here gathers that; None outside of one."""
    return _around.get()
