"""How lines of Markdown are read into paragraphs, code and blank lines.

The reader follows CommonMark as far as telling code from text needs. Where it
differs from a front end's parser nothing unsafe can come of it, see `markdown`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["Block", "read_blocks"]

_CONTAINERS = re.compile(r"(?:[ \t]*(?:>|(?:[-*+]|\d{1,9}[.)])(?=[ \t])))*[ \t]*")
_LIST_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+")
_FENCE = re.compile(r"(`{3,})([^`]*)$|(~{3,})(.*)$")
_QUOTE = re.compile(r"[ \t]*>[ ]?")
_TAB = "    "


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Lines that belong together.

    Parameters
    ----------
    kind : {"text", "blank", "fence", "indented"}
        Paragraph, empty line, fenced code or indented code.
    start, end : int
        First line, and the line after the last.
    lines : tuple of str
        Lines of the text, or of the code without its containers.
    prefix : str
        For code, the list markers, quote markers and spaces before it.
    info : str
        For fenced code, what stands after the opening fence.
    in_list : bool
        Whether the block belongs to a list.
    """

    kind: Literal["text", "blank", "fence", "indented"]
    start: int
    end: int
    lines: tuple[str, ...]
    prefix: str = ""
    info: str = ""
    in_list: bool = False


@dataclass(frozen=True, slots=True)
class _Opening:
    """The first line of fenced code, read."""

    prefix: str
    fence: str
    info: str

    @property
    def quotes(self) -> int:
        return self.prefix.count(">")

    @property
    def indent(self) -> int:
        """Where the code stands in the innermost quote, in columns."""
        inner = self.prefix.rpartition(">")[2]
        return len(inner.removeprefix(" ")) if self.quotes else len(inner)


def read_blocks(lines: Sequence[str]) -> Iterator[Block]:
    """Read lines into blocks, which cover every line once.

    Parameters
    ----------
    lines : sequence of str
        Without line ends.

    Yields
    ------
    Block
        In the order of the lines.
    """
    reader = _Reader(lines)
    at = 0
    while at < len(lines):
        block = reader.read(at)
        yield block
        reader.note(block)
        at = block.end


class _Reader:
    """Knows how far a line must be indented to belong to the open list."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._list_indent = 0
        self._after_text = False

    def read(self, at: int) -> Block:
        """Read the block that begins at a line."""
        line = self._lines[at]
        if not line.strip():
            return self._block("blank", at, at + 1, (line,))
        opening = self._opening(line, after_text=self._after_text)
        if opening is not None:
            return self._fenced(at, opening)
        if not self._after_text and self._is_indented(line):
            return self._indented(at)
        end = at + 1
        while end < len(self._lines) and self._lines[end].strip():
            if self._opening(self._lines[end], after_text=True):
                break
            end += 1
        return self._block("text", at, end, tuple(self._lines[at:end]))

    def note(self, block: Block) -> None:
        """Take into account a block that was read."""
        if block.kind == "text":
            for line in block.lines:
                self._note_text(line)
        elif block.kind == "fence" and not block.in_list:
            self._list_indent = 0
        self._after_text = block.kind == "text"

    def _note_text(self, line: str) -> None:
        item = _LIST_ITEM.match(line)
        if item:
            self._list_indent = len(item[0].expandtabs(4))
        elif not self._after_text and _indent(line) < min(2, self._list_indent):
            self._list_indent = 0
        self._after_text = True

    def _block(
        self,
        kind: Literal["text", "blank", "fence", "indented"],
        start: int,
        end: int,
        lines: tuple[str, ...],
    ) -> Block:
        return Block(
            kind=kind, start=start, end=end, lines=lines, in_list=self._list_indent > 0
        )

    def _opening(self, line: str, *, after_text: bool) -> _Opening | None:
        containers = _CONTAINERS.match(line)
        prefix = containers[0] if containers else ""
        fence = _FENCE.match(line, len(prefix))
        prefix = prefix.expandtabs(4)
        if fence is None:
            return None
        far = len(prefix) - self._list_indent >= len(_TAB)
        if far and not prefix.strip() and (after_text or not self._list_indent):
            return None
        marks, info = fence[1] or fence[3], fence[2] or fence[4] or ""
        return _Opening(prefix, marks, info.strip())

    def _is_indented(self, line: str) -> bool:
        return _indent(line) - self._list_indent >= len(_TAB)

    def _indented(self, at: int) -> Block:
        end = last = at
        while end < len(self._lines):
            line = self._lines[end]
            if line.strip():
                if not self._is_indented(line):
                    break
                last = end
            end += 1
        prefix = " " * self._list_indent
        width = self._list_indent + len(_TAB)
        code = tuple(
            _without_indent(line, width) for line in self._lines[at : last + 1]
        )
        return Block(
            kind="indented",
            start=at,
            end=last + 1,
            lines=code,
            prefix=prefix,
            in_list=self._list_indent > 0,
        )

    def _fenced(self, at: int, opening: _Opening) -> Block:
        marker = opening.prefix.rpartition(">")[2].strip()
        in_list = bool(marker) or 0 < self._list_indent <= opening.indent
        least = 0
        if in_list:
            least = opening.indent if marker else self._list_indent
        closing = re.compile(
            rf"[ \t]*{re.escape(opening.fence[0])}{{{len(opening.fence)},}}[ \t]*$"
        )
        code: list[str] = []
        end = at + 1
        while end < len(self._lines):
            line = _inside_quotes(self._lines[end], opening.quotes)
            if line is None or (line.strip() and _indent(line) < least):
                break
            end += 1
            if closing.match(line):
                break
            code.append(_without_indent(line, opening.indent))
        return Block(
            kind="fence",
            start=at,
            end=end,
            lines=tuple(code),
            prefix=opening.prefix,
            info=opening.info,
            in_list=in_list,
        )


def _indent(line: str) -> int:
    """Count the columns of white space before the text."""
    space = line[: len(line) - len(line.lstrip(" \t"))]
    return len(space.expandtabs(4))


def _without_indent(line: str, width: int) -> str:
    """Take up to so many columns of white space away."""
    if not width:
        return line
    text = line.lstrip(" \t")
    return " " * max(0, _indent(line) - width) + text


def _inside_quotes(line: str, depth: int) -> str | None:
    """Give what a block quote of some depth holds; None if the line is outside."""
    for _ in range(depth):
        quote = _QUOTE.match(line)
        if quote is None:
            return None
        line = line[quote.end() :]
    return line
