"""What is known of Anthropic's models: plain data, as of 2026-11-29."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from notebook_agents.providers.output_format import OutputMode

__all__ = ["AnthropicProfile", "anthropic_profile"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnthropicProfile:
    """How to speak Anthropic's Messages to one model.

    Parameters
    ----------
    thinking : str or None
        Type of ``thinking`` that is asked for where the user says nothing about
        it, such as ``"adaptive"``; None leaves it to the service.
    no_thinking : str or None
        The type that asks it not to think; None if it always does.
    thinking_tokens : int
        Tokens added to the limit where the model thinks, because the limit
        covers thoughts and answer.
    is_adaptive : bool
        Whether it decides itself how much to think, by an effort; else it
        wants a budget.
    sends_sampling : bool
        Whether it takes ``temperature``, ``top_p`` and ``top_k``.
    forces_tools : bool
        Whether it can be made to call a tool.
    output : {"native", "tool", "prompted"}
        How it is asked for an answer of a given shape: by the service's own
        means, as the arguments of a tool, or in words.

    Examples
    --------
    >>> from dataclasses import replace
    >>> profile = replace(anthropic_profile("claude-opus-5-5"), thinking_tokens=50_000)
    >>> profile.thinking, profile.forces_tools
    ('adaptive', False)
    """

    thinking: str | None = None
    no_thinking: str | None = "disabled"
    thinking_tokens: int = 16_384
    is_adaptive: bool = False
    sends_sampling: bool = True
    forces_tools: bool = True
    output: OutputMode = "tool"


_KNOWN: tuple[tuple[str, tuple[int, int], dict[str, Any]], ...] = (
    # family, since which version, what is different then; later ones win
    (r"opus", (4, 1), {"output": "native"}),
    (r".*", (4, 5), {"output": "native"}),
    (r".*", (4, 6), {"is_adaptive": True}),
    (r".*", (4, 7), {"sends_sampling": False}),
    (r".*", (5, 0), {"thinking": "adaptive"}),
    (r"fable|mythos", (5, 0), {"no_thinking": None}),
    (r"fable|mythos", (5, 1), {"forces_tools": False}),
    (r"opus", (5, 5), {"no_thinking": None, "forces_tools": False}),
    (r"sonnet", (5, 5), {"no_thinking": "between_tools", "forces_tools": False}),
)
# claude-sonnet-5-5, claude-opus-4-20250514, anthropic/claude-sonnet-5.5
_NAME = re.compile(r"claude-([a-z]+)-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")
# claude-3-5-sonnet-20241022
_OLD_NAME = re.compile(r"claude-(\d)(?:[-.](\d))?-([a-z]+)")


def anthropic_profile(model: str) -> AnthropicProfile:
    """Find what is known of a model.

    Parameters
    ----------
    model : str
        Name of the model, also with the prefix that a gateway gives it.

    Returns
    -------
    AnthropicProfile
        What is usual, but for what is known to be different.
    """
    profile = AnthropicProfile()
    family, version = _family_of(model.lower())
    for pattern, since, changes in _KNOWN:
        if version >= since and re.fullmatch(pattern, family):
            profile = replace(profile, **changes)
    return profile


def _family_of(model: str) -> tuple[str, tuple[int, int]]:
    """Read family and version out of a name; version 0.0 where it has none."""
    if found := _OLD_NAME.search(model):
        major, minor, family = found.groups()
    elif found := _NAME.search(model):
        family, major, minor = found.groups()
    else:
        return "", (0, 0)
    return family, (int(major), int(minor or 0))
