"""What a docstring says about a function and its parameters."""

from __future__ import annotations

import functools
import inspect
import re
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Documentation", "read_documentation"]

_KEYWORDS = re.compile(r"^([ \t]*)Keyword Arg(?:ument)?s:[ \t]*$", re.MULTILINE)
_SECTION = re.compile(
    r"(?:Args|Arguments|Params|Parameters|Returns|Raises):?[ \t]*\n|:"
)
_NO_SUMMARY = "."


@dataclass(frozen=True, slots=True)
class Documentation:
    """The parts of a docstring that a model is told."""

    summary: str = ""
    """First paragraph, on one line; empty if there is none."""

    parameters: Mapping[str, str] = field(default_factory=dict)
    """Description of each documented parameter, on one line."""


def read_documentation(func: Callable[..., Any]) -> Documentation:
    """Read the docstring of a callable, in Google, NumPy or Sphinx style.

    Parameters
    ----------
    func : callable
        Function, method, partial, class or object with ``__call__``.

    Returns
    -------
    Documentation
        Empty if there is no docstring.
    """
    text = _docstring_of(func)
    if "\n" not in text and not text.startswith(":"):
        return Documentation(text)
    return _parse(text)


def _docstring_of(func: Any) -> str:
    """Find the docstring that describes the call."""
    while isinstance(func, functools.partial):
        # A partial has the docstring of the class `partial`.
        func = func.func
    candidates: tuple[Any, ...] = (func,)
    if not isinstance(func, type) and not inspect.isroutine(func):
        candidates = (type(func).__call__, type(func))
    for candidate in candidates:
        # An object's `__call__` may be written in C, and then says nothing of it.
        if not isinstance(candidate, types.WrapperDescriptorType):
            text = getattr(candidate, "__doc__", None)
            if isinstance(text, str) and text.strip():
                return inspect.cleandoc(text).strip()
    return ""


def _parse(text: str) -> Documentation:
    # Imported here: most docstrings of tools are one line.
    from docstring_parser import parse

    text = _KEYWORDS.sub(r"\1Params:", text)
    has_summary = _SECTION.match(text) is None
    try:
        # Whatever comes first would be the summary.
        parsed = parse(text if has_summary else f"{_NO_SUMMARY}\n\n{text}")
    except Exception:  # noqa: BLE001 - it fails in many ways on odd text
        return Documentation(_first_paragraph(text) if has_summary else "")
    parameters = {
        name.strip().lstrip("*"): _on_one_line(parameter.description)
        for parameter in parsed.params
        if parameter.description
        for name in parameter.arg_name.split(",")
    }
    summary = _first_paragraph(parsed.description or "") if has_summary else ""
    return Documentation(summary, parameters)


def _first_paragraph(text: str) -> str:
    return _on_one_line(text.strip().split("\n\n", 1)[0])


def _on_one_line(text: str) -> str:
    return " ".join(text.split())
