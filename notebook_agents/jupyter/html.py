"""What a run looks like besides its text: header, cards, records and notices.

Each function gives a MIME bundle of static HTML, with everything escaped, and
its twin in plain text. The HTML has no script, style sheet or class; it reads
well without its inline styles too, which GitHub and untrusted notebooks drop.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from notebook_agents.jupyter._words import (
    arguments_text,
    call_text,
    capped,
    clean,
    duration,
    indented,
    is_whole,
    moment,
    shortened,
    tokens,
    whole,
)
from notebook_agents.messages import Usage

__all__ = [
    "ToolCard",
    "approval_record",
    "header",
    "notice",
    "thinking",
    "tool_card",
]

State = Literal[
    "running", "waiting", "done", "answered", "failed", "denied", "cancelled"
]

_LONGEST_THOUGHT = 4096  # characters

_GREEN = "var(--jp-success-color1, var(--vscode-charts-green, #388e3c))"
_RED = "var(--jp-error-color1, var(--vscode-charts-red, #d32f2f))"
_AMBER = "var(--jp-warn-color1, var(--vscode-charts-orange, #d9730d))"
_BLUE = "var(--jp-brand-color1, var(--vscode-charts-blue, #1976d2))"
_GREY = "var(--jp-border-color1, var(--vscode-panel-border, #9e9e9e))"
_EDGE = "var(--jp-border-color2, var(--vscode-panel-border, #bdbdbd))"
_DIM = "var(--jp-ui-font-color2, var(--vscode-descriptionForeground, #767676))"
_FILL = "var(--jp-layout-color2, rgba(128, 128, 128, 0.12))"
_MONO = "var(--jp-code-font-family, ui-monospace, monospace)"
_SMALL = "var(--jp-ui-font-size1, 13px)"

_STATES: dict[str, tuple[str, str, str]] = {
    "running": ("\N{BLACK CIRCLE}", _BLUE, "running"),
    "waiting": ("\N{DOUBLE VERTICAL LINE}", _AMBER, "waiting for approval"),
    "done": ("\N{CHECK MARK}", _GREEN, "done"),
    "answered": ("\N{CHECK MARK}", _GREEN, "answered in its place"),
    "failed": ("\N{BALLOT X}", _RED, "failed"),
    "denied": ("\N{CIRCLED DIVISION SLASH}", _AMBER, "denied"),
    "cancelled": ("\N{BLACK SQUARE}", _GREY, "stopped"),
}
_LEVELS = {
    "info": ("\N{BULLET}", _GREY, ""),
    "warning": ("\N{WARNING SIGN}\ufe0e", _AMBER, "Warning: "),
    "error": ("\N{BALLOT X}", _RED, "Error: "),
}
_DECISIONS = {
    "allow": ("Approved", "done"),
    "always": ("Approved for this session", "done"),
    "deny": ("Denied", "denied"),
    "stop": ("Denied, run stopped", "denied"),
    "respond": ("Answered", "done"),
    "cancelled": ("Cancelled", "cancelled"),
    "expired": ("Expired", "denied"),
}
_OUTCOMES_BY = {"timeout": "expired", "cancelled": "cancelled"}


class AskedCall(Protocol):
    """What an approval record needs to know of the request."""

    @property
    def agent(self) -> str:
        """Name of the agent that wanted to call."""

    @property
    def tool(self) -> str:
        """Name of the tool."""

    @property
    def args(self) -> Mapping[str, Any]:
        """The arguments, as JSON values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCard:
    """What is known of a tool call so far.

    Parameters
    ----------
    tool : str
        Name of the tool.
    args : mapping
        The arguments, as JSON values.
    label : str
        What a person reads instead of the name, if it differs.
    state : {"running", "waiting", "done", "failed", "denied", "cancelled"}
        How far it is.
    result : str
        What the model sees of the result.
    error : str
        Why it failed, in one line.
    detail : str
        The traceback.
    seconds : float or None
        How long it ran.
    progress : tuple of (float, float or None, str) or None
        How much is done, of how much, and what is being done.
    """

    tool: str
    args: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""
    state: State = "running"
    result: str = ""
    error: str = ""
    detail: str = ""
    seconds: float | None = None
    progress: tuple[float, float | None, str] | None = None


