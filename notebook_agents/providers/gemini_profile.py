"""What is known of Google's models: plain data, as of 2026-11-29."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, replace
from typing import Any, Literal

from notebook_agents.providers.output_format import OutputMode

__all__ = ["GeminiProfile", "gemini_profile"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GeminiProfile:
    """How to speak Gemini's generateContent to one model.

    Parameters
    ----------
    thinks_by : {"level", "budget"} or None
        How it is told how much to think: by a word or by a number of tokens;
        None if it does not think.
    least_level : {"MINIMAL", "LOW"}
        The least that it can be told to think, by a word.
    least_budget : int
        The same in tokens; 0 if it can do without.
    thinking_tokens : int
        Tokens added to the limit where it thinks, because the limit covers
        thoughts and answer.
    needs_signatures : bool
        Whether calls have to go back with the signature they came with.
    sends_sampling : bool
        Whether ``temperature``, ``topP`` and ``topK`` mean anything to it.
    json_schemas : bool
        Whether the service takes JSON Schema; else its older form is sent.
    output : {"native", "tool", "prompted"}
        How an answer of a given shape is asked for.
    output_with_tools : {"native", "tool", "prompted"}
        The same, for an agent with tools.

    Examples
    --------
    >>> from dataclasses import replace
    >>> profile = replace(gemini_profile("gemini-3.8-flash"), thinking_tokens=50_000)
    >>> profile.thinks_by, profile.least_level
    ('level', 'LOW')
    """

    thinks_by: Literal["level", "budget"] | None = None
    least_level: Literal["MINIMAL", "LOW"] = "MINIMAL"
    least_budget: int = 0
    thinking_tokens: int = 16_384
    needs_signatures: bool = False
    sends_sampling: bool = True
    json_schemas: bool = True
    output: OutputMode = "native"
    output_with_tools: OutputMode = "tool"


_KNOWN: tuple[tuple[tuple[int, int], str, dict[str, Any]], ...] = (
    # since which version, which models, what is different then; later ones win
    ((2, 5), r"", {"thinks_by": "budget"}),
    ((2, 5), r"pro", {"least_budget": 128}),
    (
        (3, 0),
        r"",
        {
            "thinks_by": "level",
            "needs_signatures": True,
            "output_with_tools": "native",
        },
    ),
    ((3, 0), r"pro", {"least_level": "LOW"}),
    ((3, 6), r"", {"sends_sampling": False}),
    ((3, 7), r"^(?!.*lite)", {"least_level": "LOW"}),
)
_NEWEST = (3, 8)
"""What ``gemini-flash-latest`` and its like stand for."""
_VERSION = re.compile(r"gemini-(\d{1,2})(?:\.(\d{1,2}))?(?![\d.])")


@functools.lru_cache(maxsize=256)  # asked for at each request, and its reply
def gemini_profile(model: str) -> GeminiProfile:
    """Find what is known of a model.

    Parameters
    ----------
    model : str
        Name of the model, also with the prefix that a gateway gives it.

    Returns
    -------
    GeminiProfile
        What is usual, but for what is known to be different.
    """
    profile = GeminiProfile()
    version = _version_of(model.lower())
    for since, pattern, changes in _KNOWN:
        if version >= since and re.search(pattern, model.lower()):
            profile = replace(profile, **changes)
    return profile


def _version_of(model: str) -> tuple[int, int]:
    """Read the version out of a name; 0.0 where it has none."""
    if found := _VERSION.search(model):
        major, minor = found.groups()
        return int(major), int(minor or 0)
    return _NEWEST if re.search(r"gemini-.*latest$", model) else (0, 0)
