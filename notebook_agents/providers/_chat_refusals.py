"""How a service says what part of a chat-completions request it does not take."""

from __future__ import annotations

import re
from collections.abc import Iterator

from notebook_agents.providers._chat_request import LIMITS, OPTIONAL
from notebook_agents.providers._error_words import Words

__all__ = ["refused_parts", "refused_ways"]

_REFUSES = re.compile(
    r"(?i)\bun(supported|known|recogni[sz]ed|expected)|\bdeprecated\b"
    r"|cannot find field|must be verified"
    r"|(\b(not|cannot|only)\b|n't\b).{0,60}?"
    r"\b(support|accept|allow|permit|recogni[sz]|take|implemented|used|available)"
)
_ABOUT_A_VALUE = re.compile(
    r"(?i)\btoo (large|big|high|many|small|low)\b|\bat (most|least)\b|\bexceed"
    r"|\b(less|greater|more|higher|lower) than\b|\bmaximum\b|\bbetween\b|\brange\b"
    r"|\bup to\b"
)
_END = re.compile(r"(?<=[.!?;])\s+")
_INSTEAD = re.compile(r"(?i)\b(expected one of|did you mean|valid \w+ are)\b")
"""After this come names that would be good."""
_NAMES = {name: re.compile(rf"\b{name}\b") for name in OPTIONAL}
_WAYS = {
    "response_format": re.compile(
        r"(?i)response.?format|json.?(schema|mode)|structured.?output"
    ),
    "tool_choice": re.compile(r"tool.?choice"),
}
"""Ways to get an answer of a given shape, and how a service says it has them not."""


def refused_parts(words: Words, *, limit: str) -> set[str]:
    """Name what a request has to do without.

    Parameters
    ----------
    words : Words
        What the service said.
    limit : str
        The name under which the most tokens were asked for at first.

    Returns
    -------
    set of str
        Names of `OPTIONAL`. A limit whose value is not right is none of them: a
        run without it may cost what nobody wanted to pay.

    Examples
    --------
    >>> said = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'."
    >>> refused_parts(Words(message=said), limit="max_tokens")
    {'max_tokens'}
    """
    named: set[str] = set()
    for where, said in _complaints(words):
        if not _REFUSES.search(said):
            continue
        found = {name for name, says in _NAMES.items() if says.search(where)}
        named |= found - LIMITS if _ABOUT_A_VALUE.search(said) else found
    # "Not supported, use 'max_completion_tokens' instead" names the good one, too.
    return named - LIMITS | {limit} if named >= LIMITS else named


def refused_ways(words: Words) -> set[str]:
    """Name the ways to ask for a shape that the service has not."""
    return {way for way, says in _WAYS.items() if says.search(words.message)}


def _complaints(words: Words) -> Iterator[tuple[str, str]]:
    """Give each complaint: where the names stand that it is about, and its words."""
    if any(says.search(words.param) for says in _NAMES.values()):
        yield words.param, f"{words.code} {words.message}"
        return
    for sentence in _END.split(words.message):
        yield _INSTEAD.split(sentence)[0], sentence
