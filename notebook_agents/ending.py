"""How a turn ends that did not come to its answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from notebook_agents.approval import Deny
from notebook_agents.calls import CANCELLED
from notebook_agents.errors import GuardrailBlockedError, RunCancelledError
from notebook_agents.events import (
    ActionEvent,
    ApprovalRequestedEvent,
    ApprovalResultEvent,
    ErrorEvent,
    Event,
    GuardrailEvent,
    ObservationEvent,
    TaskEvent,
)
from notebook_agents.screening import WITHHELD
from notebook_agents.turn import Turn

__all__ = ["FAILED", "STOPPED", "last_events"]

STOPPED = "[stopped before the answer was complete]"
FAILED = "[the run failed before there was an answer]"


def last_events(
    turn: Turn, events: Sequence[Event], error: Exception
) -> Iterator[Event]:
    """Write down the end of a turn that failed or was stopped.

    Parameters
    ----------
    turn : Turn
        The turn; finished by this.
    events : sequence of Event
        What happened so far.
    error : Exception
        Why it ends.

    Yields
    ------
    Event
        To be added to the others, an `ErrorEvent` last.
    """
    if turn.crossing is not None:
        mark, reason, detail = f"[{turn.crossing.said()}]", "budget", str(error)
        stop_reason = "budget"
    elif isinstance(error, RunCancelledError):
        mark, reason, detail = STOPPED, "cancelled", "The run was stopped."
        stop_reason = "cancelled"
    elif isinstance(error, GuardrailBlockedError):
        mark = detail = str(error)
        reason, stop_reason = type(error).__name__, "blocked"
        turn.pieces.clear()
    else:
        mark, reason, detail = FAILED, type(error).__name__, str(error)
        stop_reason = "error"
    turn.finish(f"{turn.partial}\n\n{mark}".strip(), stop_reason)
    if not events:  # so early that not even the question has been told
        prompt = WITHHELD if turn.guards.input else turn.asked.shown
        yield turn.event(TaskEvent, prompt=prompt, output=turn.asked_for)
    turn.late.sort(key=lambda event: event.seq)  # each part of it came in order
    yield from turn.late
    yield from _open_ends(turn, [*events, *turn.late])
    if isinstance(error, GuardrailBlockedError):
        guard, stage = error.guard, error.stage
        yield turn.event(GuardrailEvent, stage=stage, guard=guard, action="blocked")
    yield turn.event(ErrorEvent, reason=reason, detail=detail)


def _open_ends(turn: Turn, events: Sequence[Event]) -> list[Event]:
    """End the questions and calls that were announced and have no end."""
    answered = {e.request_id for e in events if isinstance(e, ApprovalResultEvent)}
    observed = {e.call_id for e in events if isinstance(e, ObservationEvent)}
    ends: list[Event] = [
        turn.event(
            ApprovalResultEvent,
            request_id=event.request["id"],
            tool=event.tool,
            call_id=event.call_id,
            decision=Deny.kind,
            args=event.args,
            reason="the run was stopped",
            by="cancelled",
        )
        for event in events
        if isinstance(event, ApprovalRequestedEvent)
        and event.request["id"] not in answered
    ]
    ends += [
        turn.event(
            ObservationEvent,
            tool=event.tool,
            content=CANCELLED,
            call_id=event.call_id,
            status="cancelled",
        )
        for event in events
        if isinstance(event, ActionEvent) and event.call_id not in observed
    ]
    return ends
