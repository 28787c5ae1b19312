"""The JSON in what a model wrote, also where there are words around it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from pydantic_core import from_json

__all__ = ["MISSING", "beginning_of_json", "values_in"]

MISSING: Any = object()
"""Stands for a value that is not there."""
MOST_TRIES = 64
"""Brackets in a text that are looked at."""

_FENCE = re.compile(r"```[\w+-]*[ \t]*\n(.*?)(?:\n[ \t]*```|\Z)", re.DOTALL)
_OPENING = re.compile(r"[\[{]")
_DECODER = json.JSONDecoder()


def values_in(text: str) -> Iterator[Any]:
    """Go through the JSON values that a text may mean, the likeliest first.

    Parameters
    ----------
    text : str
        What a model wrote.

    Yields
    ------
    object
        The whole text, if it is JSON; else what is in its code fences, then what
        stands between brackets, each from the last to the first: a model thinks
        before it answers.

    Examples
    --------
    >>> list(values_in('Here it is: {"a": 1}'))
    [{'a': 1}]
    """
    whole = _parsed(text)
    if whole is not MISSING:
        yield whole
        return
    fenced = [_parsed(found) for found in _FENCE.findall(text)]
    yield from (value for value in reversed(fenced) if value is not MISSING)
    yield from reversed(_bracketed(text))


def beginning_of_json(text: str) -> str:
    """Give a text that is still growing from where its JSON seems to begin.

    Parameters
    ----------
    text : str
        What has arrived so far.

    Returns
    -------
    str
        Empty if there is no JSON yet.

    Examples
    --------
    >>> beginning_of_json('Here it is: {"a": 1')
    '{"a": 1'
    """
    fence = text.find("```")
    opening = _OPENING.search(text, max(fence, 0))
    return text[opening.start() :] if opening else ""


def _parsed(text: str) -> Any:
    try:
        return from_json(text.strip(), allow_inf_nan=False)
    except ValueError:
        return MISSING


def _bracketed(text: str) -> list[Any]:
    """Read a value at each bracket that is not within an earlier value."""
    found: list[Any] = []
    place = 0
    for _ in range(MOST_TRIES):
        opening = _OPENING.search(text, place)
        if opening is None:
            break
        try:
            value, place = _DECODER.raw_decode(text, opening.start())
            found.append(value)
        except (ValueError, RecursionError):
            place = opening.end()
    return found
