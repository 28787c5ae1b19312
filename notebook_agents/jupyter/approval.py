"""`CellApprover`: asks for consent in the cell, by a card or an input box.

The card counts only once its view has said that it is ready: then clicks will
arrive too. Where none does within three seconds, the input box asks instead.
Whatever the answer, a static record takes the place of the question, so the
saved notebook holds no widget.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from IPython.display import DisplayHandle

from notebook_agents._optional import require
from notebook_agents.approval import (
    Allow,
    Always,
    ApprovalRequest,
    Decision,
    Deny,
    NobodyApprover,
    PendingApproval,
    Stop,
)
from notebook_agents.decisions import said_with
from notebook_agents.errors import ToolArgumentsError
from notebook_agents.jupyter import kernel
from notebook_agents.jupyter._words import encodable
from notebook_agents.jupyter.fields import changed_args, fields_of
from notebook_agents.jupyter.html import approval_record
from notebook_agents.jupyter.input_box import ask_in_input_box, has_input_box
from notebook_agents.sync import current_waiter

if TYPE_CHECKING:
    from notebook_agents.jupyter.card import ApprovalCard

__all__ = ["CellApprover"]

READY_SECONDS = 3.0
"""How long a card may take to say that it is on screen."""
LATE_SECONDS = 1.0
"""How long it may take once the cell's thread is free to hear it."""

LONGEST_REASON = 2000
"""How many characters of a reason the model is told."""


class CellApprover:
    """Ask the person in front of the calling cell.

    Parameters
    ----------
    can_ask : bool
        Whether somebody is there at all.
    flag : str
        What to pass to allow without asking, for where nobody is there.
    """

    def __init__(self, *, can_ask: bool, flag: str) -> None:
        self.before_asking: Callable[[], None] = lambda: None
        """Called before anything is shown, so that what led here stands above."""
        self.can_ask = can_ask
        """Whether somebody is there at all."""
        self._cell = kernel.cell_task()
        self._nobody = NobodyApprover(flag)

    async def ask(self, pending: PendingApproval) -> None:
        """Put the question and leave a record of its answer."""
        self.before_asking()
        handle = DisplayHandle()
        question = None
        try:
            if not self.can_ask:
                await self._nobody.ask(pending)
            elif self._is_typed():
                await ask_in_input_box(pending)
            else:
                question = _Question(pending, handle, self._cell)
                await question.ask()
        finally:
            record = _record(pending)
            if question is not None:
                handle.update(record, raw=True)
                question.close()
            else:
                handle.display(record, raw=True)

    def _is_typed(self) -> bool:
        """Tell whether nobody would see a card, and a cell can ask instead."""
        if kernel.kernel() is None:
            return True
        has_box = has_input_box(current_waiter(), self._cell)
        return has_box and not kernel.shows_cards()


class _Question:
    """One card on screen."""

    def __init__(
        self,
        pending: PendingApproval,
        handle: DisplayHandle,
        cell: asyncio.Task[Any] | None,
    ) -> None:
        require("anywidget", extra="notebook")
        # Loaded with the first question: most runs never ask one.
        from notebook_agents.jupyter.card import ApprovalCard

        self._cell = cell
        waiter = current_waiter()
        self._blocks = waiter is not None and waiter.is_open and waiter.loop is None
        self._pending = pending
        self._loop = asyncio.get_running_loop()
        self._ready = asyncio.Event()
        self._card: ApprovalCard = ApprovalCard(pending.request)
        self._free()
        self._card.on_msg(self._on_message)
        handle.display(self._card.bundle(), raw=True)

    async def ask(self) -> None:
        if not await self._is_ready():
            self._blocks = True  # the input box holds the cell's thread
            self._free()
            self._card.send({"kind": "below"})
            await ask_in_input_box(self._pending)
        await self._pending.wait()

    def close(self) -> None:
        self._card.close()

    async def _is_ready(self) -> bool:
        waiter = current_waiter()
        for limit in (READY_SECONDS, LATE_SECONDS):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(limit):
                    await self._ready.wait()
                    return True
            if waiter is None or not has_input_box(waiter, self._cell):
                return True  # no cell waits, so a click is all that can answer
            # The card may have spoken while a tool held the cell's thread.
            await waiter.run(lambda: None)
        return self._ready.is_set()

    def _on_message(self, _: Any, content: Any, __: Any) -> None:
        # Runs in the main thread or in a subshell's, and more than once:
        # the card repeats itself until it hears back.
        said = content if isinstance(content, dict) else {}
        self._answer("ack", said, of=said.get("kind"))
        self._free()
        if said.get("kind") == "ready":
            self._loop.call_soon_threadsafe(self._ready.set)
        elif said.get("kind") == "decision":
            self._decide(said)

    def _decide(self, said: Mapping[str, Any]) -> None:
        try:
            decision = _decision(said, self._pending.request)
            if decision is not None:
                self._pending.decide(decision, by="person")
        except ToolArgumentsError as error:
            text = encodable(str(error))
            what = f"Invalid arguments for {self._pending.request.tool!r}: "
            self._answer("invalid", said, text=text.removeprefix(what))

    def _answer(self, kind: str, said: Mapping[str, Any], **facts: Any) -> None:
        left = self._pending.request.expires_at - time.time()
        if math.isfinite(left):  # not the moment: the browser has its own clock
            facts["left"] = max(0.0, left)
        self._card.send({"kind": kind, "n": said.get("n"), **facts})

    def _free(self) -> None:
        if self._blocks:
            kernel.free_comm(self._card)


def _decision(said: Mapping[str, Any], request: ApprovalRequest) -> Decision | None:
    """Read what was clicked; None if it is nothing that can be."""
    word = said.get("decision")
    if word == "allow":
        fields = fields_of(request.schema, request.args)
        args = changed_args(fields, request.args, said.get("changes"))
        return Allow(None if args == dict(request.args) else args)
    if word == "deny":
        return Deny(str(said.get("reason") or "").strip()[:LONGEST_REASON])
    if word == "always":
        return Always()
    return Stop() if word == "stop" else None


def _record(pending: PendingApproval) -> dict[str, str]:
    decision = pending.decision or Deny("the run was stopped")
    request = pending.request
    if pending.edited is not None:  # what it really ran with
        request = replace(request, args=pending.edited.values)
    return approval_record(
        request,
        decision=decision.kind,
        reason=said_with(decision),
        by=pending.by or "cancelled",
        at=time.time(),
        asked=pending.request.args,
    )
