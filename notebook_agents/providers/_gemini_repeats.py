"""`NewText`: pieces of a text, told from the whole text so far said again."""

from __future__ import annotations

__all__ = ["NewText"]

SHORTEST = 3
"""Characters of a text that is not likely to begin the next piece by chance."""


class NewText:
    """Give what is new in each chunk of a stream.

    Google's service sends each piece once. It has not always done so, and some
    that speak as it does send all of the text so far with each chunk.

    Notes
    -----
    A chunk that begins with the one before is ambiguous and held back until the
    next: "ha" and "haha" may be a laugh. What looks like a word said again counts
    as pieces, and so does what is short or has no letters, in the end.

    Examples
    --------
    >>> said = NewText()
    >>> [said.take(text) for text in ("Hel", "Hello", "Hello, you")], said.end()
    (['Hel', '', 'lo, you'], '')
    >>> said = NewText()
    >>> [said.take(text) for text in ("ha", "haha", "!")], said.end()
    (['ha', '', 'haha!'], '')
    """

    __slots__ = ("_held", "_is_repeating", "_last", "_shown")

    def __init__(self) -> None:
        self._last = ""
        """The chunk before."""
        self._shown = 0
        """How many characters of it have been given."""
        self._held: list[str] = []
        self._is_repeating: bool | None = None
        """None until it is decided."""

    def take(self, text: str) -> str:
        """Take the text of a chunk.

        Parameters
        ----------
        text : str
            As it came; not empty.

        Returns
        -------
        str
            What is to be shown now.
        """
        if self._is_repeating is False:
            return text
        if self._is_repeating:
            return self._grown(text)
        last, self._last = self._last, text
        if not last:
            self._shown = len(text)
            return text
        self._held.append(text)
        if not text.startswith(last):
            self._is_repeating = False
        elif len(self._held) > 1 and _is_telling(last):
            self._is_repeating = not _is_word_again(last, text)
        return "" if self._is_repeating is None else self._released()

    def end(self) -> str:
        """Take the end of the stream.

        Returns
        -------
        str
            What was held back.
        """
        if not self._held:
            return ""
        said = self._last[: self._shown]
        self._is_repeating = _is_telling(said) and not _is_word_again(said, self._last)
        return self._released()

    def _grown(self, text: str) -> str:
        if not text.startswith(self._last):
            self._last += text
            return text
        new = text[len(self._last) :]
        self._last = text
        return new

    def _released(self) -> str:
        held, self._held = self._held, []
        return self._last[self._shown :] if self._is_repeating else "".join(held)


def _is_telling(said: str) -> bool:
    """Tell whether a text is not likely to begin the next piece by chance."""
    return len(said) >= SHORTEST and any(map(str.isalpha, said))


def _is_word_again(said: str, text: str) -> bool:
    """Tell whether a text may be another one, repeated."""
    new = text[len(said) :]
    return new.startswith(said) or said.startswith(new)
