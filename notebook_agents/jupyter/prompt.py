"""Reading a line from the person, until nobody needs it any more."""

from __future__ import annotations

import _thread
import signal
import sys
import threading
from collections.abc import Callable

from notebook_agents.jupyter import kernel

__all__ = ["input_until"]

LOOK_SECONDS = 0.1
"""How often a waiting prompt looks whether it is still needed."""


def input_until(is_over: Callable[[], bool], prompt: str) -> str | None:
    """Read a line in the main thread.

    Parameters
    ----------
    is_over : callable
        Looked at ten times a second; once true, the prompt ends.
    prompt : str
        What stands before the line.

    Returns
    -------
    str or None
        The line, empty at the end of the input; None once it was over.

    Raises
    ------
    KeyboardInterrupt
        If the person stops the cell.
    """
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
