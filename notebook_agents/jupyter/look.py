"""`Look`: how much of a run is shown, and how."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Look"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How a run is shown.

    Parameters
    ----------
    quiet : bool
        Whether only the text is shown.
    verbose : bool
        Whether tool calls and thoughts are open and whole.
    verbatim : bool
        Whether the text is shown as it was written, and not as Markdown.
    remote_images : bool
        Whether answers may show images from the web.
    """

    quiet: bool = False
    verbose: bool = False
    verbatim: bool = False
    remote_images: bool = False
