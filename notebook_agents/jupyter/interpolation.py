"""Variables in a prompt: ``{name}``, ``{name.attribute}``, ``{name[0]}``.

Only what starts with a variable of the notebook is replaced. Everything else
stays exactly as it was typed, so code, JSON and LaTeX need no escaping, and
nothing is ever called. What looks as if it were meant for a variable, but is left
as it stands, is reported.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Interpolated", "interpolate"]

_PATH = r"""[^\W\d]\w*(?:\.[^\W\d]\w*|\[(?:-?\d+|'[^'\\]*'|"[^"\\]*")\])*"""
_FIELD = re.compile(
    rf"\{{\{{(?P<escaped>{_PATH})\}}\}}|\{{(?P<path>{_PATH})(?P<repr>!r)?\}}"
)
"""``{{x}}``, which is written ``{x}``, or ``{x}`` itself."""
_TOO_MUCH = re.compile(
    r"(?<!\{)\{(?P<all>(?P<root>[^\W\d]\w*)(?:\.[^\W\d]\w*|\[[^\[\]{}\n]*\])*"
    r"(?:![rsa])?(?P<format>:[^{}\n]*)?)\}(?!\})"
)
"""What Python's own templates would take, of which the part above is replaced."""
_STEP = re.compile(r"\.([^\W\d]\w*)|\[([^\]]*)\]")


@dataclass(frozen=True, slots=True)
class Interpolated:
    """A prompt with its variables put in.

    Parameters
    ----------
    text : str
        The prompt.
    left : tuple of str
        What looked like a variable and was left as it stood.
    """

    text: str
    left: tuple[str, ...] = ()


def interpolate(prompt: str, variables: Mapping[str, Any]) -> Interpolated:
    """Put variables into a prompt.

    Parameters
    ----------
    prompt : str
        As typed.
    variables : mapping of str to object
        The names that may be used.

    Returns
    -------
    Interpolated
        Unknown names stay as they are and are listed once.

    Examples
    --------
    >>> interpolate("Sum {x} and {y}, as {{x}}", {"x": [1, 2]})
    Interpolated(text='Sum [1, 2] and {y}, as {x}', left=('y',))
    """
    left: dict[str, None] = {}

    def put(found: re.Match[str]) -> str:
        if found["escaped"] is not None:
            return "{" + found["escaped"] + "}"
        path = found["path"]
        try:
            value = _value(path, variables)
        except Exception:  # noqa: BLE001 - whatever looking it up raised
            left[path] = None
            return found[0]
        return repr(value) if found["repr"] else str(value)

    text = _FIELD.sub(put, prompt)
    for found in _TOO_MUCH.finditer(prompt):
        # {"a": 1} and {a: 1} are data; a format is meant only behind a variable.
        is_meant = found["format"] is None or found["root"] in variables
        if is_meant and _FIELD.fullmatch(found[0]) is None:
            left[found["all"]] = None
    return Interpolated(text, tuple(left))


def _value(path: str, variables: Mapping[str, Any]) -> Any:
    root = re.match(r"\w+", path)
    assert root is not None  # noqa: S101 - the pattern begins with a name
    value = variables[root[0]]
    for attribute, index in _STEP.findall(path[root.end() :]):
        value = getattr(value, attribute) if attribute else value[_constant(index)]
    return value


def _constant(text: str) -> Any:
    return ast.literal_eval(text)
