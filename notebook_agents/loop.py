"""The loop: ask the model, settle its calls, until there is an answer.

It is an async generator of events and the only thing that decides. It never
prints, displays, or knows of HTTP; whoever reads the events does.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from dataclasses import asdict

from notebook_agents.characters import mended
from notebook_agents.events import (
    AnswerEvent,
    ErrorEvent,
    Event,
    RetryEvent,
    ThoughtEvent,
    TokenEvent,
)
from notebook_agents.flattening import Events, flat
from notebook_agents.providers import base
from notebook_agents.providers.shaped import shaped_deltas
from notebook_agents.screening import (
    admit,
    held_back,
    screen_calls,
    screen_reply,
    told,
)
from notebook_agents.turn import Turn

__all__ = ["run_loop"]

EXHAUSTED = "Tool loop reached max rounds without final response"


def run_loop(turn: Turn) -> AsyncGenerator[Event, None]:
    """Run one turn to its end.

    Parameters
    ----------
    turn : Turn
        What to do it with; its ``answer``, ``said`` and ``stop_reason`` are
        set at the end.

    Returns
    -------
    async generator of Event
        Everything that happens, in order.
    """
    return flat(take_turn(turn))


async def take_turn(turn: Turn) -> Events:
    """Ask the model and run its calls, in turns, until it answers."""
    yield admit(turn)
    rounds = 0
    while True:
        turn.step += 1
        if not await turn.recall():
            yield ask_model(turn)
        if turn.is_spent():
            break
        for thought in thoughts_of(turn, turn.reply):
            yield thought
        if not turn.reply.tool_calls:
            typed = turn.typed
            if typed is not None and not typed.read(turn.reply.text, turn.reply):
                yield turn.event(
                    RetryEvent,
                    attempt=len(typed.problems),
                    reason=f"the answer is no {typed.kind.name}: {typed.problems[-1]}",
                    discard_partial=True,
                )
                continue
            turn.finish(turn.reply.text, turn.reply.stop_reason)
            yield turn.event(
                AnswerEvent, content=turn.answer, stop_reason=turn.stop_reason
            )
            return
        if rounds == turn.max_rounds:
            break
        rounds += 1
        yield settle_round(turn)
        if turn.is_spent():
            break
    for event in limit_reached(turn):
        yield event


def limit_reached(turn: Turn) -> Iterator[Event]:
    """End a turn that may not go on."""
    if turn.crossing is None:
        text, stop_reason, reason = EXHAUSTED, "max_tool_rounds", "max_steps_reached"
        detail = f"{text} ({turn.step} model calls; max_steps= allows more)"
    else:
        text, stop_reason, reason = f"{turn.crossing.said()}.", "budget", "budget"
        detail = f"{text} (set by Agent(budget=...))"
    turn.finish(text, stop_reason)
    yield turn.event(ErrorEvent, reason=reason, detail=detail)


async def ask_model(turn: Turn) -> Events:
    """Make one model call; its reply is in ``turn.reply`` afterwards."""
    turn.next_request = await turn.request()
    if turn.meter is None:
        yield read_reply(turn)
    else:
        from notebook_agents.spending import fit_request, whose_limit

        wanted = turn.next_request.max_tokens
        yield fit_request(turn)
        if turn.is_spent():
            return
        try:
            yield read_reply(turn)
        finally:
            turn.meter.release()
        await turn.meter.charge(turn.model_calls[-1])
        turn.reply = whose_limit(turn.reply, turn.next_request, wanted)
    if turn.guards.output:
        yield screen_reply(turn)


async def read_reply(turn: Turn) -> Events:
    """Read what the model says, as it comes."""
    turn.pieces.clear()
    deltas = shaped_deltas(turn.provider, turn.next_request)
    if turn.guards.output:
        deltas = held_back(deltas)
    try:
        async for sent in deltas:
            delta = mended(sent)
            if isinstance(delta, base.ModelReply):
                turn.take(delta)
                break
            if isinstance(delta, base.TextDelta):
                turn.pieces.append(delta.text)
                yield turn.event(TokenEvent, text=delta.text)
            elif isinstance(delta, base.ReasoningDelta):
                yield turn.event(TokenEvent, text=delta.text, channel="reasoning")
            else:
                if delta.discard_partial:
                    turn.pieces.clear()
                yield turn.event(RetryEvent, **asdict(delta))
        else:
            raise base.interrupted(turn.provider)
    finally:
        await deltas.aclose()


def thoughts_of(turn: Turn, reply: base.ModelReply) -> Iterator[Event]:
    """Tell what the model thought, and what it said before its calls."""
    if reply.reasoning:
        yield turn.event(ThoughtEvent, kind="reasoning", content=reply.reasoning)
    if reply.tool_calls and reply.text:
        yield turn.event(ThoughtEvent, kind="plan", content=reply.text)


async def settle_round(turn: Turn) -> Events:
    """Run the calls of one reply; their results come in call order."""
    # Imported here, as is all about tools: many turns call none.
    from notebook_agents.calls import action, batches, prepare, settle_call
    from notebook_agents.merging import merge

    asked = turn.calls()
    if turn.meter is not None:
        from notebook_agents.spending import fit_round

        yield fit_round(turn, len(asked))
        if turn.is_spent():
            return
    screened = await screen_calls(turn, asked)
    calls = [await prepare(turn, each.call, refusal=each.refusal) for each in screened]
    try:
        if turn.journal is not None and turn.recalled is None:
            await turn.journal.replied(turn.reply, [each.call for each in screened])
        for call in calls:
            yield action(turn, call)
        for event in told(turn, *screened):
            yield event
        for batch in batches(calls, parallel=turn.parallel_tools):
            # Questions first: a tool that blocks the cell would hide them.
            batch.sort(key=lambda call: call.ruling is None)
            sources = [flat(settle_call(turn, call)) for call in batch]
            is_alone = len(batch) == 1 and batch[0].stays_outside
            yield sources[0] if is_alone else merge(sources, turn.late)
    finally:
        # Also when stopped: what has a result keeps it, the rest says why not.
        turn.close_round([call.call for call in calls], [call.result for call in calls])
