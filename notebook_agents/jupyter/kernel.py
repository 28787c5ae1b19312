"""Facts about the kernel that runs this code, and its busy main thread.

Whether a click reaches Python while a cell is busy depends on the kernel:
ipykernel 6 needs its queue pumped, 7.0 to 7.3 deliver on subshells, and from
7.4 on a blocked cell must give its comm back to the front end's subshell.
"""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import importlib.util
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import BuiltinFunctionType
from typing import Any

from notebook_agents.waiting import running_loop

__all__ = [
    "Cell",
    "can_ask_stdin",
    "cell_key",
    "free_comm",
    "how_to_answer",
    "interrupts",
    "is_captured",
    "is_cell_task",
    "kernel",
    "on_interrupt",
    "pump",
    "shell",
    "shows_cards",
    "this_cell",
]

_COMM_MESSAGES = frozenset({"comm_open", "comm_msg", "comm_close"})


def shell() -> Any:
    """Give IPython's shell, or None where there is none."""
    module = sys.modules.get("IPython")
    return module.get_ipython() if module is not None else None


def kernel() -> Any:
    """Give the Jupyter kernel, or None in a terminal."""
    return getattr(shell(), "kernel", None)


def can_ask_stdin() -> bool:
    """Tell whether the front end of this cell can answer ``input()``.

    Returns
    -------
    bool
        False under nbclient, papermill and nbconvert: nobody is there.
    """
    here = kernel()
    if here is None:
        return bool(sys.stdin and sys.stdin.isatty())
    parent = here.get_parent("shell")
    return bool(parent and parent.get("content", {}).get("allow_stdin"))


def cell_key() -> str | None:
    """Name the cell that runs, the same each time it does.

    Returns
    -------
    str or None
        None where the front end does not say which cell it is.
    """
    here = kernel()
    parent = here.get_parent("shell") if here is not None else None
    cell = (parent or {}).get("metadata", {}).get("cellId")
    # Copies of a notebook share the identifiers of their cells.
    return f"{os.environ.get('JPY_SESSION_NAME', '')}#{cell}" if cell else None


def how_to_answer() -> str:
    """Say how a call is answered from another cell."""
    magics = shell().magics_manager.magics["line"]
    how = "%agent approvals lists what waits, %agent approve and %agent deny answer it"
    return (
        f"{how}." if "agent" in magics else f"{how}, after %load_ext notebook_agents."
    )


