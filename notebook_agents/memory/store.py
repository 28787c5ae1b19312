"""The contract of a memory store, and the session that an agent talks to."""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from notebook_agents.memory.scope import MemoryScope
from notebook_agents.messages import Message

__all__ = ["MemoryBackend", "MemorySession", "MemoryStore"]


@runtime_checkable
class MemoryBackend(Protocol):
    """The least that a memory of your own needs."""

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation so far, oldest first."""

    def add(self, message: dict[str, Any]) -> None:
        """Append one message."""

    def reset(self) -> None:
        """Forget the conversation."""


_one_turn_at_a_time = threading.Lock()
"""Keeps turns whole in stores that have nothing better than `append`."""


class MemoryStore(ABC):
    """Many conversations in one place, each under its scope.

    A store of your own implements `read`, `append` and `clear`; the rest has
    defaults that call them.
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
            The record.
        """

    @abstractmethod
    def clear(self, scope: MemoryScope) -> None:
        """Forget a conversation and everything kept with it.

        Parameters
        ----------
        scope : MemoryScope
            Which conversation.
        """

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
        with _one_turn_at_a_time:
            for message in messages:
                self.append(scope, message)

    async def load(self, scope: MemoryScope) -> list[Message]:
        """Read a conversation without blocking the loop.

        Parameters
        ----------
        scope : MemoryScope
            Which conversation.

        Returns
        -------
        list of Message
            Oldest first.
        """
        records = await asyncio.to_thread(self.read, scope)
        return [from_record(record) for record in records]

    async def save(self, scope: MemoryScope, messages: Sequence[Message]) -> None:
        """Add the messages of one turn without blocking the loop.

        Parameters
        ----------
        scope : MemoryScope
            Which conversation.
        messages : sequence of Message
            Oldest first.
        """
        records = [to_record(message) for message in messages]
        await asyncio.to_thread(self.append_many, scope, records)


class MemorySession:
    """One conversation of a store; it cannot reach any other.

    Parameters
    ----------
    store : MemoryStore
        Where it is kept.
    scope : MemoryScope
        Which one it is.

    Examples
    --------
    >>> from notebook_agents import InMemoryStore
    >>> session = InMemoryStore().session(user_id="ada")
    >>> session.add({"role": "user", "content": "hi"})
    >>> session.messages
    [{'role': 'user', 'content': 'hi'}]
    """

    def __init__(self, store: MemoryStore, scope: MemoryScope) -> None:
        self.store = store
        """Where the conversation is kept."""
        self.scope = scope

    @property
    def scope_key(self) -> str:
        """The store's key of this conversation."""
        return self.scope.key

    @property
    def conversation_id(self) -> str:
        """The conversation's UUID."""
        return self.scope.conversation_id

    @property
    def user_id(self) -> str | None:
        """Whose conversation it is."""
        return self.scope.user_id

    @property
    def tenant_id(self) -> str | None:
        """The tenant it belongs to."""
        return self.scope.tenant_id

    @property
    def agent_id(self) -> str | None:
        """The agent it belongs to."""
        return self.scope.agent_id

    @property
    def source_id(self) -> str | None:
        """Where it comes from."""
        return self.scope.source_id

    @property
    def messages(self) -> list[dict[str, Any]]:
        """What was asked and answered, without the steps in between."""
        records = self.store.read(self.scope)
        return [
            from_record(record).to_dict()
            for record in records
            if not record.get(_INTERMEDIATE)
        ]

    @property
    def all_messages(self) -> list[dict[str, Any]]:
        """Everything, with the tool calls and their results."""
        return [from_record(item).to_dict() for item in self.store.read(self.scope)]

    def add(self, message: dict[str, Any]) -> None:
        """Append one message.

        Parameters
        ----------
        message : dict
            In the OpenAI chat shape.
        """
        self.store.append(self.scope, message)

    def reset(self) -> None:
        """Forget the conversation."""
        self.store.clear(self.scope)

    async def load(self) -> list[Message]:
        """Read everything without blocking the loop."""
        return await self.store.load(self.scope)

    async def save(self, messages: Sequence[Message]) -> None:
        """Append one turn without blocking the loop.

        Parameters
        ----------
        messages : sequence of Message
            Oldest first.
        """
        await self.store.save(self.scope, messages)


_INTERMEDIATE = "intermediate"


def to_record(message: Message) -> dict[str, Any]:
    """Give what a store keeps of a message: its chat shape and its tag."""
    record = message.to_dict()
    if message.intermediate:
        record[_INTERMEDIATE] = True
    return record


def from_record(record: Mapping[str, Any]) -> Message:
    """Make a message again from what a store kept."""
    message = Message.from_dict(record)
    if not record.get(_INTERMEDIATE):
        return message
    return Message(
        message.role,
        message.content,
        message.tool_calls,
        message.tool_call_id,
        intermediate=True,
    )


async def load_history(memory: MemoryBackend) -> list[Message]:
    """Read what any memory remembers.

    Parameters
    ----------
    memory : MemoryBackend
        One of ours or somebody else's.

    Returns
    -------
    list of Message
        Oldest first.
    """
    if isinstance(memory, MemorySession):
        return await memory.load()
    return [Message.from_dict(message) for message in memory.messages]


async def save_turn(memory: MemoryBackend, messages: Sequence[Message]) -> None:
    """Keep one turn in any memory.

    Parameters
    ----------
    memory : MemoryBackend
        Ours gets the whole turn in one append; somebody else's gets the two
        calls that its contract promises, the question and the answer.
    messages : sequence of Message
        The turn, oldest first.
    """
    if isinstance(memory, MemorySession):
        await memory.save(messages)
        return
    for message in messages:
        if not message.intermediate:
            memory.add(message.to_dict())
