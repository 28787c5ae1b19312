"""What the handle of a server shows: where it is and how to call it.

The panel is saved with the notebook, so the token is never in it.
"""

from __future__ import annotations

import html
from dataclasses import dataclass

__all__ = ["Panel"]

_EDGE = "var(--jp-border-color2, var(--vscode-panel-border, #bdbdbd))"
_DIM = "var(--jp-ui-font-color2, var(--vscode-descriptionForeground, #767676))"
_GREEN = "var(--jp-success-color1, var(--vscode-charts-green, #388e3c))"
_GREY = "var(--jp-border-color1, var(--vscode-panel-border, #9e9e9e))"
_FILL = "var(--jp-layout-color2, rgba(128, 128, 128, 0.12))"
_MONO = "var(--jp-code-font-family, ui-monospace, monospace)"
_SMALL = "var(--jp-ui-font-size1, 13px)"

APPROVALS = {
    "wait": "wait for a decision at /approvals",
    "deny": "are denied; approvals='wait' lets them wait",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """The facts of a server that a person needs.

    Parameters
    ----------
    agent : str
        Name of the agent.
    url : str
        Where the server is.
    is_running : bool
        Whether it is.
    chat_endpoint : str
        Where to ask.
    docs_url : str or None
        Where the documentation is.
    approvals : {"wait", "deny"}
        What becomes of calls that need consent.
    """

    agent: str
    url: str
    is_running: bool
    chat_endpoint: str
    docs_url: str | None
    approvals: str

    @property
    def curl(self) -> str:
        """How to ask from a shell; the token is in a variable."""
        return (
            f'curl {self.url}{self.chat_endpoint} -H "Authorization: Bearer $TOKEN" '
            """-H 'Content-Type: application/json' -d '{"message": "Hello"}\'"""
        )

    def text(self) -> str:
        """Give the panel as plain text."""
        if not self.is_running:
            return f"{self._title()}. Call serve(...) to start it again."
        lines = [f"{self._title()} at {self.url}"]
        lines += [f"  {name + ':':<11}{value}" for name, value in self._rows()]
        return "\n".join(lines)

    def to_html(self) -> str:
        """Give the panel as HTML, with everything escaped."""
        colour = _GREEN if self.is_running else _GREY
        title = (
            f'<span style="color:{colour}">\N{BLACK CIRCLE}</span> '
            f"<b>{html.escape(self.agent)}</b> "
            f'<span style="color:{_DIM}">{self._state()}</span>'
        )
        if self.is_running:
            title += f" {_link(self.url)}"
            rows = "".join(
                f'<div><span style="color:{_DIM}">{name}</span> {_value(value)}</div>'
                for name, value in self._rows()
            )
        else:
            rows = f'<div style="color:{_DIM}">serve(...) starts it again</div>'
        return (
            f'<div style="border:1px solid {_EDGE};border-radius:4px;padding:6px 10px;'
            f'margin:4px 0;font-size:{_SMALL}"><div>{title}</div>{rows}</div>'
        )

    def _rows(self) -> list[tuple[str, str]]:
        docs = f"{self.url}{self.docs_url}" if self.docs_url else "off"
        return [
            ("docs", docs),
            ("token", "server.token"),
            ("call", self.curl),
            ("approvals", APPROVALS[self.approvals]),
        ]

    def _title(self) -> str:
        return f"Agent {self.agent!r} is {self._state()}"

    def _state(self) -> str:
        return "being served" if self.is_running else "not being served"


def _link(url: str) -> str:
    target = html.escape(url)
    return f'<a href="{target}" target="_blank" rel="noopener noreferrer">{target}</a>'


def _value(text: str) -> str:
    if text.startswith("http"):
        return _link(text)
    if text.startswith(("curl", "server.")):
        style = f"font-family:{_MONO};background:{_FILL};overflow-wrap:anywhere"
        return f'<code style="{style}">{html.escape(text)}</code>'
    return html.escape(text)
