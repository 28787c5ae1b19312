"""History: what a model sees of what was said before."""

from __future__ import annotations

from notebook_agents.history.budget import HistoryBudget
from notebook_agents.history.buffer import HistoryBuffer

__all__ = ["HistoryBudget", "HistoryBuffer"]
