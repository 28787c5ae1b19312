"""The runs of a server: one at a time in a conversation, and kept for a while.

A run belongs to no request: a client that goes away may come back for it by
its identifier.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from typing import Any

from notebook_agents.approval import Deny, PendingApproval
from notebook_agents.run import Run
from notebook_agents.server.failures import Refusal, shutting_down
from notebook_agents.server.logs import logger
from notebook_agents.server.past import PastRuns
from notebook_agents.server.served_run import Order, ServedRun

__all__ = ["Runs"]

MOST_QUESTIONS = 1024
"""Questions that are remembered, so that a late answer hears why."""
DRAIN_SECONDS = 4.0
"""How long runs may clean up when the server stops; one that does not stop when
told is given up within this time."""
LATELY = 20
"""How many runs say how long one takes."""
SHORTEST_WAIT, LONGEST_WAIT = 1, 60
"""What a refused client is told to wait, in seconds."""


class Runs:
    """Every run of a server that goes on, and those that ended lately.

    Parameters
    ----------
    begin : callable
        Starts what was ordered.
    limit : float
        Seconds that a run may work.
    most : int
        Most runs that work at the same time, those that wait for their turn
        included.
    most_waiting : int
        Most runs that wait for an approval at the same time.
    """

    def __init__(
        self,
        begin: Callable[[Order], Run],
        *,
        limit: float,
        most: int,
        most_waiting: int,
    ) -> None:
        self.limit = limit
        self.is_draining = False
        self._begin = begin
        self._most = most
        self._most_waiting = most_waiting
        self._count = 0
        self._lanes = Lanes()
        self._active: dict[str, ServedRun] = {}
        self._past = PastRuns()
        self._durations: deque[float] = deque(maxlen=LATELY)
        self._asked: OrderedDict[str, tuple[PendingApproval, str]] = OrderedDict()
        """Questions, each with the run that answers for it."""
        self._tasks: set[asyncio.Task[Any]] = set()

    async def start(self, order: Order) -> ServedRun:
        """Start a run when it is its turn in the conversation.

        Parameters
        ----------
        order : Order
            What to run.

        Returns
        -------
        ServedRun
            Going on.

        Raises
        ------
        Refusal
            If the server is full, or stops.
        """
        self._check_open()
        if self._count - self._waiting >= self._most:
            text = f"{self._most} runs are going on, which is the most there may be."
            headers = {"Retry-After": str(self._retry_after())}
            raise Refusal(429, "TooManyRuns", text, headers=headers)
        with contextlib.ExitStack() as undo:
            self._count += 1
            undo.callback(self._leave)
            lane = order.scope.key
            await self._lanes.enter(lane)
            undo.callback(self._lanes.leave, lane)
            self._check_open()
            served = ServedRun(self._begin(order), order)
            self._active[served.run.id] = served
            undo.callback(self._finish, served)
            task = asyncio.create_task(self._drive(served, undo.pop_all()))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return served

    def find(self, run_id: str) -> ServedRun | None:
        """Find a run that goes on or ended lately."""
        return self._active.get(run_id) or self._past.find(run_id)

    def keep(self, starting: asyncio.Task[ServedRun]) -> None:
        """Let an order wait on for its turn although nobody waits for it."""
        self._tasks.add(starting)
        starting.add_done_callback(self._tasks.discard)
        starting.add_done_callback(_mark_seen)

    @property
    def active(self) -> list[ServedRun]:
        """The runs that go on, oldest first."""
        return list(self._active.values())

    async def drain(self) -> None:
        """Stop every run and let its readers know; start no more."""
        self.is_draining = True
        for served in self.active:
            served.end("shutdown")
        if self._tasks:
            await asyncio.wait(tuple(self._tasks), timeout=DRAIN_SECONDS)
        for served in self.active:
            logger.warning("run %s was left when the server stopped", served.run.id)

    # Questions.

    @contextlib.contextmanager
    def asking(self, pending: PendingApproval) -> Iterator[None]:
        """Remember a question, and stop the clock of its run meanwhile."""
        served = self._run_around(pending)
        if served is None:  # started by a tool, and its run has ended since
            yield
            return
        self._remember(pending, served)
        if self._waiting > self._most_waiting:  # with this one among them
            reason = "too many runs wait for an approval already"
            pending.decide(Deny(reason), by="policy")
        with served.asking(pending, self.limit):
            yield

    def find_question(
        self, request_id: str
    ) -> tuple[PendingApproval, ServedRun] | None:
        """Find a question, open or answered, and the run that answers for it."""
        for served in self.active:
            for pending in served.run.approvals:
                if pending.request.id == request_id:
                    self._remember(pending, served)
        asked = self._asked.get(request_id)
        if asked is None:
            return None
        run = self.find(asked[1])
        return None if run is None else (asked[0], run)

    def _run_around(self, pending: PendingApproval) -> ServedRun | None:
        """Find the run that asks, itself or through an agent that it has asked."""
        return next(
            (each for each in self.active if pending in each.run.approvals), None
        )

    def _remember(self, pending: PendingApproval, served: ServedRun) -> None:
        self._asked[pending.request.id] = pending, served.run.id
        while len(self._asked) > MOST_QUESTIONS:
            self._asked.popitem(last=False)

    # The life of one run.

    def _check_open(self) -> None:
        if self.is_draining:
            raise Refusal.because_of(shutting_down())

    async def _drive(self, served: ServedRun, undo: contextlib.ExitStack) -> None:
        with undo:
            await served.drive(self.limit)

    @property
    def _waiting(self) -> int:
        return sum(served.is_waiting for served in self._active.values())

    def _retry_after(self) -> int:
        """Say when a place should be free, from how long runs took lately."""
        usual = sum(self._durations) / max(len(self._durations), 1)
        return min(max(math.ceil(usual), SHORTEST_WAIT), LONGEST_WAIT)

    def _finish(self, served: ServedRun) -> None:
        self._active.pop(served.run.id, None)
        self._durations.append(time.time() - served.started_at)
        self._past.add(served)

    def _leave(self) -> None:
        self._count -= 1


def _mark_seen(task: asyncio.Task[Any]) -> None:
    if not task.cancelled():
        task.exception()


class Lanes:
    """Let one in at a time for each key, in the order of arrival."""

    def __init__(self) -> None:
        self._locks: dict[str, asyncio.Lock] = {}
        self._users: dict[str, int] = {}

    async def enter(self, key: str) -> None:
        """Wait until nobody else is in."""
        lock = self._locks.setdefault(key, asyncio.Lock())
        self._users[key] = self._users.get(key, 0) + 1
        try:
            await lock.acquire()
        except BaseException:
            self._forget(key)
            raise

    def leave(self, key: str) -> None:
        """Let the next one in."""
        self._locks[key].release()
        self._forget(key)

    def _forget(self, key: str) -> None:
        self._users[key] -= 1
        if not self._users[key]:
            del self._users[key], self._locks[key]
