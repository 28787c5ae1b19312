"""The JSON text of a tool call, read strictly."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from notebook_agents.errors import ProviderReplyError, ToolArgumentsError

__all__ = ["parse_object", "parse_tool_args"]

SHOWN = 200  # characters of a broken text that an error message quotes


def parse_object(text: str, *, tool: str = "") -> dict[str, Any]:
    """Read a JSON object; blank text is an empty one.

    Parameters
    ----------
    text : str
        What the model wrote.
    tool : str
        Name of the tool, for the error.

    Returns
    -------
    dict
        The arguments by name.

    Raises
    ------
    ToolArgumentsError
        If the text is cut, is not JSON, repeats a key, holds a number that JSON
        does not have, or is not an object.
    """
    if not text.strip():
        return {}
    try:
        value = json.loads(
            text,
            object_pairs_hook=_refuse_duplicates,
            parse_constant=_refuse_constant,
            parse_float=_finite,
        )
    except RecursionError as error:
        message = "The arguments are nested too deeply."
        raise ToolArgumentsError(message, tool=tool) from error
    except ValueError as error:
        message = f"The arguments are not valid JSON ({error}). Send one JSON object."
        raise ToolArgumentsError(message, tool=tool) from error
    if not isinstance(value, dict):
        kind = _KINDS.get(type(value), "a number")
        message = f"The arguments must be one JSON object such as {{}}, not {kind}."
        raise ToolArgumentsError(message, tool=tool)
    return value


def parse_tool_args(args_json: str) -> dict[str, Any]:
    """Read the arguments in a model's reply, outside of any tool.

    Parameters
    ----------
    args_json : str
        JSON text; blank text is an empty object.

    Returns
    -------
    dict
        The arguments by name.

    Raises
    ------
    ProviderReplyError
        If it is not a JSON object; its ``status_code`` is 422.

    Examples
    --------
    >>> parse_tool_args('{"city": "Oslo"}')
    {'city': 'Oslo'}
    """
    try:
        return parse_object(args_json)
    except ToolArgumentsError as error:
        message = f"{error} It begins: {args_json[:SHOWN]!r}"
        raise ProviderReplyError(message, status_code=422, original=error) from error


_KINDS = {list: "an array", str: "a string", bool: "a boolean", type(None): "null"}


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        message = f"the key {twice[:SHOWN]!r} is there twice"
        raise ValueError(message)
    return found


def _refuse_constant(word: str) -> NoReturn:
    message = f"{word} is not a JSON number"
    raise ValueError(message)


def _finite(digits: str) -> float:
    number = float(digits)
    if number in {float("inf"), float("-inf")}:
        message = f"the number {digits[:SHOWN]} is too large"
        raise ValueError(message)
    return number
