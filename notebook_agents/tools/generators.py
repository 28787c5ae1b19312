"""Generator tools: what they yield is progress, what they return is the result.

A generator has no return value if it is async, and needs none: the last thing
that it yielded is its result then. Whatever ends the reading closes it, so that
its ``finally`` runs.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from types import AsyncGeneratorType, GeneratorType
from typing import Any, TypeAlias

from notebook_agents.tools.progress import Progress, progress_of

__all__ = ["Report", "read", "read_async"]

Report: TypeAlias = Callable[[Progress], object]

_COMPREHENSION = "<genexpr>"


def read(
    values: GeneratorType[Any, Any, Any], report: Report, is_stopped: Callable[[], bool]
) -> Any:
    """Run a generator to its end.

    Parameters
    ----------
    values : generator
        What a tool returned. A generator expression is no tool that reports, but
        a list that has not been made yet.
    report : callable
        Takes the progress.
    is_stopped : callable
        Looked at after each value.

    Returns
    -------
    object
        The result.
    """
    if values.gi_code.co_name == _COMPREHENSION:
        return _listed(values, is_stopped)
    last: Any = None
    try:
        while not is_stopped():
            last = _heard(next(values), last, report)
    except StopIteration as end:
        return last if end.value is None else end.value
    finally:
        values.close()
    return None  # and nobody reads it


async def read_async(values: AsyncGeneratorType[Any, Any], report: Report) -> Any:
    """Run an async generator to its end.

    Parameters
    ----------
    values : async generator
        What a tool returned.
    report : callable
        Takes the progress.

    Returns
    -------
    object
        The result.
    """
    last: Any = None
    async with aclosing(values):
        if values.ag_code.co_name == _COMPREHENSION:
            return [value async for value in values]
        async for value in values:
            last = _heard(value, last, report)
    return last


def _listed(
    values: GeneratorType[Any, Any, Any], is_stopped: Callable[[], bool]
) -> list[Any]:
    found = []
    for value in values:
        if is_stopped():
            values.close()
            break
        found.append(value)
    return found


def _heard(value: Any, last: Any, report: Report) -> Any:
    progress = progress_of(value)
    if progress is not None:
        report(progress)
    return last if isinstance(value, Progress) else value
