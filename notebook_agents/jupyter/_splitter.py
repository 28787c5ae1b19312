"""Where a text that grows can go on in a new output, found line by line.

A notebook sends and renders an output whole each time it changes, so a long
answer is shown in several. Each line is looked at once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from notebook_agents.jupyter._blocks import Line, LineReader

__all__ = ["Cut", "Splitter"]

_HEADING = re.compile(r"#{1,6}\s")
_NEEDS_MORE = re.compile(r"[\s|>]|[-*+]\s|\d{1,9}[.)]\s")
# A list that begins with 1 again could not be told from its continuation.
_ITEM = re.compile(r"(?:[-*+]|(?!0*1[.)])\d{1,9}[.)])\s")
_DELIMITERS = re.compile(r"[|:\- \t]+")
_LONGEST_INFO = 40  # characters


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a text is cut.

    Parameters
    ----------
    at : int
        Position of the first character of the second part.
    lead : str
        What the second part needs before it to read alike: the opening fence
        of the code, or the head of the table, that goes on.
    """

    at: int
    lead: str = ""


class Splitter:
    """Reads a text as it grows, and says where it is to be cut.

    Parameters
    ----------
    limit : int
        Size, in characters, from which a text is cut before a paragraph,
        heading or fence. From twice as many on it is also cut before a list
        item, table row or line of code, and at four times as many anywhere.
    lead : str
        What the text needs before it, see `Cut`.
    """

    def __init__(self, limit: int, *, lead: str = "") -> None:
        self._limit = limit
        self._reader = LineReader()
        self._size = -len(lead)  # of the lines that are complete
        self._pending: list[str] = []
        self._pending_size = 0
        self._after_blank = False
        self._last_text = ""
        self._table_head = ""
        self._good: Cut | None = None
        self._fair: Cut | None = None
        self._poor: Cut | None = None
        for line in lead.split("\n")[:-1]:
            self._take(line)

    def add(self, text: str) -> Cut | None:
        """Read what comes next.

        Parameters
        ----------
        text : str
            The next characters, any number of them.

        Returns
        -------
        Cut or None
            Where to cut all that was added; nothing may be added after that.
        """
        *ends, rest = text.split("\n")
        for end in ends:
            self._pend(end)
            cut = self._forced_cut() or self._take(self._line())
            if cut is not None:
                return cut
        self._pend(rest)
        return self._forced_cut()

    def _pend(self, text: str) -> None:
        self._pending.append(text)
        self._pending_size += len(text)

    def _line(self) -> str:
        line = "".join(self._pending)
        self._pending, self._pending_size = [], 0
        return line

    def _forced_cut(self) -> Cut | None:
        """Cut at the latest at four times the limit, within a line if need be."""
        largest = 4 * self._limit
        if self._size + self._pending_size <= largest:
            return None
        best = self._good or self._fair or self._poor
        if best is not None:
            return best
        line, left = self._line(), largest - self._size
        space = line.rfind(" ", left // 2, left)
        return Cut(self._size + (left if space < 0 else space + 1), self._fence_lead())

    def _take(self, line: str) -> Cut | None:
        """Read a complete line."""
        start = self._size
        self._size += len(line) + 1
        line = line.rstrip("\r")
        was_in_list, table_head = self._reader.is_in_list, self._table_head
        read = self._reader.read(line)
        self._note_table(read, line)
        if start >= max(1, self._limit // 4):
            self._note_cut(
                start, read, line, was_in_list=was_in_list, table_head=table_head
            )
        self._after_blank = not line.strip()
        if self._size > 2 * self._limit:
            return self._good or self._fair
        return self._good if self._size > self._limit else None

    def _note_cut(
        self, start: int, read: Line, line: str, *, was_in_list: bool, table_head: str
    ) -> None:
        """Keep in mind what a cut before a line would be."""
        if not line.strip():
            return
        if read.kind == "text":
            is_item = _ITEM.match(line) and (was_in_list or self._after_blank)
            if self._stands_alone(line):
                self._good = Cut(start)
            elif table_head and self._table_head and "|" in line:
                self._fair = Cut(start, table_head)
            elif is_item:
                self._fair = Cut(start)
            self._poor = Cut(start)
        elif read.begins:
            is_at_margin = read.kind == "fence" and not read.prefix
            if is_at_margin and self._after_blank:
                self._good = Cut(start)
            self._poor = Cut(start)
        elif read.code is not None:
            self._poor = Cut(start, self._fence_lead())
            if not self._reader.is_in_list:
                self._fair = self._poor

    def _stands_alone(self, line: str) -> bool:
        """Tell whether a line of text needs nothing before it."""
        if _HEADING.match(line):
            return True
        return self._after_blank and not _NEEDS_MORE.match(line)

    def _note_table(self, read: Line, line: str) -> None:
        """Remember the head of a table while its rows come."""
        if read.kind != "text" or read.begins:
            self._table_head = ""
        elif (
            not self._table_head
            and _DELIMITERS.fullmatch(line)
            and {"|", "-"} <= set(line)
            and "|" in self._last_text
        ):
            head = f"{self._last_text}\n{line}\n"
            is_short = len(head) <= self._limit // 4
            is_at_margin = self._last_text[0] not in " \t>" and line[0] not in " \t"
            self._table_head = head if is_short and is_at_margin else ""
        self._last_text = line if read.kind == "text" else ""

    def _fence_lead(self) -> str:
        """Give what opens the code again that goes on; nothing outside code."""
        fence = self._reader.fence
        if fence is None or len(fence.marks) > _LONGEST_INFO:
            return ""
        prefix = re.sub(r"[^>]", " ", fence.prefix)
        prefix = prefix if fence.quotes else prefix[:3]
        return f"{prefix}{fence.marks}{fence.info[:_LONGEST_INFO]}\n"
