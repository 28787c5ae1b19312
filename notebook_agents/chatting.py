"""`Chatting`: many conversations with one agent, each by its user and its identifier."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Unpack, overload

from notebook_agents import checks
from notebook_agents.errors import GuardrailBlockedError
from notebook_agents.memory.scope import MemoryScope, create_conversation_id
from notebook_agents.memory.store import MemoryBackend, MemorySession, MemoryStore
from notebook_agents.options import AskOptions
from notebook_agents.question import Said
from notebook_agents.results import AgentResult, T
from notebook_agents.runnable import Runnable

__all__ = ["Chatting", "conversation_scope", "store_of_many", "with_context"]

# Fixed for good: stored conversations are found by what it makes of their ids.
NAMESPACE = uuid.UUID("6ba7b812-9dad-11d1-80b4-00c04fd430c8")
LONGEST_ID = 128


class Chatting(Runnable[T]):
    """What can be asked, in as many conversations as its store keeps."""

    memory: MemoryBackend
    agent_id: str

    async def chat(
        self,
        user_id: str,
        conversation_id: str,
        content: Said,
        explicit_context: Iterable[str] | None = None,
        **options: Unpack[AskOptions],
    ) -> AgentResult[Any]:
        """Ask in the conversation of a user, as a server of your own does.

        The conversation is in the store of the agent's memory, where `serve`
        keeps the same one. A text that a guard blocked is an answer here, whose
        ``is_blocked`` is true.

        Parameters
        ----------
        user_id : str
            Who asks.
        conversation_id : str
            Which conversation goes on, in at most 128 characters of any kind;
            blank begins a new one.
        content : str or list
            What the agent should do: a text, or parts, as for ``agent.run``.
        explicit_context : iterable of str, optional
            Facts for this question, which are put before it.
        **options
            As in `RunOptions`, but for ``memory``.

        Returns
        -------
        AgentResult
            With the ``conversation_id`` by which the conversation goes on.

        Raises
        ------
        AgentConfigurationError
            If there is no user, the identifier is too long, or the agent's
            memory holds one conversation only.

        Examples
        --------
        >>> import asyncio
        >>> from notebook_agents import Agent, ScriptedProvider, block_keywords
        >>> guard = block_keywords(["password"])
        >>> agent = Agent(ScriptedProvider(["Hi Ada!"]), input_guards=guard)
        >>> result = asyncio.run(agent.chat("ada", "ticket 7", "Hello"))
        >>> result.answer, result.conversation_id, result.turn_number
        ('Hi Ada!', 'ticket 7', 1)
        >>> asyncio.run(agent.chat("ada", "ticket 7", "My password?")).is_blocked
        True
        """
        if "memory" in options:
            checks.fail("chat() takes no memory=: user and conversation name one.")
        store = store_of_many(self.memory)
        checks.not_blank("user_id", user_id)
        # Also what is no text gets as far as the check of it.
        is_named = bool(str(conversation_id).strip())
        name = conversation_id if is_named else create_conversation_id()
        scope = conversation_scope(name, user_id=user_id, agent_id=self.agent_id)
        options["memory"] = store.session(scope)
        try:
            message = with_context(content, _facts(explicit_context))
            result = await self._ask(message, options)
        except GuardrailBlockedError as error:
            result = error.result
        return replace(result, conversation_id=name)


def store_of_many(memory: MemoryBackend) -> MemoryStore:
    """Give the store that a conversation is in.

    Parameters
    ----------
    memory : MemoryBackend
        The conversation of an agent.

    Returns
    -------
    MemoryStore
        Where the others are as well.

    Raises
    ------
    AgentConfigurationError
        If it is the only one.
    """
    if not isinstance(memory, MemorySession):
        checks.fail(
            f"{type(memory).__name__} holds one conversation only. Give the agent a "
            "store: Agent(..., memory=InMemoryStore().session())."
        )
    return memory.store


def conversation_scope(
    conversation_id: str, *, user_id: str | None, agent_id: str
) -> MemoryScope:
    """Say where a conversation is kept that somebody else has named.

    Parameters
    ----------
    conversation_id : str
        Its name, not blank.
    user_id : str or None
        Whose it is.
    agent_id : str
        With whom.

    Returns
    -------
    MemoryScope
        The same one for the same names, in every process.

    Raises
    ------
    AgentConfigurationError
        If a name is none.
    """
    if user_id is not None:
        checks.not_blank("user_id", user_id)
    checks.not_blank("conversation_id", conversation_id)
    if len(conversation_id) > LONGEST_ID:
        checks.fail(f"conversation_id has more than {LONGEST_ID} characters.")
    try:
        number = str(uuid.UUID(conversation_id))
    except ValueError:
        number = str(uuid.uuid5(NAMESPACE, f"notebook-agents:{conversation_id}"))
    return MemoryScope(conversation_id=number, user_id=user_id, agent_id=agent_id)


def _facts(given: object) -> tuple[str, ...]:
    several = [given] if isinstance(given, str) else given or ()
    name = "explicit_context"
    return checks.texts(name, checks.each(name, several, "texts"))


@overload
def with_context(message: str, facts: Iterable[str]) -> str: ...
@overload
def with_context(message: Said, facts: Iterable[str]) -> Said: ...
def with_context(message: Said, facts: Iterable[str]) -> Said:
    """Put facts before a message.

    Parameters
    ----------
    message : str or list
        What the user said: a text, or parts.
    facts : iterable of str
        Blank ones are left out.

    Returns
    -------
    str or list
        In the user's words: a client has no say in the system prompt.
    """
    listed = "\n".join(f"- {text}" for text in facts if text.strip())
    is_blank = not isinstance(message, str | list | tuple) or not str(message).strip()
    if is_blank or not listed:
        return message  # what is no message is refused where it is read
    told = f"Context for this message:\n{listed}\n"
    return f"{told}\n{message}" if isinstance(message, str) else [told, *message]
