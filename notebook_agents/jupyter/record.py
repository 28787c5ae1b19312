"""`ApprovalRecord`: what stays of a question once it was decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from notebook_agents.jupyter._markup import (
    DIM,
    bundle_of,
    call_code,
    details,
    escaped,
    text_block,
)
from notebook_agents.jupyter._words import (
    arguments_text,
    call_text,
    capped,
    clean,
    moment,
    shortened,
)
from notebook_agents.jupyter.html import STATES, State

__all__ = ["ApprovalRecord"]

_LONGEST_REASON = 120  # characters of a reason that fit into the line

_DECISIONS: dict[str, tuple[str, State]] = {
    "allow": ("Approved", "done"),
    "always": ("Approved for this session", "done"),
    "deny": ("Denied", "denied"),
    "stop": ("Denied, run stopped", "denied"),
    "respond": ("Answered", "answered"),
    "cancelled": ("Cancelled", "cancelled"),
    "expired": ("Expired", "denied"),
}
_OUTCOMES_BY = {"timeout": "expired", "cancelled": "cancelled"}
_WHO = {
    "": "",
    "callback": "by the callback",
    "cancelled": "",
    "error": "",
    "http": "over the web",
    "person": "by you",
    "policy": "by the policy",
    "session": "for this session",
    "timeout": "",
}
_TITLES = {"respond": "The answer", "deny": "The reason"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRecord:
    """Who decided what about a call, as a line that opens.

    Parameters
    ----------
    agent, tool : str
        Who wanted to run what.
    args : mapping
        The arguments that were decided about, as JSON values.
    decision : str
        ``allow``, ``always``, ``deny``, ``respond``, ``stop``, ``cancelled`` or
        ``expired``.
    reason : str
        Why it was denied, or the answer that was given instead.
    by : str
        Who decided: ``person``, ``policy``, ``session``, ``callback``, ``http``
        or ``http:NAME``, ``timeout``, ``cancelled`` or a name.
    at : float or None
        When, in seconds since the epoch.
    asked : mapping or None
        What the model had asked for, in case a person changed it.
    scope : {"", "tool", "call"}
        What ``always`` allows from now on.
    until : float or None
        When that ends, in seconds since the epoch.
    """

    agent: str
    tool: str
    args: Mapping[str, Any]
    decision: str
    reason: str = ""
    by: str = ""
    at: float | None = None
    asked: Mapping[str, Any] | None = None
    scope: str = ""
    until: float | None = None

    @property
    def state(self) -> State:
        """How the call looks from now on."""
        return _DECISIONS.get(self._outcome, ("", "waiting"))[1]

    @property
    def said(self) -> str:
        """The decision, and whose it is."""
        word, _ = _DECISIONS.get(self._outcome, (self._outcome.capitalize(), ""))
        by = self.by.removeprefix("http:")
        who = _WHO.get(self.by, f"by {by}")
        who += " over the web" if by != self.by else ""
        edited = ", edited" if self._is_edited else ""
        return f"{word} {who}".rstrip() + edited

    @property
    def rest(self) -> str:
        """Everything else that fits into a line."""
        reason = " ".join(self.reason.split())
        if self.by == "timeout":
            reason = reason or "nobody answered"
        parts = [self._lasts, moment(self.at), shortened(reason, _LONGEST_REASON)]
        return " · ".join(part for part in parts if part)

    def line(self) -> dict[str, str]:
        """Give the parts of the line as texts, for a widget."""
        call = call_text(self.tool, self.args)
        return {
            "state": self.state,
            "mark": STATES[self.state][0],
            "said": self.said,
            "tool": clean(self.tool),
            "args": call[len(clean(self.tool)) :],
            "rest": self.rest,
        }

    def bundle(self) -> dict[str, str]:
        """Give the MIME bundle of HTML and plain text."""
        mark, colour, _ = STATES[self.state]
        summary = (
            f'<span style="color: {colour}">{mark}</span> '
            f"<strong>{escaped(self.said)}:</strong> {call_code(self.tool, self.args)}"
            f'<span style="color: {DIM}"> · {escaped(self.rest)}</span>'
        )
        plain = f"{mark} {self.said}: {call_text(self.tool, self.args)}"
        plain += f" · {self.rest}" if self.rest else ""
        return bundle_of(details(summary, self._inside(), colour), plain)

    def _inside(self) -> str:
        blocks = [text_block("Arguments", _arguments(self.args))]
        if self._is_edited:
            asked = _arguments(self.asked or {})
            blocks.append(text_block("The model had asked for", asked))
        if self.decision in _TITLES and self.reason.strip() not in self.rest:
            blocks.append(text_block(_TITLES[self.decision], capped(self.reason)))
        if self.agent:
            asker = f'<div style="color: {DIM}">Asked by {escaped(self.agent)}</div>'
            blocks.insert(0, asker)
        return "".join(blocks)

    @property
    def _outcome(self) -> str:
        return _OUTCOMES_BY.get(self.by, self.decision)

    @property
    def _is_edited(self) -> bool:
        return self.asked is not None and dict(self.asked) != dict(self.args)

    @property
    def _lasts(self) -> str:
        """Say what is approved besides this call, and for how long."""
        if self.decision != "always" or self._outcome != "always":
            return ""
        what = {"tool": f"every call of {self.tool}", "call": "only this exact call"}
        until = f"until {moment(self.until)}" if self.until is not None else ""
        return " ".join(part for part in (what.get(self.scope, ""), until) if part)


def _arguments(args: Mapping[str, Any]) -> str:
    return capped(arguments_text(args)) or "none"
