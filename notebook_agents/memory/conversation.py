"""One conversation as a run sees it: what to send before the question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from notebook_agents.memory.in_memory import InMemoryStore
from notebook_agents.memory.session import (
    MemoryBackend,
    MemorySession,
    load_history,
    save_turn,
)
from notebook_agents.messages import Message

__all__ = ["Conversation"]


class Conversation:
    """What goes before a question, and where the turn is kept.

    Parameters
    ----------
    memory : MemoryBackend
        Where earlier turns are.
    system_prompt : str or None
        Sent first, never stored.
    prior : sequence of Message, optional
        What came before, instead of what the memory holds.
    """

    def __init__(
        self,
        memory: MemoryBackend,
        *,
        system_prompt: str | None = None,
        prior: Sequence[Message] | None = None,
    ) -> None:
        self._memory = memory
        self._system_prompt = system_prompt
        self._prior = prior
        self._turns = 0
        self.has_kept = False
        """Whether a turn has been stored."""

    @property
    def is_at_hand(self) -> bool:
        """Whether a turn is kept without waiting for anything."""
        memory = self._memory
        return (
            isinstance(memory, MemorySession)
            and type(memory.store) is InMemoryStore  # not what others make of it
            and memory.title is None
        )

    async def load(self) -> list[Message]:
        """Give the messages that go before the question.

        Returns
        -------
        list of Message
            The system prompt, if any, then earlier turns.
        """
        earlier = self._prior
        if earlier is None:
            earlier = await load_history(self._memory)
        self._turns = sum(message.role == "user" for message in earlier)
        rest = [message for message in earlier if message.role != "system"]
        if self._system_prompt:
            return [Message("system", self._system_prompt), *rest]
        return rest

    async def keep(self, turn: Sequence[Message]) -> None:
        """Store one turn, in one append.

        Parameters
        ----------
        turn : sequence of Message
            Question, steps and answer.
        """
        await save_turn(self._memory, turn)
        self.has_kept = True

    def facts(self) -> dict[str, Any]:
        """Give what a result says about the conversation."""
        memory = self._memory
        session = memory if isinstance(memory, MemorySession) else None
        return {
            "conversation_id": session.conversation_id if session else "",
            "user_id": (session.user_id or "") if session else "",
            "turn_number": self._turns + 1,
        }
