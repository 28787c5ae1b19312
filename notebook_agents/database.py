"""One SQLite file: how it is opened, shared and described when it fails."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path

from notebook_agents import checks
from notebook_agents.errors import MemoryStoreError
from notebook_agents.home import home_folder, make_private_folder

__all__ = ["Database", "checked_path", "file_in_home"]

BUSY_SECONDS = 10.0
"""How long to wait for another process that is writing."""
PAUSE_SECONDS = 0.01
PRIVATE = 0o600

_REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "it may only be read",
    sqlite3.SQLITE_PERM: "it may not be opened by this user",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened",
    sqlite3.SQLITE_BUSY: f"another program has kept it locked for {BUSY_SECONDS:g} s",
    sqlite3.SQLITE_CORRUPT: "it is damaged; move it away to begin anew",
    sqlite3.SQLITE_NOTADB: "it is damaged, or no SQLite file at all",
    sqlite3.SQLITE_IOERR: "the disk failed to read or write it",
    sqlite3.SQLITE_PROTOCOL: "its folder cannot lock files; use one on a local disk",
}

# Closing any descriptor of a file drops the locks that this process has on it,
# those of SQLite too; so nobody may connect between the two steps of creating one.
_opening = threading.Lock()

_databases: weakref.WeakSet[Database] = weakref.WeakSet()
_of_the_parent: list[sqlite3.Connection] = []


def _start_anew_after_fork() -> None:
    # A connection must not be used, nor even closed, on both sides of a fork.
    global _opening  # noqa: PLW0603 - its owner may not exist in the child
    _opening = threading.Lock()
    for database in tuple(_databases):
        database.forget_connections()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew_after_fork)


def file_in_home(name: str) -> Path:
    """Name a file in the folder of everything durable, and make that folder.

    Parameters
    ----------
    name : str
        Name of the file, which need not exist.

    Returns
    -------
    Path
        In the folder of `notebook_agents.home.home_folder`.

    Raises
    ------
    MemoryStoreError
        If the folder cannot be made.
    """
    folder = home_folder()
    try:
        make_private_folder(folder)
    except OSError as error:
        reason = error.strerror or str(error)
        message = (
            f"The folder {str(folder)!r} cannot be made: {reason}. "
            "NOTEBOOK_AGENTS_HOME can name another one."
        )
        raise MemoryStoreError(message) from error
    return folder / name


def checked_path(path: str | os.PathLike[str], *, owner: str, instead: str) -> Path:
    """Give the path of a file back, if it is one.

    Parameters
    ----------
    path : str or path
        As the user wrote it.
    owner : str
        What the file is for, for the message.
    instead : str
        What to do where no file is meant, in a sentence.

    Returns
    -------
    Path
        With the home folder written out.

    Raises
    ------
    AgentConfigurationError
        If no file is meant, as by ``":memory:"``.
    """
    given: object = path
    text = os.fspath(path) if isinstance(given, str | os.PathLike) else ""
    is_none = text in {"", ":memory:"} or text.startswith("file:") or "\0" in text
    if is_none:
        shown = checks.shown(given)
        checks.fail(f"{owner} needs the path of a file, got {shown}; {instead}")
    return Path(text).expanduser()


class Database:
    """One SQLite file, used through one connection that threads take in turn.

    The file and its schema are made when it is first opened. Several processes
    may use it at once.

    Parameters
    ----------
    path : Path
        The file; its folder must exist.
    application_id : int
        Number that tells this kind of file from others, 32 bits.
    steps : sequence of sequence of str
        Statements that lead from one format to the next; the number of steps
        is the newest format that is known.

    Raises
    ------
    MemoryStoreError
        If the file cannot be opened, or is not of this kind or format.
    """

    def __init__(
        self, path: Path, *, application_id: int, steps: Sequence[Sequence[str]]
    ) -> None:
        self.path = path.absolute()
        self._application_id = application_id
        self._steps = steps
        self._lock = threading.Lock()
        self._open: list[sqlite3.Connection] = []
        self._identity: tuple[int, int] | None = None
        self._is_closed = False
        self._finalizer = weakref.finalize(self, _close_all, self._open)
        _databases.add(self)
        with self._lock, self._explained():
            self._connection()

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection for one statement that only reads.

        Yields
        ------
        sqlite3.Connection
            Nobody else's until the block ends.
        """
        with self._lock, self._explained():
            yield self._connection()

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection within a transaction: all of the block, or nothing.

        Yields
        ------
        sqlite3.Connection
            Nobody else's until the block ends.
        """
        with (
            self._lock,
            self._explained(),
            _transaction(self._connection()) as connection,
        ):
            yield connection

    def scrub(self) -> None:
        """Take what was deleted out of the log beside the file, if nobody reads it."""
        with self._lock, self._explained():
            self._connection().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        """Close the file for good; doing it twice does no harm."""
        with self._lock:
            self._is_closed = True
            self._finalizer()

    def forget_connections(self) -> None:
        """Leave the connections to the parent process that they belong to."""
        self._lock = threading.Lock()
        _of_the_parent.extend(self._open)
        self._open.clear()
        self._identity = None

    # Opening.

    def _connection(self) -> sqlite3.Connection:
        if self._is_closed:
            message = f"The store {str(self.path)!r} has been closed."
            raise MemoryStoreError(message)
        if self._open and self._identity == _identity(self.path):
            return self._open[0]
        # Never opened, or somebody has put the file away or another in its place.
        _close_all(self._open)
        self._open.append(self._connect())
        self._identity = _identity(self.path)
        return self._open[0]

    def _connect(self) -> sqlite3.Connection:
        with _opening:
            self._create_file()
            connection = sqlite3.connect(
                self.path,
                timeout=BUSY_SECONDS,
                isolation_level=None,
                check_same_thread=False,
            )
        try:
            self._set_up(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _create_file(self) -> None:
        # SQLite gives its other files the mode of this one.
        flags = os.O_CREAT | os.O_EXCL | os.O_RDWR
        with contextlib.suppress(FileExistsError):
            os.close(os.open(self.path, flags, PRIVATE))

    def _set_up(self, connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")
        with _transaction(connection, "DEFERRED"):
            version = self._version(connection)
        _use_write_ahead_log(connection)
        connection.execute("PRAGMA synchronous = NORMAL")
        if version < len(self._steps):
            self._upgrade(connection)

    def _version(self, connection: sqlite3.Connection) -> int:
        """Give the format of the file, having made sure that it is one of ours."""
        kind = _number(connection, "PRAGMA application_id")
        version = _number(connection, "PRAGMA user_version")
        is_empty = not _number(connection, "SELECT count(*) FROM sqlite_master")
        if kind != self._application_id and not (is_empty and version == kind == 0):
            message = f"{str(self.path)!r} is an SQLite file of another program."
            raise MemoryStoreError(message)
        if version > len(self._steps):
            message = (
                f"{str(self.path)!r} was written by a newer notebook-agents (format "
                f"{version}, this one knows {len(self._steps)}): upgrade it, or use "
                "another file."
            )
            raise MemoryStoreError(message)
        return version

    def _upgrade(self, connection: sqlite3.Connection) -> None:
        with _transaction(connection):
            # Read again: another process may have been faster.
            for statements in self._steps[self._version(connection) :]:
                for statement in statements:
                    connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {self._application_id}")
            connection.execute(f"PRAGMA user_version = {len(self._steps)}")

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn failures of SQLite and of the disk into one sentence."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
            reason = _REASONS.get(code, str(error))
            if self.path.is_dir():
                reason = "it is a folder; name a file in it"
            message = f"The store {str(self.path)!r} failed: {reason}."
            raise MemoryStoreError(message) from error
        except OSError as error:
            reason = error.strerror or str(error)
            if isinstance(error, FileNotFoundError) and not self.path.parent.exists():
                reason = f"the folder {str(self.path.parent)!r} does not exist"
            message = f"The store {str(self.path)!r} failed: {reason}."
            raise MemoryStoreError(message) from error


@contextlib.contextmanager
def _transaction(
    connection: sqlite3.Connection, kind: str = "IMMEDIATE"
) -> Iterator[sqlite3.Connection]:
    try:
        connection.execute(f"BEGIN {kind}")
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        # Also after an interrupt, which may come right after the first line.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Let readers and a writer work at once, where the file system allows it."""
    end = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
        except sqlite3.OperationalError as error:
            # For this one statement SQLite does not wait by itself.
            is_busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not is_busy or time.monotonic() > end:
                raise
            time.sleep(PAUSE_SECONDS)
        else:
            return


def _number(connection: sqlite3.Connection, statement: str) -> int:
    value: int = connection.execute(statement).fetchone()[0]
    return value


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def _close_all(connections: list[sqlite3.Connection]) -> None:
    while connections:
        connections.pop().close()
