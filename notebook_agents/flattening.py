"""`flat`: generators of events that hand over to other such generators.

``yield from`` does not exist for async generators, and a loop over another one
at each level takes five lines to also close it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TypeAlias

from notebook_agents.events import Event

__all__ = ["Events", "flat"]

Events: TypeAlias = "AsyncGenerator[Event | Events, None]"
"""Yields events, and generators whose events come in that place."""


async def flat(source: Events) -> AsyncGenerator[Event, None]:
    """Give the events of a generator and of those that it hands over to.

    As with ``yield from``, what one of them raises is raised where it was
    handed over to; and when this is closed all of them are, the innermost
    first: left to the garbage collector, tools would outlive a run that was
    stopped.

    Parameters
    ----------
    source : async generator
        Of events and of such generators.

    Yields
    ------
    Event
        In order.

    Raises
    ------
    BaseException
        What the outermost raised.
    """
    open_ = [source]
    error: BaseException | None = None
    try:
        while open_:
            try:
                if error is None:
                    item = await anext(open_[-1])
                else:
                    raised, error = error, None
                    item = await open_[-1].athrow(raised)
            except StopAsyncIteration:
                open_.pop()
            except BaseException as fault:
                open_.pop()
                if not open_:
                    raise
                error = fault
            else:
                if isinstance(item, Event):
                    yield item
                else:
                    open_.append(item)
    finally:
        while open_:
            await open_.pop().aclose()
