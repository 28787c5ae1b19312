"""The command line; ``notebook_agents.cli.main`` is where it starts."""

from __future__ import annotations

__all__: list[str] = []
