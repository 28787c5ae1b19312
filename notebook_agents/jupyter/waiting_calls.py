"""`WaitingCalls`: those that wait side by side, in one card on screen.

The card counts only once a view of it has said that it is ready: then clicks
will arrive too. Where none does within three seconds, the input box asks instead.

A page that is reloaded shows the card again, but no more outputs of the cell. Such a
card is kept: it asks what comes later too, besides the card of those who follow the
cell, and is told what becomes of the run.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any

from IPython.display import DisplayHandle

from notebook_agents.approval import Deny, PendingApproval
from notebook_agents.decisions import said_with, scope_of
from notebook_agents.errors import ToolArgumentsError
from notebook_agents.jupyter import kernel
from notebook_agents.jupyter._markup import bundle_of
from notebook_agents.jupyter._words import encodable
from notebook_agents.jupyter.clicks import decision_of
from notebook_agents.jupyter.input_box import InputBox
from notebook_agents.jupyter.kernel import Cell
from notebook_agents.jupyter.output import CellOutput
from notebook_agents.jupyter.record import ApprovalRecord
from notebook_agents.sync import cell_waiter
from notebook_agents.waiting import WaiterGone

if TYPE_CHECKING:
    from notebook_agents.jupyter.card import ApprovalCard

__all__ = ["WaitingCalls", "record_of"]

Retell = Callable[["ApprovalCard"], Coroutine[Any, Any, None]]

READY_SECONDS = 3.0
"""How long a card may take to say that it is on screen."""
LATE_SECONDS = 1.0
"""How long it may take once the cell's thread is free to hear it."""


