"""The parts of what a reader sees of a run, each shown by an output of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from notebook_agents.jupyter.html import ToolCard, thinking, tool_card
from notebook_agents.jupyter.markdown import safe_markdown

__all__ = [
    "ApprovalSegment",
    "NoticeSegment",
    "Segment",
    "TextSegment",
    "ThinkingSegment",
    "ToolSegment",
]


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
    """``text``, ``thinking``, ``tool``, ``approval`` or ``notice``."""

    key: str
    step: int

    def bundle(self) -> dict[str, str]:
        """Give the MIME bundle."""
        raise NotImplementedError


@dataclass(slots=True)
class TextSegment(Segment):
    """Answer text; ``is_open`` while more of it may come."""

    kind = "text"
    text: str = ""
    is_open: bool = True
    remote_images: bool = False

    def bundle(self) -> dict[str, str]:
        """Give Markdown, and the text as the model wrote it."""
        markdown = safe_markdown(
            self.text, remote_images=self.remote_images, streaming=self.is_open
        )
        return {"text/markdown": markdown, "text/plain": self.text}


@dataclass(slots=True)
class ThinkingSegment(Segment):
    """What the model thinks; ``is_open`` while it does."""

    kind = "thinking"
    text: str = ""
    is_open: bool = True
    title: str = "Thought"

    def bundle(self) -> dict[str, str]:
        """Give collapsed HTML, nothing while there is no text."""
        if not self.text.strip():
            return {"text/html": "", "text/plain": ""}
        going_on = "Thinking\N{HORIZONTAL ELLIPSIS}"
        return thinking(self.text, title=going_on if self.is_open else self.title)


@dataclass(slots=True)
class ToolSegment(Segment):
    """A tool call."""

    kind = "tool"
    card: ToolCard

    def bundle(self) -> dict[str, str]:
        """Give the card."""
        return tool_card(self.card)


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


class NoticeSegment(FixedSegment):
    """A note of one line."""

    __slots__ = ()
    kind = "notice"
