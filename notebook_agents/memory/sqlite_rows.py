"""The tables of `SQLiteStore`, and the statements that read and write them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, NamedTuple, cast

from notebook_agents.memory.listing import ConversationInfo, now_ms
from notebook_agents.memory.record import (
    INTERMEDIATE,
    TURN,
    from_record,
    turn_of,
)
from notebook_agents.memory.scope import MemoryScope

__all__ = ["APPLICATION_ID", "STEPS"]

APPLICATION_ID = 0x6E62_6167  # "nbag"

# Never change a step that has been released; add one.
STEPS = (
    (
        """
        CREATE TABLE conversations (
            number INTEGER PRIMARY KEY,
            scope_key TEXT NOT NULL UNIQUE,
            conversation_id TEXT NOT NULL,
            user_id TEXT,
            tenant_id TEXT,
            agent_id TEXT,
            source_id TEXT,
            title TEXT,
            created_at INTEGER NOT NULL, -- ms since 1970, UTC
            updated_at INTEGER NOT NULL, -- ms since 1970, UTC
            message_count INTEGER NOT NULL DEFAULT 0 -- without steps
        )
        """,
        "CREATE INDEX conversations_by_time ON conversations (updated_at)",
        "CREATE INDEX conversations_by_user ON conversations (user_id, updated_at)",
        # A turn keeps its place when it is replaced, however long it becomes.
        """
        CREATE TABLE messages (
            conversation INTEGER NOT NULL
                REFERENCES conversations (number) ON DELETE CASCADE,
            place INTEGER NOT NULL, -- of the turn within the conversation
            position INTEGER NOT NULL, -- of the message within the turn
            turn TEXT, -- key of the turn
            intermediate INTEGER NOT NULL, -- 1 for a step on the way to an answer
            record TEXT NOT NULL, -- JSON, in the OpenAI chat shape
            PRIMARY KEY (conversation, place, position)
        ) WITHOUT ROWID
        """,
        "CREATE INDEX messages_by_turn ON messages (conversation, turn)",
    ),
    (
        """
        CREATE TABLE runs (
            run_id TEXT PRIMARY KEY,
            conversation INTEGER NOT NULL
                REFERENCES conversations (number) ON DELETE CASCADE,
            agent TEXT NOT NULL,
            prompt TEXT NOT NULL,
            began_at INTEGER NOT NULL, -- ms since 1970, UTC
            owner TEXT NOT NULL -- the process that runs it
        )
        """,
        "CREATE INDEX runs_by_conversation ON runs (conversation)",
        """
        CREATE TABLE run_records (
            number INTEGER PRIMARY KEY,
            run_id TEXT NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
            record TEXT NOT NULL -- JSON
        )
        """,
        "CREATE INDEX run_records_by_run ON run_records (run_id)",
    ),
)

_READ = """
    SELECT record, intermediate, turn
    FROM messages JOIN conversations ON conversation = number
    WHERE scope_key = :scope_key AND place < ifnull(
        (
            SELECT min(place) FROM messages
            WHERE conversation = number AND turn = :before
        ),
        9223372036854775807
    )
    ORDER BY place, position
"""

_DESCRIBE = """
    SELECT conversation_id, user_id, tenant_id, agent_id, source_id, scope_key,
        title, created_at, updated_at, message_count
    FROM conversations
"""


class Row(NamedTuple):
    """A record as it is kept; whether it is a step; the key of its turn."""

    text: str
    intermediate: int
    turn: str | None


def to_row(record: dict[str, Any]) -> Row:
    """Give what is kept of a record."""
    message = from_record(record)
    plain = message.to_dict()
    text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    if not _is_encodable(text):  # half of a surrogate pair, say
        text = json.dumps(plain, separators=(",", ":"), sort_keys=True)
    return Row(text, int(message.intermediate), turn_of(record))


def to_records(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Give the records of rows, as they were written."""
    rows = list(rows)
    # One call for all is three times as fast as one for each.
    records = json.loads(f"[{','.join(row[0] for row in rows)}]")
    for record, (_, intermediate, turn) in zip(records, rows, strict=True):
        if intermediate:
            record[INTERMEDIATE] = True
        if turn is not None:
            record[TURN] = turn
    return list(records)


def select_rows(
    connection: sqlite3.Connection, scope: MemoryScope, before: str | None = None
) -> list[Row]:
    """Read a conversation, or what comes before a turn of it."""
    values = {"scope_key": scope.key, "before": before}
    return connection.execute(_READ, values).fetchall()


def number_of(connection: sqlite3.Connection, scope: MemoryScope) -> int | None:
    """Find the row of a conversation."""
    rows: list[tuple[int]] = connection.execute(
        "SELECT number FROM conversations WHERE scope_key = ?", (scope.key,)
    ).fetchall()
    return rows[0][0] if rows else None


