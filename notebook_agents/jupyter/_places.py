"""Where things stand in a text: found once, then only looked up.

Whoever writes the text may put a hundred thousand marks into it. If each of them led to
a search of all that follows, the cell would stand still for minutes.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from functools import cached_property

__all__ = ["Marks", "Places", "target_ends"]

_MOST_NESTED = 32  # parentheses in a target, as in cmark
_TARGET_PART = re.compile(r"\\.|\(\s*|\)|\s", re.DOTALL)


class Places:
    """Where a pattern is found.

    Parameters
    ----------
    pattern : Pattern
        What to look for.
    text : str
        Where.
    """

    def __init__(self, pattern: re.Pattern[str], text: str) -> None:
        self._pattern = pattern
        self._text = text

    @cached_property
    def _begins(self) -> Sequence[int]:
        return [found.start() for found in self._pattern.finditer(self._text)]

    def is_within(self, begin: int, end: int) -> bool:
        """Tell whether it begins anywhere from one position to before another."""
        at = bisect_left(self._begins, begin)
        return at < len(self._begins) and self._begins[at] < end

    def last(self, before: int) -> int | None:
        """Give where it begins for the last time before a position."""
        at = bisect_left(self._begins, before)
        return self._begins[at - 1] if at else None


class Marks:
    """Where each of the texts that a pattern finds stands.

    Parameters
    ----------
    pattern : Pattern
        What to look for.
    text : str
        Where.
    """

    def __init__(self, pattern: re.Pattern[str], text: str) -> None:
        self._pattern = pattern
        self._text = text

    @cached_property
    def _begins(self) -> dict[str, list[int]]:
        begins: dict[str, list[int]] = {}
        for found in self._pattern.finditer(self._text):
            begins.setdefault(found[0], []).append(found.start())
        return begins

    def next(self, mark: str, begin: int) -> int | None:
        """Give where exactly this text is found next, from a position on."""
        begins = self._begins.get(mark, ())
        at = bisect_left(begins, begin)
        return begins[at] if at < len(begins) else None


def target_ends(text: str) -> dict[int, int]:
    """Find where the targets of links end, if there are any.

    Parameters
    ----------
    text : str
        A paragraph.

    Returns
    -------
    dict of int to int
        By where a target would begin, behind an opening parenthesis and white space:
        the next white space, or the closing parenthesis.
    """
    ends: dict[int, int] = {}
    opened: deque[int] = deque()

    def end_all(at: int) -> None:
        ends.update(dict.fromkeys(opened, at))
        opened.clear()

    for found in _TARGET_PART.finditer(text):
        part, at = found[0], found.start()
        if part[0] == "(":
            if len(opened) > _MOST_NESTED:
                ends[opened.popleft()] = at
            if len(part) > 1:
                end_all(at + 1)
            opened.append(found.end())
        elif part == ")" and opened:
            ends[opened.pop()] = at
        elif part.isspace():
            end_all(at)
    end_all(len(text))
    return ends
