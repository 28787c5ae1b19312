"""How far a running tool is: what it says, and how that reaches the run."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections import deque
from dataclasses import dataclass
from numbers import Real
from typing import Any

__all__ = ["Progress", "Reports", "progress_of"]

LONGEST_MESSAGE = 200
"""Characters of a message that are kept."""
MOST_WAITING = 50
"""Reports that wait to be read; older ones give way."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a tool is; a generator tool yields it.

    Parameters
    ----------
    done : float, default 0
        How much is done, in any unit.
    total : float, optional
        How much there is, in the same unit; None if nobody knows.
    message : str, default ""
        What is being done, in a few words; 200 characters are kept.

    Raises
    ------
    TypeError
        If a number is no number.

    Examples
    --------
    >>> from notebook_agents import Progress
    >>> def import_files(paths: list[str]):
    ...     "Import files."
    ...     for number, path in enumerate(paths, 1):
    ...         yield Progress(number, len(paths), path)
    ...     return f"{len(paths)} files imported"
    >>> next(import_files(["a.csv", "b.csv"]))
    Progress(done=1.0, total=2.0, message='a.csv')
    """

    done: float = 0.0
    total: float | None = None
    message: str = ""

    def __post_init__(self) -> None:
        total = None if self.total is None else _number("total", self.total)
        # Whatever the arithmetic of a tool came to: JSON has no infinity, and a
        # bar without a length cannot be drawn.
        object.__setattr__(self, "done", _number("done", self.done) or 0.0)
        object.__setattr__(self, "total", total if total and total > 0 else None)
        text = str(self.message)[:LONGEST_MESSAGE].encode("utf-8", "replace").decode()
        object.__setattr__(self, "message", text)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _number(name: str, value: Any) -> float | None:
    if not _is_number(value):
        message = f"{name} is a number, not {value!r:.80}: Progress(3, 10, 'message')."
        raise TypeError(message)
    try:
        number = float(value)
    except OverflowError:  # a whole number may have any size
        return None
    return number if math.isfinite(number) else None


def progress_of(value: Any) -> Progress | None:
    """Read what a generator tool yielded.

    Parameters
    ----------
    value : object
        A `Progress`, a text, or a number.

    Returns
    -------
    Progress or None
        None for everything else, which is no report.
    """
    if isinstance(value, Progress):
        return value
    if isinstance(value, str):
        return Progress(message=value)
    return Progress(value) if _is_number(value) else None


class Reports:
    """Carries progress from wherever a tool runs to the loop of its run."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[Progress] = deque(maxlen=MOST_WAITING)
        self._arrived = asyncio.Event()
        self._is_waking = False

    def put(self, progress: Progress) -> None:
        """Hand in a report; callable from any thread, and never waits."""
        self._waiting.append(progress)
        if not self._is_waking:
            self._is_waking = True  # one hop for everything that comes until then
            with contextlib.suppress(RuntimeError):  # the loop has been closed
                self._loop.call_soon_threadsafe(self._wake)

    def take(self) -> list[Progress]:
        """Take out what has come so far, oldest first."""
        self._arrived.clear()
        return [self._waiting.popleft() for _ in range(len(self._waiting))]

    def end(self) -> None:
        """Say on the loop that nothing comes any more, to whoever waits."""
        self._arrived.set()

    async def wait(self) -> None:
        """Wait until there is something to take, or nothing comes any more."""
        await self._arrived.wait()

    def _wake(self) -> None:
        self._is_waking = False
        self._arrived.set()
