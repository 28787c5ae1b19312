"""Runs that have ended: what is kept of them, and for how long.

A client that lost its connection may come back for the rest. What is kept is
bounded in number, in size and in time, and each user's share for itself.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from notebook_agents.approval import PendingApproval
from notebook_agents.events import Event, ObservationEvent
from notebook_agents.run import Run

if TYPE_CHECKING:
    from notebook_agents.server.served_run import ServedRun

__all__ = ["PastRun", "PastRuns"]

MOST_FINISHED = 256
"""Runs that are kept, with all their events."""
MOST_OF_A_USER = 64
"""Those of a single user."""
MOST_BYTES = 32 * 1024 * 1024
"""What they may take together, roughly; the latest one is kept in any case."""
MOST_SECONDS = 3600.0
"""How long one is kept."""
EVENT_BYTES = 500
"""What an event takes besides its texts, roughly."""


class PastRun:
    """The events of a run that has ended.

    It holds neither the conversation nor what tools returned, as the run did.

    Parameters
    ----------
    run : Run
        Ended.
    """

    is_done = True
    approvals: Sequence[PendingApproval] = ()

    def __init__(self, run: Run) -> None:
        self.id = run.id
        self.recorded: Sequence[Event] = tuple(map(_without_value, run.recorded))
        self.size = sum(map(_size_of, self.recorded))

    async def events(self, after: int = 0) -> AsyncGenerator[Event, None]:
        """Give the events, as `Run.events` did."""
        for event in self.recorded[after:]:
            yield event

    def cancel(self) -> None:
        """Do nothing: it is over."""


class PastRuns:
    """The runs that ended lately."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[ServedRun, int, float]] = OrderedDict()

    def add(self, served: ServedRun) -> None:
        """Keep a run that has ended, and let others go for it.

        Parameters
        ----------
        served : ServedRun
            Loses what only a run that goes on needs.
        """
        past = served.retire()
        self._kept[past.id] = served, past.size, time.monotonic()
        self._forget_old()
        own = self._of(served.order.user_id)
        if len(own) > MOST_OF_A_USER:
            del self._kept[own[0]]
        while len(self._kept) > 1 and self._is_too_much():
            del self._kept[self._dispensable()]

    def find(self, run_id: str) -> ServedRun | None:
        """Find a run by its identifier."""
        self._forget_old()
        found = self._kept.get(run_id)
        return found[0] if found else None

    def _of(self, user_id: str) -> list[str]:
        return [
            run_id
            for run_id, (served, _, _) in self._kept.items()
            if served.order.user_id == user_id
        ]

    def _is_too_much(self) -> bool:
        size = sum(size for _, size, _ in self._kept.values())
        return len(self._kept) > MOST_FINISHED or size > MOST_BYTES

    def _dispensable(self) -> str:
        """Choose the oldest run of the user whose runs take the most."""
        shares: dict[str, int] = {}
        for served, size, _ in self._kept.values():
            user = served.order.user_id
            shares[user] = shares.get(user, 0) + size
        return self._of(max(shares, key=shares.__getitem__))[0]

    def _forget_old(self) -> None:
        limit = time.monotonic() - MOST_SECONDS
        for run_id, (_, _, ended) in tuple(self._kept.items()):
            if ended > limit:
                return  # the others are younger
            del self._kept[run_id]


def _without_value(event: Event) -> Event:
    return replace(event, value=None) if isinstance(event, ObservationEvent) else event


def _size_of(event: Event) -> int:
    texts = [value for value in event.to_dict().values() if isinstance(value, str)]
    if isinstance(event, ObservationEvent):
        texts += [value for value in event.bundle.values() if isinstance(value, str)]
    return EVENT_BYTES + sum(map(len, texts))
