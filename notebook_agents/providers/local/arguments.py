"""Writing the arguments of a chosen tool as JSON that its schema allows."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from notebook_agents.errors import AgentProviderError, ContextLengthError
from notebook_agents.providers.local.ask import Asker
from notebook_agents.providers.local.choice import Function

__all__ = ["copied_from", "numbers", "spans", "write_arguments"]

_TASK = "Copy the values of the parameters out of the message, as JSON."
_EXAMPLES: tuple[tuple[str, Function, Mapping[str, Any]], ...] = (
    (
        "Book a table for 4 people at Luigi's.",
        {
            "name": "book_table",
            "description": "Book a table in a restaurant.",
            "parameters": {
                "properties": {
                    "restaurant": {"description": "name of the restaurant"},
                    "people": {"description": "how many"},
                }
            },
        },
        {"restaurant": "Luigi's", "people": 4},
    ),
    (
        "Rename report.doc to final.doc",
        {
            "name": "rename",
            "description": "Rename a file.",
            "parameters": {
                "properties": {
                    "old": {"description": "old name"},
                    "new": {"description": "new name"},
                }
            },
        },
        {"old": "report.doc", "new": "final.doc"},
    ),
    (
        "How far is it from Rome to Milan?",
        {
            "name": "distance",
            "description": "Tell the distance between two cities.",
            "parameters": {
                "properties": {
                    "start": {"description": "first city"},
                    "end": {"description": "second city"},
                }
            },
        },
        {"start": "Rome", "end": "Milan"},
    ),
)

_MAX_WORDS = 40
"""Longer messages are not cut into spans: there would be too many."""
_MAX_SPAN = 5
"""Words of the longest span."""
_NUMBER = re.compile(r"(?<![\w.-])-?(?:0|[1-9]\d*)(?:\.\d+)?(?![\w-])")
_NARROWING = {
    *("enum", "const", "format", "pattern", "properties", "minLength", "maxLength"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}
"""What a schema that already says more than its type has."""
_EDGES = "\"'`.,;:!?()[]{}<>"


async def write_arguments(
    asker: Asker, function: Function, message: str, *, copy: bool, max_tokens: int
) -> tuple[str, str]:
    """Let the model fill in a tool's parameters.

    Parameters
    ----------
    asker : Asker
        How to ask the model.
    function : Function
        The tool.
    message : str
        What the user wrote.
    copy : bool
        Whether free texts must be copied from the message.
    max_tokens : int
        Most tokens of JSON.

    Returns
    -------
    arguments : str
        JSON text; valid under the schema unless it was cut.
    finish : str
        ``"length"`` if it was cut, else ``"stop"``.

    Raises
    ------
    ContextLengthError
        If the message is longer than the context.
    """
    schema = function.get("parameters") or {}
    if not schema.get("properties"):
        return "{}", "stop"
    if copy:
        schema = copied_from(schema, spans(message), numbers(message))
    prompt = _prompt(function, message)
    try:
        answer = await asker.whole(
            prompt, response_format=_format_of(schema), max_tokens=max_tokens
        )
    except ContextLengthError:
        raise
    except AgentProviderError:
        # A schema beyond what the engine can enforce: any object, then; the
        # agent validates it all the same.
        answer = await asker.whole(
            prompt, response_format={"type": "json_object"}, max_tokens=max_tokens
        )
    if answer.finish == "length":
        return answer.text, "length"
    return json.dumps(json.loads(answer.text), ensure_ascii=False), "stop"


def spans(message: str) -> list[str]:
    """List the runs of words in a message, each once; none for a long message.

    Parameters
    ----------
    message : str
        What the user wrote.

    Returns
    -------
    list of str
        At most 5 words each, without quotes and punctuation at their ends.

    Examples
    --------
    >>> spans("Search 'orders' now")
    ['Search', "Search 'orders", "Search 'orders' now", 'orders', "orders' now", 'now']
    """
    words = list(re.finditer(r"\S+", message))
    if len(words) > _MAX_WORDS:
        return []
    found: dict[str, None] = {}
    for first in range(len(words)):
        for last in words[first : first + _MAX_SPAN]:
            span = message[words[first].start() : last.end()].strip(_EDGES)
            if span:
                found[span] = None
    return list(found)


def numbers(message: str) -> list[int | float]:
    """List the numbers that a message writes in digits.

    Parameters
    ----------
    message : str
        What the user wrote.

    Returns
    -------
    list of int or float
        In their order.

    Examples
    --------
    >>> numbers("Is 3.5 times -4 in v2 of 2026-10-31?")
    [3.5, -4]
    """
    return [json.loads(found) for found in _NUMBER.findall(message)]


def copied_from(
    schema: Any, texts: Sequence[str], figures: Sequence[float] = ()
) -> Any:
    """Narrow a schema: where any text or number is allowed, allow only these.

    Parameters
    ----------
    schema : JSON schema
        Left as it is.
    texts : sequence of str
        The texts; any if there are none.
    figures : sequence of int or float
        The numbers; any if there are none.

    Returns
    -------
    JSON schema
        The narrowed copy.

    Examples
    --------
    >>> copied_from({"properties": {"city": {"type": "string"}}}, ["Oslo"])
    {'properties': {'city': {'enum': ['Oslo']}}}
    """
    if isinstance(schema, Mapping):
        allowed: list[Any] = []
        if schema.keys().isdisjoint(_NARROWING):
            match schema.get("type"):
                case "string":
                    allowed = list(texts)
                case "number":
                    allowed = list(figures)
                case "integer":
                    allowed = [figure for figure in figures if isinstance(figure, int)]
        if allowed:
            return {"enum": allowed}
        return {
            key: copied_from(value, texts, figures) for key, value in schema.items()
        }
    if isinstance(schema, list):
        return [copied_from(value, texts, figures) for value in schema]
    return schema


def _prompt(function: Function, message: str) -> list[dict[str, str]]:
    prompt = [{"role": "system", "content": _TASK}]
    for asked, example, written in _EXAMPLES:
        prompt += [
            {"role": "user", "content": _question(example, asked)},
            {"role": "assistant", "content": json.dumps(written)},
        ]
    return [*prompt, {"role": "user", "content": _question(function, message)}]


def _question(function: Function, message: str) -> str:
    properties = (function.get("parameters") or {}).get("properties") or {}
    parameters = "; ".join(
        f"{name}: {schema.get('description') or name.replace('_', ' ')}"
        for name, schema in properties.items()
    )
    return (
        f"Message: {message}\n"
        f"Function: {function['name']} - {function.get('description') or ''}\n"
        f"Parameters: {parameters}"
    )


def _format_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}
