"""Conversations in this process; gone when it ends."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from notebook_agents.memory.scope import MemoryScope
from notebook_agents.memory.store import MemoryStore, from_record, to_record
from notebook_agents.messages import Message

__all__ = ["InMemoryStore"]


class InMemoryStore(MemoryStore):
    """Keep conversations in this process.

    Safe to use from several threads and loops at once. Messages are kept as
    frozen values, so nothing that is handed out can change what is stored.

    Examples
    --------
    >>> store = InMemoryStore()
    >>> store.session(user_id="ada").messages
    []
    """

    def __init__(self) -> None:
        self._conversations: dict[str, list[Message]] = {}
        self._lock = threading.Lock()

    def read(self, scope: MemoryScope) -> list[dict[str, Any]]:
        """Give a copy of a conversation's records, oldest first."""
        return [to_record(message) for message in self._snapshot(scope)]

    def append(self, scope: MemoryScope, message: dict[str, Any]) -> None:
        """Add one record at the end of a conversation."""
        self.append_many(scope, [message])

    def append_many(
        self, scope: MemoryScope, messages: Sequence[dict[str, Any]]
    ) -> None:
        """Add the records of one turn, with nothing in between."""
        self._extend(scope, [from_record(message) for message in messages])

    def clear(self, scope: MemoryScope) -> None:
        """Forget a conversation."""
        with self._lock:
            self._conversations.pop(scope.key, None)

    async def load(self, scope: MemoryScope) -> list[Message]:
        """Read a conversation; nothing here needs a thread."""
        return self._snapshot(scope)

    async def save(self, scope: MemoryScope, messages: Sequence[Message]) -> None:
        """Add the messages of one turn; nothing here needs a thread."""
        self._extend(scope, messages)

    def _snapshot(self, scope: MemoryScope) -> list[Message]:
        with self._lock:
            return list(self._conversations.get(scope.key, ()))

    def _extend(self, scope: MemoryScope, messages: Sequence[Message]) -> None:
        with self._lock:
            self._conversations.setdefault(scope.key, []).extend(messages)
