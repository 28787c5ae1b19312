"""`ConversationService`: an agent, and a bounded history for each conversation."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any, Unpack
from weakref import WeakValueDictionary

from notebook_agents import checks
from notebook_agents.agent import Agent
from notebook_agents.chatting import conversation_scope, store_of_many
from notebook_agents.history.buffer import HistoryBuffer
from notebook_agents.memory.store import MemorySession
from notebook_agents.messages import to_dicts
from notebook_agents.options import AskOptions
from notebook_agents.question import Said
from notebook_agents.results import AgentResult
from notebook_agents.spelling import by_name

__all__ = ["ConversationService"]


@by_name
class ConversationService:
    """An agent with many conversations, of each of which it sees a bounded part.

    Each conversation has a `HistoryBuffer` of its own, which is what the agent
    is given in every turn. Conversations are stored whole in the store of the
    agent's memory; a buffer that is not at hand is filled from there.

    Parameters
    ----------
    agent : Agent
        Who answers; an `Orchestrator`, say.
    history_max_tokens : int, default 8000
        How much of a conversation the agent sees, in tokens.
    max_conversations : int, default 1000
        How many buffers are kept at hand; the one that was used least recently
        goes first. One whose turn goes on stays besides.

    Raises
    ------
    AgentConfigurationError
        If a limit is below 1, or the agent's memory holds one conversation only.

    Examples
    --------
    >>> import asyncio
    >>> from notebook_agents import Agent, ConversationService, ScriptedProvider
    >>> model = ScriptedProvider(["Hi Ada!", "Hi Bob!", "You are Ada."])
    >>> service = ConversationService(Agent(model))
    >>> async def talk():
    ...     await service.run("c-1", "I am Ada.")
    ...     await service.run("c-2", "I am Bob.")
    ...     return await service.run("c-1", "Who am I?")
    >>> print(asyncio.run(talk()))
    You are Ada.
    >>> [message.content for message in model.requests[2].messages]
    ['I am Ada.', 'Hi Ada!', 'Who am I?']
    """

    def __init__(
        self,
        agent: Agent,
        *,
        history_max_tokens: int = 8000,
        max_conversations: int = 1000,
    ) -> None:
        given: object = agent
        if not isinstance(given, Agent):
            checks.fail(
                f"A ConversationService needs an Agent, not {checks.shown(given)}."
            )
        checks.whole("history_max_tokens", history_max_tokens, least=1)
        checks.whole("max_conversations", max_conversations, least=1)
        self.agent = agent
        """Who answers."""
        self.history_max_tokens = history_max_tokens
        self.max_conversations = max_conversations
        self._store = store_of_many(agent.memory)
        self._buffers: OrderedDict[str, HistoryBuffer] = OrderedDict()
        # Also those that were let go but are in use: a turn that goes on must end
        # in the buffer that the next one is given.
        self._alive: WeakValueDictionary[str, HistoryBuffer] = WeakValueDictionary()
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<ConversationService of {self.agent.name!r}>"

    async def run(
        self,
        conversation_id: str,
        message: Said,
        *,
        user_id: str | None = None,
        **options: Unpack[AskOptions],
    ) -> AgentResult[Any]:
        """Ask in a conversation.

        Parameters
        ----------
        conversation_id : str
            Which one, in at most 128 characters of any kind; its first turn
            begins it.
        message : str or list
            What the agent should do: a text, or parts, as for ``agent.run``.
        user_id : str, optional
            Whose it is; two users never share one.
        **options
            As in `RunOptions`, but for ``prior_messages`` and ``memory``.

        Returns
        -------
        AgentResult
            The outcome, as from ``agent.run``.
        """
        session = self._session(conversation_id, user_id)
        buffer = await self._buffer(session)
        return await buffer.run(self.agent, message, memory=session, **options)

    async def history(
        self, conversation_id: str, *, user_id: str | None = None
    ) -> HistoryBuffer:
        """Give what the agent sees of a conversation.

        Parameters
        ----------
        conversation_id : str
            Which one.
        user_id : str, optional
            Whose it is.

        Returns
        -------
        HistoryBuffer
            The one that the next turn uses.
        """
        return await self._buffer(self._session(conversation_id, user_id))

    async def forget(self, conversation_id: str, *, user_id: str | None = None) -> None:
        """Remove a conversation, from the store as well.

        Parameters
        ----------
        conversation_id : str
            Which one.
        user_id : str, optional
            Whose it is.
        """
        session = self._session(conversation_id, user_id)
        await self._store.aclear(session.scope)
        with self._lock:
            self._buffers.pop(session.scope_key, None)
            buffer = self._alive.pop(session.scope_key, None)
        if buffer is not None:
            buffer.clear()

    def _session(self, conversation_id: str, user_id: str | None) -> MemorySession:
        scope = conversation_scope(
            conversation_id, user_id=user_id, agent_id=self.agent.agent_id
        )
        return self._store.session(scope)

    async def _buffer(self, session: MemorySession) -> HistoryBuffer:
        key = session.scope_key
        with self._lock:
            found = self._alive.get(key)
            if found is not None:
                return self._at_hand(key, found)
        filled = HistoryBuffer(self.history_max_tokens)
        filled.extend(to_dicts(await session.load()))
        with self._lock:
            # Somebody else may have been first.
            return self._at_hand(key, self._alive.setdefault(key, filled))

    def _at_hand(self, key: str, buffer: HistoryBuffer) -> HistoryBuffer:
        self._buffers[key] = buffer
        self._buffers.move_to_end(key)
        if len(self._buffers) > self.max_conversations:
            self._buffers.popitem(last=False)
        return buffer