def header(
    agent: str,
    *,
    model: str = "",
    state: State = "running",
    seconds: float | None = None,
    usage: Usage | None = None,
    note: str = "",
) -> dict[str, str]:
    """Give the line that stands over a run.

    Parameters
    ----------
    agent, model : str
        Names of the agent and of its model.
    state : {"running", "waiting", "done", "failed", "denied", "cancelled"}
        How far the run is.
    seconds : float or None
        Time since the run began.
    usage : Usage or None
        Token counts of the run so far.
    note : str
        Anything else, such as the costs.

    Returns
    -------
    dict of str to str
        MIME bundle of HTML and plain text.
    """
    mark, colour, word = _STATES[state]
    parts = [model, word, duration(seconds), tokens(usage), note]
    rest = " · ".join(part for part in parts if part)
    return _bundle(
        f'<div style="font-size: {_SMALL}; line-height: 1.5; margin: 2px 0 4px">'
        f'<span style="color: {colour}">{mark}</span> '
        f"<strong>{_text(agent)}</strong>"
        f'<span style="color: {_DIM}"> · {_text(rest)}</span></div>',
        f"{mark} {agent} · {rest}",
    )


def tool_card(card: ToolCard, *, verbose: bool = False) -> dict[str, str]:
    """Give the card of a tool call, collapsed to one line.

    Parameters
    ----------
    card : ToolCard
        What is known of the call.
    verbose : bool, default False
        Whether it is open, and arguments and result are whole.

    Returns
    -------
    dict of str to str
        MIME bundle of HTML and plain text.
    """
    mark, colour, word = _STATES[card.state]
    done = word if card.seconds is None else f"{word} · {duration(card.seconds)}"
    if card.error:
        done = f"{done} · {shortened(card.error.partition(chr(10))[0], 100)}"
    bar, progress = _progress(card)
    fit = whole if verbose else capped
    bodies = []
    if card.error:
        bodies.append(_body("Error", fit(card.detail or card.error)))
    elif card.result:
        bodies.append(_body("Result", fit(card.result)))
    if verbose or not bodies or not is_whole(card.args):
        args = fit(arguments_text(card.args)) or "none"
        bodies.insert(0, _body("Arguments", args))
    summary = (
        f'<span style="color: {colour}">{mark}</span> {_call(card)}'
        f'<span style="color: {_DIM}"> · {_text(done)}</span>{bar}'
    )
    plain = f"{mark} {call_text(card.label or card.tool, card.args)} · {done}{progress}"
    if card.result and not card.error:
        plain += "\n" + indented(fit(card.result))
    return _bundle(_details(summary, "".join(bodies), colour, is_open=verbose), plain)


def approval_record(
    request: AskedCall,
    *,
    decision: str,
    reason: str = "",
    by: str = "",
    at: float | None = None,
    asked: Mapping[str, Any] | None = None,
) -> dict[str, str]:
    """Give what stays of an approval once it was decided.

    Parameters
    ----------
    request : ApprovalRequest or alike
        What was asked; its ``agent``, ``tool`` and ``args`` are shown.
    decision : str
        ``allow``, ``deny``, ``stop``, ``always``, ``respond``, ``cancelled``
        or ``expired``.
    reason : str
        Why it was denied, or the answer that was given instead.
    by : str
        Who decided: ``person``, ``policy``, ``session``, ``callback``,
        ``timeout``, ``cancelled`` or a name.
    at : float or None
        When, in seconds since the epoch.
    asked : mapping, optional
        What the model had asked for, in case a person changed it.

    Returns
    -------
    dict of str to str
        MIME bundle of HTML and plain text.
    """
    outcome = _OUTCOMES_BY.get(by, decision)
    word, state = _DECISIONS.get(outcome, (outcome.capitalize(), "waiting"))
    mark, colour, _ = _STATES[state]
    who = {
        "person": "by you",
        "policy": "by the policy",
        "session": "for this session",
    }.get(by, f"by {by}")
    said = word if not by or by in _OUTCOMES_BY else f"{word} {who}"
    is_edited = asked is not None and dict(asked) != dict(request.args)
    said += ", edited" if is_edited else ""
    parts = [moment(at), reason if by != "timeout" else reason or "nobody answered"]
    rest = " · ".join(part for part in parts if part)
    card = ToolCard(tool=request.tool, args=request.args)
    summary = (
        f'<span style="color: {colour}">{mark}</span> <strong>{_text(said)}:</strong> '
        f'{_call(card)}<span style="color: {_DIM}"> · {_text(rest)}</span>'
    )
    body = _body("Arguments", capped(arguments_text(request.args)) or "none")
    if is_edited:
        before = capped(arguments_text(asked or {})) or "none"
        body += _body("The model had asked for", before)
    if request.agent:
        body = f'<div style="color: {_DIM}">Asked by {_text(request.agent)}</div>{body}'
    call = call_text(request.tool, request.args)
    plain = f"{mark} {said}: {call}" + (f" · {rest}" if rest else "")
    return _bundle(_details(summary, body, colour), plain)


