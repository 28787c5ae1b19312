"""Conversations that people call by a name, and find again after a restart."""

from __future__ import annotations

import functools
import unicodedata
import uuid
from pathlib import Path

from notebook_agents import checks
from notebook_agents.memory.listing import ConversationInfo, check_page
from notebook_agents.memory.scope import MemoryScope
from notebook_agents.memory.session import MemorySession
from notebook_agents.memory.sqlite import SQLiteStore, default_path
from notebook_agents.memory.store import MemoryStore, checked_store
from notebook_agents.spelling import by_name

__all__ = ["list_sessions", "open_session", "session_scope"]

# Fixed for good: stored sessions are found by what these make of their names.
NAMESPACE = uuid.UUID("8f2c1a54-6d0e-5b43-9a57-3c1f0e7d2b96")
SOURCE = "notebook-session"


def session_scope(name: str) -> MemoryScope:
    """Give the scope of a named session, always the same one.

    Parameters
    ----------
    name : str
        Not blank. Spaces around it do not matter, upper and lower case do.

    Returns
    -------
    MemoryScope
        Apart from every conversation that has no name.

    Raises
    ------
    AgentConfigurationError
        If the name is blank.

    Examples
    --------
    >>> session_scope("thesis") == session_scope(" thesis ")
    True
    """
    number = uuid.uuid5(NAMESPACE, _checked_name(name))
    return MemoryScope(conversation_id=str(number), source_id=SOURCE)


@by_name
def open_session(name: str, *, store: MemoryStore | None = None) -> MemorySession:
    """Open the conversation of that name, or begin one.

    Parameters
    ----------
    name : str
        What you call it.
    store : MemoryStore, optional
        Where it is kept. Left out, a `SQLiteStore` in its default place, where
        it outlives the kernel.

    Returns
    -------
    MemorySession
        Listed by `list_sessions` as soon as something is kept in it.

    Raises
    ------
    AgentConfigurationError
        If the name is blank.
    MemoryStoreError
        If the store cannot be used.

    Examples
    --------
    >>> from notebook_agents import Agent, ScriptedProvider
    >>> agent = Agent(ScriptedProvider(["Hi!"]), memory=open_session("thesis"))
    >>> print(agent.run_sync("Hello"))
    Hi!
    >>> [info["title"] for info in list_sessions()]
    ['thesis']
    """
    scope = session_scope(name)
    if store is None and not default_path().exists():
        _default_store.cache_clear()  # somebody has removed the folder
    place = _default_store(default_path()) if store is None else store
    return MemorySession(place, scope, title=_checked_name(name))


@by_name
def list_sessions(
    *, store: MemoryStore | None = None, limit: int = 100, offset: int = 0
) -> list[ConversationInfo]:
    """List the named sessions, the one that was written last first.

    Parameters
    ----------
    store : MemoryStore, optional
        As for `open_session`. Nothing is made where nothing is kept yet.
    limit, offset : int
        Most sessions wanted, and how many to skip.

    Returns
    -------
    list of ConversationInfo
        The ``title`` of each is its name.
    """
    check_page(limit, offset)
    if store is None:
        if not default_path().exists():
            return []
        store = _default_store(default_path())
    checked_store(store)
    return store.list_conversations(source_id=SOURCE, limit=limit, offset=offset)


@functools.lru_cache(maxsize=1)
def _default_store(_path: Path) -> SQLiteStore:
    # By its path, since the environment may come to name another one.
    return SQLiteStore()


def _checked_name(name: str) -> str:
    checks.text("The name of a session", name)
    plain = unicodedata.normalize("NFC", name).strip()
    if not plain:
        checks.fail("The name of a session must not be blank.")
    return plain
