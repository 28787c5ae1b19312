"""The journal of `SQLiteStore`, in the same file as its conversations."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

from notebook_agents.database import Database
from notebook_agents.errors import MemoryStoreError
from notebook_agents.memory import sqlite_rows
from notebook_agents.memory.journal import Journal, Record, UnfinishedRun
from notebook_agents.memory.scope import MemoryScope

__all__ = ["SQLiteJournal"]

_COLUMNS = ", ".join(UnfinishedRun.__annotations__)

_ADD = "INSERT INTO run_records (run_id, record) VALUES (?, ?)"


class SQLiteJournal(Journal):
    """The unfinished runs of one database.

    Parameters
    ----------
    database : Database
        Of a `SQLiteStore`.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(
        self, scope: MemoryScope, run: UnfinishedRun, records: Sequence[Record]
    ) -> None:
        """Open a run with its first entries, whole or not at all."""
        rows = _rows(run["run_id"], records)
        with self._database.writing() as connection:
            number = sqlite_rows.open_conversation(connection, scope)
            connection.execute(
                f"INSERT INTO runs ({_COLUMNS}, conversation) "  # noqa: S608 - constants
                "VALUES (:run_id, :agent, :prompt, :began_at, :owner, :conversation)",
                {**run, "conversation": number},
            )
            connection.executemany(_ADD, rows)

    def write(self, run_id: str, owner: str, records: Sequence[Record]) -> bool:
        """Add entries, whole or not at all."""
        rows = _rows(run_id, records)
        with self._database.writing() as connection:
            found = connection.execute(
                "SELECT owner FROM runs WHERE run_id = ?", (run_id,)
            ).fetchone()
            if found != (owner,):
                return False
            connection.executemany(_ADD, rows)
        return True

    def read(self, run_id: str) -> list[dict[str, Any]]:
        """Give the entries of a run, oldest first."""
        with self._database.reading() as connection:
            rows = connection.execute(
                "SELECT record FROM run_records WHERE run_id = ? ORDER BY number",
                (run_id,),
            ).fetchall()
        try:
            return [json.loads(text) for (text,) in rows]
        except ValueError as error:
            message = (
                f"{str(self._database.path)!r} is damaged: what the run {run_id} has "
                "written down cannot be read. Nothing was run; ask anew."
            )
            raise MemoryStoreError(message) from error

    def forget(self, run_id: str, owner: str) -> None:
        """Remove a run that has ended, unless another process has taken it over."""
        with self._database.writing() as connection:
            connection.execute(
                "DELETE FROM runs WHERE run_id = ? AND owner = ?", (run_id, owner)
            )

    def unfinished(self, scope: MemoryScope) -> list[UnfinishedRun]:
        """List the runs of a conversation, the oldest first."""
        with self._database.reading() as connection:
            rows = connection.execute(
                f"SELECT {_COLUMNS} FROM runs JOIN conversations "  # noqa: S608 - constants
                "ON conversation = number WHERE scope_key = ? "
                "ORDER BY began_at, runs.rowid",
                (scope.key,),
            ).fetchall()
        names = UnfinishedRun.__annotations__
        return [
            cast("UnfinishedRun", dict(zip(names, row, strict=True))) for row in rows
        ]

    def claim(self, run_id: str, *, owner: str, instead_of: str) -> bool:
        """Take a run over from another process."""
        with self._database.writing() as connection:
            changed = connection.execute(
                "UPDATE runs SET owner = ? WHERE run_id = ? AND owner = ?",
                (owner, run_id, instead_of),
            )
            return changed.rowcount == 1


def _rows(run_id: str, records: Sequence[Record]) -> list[tuple[str, str]]:
    """Write entries as text, before the file is locked: nobody waits for that."""
    return [(run_id, json.dumps(record, default=str)) for record in records]
