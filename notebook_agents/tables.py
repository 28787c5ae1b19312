"""A run as a table: one row for each event, but for the pieces of a text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from notebook_agents._optional import require
from notebook_agents.events import Event, ProgressEvent, TokenEvent

__all__ = ["COLUMNS", "frame_of", "rows_of"]

COLUMNS = (
    "seq",
    "time",
    "step",
    "event",
    "tool",
    "text",
    "args",
    "status",
    "seconds",
    "by",
    "call_id",
    "agent",
    "context_tokens",
    "prompt_tokens",
    "completion_tokens",
    "reasoning_tokens",
)

# Where each kind of event says the same thing.
_TEXT = ("content", "prompt", "error", "detail", "guard", "reason")
_STATUS = ("status", "decision", "stop_reason", "action", "kind", "reason")


def rows_of(events: Iterable[Event]) -> list[dict[str, Any]]:
    """Give a row for each event, as plain values.

    Parameters
    ----------
    events : iterable of Event
        Of a run.

    Returns
    -------
    list of dict
        With the keys of `COLUMNS`; None where an event says nothing of it.
    """
    return [
        _row(event)
        for event in events
        if not isinstance(event, TokenEvent | ProgressEvent)
    ]


def frame_of(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> Any:
    """Make a pandas DataFrame of rows.

    Parameters
    ----------
    rows : sequence of mapping
        A row each; what one lacks is missing.
    columns : sequence of str
        Names, in order; they are there without any row, too.

    Returns
    -------
    pandas.DataFrame
        One row each.

    Raises
    ------
    MissingExtraError
        If pandas is not installed.
    """
    pandas = require("pandas", extra="notebook")
    return pandas.DataFrame(list(rows), columns=list(columns))


def _row(event: Event) -> dict[str, Any]:
    usage = event.usage if event.counts_tokens else None
    return {
        "seq": event.seq,
        "time": datetime.fromtimestamp(event.ts, UTC),
        "step": event.step,
        "event": event.event,
        "tool": getattr(event, "tool", None) or None,
        "text": _first(event, _TEXT),
        "args": getattr(event, "args", None),
        "status": _first(event, _STATUS),
        "seconds": getattr(event, "seconds", None),
        "by": getattr(event, "by", None) or None,
        "call_id": getattr(event, "call_id", None) or None,
        "agent": event.origin.agent,
        "context_tokens": usage and usage.context_tokens,
        "prompt_tokens": usage and usage.prompt_tokens,
        "completion_tokens": usage and usage.completion_tokens,
        "reasoning_tokens": usage and usage.reasoning_tokens,
    }


def _first(event: Event, names: Sequence[str]) -> str | None:
    found = (getattr(event, name, None) for name in names)
    return next((text for text in found if isinstance(text, str) and text), None)
