"""What the names in an annotation mean, looked up where Python would."""

from __future__ import annotations

import builtins
import functools
import inspect
import sys
import types
import typing
from collections import ChainMap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Scope", "innermost", "resolve"]


@dataclass(frozen=True, slots=True)
class Scope:
    """The names that an annotation may use."""

    module: dict[str, Any]
    """Globals of the function."""

    names: Mapping[str, Any]
    """All of them, nearest first."""

    @classmethod
    def of(cls, func: Callable[..., Any]) -> Scope:
        """Collect the names around a function, while it is being defined."""
        inner = innermost(func)
        module = getattr(inner, "__globals__", {})
        main = sys.modules.get("__main__")
        return cls(
            module,
            ChainMap(
                {item.__name__: item for item in getattr(inner, "__type_params__", ())},
                _closure(inner),
                *_enclosing_locals(inner, module),
                module,
                # Before the notebook, where somebody may have named a list `list`.
                vars(builtins),
                vars(main) if main else {},
            ),
        )

    @classmethod
    def of_caller(cls) -> Scope:
        """Collect the names where code outside of this package calls it."""
        main = vars(sys.modules["__main__"]) if "__main__" in sys.modules else {}
        frame: types.FrameType | None = sys._getframe(1)  # noqa: SLF001 - no public way
        while frame is not None and _is_ours(frame):
            frame = frame.f_back
        module = frame.f_globals if frame is not None else main
        nearest: list[dict[str, Any]] = []
        while frame is not None:
            if frame.f_globals is module:
                nearest.append(frame.f_locals)
            frame = frame.f_back
        return cls(module, ChainMap(*nearest, module, vars(builtins), main))


def _is_ours(frame: types.FrameType) -> bool:
    name = str(frame.f_globals.get("__name__", ""))
    return name.partition(".")[0] == __name__.partition(".")[0]


def innermost(func: Any) -> Any:
    """Find the plain function under partials, methods, wrappers and objects."""
    while True:
        if isinstance(func, functools.partial):
            func = func.func
        elif isinstance(func, staticmethod | classmethod | types.MethodType):
            func = func.__func__
        elif hasattr(func, "__wrapped__"):
            return innermost(inspect.unwrap(func))
        elif isinstance(func, type):
            return func.__init__  # type: ignore[misc]  # read only, never called
        elif not inspect.isroutine(func) and inspect.isfunction(type(func).__call__):
            func = type(func).__call__
        else:
            return func


def resolve(annotation: Any, scope: Scope) -> tuple[Any, bool]:
    """Replace the strings in an annotation by what they name.

    Parameters
    ----------
    annotation : object
        As ``inspect.signature`` gives it.
    scope : Scope
        The names around the function.

    Returns
    -------
    tuple of (object, bool)
        The annotation and whether it is known; `typing.Any` if it is not.
    """
    if isinstance(annotation, type) and not typing.get_args(annotation):
        return annotation, True

    def carrier() -> None: ...

    carrier.__annotations__ = {"it": annotation}
    try:
        hints = typing.get_type_hints(
            carrier, scope.module, dict(scope.names), include_extras=True
        )
    except Exception:  # noqa: BLE001 - an annotation may be any expression at all
        return Any, False
    return hints["it"], True


def _closure(func: Any) -> dict[str, Any]:
    code = getattr(func, "__code__", None)
    cells = getattr(func, "__closure__", None) or ()
    if code is None:
        return {}
    found = {}
    for name, cell in zip(code.co_freevars, cells, strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:
            # The name gets its value only after the function is defined.
            continue
    return found


def _enclosing_locals(func: Any, module: dict[str, Any]) -> list[dict[str, Any]]:
    """Collect the local names of the functions and classes written around `func`."""
    # With `from __future__ import annotations` a name that only an annotation uses
    # is not in the closure, so the frames are asked: those that are still running
    # and whose code encloses that of `func`.
    path = getattr(func, "__qualname__", "")
    found: list[dict[str, Any]] = []
    frame: types.FrameType | None = sys._getframe(1)  # noqa: SLF001 - no public way
    while frame is not None:
        place = frame.f_code.co_qualname
        encloses = place == "<module>" or path.startswith(f"{place}.")
        if encloses and frame.f_globals is module:
            found.append(frame.f_locals)
        frame = frame.f_back
    return found
