"""Whose conversation it is: `MemoryScope` and its key."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field

from notebook_agents import checks
from notebook_agents.errors import AgentConfigurationError
from notebook_agents.identifiers import new_uuid
from notebook_agents.spelling import by_name

__all__ = ["MemoryScope", "create_conversation_id"]


def create_conversation_id() -> str:
    """Make a new conversation identifier, a random UUID."""
    return new_uuid()


_is_canonical = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}").fullmatch


def _canonical(conversation_id: str) -> str:
    """Give the one spelling of a UUID."""
    try:
        if _is_canonical(conversation_id):  # nearly always, and it takes no time
            return conversation_id
        import uuid  # hardly ever needed

        return str(uuid.UUID(conversation_id))
    except (ValueError, AttributeError, TypeError):
        message = (
            f"conversation_id must be a UUID, got {conversation_id!r}; "
            "create_conversation_id() makes one, and open_session(name) opens a "
            "conversation by a name of yours."
        )
        raise AgentConfigurationError(message) from None


@by_name
@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryScope:
    """The identity of one conversation.

    Parameters
    ----------
    conversation_id : str
        A UUID in any spelling; a new one when left out.
    user_id, tenant_id, agent_id, source_id : str, optional
        Whose conversation it is; two scopes that differ in any of them never
        see each other.

    Raises
    ------
    AgentConfigurationError
        If the conversation is not a UUID, or another part is blank.

    Examples
    --------
    >>> scope = MemoryScope(conversation_id="00000000000000000000000000000001")
    >>> scope.key
    '00000000-0000-0000-0000-000000000001'
    """

    conversation_id: str = field(default_factory=create_conversation_id)
    user_id: str | None = None
    tenant_id: str | None = None
    agent_id: str | None = None
    source_id: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "conversation_id", _canonical(self.conversation_id))
        for name, value in self._parts().items():
            if value is None:
                continue
            checks.text(name, value)
            if not value.strip():
                checks.fail(f"{name} must not be blank; leave it out instead.")

    @property
    def key(self) -> str:
        """The store's key: the plain UUID, or a digest when there is more."""
        parts = self._parts()
        if not any(value for name, value in parts.items() if name != "conversation_id"):
            return self.conversation_id
        text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def metadata(self) -> dict[str, str | None]:
        """The plain identifiers and the key, for a store to keep."""
        return {**self._parts(), "scope_key": self.key}

    def matches(
        self,
        *,
        user_id: str | None = None,
        tenant_id: str | None = None,
        agent_id: str | None = None,
        source_id: str | None = None,
    ) -> bool:
        """Tell whether the scope fits a filter; None fits everything.

        Parameters
        ----------
        user_id, tenant_id, agent_id, source_id : str, optional
            Wanted values.

        Returns
        -------
        bool
            Whether every given part is equal.
        """
        wanted = {
            "user_id": user_id,
            "tenant_id": tenant_id,
            "agent_id": agent_id,
            "source_id": source_id,
        }
        return all(
            value is None or getattr(self, name) == value
            for name, value in wanted.items()
        )

    def _parts(self) -> dict[str, str | None]:
        return {
            "conversation_id": self.conversation_id,
            "user_id": self.user_id,
            "tenant_id": self.tenant_id,
            "agent_id": self.agent_id,
            "source_id": self.source_id,
        }
