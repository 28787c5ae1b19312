"""How lines of Markdown are read into paragraphs, code and blank lines.

The reader follows CommonMark as far as telling code from text needs. Where it
differs from a front end's parser nothing unsafe can come of it, see `markdown`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["Block", "Fence", "Line", "LineReader", "read_blocks"]

Kind = Literal["text", "blank", "fence", "indented"]

_CONTAINERS = re.compile(r"(?:[ \t]*(?:>|(?:[-*+]|\d{1,9}[.)])(?=[ \t])))*[ \t]*")
_LIST_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+")
_FENCE = re.compile(r"(`{3,})([^`]*)$|(~{3,})(.*)$")
_QUOTE = re.compile(r"[ \t]*>[ ]?")
_TAB = "    "
_LONGEST_PREFIX = 1000  # columns; what is nested deeper is read as text


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Lines that belong together.

    Parameters
    ----------
    kind : {"text", "blank", "fence", "indented"}
        Paragraph, empty line, fenced code or indented code.
    lines : tuple of str
        Lines of the text, or of the code without its containers.
    prefix : str
        For code, the list markers, quote markers and spaces before it.
    info : str
        For fenced code, what stands after the opening fence.
    """

    kind: Kind
    lines: tuple[str, ...]
    prefix: str = ""
    info: str = ""


@dataclass(frozen=True, slots=True)
class Fence:
    """The first line of fenced code, read.

    Parameters
    ----------
    prefix : str
        What stands before the marks.
    marks : str
        Three or more of ````` or ``~``.
    info : str
        What stands after them.
    list_indent : int
        Columns of the list it belongs to; 0 if it belongs to none.
    """

    prefix: str
    marks: str
    info: str
    list_indent: int = 0

    @property
    def quotes(self) -> int:
        """How many block quotes it stands in."""
        return self.prefix.count(">")

    @property
    def indent(self) -> int:
        """Where the code stands in the innermost quote, in columns."""
        inner = self.prefix.rpartition(">")[2]
        return len(inner.removeprefix(" ")) if self.quotes else len(inner)

    def inside(self, line: str) -> str | None:
        """Give a line without its containers; None if it is outside."""
        inner = _inside_quotes(line, self.quotes)
        if inner is None or (inner.strip() and _indent(inner) < self.list_indent):
            return None
        return inner

    def is_closed_by(self, inner: str) -> bool:
        """Tell whether a line inside is the closing fence."""
        marks = inner.strip(" \t")
        return len(marks) >= len(self.marks) and not marks.strip(self.marks[0])


@dataclass(frozen=True, slots=True)
class Line:
    """One line, read.

    Parameters
    ----------
    kind : {"text", "blank", "fence", "indented"}
        Kind of its block.
    begins : bool
        Whether it is the first line of its block.
    code : str or None
        Code without its containers; None for text and for a fence itself.
    prefix, info : str
        Of a block of code that begins, as in `Block`.
    """

    kind: Kind
    begins: bool = False
    code: str | None = None
    prefix: str = ""
    info: str = ""


class LineReader:
    """Reads line by line, and knows what is open between two lines."""

    def __init__(self) -> None:
        self.fence: Fence | None = None
        """The fenced code that goes on."""
        self._list_indent = 0
        self._going_on: Kind | None = None

    @property
    def is_in_list(self) -> bool:
        """Whether the next line may belong to a list."""
        return self._list_indent > 0

    def read(self, line: str) -> Line:
        """Read the next line, which has no line end.

        Parameters
        ----------
        line : str
            The line.

        Returns
        -------
        Line
            What it is. A blank line after indented code counts as code, since
            more of it may follow.
        """
        if self.fence is not None:
            inner = self.fence.inside(line)
            if inner is not None:
                return self._read_inside(self.fence, inner)
            self.fence = None
        if not line.strip():
            return self._read_blank()
        if self._going_on == "indented" and self._is_indented(line):
            return self._read_indented(line)
        fence = self._opening(line)
        if fence is not None:
            return self._begin_fence(fence)
        if self._going_on != "text" and self._is_indented(line):
            return self._read_indented(line)
        begins = self._going_on != "text"
        self._note_text(line)
        self._going_on = "text"
        return Line("text", begins)

    def _read_inside(self, fence: Fence, inner: str) -> Line:
        if fence.is_closed_by(inner):
            self.fence = None
            return Line("fence")
        return Line("fence", code=_without_indent(inner, fence.indent))

    def _read_blank(self) -> Line:
        if self._going_on == "indented":
            return Line("indented", code="")
        self._going_on = None
        return Line("blank", begins=True)

    def _read_indented(self, line: str) -> Line:
        begins = self._going_on != "indented"
        self._going_on = "indented"
        code = _without_indent(line, self._list_indent + len(_TAB))
        return Line("indented", begins, code, " " * self._list_indent)

    def _begin_fence(self, fence: Fence) -> Line:
        self.fence, self._going_on = fence, None
        if not fence.list_indent:
            self._list_indent = 0
        return Line("fence", begins=True, prefix=fence.prefix, info=fence.info)

    def _opening(self, line: str) -> Fence | None:
        containers = _CONTAINERS.match(line)
        prefix = containers[0] if containers else ""
        found = _FENCE.match(line, len(prefix))
        prefix = prefix.expandtabs(4)
        if found is None or len(prefix) > _LONGEST_PREFIX:
            return None
        far = len(prefix) - self._list_indent >= len(_TAB)
        needs_list = self._going_on == "text" or not self._list_indent
        if far and not prefix.strip() and needs_list:
            return None
        marks, info = found[1] or found[3], found[2] or found[4] or ""
        fence = Fence(prefix, marks, info.strip())
        least = self._list_indent if self._list_indent <= fence.indent else 0
        if prefix.rpartition(">")[2].strip():  # a list begins in the same line
            least = fence.indent
        return Fence(prefix, marks, info.strip(), least)

    def _is_indented(self, line: str) -> bool:
        return _indent(line) - self._list_indent >= len(_TAB)

    def _note_text(self, line: str) -> None:
        item = _LIST_ITEM.match(line)
        if item:
            indent = len(item[0].expandtabs(4))
            self._list_indent = indent if indent <= _LONGEST_PREFIX else 0
        elif self._going_on != "text" and _indent(line) < min(2, self._list_indent):
            self._list_indent = 0


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
    reader = LineReader()
    start, read = 0, list[Line]()
    for at, line in enumerate(lines):
        found = reader.read(line)
        if found.begins and read:
            yield from _blocks(read, lines[start:at])
            start, read = at, []
        read.append(found)
    if read:
        yield from _blocks(read, lines[start:])


def _blocks(read: Sequence[Line], lines: Sequence[str]) -> Iterator[Block]:
    """Give the block of some lines, and the blank lines after indented code."""
    first = read[0]
    if first.kind in {"text", "blank"}:
        yield Block(kind=first.kind, lines=tuple(lines))
        return
    code = [line.code for line in read if line.code is not None]
    blank = 0
    if first.kind == "indented":
        while not lines[-1 - blank].strip():
            blank += 1
    yield Block(
        kind=first.kind,
        lines=tuple(code[: len(code) - blank]),
        prefix=first.prefix,
        info=first.info,
    )
    for line in lines[len(lines) - blank :]:
        yield Block(kind="blank", lines=(line,))


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
