"""Conversations in one SQLite file, which outlive the process."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from notebook_agents.database import Database, checked_path, file_in_home
from notebook_agents.errors import MemoryStoreError
from notebook_agents.home import home_folder
from notebook_agents.memory import sqlite_rows
from notebook_agents.memory.listing import (
    ConversationInfo,
    check_page,
    check_purge,
    to_ms,
)
from notebook_agents.memory.record import from_record
from notebook_agents.memory.scope import MemoryScope
from notebook_agents.memory.sqlite_journal import SQLiteJournal
from notebook_agents.memory.store import MemoryStore
from notebook_agents.messages import Message
from notebook_agents.spelling import by_name

__all__ = ["SQLiteStore", "default_path"]

FILE_NAME = "conversations.sqlite"


def default_path() -> Path:
    """Name the file that conversations are kept in unless another one is given.

    Returns
    -------
    Path
        In the folder of `notebook_agents.home.home_folder`; it need not exist.
    """
    return home_folder() / FILE_NAME


@by_name
class SQLiteStore(MemoryStore):
    """Keep conversations in one SQLite file.

    Safe to use from several threads, event loops and processes at once, such
    as two kernels. A turn is in the file whole or not at all, even if the
    process is killed while it is written.

    Parameters
    ----------
    path : str or path, optional
        The file, made with access for its owner alone unless it exists; its
        folder must exist. Left out, `default_path`.

    Raises
    ------
    MemoryStoreError
        If the file cannot be used; so does every method.
    ValueError
        If no file is meant, as by ``":memory:"``.

    Notes
    -----
    Messages are rows of JSON text in a database in WAL mode [1]_; what is
    deleted is overwritten. A transaction survives the death of the process;
    the last ones may be lost when the power goes.

    References
    ----------
    .. [1] https://www.sqlite.org/wal.html

    Examples
    --------
    >>> store = SQLiteStore("chats.sqlite")
    >>> scope = store.session(user_id="ada").scope
    >>> store.append(scope, {"role": "user", "content": "hi"})
    >>> store.close()
    >>> with SQLiteStore("chats.sqlite") as store:
    ...     print(store.session(scope).messages)
    [{'role': 'user', 'content': 'hi'}]
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        file = (
            file_in_home(FILE_NAME)
            if path is None
            else checked_path(
                path,
                owner="SQLiteStore",
                instead="InMemoryStore() keeps conversations in this process.",
            )
        )
        self._database = Database(
            file, application_id=sqlite_rows.APPLICATION_ID, steps=sqlite_rows.STEPS
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process opens the file by itself.
        return type(self), (str(self.path),)

    @property
    def path(self) -> Path:
        """The file, as an absolute path."""
        return self._database.path

    def close(self) -> None:
        """Close the file; the store cannot be used any more."""
        self._database.close()

    def journal(self) -> SQLiteJournal:
        """Give the journal of unfinished runs, in the same file."""
        return SQLiteJournal(self._database)

    # One conversation.

    def read(self, scope: MemoryScope) -> list[dict[str, Any]]:
        """Give a conversation's records, oldest first."""
        return self._read(scope)

    def append(self, scope: MemoryScope, message: dict[str, Any]) -> None:
        """Add one record at the end of a conversation."""
        self.append_many(scope, [message])

    def append_many(
        self, scope: MemoryScope, messages: Sequence[dict[str, Any]]
    ) -> None:
        """Add the records of one turn, whole or not at all."""
        rows = [sqlite_rows.to_row(record) for record in messages]
        if not rows:
            return
        with self._database.writing() as connection:
            number = sqlite_rows.open_conversation(connection, scope)
            sqlite_rows.append_rows(connection, number, rows)

    def replace_turn(
        self, scope: MemoryScope, turn: str, messages: Sequence[dict[str, Any]]
    ) -> None:
        """Write a turn where an earlier one of that key stands, else at the end."""
        rows = [sqlite_rows.to_row(record) for record in messages]
        with self._database.writing() as connection:
            if not rows and sqlite_rows.number_of(connection, scope) is None:
                return
            number = sqlite_rows.open_conversation(connection, scope)
            sqlite_rows.replace_rows(connection, number, turn, rows)

    def clear(self, scope: MemoryScope) -> None:
        """Forget a conversation; its text is overwritten in the file."""
        with self._database.writing() as connection:
            sqlite_rows.delete(connection, scope)
        self._database.scrub()

    async def load(
        self, scope: MemoryScope, *, before: str | None = None
    ) -> list[Message]:
        """Read a conversation, or what came before a turn, in a thread."""
        return await asyncio.to_thread(self._load, scope, before)

    # Many conversations.

    def describe(self, scope: MemoryScope) -> ConversationInfo | None:
        """Tell what is known about a conversation."""
        with self._database.reading() as connection:
            return sqlite_rows.select_info(connection, scope)

    def set_title(self, scope: MemoryScope, title: str | None) -> None:
        """Give a conversation a title, beginning it if need be."""
        with self._database.writing() as connection:
            number = sqlite_rows.open_conversation(connection, scope)
            sqlite_rows.set_title(connection, number, title)

    def list_conversations(
        self,
        *,
        user_id: str | None = None,
        tenant_id: str | None = None,
        agent_id: str | None = None,
        source_id: str | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[ConversationInfo]:
        """List conversations, the one that was written last first."""
        check_page(limit, offset)
        wanted = {
            "user_id": user_id,
            "tenant_id": tenant_id,
            "agent_id": agent_id,
            "source_id": source_id,
        }
        with self._database.reading() as connection:
            return sqlite_rows.select_page(connection, wanted, limit, offset)

    def purge(
        self,
        *,
        user_id: str | None = None,
        tenant_id: str | None = None,
        agent_id: str | None = None,
        source_id: str | None = None,
        older_than: datetime | None = None,
        all: bool = False,  # noqa: A002 - as in the contract
    ) -> int:
        """Forget many conversations, and tell how many."""
        wanted = {
            "user_id": user_id,
            "tenant_id": tenant_id,
            "agent_id": agent_id,
            "source_id": source_id,
        }
        check_purge(*wanted.values(), older_than, is_all=all)
        before = None if older_than is None else to_ms(older_than)
        with self._database.writing() as connection:
            count = sqlite_rows.delete_fitting(connection, wanted, before)
        self._database.scrub()
        return count

    # Reading. Rows are parsed when the connection is free for others again.

    def _read(
        self, scope: MemoryScope, before: str | None = None
    ) -> list[dict[str, Any]]:
        with self._database.reading() as connection:
            rows = sqlite_rows.select_rows(connection, scope, before)
        try:
            return sqlite_rows.to_records(rows)
        except ValueError as error:
            message = f"The store {str(self.path)!r} failed: a message is damaged."
            raise MemoryStoreError(message) from error

    def _load(self, scope: MemoryScope, before: str | None) -> list[Message]:
        return [from_record(record) for record in self._read(scope, before)]