def open_conversation(connection: sqlite3.Connection, scope: MemoryScope) -> int:
    """Find the row of a conversation, or begin the conversation."""
    number = number_of(connection, scope)
    if number is not None:
        return number
    now = now_ms()
    columns = {**scope.metadata, "created_at": now, "updated_at": now}
    names = ", ".join(columns)
    marks = ", ".join(f":{name}" for name in columns)
    cursor = connection.execute(
        f"INSERT INTO conversations ({names}) VALUES ({marks})",  # noqa: S608 - constants
        columns,
    )
    assert cursor.lastrowid is not None  # noqa: S101 - a row was inserted
    return cursor.lastrowid


def append_rows(
    connection: sqlite3.Connection, number: int, rows: Sequence[Row]
) -> None:
    """Add rows at the end of a conversation, those of one turn at one place."""
    (place,) = connection.execute(
        "SELECT ifnull(max(place), 0) FROM messages WHERE conversation = ?", (number,)
    ).fetchone()
    for _, group in groupby(rows, key=lambda row: row.turn):
        place += 1
        _insert(connection, number, place, list(group))
    touch(connection, number, added=_finals(rows))


def replace_rows(
    connection: sqlite3.Connection, number: int, turn: str, rows: Sequence[Row]
) -> None:
    """Put rows where the turn began, else at the end, and remove the old ones."""
    gone, place = connection.execute(
        "SELECT total(intermediate = 0), min(place) FROM messages "
        "WHERE conversation = ? AND turn = ?",
        (number, turn),
    ).fetchone()
    rows = [row._replace(turn=turn) for row in rows]
    if place is None:
        append_rows(connection, number, rows)
        return
    connection.execute(
        "DELETE FROM messages WHERE conversation = ? AND turn = ?", (number, turn)
    )
    _insert(connection, number, place, rows)
    touch(connection, number, added=_finals(rows) - int(gone))


def set_title(connection: sqlite3.Connection, number: int, title: str | None) -> None:
    """Name a conversation, or take its name away."""
    connection.execute(
        "UPDATE conversations SET title = ? WHERE number = ?", (title, number)
    )
    touch(connection, number)


def touch(connection: sqlite3.Connection, number: int, *, added: int = 0) -> None:
    """Note that a conversation was written, and how many messages more it has."""
    # Clocks go back now and then, and two machines have two.
    connection.execute(
        "UPDATE conversations SET updated_at = max(updated_at, ?), "
        "message_count = message_count + ? WHERE number = ?",
        (now_ms(), added, number),
    )


def select_info(
    connection: sqlite3.Connection, scope: MemoryScope
) -> ConversationInfo | None:
    """Read what is known about a conversation."""
    cursor = connection.execute(f"{_DESCRIBE} WHERE scope_key = ?", (scope.key,))
    return next(map(_info, cursor.fetchall()), None)


def select_page(
    connection: sqlite3.Connection,
    wanted: dict[str, str | None],
    limit: int,
    offset: int,
) -> list[ConversationInfo]:
    """Read what is known about the conversations of one page."""
    where, values = _fitting(wanted)
    order = "ORDER BY updated_at DESC, number DESC LIMIT ? OFFSET ?"
    cursor = connection.execute(
        f"{_DESCRIBE} WHERE {where} {order}", [*values, limit, offset]
    )
    return [_info(row) for row in cursor.fetchall()]


def delete(connection: sqlite3.Connection, scope: MemoryScope) -> None:
    """Remove one conversation with its messages."""
    connection.execute("DELETE FROM conversations WHERE scope_key = ?", (scope.key,))


def delete_fitting(
    connection: sqlite3.Connection, wanted: dict[str, str | None], before: int | None
) -> int:
    """Remove conversations with their messages, and count them."""
    where, values = _fitting(wanted)
    if before is not None:
        where, values = f"{where} AND updated_at < ?", [*values, before]
    return connection.execute(
        f"DELETE FROM conversations WHERE {where}",  # noqa: S608 - names of columns
        values,
    ).rowcount


def _fitting(wanted: dict[str, str | None]) -> tuple[str, list[Any]]:
    # A condition for each filter that is set, so that indexes can be used.
    used = {name: value for name, value in wanted.items() if value is not None}
    conditions = ["TRUE", *(f"{name} = ?" for name in used)]
    return " AND ".join(conditions), list(used.values())


def _insert(
    connection: sqlite3.Connection, number: int, place: int, rows: Sequence[Row]
) -> None:
    connection.executemany(
        "INSERT INTO messages "
        "(conversation, place, position, record, intermediate, turn) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        [(number, place, position, *row) for position, row in enumerate(rows)],
    )


def _finals(rows: Iterable[Row]) -> int:
    return sum(not row.intermediate for row in rows)


def _info(row: Sequence[Any]) -> ConversationInfo:
    pairs = zip(ConversationInfo.__annotations__, row, strict=True)
    return cast("ConversationInfo", dict(pairs))


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
