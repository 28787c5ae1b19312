"""Rows of a sub-command, as text in columns or as a DataFrame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from notebook_agents.tables import frame_of

__all__ = ["Row", "in_columns", "whole_frame_of"]

Row = Mapping[str, Any]


def whole_frame_of(rows: Sequence[Row], columns: Sequence[str]) -> Any:
    """Make a DataFrame in which a count stays whole where another row has none."""
    return frame_of(rows, columns).convert_dtypes()


def in_columns(rows: Sequence[Sequence[str]]) -> str:
    """Write cells below each other: the first two columns are names, the rest numbers.

    Parameters
    ----------
    rows : sequence of sequence of str
        All of one length, the head first. A column that is empty below its
        head is left out.

    Returns
    -------
    str
        One line each.

    Examples
    --------
    >>> print(in_columns([["agent", "model", "runs"], ["a", "local", "12"]]))
    agent  model  runs
    a      local    12
    """
    columns = [column for column in zip(*rows, strict=True) if any(column[1:])]
    widths = [max(map(len, column)) for column in columns]
    lines = [
        "  ".join(
            cell.ljust(width) if place < _NAMES else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in zip(*columns, strict=True)
    ]
    return "\n".join(line.rstrip() for line in lines)


_NAMES = 2  # columns
