"""How wrong arguments are told to the model: one line that it can act on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from notebook_agents.tools.by_name import UNKNOWN_VARIABLE
from notebook_agents.tools.json_schema import Schema, describe

__all__ = ["line_of", "missing", "unexpected", "wrong"]

LONGEST_VALUE = 60  # characters of a wrong value that are quoted
LONGEST_TYPE = 200  # characters that say what is expected
MOST_DETAILS = 3  # details told of one argument
LONGEST_LINE = 1000  # characters in all


def line_of(tool: str, problems: Sequence[str]) -> str:
    """Put all problems of a call into one line."""
    line = f"Invalid arguments for {tool!r}: {'; '.join(problems)}."
    return _on_one_line(line, LONGEST_LINE)


def missing(name: str, schema: Schema, definitions: Mapping[str, Schema]) -> str:
    """Say that an argument is not there."""
    return f"{name!r} is missing (expected: {_expected(schema, definitions)})"


def unexpected(names: Sequence[str], known: Sequence[str]) -> str:
    """Say that there are arguments that the tool does not have."""
    there = f"the arguments are {', '.join(known)}" if known else "it takes none"
    return f"there is no {' or '.join(_shown(name) for name in names)} ({there})"


def wrong(
    name: str, error: Exception, schema: Schema, definitions: Mapping[str, Schema]
) -> str:
    """Say what is wrong with the value of one argument.

    Parameters
    ----------
    name : str
        The argument.
    error : Exception
        What its validation raised.
    schema : dict
        Simplified schema of what is expected.
    definitions : mapping of str to dict
        What the schema refers to.

    Returns
    -------
    str
        One clause.
    """
    expected = _expected(schema, definitions)
    if not isinstance(error, ValidationError):
        return f"{name!r}: {str(error) or type(error).__name__} (expected: {expected})"
    details = error.errors(include_url=False, include_context=False)
    named = [detail for detail in details if detail["type"] == UNKNOWN_VARIABLE]
    if named:
        # What is expected is the name of something, and it says which there are.
        return _clause(name, named[0])
    clauses = [_clause(name, detail) for detail in details[:MOST_DETAILS]]
    if len(details) > 1 and "anyOf" in schema:
        # One detail for each branch of a choice would only confuse.
        return f"{name!r} does not fit (expected: {expected})"
    is_whole = all(not detail["loc"] for detail in details)
    return "; ".join(clauses) + (f" (expected: {expected})" if is_whole else "")


def _clause(name: str, detail: Any) -> str:
    place = name
    for step in detail["loc"]:
        if isinstance(step, int):
            place += f"[{step}]"
        elif not str(step).startswith("function-"):  # a branch of a choice
            place += f".{step}"
    message = str(detail["msg"])
    if detail["type"] == UNKNOWN_VARIABLE:
        return f"{place!r}: {message}"
    clause = f"{place!r}: {message[:1].lower()}{message[1:]}"
    if detail["type"] == "missing":
        return clause
    return f"{clause}, got {_shown(detail['input'])}"


def _expected(schema: Schema, definitions: Mapping[str, Schema]) -> str:
    return _on_one_line(describe(schema, definitions), LONGEST_TYPE)


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return _on_one_line(text, LONGEST_VALUE)


def _on_one_line(text: str, longest: int) -> str:
    # Half of a character may be in what a model wrote, and no log can hold it.
    text = text.encode("utf-8", "backslashreplace").decode()
    text = " ".join(text.split())
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
