"""Values that came as JSON and may be of any kind, read as what they should be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["count_of", "mapping", "mappings"]


def mapping(value: object) -> Mapping[str, Any]:
    """Give an object; an empty one in the place of anything else."""
    return value if isinstance(value, Mapping) else {}


def mappings(value: object) -> list[Mapping[str, Any]]:
    """Give the objects of a list; none of anything else."""
    if not isinstance(value, list):
        return []
    return [each for each in value if isinstance(each, Mapping)]


def count_of(counts: Mapping[str, Any], name: str) -> int:
    """Give a number of tokens; 0 where there is none."""
    value = counts.get(name)
    return value if isinstance(value, int) and value > 0 else 0
