"""What the checks of this folder are made of."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future, wait
from typing import Any, TypeAlias, TypeVar

from notebook_agents.messages import ToolCall

__all__ = [
    "CONVERSATION",
    "Record",
    "check_equal",
    "expecting",
    "in_threads",
    "make_turn",
    "run",
    "said",
]

T = TypeVar("T")
Record: TypeAlias = dict[str, Any]

THREADS = 4
SECONDS = 30.0
"""Longest wait for what a check does."""


def said(role: str, content: str) -> Record:
    """Make a message."""
    return {"role": role, "content": content}


def make_turn(text: str) -> list[Record]:
    """Make a question and its answer."""
    return [said("user", f"{text}?"), said("assistant", text)]


CONVERSATION: list[Record] = [
    said("user", 'Grüße "\\" 👋\n\x00'),
    {
        **said("assistant", ""),
        "tool_calls": [ToolCall("call_1", "add", '{"a": 1}').to_dict()],
        "intermediate": True,
        "turn": "t",
    },
    {
        **said("tool", "2"),
        "tool_call_id": "call_1",
        "intermediate": True,
        "turn": "t",
    },
    {**said("assistant", "It is 2."), "turn": "t"},
]
"""Records with everything that a record may have."""


def check_equal(found: object, expected: object) -> None:
    """Compare, also where ``assert`` is switched off.

    Parameters
    ----------
    found, expected : object
        What was got and what was promised.

    Raises
    ------
    AssertionError
        If they differ.
    """
    if found != expected:
        message = f"found {found!r}, expected {expected!r}"
        raise AssertionError(message)


def check_that(*, what: str, holds: bool) -> None:
    """Require something, also where ``assert`` is switched off.

    Parameters
    ----------
    what : str
        What is required.
    holds : bool
        Whether it is so.

    Raises
    ------
    AssertionError
        If it is not.
    """
    if not holds:
        message = f"{what}: it is not so"
        raise AssertionError(message)


@contextlib.contextmanager
def expecting(kind: type[Exception]) -> Iterator[None]:
    """Require that the block raises.

    Parameters
    ----------
    kind : type of Exception
        What it has to raise.

    Yields
    ------
    None
        Once.

    Raises
    ------
    AssertionError
        If it raises nothing.
    """
    try:
        yield
    except kind:
        return
    message = f"{kind.__name__} was not raised"
    raise AssertionError(message)


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on a loop of its own, wherever the caller is.

    Parameters
    ----------
    work : coroutine
        What to run.

    Returns
    -------
    object
        What it returns.

    Raises
    ------
    AssertionError
        If it does not end; else whatever it raises.
    """
    what = f"it ends within {SECONDS:g} s"
    outcome: Future[T] = Future()

    async def watch() -> T:
        task = asyncio.ensure_future(work)
        done, _ = await asyncio.wait([task], timeout=SECONDS)
        check_that(what=what, holds=bool(done))
        return task.result()

    def drive() -> None:
        try:
            with asyncio.Runner() as runner:  # which cancels what has not ended
                found = runner.run(watch())
        except BaseException as error:  # noqa: BLE001 - told in the asking thread
            outcome.set_exception(error)
        else:
            outcome.set_result(found)

    # In a thread: the cell of a notebook has a running loop already. If that hangs
    # for good, neither this check nor the end of the process waits for it.
    threading.Thread(target=drive, daemon=True).start()
    done, _ = wait([outcome], timeout=2 * SECONDS)
    check_that(what=what, holds=bool(done))
    return outcome.result()


def in_threads(work: Callable[[int], None]) -> None:
    """Do something in several threads at once.

    Parameters
    ----------
    work : callable
        Takes the number of its thread.

    Raises
    ------
    AssertionError
        If a thread does not end; else what a thread raised.
    """
    failures: list[BaseException] = []

    def guarded(number: int) -> None:
        try:
            work(number)
        except BaseException as error:  # noqa: BLE001 - told in the asking thread
            failures.append(error)

    threads = [
        threading.Thread(target=guarded, args=(number,), daemon=True)
        for number in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    check_equal([thread.name for thread in threads if thread.is_alive()], [])
    for failure in failures:
        raise failure
