"""How a turn stays within its budget, and asks a person before it goes over it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from notebook_agents.approval import Allow, Always, Decision
from notebook_agents.budget import Crossing
from notebook_agents.decisions import said_with
from notebook_agents.errors import ToolArgumentsError
from notebook_agents.events import (
    ApprovalRequestedEvent,
    ApprovalResultEvent,
)
from notebook_agents.flattening import Events
from notebook_agents.providers.base import ModelReply, ModelRequest
from notebook_agents.turn import Turn

__all__ = ["fit_request", "fit_round", "whose_limit"]

TOOL = "raise_budget"
"""What a question about money is called, where others name a tool."""


async def fit_request(turn: Turn) -> Events:
    """Cut the next request to what is left; ``turn.crossing`` says if nothing is."""
    assert turn.meter is not None  # noqa: S101 - asked for only then
    fitted = await turn.meter.fit(turn.next_request, turn.provider)
    while isinstance(fitted, Crossing):
        yield _ask(turn, fitted)
        if turn.is_spent():
            return
        fitted = await turn.meter.fit(turn.next_request, turn.provider)
    turn.next_request = fitted


def whose_limit(reply: ModelReply, request: ModelRequest, wanted: int) -> ModelReply:
    """Say of a reply that was cut off whether the budget did it."""
    if reply.stop_reason == "length" and request.max_tokens < wanted:
        return replace(reply, stop_reason="budget")
    return reply


async def fit_round(turn: Turn, calls: int) -> Events:
    """Count some tool calls; ``turn.crossing`` says if they may not be made."""
    assert turn.meter is not None  # noqa: S101 - asked for only then
    # Some of a round from before a restart had begun: it was allowed as a whole, and
    # refused now, what its calls had done would be told to nobody.
    crossing = None if turn.recalled else turn.meter.refuses(calls)
    while crossing is not None:
        yield _ask(turn, crossing)
        if turn.is_spent():
            return
        crossing = turn.meter.refuses(calls)
    turn.meter.charge_tools(calls)


async def _ask(turn: Turn, crossing: Crossing) -> Events:
    """Ask whether more may be spent, where a person can be asked."""
    consent = turn.consent
    if not consent.can_ask:
        turn.crossing = crossing
        return
    proposed = {crossing.name: _doubled(crossing)}
    request = consent.question(
        tool=TOOL,
        description=f"{crossing.said()}. Approve to go on with the limit below.",
        risk="money",
        schema=_schema(crossing),
        run_id=turn.origin.run_id,
        agent=turn.origin.agent,
        call_id="",
        args=proposed,
    )
    pending = consent.open.add(request, lambda args: _checked(args, crossing))
    try:
        yield turn.event(
            ApprovalRequestedEvent, tool=TOOL, args=proposed, request=request.to_dict()
        )
        decision = await consent.answer(pending)
    finally:
        consent.open.remove(pending)
    limits = proposed if pending.edited is None else pending.edited.values
    _apply(turn, crossing, decision, limits[crossing.name])
    yield turn.event(
        ApprovalResultEvent,
        request_id=request.id,
        tool=TOOL,
        decision=decision.kind,
        args=limits,
        reason=said_with(decision),
        by=pending.by,
    )


def _apply(turn: Turn, crossing: Crossing, decision: Decision, limit: float) -> None:
    if isinstance(decision, Allow | Always):
        crossing.meter.raise_limit(crossing.name, limit)
    else:
        turn.crossing = crossing


def _doubled(crossing: Crossing) -> float:
    doubled = 2 * max(crossing.limit, crossing.spent)
    is_whole = crossing.name in {"tokens", "tool_calls"}
    return int(doubled) if is_whole else round(doubled, 4)


def _schema(crossing: Crossing) -> dict[str, Any]:
    kind = "integer" if crossing.name in {"tokens", "tool_calls"} else "number"
    return {"type": "object", "properties": {crossing.name: {"type": kind}}}


@dataclass(frozen=True, slots=True)
class _Limits:
    """What a person has written instead, as edited arguments are."""

    values: Mapping[str, float]


def _checked(args: Mapping[str, Any], crossing: Crossing) -> _Limits:
    limit: Any = args.get(crossing.name)
    is_number = isinstance(limit, int | float) and not isinstance(limit, bool)
    # Between two numbers, where no infinity is and no NaN: JSON reads 1e999 as one.
    if not (is_number and crossing.least < limit <= sys.float_info.max):
        message = f"{crossing.name}: write a number above {crossing.least:,.10g}."
        raise ToolArgumentsError(message, tool=TOOL)
    return _Limits({crossing.name: limit})
