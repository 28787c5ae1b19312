"""Generator tools: what they yield is progress, what they return is the result.

A generator has no return value if it is async, and needs none: the last thing
that it yielded is its result then. Whatever ends the reading closes it, so that
its ``finally`` runs. Any other iterator, such as a ``map``, is a list that has
not been made yet.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import aclosing
from itertools import islice
from types import AsyncGeneratorType, GeneratorType
from typing import Any, TypeAlias

from notebook_agents.tools.observation import MODEL_CHARACTERS, shows_itself
from notebook_agents.tools.progress import Progress, progress_of

__all__ = ["Report", "is_to_be_read", "read", "read_async"]

Report: TypeAlias = Callable[[Progress], object]

_COMPREHENSION = "<genexpr>"


def is_to_be_read(value: object) -> bool:
    """Tell whether a value has to be read before it is a result.

    Parameters
    ----------
    value : object
        What a tool returned.

    Returns
    -------
    bool
        Whether it is an iterator, unless people would see something else in it.
    """
    return issubclass(type(value), Iterator) and not shows_itself(value)


def read(values: Iterator[Any], report: Report, is_stopped: Callable[[], bool]) -> Any:
    """Read an iterator to its end, and hear what a generator reports.

    Parameters
    ----------
    values : iterator
        What a tool returned. A generator expression is no tool that reports, but
        a list that has not been made yet; so is what is no generator, of which
        no more is read than a model could be shown, since it may never end.
    report : callable
        Takes the progress.
    is_stopped : callable
        Looked at after each value.

    Returns
    -------
    object
        The result.
    """
    if not inspect.isgenerator(values):
        return _listed(islice(values, MODEL_CHARACTERS), is_stopped)
    try:
        if values.gi_code.co_name == _COMPREHENSION:
            return _listed(values, is_stopped)
        return _result_of(values, report, is_stopped)
    finally:
        values.close()


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


def _listed(values: Iterable[Any], is_stopped: Callable[[], bool]) -> list[Any]:
    found = []
    for value in values:
        if is_stopped():
            break
        found.append(value)
    return found


def _result_of(
    values: GeneratorType[Any, Any, Any], report: Report, is_stopped: Callable[[], bool]
) -> Any:
    last: Any = None
    try:
        while not is_stopped():
            last = _heard(next(values), last, report)
    except StopIteration as end:
        return last if end.value is None else end.value
    return None  # and nobody reads it


def _heard(value: Any, last: Any, report: Report) -> Any:
    progress = progress_of(value)
    if progress is not None:
        report(progress)
    return last if isinstance(value, Progress) else value
