"""History: what a model sees of what was said before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from notebook_agents._lazy import lazy_names

if TYPE_CHECKING:
    from notebook_agents.history.budget import HistoryBudget
    from notebook_agents.history.buffer import HistoryBuffer

_HOME = {"HistoryBudget": "budget", "HistoryBuffer": "buffer"}

__all__ = ["HistoryBudget", "HistoryBuffer"]

__getattr__, __dir__ = lazy_names(__name__, _HOME)
