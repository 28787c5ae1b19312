"""The contract of a memory store: many conversations, each under its scope."""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Self

from notebook_agents.identifiers import new_id
from notebook_agents.memory.journal import Journal
from notebook_agents.memory.listing import ConversationInfo
from notebook_agents.memory.record import TURN, from_record, to_record, turn_of
from notebook_agents.memory.scope import MemoryScope
from notebook_agents.memory.session import MemoryBackend, MemorySession, checked_store
from notebook_agents.messages import Message

__all__ = ["MemoryBackend", "MemorySession", "MemoryStore", "checked_store"]

# One lock for each conversation would have to be kept for ever; by chance two
# conversations share one of these, and wait for each other.
_turn_locks = tuple(threading.RLock() for _ in range(64))


class MemoryStore(ABC):
    """Many conversations in one place, each under its scope.

    A store of your own implements `read`, `append` and `clear`; turns have
    defaults that call these three, and what is about many conversations at
    once (`describe`, `set_title`, `list_conversations`, `purge`) is optional.
    `notebook_agents.testing.check_memory_store` tells whether it keeps every
    promise.

    A *record* is a message in the OpenAI chat shape with up to two tags:
    ``intermediate``, true for the steps on the way to an answer, and ``turn``,
    the key of the turn it belongs to.
    """

    def session(
        self, scope: MemoryScope | None = None, **scope_fields: str
    ) -> MemorySession:
        """Open one conversation.

        Parameters
        ----------
        scope : MemoryScope, optional
            Which conversation; a new one when left out.
        **scope_fields : str
            Parts of a scope, instead of one.

        Returns
        -------
        MemorySession
            A view of that conversation and of no other.

        Raises
        ------
        TypeError
            If both a scope and parts of one are given.
        """
        if scope is not None and scope_fields:
            message = "Pass a MemoryScope or its parts, not both."
            raise TypeError(message)
        return MemorySession(self, scope or MemoryScope(**scope_fields))

    # What every store has to say.

    @abstractmethod
    def read(self, scope: MemoryScope) -> list[dict[str, Any]]:
        """Give a copy of a conversation's records, oldest first.

        Parameters
        ----------
        scope : MemoryScope
            Which conversation; an unknown one is empty.
        """

    @abstractmethod
    def append(self, scope: MemoryScope, message: dict[str, Any]) -> None:
        """Add one record at the end of a conversation.

        Parameters
        ----------
        scope : MemoryScope
            Which conversation.
        message : dict
            The record, kept with its tags.
        """

    @abstractmethod
    def clear(self, scope: MemoryScope) -> None:
        """Forget a conversation and everything kept with it.

        Parameters
        ----------
        scope : MemoryScope
            Which conversation; clearing an unknown one does nothing.
        """

    # Turns.

    def append_many(
        self, scope: MemoryScope, messages: Sequence[dict[str, Any]]
    ) -> None:
        """Add the records of one turn, with nothing in between.

        Parameters
        ----------
        scope : MemoryScope
            Which conversation.
        messages : sequence of dict
            The records, oldest first.
        """
        with _lock_of(self, scope):
            for message in messages:
                self.append(scope, message)

    def replace_turn(
        self, scope: MemoryScope, turn: str, messages: Sequence[dict[str, Any]]
    ) -> None:
        """Write a turn where an earlier one of that key stands, else at the end.

        The default writes the conversation anew: other threads of this process
        never see half of it, but a crash meanwhile may lose it.

        Parameters
        ----------
        scope : MemoryScope
            Which conversation.
        turn : str
            Key of the turn; all records that have it go.
        messages : sequence of dict
            The new records, oldest first; none removes the turn.
        """
        new = [{**message, TURN: turn} for message in messages]
        with _lock_of(self, scope):
            kept = self.read(scope)
            turns = [turn_of(record) for record in kept]
            if turn in turns:
                place = turns.index(turn)
                others = [record for record in kept if turn_of(record) != turn]
                new = [*others[:place], *new, *others[place:]]
                self.clear(scope)
            for record in new:
                self.append(scope, record)

    # Many conversations at once; optional.

    def describe(self, scope: MemoryScope) -> ConversationInfo | None:
        """Tell what is known about a conversation.

        Parameters
        ----------
        scope : MemoryScope
            Which conversation.

        Returns
        -------
        ConversationInfo or None
            A dict; None if there is no such conversation.

        Raises
        ------
        NotImplementedError
            If the store does not offer this.
        """
        raise NotImplementedError(_unsupported(self, "describe"))

    def set_title(self, scope: MemoryScope, title: str | None) -> None:
        """Give a conversation a title, beginning it if need be.

        Parameters
        ----------
        scope : MemoryScope
            Which conversation.
        title : str or None
            What people call it; None takes the title away.

        Raises
        ------
        NotImplementedError
            If the store does not offer this.
        """
        raise NotImplementedError(_unsupported(self, "set_title"))

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
        """List conversations, the one that was written last first.

        Parameters
        ----------
        user_id, tenant_id, agent_id, source_id : str, optional
            Only conversations with these parts; None fits everything.
        limit, offset : int
            Most conversations wanted, and how many to skip.

        Returns
        -------
        list of ConversationInfo
            Dicts; none if nothing fits.

        Raises
        ------
        NotImplementedError
            If the store does not offer this.
        """
        raise NotImplementedError(_unsupported(self, "list_conversations"))

    def purge(
        self,
        *,
        user_id: str | None = None,
        tenant_id: str | None = None,
        agent_id: str | None = None,
        source_id: str | None = None,
        older_than: datetime | None = None,
        all: bool = False,  # noqa: A002 - the word that makes the call plain
    ) -> int:
        """Forget many conversations.

        Parameters
        ----------
        user_id, tenant_id, agent_id, source_id : str, optional
            Only conversations with these parts.
        older_than : datetime, optional
            Only conversations that were last written before; local time if it
            has no time zone.
        all : bool, default False
            Allow a call without any filter, which forgets everything.

        Returns
        -------
        int
            How many conversations are gone.

        Raises
        ------
        NotImplementedError
            If the store does not offer this.
        """
        raise NotImplementedError(_unsupported(self, "purge"))

    def journal(self) -> Journal | None:
        """Give the journal in which runs are kept until they end.

        Returns
        -------
        Journal or None
            None, the default, where what is kept does not outlive the process
            anyway, or no run can be resumed.
        """
        return None

    def close(self) -> None:  # noqa: B027 - most stores have nothing to close
        """Let go of files and connections; nothing to do unless a store says so."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    # The same without blocking the loop. Stores with an async client of their
    # own override these.

    async def load(
        self, scope: MemoryScope, *, before: str | None = None
    ) -> list[Message]:
        """Read a conversation without blocking the loop.

        Parameters
        ----------
        scope : MemoryScope
            Which conversation.
        before : str, optional
            Key of a turn: only what came before it. Everything if there is no
            such turn.

        Returns
        -------
        list of Message
            Oldest first.
        """
        records = await asyncio.to_thread(self.read, scope)
        turns = [turn_of(record) for record in records]
        if before is not None and before in turns:
            records = records[: turns.index(before)]
        return [from_record(record) for record in records]

    async def save(
        self,
        scope: MemoryScope,
        messages: Sequence[Message],
        *,
        turn: str | None = None,
    ) -> str:
        """Keep one turn, whole, without blocking the loop.

        Parameters
        ----------
        scope : MemoryScope
            Which conversation.
        messages : sequence of Message
            Oldest first.
        turn : str, optional
            Key of the turn; an earlier one of that key is replaced. A new key
            when left out.

        Returns
        -------
        str
            The key of the turn.
        """
        key = turn or new_turn_key()
        records = [to_record(message, key) for message in messages]
        if turn is None:
            await asyncio.to_thread(self.append_many, scope, records)
        else:
            await asyncio.to_thread(self.replace_turn, scope, key, records)
        return key

    async def aclear(self, scope: MemoryScope) -> None:
        """Do what `clear` does, without blocking the loop."""
        await asyncio.to_thread(self.clear, scope)

    async def adescribe(self, scope: MemoryScope) -> ConversationInfo | None:
        """Do what `describe` does, without blocking the loop."""
        return await asyncio.to_thread(self.describe, scope)

    async def aset_title(self, scope: MemoryScope, title: str | None) -> None:
        """Do what `set_title` does, without blocking the loop."""
        await asyncio.to_thread(self.set_title, scope, title)

    async def alist_conversations(self, **page: Any) -> list[ConversationInfo]:
        """Do what `list_conversations` does, without blocking the loop."""
        return await asyncio.to_thread(self.list_conversations, **page)

    async def apurge(self, **filters: Any) -> int:
        """Do what `purge` does, without blocking the loop."""
        return await asyncio.to_thread(self.purge, **filters)


def new_turn_key() -> str:
    """Make a key that no other turn has."""
    return new_id()


def _lock_of(store: MemoryStore, scope: MemoryScope) -> threading.RLock:
    return _turn_locks[hash((id(store), scope.key)) % len(_turn_locks)]


def _unsupported(store: MemoryStore, name: str) -> str:
    return f"{type(store).__name__} has no {name}()."