def is_cell_task(task: asyncio.Task[Any] | None) -> bool:
    """Tell whether a task is the cell itself and not one that it made.

    Returns
    -------
    bool
        Only if true may an interrupt be raised: in a task of the user's it
        would end the kernel's loop.
    """
    coroutine = task.get_coro() if task is not None else None
    return getattr(coroutine, "__name__", "").startswith("run_cell")


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell, for whoever may outlive it.

    Parameters
    ----------
    message : mapping or None
        What the kernel was told to run.
    task : asyncio.Task or None
        What runs, if it awaits.
    """

    message: Any = None
    task: asyncio.Task[Any] | None = None

    def is_running(self) -> bool:
        """Tell whether it runs; of one that has no task, whether any cell does."""
        if self.task is not None:
            return not self.task.done()
        # For as long as a cell runs, the kernel has put its own in this place.
        return not isinstance(builtins.input, BuiltinFunctionType)


def this_cell() -> Cell:
    """Give the cell that runs at this moment."""
    here = kernel()
    message = here.get_parent("shell") if here is not None else None
    return Cell(message, _cell_task())


def _cell_task() -> asyncio.Task[Any] | None:
    tasks = asyncio.all_tasks() if running_loop() is not None else ()
    return next(filter(is_cell_task, tasks), None)


def shows_cards() -> bool:
    """Tell whether a widget can be made."""
    return importlib.util.find_spec("anywidget") is not None


def is_captured() -> bool:
    """Tell whether the cell that runs keeps its output to itself (``%%capture``)."""
    from IPython.core.displaypub import CapturingDisplayPublisher

    return isinstance(shell().display_pub, CapturingDisplayPublisher)


@contextlib.contextmanager
def interrupts() -> Iterator[threading.Event]:
    """Note the interrupts of a cell while a block runs, and pass them on.

    Yields
    ------
    threading.Event
        Set by the first interrupt. Where somebody notes them already, it is
        theirs.
    """
    before: Any = signal.getsignal(signal.SIGINT)
    is_main = threading.current_thread() is threading.main_thread()
    is_noted = isinstance(before, _Noting) and not before.seen.is_set()
    if is_noted or not callable(before) or not is_main:
        yield before.seen if is_noted else threading.Event()
        return
    noting = _Noting(before)
    signal.signal(signal.SIGINT, noting)
    try:
        yield noting.seen
    finally:
        # The kernel puts its own handler back when the cell ends.
        if signal.getsignal(signal.SIGINT) is noting:
            signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def on_interrupt(handler: Callable[[int, Any], Any]) -> Iterator[None]:
    """Handle the Stop button while a block runs that is no part of a cell.

    Between two cells a kernel ignores it.

    Parameters
    ----------
    handler : callable
        A signal handler, called before the one there was. In the main thread only.

    Yields
    ------
    None
        While it is in force.
    """
    before: Any = signal.getsignal(signal.SIGINT)

    def handle(number: int, frame: Any) -> None:
        handler(number, frame)
        if callable(before):  # a cell that awaits something meanwhile
            before(number, frame)

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is handle:  # no cell has begun meanwhile
            signal.signal(signal.SIGINT, before)


class _Noting:
    """A handler that notes an interrupt and hands it to the one before."""

    def __init__(self, before: Callable[[int, Any], Any]) -> None:
        self.seen = threading.Event()
        self._before = before
        self._task: asyncio.Task[Any] | None = None
        """What to cancel, where the cell itself runs it in a nested loop."""
        cell, task = _cell_task(), asyncio.current_task()
        if cell is not None and cell is not task and _is_on_the_stack(cell):
            self._task = task

    def __call__(self, number: int, frame: Any) -> None:
        self.seen.set()
        if self._task is None:
            self._before(number, frame)
            return
        # The kernel would cancel the cell, which cannot see that meanwhile; and
        # for a cell that ends cancelled no reply is sent.
        self._task.get_loop().call_soon_threadsafe(self._task.cancel)


def _is_on_the_stack(task: asyncio.Task[Any]) -> bool:
    return bool(getattr(task.get_coro(), "cr_running", False))


def free_comm(widget: Any) -> None:
    """Let replies to a widget arrive on the front end's subshell.

    From ipykernel 7.4 on they go to the shell that last used the comm, which
    is the very one that a sync cell blocks.
    """
    if hasattr(widget.comm, "_reply_subshell_for"):
        widget.comm._reply_subshell_for = None  # noqa: SLF001 - no public way


def pump(blocked: bool) -> None:  # noqa: FBT001 - the signature of a waiter's tick
    """Handle the comm messages that wait behind a busy cell of ipykernel 6.

    Parameters
    ----------
    blocked : bool
        Whether the kernel's loop stands still, so that the socket must be
        read here.
    """
    here = kernel()
    waiting = getattr(here, "msg_queue", None)
    if waiting is None or not _is_ipykernel_6(here):
        return  # ipykernel 7 delivers them by itself
    if blocked:
        import zmq

        here.shell_stream.flush(zmq.POLLIN)
    kept = [item for item in _drained(waiting) if not _handled(here, item)]
    for item in kept:  # everything else keeps its order
        waiting.put_nowait(item)


def _is_ipykernel_6(here: Any) -> bool:
    return hasattr(here, "do_one_iteration")


def _drained(waiting: Any) -> list[Any]:
    items = []
    while True:
        try:
            items.append(waiting.get_nowait())
        except (queue.Empty, asyncio.QueueEmpty):
            return items
        except Exception as error:
            if type(error).__name__ == "QueueEmpty":
                return items
            raise


def _handled(here: Any, item: Any) -> bool:
    identities, parts = here.session.feed_identities(item[2][0], copy=False)
    # Peek only: deserialising twice counts as a replayed message.
    kind = here.session.unpack(parts[1].bytes)["msg_type"]
    if kind not in _COMM_MESSAGES:
        return False
    try:
        message = here.session.deserialize(parts, content=True, copy=False)
        getattr(here.comm_manager, kind)(here.shell_stream, identities, message)
    except Exception:
        here.log.exception("a widget message could not be handled")
    return True
