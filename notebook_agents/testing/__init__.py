"""For tests of agents: a model that plays a script."""

from __future__ import annotations

from notebook_agents.providers.scripted import ScriptedProvider, call

__all__ = ["ScriptedProvider", "call"]
