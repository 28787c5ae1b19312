"""A JSON schema, cut to what Anthropic can hold an answer to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from notebook_agents.providers._schema_words import with_words

__all__ = ["fit_schema"]

_HELD = frozenset(
    {
        "$defs",
        "$ref",
        "additionalProperties",
        "allOf",
        "anyOf",
        "const",
        "description",
        "enum",
        "format",
        "items",
        "properties",
        "required",
        "title",
        "type",
    }
)
_FORMATS = frozenset(
    {
        "date",
        "date-time",
        "duration",
        "email",
        "hostname",
        "ipv4",
        "ipv6",
        "time",
        "uri",
        "uuid",
    }
)


def fit_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Move what the service refuses from the keywords to the descriptions.

    Parameters
    ----------
    schema : mapping
        JSON schema in the strict form.

    Returns
    -------
    dict
        A new schema.

    Examples
    --------
    >>> fit_schema({"type": "integer", "minimum": 1, "description": "How many."})
    {'type': 'integer', 'description': 'How many. (minimum: 1)'}
    """
    fit = {
        name: _fit(name, value)
        for name, value in schema.items()
        if _is_held(name, value)
    }
    lost = {name: value for name, value in schema.items() if not _is_held(name, value)}
    return with_words(fit, lost)


def _is_held(name: str, value: object) -> bool:
    if name == "minItems":
        return value in {0, 1}
    return name in _HELD and (name != "format" or value in _FORMATS)


def _fit(name: str, value: Any) -> Any:
    """Cut the schemas inside of a keyword."""
    if name in {"$defs", "properties"}:
        return {key: fit_schema(child) for key, child in value.items()}
    if name in {"allOf", "anyOf"}:
        return [fit_schema(child) for child in value]
    if name == "items" and isinstance(value, Mapping):
        return fit_schema(value)
    return value
