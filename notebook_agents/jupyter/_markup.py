"""Pieces of static HTML: colours, marks, a line that opens, a body of text.

Everything is escaped here. There is no script, style sheet or class; it reads
well without its inline styles too, which GitHub and untrusted notebooks drop.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import Any

from notebook_agents.jupyter._words import call_text, clean

__all__ = [
    "AMBER",
    "BLUE",
    "DIM",
    "GREEN",
    "GREY",
    "RED",
    "SMALL",
    "bundle_of",
    "call_code",
    "details",
    "escaped",
    "text_block",
]

GREEN = "var(--jp-success-color1, var(--vscode-charts-green, #388e3c))"
RED = "var(--jp-error-color1, var(--vscode-charts-red, #d32f2f))"
AMBER = "var(--jp-warn-color1, var(--vscode-charts-orange, #d9730d))"
BLUE = "var(--jp-brand-color1, var(--vscode-charts-blue, #1976d2))"
GREY = "var(--jp-border-color1, var(--vscode-panel-border, #9e9e9e))"
DIM = "var(--jp-ui-font-color2, var(--vscode-descriptionForeground, #767676))"
SMALL = "var(--jp-ui-font-size1, 13px)"
_EDGE = "var(--jp-border-color2, var(--vscode-panel-border, #bdbdbd))"
_FILL = "var(--jp-layout-color2, rgba(128, 128, 128, 0.12))"
_MONO = "var(--jp-code-font-family, ui-monospace, monospace)"


def call_code(tool: str, args: Mapping[str, Any], label: str = "") -> str:
    """Write a call in one line, as code."""
    style = f"background: none; font-family: {_MONO}; padding: 0"
    return (
        f'<code style="{style}"><strong>{escaped(label or tool)}</strong></code>'
        f'<code style="{style}; color: {DIM}; overflow-wrap: anywhere">'
        f"{html.escape(call_text(tool, args)[len(clean(tool)) :])}</code>"
    )


def details(summary: str, inner: str, colour: str, *, is_open: bool = False) -> str:
    """Give a line that opens; its edge has the colour of what went wrong."""
    edge = colour if colour in {AMBER, RED} else _EDGE
    return (
        f'<details{" open" if is_open else ""} style="border-left: 3px solid {edge}; font-size: {SMALL}; '
        'line-height: 1.5; margin: 4px 0; max-width: 60em; padding: 1px 0 1px 10px">'
        f'<summary style="cursor: pointer">{summary}</summary>'
        f'<div style="padding: 2px 0 4px 16px">{inner}</div></details>'
    )


def text_block(title: str, content: str) -> str:
    """Give a block of text with a title over it."""
    return (
        f'<div style="color: {DIM}; margin-top: 4px">{title}</div>'
        f'<pre style="background: {_FILL}; border: 0; border-radius: 3px; '
        f"color: inherit; font-family: {_MONO}; font-size: 0.95em; line-height: 1.4; "
        "margin: 2px 0; overflow-wrap: anywhere; padding: 6px 8px; "
        f'white-space: pre-wrap">{html.escape(content)}</pre>'
    )


def escaped(text: str) -> str:
    """Escape text; what stands in a span of its own is no mathematics."""
    safe = html.escape(clean(text))
    return re.sub(r"[$\\]", lambda found: f"<span>{found[0]}</span>", safe)


def bundle_of(markup: str, plain: str) -> dict[str, str]:
    """Give the MIME bundle of HTML and its twin in plain text."""
    return {"text/html": markup, "text/plain": clean(plain)}
