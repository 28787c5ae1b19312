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

AGAIN = "server = serve(agent)"
WHERE = "server.token"
ANSWER = (
    "server.approvals   # the calls that wait for you\n"
    "from notebook_agents import Allow, Deny\n"
    'server.approvals[0].decide(Allow(), by="me")   # or Deny("why")'
)
OPEN = (
    "is open to other machines: whoever has the token can use the agent and its tools"
)
DENIED = "are denied; server = serve(agent, approvals='wait') lets them wait for you"


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """The facts of a server that a person needs.

    Parameters
    ----------
    agent : str
        Name of the agent.
    url : str
        Where the server is.
    network_url : str or None
        Where other machines reach it, if that is known.
    is_open : bool
        Whether they do.
    is_running : bool
        Whether it is.
    chat_endpoint : str
        Where to ask.
    docs_url : str or None
        Where the documentation is.
    approvals : {"wait", "deny"} or None
        What becomes of calls that need consent; None if no tool needs it.
    """

    agent: str
    url: str
    network_url: str | None = None
    is_open: bool = False
    is_running: bool
    chat_endpoint: str
    docs_url: str | None
    approvals: str | None

    @property
    def shell(self) -> str:
        """How to ask from a shell, where the token is pasted once."""
        return (
            f"export TOKEN=...   # print({WHERE}), then clear that output\n"
            f"curl {self.url}{self.chat_endpoint} \\\n"
            '  -H "Authorization: Bearer $TOKEN" \\\n'
            "  -H 'Content-Type: application/json' \\\n"
            """  -d '{"message": "Hello"}'"""
        )

    @property
    def python(self) -> str:
        """How to ask from the same notebook."""
        return (
            "import httpx\n"
            "httpx.post(\n"
            f'    server.url + "{self.chat_endpoint}",\n'
            f'    headers={{"Authorization": f"Bearer {{{WHERE}}}"}},\n'
            '    json={"message": "Hello"},\n'
            "    timeout=120,\n"
            ").json()"
        )

    def text(self) -> str:
        """Give the panel as plain text."""
        if not self.is_running:
            return f"{self._title()}. {AGAIN} starts it again."
        lines = [f"{self._title()} at {self.url}"]
        for name, value in self._rows():
            first, *rest = value.split("\n")
            lines.append(f"  {name:<10} {first}")
            lines += [f"{'':<12} {line}" for line in rest]
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
                f'<div style="color:{_DIM}">{name}</div><div>{_value(name, value)}</div>'
                for name, value in self._rows()
            )
        else:
            again = f"{_value('Python', AGAIN)} starts it again"
            rows = f'<div style="color:{_DIM};grid-column:1/3">{again}</div>'
        return (
            f'<div style="border:1px solid {_EDGE};border-radius:4px;padding:6px 10px;'
            f'margin:4px 0;font-size:{_SMALL}"><div>{title}</div>'
            '<div style="display:grid;grid-template-columns:max-content 1fr;'
            f'gap:4px 12px;align-items:start;margin-top:4px">{rows}</div></div>'
        )

    def _rows(self) -> list[tuple[str, str]]:
        others = [("network", self._network())] if self.is_open else []
        docs = [("docs", f"{self.url}{self.docs_url}")] if self.docs_url else []
        answers = {"wait": ANSWER, "deny": DENIED}
        asked = [("approvals", answers[self.approvals])] if self.approvals else []
        calls = [("token", WHERE), ("shell", self.shell), ("Python", self.python)]
        return [*others, *docs, *calls, *asked]

    def _network(self) -> str:
        return f"{self.network_url or 'this port'} {OPEN}"

    def _title(self) -> str:
        return f"Agent {self.agent!r} is {self._state()}"

    def _state(self) -> str:
        return "being served" if self.is_running else "not being served"


def _link(url: str) -> str:
    target = html.escape(url)
    return f'<a href="{target}" target="_blank" rel="noopener noreferrer">{target}</a>'


def _value(name: str, text: str) -> str:
    if name == "docs":
        return _link(text)
    if text != DENIED and name != "network":
        style = (
            f"font-family:{_MONO};background:{_FILL};white-space:pre-wrap;"
            "overflow-wrap:anywhere;display:inline-block;padding:0 4px"
        )
        return f'<code style="{style}">{html.escape(text)}</code>'
    return html.escape(text)
