"""`Asides`: questions of agents that the tools of a served run have asked.

The events of a run are its own; whoever follows it over HTTP is to be asked
all the same.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from notebook_agents.approval import PendingApproval
from notebook_agents.decisions import Decision, said_with, scope_of
from notebook_agents.events import (
    ApprovalRequestedEvent,
    ApprovalResultEvent,
    Event,
    Origin,
)
from notebook_agents.merging import merge
from notebook_agents.messages import Usage
from notebook_agents.waiting import Waiter

if TYPE_CHECKING:
    from notebook_agents.run import Run
    from notebook_agents.server.past import PastRun

__all__ = ["Asides", "decided", "requested"]


class Asides:
    """What was asked within the tools of a run, and what was decided.

    Each has the number of the run's last event before it, so that a reader who
    comes back has it again rather than never.
    """

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._has_ended = False
        self._followers: list[Waiter] = []

    def add(self, event: Event) -> None:
        """Tell one to whoever follows; callable from any thread."""
        self._events.append(event)
        self._wake()

    def end(self) -> None:
        """Say that there will be no more."""
        self._has_ended = True
        self._wake()

    async def among(
        self, run: Run | PastRun, after: int
    ) -> AsyncGenerator[Event, None]:
        """Follow a run and these, in the order in which they happened.

        Parameters
        ----------
        run : Run or PastRun
            The run.
        after : int
            The ``seq`` of the last event seen.

        Yields
        ------
        Event
            Up to the end of the run.
        """
        past, told = list(run.recorded[after:]), len(self._events)
        missed = [each for each in self._events[:told] if each.seq >= after]
        for event in heapq.merge(past, missed, key=lambda each: each.seq):
            yield event
        sources = [run.events(after + len(past)), self._follow(told)]
        events = merge(sources, late=[])
        try:
            async for event in events:
                yield event
        finally:
            await events.aclose()

    async def _follow(self, told: int) -> AsyncGenerator[Event, None]:
        follower = Waiter()
        self._followers.append(follower)
        try:
            while not self._has_ended or told < len(self._events):
                while told < len(self._events):
                    yield self._events[told]
                    told += 1
                await follower.wait_async(lambda: self._has_more(told))  # noqa: B023
        finally:
            self._followers.remove(follower)

    def _has_more(self, told: int) -> bool:
        return self._has_ended or told < len(self._events)

    def _wake(self) -> None:
        for follower in tuple(self._followers):
            follower.wake()


def requested(pending: PendingApproval, seq: int) -> ApprovalRequestedEvent:
    """Tell of a question.

    Parameters
    ----------
    pending : PendingApproval
        The question.
    seq : int
        Number of the last event before it.

    Returns
    -------
    ApprovalRequestedEvent
        Of the run that asks.
    """
    request = pending.request
    return ApprovalRequestedEvent(
        Origin(request.run_id, request.agent),
        seq,
        time.time(),
        0,
        Usage(),
        tool=request.tool,
        args=request.args,
        call_id=request.call_id,
        request=request.to_dict(),
    )


def decided(
    pending: PendingApproval, decision: Decision, seq: int
) -> ApprovalResultEvent:
    """Tell what was decided.

    Parameters
    ----------
    pending : PendingApproval
        The question.
    decision : Decision
        The answer.
    seq : int
        Number of the last event before it.

    Returns
    -------
    ApprovalResultEvent
        Of the run that has asked.
    """
    request = pending.request
    return ApprovalResultEvent(
        Origin(request.run_id, request.agent),
        seq,
        time.time(),
        0,
        Usage(),
        request_id=request.id,
        tool=request.tool,
        call_id=request.call_id,
        decision=decision.kind,
        args=pending.edited.values if pending.edited else request.args,
        reason=said_with(decision),
        by=pending.by,
        **scope_of(decision),
    )
