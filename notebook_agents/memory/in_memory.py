"""Conversations in this process; gone when it ends."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from notebook_agents.memory.listing import (
    ConversationInfo,
    check_page,
    check_purge,
    now_ms,
    to_ms,
)
from notebook_agents.memory.record import from_record, to_record, turn_of, unshared
from notebook_agents.memory.scope import MemoryScope
from notebook_agents.memory.session import MemorySession
from notebook_agents.memory.store import MemoryStore, new_turn_key
from notebook_agents.messages import Message

__all__ = ["InMemoryStore"]


@dataclass(slots=True)
class _Conversation:
    """One conversation; ``turns[i]`` is the turn of ``messages[i]``."""

    scope: MemoryScope
    created_at: int
    updated_at: int
    title: str | None = None
    messages: list[Message] = field(default_factory=list)
    turns: list[str | None] = field(default_factory=list)

    def insert(
        self, place: int, messages: Sequence[Message], turns: Sequence[str | None]
    ) -> None:
        self.messages[place:place] = messages
        self.turns[place:place] = turns

    def take_out(self, turn: str) -> int:
        """Remove a turn, and give the place where it began, else the end."""
        if turn not in self.turns:
            return len(self.turns)
        place = self.turns.index(turn)
        kept = [index for index, key in enumerate(self.turns) if key != turn]
        self.messages = [self.messages[index] for index in kept]
        self.turns = [self.turns[index] for index in kept]
        return place

    def describe(self) -> ConversationInfo:
        scope = self.scope
        return ConversationInfo(
            conversation_id=scope.conversation_id,
            user_id=scope.user_id,
            tenant_id=scope.tenant_id,
            agent_id=scope.agent_id,
            source_id=scope.source_id,
            scope_key=scope.key,
            title=self.title,
            created_at=self.created_at,
            updated_at=self.updated_at,
            message_count=sum(not message.intermediate for message in self.messages),
        )


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
        self._conversations: dict[str, _Conversation] = {}
        self._lock = threading.Lock()

    def read(self, scope: MemoryScope) -> list[dict[str, Any]]:
        """Give a copy of a conversation's records, oldest first."""
        with self._lock:
            kept = self._conversations.get(scope.key)
            pairs = list(zip(kept.messages, kept.turns, strict=True)) if kept else []
        return [to_record(message, turn) for message, turn in pairs]

    def append(self, scope: MemoryScope, message: dict[str, Any]) -> None:
        """Add one record at the end of a conversation."""
        self.append_many(scope, [message])

    def append_many(
        self, scope: MemoryScope, messages: Sequence[dict[str, Any]]
    ) -> None:
        """Add the records of one turn, with nothing in between."""
        turns = [turn_of(record) for record in messages]
        self._write(scope, [from_record(record) for record in messages], turns)

    def replace_turn(
        self, scope: MemoryScope, turn: str, messages: Sequence[dict[str, Any]]
    ) -> None:
        """Write a turn where an earlier one of that key stands, else at the end."""
        self._replace(scope, turn, [from_record(record) for record in messages])

    def clear(self, scope: MemoryScope) -> None:
        """Forget a conversation."""
        with self._lock:
            self._conversations.pop(scope.key, None)

    def describe(self, scope: MemoryScope) -> ConversationInfo | None:
        """Tell what is known about a conversation."""
        with self._lock:
            kept = self._conversations.get(scope.key)
            return kept.describe() if kept else None

    def set_title(self, scope: MemoryScope, title: str | None) -> None:
        """Give a conversation a title, beginning it if need be."""
        with self._lock:
            self._opened(scope).title = title

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
        with self._lock:
            fitting = [
                kept
                for kept in self._conversations.values()
                if kept.scope.matches(
                    user_id=user_id,
                    tenant_id=tenant_id,
                    agent_id=agent_id,
                    source_id=source_id,
                )
            ]
            fitting.sort(key=lambda kept: kept.updated_at, reverse=True)
            return [kept.describe() for kept in fitting[offset : offset + limit]]

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
        parts = (user_id, tenant_id, agent_id, source_id)
        check_purge(*parts, older_than, is_all=all)
        before = None if older_than is None else to_ms(older_than)
        with self._lock:
            gone = [
                key
                for key, kept in self._conversations.items()
                if kept.scope.matches(
                    user_id=user_id,
                    tenant_id=tenant_id,
                    agent_id=agent_id,
                    source_id=source_id,
                )
                and (before is None or kept.updated_at < before)
            ]
            for key in gone:
                del self._conversations[key]
        return len(gone)

    async def load(
        self, scope: MemoryScope, *, before: str | None = None
    ) -> list[Message]:
        """Read a conversation; nothing here needs a thread."""
        with self._lock:
            kept = self._conversations.get(scope.key)
            if kept is None:
                return []
            end = len(kept.turns)
            if before is not None and before in kept.turns:
                end = kept.turns.index(before)
            return [unshared(message) for message in kept.messages[:end]]

    async def save(
        self,
        scope: MemoryScope,
        messages: Sequence[Message],
        *,
        turn: str | None = None,
    ) -> str:
        """Keep one turn, and give its key; nothing here needs a thread."""
        messages = [unshared(message) for message in messages]
        if turn is not None:
            self._replace(scope, turn, messages)
            return turn
        key = new_turn_key()
        self._write(scope, messages, [key] * len(messages))
        return key

    def _write(
        self,
        scope: MemoryScope,
        messages: Sequence[Message],
        turns: Sequence[str | None],
    ) -> None:
        if messages:
            with self._lock:
                kept = self._opened(scope)
                kept.insert(len(kept.messages), messages, turns)

    def _replace(
        self, scope: MemoryScope, turn: str, messages: Sequence[Message]
    ) -> None:
        with self._lock:
            if messages or scope.key in self._conversations:
                kept = self._opened(scope)
                kept.insert(kept.take_out(turn), messages, [turn] * len(messages))

    def _opened(self, scope: MemoryScope) -> _Conversation:
        """Give the conversation that is about to be written."""
        now = now_ms()
        kept = self._conversations.setdefault(
            scope.key, _Conversation(scope, created_at=now, updated_at=now)
        )
        kept.updated_at = max(now, kept.updated_at)
        return kept


class UnaskedSession(MemorySession):
    """The conversation of an agent that was given no memory.

    Nobody else has its store, and nobody looks into it for what was said.
    """

    def __init__(self) -> None:
        super().__init__(InMemoryStore(), MemoryScope())
