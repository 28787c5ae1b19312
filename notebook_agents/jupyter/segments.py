"""The parts of what a reader sees of a run, each shown by an output of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import ClassVar

from notebook_agents.jupyter._splitter import Splitter
from notebook_agents.jupyter._words import clean
from notebook_agents.jupyter.html import ToolCard, thinking, tool_card
from notebook_agents.jupyter.look import Look
from notebook_agents.jupyter.markdown import safe_markdown

__all__ = [
    "ApprovalSegment",
    "GrowingSegment",
    "NoticeSegment",
    "ObjectSegment",
    "Segment",
    "TextSegment",
    "ThinkingSegment",
    "ToolSegment",
]


# Not plain text alone, which JupyterLab would break in the middle of words.
_AS_WRITTEN = (
    '<pre style="background: none; border: 0; color: inherit; margin: 0; '
    'overflow-wrap: anywhere; padding: 0; white-space: pre-wrap">{}</pre>'
)


@dataclass(slots=True)
class Segment:
    """A part of what is seen, shown by an output of its own.

    Parameters
    ----------
    key : str
        What names it within its transcript, such as ``text:1`` or
        ``tool:call_7``.
    step : int
        Model call it belongs to.
    """

    kind: ClassVar[str] = ""
    """``text``, ``thinking``, ``tool``, ``object``, ``approval`` or ``notice``."""

    key: str
    step: int

    def bundle(self) -> dict[str, str]:
        """Give the MIME bundle."""
        raise NotImplementedError


@dataclass(slots=True)
class GrowingSegment(Segment):
    """Text that comes in pieces; ``is_open`` while more of it may come."""

    is_open: bool = True
    _pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All of it so far."""
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    def clear(self) -> None:
        """Take everything back."""
        self._pieces = []


@dataclass(slots=True)
class TextSegment(GrowingSegment):
    """Answer text, up to the size at which it goes on in a new segment."""

    kind = "text"
    limit: int = 4096
    look: Look = field(default_factory=Look)
    _lead: str = ""
    _splitter: Splitter | None = None

    def add(self, text: str, *, lead: str = "") -> tuple[str, str] | None:
        """Take in more text.

        Parameters
        ----------
        text : str
            What comes next.
        lead : str
            What has to stand before it on screen, if the segment is empty.

        Returns
        -------
        tuple of (str, str) or None
            Once the segment is full, what belongs in the next one instead,
            and the lead of that.
        """
        if self._splitter is None:
            self._lead = lead
            self._splitter = Splitter(self.limit, lead=lead)
        self._pieces.append(text)
        cut = self._splitter.add(text)
        if cut is None:
            return None
        whole = self.text
        self._pieces = [whole[: cut.at]]
        return whole[cut.at :], cut.lead

    def clear(self) -> None:
        """Take everything back."""
        self._pieces, self._lead, self._splitter = [], "", None

    def bundle(self) -> dict[str, str]:
        """Give Markdown, and the text as the model wrote it, or that alone."""
        if self.look.verbatim:
            text = clean(self.text)
            return {"text/html": _AS_WRITTEN.format(escape(text)), "text/plain": text}
        markdown = safe_markdown(
            self._lead + self.text,
            remote_images=self.look.remote_images,
            streaming=self.is_open,
        )
        return {"text/markdown": markdown, "text/plain": self.text}


@dataclass(slots=True)
class ThinkingSegment(GrowingSegment):
    """What the model thinks."""

    kind = "thinking"
    title: str = "Thought"
    look: Look = field(default_factory=Look)

    def add(self, text: str) -> None:
        """Take in more text."""
        self._pieces.append(text)

    def bundle(self) -> dict[str, str]:
        """Give collapsed HTML, nothing while there is no text."""
        if not self.text.strip():
            return {"text/html": "", "text/plain": ""}
        going_on = "Thinking\N{HORIZONTAL ELLIPSIS}"
        title = going_on if self.is_open else self.title
        return thinking(self.text, title=title, verbose=self.look.verbose)


@dataclass(slots=True)
class ToolSegment(Segment):
    """A tool call."""

    kind = "tool"
    card: ToolCard
    look: Look = field(default_factory=Look)

    def bundle(self) -> dict[str, str]:
        """Give the card."""
        return tool_card(self.card, verbose=self.look.verbose)


@dataclass(slots=True)
class FixedSegment(Segment):
    """Something that says all at once."""

    content: dict[str, str] = field(default_factory=dict)

    def bundle(self) -> dict[str, str]:
        """Give what it was made with."""
        return dict(self.content)


class ApprovalSegment(FixedSegment):
    """What was decided about a call."""

    __slots__ = ()
    kind = "approval"


class ObjectSegment(FixedSegment):
    """What a tool returned, printed or drew."""

    __slots__ = ()
    kind = "object"


class NoticeSegment(FixedSegment):
    """A note of one line."""

    __slots__ = ()
    kind = "notice"
