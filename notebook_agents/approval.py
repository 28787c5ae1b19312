"""Consent: the question that a risky call asks, and who may answer it.

A request is answered once, by whichever surface is first: a card in the cell,
an input box, another cell, the served API, a callback. All of them call
`PendingApproval.decide`, from any thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import reprlib
import threading
import weakref
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, Protocol

from notebook_agents.decisions import (
    Allow,
    Always,
    ApprovalRequest,
    Decision,
    Deny,
    Respond,
    Stop,
)
from notebook_agents.errors import ToolArgumentsError
from notebook_agents.waiting import (
    CLEANUP_SECONDS,
    WaiterGone,
    on_loop,
    running_loop,
)

__all__ = [
    "Allow",
    "Always",
    "ApprovalRequest",
    "Approver",
    "Decision",
    "Deny",
    "PendingApproval",
    "Respond",
    "Stop",
    "waiting_approvals",
]

Check = Callable[[Mapping[str, Any]], Any]
"""Makes a call of arguments; raises `ToolArgumentsError` if they do not fit."""
Review = Callable[[Any], Awaitable[tuple[Any, str]]]
"""Gives what may run of a call that a check has made, or None and why not."""


class PendingApproval:
    """A request that waits for its one answer.

    Parameters
    ----------
    request : ApprovalRequest
        What is asked.
    check : callable, optional
        Looks at edited arguments before they count; without it there may be
        none.
    review : callable, optional
        Looks at what ``check`` made of them, in the run's loop; until then the
        answer does not stand, and may be turned into a no.
    """

    def __init__(
        self,
        request: ApprovalRequest,
        check: Check | None = None,
        review: Review | None = None,
    ) -> None:
        self.request = request
        self._check = check
        self._review = review
        self._reviewing: asyncio.Task[None] | None = None
        self.by = ""
        """Who answered; empty until then."""
        self.decision: Decision | None = None
        """The answer; None until then."""
        self.edited: Any = None
        """What ``check`` made of edited arguments; None if they are as asked."""
        self._lock = threading.Lock()
        self._loop = asyncio.get_running_loop()
        self._answered = asyncio.Event()

    def __repr__(self) -> str:
        asked, said = self.request, self.decision
        args = ", ".join(f"{k}={reprlib.repr(v)}" for k, v in asked.args.items())
        state = "waits" if said is None else f"{said.kind} by {self.by}"
        return f"<{asked.id}: {asked.agent} wants {asked.tool}({args}); {state}>"

    def decide(self, decision: Decision, *, by: str) -> bool:
        """Answer, unless somebody already has; callable from any thread.

        Parameters
        ----------
        decision : Allow, Always, Deny, Respond or Stop
            The answer.
        by : str
            Who or what answers, such as ``"person"`` or ``"policy"``.

        Returns
        -------
        bool
            Whether this answer counts.

        Raises
        ------
        ToolArgumentsError
            If edited arguments do not fit; the question then stays open.
        """
        edited = None if self.decision else self._edited(decision)
        with self._lock:
            if self.decision is not None:
                return False
            self.decision, self.by, self.edited = decision, by, edited
        needs_review = edited is not None and self._review is not None
        go_on = self._begin_review if needs_review else self._answered.set
        with contextlib.suppress(RuntimeError):  # the run's loop has been closed
            self._loop.call_soon_threadsafe(go_on)
        return True

    def _begin_review(self) -> None:
        self._reviewing = asyncio.create_task(self._overrule())
        self._reviewing.add_done_callback(lambda _: self._answered.set())

    async def _overrule(self) -> None:
        assert self._review is not None  # noqa: S101 - see `decide`
        self.edited, why_not = await self._review(self.edited)
        if why_not:
            self.decision, self.by = Deny(why_not), "policy"

    def _edited(self, decision: Decision) -> Any:
        if not isinstance(decision, Allow) or decision.args is None:
            return None
        if self._check is None:
            message = "The arguments of this call cannot be changed."
            raise ToolArgumentsError(message, tool=self.request.tool)
        return self._check(decision.args)

    async def wait(self) -> Decision:
        """Await the answer."""
        if running_loop() is self._loop:
            await self._answered.wait()
        else:  # a run that a tool has started may be on a loop of its own
            await on_loop(self._loop, self._answered.wait)
        if self._reviewing is not None:
            self._reviewing.result()  # a guard that breaks ends the run
        assert self.decision is not None  # noqa: S101 - set before the event
        return self.decision

    def let_go(self) -> None:
        """Look no further at edited arguments: nobody waits for the answer."""
        if self._reviewing is not None:
            self._reviewing.cancel()


class Approver(Protocol):
    """A surface on which a person, or something in their place, can answer.

    One with an attribute ``can_ask`` that is false has no person there: it gets
    only questions about tools, none about a budget.
    """

    async def ask(self, pending: PendingApproval) -> None:
        """Put the question and call `PendingApproval.decide` with the answer.

        It is cancelled when another surface was first or time ran out, and
        must then take the question off the screen.

        Parameters
        ----------
        pending : PendingApproval
            The question.
        """


class NobodyApprover:
    """Deny, because nobody is there to ask, and name the flag that allows."""

    can_ask = False

    def __init__(self, flag: str = 'policy="allow"') -> None:
        self._flag = flag

    async def ask(self, pending: PendingApproval) -> None:
        """Deny at once."""
        request = pending.request
        reason = f"{request.tool} needs approval and nobody is there to ask"
        if not request.note:  # where a rule failed, no flag allows
            reason = f"{reason}; to allow it, pass {self._flag}"
        pending.decide(Deny(request.explained(reason)), by="policy")


async def settle(
    pending: PendingApproval, approver: Approver, *, timeout: float
) -> Decision:
    """Put a question and wait for its first answer, or until it expires.

    Parameters
    ----------
    pending : PendingApproval
        The question; other surfaces may answer it as well.
    approver : Approver
        The surface to ask on.
    timeout : float
        Seconds until silence counts as no.

    Returns
    -------
    Allow, Always, Deny, Respond or Stop
        The answer.

    Raises
    ------
    CancelledError
        If the run is stopped meanwhile; the question then counts as denied.
    """
    asking = asyncio.create_task(_put(pending, approver))
    try:
        async with asyncio.timeout(timeout):
            return await pending.wait()
    except TimeoutError:
        pending.decide(Deny(f"nobody answered within {timeout:g} s"), by="timeout")
        return await pending.wait()
    except asyncio.CancelledError:
        pending.decide(Deny("the run was stopped"), by="cancelled")
        raise
    finally:
        pending.let_go()
        asking.cancel()
        await asyncio.wait([asking], timeout=CLEANUP_SECONDS)


async def _put(pending: PendingApproval, approver: Approver) -> None:
    """Ask, and deny where asking fails in whatever way."""
    try:
        await approver.ask(pending)
    except WaiterGone:
        pass  # the cell was stopped, and its run is about to be
    except BaseException as error:  # noqa: BLE001 - SystemExit would end the loop
        # Once the question is answered, or the run stopped, this has no effect.
        reason = f"asking failed: {type(error).__name__}: {error}"
        pending.decide(Deny(reason), by="error")


_waiting: weakref.WeakValueDictionary[str, PendingApproval]
_waiting = weakref.WeakValueDictionary()


def waiting_approvals() -> list[PendingApproval]:
    """Give every question of this process that waits for an answer.

    Returns
    -------
    list of PendingApproval
        Of all runs, also those in the background or of a server, oldest first.
    """
    # References, not values: another thread may open a question meanwhile.
    found = [reference() for reference in _waiting.valuerefs()]
    return [each for each in found if each is not None and each.decision is None]


class Approvals:
    """The open questions of one run, and of those that its tools have started.

    Parameters
    ----------
    around : Approvals or None
        Those of the run whose tool has started this one.
    """

    def __init__(self, around: Approvals | None = None) -> None:
        self._pending: dict[str, PendingApproval] = {}
        self._within: dict[str, PendingApproval] = {}
        """Those of runs within its tools, which may be on other loops."""
        self._around: tuple[Approvals, ...] = ()
        """Those of all runs around it, the nearest first."""
        if around is not None:
            self._around = (around, *around._around)  # noqa: SLF001 - same class
        self._queue: list[tuple[int, asyncio.Future[None]]] = []
        """Calls that wait until no question is open, by their place."""

    def __iter__(self) -> Iterator[PendingApproval]:
        return iter((*self.own, *tuple(self._within.values())))

    def __len__(self) -> int:
        return len(self._pending) + len(self._within)

    @property
    def own(self) -> tuple[PendingApproval, ...]:
        """Those of the run itself."""
        return tuple(self._pending.values())

    def add(
        self,
        request: ApprovalRequest,
        check: Check | None = None,
        review: Review | None = None,
    ) -> PendingApproval:
        """Open a question.

        Parameters
        ----------
        request : ApprovalRequest
            What is asked.
        check, review : callable, optional
            As in `PendingApproval`.

        Returns
        -------
        PendingApproval
            Among the open ones until it is removed.
        """
        pending = PendingApproval(request, check, review)
        self._pending[request.id] = _waiting[request.id] = pending
        for each in self._around:
            each._within[request.id] = pending  # noqa: SLF001 - same class
        return pending

    def remove(self, pending: PendingApproval) -> None:
        """Take a question off the open ones."""
        del self._pending[pending.request.id]
        for each in self._around:
            del each._within[pending.request.id]  # noqa: SLF001 - same class
        _waiting.pop(pending.request.id, None)
        if not self._pending:
            # Later, when the call that it was about waits in its place as well.
            asyncio.get_running_loop().call_soon(self._let_go)

    async def wait_until_none(self, place: int) -> None:
        """Await the moment in which no question is open.

        Parameters
        ----------
        place : int
            Of the call among those of its step: where several wait for that
            moment, they go on in this order.
        """
        if not self._pending and not self._queue:
            return
        future = asyncio.get_running_loop().create_future()
        self._queue.append((place, future))
        await future

    def _let_go(self) -> None:
        if self._pending:
            return
        for _, future in sorted(self._queue, key=lambda waiting: waiting[0]):
            if not future.done():  # it may have been cancelled
                future.set_result(None)
        self._queue.clear()

    def find(self, request_id: str) -> PendingApproval | None:
        """Find an open question by its identifier."""
        return self._pending.get(request_id) or self._within.get(request_id)
