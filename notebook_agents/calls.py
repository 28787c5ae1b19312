"""One tool call, from what the model wrote to what it will read.

Whatever happens, a call ends in exactly one observation.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from notebook_agents.approval import Decision, Deny, Respond, Stop
from notebook_agents.decisions import StopRequested, said_with, scope_of
from notebook_agents.edits import Edits, change_of
from notebook_agents.errors import ToolArgumentsError, ToolError, ToolNotFoundError
from notebook_agents.events import (
    ActionEvent,
    ApprovalRequestedEvent,
    ApprovalResultEvent,
    Event,
    ObservationEvent,
    ToolErrorEvent,
)
from notebook_agents.flattening import Events
from notebook_agents.messages import ToolCall
from notebook_agents.past_run import PastCall
from notebook_agents.performing import Ended, Failure, Performance, last_try
from notebook_agents.policy import Ruling
from notebook_agents.screening import screen_result, told
from notebook_agents.tools.call import BoundCall
from notebook_agents.tools.definition import ToolDefinition
from notebook_agents.tools.execution import needs_main_thread
from notebook_agents.tools.label import label_of
from notebook_agents.tools.observation import cut
from notebook_agents.turn import Turn

__all__ = ["PreparedCall", "action", "batches", "prepare", "settle_call"]

CUT_OFF = (
    "The process ended while this call ran. Whether it took effect is not known: "
    "look before you do it again."
)
CANCELLED = "Cancelled: the run was stopped before this call had a result."


@dataclass(slots=True)
class PreparedCall:
    """A call that has been read, and its result once there is one.

    Parameters
    ----------
    call : ToolCall
        What goes back to the model; its arguments are valid JSON.
    definition : ToolDefinition or None
        The tool, None if there is none of that name.
    bound : BoundCall or None
        Validated arguments, None if they do not fit.
    error : ToolError or None
        Why the call cannot run.
    ruling : {"allow", "ask", "deny"} or None
        What the policy says about it; None where it needs no consent.
    note : str
        What was wrong with the rule that should have said so.
    result : str
        What the model will read.
    past : PastCall or None
        How it ended before the process was killed.
    decision : Decision or None
        What was decided, where consent was needed.
    edited : BoundCall or None
        What a person chose to run instead.
    place : int
        Number of the event that announced it: where several wait, they go on in
        this order.
    """

    call: ToolCall
    definition: ToolDefinition | None = None
    bound: BoundCall | None = None
    error: ToolError | None = None
    ruling: Ruling | None = None
    note: str = ""
    result: str = CANCELLED
    past: PastCall | None = None
    decision: Decision | None = None
    edited: BoundCall | None = None
    place: int = 0

    @property
    def is_barrier(self) -> bool:
        """Whether it must run alone."""
        return self.definition is not None and self.definition.sequential

    @property
    def stays_outside(self) -> bool:
        """Whether none of it runs on this loop, where it could hold the run up."""
        is_async = self.definition is not None and self.definition.is_async
        return not is_async and self.ruling is None


def batches(
    calls: Sequence[PreparedCall], *, parallel: bool
) -> Iterator[list[PreparedCall]]:
    """Group calls that may run at the same time."""
    batch: list[PreparedCall] = []
    for call in calls:
        alone = call.is_barrier or not parallel
        if batch and (alone or batch[-1].is_barrier):
            yield batch
            batch = []
        batch.append(call)
    if batch:
        yield batch


async def prepare(
    turn: Turn, call: ToolCall, *, refusal: ToolError | None = None
) -> PreparedCall:
    """Find the tool of a call and validate its arguments.

    Parameters
    ----------
    turn : Turn
        The turn it belongs to.
    call : ToolCall
        As the model wrote it.
    refusal : ToolError, optional
        Why it may not be made in any case.

    Returns
    -------
    PreparedCall
        With an ``error`` where it cannot run.
    """
    past = (turn.recalled or {}).get(call.id)
    if past is not None:
        error = ToolError(CUT_OFF, tool=call.name) if past.content is None else None
        return PreparedCall(_valid(call), error=error, past=past)
    definition = turn.tools.get(call.name)
    if definition is None:
        return PreparedCall(_valid(call), error=_unknown(turn, call))
    if refusal is not None:
        return PreparedCall(_valid(call), definition, error=refusal)
    if turn.reply.stop_reason in {"length", "budget"}:
        # Even a call that looks whole may lack its last argument.
        # Of a reply from before a restart nobody knows what limit it had.
        is_new = turn.recalled is None
        limit = f" ({turn.next_request.max_tokens})" if is_new else ""
        error = ToolArgumentsError(
            f"The reply was cut off at the token limit{limit}, so this call was not "
            "run. Make it shorter, or do it in smaller steps.",
            tool=call.name,
        )
        return PreparedCall(_valid(call), definition, error=error)
    try:
        bound = definition.bind(call.arguments, turn.around.variables)
    except ToolArgumentsError as error:
        return PreparedCall(_valid(call), definition, error=error)
    ruling, note = await turn.consent.ruling(definition, bound.values)
    return PreparedCall(_valid(call), definition, bound, ruling=ruling, note=note)


async def settle_call(turn: Turn, prepared: PreparedCall) -> Events:
    """Ask, run and observe one call; its ``result`` is set at the end."""
    definition, bound = prepared.definition, prepared.bound
    if definition is None or bound is None:
        for event in await _without_running(turn, prepared):
            yield event
        return
    if prepared.ruling is not None:
        yield _consent(turn, definition, bound, prepared)
        decision = prepared.decision
        if prepared.error is not None:  # the guards blocked what a person changed
            for event in await _without_running(turn, prepared):
                yield event
            return
        if isinstance(decision, Deny | Stop):
            denial = Ended(_denial(decision), status="denied")
            await _write_down(turn, prepared, denial)
            yield _observation(turn, prepared, denial)
            if isinstance(decision, Stop):
                raise StopRequested
            return
        if isinstance(decision, Respond):
            answer = Ended(cut(decision.text), status="answered")
            await _write_down(turn, prepared, answer)
            yield _observation(turn, prepared, answer)
            return
        bound = prepared.edited or bound
    await _get_ready(turn, prepared, definition)
    yield _run(turn, prepared, definition, bound)


async def _run(
    turn: Turn, prepared: PreparedCall, definition: ToolDefinition, bound: BoundCall
) -> Events:
    performance = Performance(turn, prepared.call.id, definition, bound)
    if definition.may_report:
        yield performance.run_and_tell()
    else:  # which needs no task of its own
        for event in await performance.run():
            yield event
    ended = await performance.ended()
    seen = await screen_result(turn, definition.name, ended.text)
    for event in told(turn, seen):
        yield event
    if seen.notes:
        ended = ended.screened(seen.text, is_blocked=seen.is_blocked)
    try:
        await _write_down(turn, prepared, ended, performance.seconds)
    except BaseException:  # stopped meanwhile, say: it has run all the same
        turn.late.append(_observation(turn, prepared, ended, performance.seconds))
        raise
    if ended.failure is not None:
        yield _tool_error(turn, prepared, ended.text, ended.failure)
    yield _observation(turn, prepared, ended, performance.seconds)
    # An agent that the tool asked has put a question, and a person said Stop.
    if any(row["decision"] == "stop" for row in turn.decided_within):
        raise StopRequested


async def _get_ready(
    turn: Turn, prepared: PreparedCall, definition: ToolDefinition
) -> None:
    if needs_main_thread(definition):
        # A blocked main thread would not see the click on an open question.
        await turn.consent.open.wait_until_none(prepared.place)
    if turn.journal is not None:
        await turn.journal.began(prepared.call.id)


async def _without_running(turn: Turn, prepared: PreparedCall) -> list[Event]:
    """End a call that has ended before, or cannot run."""
    past, error = prepared.past, prepared.error
    if past is not None and past.content is not None:
        ended = Ended(past.content, status=past.status)
        return [_observation(turn, prepared, ended, past.seconds)]
    last = ""
    if prepared.definition and isinstance(error, ToolArgumentsError):
        last = last_try(turn, prepared.definition)
    failure = Failure(before="Error: ", after=last, reason=type(error).__name__)
    ended = Ended(str(error), status="failed", failure=failure)
    await _write_down(turn, prepared, ended)
    fault = _tool_error(turn, prepared, ended.text, failure)
    return [fault, _observation(turn, prepared, ended)]


def action(turn: Turn, prepared: PreparedCall) -> ActionEvent:
    """Announce a call before anything is done about it."""
    definition, bound, call = prepared.definition, prepared.bound, prepared.call
    args = bound.values if bound else _readable(call.arguments)
    event = turn.event(
        ActionEvent,
        tool=call.name,
        args=args,
        call_id=call.id,
        label=call.name if definition is None else label_of(definition, args),
    )
    prepared.place = event.seq
    return event


def _readable(arguments: str) -> dict[str, Any]:
    """Give arguments that do not fit, as far as a person can read them."""
    values: dict[str, Any] = json.loads(arguments)  # made valid by `prepare`
    return values


async def _consent(
    turn: Turn,
    definition: ToolDefinition,
    bound: BoundCall,
    prepared: PreparedCall,
) -> Events:
    consent = turn.consent
    request = consent.request(
        definition,
        run_id=turn.origin.run_id,
        agent=turn.origin.agent,
        call_id=prepared.call.id,
        args=copy.deepcopy(dict(bound.values)),  # nobody who is asked changes it
        note=prepared.note,
    )
    decided = consent.without_asking(definition, request, prepared.ruling or "ask")
    if decided is None:
        edits = Edits(turn, definition, prepared.call)
        pending = consent.open.add(request, edits.check, edits.review)
        try:
            yield turn.event(
                ApprovalRequestedEvent,
                tool=definition.name,
                args=bound.values,
                call_id=prepared.call.id,
                request=request.to_dict(),
            )
            decided = await consent.ask(pending, definition), pending.by
            prepared.edited, prepared.error = pending.edited, edits.refusal
        finally:
            consent.open.remove(pending)
        for event in told(turn, *edits.seen):
            yield event
    decision, by = decided
    prepared.decision = decision
    yield turn.event(
        ApprovalResultEvent,
        request_id=request.id,
        tool=definition.name,
        call_id=prepared.call.id,
        decision=decision.kind,
        args=(prepared.edited or bound).values,
        reason=said_with(decision),
        by=by,
        **scope_of(decision),
    )


async def _write_down(
    turn: Turn, prepared: PreparedCall, ended: Ended, seconds: float = 0.0
) -> None:
    """Keep a result, before its event is made: that takes a number when it is told."""
    if turn.journal is not None:
        content = _content(prepared, ended)
        call_id, status = prepared.call.id, ended.status
        await turn.journal.ended(call_id, content, status=status, seconds=seconds)


def _content(prepared: PreparedCall, ended: Ended) -> str:
    return f"{change_of(prepared.edited)}{ended.content}"


def _observation(
    turn: Turn, prepared: PreparedCall, ended: Ended, seconds: float = 0.0
) -> ObservationEvent:
    prepared.result = _content(prepared, ended)
    return turn.event(
        ObservationEvent,
        tool=prepared.call.name,
        content=prepared.result,
        call_id=prepared.call.id,
        seconds=seconds,
        status=ended.status,
        bundle=ended.bundle,
        value=ended.value,
    )


def _tool_error(
    turn: Turn, prepared: PreparedCall, line: str, failure: Failure
) -> ToolErrorEvent:
    return turn.event(
        ToolErrorEvent,
        tool=prepared.call.name,
        error=line,
        call_id=prepared.call.id,
        reason=failure.reason,
        detail=failure.detail,
    )


def _unknown(turn: Turn, call: ToolCall) -> ToolError:
    known = ", ".join(turn.tools) or "none"
    message = f"Tool {call.name!r} is not registered. Tools here: {known}."
    return ToolNotFoundError(message, tool=call.name)


def _denial(decision: Deny | Stop) -> str:
    if isinstance(decision, Stop):
        return "Denied: the user stopped the run."
    reason = f": {decision.reason}" if decision.reason else " by the user"
    return f"Denied{reason}. The tool was not run."


def _valid(call: ToolCall) -> ToolCall:
    """Give a call whose arguments are a JSON object, for the wire."""
    from pydantic_core import from_json

    try:
        value = from_json(call.arguments or "{}", allow_inf_nan=False)
        is_object = isinstance(value, dict)
    except ValueError:
        is_object = False
    if is_object and call.arguments:
        return call
    return replace(call, arguments="{}")
