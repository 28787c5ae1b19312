"""The strict form of a schema, which a service can enforce while a model writes.

Every property is required, those that have a default may be null, and no other
property is allowed. What a service would refuse as a keyword is told in words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from notebook_agents.tools.json_schema import (
    Schema,
    add_sentence,
    children,
    map_children,
    nullable,
    types_of,
)

__all__ = ["find_obstacle", "to_strict"]

_KEPT = frozenset(
    {
        "$defs",
        "$ref",
        "additionalProperties",
        "anyOf",
        "description",
        "enum",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "format",
        "items",
        "maxItems",
        "maximum",
        "minItems",
        "minimum",
        "multipleOf",
        "pattern",
        "properties",
        "required",
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
        "uuid",
    }
)
_IN_WORDS = {
    "minLength": "At least {} characters.",
    "maxLength": "At most {} characters.",
    "uniqueItems": "No item twice.",
    "format": "Format: {}.",
    "pattern": "Pattern: {}",
    "examples": "Examples: {}.",
}
# Keywords that say what may be there; without them a schema means another thing.
_NO_STRICT_FORM = ("allOf", "not", "patternProperties", "prefixItems", "contains", "if")


def find_obstacle(schema: Mapping[str, Any], place: str = "") -> str | None:
    """Say why a schema has no strict form that means the same.

    Parameters
    ----------
    schema : mapping
        A simplified JSON schema with its definitions.
    place : str
        Where it is, as ``filter.tags``; empty at the top.

    Returns
    -------
    str or None
        The reason, None if there is none.
    """
    found = _obstacle_here(schema, place)
    for name, child in children(schema):
        found = found or find_obstacle(child, f"{place}.{name}".strip("."))
    return found


def _obstacle_here(schema: Mapping[str, Any], place: str) -> str | None:
    where = repr(place) if place else "the tool"
    for keyword in _NO_STRICT_FORM:
        if keyword in schema:
            return f"{where} uses {keyword!r}"
    if not schema.keys() & {"type", "enum", "anyOf", "$ref"}:
        return f"{where} takes any value"
    kinds = types_of(schema)
    if "object" in kinds:
        # A model without fields has properties, none; a dict does not have the word.
        if "properties" not in schema or schema.get("additionalProperties"):
            return f"{where} takes any keys"
    elif "array" in kinds and "items" not in schema:
        return f"{where} takes any items"
    return None


def to_strict(schema: Mapping[str, Any]) -> Schema:
    """Give the strict form of a schema that has no obstacle.

    Parameters
    ----------
    schema : mapping
        A simplified JSON schema.

    Returns
    -------
    dict
        A new schema.
    """
    copy = map_children(_in_words(schema), to_strict)
    if "properties" in copy:
        required = schema.get("required", [])
        copy["properties"] = {
            name: child if name in required else nullable(child)
            for name, child in copy["properties"].items()
        }
        copy["required"] = list(copy["properties"])
        copy["additionalProperties"] = False
    return copy


def _in_words(schema: Mapping[str, Any]) -> Schema:
    """Move what services refuse from the keywords to the description."""
    kept = {key: value for key, value in schema.items() if key in _KEPT}
    if schema.get("format") not in _FORMATS:
        kept.pop("format", None)
    if "(?" in schema.get("pattern", ""):
        # Services know no look-around.
        kept.pop("pattern")
    for keyword, sentence in _IN_WORDS.items():
        if keyword in schema and keyword not in kept:
            value = schema[keyword]
            shown = ", ".join(map(repr, value)) if isinstance(value, list) else value
            kept = add_sentence(kept, sentence.format(shown))
    return kept
