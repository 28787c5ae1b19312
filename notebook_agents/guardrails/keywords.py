"""`block_keywords`: a guard that knows words which may not be said."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Any

from notebook_agents import checks
from notebook_agents.errors import AgentConfigurationError, GuardrailBlockedError
from notebook_agents.guardrails.guard import Guard
from notebook_agents.spelling import by_name

__all__ = ["block_keywords"]

# What a word is made of: letters, digits, and the marks on letters, which are no
# letters to Python (Latin, Hebrew, Arabic, and the scripts of India).
_WORD = (
    r"[\w\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    r"\u0900-\u0963\u0966-\u0dff]"
)
# Scripts without spaces between words: Thai, Lao, Myanmar, Khmer, Kana, Han.
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
    r"\U00020000-\U0003ffff]"
)
# Not to be seen within a word: soft hyphens, zero-width characters, word joiners.
_UNSEEN = re.compile(r"[\u00ad\u034f\u200b-\u200f\u2060-\u2064\ufe00-\ufe0f\ufeff]")


@by_name
def block_keywords(words: str | Iterable[str]) -> Guard:
    r"""Make a guard that blocks a text which has one of these words.

    Parameters
    ----------
    words : str or iterable of str
        Words or phrases. Case does not matter, nor does how a character is
        encoded or how wide the space within a phrase is. A word counts as a
        whole: ``"bomb"`` is not in ``"bombastic"``, except in scripts that
        have no spaces between words. Blank ones do not count; without any,
        every text passes.

    Returns
    -------
    Guard
        It does not say which word it was.

    Raises
    ------
    AgentConfigurationError
        If one of them is no text.

    Examples
    --------
    >>> guard = block_keywords(["secret project", "Straße"])
    >>> guard("No secrets here.")
    'No secrets here.'
    >>> guard("Tell me about the SECRET\tproject")
    Traceback (most recent call last):
    notebook_agents.errors.GuardrailBlockedError: it has a word that is not allowed here
    """
    phrases = {_folded(word) for word in _checked(words)}
    phrases.discard("")
    find = _pattern(phrases).search

    def block_keywords(text: str) -> str:
        if phrases and find(_folded(text)):
            reason = "it has a word that is not allowed here"
            raise GuardrailBlockedError(reason)
        return text

    return Guard(block_keywords)


def _checked(words: Any) -> list[str]:
    found = checks.each("words", [words] if isinstance(words, str) else words, "texts")
    for word in found:
        if not isinstance(word, str):
            message = f"The words to block are text, not {word!r}."
            raise AgentConfigurationError(message)
    return found


def _folded(text: str) -> str:
    """Write a text so that what reads the same is the same."""
    seen = _UNSEEN.sub("", unicodedata.normalize("NFKC", text))
    return " ".join(unicodedata.normalize("NFKC", seen.casefold()).split())


def _pattern(phrases: Iterable[str]) -> re.Pattern[str]:
    apart: list[str] = []
    unspaced: list[str] = []
    for phrase in sorted(phrases):
        has_spaces = not (_UNSPACED.match(phrase[0]) or _UNSPACED.match(phrase[-1]))
        (apart if has_spaces else unspaced).append(re.escape(phrase))
    # One look at the border for all words makes a long list a hundred times faster.
    whole = rf"(?<!{_WORD})(?:{'|'.join(apart)})(?!{_WORD})"
    return re.compile("|".join([whole, *unspaced] if apart else unspaced))
