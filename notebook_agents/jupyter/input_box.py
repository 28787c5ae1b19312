"""Asking for consent with ``input()``, where no click can arrive."""

from __future__ import annotations

import _thread
import asyncio
import json
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from notebook_agents.approval import (
    Allow,
    Always,
    ApprovalRequest,
    Decision,
    Deny,
    PendingApproval,
    Stop,
)
from notebook_agents.jupyter import kernel
from notebook_agents.sync import current_waiter
from notebook_agents.waiting import Waiter

__all__ = ["ask_in_input_box", "has_input_box"]

LOOK_SECONDS = 0.1
"""How often a waiting prompt looks whether it is still needed."""

_ANSWERS: dict[str, Decision] = {
    "y": Allow(),
    "yes": Allow(),
    "a": Always(),
    "always": Always(),
    "q": Stop(),
    "quit": Stop(),
    "stop": Stop(),
    "": Deny(),
    "n": Deny(),
    "no": Deny(),
}


def has_input_box(waiter: Waiter | None, cell: asyncio.Task[Any] | None) -> bool:
    """Tell whether a cell waits, in whose input box can be asked.

    Parameters
    ----------
    waiter : Waiter or None
        Who waits for the run.
    cell : asyncio.Task or None
        The cell that began it, as from `kernel.cell_task`.

    Returns
    -------
    bool
        False in the background: ``input()`` would block the whole kernel with
        a question that no front end shows.
    """
    if waiter is None or not waiter.is_open:
        return False
    return waiter.loop is None or kernel.is_running(cell)


async def ask_in_input_box(pending: PendingApproval) -> None:
    """Put a question in the input box of the cell that waits, if one does.

    Parameters
    ----------
    pending : PendingApproval
        The question. When it is answered elsewhere, or expires, the prompt ends.
    """
    waiter = current_waiter()
    if waiter is None or not waiter.is_open:
        return
    request = pending.request
    prompt = f"Run {call_text(request)}? [y]es, [a]lways, [N]o, [q]uit the run: "

    def is_over() -> bool:
        return pending.decision is not None or time.time() > request.expires_at

    answer = await waiter.run(lambda: _input_until(is_over, prompt))
    if answer is None:
        pending.decide(Deny("nobody answered in time"), by="timeout")
        return
    text = answer.strip()
    # Anything else is a no, and the reason for it.
    pending.decide(_ANSWERS.get(text.lower(), Deny(text)), by="person")


def _input_until(is_over: Callable[[], bool], prompt: str) -> str | None:
    """Read a line in the main thread; None once nobody needs it any more."""
    # Only an interrupt ends ``input()``, so another thread sends one.
    lock, has_line, is_given_up = threading.Lock(), threading.Event(), threading.Event()

    def watch() -> None:
        while not has_line.wait(LOOK_SECONDS):
            with lock:
                if is_over() and not has_line.is_set():
                    is_given_up.set()
                    _interrupt_main()
                    return

    try:
        try:
            # In here: a watcher that was left behind would interrupt other cells.
            threading.Thread(target=watch, name="input box", daemon=True).start()
            _forget_typed_ahead()
            return input(prompt)
        finally:
            with lock:
                has_line.set()
    except KeyboardInterrupt:
        if is_given_up.is_set():
            return None
        raise
    except EOFError:
        return ""


def _interrupt_main() -> None:
    """Interrupt the main thread, also where it reads from a terminal."""
    if sys.platform == "win32":
        _thread.interrupt_main()
    else:  # only a real signal ends a read
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def _forget_typed_ahead() -> None:
    """Drop what was typed before the question was there to be read."""
    if kernel.kernel() is not None:
        return  # a front end sends a line only when it is asked
    try:
        import termios

        termios.tcflush(sys.stdin, termios.TCIFLUSH)
    except (ImportError, OSError, ValueError):
        pass  # not a terminal, or Windows


def call_text(request: ApprovalRequest) -> str:
    """Write a call as it would stand in Python."""
    args = ", ".join(
        f"{name}={json.dumps(value, ensure_ascii=False, default=str)}"
        for name, value in request.args.items()
    )
    return f"{request.tool}({args})"