def notice(
    text: str, *, level: Literal["info", "warning", "error"] = "info"
) -> dict[str, str]:
    """Give a note of one line.

    Parameters
    ----------
    text : str
        What to say.
    level : {"info", "warning", "error"}
        How much it matters; the last two are also said in words.

    Returns
    -------
    dict of str to str
        MIME bundle of HTML and plain text.
    """
    mark, colour, word = _LEVELS[level]
    line = " ".join(text.split())
    said = f"<strong>{word}</strong>" if word else ""
    return _bundle(
        f'<div style="font-size: {_SMALL}; line-height: 1.5; margin: 4px 0; '
        f'color: {_DIM}"><span style="color: {colour}">{mark}</span> '
        f"{said}{_text(line)}</div>",
        f"{mark} {word}{line}",
    )


def thinking(
    text: str, *, title: str = "Thought", verbose: bool = False
) -> dict[str, str]:
    """Give what a model thought, collapsed.

    Parameters
    ----------
    text : str
        The thought; the end of it is shown if it is long.
    title : str
        What the line says, such as "Thinking" while it goes on.
    verbose : bool, default False
        Whether it is open, and shown whole.

    Returns
    -------
    dict of str to str
        MIME bundle of HTML and plain text.
    """
    body = text.strip()
    cut = 0 if verbose else max(0, len(body) - _LONGEST_THOUGHT)
    body = clean(body[cut:])
    if cut:
        body = f"\N{HORIZONTAL ELLIPSIS} {cut:,} characters before\n{body}"
    inner = (
        '<pre style="background: none; border: 0; color: inherit; font: inherit; '
        f'margin: 2px 0; padding: 0; white-space: pre-wrap">{html.escape(body)}</pre>'
    )
    line = f'<span style="color: {_DIM}">{_text(title)}</span>'
    return _bundle(
        _details(
            line, f'<div style="color: {_DIM}">{inner}</div>', _GREY, is_open=verbose
        ),
        f"{title}:\n{indented(body)}",
    )


# Parts


def _progress(card: ToolCard) -> tuple[str, str]:
    """Give the bar of a running tool as HTML, and as text."""
    if card.progress is None or card.state != "running":
        return "", ""
    done, total, message = card.progress
    number = f"{done:g}" if done or total or not message else ""
    number += f" of {total:g}" if total else ""
    said = " · ".join(filter(None, (number, message)))
    bar = ""
    if total:
        bar = (
            f'&ensp;<progress value="{done:g}" max="{total:g}" '
            'style="height: 8px; vertical-align: middle; width: 90px"></progress>'
        )
    return f'{bar}<span style="color: {_DIM}">&ensp;{_text(said)}</span>', f" · {said}"


def _call(card: ToolCard) -> str:
    name, call = card.label or card.tool, call_text(card.tool, card.args)
    style = f"background: none; font-family: {_MONO}; padding: 0"
    return (
        f'<code style="{style}"><strong>{_text(name)}</strong></code>'
        f'<code style="{style}; color: {_DIM}; overflow-wrap: anywhere">'
        f"{html.escape(call[len(clean(card.tool)) :])}</code>"
    )


def _details(summary: str, body: str, colour: str, *, is_open: bool = False) -> str:
    edge = colour if colour in {_AMBER, _RED} else _EDGE
    return (
        f'<details{" open" if is_open else ""} style="border-left: 3px solid {edge}; font-size: {_SMALL}; '
        'line-height: 1.5; margin: 4px 0; max-width: 60em; padding: 1px 0 1px 10px">'
        f'<summary style="cursor: pointer">{summary}</summary>'
        f'<div style="padding: 2px 0 4px 16px">{body}</div></details>'
    )


def _body(title: str, text: str) -> str:
    return (
        f'<div style="color: {_DIM}; margin-top: 4px">{title}</div>'
        f'<pre style="background: {_FILL}; border: 0; border-radius: 3px; '
        f"color: inherit; font-family: {_MONO}; font-size: 0.95em; line-height: 1.4; "
        "margin: 2px 0; overflow-wrap: anywhere; padding: 6px 8px; "
        f'white-space: pre-wrap">{html.escape(text)}</pre>'
    )


def _text(text: str) -> str:
    """Escape text; what stands in a span of its own is no mathematics."""
    escaped = html.escape(clean(text))
    return re.sub(r"[$\\]", lambda found: f"<span>{found[0]}</span>", escaped)


def _bundle(markup: str, plain: str) -> dict[str, str]:
    return {"text/html": markup, "text/plain": clean(plain)}
