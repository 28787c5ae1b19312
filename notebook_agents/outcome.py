"""What a run gives back, put together from its turn and its events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from notebook_agents.events import (
    ActionEvent,
    ApprovalRequestedEvent,
    ApprovalResultEvent,
    ErrorEvent,
    Event,
    ObservationEvent,
    TokenEvent,
    ToolErrorEvent,
)
from notebook_agents.identifiers import new_id, new_uuid
from notebook_agents.messages import to_dicts
from notebook_agents.providers.base import model_label
from notebook_agents.results import AgentResult
from notebook_agents.turn import Turn

__all__ = ["outcome_of"]


def outcome_of(
    turn: Turn,
    events: Sequence[Event],
    *,
    conversation: Mapping[str, Any],
    errors: Sequence[str],
    cost: float | None,
    seconds: float,
) -> AgentResult[Any]:
    """Put a result together.

    Parameters
    ----------
    turn : Turn
        The turn, at its end.
    events : sequence of Event
        Everything that happened.
    conversation : mapping
        Fields that say where in which conversation it stands.
    errors : sequence of str
        What went wrong besides, one line each.
    cost : float or None
        US dollars; None if the price is not known.
    seconds : float
        How long it took.

    Returns
    -------
    AgentResult
        The outcome.
    """
    told = [event for event in events if not isinstance(event, TokenEvent)]
    new = to_dicts([turn.asked.message(), *turn.said])
    usage = turn.usage
    return AgentResult(
        answer=turn.answer,
        output=turn.output,
        new_messages=new,
        context_tokens=usage.context_tokens,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        reasoning_tokens=usage.reasoning_tokens,
        cost=cost,
        steps=turn.step,
        tool_calls=_tool_calls_of(told),
        approvals=turn.decided(_approvals_of(told)),
        errors=[*_errors_of(told), *errors],
        stop_reason=turn.stop_reason,
        is_blocked=turn.stop_reason == "blocked",
        run_id=turn.origin.run_id,
        trace_id=new_id(),
        message_id=new_uuid(),
        latency_ms=round(seconds * 1000),
        model=turn.reply.model or model_label(turn.provider),
        events=tuple(events),
        **conversation,
        _prior=turn.prior,
    )


def _tool_calls_of(events: Sequence[Event]) -> list[dict[str, Any]]:
    """Give one entry a call that has ended, in call order."""
    actions = {
        event.call_id: event for event in events if isinstance(event, ActionEvent)
    }
    ended = {
        event.call_id: event for event in events if isinstance(event, ObservationEvent)
    }
    # A person may have changed them.
    decided = {
        event.call_id: event.args
        for event in events
        if isinstance(event, ApprovalResultEvent)
    }
    return [
        {
            "tool": action.tool,
            "args": dict(decided.get(call_id, action.args)),
            "content": ended[call_id].content,
            "seconds": ended[call_id].seconds,
            "status": ended[call_id].status,
            "failed": ended[call_id].failed,
        }
        for call_id, action in actions.items()
        if call_id in ended
    ]


def _approvals_of(events: Sequence[Event]) -> list[dict[str, Any]]:
    """Give one entry a decision."""
    asked = {
        event.request["id"]: event.args
        for event in events
        if isinstance(event, ApprovalRequestedEvent)
    }
    return [
        {
            "request_id": event.request_id,
            "agent": event.agent,
            "tool": event.tool,
            "args": dict(event.args),
            "asked": dict(asked.get(event.request_id, event.args)),
            "decision": event.decision,
            "scope": event.scope,
            "until": event.until,
            "reason": event.reason,
            "by": event.by,
            "at": event.ts,
        }
        for event in events
        if isinstance(event, ApprovalResultEvent)
    ]


def _errors_of(events: Sequence[Event]) -> list[str]:
    """Give one line a fault."""
    return [
        f"{event.tool}: {event.error}"
        if isinstance(event, ToolErrorEvent)
        else f"{event.reason}: {event.detail}"
        for event in events
        if isinstance(event, ToolErrorEvent | ErrorEvent)
    ]
