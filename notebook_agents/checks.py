"""Checks of what a user passes: each gives one clear sentence for what cannot be."""

from __future__ import annotations

import math
import os
import sys
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from notebook_agents.errors import AgentConfigurationError
from notebook_agents.spelling import did_you_mean

__all__ = [
    "choice",
    "each",
    "fail",
    "flag",
    "function",
    "not_blank",
    "number",
    "path",
    "seconds",
    "shown",
    "text",
    "texts",
    "warn",
    "whole",
]

LONGEST = 80
"""Most characters of a value that a message repeats."""


def fail(message: str, cause: BaseException | None = None) -> NoReturn:
    """Refuse what a user passed."""
    raise AgentConfigurationError(message) from cause


def shown(value: object) -> str:
    """Give a value as a message repeats it: short, and on one line."""
    written = repr(value)
    if "\n" in written or (len(written) > LONGEST and not isinstance(value, str)):
        return f"a {type(value).__name__}"
    return written if len(written) <= LONGEST else f"{written[: LONGEST - 1]}…"


def text(name: str, value: object, hint: str = "") -> None:
    """Refuse what is no text."""
    if not isinstance(value, str):
        fail(f"{name} is {shown(value)}; it must be a text.{hint}")


def not_blank(name: str, value: object) -> None:
    """Refuse what is no text, or an empty one."""
    text(name, value)
    if not str(value).strip():
        fail(f"{name} is blank.")


def flag(name: str, value: object) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, bool):
        fail(f"{name} is {shown(value)}; it must be True or False.")


def choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Refuse what is none of the choices."""
    if not isinstance(value, str) or value not in choices:
        meant = did_you_mean(value, choices) if isinstance(value, str) else ""
        known = ", ".join(choices)
        fail(f"{name} is {shown(value)}; it must be one of {known}.{meant}")


def whole(name: str, value: Any, *, least: int, most: int | None = None) -> None:
    """Refuse what is no whole number in the range."""
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if not (is_whole and least <= value <= (math.inf if most is None else most)):
        limit = f"from {least} to {most}" if most is not None else f"{least} or more"
        fail(f"{name} is {shown(value)}; it must be a whole number, {limit}.")


def number(name: str, value: Any, *, least: float = -math.inf) -> None:
    """Refuse what is no finite number in the range."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (is_number and least <= value < math.inf):
        limit = "" if least == -math.inf else f", {least:g} or more"
        fail(f"{name} is {shown(value)}; it must be a number{limit}.")


def seconds(name: str, value: Any) -> None:
    """Refuse what is no span of time."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 < value < math.inf:
        fail(f"{name} is {shown(value)}; it must be a number of seconds above 0.")


def texts(name: str, value: object) -> tuple[str, ...]:
    """Give texts as a tuple; a single text is a tuple of one."""
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, Sequence | set | frozenset):
        fail(f"{name} is {shown(value)}; it must be a list of texts.")
    for item in value:
        text(f"{name}: an entry", item)
    return tuple(value)


def function(name: str, value: object, takes: str) -> None:
    """Refuse what cannot be called."""
    if not callable(value):
        fail(f"{name} is {shown(value)}; it must be a function that takes {takes}.")


def path(name: str, value: Any) -> Path:
    """Give the path that was passed, with the home folder written out."""
    is_path = isinstance(value, str | os.PathLike)
    if not is_path or not isinstance(os.fspath(value), str) or "\0" in str(value):
        fail(f"{name} is {shown(value)}; it must be the path of a file.")
    return Path(value).expanduser()


def each(name: str, value: object, what: str) -> list[Any]:
    """Give what was passed as a list, if it is several things or none."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        fail(f"{name} is {shown(value)}; it must be a list of {what}.")
    return list(value)


def warn(message: str) -> None:
    """Warn at the line of the user's code that led here."""
    level, frame = 1, sys._getframe()  # noqa: SLF001 - the only way to ask
    package = __name__.rpartition(".")[0]
    while frame.f_back and _package(frame) == package:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, UserWarning, stacklevel=level)


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]
