"""``%agent usage``: what the agents of this kernel have taken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields

from notebook_agents.agent import Agent
from notebook_agents.jupyter._words import duration
from notebook_agents.jupyter.rows import Row, in_columns
from notebook_agents.ledger import Totals, process_totals

__all__ = ["COLUMNS", "usage_rows", "usage_text"]

COLUMNS = ("agent", "model", *(each.name for each in fields(Totals)))
"""Of the table, one row for an agent and a model."""

OTHERS = "(others)"
"""Agents that no variable holds any more."""


def usage_rows(here: Mapping[str, Agent], name: str | None) -> list[Row]:
    """Sum up by agent and model.

    Parameters
    ----------
    here : mapping of str to Agent
        The agents of the notebook by variable.
    name : str or None
        The variable of the only one wanted; None means all of this kernel.

    Returns
    -------
    list of dict
        In no row for what has not run; `OTHERS` is last.
    """
    rows: list[Row] = []
    left = process_totals()
    seen: set[int] = set()
    for variable, agent in here.items():
        if id(agent.ledger) in seen or name not in {None, variable}:
            continue
        seen.add(id(agent.ledger))
        for model, totals in agent.ledger.totals().items():
            rows.append(_row(variable, model, totals))
            left[model] = left.get(model, Totals()).plus(totals, times=-1)
    if name is None:
        rows += [_row(OTHERS, key, rest) for key, rest in left.items() if rest.runs > 0]
    return rows


def usage_text(rows: list[Row]) -> str:
    """Write the rows for people, with their sum below.

    Parameters
    ----------
    rows : list of dict
        As `usage_rows` gave them.

    Returns
    -------
    str
        In columns.
    """
    if not rows:
        return "Nothing has run yet."
    head = ["agent", "model", "runs", "model calls", "tool calls", "read", "written"]
    lines = [[*head, "cost", "time"], *map(_line, rows)]
    if len(rows) > 1:
        whole = Totals()
        for row in rows:
            whole = whole.plus(Totals(**{key: row[key] for key in COLUMNS[2:]}))
        lines.append(_line(_row("total", "", whole)))
    return in_columns(lines)


def _row(agent: str, model: str, totals: Totals) -> Row:
    return {"agent": agent, "model": model, **asdict(totals)}


def _line(row: Row) -> list[str]:
    counts = ("runs", "model_calls", "tool_calls", "prompt_tokens", "completion_tokens")
    cost = "" if row["cost"] is None else f"${row['cost']:.4f}"
    numbers = [f"{row[key]:,}" for key in counts]
    return [row["agent"], row["model"], *numbers, cost, duration(row["seconds"])]
