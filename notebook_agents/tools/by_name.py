"""Types that pydantic cannot read from JSON, and how a call carries them all the same.

A subclass of a plain type travels as that type. Everything else is live: the
model writes the name of a variable.
"""

from __future__ import annotations

import sys
import types
import typing
from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import PurePath
from typing import Annotated, Any, Union
from uuid import UUID

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ValidationInfo,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError
from typing_extensions import TypeAliasType

from notebook_agents.tools.variables import Kind, UnknownVariableError, Variables

__all__ = ["UNKNOWN_VARIABLE", "carried", "hint_of", "kinds_of"]

UNKNOWN_VARIABLE = "unknown_variable"
"""The type of the validation error for a name that nothing fits."""

# A datetime is a date, so it comes first.
_PLAIN = (
    *(str, int, float, bytes, datetime, date, time, timedelta, Decimal, UUID, PurePath),
    *(list, dict, set, frozenset, tuple),
)
_UNIONS = (Union, types.UnionType)
_NO_VARIABLES = Variables()


def carried(annotation: Any, is_carried: Callable[[Any], bool]) -> Any:
    """Exchange what JSON cannot carry in an annotation.

    Parameters
    ----------
    annotation : object
        A type.
    is_carried : callable
        Tells whether pydantic reads a type from JSON.

    Returns
    -------
    object
        A type that can be read, or None if this is no type at all.
    """
    if isinstance(annotation, TypeAliasType):
        # Outermost only: an alias may stand for something that it is part of.
        annotation = annotation.__value__
    return _carried(annotation, is_carried)


def _carried(annotation: Any, is_carried: Callable[[Any], bool]) -> Any:
    annotation = _unwrapped(annotation)
    if is_carried(annotation):
        return annotation
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        return _annotated(_carried(parts[0], is_carried), parts[1:], is_carried)
    is_union = origin in _UNIONS
    if not is_union and not _is_container(origin):
        return _stand_in(annotation)
    inner = [p if p is Ellipsis else _carried(p, is_carried) for p in parts]
    if None in inner:
        return None
    changed = _union(inner) if is_union else origin[tuple(inner)]
    return changed if is_carried(changed) else _stand_in(annotation)


def _annotated(
    inner: Any, metadata: tuple[Any, ...], is_carried: Callable[[Any], bool]
) -> Any:
    if inner is None:
        return None
    whole: Any = Annotated
    whole = whole[(inner, *metadata)]
    if is_carried(whole):
        return whole
    # A constraint means nothing to a live object; elsewhere it is a mistake.
    return inner if hint_of(inner) else None


def hint_of(annotation: Any) -> str | None:
    """Say what the model has to write, where that is the name of a variable.

    Parameters
    ----------
    annotation : object
        As `carried` gives it.

    Returns
    -------
    str or None
        One sentence.
    """
    for item in getattr(annotation, "__metadata__", ()):
        if isinstance(item, Kind):
            return _sentence(item)
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        return hint_of(parts[0])
    if origin in _UNIONS:
        parts = tuple(part for part in parts if part is not types.NoneType)
        return hint_of(parts[0]) if len(parts) == 1 else None
    return None


def kinds_of(annotation: Any) -> Iterator[Kind]:
    """List what a model may name in a value, at any depth.

    Parameters
    ----------
    annotation : object
        As `carried` gives it.

    Yields
    ------
    Kind
        A kind of object.
    """
    for item in getattr(annotation, "__metadata__", ()):
        if isinstance(item, Kind):
            yield item
    for part in typing.get_args(annotation):
        yield from kinds_of(part)


def _unwrapped(annotation: Any) -> Any:
    """Find what a `NewType` or a type variable stands for."""
    while isinstance(annotation, typing.NewType):
        annotation = annotation.__supertype__
    return getattr(annotation, "__bound__", None) or annotation


def _is_container(origin: Any) -> bool:
    modules = {"builtins", "collections", "collections.abc"}
    is_class = isinstance(origin, type) and origin.__module__ in modules
    return is_class and issubclass(origin, Iterable)


def _union(parts: list[Any]) -> Any:
    """Look a name up before it passes for a text."""
    named = [part for part in parts if hint_of(part)]
    others = [part for part in parts if not hint_of(part)]
    union: Any = Union
    whole = union[(*named, *others)]
    if not named or not set(others) - {types.NoneType}:
        return whole
    return Annotated[whole, Field(union_mode="left_to_right")]


def _stand_in(annotation: Any) -> Any:
    origin = typing.get_origin(annotation) or annotation
    is_class = isinstance(origin, type) and origin not in _UNIONS
    if not is_class or typing.is_typeddict(origin):
        return None
    plain = _plain_base(origin)
    if plain is not None:
        return Annotated[plain, AfterValidator(lambda value: _made(origin, value))]
    kind = Kind(origin.__name__, origin)
    schema = {"type": "string", "description": _sentence(kind)}
    look_up = BeforeValidator(_looking_up(kind))
    return Annotated[Any, look_up, WithJsonSchema(schema), kind]


def _sentence(kind: Kind) -> str:
    return f"Name of a variable that holds {kind.described}, not the data itself."


def _looking_up(kind: Kind) -> Callable[[Any, ValidationInfo], Any]:
    def look_up(value: Any, info: ValidationInfo) -> Any:
        variables: Variables = info.context or _NO_VARIABLES
        try:
            return variables.find(value, kind)
        except UnknownVariableError as error:
            # In a template of its own, as a name may have braces.
            facts = {"text": str(error)}
            raise PydanticCustomError(UNKNOWN_VARIABLE, "{text}", facts) from None

    return look_up


def _plain_base(kind: type) -> Any:
    numpy = sys.modules.get("numpy")
    if numpy is not None and issubclass(kind, numpy.generic):
        bases = {numpy.integer: int, numpy.floating: float, numpy.bool_: bool}
        return next((bases[base] for base in bases if issubclass(kind, base)), None)
    return next((base for base in _PLAIN if issubclass(kind, base)), None)


def _made(kind: Any, value: Any) -> Any:
    try:
        return kind(value)
    except TypeError:
        if not isinstance(value, date | time):
            raise
        return kind.fromisoformat(value.isoformat())  # a constructor of parts
