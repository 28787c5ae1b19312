"""The key under which a result is cached: the arguments as the function sees them.

Positional and keyword, given and by default are the same; ``True`` and ``1``
are not. What cannot be hashed counts by what is in it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import pickle
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, cast

__all__ = ["NoKeyError", "key_of"]

_BY_IDENTITY: Any = object.__hash__
_PLAIN = frozenset({str, int, float, bool, bytes, complex, type(None)})


class NoKeyError(Exception):
    """An argument has no key; the message names it."""


def key_of(
    signature: inspect.Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Hashable:
    """Make the key of a call.

    Parameters
    ----------
    signature : Signature
        That of the function.
    args, kwargs : tuple, mapping
        What it is called with.

    Returns
    -------
    hashable
        Equal for equal calls.

    Raises
    ------
    NoKeyError
        If an argument can be neither hashed nor pickled.
    TypeError
        If they do not fit the signature, as for any call.
    """
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    return tuple((name, _key(name, value)) for name, value in bound.arguments.items())


def _key(name: str, value: Any) -> Hashable:
    try:
        return _frozen(value)
    except Exception as error:
        message = f"{name!r} ({type(value).__name__}) can be neither hashed nor pickled"
        raise NoKeyError(message) from error


def _frozen(value: Any) -> Hashable:
    """Give something hashable that is equal for equal values of the same types."""
    kind = type(value)
    if kind in _PLAIN:
        # A NaN is not equal to itself.
        return kind, value if value == value else "nan"  # noqa: PLR0124
    if kind in {dict, set, frozenset}:
        members = value.items() if kind is dict else value
        return kind, frozenset(map(_frozen, members))
    parts = _parts_of(value)
    if parts is not None:
        return kind, tuple(map(_frozen, parts))
    try:
        hash(value)
    except Exception:  # noqa: BLE001 - the class is the user's
        return kind, hashlib.sha256(pickle.dumps(value)).digest()
    return kind, value


def _parts_of(value: Any) -> Iterable[Any] | None:
    """List the parts of a sequence, a dataclass or a pydantic model."""
    kind = type(value)
    if isinstance(value, tuple) or kind is list:
        return cast("Iterable[Any]", value)
    if getattr(kind, "__hash__", None) is _BY_IDENTITY:
        return None  # whatever is in it, it is equal to itself alone
    if dataclasses.is_dataclass(value):
        return [getattr(value, item.name) for item in dataclasses.fields(value)]
    if hasattr(kind, "__pydantic_fields__"):
        names = ("__dict__", "__pydantic_extra__", "__pydantic_private__")
        return [getattr(value, name, None) for name in names]
    return None
