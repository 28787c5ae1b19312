"""JSON schemas as values: walking them, and the plain form that all services read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

__all__ = [
    "Schema",
    "accepts_null",
    "add_sentence",
    "children",
    "describe",
    "map_children",
    "nullable",
    "reference",
    "simplify",
    "tell_default",
    "types_of",
]

Schema: TypeAlias = dict[str, Any]

_ONE = ("items", "additionalProperties", "propertyNames", "not", "contains")
_MANY = ("anyOf", "oneOf", "allOf", "prefixItems")
_NAMED = ("properties", "patternProperties", "$defs")
_TYPES = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
}
LONGEST_DEFAULT = 80  # characters; a longer default is not told


def map_children(schema: Mapping[str, Any], change: Callable[[Schema], Any]) -> Schema:
    """Change each schema directly inside a schema.

    Parameters
    ----------
    schema : mapping
        A JSON schema.
    change : callable
        Gives the new schema for an old one.

    Returns
    -------
    dict
        A changed copy.
    """
    copy: Schema = dict(schema)
    for key in _ONE:
        if isinstance(copy.get(key), dict):
            copy[key] = change(copy[key])
    for key in _MANY:
        if key in copy:
            copy[key] = [change(item) for item in copy[key]]
    for key in _NAMED:
        if key in copy:
            copy[key] = {name: change(item) for name, item in copy[key].items()}
    return copy


def children(schema: Mapping[str, Any]) -> Iterator[tuple[str, Schema]]:
    """Go through the schemas directly inside a schema, each with its name if any."""
    for key in _ONE:
        if isinstance(schema.get(key), dict):
            yield "", schema[key]
    for key in _MANY:
        for item in schema.get(key, ()):
            yield "", item
    for key in _NAMED:
        yield from schema.get(key, {}).items()


def reference(schema: Mapping[str, Any]) -> str | None:
    """Name the definition that a schema refers to."""
    target = schema.get("$ref")
    return target.rpartition("/")[2] if isinstance(target, str) else None


def accepts_null(schema: Mapping[str, Any], definitions: Mapping[str, Schema]) -> bool:
    """Tell whether a schema names null; one that takes anything does not."""
    name = reference(schema)
    if name is not None:
        return accepts_null(definitions.get(name, {}), {})
    if "enum" in schema:
        return None in schema["enum"]
    if "anyOf" in schema:
        return any(accepts_null(item, definitions) for item in schema["anyOf"])
    return "null" in types_of(schema)


def types_of(schema: Mapping[str, Any]) -> list[str]:
    """List the JSON types that a schema names."""
    kinds = schema.get("type", [])
    return [kinds] if isinstance(kinds, str) else list(kinds)


def nullable(schema: Schema) -> Schema:
    """Allow null as well; a schema that takes anything stays as it is."""
    if accepts_null(schema, {}):
        return schema
    copy = dict(schema)
    if "anyOf" in copy:
        copy["anyOf"] = [*copy["anyOf"], {"type": "null"}]
    elif "$ref" in copy:
        copy["anyOf"] = [{"$ref": copy.pop("$ref")}, {"type": "null"}]
    if "type" in copy:
        copy["type"] = [*types_of(copy), "null"]
    if "enum" in copy:
        copy["enum"] = [*copy["enum"], None]
    return copy


def simplify(schema: Mapping[str, Any], *, tells_default: bool = True) -> Schema:
    """Say the same in the words that every service knows, without noise.

    Titles go, a default is told in the description, ``const`` becomes ``enum``,
    ``oneOf`` becomes ``anyOf``, "T or null" a list of types, and a tuple of equal
    parts an array of known length.

    Parameters
    ----------
    schema : mapping
        A JSON schema as pydantic makes it.
    tells_default : bool, default True
        Whether its own default is told yet; those inside are.

    Returns
    -------
    dict
        A new schema.
    """
    copy = map_children(schema, simplify)
    for noise in ("title", "discriminator"):
        copy.pop(noise, None)
    if "oneOf" in copy and "anyOf" not in copy:
        copy["anyOf"] = copy.pop("oneOf")
    if "const" in copy:
        copy["enum"] = [copy.pop("const")]
    if "enum" in copy and "type" not in copy:
        kinds = {_TYPES.get(type(value), "") for value in copy["enum"]}
        copy["type"] = sorted(kinds) if len(kinds) > 1 else kinds.pop()
    if "anyOf" in copy:
        copy = _merge_null(copy)
    parts = copy.get("prefixItems", [])
    if parts and all(part == parts[0] for part in parts) and "items" not in copy:
        copy["items"] = copy.pop("prefixItems")[0]
    return tell_default(copy) if tells_default else copy


def _merge_null(schema: Schema) -> Schema:
    """Write ``anyOf: [T, null]`` as T that may be null, if T has a type."""
    branches = [item for item in schema["anyOf"] if item != {"type": "null"}]
    if len(branches) != 1 or "$ref" in branches[0]:
        return schema
    outer = {key: value for key, value in schema.items() if key != "anyOf"}
    is_same = len(branches) == len(schema["anyOf"])
    return {**(branches[0] if is_same else nullable(branches[0])), **outer}


def tell_default(schema: Schema) -> Schema:
    """Tell the default in the description too; null and odd ones are not worth it."""
    without = {key: value for key, value in schema.items() if key != "default"}
    if schema.get("default") is None:
        return without
    try:
        text = json.dumps(schema["default"], ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):
        return without
    is_short = len(text) <= LONGEST_DEFAULT
    return add_sentence(schema, f"Default: {text}.") if is_short else schema


def add_sentence(schema: Schema, sentence: str) -> Schema:
    """Append a sentence to the description, unless it is there already."""
    before = schema.get("description", "").rstrip()
    if before.endswith(sentence):
        return schema
    if before and before[-1] not in ".!?:":
        before += "."
    return {**schema, "description": f"{before} {sentence}".strip()}


def describe(schema: Mapping[str, Any], definitions: Mapping[str, Schema]) -> str:
    """Say in a few words what a schema accepts, for an error message.

    Parameters
    ----------
    schema : mapping
        A simplified JSON schema.
    definitions : mapping of str to dict
        What it refers to.

    Returns
    -------
    str
        Such as ``list of integer`` or ``one of "a", "b"``.
    """
    name = reference(schema)
    if name is not None:
        # One level only: a definition may refer to itself.
        return describe(definitions.get(name, {}), {})
    if "enum" in schema:
        values = [json.dumps(value, ensure_ascii=False) for value in schema["enum"]]
        return f"one of {', '.join(values)}"
    if "anyOf" in schema:
        words = [describe(item, definitions) for item in schema["anyOf"]]
        return " or ".join(dict.fromkeys(words))
    kinds = [_describe_type(kind, schema, definitions) for kind in types_of(schema)]
    return " or ".join(kinds) or "any value"


def _describe_type(
    kind: str, schema: Mapping[str, Any], definitions: Mapping[str, Schema]
) -> str:
    if kind == "array":
        inner = schema.get("items")
        return f"list of {describe(inner, definitions)}" if inner else "list"
    if kind == "object" and schema.get("properties"):
        return f"object with {', '.join(schema['properties'])}"
    if kind == "string" and "format" in schema:
        return f"string ({schema['format']})"
    return kind
