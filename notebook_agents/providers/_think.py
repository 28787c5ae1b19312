"""`ThinkSplitter`: reasoning that a model writes into its answer, taken out."""

from __future__ import annotations

from notebook_agents.providers.base import ReasoningDelta, TextDelta

__all__ = ["Piece", "ThinkSplitter"]

Piece = TextDelta | ReasoningDelta
"""A part of a reply that is shown as it comes."""

OPEN, CLOSE = "<think>", "</think>"


class ThinkSplitter:
    """Take a leading ``<think>...</think>`` out of a text that comes in pieces.

    Only at the very beginning: later the tag is something that the answer
    speaks about.

    Examples
    --------
    >>> splitter = ThinkSplitter()
    >>> splitter.split("<thi"), splitter.split("nk>hm</think>Yes")
    ([], [ReasoningDelta(text='hm'), TextDelta(text='Yes')])
    """

    __slots__ = ("_held", "_state")

    def __init__(self) -> None:
        self._held = ""
        self._state = "before"

    @property
    def is_through(self) -> bool:
        """Whether everything that still comes is answer."""
        return self._state == "after"

    def split(self, text: str) -> list[Piece]:
        """Take the next piece.

        Parameters
        ----------
        text : str
            As it came.

        Returns
        -------
        list of TextDelta and ReasoningDelta
            What is certain by now.
        """
        if self._state == "after":
            return [TextDelta(text)] if text else []
        text = self._held + text
        self._held = ""
        if self._state == "before":
            start = text.lstrip()
            if len(start) < len(OPEN) and OPEN.startswith(start):
                self._held = text
                return []
            if not start.startswith(OPEN):
                self._state = "after"
                return [TextDelta(text)]
            self._state = "inside"
            text = start[len(OPEN) :].lstrip()
        if self._state == "between":
            return self._answer(text)
        return self._inside(text)

    def _inside(self, text: str) -> list[Piece]:
        thought, close, rest = text.partition(CLOSE)
        if close:
            self._state = "between"
            deltas: list[Piece] = [ReasoningDelta(thought)] if thought else []
            return deltas + self._answer(rest)
        keep = next(
            (n for n in range(len(CLOSE) - 1, 0, -1) if text.endswith(CLOSE[:n])), 0
        )
        self._held = text[len(text) - keep :]
        thought = text[: len(text) - keep]
        return [ReasoningDelta(thought)] if thought else []

    def _answer(self, text: str) -> list[Piece]:
        text = text.lstrip()
        if not text:
            return []
        self._state = "after"
        return [TextDelta(text)]

    def close(self) -> list[Piece]:
        """Take the end; what was held back is what it looked like."""
        held, self._held = self._held, ""
        if not held:
            return []
        return [ReasoningDelta(held) if self._state == "inside" else TextDelta(held)]
