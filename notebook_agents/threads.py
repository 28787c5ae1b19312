"""Daemon threads that are used again: to start one takes longer than most tools."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable

__all__ = ["Threads"]

IDLE_SECONDS = 10.0
"""How long a thread waits for work before it ends."""

_Inbox = queue.SimpleQueue[tuple[Callable[[], None], str]]


class Threads:
    """As many threads as there are functions that run at the same time.

    A function that never ends keeps neither a place in a pool nor the
    interpreter from exiting.

    Parameters
    ----------
    idle_seconds : float, default 10
        How long a thread waits for work before it ends.
    """

    def __init__(self, *, idle_seconds: float = IDLE_SECONDS) -> None:
        self._idle_seconds = idle_seconds
        self._idle: list[_Inbox] = []  # the one that worked last at the end
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._idle.clear)

    @property
    def idle(self) -> int:
        """How many threads wait for work."""
        return len(self._idle)

    def start(self, function: Callable[[], None], *, name: str) -> None:
        """Run a function in a thread that does nothing else meanwhile.

        Parameters
        ----------
        function : callable
            Called without arguments; must not raise.
        name : str
            Name of the thread while it does this.
        """
        try:
            inbox = self._idle.pop()
        except IndexError:
            inbox = queue.SimpleQueue()
            threading.Thread(
                target=self._work, args=(inbox,), name=name, daemon=True
            ).start()
        inbox.put((function, name))

    def _work(self, inbox: _Inbox) -> None:
        thread = threading.current_thread()
        while True:
            try:
                function, thread.name = inbox.get(timeout=self._idle_seconds)
            except queue.Empty:
                try:
                    self._idle.remove(inbox)
                except ValueError:
                    continue  # some work is on its way
                return
            function()
            del function  # what it holds on to is not needed while this waits
            self._idle.append(inbox)
