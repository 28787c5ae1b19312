"""JSON as a person types it, read strictly."""

from __future__ import annotations

import json
from typing import Any, NoReturn

__all__ = ["read_json"]


def read_json(text: str) -> Any:
    """Read a value.

    Parameters
    ----------
    text : str
        What was typed.

    Returns
    -------
    object
        The value.

    Raises
    ------
    ValueError
        If it is no JSON, which also ``NaN`` is not, or nested too deeply.

    Examples
    --------
    >>> read_json("[1, null]")
    [1, None]
    """
    try:
        return json.loads(text, parse_constant=_refuse)
    except RecursionError:
        message = "it is nested too deeply"
        raise ValueError(message) from None


def _refuse(word: str) -> NoReturn:
    message = f"{word} is no number of JSON"
    raise ValueError(message)
