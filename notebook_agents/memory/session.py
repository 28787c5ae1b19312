"""One conversation of a store: what an agent talks to."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from notebook_agents import checks
from notebook_agents.memory.record import INTERMEDIATE, check_record, from_record
from notebook_agents.memory.scope import MemoryScope
from notebook_agents.messages import Message
from notebook_agents.reading import read_messages
from notebook_agents.waiting import in_thread

if TYPE_CHECKING:
    from notebook_agents.memory.store import MemoryStore

__all__ = ["MemoryBackend", "MemorySession", "load_history", "save_turn"]


@runtime_checkable
class MemoryBackend(Protocol):
    """The least that a memory of your own needs.

    A run calls it in a thread, one call after the other, so it may take its time;
    runs at the same time call it at the same time.
    """

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation so far, oldest first."""

    def add(self, message: dict[str, Any]) -> None:
        """Append one message."""

    def reset(self) -> None:
        """Forget the conversation."""


def checked_store(store: Any) -> MemoryStore:
    """Give a store back, if it keeps conversations."""
    if isinstance(store, type) or not callable(getattr(store, "append", None)):
        checks.fail(
            f"store is {checks.shown(store)}; pass SQLiteStore(path) or InMemoryStore()."
        )
    kept: MemoryStore = store
    return kept


def _check_scope(scope: object) -> None:
    if not isinstance(scope, MemoryScope):
        checks.fail(
            f"A conversation is named by a MemoryScope, not {checks.shown(scope)}: "
            "store.session(user_id=...), or open_session(name)."
        )


class MemorySession:
    """One conversation of a store; it cannot reach any other.

    Parameters
    ----------
    store : MemoryStore
        Where it is kept.
    scope : MemoryScope
        Which one it is.
    turn_key : str, optional
        The turn that is being written; see `turn`.
    title : str, optional
        What the conversation is called once something is kept in it, unless
        it has a title already.

    Examples
    --------
    >>> from notebook_agents import InMemoryStore
    >>> session = InMemoryStore().session(user_id="ada")
    >>> session.add({"role": "user", "content": "hi"})
    >>> session.messages
    [{'role': 'user', 'content': 'hi'}]
    """

    def __init__(
        self,
        store: MemoryStore,
        scope: MemoryScope,
        *,
        turn_key: str | None = None,
        title: str | None = None,
    ) -> None:
        checked_store(store)
        _check_scope(scope)
        self.store = store
        """Where the conversation is kept."""
        self.scope = scope
        """Which conversation it is."""
        self.turn_key = turn_key
        """The turn that is being written; None for a new one each time."""
        self.title = title
        """What the conversation is called when something is kept in it."""

    def __repr__(self) -> str:
        name = self.title or self.conversation_id
        return f"<MemorySession {name!r} in {type(self.store).__name__}>"

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
            if not record.get(INTERMEDIATE)
        ]

    @property
    def all_messages(self) -> list[dict[str, Any]]:
        """Everything, with the tool calls and their results."""
        return [from_record(item).to_dict() for item in self.store.read(self.scope)]

    def turn(self, key: str) -> MemorySession:
        """Give the same conversation, ready to write one turn, or write it again.

        A run on what this returns sees only what came before that turn, and
        its messages take the place of those of an earlier run. Later turns
        stay as they are.

        Parameters
        ----------
        key : str
            Names the turn within the conversation, such as the identifier of
            a notebook cell. Not blank.

        Returns
        -------
        MemorySession
            For one run.

        Examples
        --------
        >>> from notebook_agents import Agent, InMemoryStore, ScriptedProvider
        >>> session = InMemoryStore().session()
        >>> agent = Agent(ScriptedProvider(["One.", "Uno."]))
        >>> for _ in range(2):
        ...     answer = agent.run_sync("Count", memory=session.turn("cell-1"))
        >>> [message["content"] for message in session.messages]
        ['Count', 'Uno.']
        """
        return MemorySession(
            self.store, self.scope, turn_key=_checked_key(key), title=self.title
        )

    def add(self, message: dict[str, Any]) -> None:
        """Append one message.

        Parameters
        ----------
        message : dict
            In the OpenAI chat shape.
        """
        check_record(message)
        self._introduce()
        self.store.append(self.scope, message)

    def replace_turn(self, key: str, messages: Sequence[dict[str, Any]]) -> None:
        """Write one turn, in the place of an earlier one of the same key.

        Parameters
        ----------
        key : str
            Names the turn within the conversation.
        messages : sequence of dict
            In the OpenAI chat shape, oldest first; none removes the turn.
        """
        key = _checked_key(key)
        self._introduce()
        self.store.replace_turn(self.scope, key, messages)

    def reset(self) -> None:
        """Forget the conversation, its title included."""
        self.store.clear(self.scope)

    async def load(self) -> list[Message]:
        """Read what the next run should see, without blocking the loop.

        Returns
        -------
        list of Message
            Everything, or what came before the turn that is being written.
        """
        if self.turn_key is None:
            return await self.store.load(self.scope)
        return await self.store.load(self.scope, before=self.turn_key)

    async def save(self, messages: Sequence[Message]) -> str:
        """Keep one turn, whole, without blocking the loop.

        Parameters
        ----------
        messages : sequence of Message
            Oldest first.

        Returns
        -------
        str
            The key of the turn, by which it can be replaced.
        """
        if self.title is not None:
            await asyncio.to_thread(self._introduce)
        if self.turn_key is None:
            return await self.store.save(self.scope, messages)
        return await self.store.save(self.scope, messages, turn=self.turn_key)

    def _introduce(self) -> None:
        """Give the conversation its title, if it has none and the store has titles."""
        if self.title is None:
            return
        with contextlib.suppress(NotImplementedError):
            info = self.store.describe(self.scope)
            if info is None or info["title"] is None:
                self.store.set_title(self.scope, self.title)


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
    name = f"{type(memory).__name__}.messages"
    return await in_thread(lambda: read_messages(memory.messages, name=name), name=name)


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

    def add() -> None:
        for message in messages:
            if not message.intermediate:
                memory.add(message.to_dict())

    await in_thread(add, name=f"{type(memory).__name__}.add")


def _checked_key(key: str) -> str:
    if not key.strip():
        message = "The key of a turn must not be blank."
        raise ValueError(message)
    return key
