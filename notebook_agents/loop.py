"""The loop: ask the model, settle its calls, until there is an answer.

It is an async generator of events and the only thing that decides. It never
prints, displays, or knows of HTTP; whoever reads the events does.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing

from notebook_agents.calls import PreparedCall, action, prepare, settle_call
from notebook_agents.events import (
    AnswerEvent,
    ErrorEvent,
    Event,
    TaskEvent,
    ThoughtEvent,
    TokenEvent,
)
from notebook_agents.providers.base import (
    ModelReply,
    TextDelta,
    deltas_of,
    interrupted,
)
from notebook_agents.turn import Turn
from notebook_agents.waiting import CLEANUP_SECONDS

__all__ = ["run_loop"]

EXHAUSTED = "Tool loop reached max rounds without final response"


async def run_loop(turn: Turn) -> AsyncGenerator[Event, None]:
    """Run one turn to its end.

    Parameters
    ----------
    turn : Turn
        What to do it with; its ``answer``, ``said`` and ``stop_reason`` are
        set at the end.

    Yields
    ------
    Event
        Everything that happens, in order.

    Notes
    -----
    Every generator here closes the one it reads from: left to the garbage
    collector, tools would outlive a run that was stopped.
    """
    yield turn.event(TaskEvent, prompt=turn.prompt)
    for step in range(1, turn.max_rounds + 2):
        turn.step = step
        events = ask_model(turn)
        try:
            async for event in events:
                yield event
        finally:
            await events.aclose()
        if not turn.reply.tool_calls:
            turn.finish(turn.reply.text, turn.reply.stop_reason)
            yield turn.event(
                AnswerEvent, content=turn.answer, stop_reason=turn.stop_reason
            )
            return
        if step > turn.max_rounds:
            break
        events = settle_round(turn)
        try:
            async for event in events:
                yield event
        finally:
            await events.aclose()
    turn.finish(EXHAUSTED, "max_tool_rounds")
    yield turn.event(ErrorEvent, reason="max_steps_reached", detail=EXHAUSTED)


async def ask_model(turn: Turn) -> AsyncGenerator[Event, None]:
    """Make one model call; its reply is in ``turn.reply`` afterwards."""
    turn.pieces.clear()
    reply = None
    deltas = deltas_of(turn.provider, turn.request())
    try:
        async for delta in deltas:
            if isinstance(delta, ModelReply):
                reply = delta
                break
            if isinstance(delta, TextDelta):
                turn.pieces.append(delta.text)
                yield turn.event(TokenEvent, text=delta.text)
            else:
                yield turn.event(TokenEvent, text=delta.text, channel="reasoning")
    finally:
        await deltas.aclose()
    if reply is None:
        raise interrupted(turn.provider)
    turn.reply = reply
    turn.usage = turn.usage.plus(reply.usage)
    for thought in thoughts_of(turn, reply):
        yield thought


def thoughts_of(turn: Turn, reply: ModelReply) -> Iterator[Event]:
    """Tell what the model thought, and what it said before its calls."""
    if reply.reasoning:
        yield turn.event(ThoughtEvent, kind="reasoning", content=reply.reasoning)
    if reply.tool_calls and reply.text:
        yield turn.event(ThoughtEvent, kind="plan", content=reply.text)


async def settle_round(turn: Turn) -> AsyncGenerator[Event, None]:
    """Run the calls of one reply; their results come in call order."""
    calls = [prepare(turn, call) for call in turn.calls()]
    try:
        for call in calls:
            yield action(turn, call)
        for batch in batches(calls, parallel=turn.parallel_tools):
            # Questions first: a tool that blocks the cell would hide them.
            batch.sort(key=lambda call: not call.needs_consent)
            events = merge([settle_call(turn, call) for call in batch], turn.late)
            try:
                async for event in events:
                    yield event
            finally:
                await events.aclose()
    finally:
        # Also when stopped: what has a result keeps it, the rest says why not.
        turn.close_round([call.call for call in calls], [call.result for call in calls])


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


async def merge(
    sources: Sequence[AsyncGenerator[Event, None]], late: list[Event]
) -> AsyncGenerator[Event, None]:
    """Run several generators at the same time; yield as things happen.

    Parameters
    ----------
    sources : sequence of async generator of Event
        What to run.
    late : list of Event
        Takes what cannot be yielded any more, because this was stopped.

    Yields
    ------
    Event
        Of all sources, as they come.
    """
    queue: asyncio.Queue[Event | asyncio.Task[None]] = asyncio.Queue()

    async def pump(source: AsyncGenerator[Event, None]) -> None:
        async with aclosing(source):
            async for event in source:
                queue.put_nowait(event)

    tasks = [asyncio.create_task(pump(source)) for source in sources]
    for task in tasks:
        task.add_done_callback(queue.put_nowait)
        task.add_done_callback(_mark_seen)
    left = len(tasks)
    try:
        while left:
            item = await queue.get()
            if isinstance(item, asyncio.Task):
                left -= 1
                item.result()  # raises what ended it
            else:
                yield item
    finally:
        try:
            running = [task for task in tasks if task.cancel()]
            if running:  # a tool that will not stop must not hold the run
                await asyncio.wait(running, timeout=CLEANUP_SECONDS)
        finally:
            items = [queue.get_nowait() for _ in range(queue.qsize())]
            late.extend(item for item in items if isinstance(item, Event))


def _mark_seen(task: asyncio.Task[None]) -> None:
    if not task.cancelled():
        task.exception()
