"""The front ends that are installed, found by their entry points.

What stands above the core makes itself known here, so that nothing of the core
has to import it.
"""

from __future__ import annotations

import functools
from typing import Any

__all__ = ["front_ends"]


@functools.cache
def front_ends() -> tuple[Any, ...]:
    """Make each front end once.

    Returns
    -------
    tuple of Host
        As in `notebook_agents.hosts`; empty where none is installed.
    """
    from importlib.metadata import entry_points  # slow to load, and seldom needed

    points = entry_points(group="notebook_agents.hosts")
    return tuple(point.load()() for point in points)
