"""The tables of `GuardrailService`, and the statements that read and write them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from notebook_agents.errors import MemoryStoreError
from notebook_agents.guardrails.definition import Guardrail, config_text

__all__ = ["APPLICATION_ID", "STEPS"]

APPLICATION_ID = 0x6E62_6772  # "nbgr"

# Never change a step that has been released; add one.
STEPS = (
    (
        """
        CREATE TABLE guardrails (
            id TEXT PRIMARY KEY NOT NULL,
            name TEXT NOT NULL,
            kind TEXT NOT NULL, -- keywords, pii or llm
            config JSON NOT NULL, -- arguments of what makes the guard
            scope TEXT NOT NULL, -- input, output or both
            enabled INT NOT NULL DEFAULT 1,
            created_at INTEGER NOT NULL -- ms since 1970, UTC
        )
        """,
        """
        CREATE TABLE assignments (
            agent_id TEXT NOT NULL DEFAULT '',
            session_id TEXT NOT NULL DEFAULT '',
            place INTEGER NOT NULL,
            guardrail TEXT NOT NULL REFERENCES guardrails (id) ON DELETE CASCADE,
            PRIMARY KEY (agent_id, session_id, guardrail)
        ) WITHOUT ROWID
        """,
        "CREATE INDEX assignments_by_guardrail ON assignments (guardrail)",
    ),
)

_COLUMNS = ("id", "name", "kind", "config", "scope", "enabled", "created_at")
CHANGEABLE = ("name", "kind", "config", "scope", "enabled")
SELECT = f"SELECT {', '.join(_COLUMNS)} FROM guardrails"  # noqa: S608 - constants
ASSIGNED = """
    SELECT guardrail FROM assignments WHERE agent_id = ? AND session_id = ?
    ORDER BY place
"""


def read(connection: sqlite3.Connection, guardrail_id: str) -> Guardrail:
    """Read one guardrail; a `KeyError` if there is none."""
    found = connection.execute(f"{SELECT} WHERE id = ?", (guardrail_id,)).fetchall()
    if not found:
        raise missing(guardrail_id)
    return from_row(found[0])


def missing(guardrail_id: str) -> KeyError:
    """Say that there is no such guardrail."""
    return KeyError(f"There is no guardrail {guardrail_id!r}; list() gives them all.")


def write(connection: sqlite3.Connection, row: Sequence[Any]) -> None:
    """Write a guardrail, in the place of an earlier one of its identifier."""
    # Not REPLACE, which would remove the old row and with it its assignments.
    connection.execute(
        "INSERT INTO guardrails VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) "
        "DO UPDATE SET name = excluded.name, kind = excluded.kind, "
        "config = excluded.config, scope = excluded.scope, enabled = excluded.enabled",
        row,
    )


def to_row(guardrail: Guardrail) -> tuple[Any, ...]:
    """Give what is kept of a guardrail, if a guard can be made of it."""
    values = {**asdict(guardrail), "config": config_text(guardrail)}
    return tuple(values[name] for name in _COLUMNS)


def from_row(row: Sequence[Any]) -> Guardrail:
    """Give the guardrail that a row keeps."""
    values = dict(zip(_COLUMNS, row, strict=True))
    try:
        config = json.loads(values["config"])
    except ValueError:
        config = None
    if not isinstance(config, dict):
        message = f"The guardrail {values['id']!r} is damaged; delete() removes it."
        raise MemoryStoreError(message)
    values |= {"config": config, "enabled": bool(values["enabled"])}
    return Guardrail(**values)
