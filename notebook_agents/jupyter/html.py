"""What a run looks like besides its text: header, cards and notices.

Each function gives a MIME bundle of static HTML, with everything escaped, and
its twin in plain text.
"""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from notebook_agents.jupyter._markup import (
    AMBER,
    BLUE,
    DIM,
    GREEN,
    GREY,
    RED,
    SMALL,
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
    duration,
    indented,
    is_whole,
    shortened,
    tokens,
    whole,
)
from notebook_agents.messages import Usage

__all__ = [
    "STATES",
    "State",
    "ToolCard",
    "header",
    "notice",
    "thinking",
    "tool_card",
]

State = Literal[
    "running",
    "waiting",
    "approved",
    "done",
    "answered",
    "failed",
    "denied",
    "cancelled",
]

_LONGEST_THOUGHT = 4096  # characters

STATES: dict[State, tuple[str, str, str]] = {
    "running": ("\N{BLACK CIRCLE}", BLUE, "running"),
    "waiting": ("\N{DOUBLE VERTICAL LINE}", AMBER, "waiting for approval"),
    "approved": ("\N{CHECK MARK}", BLUE, "approved, waits for the others"),
    "done": ("\N{CHECK MARK}", GREEN, "done"),
    "answered": ("\N{CHECK MARK}", GREEN, "answered in its place"),
    "failed": ("\N{BALLOT X}", RED, "failed"),
    "denied": ("\N{CIRCLED DIVISION SLASH}", AMBER, "denied"),
    "cancelled": ("\N{BLACK SQUARE}", GREY, "stopped"),
}
"""Mark, colour and word of each state."""
_LEVELS = {
    "info": ("\N{BULLET}", GREY, ""),
    "warning": ("\N{WARNING SIGN}\ufe0e", AMBER, "Warning: "),
    "error": ("\N{BALLOT X}", RED, "Error: "),
}


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
    state : {"running", "waiting", "approved", "done", "failed", "denied", "cancelled"}
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
    state : {"running", "waiting", "approved", "done", "failed", "denied", "cancelled"}
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
    mark, colour, word = STATES[state]
    parts = [model, word, duration(seconds), tokens(usage), note]
    rest = " · ".join(part for part in parts if part)
    return bundle_of(
        f'<div style="font-size: {SMALL}; line-height: 1.5; margin: 2px 0 4px">'
        f'<span style="color: {colour}">{mark}</span> '
        f"<strong>{escaped(agent)}</strong>"
        f'<span style="color: {DIM}"> · {escaped(rest)}</span></div>',
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
    mark, colour, word = STATES[card.state]
    done = word if card.seconds is None else f"{word} · {duration(card.seconds)}"
    if card.error:
        done = f"{done} · {shortened(card.error.partition(chr(10))[0], 100)}"
    bar, progress = _progress(card)
    fit = whole if verbose else capped
    bodies = []
    if card.error:
        bodies.append(text_block("Error", fit(card.detail or card.error)))
    elif card.result:
        bodies.append(text_block("Result", fit(card.result)))
    if verbose or not bodies or not is_whole(card.args):
        args = fit(arguments_text(card.args)) or "none"
        bodies.insert(0, text_block("Arguments", args))
    summary = (
        f'<span style="color: {colour}">{mark}</span> {call_code(card.tool, card.args, card.label)}'
        f'<span style="color: {DIM}"> · {escaped(done)}</span>{bar}'
    )
    plain = f"{mark} {call_text(card.label or card.tool, card.args)} · {done}{progress}"
    if card.result and not card.error:
        plain += "\n" + indented(fit(card.result))
    return bundle_of(details(summary, "".join(bodies), colour, is_open=verbose), plain)


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
    return bundle_of(
        f'<div style="font-size: {SMALL}; line-height: 1.5; margin: 4px 0; '
        f'color: {DIM}"><span style="color: {colour}">{mark}</span> '
        f"{said}{escaped(line)}</div>",
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
    line = f'<span style="color: {DIM}">{escaped(title)}</span>'
    return bundle_of(
        details(
            line, f'<div style="color: {DIM}">{inner}</div>', GREY, is_open=verbose
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
    return f'{bar}<span style="color: {DIM}">&ensp;{escaped(said)}</span>', f" · {said}"