class WaitingCalls:
    """Calls that wait in one card, until the last of them is decided.

    Parameters
    ----------
    cell : Cell
        Where they belong.
    retell : callable
        ``(card) -> coroutine`` that tells it what becomes of the run.
    kept : list of ApprovalCard
        Those of this run that are kept; the one of these calls may come to it.
    """

    def __init__(self, cell: Cell, retell: Retell, kept: list[ApprovalCard]) -> None:
        waiter = cell_waiter()
        self._cell = cell
        self._input_box = InputBox(cell)
        self._is_background = not self._input_box.is_there()
        # A blocked thread hears nothing; nor may that of the cells which run while
        # this waits in the background.
        self._blocks = self._is_background or (waiter and waiter.loop) is None
        self._loop = asyncio.get_running_loop()
        self._output = self._new_output()
        self._retell = retell
        self._retelling: asyncio.Task[None] | None = None
        self._kept = kept
        for card in kept:
            card.on_msg(self._on_message)
        self._pages: set[str] = set()
        self._card: ApprovalCard | None = None
        self._all: list[PendingApproval] = []
        self._open: dict[str, PendingApproval] = {}
        self._records: dict[str, ApprovalRecord] = {}
        self._shown = 0
        self._ready = asyncio.Event()
        self._trying: asyncio.Task[bool] | None = None

    def take_more(self) -> bool:
        """Tell whether another call may join: some wait, and on the same loop."""
        return bool(self._open) and self._loop is asyncio.get_running_loop()

    def hand_over(self) -> None:
        """Leave the cards that are kept to those that ask next."""
        for card in self._kept if not self._open else ():
            card.on_msg(self._on_message, remove=True)

    async def ask(self, pending: PendingApproval) -> None:
        """Put one question, wait for its answer, and leave a record of it.

        Parameters
        ----------
        pending : PendingApproval
            The question.
        """
        self._all.append(pending)
        self._open[pending.request.id] = pending
        try:
            # The other calls of this step ask in the same turn of the loop.
            await asyncio.sleep(0)
            self._show()
            if not await self._can_click():
                await self._input_box.ask(pending)
            await pending.wait()
        finally:
            self._close(pending)

    def _show(self) -> None:
        """Bring those on screen that are not there yet."""
        new = [pending.request for pending in self._all[self._shown :]]
        if self._card is None:
            # Loaded with the first question: most runs never ask one.
            from notebook_agents.jupyter.card import ApprovalCard

            hint = f"Another cell can answer too: {kernel.how_to_answer()}"
            self._card = ApprovalCard(new, hint if self._is_background else "")
            self._free()
            self._card.on_msg(self._on_message)
            self._output.display(self._card.bundle(self._card.plain), raw=True)
        elif new:
            self._card.add(new)
        for card in self._kept if new else ():
            card.add(new)
        if new and (self._shown or self._kept):
            self._say({"kind": "time", **self._left()})
        self._shown += len(new)

    def _new_output(self) -> Any:
        return CellOutput(self._cell) if self._is_background else DisplayHandle()

    def _close(self, pending: PendingApproval) -> None:
        """Put the record of a call in its place; the last one ends the card."""
        del self._open[pending.request.id]
        record = self._records[pending.request.id] = record_of(pending)
        for card in self._cards if self._open or self._retelling else self._kept:
            card.settle(pending.request.id, record)
        if self._open:
            self._say({"kind": "time", **self._left()})
        else:
            self._end()

    def _end(self) -> None:
        if self._trying is not None:
            self._trying.cancel()
        bundles = [self._records[each.request.id].bundle() for each in self._all]
        markup = "".join(each["text/html"] for each in bundles)
        plain = "\n".join(each["text/plain"] for each in bundles)
        show = self._output.display if self._card is None else self._output.update
        show(bundle_of(markup, plain), raw=True)
        if self._card is None:
            return
        if self._retelling is None:
            self._card.close()
        else:  # a page that did not see the output change has it still
            self._kept.append(self._card)

    @property
    def _cards(self) -> list[ApprovalCard]:
        return [*self._kept, *([self._card] if self._card is not None else [])]

    async def _can_click(self) -> bool:
        """Find out for all, so that they go on at the same moment."""
        if self._trying is None:
            self._trying = asyncio.create_task(self._try())
        return await asyncio.shield(self._trying)

    async def _try(self) -> bool:
        if await self._is_ready():
            return True
        self._blocks = True  # the input box holds the cell's thread
        self._say({"kind": "below"})
        return False

    async def _is_ready(self) -> bool:
        if self._kept:
            return True  # on a page that does not show the new card
        waiter = cell_waiter()
        for limit in (READY_SECONDS, LATE_SECONDS):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(limit):
                    await self._ready.wait()
                    return True
            if waiter is None or not self._input_box.is_there():
                return True  # no cell waits, so a click is all that can answer
            # The card may have spoken while a tool held the cell's thread.
            try:
                await waiter.run(lambda: None)
            except WaiterGone:
                return True  # the run is about to be stopped
        return self._ready.is_set()

    # What the card says, and what it is told. Its messages arrive in the main thread
    # or in a subshell's, and more than once: it repeats itself until it hears back.

    def _on_message(self, card: Any, content: Any, _: Any) -> None:
        said = content if isinstance(content, dict) else {}
        self._answer(card, "ack", said, of=said.get("kind"))
        if said.get("kind") == "ready" and card is self._card:
            page = str(said.get("page", ""))
            with contextlib.suppress(RuntimeError):  # the run's loop has been closed
                self._loop.call_soon_threadsafe(self._shown_on, page)
        elif said.get("kind") == "decision":
            self._decide(card, said)

    def _shown_on(self, page: str) -> None:
        self._ready.set()
        self._pages.add(page)
        if len(self._pages) > 1 and self._retelling is None and self._card is not None:
            self._retelling = asyncio.create_task(self._retell(self._card))

    def _decide(self, card: Any, said: Mapping[str, Any]) -> None:
        pending = self._meant(said)
        if pending is None:
            return  # it came too late, and the card shows what was decided
        try:
            decision = decision_of(said, pending.request)
            if decision is not None:
                pending.decide(decision, by="person")
        except ToolArgumentsError as error:
            text = encodable(str(error))
            what = f"Invalid arguments for {pending.request.tool!r}: "
            self._answer(card, "invalid", said, text=text.removeprefix(what))

    def _meant(self, said: Mapping[str, Any]) -> PendingApproval | None:
        """Give the question that a click is about."""
        if said.get("id") is not None:
            return self._open.get(str(said["id"]))
        waiting = list(self._open.values())
        is_clear = len(waiting) == 1 or said.get("decision") == "stop"
        return waiting[0] if waiting and is_clear else None

    def _answer(
        self, card: Any, kind: str, said: Mapping[str, Any], **facts: Any
    ) -> None:
        about = {name: said.get(name) for name in ("n", "id")}
        self._tell(card, {"kind": kind, **about, **self._left(), **facts})

    def _say(self, message: Mapping[str, Any]) -> None:
        for card in self._cards:
            self._tell(card, message)

    def _tell(self, card: ApprovalCard, message: Mapping[str, Any]) -> None:
        card.send(message)
        self._free()

    def _left(self) -> dict[str, float]:
        """Say when the first call expires; not the moment, since clocks differ."""
        waiting = list(self._open.values())
        ends = [each.request.expires_at for each in waiting]
        left = min(ends, default=math.inf) - time.time()
        return {"left": max(0.0, left)} if math.isfinite(left) else {}

    def _free(self) -> None:
        if self._blocks and self._card is not None:
            kernel.free_comm(self._card)


def record_of(pending: PendingApproval) -> ApprovalRecord:
    """Write down what became of a question.

    Parameters
    ----------
    pending : PendingApproval
        Decided, or left alone because the run was stopped.

    Returns
    -------
    ApprovalRecord
        As of now.
    """
    decision = pending.decision or Deny("the run was stopped")
    request = pending.request
    edited = pending.edited  # what it really ran with
    return ApprovalRecord(
        agent=request.agent,
        tool=request.tool,
        args=request.args if edited is None else edited.values,
        decision=decision.kind,
        reason=said_with(decision),
        by=pending.by or "cancelled",
        at=time.time(),
        asked=request.args,
        **scope_of(decision),
    )
