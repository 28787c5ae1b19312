"""Answers of a given shape: the engine enforces the JSON, the prompt says what goes in."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from typing import Any

from notebook_agents.errors import AgentProviderError, ContextLengthError
from notebook_agents.providers.base import ModelRequest, ReasoningDelta, TextDelta
from notebook_agents.providers.local.arguments import copied_from, numbers
from notebook_agents.providers.local.ask import Answer, Asker
from notebook_agents.providers.local.prompt import to_talk
from notebook_agents.providers.output_format import OutputFormat, response_format
from notebook_agents.providers.shaped import in_words

__all__ = ["stream_shaped", "with_examples", "with_schema"]

_TASK = "Answer each message as JSON."
_EXAMPLES: tuple[tuple[str, Mapping[str, Any], Mapping[str, Any]], ...] = (
    (
        "Ann Baker lives in London and is 52.",
        {"name": {"type": "string"}, "age": {"type": "integer"}},
        {"name": "Ann Baker", "age": 52},
    ),
    (
        "The food was cold and the waiter rude.",
        {"answer": {"enum": ["good", "bad"]}},
        {"answer": "bad"},
    ),
    ("Is fire hot?", {"answer": {"type": "boolean"}}, {"answer": True}),
    (
        "Which cities are in the text? We flew from Rome to Milan.",
        {"answer": {"type": "array", "items": {"type": "string"}}},
        {"answer": ["Rome", "Milan"]},
    ),
    ("What is 4 times 5?", {"answer": {"type": "integer"}}, {"answer": 20}),
)


_DAY = (
    "(19|20)[0-9][0-9]-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])"
    "|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))"
)
_TIME = "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z"
_FORMATS = {"date": f"^{_DAY}$", "date-time": f"^{_DAY}T{_TIME}$"}
"""What the engine takes for a date may be none, such as the year 0."""

_MOST_FIGURES = 40
"""Numbers in a conversation from which one can be chosen."""


async def stream_shaped(
    asker: Asker, body: Mapping[str, Any], output: OutputFormat, answer: Answer
) -> AsyncGenerator[TextDelta | ReasoningDelta, None]:
    """Send a request whose answer is held to a shape.

    Parameters
    ----------
    asker : Asker
        How to ask the model.
    body : mapping
        An OpenAI chat request.
    output : OutputFormat
        The shape.
    answer : Answer
        Filled on the way.

    Yields
    ------
    TextDelta or ReasoningDelta
        A piece, as it arrives.

    Raises
    ------
    ContextLengthError
        If the conversation is longer than the context.
    AgentProviderError
        If the engine refuses the request.
    """
    # A schema beyond what the engine can enforce: any object, then; the answer is
    # validated all the same.
    enforced = replace(output, schema=_enforceable(output.schema))
    for form in (response_format(enforced), {"type": "json_object"}):
        deltas = asker.stream({**body, "response_format": form}, answer)
        try:
            async for delta in deltas:
                yield delta
        except ContextLengthError:
            raise
        except AgentProviderError:
            if answer.text or form["type"] == "json_object":
                raise
        else:
            return
        finally:
            await deltas.aclose()


def with_schema(
    request: ModelRequest, output: OutputFormat
) -> tuple[list[dict[str, str]], OutputFormat]:
    """Tell a model the shape, as it would be told anywhere else.

    Parameters
    ----------
    request : ModelRequest
        What to ask.
    output : OutputFormat
        The shape.

    Returns
    -------
    messages : list of dict
        The conversation as text.
    output : OutputFormat
        The same shape.
    """
    told = in_words(request, output)
    return to_talk(told.messages, drop_calls=False), output


def with_examples(
    request: ModelRequest, output: OutputFormat
) -> tuple[list[dict[str, str]], OutputFormat]:
    """Show a very small model how such questions are answered.

    Parameters
    ----------
    request : ModelRequest
        What to ask.
    output : OutputFormat
        The shape.

    Returns
    -------
    messages : list of dict
        The conversation as text, examples before it.
    output : OutputFormat
        The shape, its numbers narrowed to those of the conversation, if there are
        any: such a model copies a number better than it makes one up.
    """
    system, *rest = to_talk(request.messages, drop_calls=True)
    prompt = [{**system, "content": f"{system['content']} {_TASK}"}]
    for message, fields, written in _EXAMPLES:
        prompt += [
            {"role": "user", "content": _question(message, {"properties": fields})},
            {"role": "assistant", "content": json.dumps(written)},
        ]
    if rest:
        *earlier, last = rest
        asked = _question(last["content"], output.schema)
        prompt += [*earlier, {**last, "content": asked}]
    said = "\n".join(line["content"] for line in rest if line["role"] == "user")
    figures = list(dict.fromkeys(numbers(said)))
    if len(figures) <= _MOST_FIGURES:
        schema = copied_from(output.schema, (), figures)
        output = replace(output, schema=schema)
    return prompt, output


def _enforceable(schema: Any) -> Any:
    """Leave out the patterns that the engine does not know: it would print so."""
    if isinstance(schema, Mapping):
        pattern = _FORMATS.get(str(schema.get("format")))
        if pattern is not None:
            return {"type": "string", "pattern": pattern}
        return {
            key: _enforceable(value)
            for key, value in schema.items()
            if not (key == "pattern" and isinstance(value, str) and "\\" in value)
        }
    if isinstance(schema, list):
        return [_enforceable(value) for value in schema]
    return schema


def _question(message: str, schema: Mapping[str, Any]) -> str:
    definitions = schema.get("$defs", {})
    fields = ", ".join(
        f"{name}: {_words(field, definitions)}"
        for name, field in schema.get("properties", {}).items()
    )
    return f"Message: {message}\nJSON: {fields or _words(schema, definitions)}"


def _words(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    """Say in a few words what a schema accepts."""
    if "$ref" in schema:
        # One level only: a definition may refer to itself.
        named = schema["$ref"].rpartition("/")[2]
        return _words(definitions.get(named, {}), {})
    if "enum" in schema:
        return " or ".join(json.dumps(item) for item in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(_words(item, definitions) for item in schema["anyOf"])
    if "properties" in schema:
        return "{" + ", ".join(schema["properties"]) + "}"
    if "items" in schema:
        return f"[{_words(schema['items'], definitions)}, ...]"
    kinds = schema.get("type", "any")
    return kinds if isinstance(kinds, str) else " or ".join(kinds)
