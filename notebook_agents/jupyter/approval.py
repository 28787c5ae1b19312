"""`CellApprover`: asks for consent in the cell, by a card or an input box.

The card counts only once its view has said that it is ready: then clicks will
arrive too. Where none does within three seconds, the input box asks instead.
Whatever the answer, a static record takes the place of the question, so the
saved notebook holds no widget.
"""

from __future__ import annotations

import _thread
import asyncio
import contextlib
import json
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from IPython.display import DisplayHandle

from notebook_agents.approval import (
    Allow,
    ApprovalRequest,
    Decision,
    Deny,
    NobodyApprover,
    PendingApproval,
    Stop,
)
from notebook_agents.jupyter import kernel
from notebook_agents.jupyter.html import approval_record
from notebook_agents.sync import current_waiter

if TYPE_CHECKING:
    from notebook_agents.jupyter.card import ApprovalCard

__all__ = ["CellApprover"]

READY_SECONDS = 3.0
"""How long a card may take to say that it is on screen."""

_ANSWERS: dict[str, Decision] = {
    "y": Allow(),
    "yes": Allow(),
    "q": Stop(),
    "quit": Stop(),
    "stop": Stop(),
}


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
        self._can_ask = can_ask
        self._nobody = NobodyApprover(flag)

    async def ask(self, pending: PendingApproval) -> None:
        """Put the question and leave a record of its answer."""
        self.before_asking()
        handle = DisplayHandle()
        question = None
        try:
            if not self._can_ask:
                await self._nobody.ask(pending)
            elif kernel.kernel() is None:
                await _ask_stdin(pending)
            else:
                question = _Question(pending, handle)
                await question.ask()
        finally:
            record = _record(pending)
            if question is not None:
                handle.update(record, raw=True)
                question.close()
            else:
                handle.display(record, raw=True)


class _Question:
    """One card on screen."""

    def __init__(self, pending: PendingApproval, handle: DisplayHandle) -> None:
        # Loaded with the first question: most runs never ask one.
        from notebook_agents.jupyter.card import ApprovalCard

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
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(READY_SECONDS):
                await self._ready.wait()
        waiter = current_waiter()
        if not self._ready.is_set() and waiter is not None and waiter.is_open:
            await _ask_stdin(self._pending)
        await self._pending.wait()

    def close(self) -> None:
        self._card.close()

    def _on_message(self, _: Any, content: dict[str, Any], __: Any) -> None:
        # Runs in the main thread or in a subshell's, and more than once:
        # the card repeats itself until it hears back.
        kind = content.get("kind")
        self._card.send({"kind": "ack", "of": kind})
        self._free()
        if kind == "ready":
            self._loop.call_soon_threadsafe(self._ready.set)
        elif kind == "decision":
            decision = _CLICKS.get(content.get("decision", ""))
            if decision is not None:
                self._pending.decide(decision, by="person")

    def _free(self) -> None:
        if self._blocks:
            kernel.free_comm(self._card)


_CLICKS: dict[str, Decision] = {"allow": Allow(), "deny": Deny(), "stop": Stop()}


async def _ask_stdin(pending: PendingApproval) -> None:
    request = pending.request
    waiter = current_waiter()
    if waiter is None:
        return
    prompt = f"Run {call_text(request)}? [y]es, [N]o, [q]uit the run: "
    limit = max(0.0, request.expires_at - time.time())
    answer = await waiter.run(lambda: _input_within(prompt, limit))
    if answer is None:
        pending.decide(Deny("nobody answered in time"), by="timeout")
        return
    text = answer.strip()
    decision = _ANSWERS.get(text.lower())
    if decision is None:
        is_plain_no = text.lower() in {"", "n", "no"}
        decision = Deny() if is_plain_no else Deny(text)
    pending.decide(decision, by="person")


def _input_within(prompt: str, limit: float) -> str | None:
    """Read a line; None when a client that claims to answer never does."""
    is_late = threading.Event()

    def interrupt() -> None:
        is_late.set()
        _thread.interrupt_main()

    timer = threading.Timer(limit, interrupt)
    timer.daemon = True
    timer.start()
    try:
        return input(prompt)
    except KeyboardInterrupt:
        if is_late.is_set():
            return None
        raise
    except EOFError:
        return ""
    finally:
        timer.cancel()


def call_text(request: ApprovalRequest) -> str:
    """Write a call as it would stand in Python."""
    args = ", ".join(
        f"{name}={json.dumps(value, ensure_ascii=False, default=str)}"
        for name, value in request.args.items()
    )
    return f"{request.tool}({args})"


def _record(pending: PendingApproval) -> dict[str, str]:
    decision = pending.decision or Deny("the run was stopped")
    return approval_record(
        pending.request,
        decision=decision.kind,
        reason=decision.reason if isinstance(decision, Deny) else "",
        by=pending.by or "cancelled",
        at=time.time(),
    )
