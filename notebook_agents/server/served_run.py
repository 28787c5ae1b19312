"""`ServedRun`: one run, whose it is, and what became of it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from notebook_agents.approval import PendingApproval
from notebook_agents.errors import GuardrailBlockedError, RunCancelledError
from notebook_agents.events import ErrorEvent, Event, RetryEvent, ToolErrorEvent
from notebook_agents.memory.scope import MemoryScope
from notebook_agents.results import AgentResult
from notebook_agents.run import Run
from notebook_agents.server.asides import Asides, decided, requested
from notebook_agents.server.failures import (
    RAISED,
    Failure,
    Refusal,
    public_text,
    report,
    shutting_down,
    timed_out,
)
from notebook_agents.server.logs import logger
from notebook_agents.server.past import PastRun
from notebook_agents.server.schemas import ChatResponse
from notebook_agents.waiting import running_loop

__all__ = ["Order", "ServedRun", "response_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a request asks for.

    Parameters
    ----------
    message : str
        What the agent should do.
    conversation_id : str
        As the client wrote it.
    scope : MemoryScope
        Where the conversation is kept.
    """

    message: str
    conversation_id: str
    scope: MemoryScope

    @property
    def user_id(self) -> str:
        """Who asks."""
        return self.scope.user_id or ""


class ServedRun:
    """A run, whose it is, and what became of it.

    Parameters
    ----------
    run : Run
        The run.
    order : Order
        What was asked for.
    """

    def __init__(self, run: Run, order: Order) -> None:
        self.run: Run | PastRun = run
        self.order = order
        self.started_at = time.time()
        self.has_asked = False
        """Whether a call of it has waited for an approval."""
        self.response: ChatResponse | None = None
        self.failure: Failure | None = None
        self.ended_by: Literal["", "timeout", "shutdown"] = ""
        self._settled = asyncio.Event()
        self._asides = Asides()
        self._loop = asyncio.get_running_loop()
        self._clock: asyncio.Timeout | None = None
        self._open_questions = 0
        self._readers = 0
        self._is_unwanted = False

    @property
    def is_waiting(self) -> bool:
        """Whether a call of it waits for an approval now."""
        return bool(self.run.approvals)

    def happenings(self, after: int = 0) -> AsyncGenerator[Event, None]:
        """Follow the run, and what agents that its tools have asked want to know.

        Parameters
        ----------
        after : int, default 0
            The ``seq`` of the last event seen.

        Returns
        -------
        async generator of Event
            Up to the end of the run.
        """
        return self._asides.among(self.run, after)

    async def outcome(self) -> ChatResponse:
        """Await the end of the run.

        Returns
        -------
        ChatResponse
            The finished turn.

        Raises
        ------
        Refusal
            If the run failed.
        """
        await self._settled.wait()
        if self.failure is not None:
            refusal = Refusal.because_of(self.failure)
            raise refusal
        assert self.response is not None  # noqa: S101 - settled means one of the two
        return self.response

    def end(self, because: Literal["", "timeout", "shutdown"]) -> None:
        """Stop the run, and remember why."""
        self.ended_by = self.ended_by or because
        self.run.cancel()

    def enter(self) -> None:
        """Count one more reader."""
        self._readers += 1

    def leave(self, *, stays: bool) -> None:
        """Count one reader less, and stop the run where nobody wants it any more.

        Parameters
        ----------
        stays : bool
            Whether this reader wants the run to go on without them. One that
            waits for a person goes on in any case.
        """
        self._readers -= 1
        if not stays and not self.is_waiting:
            self._is_unwanted = True
        is_idle = not self._readers and not self.is_waiting
        if self._is_unwanted and is_idle and not self.run.is_done:
            self.run.cancel()

    def retire(self) -> PastRun:
        """Let go of everything that only a run that goes on needs."""
        if isinstance(self.run, Run):
            self.run = PastRun(self.run)
        return self.run

    async def drive(self, limit: float) -> None:
        """Follow the run to its end, and stop it if it works for too long.

        Parameters
        ----------
        limit : float
            Seconds; they begin anew after each answered question.
        """
        run = self.run
        assert isinstance(run, Run)  # noqa: S101 - it retires at the end of this
        try:
            while not run.is_done:
                await self._wait(run, limit)
            await self._settle(run, limit)
        except Exception as error:  # noqa: BLE001 - nobody may wait for ever
            self.failure = report(error, run_id=self.run.id)
        finally:
            if self.response is None and self.failure is None:
                self.failure = shutting_down(run_id=self.run.id)
            self._asides.end()
            self._settled.set()

    async def _wait(self, run: Run, limit: float) -> None:
        try:
            async with asyncio.timeout(limit) as self._clock:
                await run.ended()
        except TimeoutError:
            if self.is_waiting:  # on a surface of the agent's own
                await asyncio.gather(*(each.wait() for each in run.approvals))
                return
            self.end("timeout")
            await run.ended()  # soon, as a run that does not stop is given up

    @contextlib.contextmanager
    def asking(self, pending: PendingApproval, limit: float) -> Iterator[None]:
        """Stop the clock while a person thinks.

        Parameters
        ----------
        pending : PendingApproval
            Asked by the run itself, whose events tell it, or within a tool of it.
        limit : float
            Seconds that the run then has.
        """
        is_aside = pending.request.run_id != self.run.id
        self.has_asked = True
        self._here(self._stop_clock)
        if is_aside:
            self._asides.add(requested(pending, len(self.run.recorded)))
        try:
            yield
        finally:
            decision = pending.decision
            if is_aside and decision is not None:
                seq = len(self.run.recorded)
                self._asides.add(decided(pending, decision, seq))
            self._here(partial(self._start_clock, limit))

    def _here(self, function: Callable[[], None]) -> None:
        """Call on the loop of the server; a tool may ask on another one."""
        if running_loop() is self._loop:
            function()
        else:
            self._loop.call_soon_threadsafe(function)

    def _stop_clock(self) -> None:
        self._open_questions += 1
        self._set_clock(None)

    def _start_clock(self, limit: float) -> None:
        self._open_questions -= 1
        if not self._open_questions:
            self._set_clock(self._loop.time() + limit)

    def _set_clock(self, when: float | None) -> None:
        with contextlib.suppress(RuntimeError):  # it has run out, or is over
            if self._clock is not None:
                self._clock.reschedule(when)

    async def _settle(self, run: Run, limit: float) -> None:
        events = run.recorded
        for event in events:
            self._log(event)
        try:
            result = await _result_of(run)
        except Exception as error:  # noqa: BLE001 - told to whoever asks
            self.failure = self._failed(error, limit)
        else:
            self.response = response_of(result, self.order, events)

    def _log(self, event: Event) -> None:
        """Keep the words that a client does not get."""
        run = self.run.id
        if isinstance(event, ToolErrorEvent) and event.reason == RAISED:
            logger.warning(
                "tool %s failed in run %s\n%s", event.tool, run, event.detail
            )
        elif isinstance(event, RetryEvent):
            logger.info("retry in run %s: %s", run, event.reason)

    def _failed(self, error: Exception, limit: float) -> Failure:
        if isinstance(error, RunCancelledError) and self.ended_by == "timeout":
            return timed_out(limit, run_id=self.run.id)
        if isinstance(error, RunCancelledError) and self.ended_by == "shutdown":
            return shutting_down(run_id=self.run.id)
        return report(error, run_id=self.run.id)


