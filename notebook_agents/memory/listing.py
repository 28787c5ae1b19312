"""What a store tells about its conversations, and what it may be asked."""

from __future__ import annotations

import time
from datetime import datetime
from typing import TypedDict

from notebook_agents import checks

__all__ = ["ConversationInfo", "check_page", "check_purge", "now_ms", "to_ms"]


class ConversationInfo(TypedDict):
    """What a store tells about one conversation.

    Parameters
    ----------
    conversation_id : str
        Its UUID.
    user_id, tenant_id, agent_id, source_id : str or None
        Whose it is, as in its scope; ``user_id`` is the owner.
    scope_key : str
        The store's key of it.
    title : str or None
        What people call it.
    created_at, updated_at : int
        When it began and when it was last written, in ms since 1970, UTC.
    message_count : int
        How many questions and answers it has, without the steps in between.
    """

    conversation_id: str
    user_id: str | None
    tenant_id: str | None
    agent_id: str | None
    source_id: str | None
    scope_key: str
    title: str | None
    created_at: int
    updated_at: int
    message_count: int


def check_page(limit: int, offset: int) -> None:
    """Refuse a page that cannot be.

    Parameters
    ----------
    limit, offset : int
        Most rows wanted, and rows to skip.

    Raises
    ------
    AgentConfigurationError
        If one is negative; to a database that may mean "all".
    """
    checks.whole("limit", limit, least=0)
    checks.whole("offset", offset, least=0)


def check_purge(*restrictions: object, is_all: bool) -> None:
    """Refuse to purge everything by oversight.

    Parameters
    ----------
    *restrictions : object
        What limits the purge; None limits nothing.
    is_all : bool
        Whether everything was asked for by name.

    Raises
    ------
    AgentConfigurationError
        If there is no restriction and nobody asked for everything.
    """
    if not is_all and all(value is None for value in restrictions):
        checks.fail(
            "purge() without a filter would remove every conversation; "
            "say purge(all=True) if that is what you want."
        )


def now_ms() -> int:
    """Read the clock, in ms since 1970, UTC."""
    return time.time_ns() // 1_000_000


def to_ms(moment: datetime) -> int:
    """Give a moment in ms since 1970; without a time zone it is local time."""
    given: object = moment
    if not isinstance(given, datetime):
        checks.fail(f"A moment is a datetime, not {checks.shown(given)}.")
    return round(moment.timestamp() * 1000)
