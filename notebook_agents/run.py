"""`Run`: one execution of the loop, its events, and whoever follows them.

A run belongs to nobody: a closed browser tab or a finished cell neither ends
nor loses it. Any number of readers, on any loop, follow its events or catch
up on them.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from types import TracebackType
from typing import TYPE_CHECKING, Generic

from notebook_agents.approval import Decision, PendingApproval
from notebook_agents.decisions import StopRequested
from notebook_agents.errors import (
    GuardrailBlockedError,
    NotebookAgentsError,
    OutputValidationError,
    RunCancelledError,
)
from notebook_agents.events import Event
from notebook_agents.hosts import Shown
from notebook_agents.loop import run_loop
from notebook_agents.memory.conversation import Conversation
from notebook_agents.messages import Message
from notebook_agents.outcome import outcome_of
from notebook_agents.patience import Patience, guarded
from notebook_agents.pricing import cost_of
from notebook_agents.providers.base import model_label
from notebook_agents.results import AgentResult, T
from notebook_agents.storing import not_stored, store_turn
from notebook_agents.telling import OnEvent, Teller
from notebook_agents.turn import Turn
from notebook_agents.waiting import CLEANUP_SECONDS, Waiter, WaiterGone

if TYPE_CHECKING:
    from notebook_agents.budget import Crossing

__all__ = ["OnEvent", "Run"]

logger = logging.getLogger(__name__)

WITH_RESULT = (GuardrailBlockedError, OutputValidationError, RunCancelledError)
"""Errors that have what there was of a result."""
GIVE_UP_SECONDS = CLEANUP_SECONDS + 1.0
"""How long a run may take to stop; what then still goes on is left behind."""
TELL_SECONDS = 0.5
"""How long ``on_event`` may take over the last events of a stopped run."""
LAST_SECONDS = 5.0
"""How long it may take over those of a failed one."""
KEEP_SECONDS = 30.0
"""How long a store may take over a turn."""
KEEP_STOPPED_SECONDS = 2.0
"""How long it may take once the run is being stopped."""


class Run(Shown, Generic[T]):
    """One execution of an agent.

    Made by ``agent.start(...)``; it runs on by itself.

    Parameters
    ----------
    turn : Turn
        What to run; its ``prior`` is filled from the conversation.
    conversation : Conversation
        What came before, and where the turn is kept.
    on_event : callable, optional
        Called with each event as a dict, but for tokens and progress.
    """

    def __init__(
        self,
        turn: Turn,
        conversation: Conversation,
        *,
        on_event: OnEvent | None = None,
    ) -> None:
        self.id = turn.origin.run_id
        self.agent = turn.origin.agent
        """Name of the agent."""
        self.model = model_label(turn.provider)
        """Who was to answer, as ``provider:model``."""
        self.output_type = turn.typed.kind if turn.typed else None
        """The type that the answer shall have; None for plain text."""
        self.decided_within = turn.decided_within
        """What was decided in runs of agents that its tools have asked, by now."""
        self._turn = turn
        self._conversation = conversation
        self._teller = Teller(on_event)
        self._events: list[Event] = []
        self._followers: list[Waiter] = []
        """Who waits for the next event."""
        self._awaiters: list[Waiter] = []
        """Who waits for the end alone."""
        self._is_worth_keeping = True
        self._patience = Patience(self._stop_work)
        self._began = time.monotonic()
        self._result: AgentResult[T] | None = None
        self._error: BaseException | None = None
        self._error_frames: TracebackType | None = None
        self._is_done = False
        self._loop = asyncio.get_running_loop()
        self._work_task = self._begin(self._work, "the work")
        self._task = self._loop.create_task(self._drive())
        self._task.add_done_callback(self._finish)

    def __repr__(self) -> str:
        state = "done" if self.is_done else "running"
        return f"<Run {self.id} of {self._turn.origin.agent!r}: {state}>"

    # Following it.

    @property
    def is_done(self) -> bool:
        """Whether the run has ended and cleaned up."""
        return self._is_done

    @property
    def recorded(self) -> Sequence[Event]:
        """The events so far, a list that grows while the run goes on."""
        return self._events

    @property
    def approvals(self) -> list[PendingApproval]:
        """The questions that wait, also those of agents that its tools have asked."""
        return list(self._turn.consent.open)

    def decide(self, request_id: str, decision: Decision, *, by: str) -> bool:
        """Answer an open question; callable from any thread.

        Parameters
        ----------
        request_id : str
            Identifier of the request.
        decision : Allow, Always, Deny, Respond or Stop
            The answer.
        by : str
            Who answers.

        Returns
        -------
        bool
            Whether the answer counts: the question was open.
        """
        pending = self._turn.consent.open.find(request_id)
        return pending is not None and pending.decide(decision, by=by)

    def cancel(self) -> None:
        """Ask the run to stop; callable from any thread, and more than once."""
        with contextlib.suppress(RuntimeError):  # its loop has been closed
            self._loop.call_soon_threadsafe(self._patience.stop)

    async def events(
        self, after: int = 0, *, waiter: Waiter | None = None
    ) -> AsyncGenerator[Event, None]:
        """Follow the run, from its beginning or from a point on.

        Parameters
        ----------
        after : int, default 0
            Number of events to skip; the ``seq`` of the last one seen.
        waiter : Waiter, optional
            Who waits, where that waiter has errands to run meanwhile.

        Yields
        ------
        Event
            In order, until the run has ended.
        """
        follower = waiter or Waiter()
        self._followers.append(follower)
        try:
            while True:
                # Looked at first: the last event comes before the end.
                is_done = self._is_done
                while after < len(self._events):
                    yield self._events[after]
                    after += 1
                if is_done:
                    return
                await follower.wait_async(functools.partial(self._has_more, after))
        finally:
            self._followers.remove(follower)

    async def result(self, *, waiter: Waiter | None = None) -> AgentResult[T]:
        """Await the end of the run, from any loop.

        Parameters
        ----------
        waiter : Waiter, optional
            Who waits, as in `events`.

        Returns
        -------
        AgentResult
            The outcome.

        Raises
        ------
        RunCancelledError
            If it was stopped; ``error.result`` has what there was by then.
        GuardrailBlockedError
            If a guard blocked a text of it; so has this.
        NotebookAgentsError
            If it failed.
        """
        await self.ended(waiter=waiter)
        if self._error is not None:
            # Always the frames of the fault, not those of every reader before.
            raise self._error.with_traceback(self._error_frames)
        assert self._result is not None  # noqa: S101 - done means one of the two
        return self._result

    async def ended(self, *, waiter: Waiter | None = None) -> None:
        """Await the end of the run, whatever it is.

        Parameters
        ----------
        waiter : Waiter, optional
            Who waits, as in `events`.
        """
        awaiter = waiter or Waiter()
        self._awaiters.append(awaiter)
        try:
            await awaiter.wait_async(lambda: self._is_done)
        finally:
            self._awaiters.remove(awaiter)

    def _has_more(self, after: int) -> bool:
        return len(self._events) > after or self._is_done

    # Driving it.

    def _time_is_up(self, crossing: Crossing) -> None:
        self._turn.crossing = crossing
        self._patience.stop()

    def _watch_the_time(self) -> asyncio.TimerHandle | None:
        meter = self._turn.meter
        end = None if meter is None else meter.time_left()
        if end is None:
            return None
        return self._loop.call_later(end[0], self._time_is_up, end[1])

    def _stop_work(self) -> None:
        self._work_task.cancel()

    async def _drive(self) -> None:
        work = self._work_task
        error: Exception | None = None
        timer = self._watch_the_time()
        if await self._patience.join(work, seconds=None, when_stopped=GIVE_UP_SECONDS):
            error = self._failure_of(work)
        else:  # it may write on, but not in the turn that is kept
            logger.warning("run %s was given up: it does not stop when told", self.id)
            self._turn = self._turn.apart(len(self._events))
            error = self._stopped()
        if timer is not None:
            timer.cancel()
        await self._end(error)
        self._be_done()

    def _begin(
        self, part: Callable[[], Awaitable[None]], name: str
    ) -> asyncio.Task[None]:
        return self._loop.create_task(guarded(part), name=f"{name} of run {self.id}")

    async def _work(self) -> None:
        turn = self._turn
        turn.begin(await self._conversation.load())
        async with aclosing(run_loop(turn)) as events:
            async for event in events:
                if turn is not self._turn:
                    raise asyncio.CancelledError  # the run has been given up
                self._append(event)
                await self._teller.tell(event)
                if self._patience.is_stopped and not turn.is_finished:
                    raise asyncio.CancelledError  # somebody swallowed the first

    def _failure_of(self, work: asyncio.Task[None]) -> Exception | None:
        try:
            work.result()
        except (asyncio.CancelledError, StopRequested, WaiterGone):
            return self._stopped()
        except NotebookAgentsError as failure:
            return failure
        except Exception as failure:
            logger.exception("run %s failed", self.id)
            return failure
        return None

    def _stopped(self) -> RunCancelledError | None:
        turn = self._turn
        if turn.is_finished:
            return None
        if turn.crossing is not None:
            return RunCancelledError(f"{turn.crossing.said()} (Agent(budget=...)).")
        return RunCancelledError("The run was stopped before it had an answer.")

    async def _end(self, error: Exception | None) -> None:
        if error is not None:
            await self._end_early(error)
        errors = await self._keep_turn()
        cost = await cost_of(self._turn.model_calls)
        self._result = outcome_of(
            self._turn,
            self._events,
            conversation=self._conversation.facts(),
            errors=errors,
            cost=cost,
            seconds=time.monotonic() - self._began,
        )
        self._turn.ledger.add(self._result, requests=self._turn.requests(error))
        if isinstance(error, WITH_RESULT):
            error.result = self._result
        # As at the other limits, nothing is raised where a budget is used up.
        if error is not None and not self._turn.is_spent():
            self._error, self._error_frames = error, error.__traceback__

    async def _end_early(self, error: Exception) -> None:
        from notebook_agents.ending import last_events  # most runs come to an answer

        turn, began = self._turn, len(self._events)
        is_stopped = isinstance(error, RunCancelledError)
        # Text without an end is nobody's answer, unless a person stopped it there.
        self._is_worth_keeping = bool(turn.said or (is_stopped and turn.partial))
        for event in last_events(turn, tuple(self._events), error):
            self._append(event)
        last = self._events[began:]
        task = self._begin(lambda: self._teller.tell_all(last), "on_event")
        seconds = TELL_SECONDS if is_stopped else LAST_SECONDS
        if await self._patience.join(task, seconds=seconds, when_stopped=TELL_SECONDS):
            fault = None if task.cancelled() else task.exception()
            if fault is not None:
                logger.error("on_event failed", exc_info=fault)

    def _append(self, event: Event) -> None:
        self._events.append(event)
        for follower in tuple(self._followers):
            follower.wake()

    async def _keep_turn(self) -> list[str]:
        messages: list[Message] = []
        if self._is_worth_keeping:
            messages = [self._turn.asked.message(), *self._turn.said]
        elif self._turn.journal is None:
            return []
        fault: Exception | str = "the store did not answer in time"
        try:
            if await self._stored(messages):
                return []
        except Exception as error:  # noqa: BLE001 - logged with what is said
            fault = error
        is_stored = self._conversation.has_kept or not messages
        return [not_stored(fault, run_id=self.id, is_stored=is_stored)]

    async def _stored(self, messages: Sequence[Message]) -> bool:
        """Store the turn; False if that takes too long, and goes on unattended."""
        journal, is_stopped = self._turn.journal, self._turn.stop_reason == "cancelled"
        if journal is None and self._conversation.is_at_hand:
            await self._conversation.keep(messages)
            return True
        work = functools.partial(
            store_turn, messages, self._conversation, journal, is_stopped=is_stopped
        )
        task = self._begin(work, "the store")
        if not await self._patience.join(
            task,
            seconds=KEEP_SECONDS,
            when_stopped=KEEP_STOPPED_SECONDS,
            unattended=KEEP_SECONDS,
        ):
            return False
        task.result()
        return True

    def _finish(self, task: asyncio.Task[None]) -> None:
        if self.is_done:
            return
        # Only a fault of this module ends the task with an error of its own.
        if task.cancelled():
            self._error = RunCancelledError("The run was stopped.")
        else:
            self._error = task.exception()
        self._be_done()

    def _be_done(self) -> None:
        self._is_done = True
        for waiter in (*self._followers, *self._awaiters):
            waiter.wake()
