"""What the checks of this folder are made of."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
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
"""Longest wait for the threads of a check."""


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
    """Run a coroutine on a loop of its own, wherever the caller is."""

    def drive() -> T:
        with asyncio.Runner() as runner:
            return runner.run(work)

    # In a thread: the cell of a notebook has a running loop already.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(drive).result(SECONDS)


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
