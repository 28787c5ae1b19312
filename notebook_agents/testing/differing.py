"""What differs between two JSON values, for people."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from notebook_agents.providers._failures import REDACTED

__all__ = ["differences"]

MOST = 5
LONGEST = 120
MISSING = "nothing"


def differences(name: str, recorded: object, asked: object) -> list[str]:
    """Say where two values differ.

    Parameters
    ----------
    name : str
        What they are called.
    recorded, asked : object
        JSON values. What was taken out of the recorded one may be anything.

    Returns
    -------
    list of str
        A line each; at most five, and how many more there are.

    Examples
    --------
    >>> differences("body", {"n": 1, "a": ["x"]}, {"n": 1, "a": ["y"]})
    ["body.a[0] is 'y', recorded was 'x'"]
    """
    lines = [
        f"{place} is {_shown(found)}, recorded was {_shown(wanted)}"
        for place, wanted, found in _differing(name, recorded, asked)
    ]
    more = len(lines) - MOST
    return [*lines[:MOST], f"and {more} more"] if more > 0 else lines


class _Nothing:
    def __repr__(self) -> str:
        return MISSING


_NOTHING = _Nothing()


def _differing(
    place: str, recorded: object, asked: object
) -> Iterator[tuple[str, object, object]]:
    if isinstance(recorded, Mapping) and isinstance(asked, Mapping):
        for name in dict.fromkeys((*recorded, *asked)):
            inner = recorded.get(name, _NOTHING), asked.get(name, _NOTHING)
            yield from _differing(f"{place}.{name}", *inner)
    elif isinstance(recorded, list) and isinstance(asked, list):
        for number in range(max(len(recorded), len(asked))):
            pair = _at(recorded, number), _at(asked, number)
            yield from _differing(f"{place}[{number}]", *pair)
    elif not _are_same(recorded, asked):
        yield place, recorded, asked


def _are_same(recorded: object, asked: object) -> bool:
    if isinstance(recorded, str) and isinstance(asked, str) and REDACTED in recorded:
        kept = map(re.escape, recorded.split(REDACTED))
        return re.fullmatch(".*".join(kept), asked, re.DOTALL) is not None
    return type(recorded) is type(asked) and recorded == asked


def _at(values: list[object], number: int) -> object:
    return values[number] if number < len(values) else _NOTHING


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
