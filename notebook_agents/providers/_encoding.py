"""What is said, made fit for the wire: bytes, names and identifiers."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import PydanticSerializationError, to_json

__all__ = ["encode", "fit_id", "fit_name"]

_FIT_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}").fullmatch
_FIT_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}").fullmatch
_UNFIT = re.compile(r"[^a-zA-Z0-9_-]")


def encode(body: Mapping[str, Any] | Sequence[Any]) -> bytes:
    """Give the bytes of a body.

    Parameters
    ----------
    body : mapping or sequence
        JSON values.

    Returns
    -------
    bytes
        UTF-8. What no JSON can carry becomes null, if it is a number, or ``?``,
        if it is half a surrogate pair.
    """
    try:
        return to_json(body, inf_nan_mode="null")
    except (PydanticSerializationError, UnicodeEncodeError):
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "replace")


def fit_name(name: str) -> str:
    """Give the name of a call as services take it; a model may invent any.

    Parameters
    ----------
    name : str
        Any name.

    Returns
    -------
    str
        1 to 64 letters, digits, ``_`` or ``-``.

    Examples
    --------
    >>> fit_name("do it.now")
    'do_it_now'
    """
    return name if _FIT_NAME(name) else _UNFIT.sub("_", name)[:64] or "_"


def fit_id(identifier: str) -> str:
    """Give an identifier of 1 to 64 letters, digits, ``_`` and ``-``.

    Parameters
    ----------
    identifier : str
        Of a call; those of other services may be longer, or hold dots and colons.

    Returns
    -------
    str
        The same for the same, and another for another.

    Examples
    --------
    >>> fit_id("toolu_1"), fit_id("functions.add:0")
    ('toolu_1', 'functions_add_0_6719e5a3')
    """
    if _FIT_ID(identifier):
        return identifier
    digest = hashlib.blake2b(identifier.encode("utf-8", "replace"), digest_size=4)
    return f"{_UNFIT.sub('_', identifier)[:48]}_{digest.hexdigest()}"