async def _result_of(run: Run) -> AgentResult[object]:
    """Give the outcome of a run; one that a guard has blocked is an answer, too."""
    try:
        return await run.result()
    except GuardrailBlockedError as error:
        logger.info("run %s: guard %s blocked the %s", run.id, error.guard, error.stage)
        result: AgentResult[object] = error.result
        return result


def response_of(
    result: AgentResult[object], order: Order, events: Sequence[Event]
) -> ChatResponse:
    """Show a finished turn, without what only the operator may read.

    Parameters
    ----------
    result : AgentResult
        The outcome.
    order : Order
        What was asked for.
    events : sequence of Event
        What happened on the way.

    Returns
    -------
    ChatResponse
        Fit for a client.
    """
    errors = [
        f"{event.tool}: {public_text(event)}"
        if isinstance(event, ToolErrorEvent)
        else event.reason
        for event in events
        if isinstance(event, ToolErrorEvent | ErrorEvent)
    ]
    if len(result.errors) > len(errors):  # the one that has no event
        errors.append(f"{result.errors[-1].partition(':')[0]}.")
    return ChatResponse(
        response=result.answer,
        response_markdown=result.answer,
        message_id=result.message_id,
        trace_id=result.trace_id,
        conversation_id=order.conversation_id,
        user_id=order.user_id,
        invoked_flows=[],
        invoked_tools=list(dict.fromkeys(call["tool"] for call in result.tool_calls)),
        errors=errors,
        turn_number=result.turn_number,
        is_blocked=result.is_blocked,
        latency_ms=result.latency_ms,
    )
