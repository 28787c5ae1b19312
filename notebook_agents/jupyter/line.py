"""How the line of a magic is read: its words, and the values of ``-p``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from IPython.core.error import UsageError

from notebook_agents.jupyter.json_text import read_json

__all__ = ["check_quotes", "params_of", "split_words"]

# IPython's own splitter cuts -p stop="a b" in two, and keeps or drops quotes
# as the operating system has it.
_WORD = re.compile(r"""(?:"(?:\\.|[^"\\])*"|'[^']*'|\S)+""")
_QUOTED = re.compile(
    r"""(?P<quote>["'])(?P<inner>(?:\\.|(?!(?P=quote)).)*)(?P=quote)"""
)
_OPEN = re.compile(r"""(?:^|[=:,(\[{])(?P<quote>["'])""")
_LONGEST_SHOWN = 40  # characters


def split_words(line: str) -> list[str]:
    """Split a line at its spaces, but for those in quotes.

    Parameters
    ----------
    line : str
        What follows the name of the magic.

    Returns
    -------
    list of str
        Quotes around a whole word are taken away; JSON keeps its own.

    Examples
    --------
    >>> split_words('bot -s "Be brief." -p stop=["a b"]')
    ['bot', '-s', 'Be brief.', '-p', 'stop=["a b"]']
    """
    return [unquoted(word) for word in _WORD.findall(line)]


def check_quotes(line: str) -> None:
    """Refuse a line in which a quote is not closed.

    Parameters
    ----------
    line : str
        What follows the name of the magic.

    Raises
    ------
    UsageError
        If one is not; a quote within a word, as in ``it's``, is none.
    """
    for word in _WORD.finditer(line):
        rest = _QUOTED.sub(lambda found: " " * len(found[0]), word[0])
        open_ = _OPEN.search(rest)
        if open_ is not None:
            begin = line[word.start() + open_.start("quote") :][:_LONGEST_SHOWN]
            message = f"A quote is not closed ({begin.strip()})"
            raise UsageError(message)


def params_of(pairs: Iterable[str]) -> dict[str, Any]:
    """Read what was given with ``-p``.

    Parameters
    ----------
    pairs : iterable of str
        Each as ``name=value``; a value is JSON, else text.

    Returns
    -------
    dict of str to object
        Of two values of a name the last.

    Raises
    ------
    UsageError
        If one is no pair.

    Examples
    --------
    >>> params_of(["temperature=0", "stop=END", "seed=null"])
    {'temperature': 0, 'stop': 'END', 'seed': None}
    """
    params: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = (part.strip() for part in pair.partition("="))
        if not (name and equals):
            message = f"-p needs NAME=VALUE, as in -p temperature=0, not {pair!r}."
            raise UsageError(message)
        params[name] = _value(text)
    return params


def unquoted(word: str) -> str:
    """Take the quotes around a whole word away."""
    quoted = _QUOTED.fullmatch(word)
    if quoted is None:
        return word
    if quoted["quote"] == "'":
        return quoted["inner"]
    return re.sub(r'\\(["\\])', r"\1", quoted["inner"])


def _value(text: str) -> Any:
    try:
        return read_json(text)
    except ValueError:
        return unquoted(text)
