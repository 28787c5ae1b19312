"""Models that come to an end, and names that nobody here has heard of: plain data."""

from __future__ import annotations

import functools
import logging
import re
from datetime import UTC, date, datetime

__all__ = ["end_of", "is_known", "warn_of"]

logger = logging.getLogger(__name__)

AS_OF = date(2026, 11, 29)
"""When all of this was looked up."""
_ENDS: dict[str, tuple[tuple[str, date], ...]] = {
    # provider: models, and the day on which the service stops serving them
    "openai": (
        (r"gpt-(3\.5|4)(-turbo|-32k|-16k|-vision)*", date(2026, 10, 23)),
        (r"o1(-mini|-pro|-preview)?|o4-mini|gpt-4\.1-nano", date(2026, 10, 23)),
        (r"gpt-5(-mini|-nano)?|o3", date(2026, 12, 11)),
        (r"gpt-4(o|\.1)(-mini)?", date(2027, 1, 14)),
        (r"gpt-5\.1", date(2027, 4, 1)),
    ),
    "anthropic": (
        (r"claude-sonnet-4-5", date(2026, 11, 30)),
        (r"claude-opus-4-5", date(2027, 1, 22)),
    ),
    "gemini": ((r"gemini-2\.5-(flash|pro)", date(2026, 12, 1)),),
}
_KNOWN = {
    "openai": r"(ft:)?(gpt-[3-6](?!\d)|gpt-[a-z]|chatgpt|o[134](-|$)|codex|computer-use)",
    "anthropic": r"claude-([1-5](?!\d)|(opus|sonnet|haiku|fable|mythos)-[3-5](?!\d)|instant)",
    "gemini": r"(models/)?(gemini-[1-4](?!\d)|gemini-[a-z]|gemma)|tunedModels/",
}
_SNAPSHOT = r"(-\d{4}-\d{2}-\d{2}|-\d{8}|-\d{4}|-\d{3}|-latest)?"
"""What services put behind a name for one state of the model."""


def end_of(provider: str, model: str) -> date | None:
    """Give the day on which a service stops serving a model.

    Parameters
    ----------
    provider : str
        Name of the provider.
    model : str
        Name of the model, with or without the date of its state.

    Returns
    -------
    date or None
        None if it has announced none.

    Examples
    --------
    >>> end_of("openai", "gpt-4o-2024-11-20")
    datetime.date(2027, 1, 14)
    """
    name = model.removeprefix("models/")
    for pattern, day in _ENDS.get(provider, ()):
        if re.fullmatch(f"({pattern}){_SNAPSHOT}", name):
            return day
    return None


def is_known(provider: str, model: str) -> bool:
    """Tell whether a model is of a kind that this version has heard of.

    Parameters
    ----------
    provider : str
        Name of the provider.
    model : str
        Name of the model.

    Returns
    -------
    bool
        True also of a provider whose models nobody could know.

    Examples
    --------
    >>> is_known("openai", "gpt-6-luna"), is_known("openai", "gpt-12")
    (True, False)
    """
    return re.match(_KNOWN.get(provider, ""), model) is not None


@functools.cache  # once in a process
def warn_of(
    provider: str, model: str, default: str, *, is_described: bool = False
) -> None:
    """Log, once, that a model ends or is not known.

    Parameters
    ----------
    provider : str
        Name of the provider.
    model : str
        Name of the model.
    default : str
        What to take instead.
    is_described : bool, default False
        Whether the user has said what it takes.
    """
    end = end_of(provider, model)
    if end is not None:
        verb = "ends" if end >= datetime.now(UTC).date() else "ended"
        logger.warning(
            "%s %s on %s. Choose another model, such as %s.", model, verb, end, default
        )
    elif not is_described and not is_known(provider, model):
        logger.warning(
            "%s is not a model of %s that was known on %s, so what it takes is guessed. "
            "Check its name; if it is newer, upgrade notebook_agents or pass profile=.",
            model,
            provider,
            AS_OF,
        )
