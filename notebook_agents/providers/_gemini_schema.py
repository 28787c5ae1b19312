"""JSON schemas as Gemini takes them: as JSON Schema, or in an older form of its own.

The first is the one to send. The second, a part of OpenAPI 3.0, is for gateways that
know no other: no references, no null in a union, nothing but texts in an enum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from notebook_agents.providers._schema_words import with_words

__all__ = ["json_form", "openapi_form"]

MOST_NODES = 2000
"""Schemas in a schema; references beyond are not written out."""
MOST_DEEP = 20
"""References that are written out within each other."""

_AS_IT_IS = frozenset(
    {"description", "maximum", "minItems", "minimum", "required", "title", "type"}
)
_FORMATS = ("date", "date-time", "time")
_SILENT = frozenset(
    {"$comment", "$defs", "$id", "$schema", "definitions", "discriminator"}
)
"""Keywords that say nothing to a model."""
_OF_SCHEMAS = frozenset(
    {"additionalProperties", "anyOf", "items", "prefixItems", "properties"}
)
_NULL = {"type": "null"}


def json_form(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Cut a schema to the JSON Schema that Gemini reads.

    References are written out, since nothing may stand beside one; those to a
    schema that holds itself stay. What is lost goes into the descriptions: also
    ``maxItems``, of which the service takes only a few, and does not say so.

    Parameters
    ----------
    schema : mapping
        Any JSON schema.

    Returns
    -------
    dict
        For ``parametersJsonSchema`` and ``responseJsonSchema``.

    Examples
    --------
    >>> json_form({"const": "a", "description": "Which.", "maxLength": 1})
    {'type': 'string', 'description': 'Which. (maxLength: 1)', 'enum': ['a']}
    """
    return _Fitter(schema).whole()


def openapi_form(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Cut a schema to the part of OpenAPI 3.0 that is Gemini's older form.

    Parameters
    ----------
    schema : mapping
        Any JSON schema.

    Returns
    -------
    dict
        For ``parameters`` and ``responseSchema``.

    Examples
    --------
    >>> openapi_form({"anyOf": [{"type": "integer"}, {"type": "null"}]})
    {'type': 'integer', 'nullable': True}
    """
    return _as_openapi(json_form(schema))


class _Fitter:
    """Write one schema anew, as JSON Schema."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = schema
        self._names: dict[str, str] = {}
        """Names of the definitions that references are left to."""
        self._left = MOST_NODES

    def whole(self) -> dict[str, Any]:
        fit = self._fit(self._schema, ())
        definitions: dict[str, Any] = {}
        while len(definitions) < len(self._names):
            reference, name = [*self._names.items()][len(definitions)]
            definitions[name] = self._fit(self._resolved(reference), (reference,))
        return {**fit, "$defs": definitions} if definitions else fit

    def _fit(self, schema: object, within: tuple[str, ...]) -> dict[str, Any]:
        """Write a schema that stands within these references."""
        self._left -= 1
        if not isinstance(schema, Mapping):
            return {}
        if schema.keys() <= _AS_IT_IS:  # most are
            return dict(schema)
        if isinstance(reference := schema.get("$ref"), str):
            return self._referred(reference, _without(schema, "$ref"), within)
        if isinstance(parts := schema.get("allOf"), list):
            parts = [*parts, _without(schema, "allOf")]
            return _merged(self._fit(part, within) for part in parts)
        fit: dict[str, Any] = {}
        lost: dict[str, Any] = {}
        for name, value in _plain(schema).items():
            if name in _AS_IT_IS or _is_held(name, value):
                fit[name] = value
            elif name in _OF_SCHEMAS:
                fit |= self._fit_within(name, value, within)
            elif name not in _SILENT:
                lost[name] = value
        return with_words(fit, lost)

    def _fit_within(
        self, name: str, value: object, within: tuple[str, ...]
    ) -> dict[str, Any]:
        """Write a keyword that holds schemas; nothing if it holds none."""
        if isinstance(value, list) and name in {"anyOf", "items", "prefixItems"}:
            name = "prefixItems" if name == "items" else name  # as it was called once
            return {name: [self._fit(each, within) for each in value]}
        if not isinstance(value, Mapping) or name in {"anyOf", "prefixItems"}:
            return {}
        if name != "properties":
            return {name: self._fit(value, within)}
        return {name: {key: self._fit(each, within) for key, each in value.items()}}

    def _referred(
        self, reference: str, beside: Mapping[str, Any], within: tuple[str, ...]
    ) -> dict[str, Any]:
        """Write out a reference, unless it would not end."""
        found = self._resolved(reference)
        if found is None:
            return self._fit(beside, within)
        is_new = reference not in within and len(within) < MOST_DEEP
        if is_new and self._left > 0:
            return self._fit({**found, **beside}, (*within, reference))
        name = self._names.get(reference)
        if name is None:
            name = reference.rpartition("/")[2].removeprefix("#") or "self"
            if name in self._names.values():
                name = f"{name}_{len(self._names)}"
            self._names[reference] = name
        return {"$ref": f"#/$defs/{name}"}

    def _resolved(self, reference: str) -> Mapping[str, Any] | None:
        root, *names = reference.split("/")
        found: object = self._schema if root == "#" else None
        for name in names:
            key = name.replace("~1", "/").replace("~0", "~")
            found = found.get(key) if isinstance(found, Mapping) else None
        return found if isinstance(found, Mapping) else None


def _plain(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Say the same without ``const``, ``oneOf`` or null in an enum."""
    plain = dict(schema)
    if "const" in plain:
        plain["enum"] = [plain.pop("const")]
    if "oneOf" in plain:
        plain["anyOf"] = plain.pop("oneOf")
    properties, required = plain.get("properties"), plain.get("required")
    if isinstance(properties, Mapping) and isinstance(required, list):
        plain["required"] = [name for name in properties if name in required]
    values = plain.get("enum")
    if not isinstance(values, list) or not values:
        return plain
    named = [value for value in values if value is not None]
    kind = _TYPES.get(type(named[0])) if named else "null"
    if len(named) == len(values):
        return {"type": kind, **plain} if kind else plain
    del plain["enum"]
    plain.pop("type", None)
    choices = [{"type": kind, "enum": named}] if named else []
    return {**plain, "anyOf": [*choices, _NULL]}


_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number"}


def _is_held(name: str, value: Any) -> bool:
    """Tell whether a keyword that cannot always be sent can be with this value."""
    if name == "enum":
        return isinstance(value, list) and all(map(_is_named, value))
    return name == "format" and value in _FORMATS


def _is_named(value: object) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _without(schema: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in schema.items() if name not in names}


def _merged(schemas: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Put together schemas that all hold."""
    merged: dict[str, Any] = {}
    for schema in schemas:
        known = merged
        merged = {**known, **_without(schema, "$ref")}
        one, other = known.get("properties"), schema.get("properties")
        if isinstance(one, dict) and isinstance(other, dict):
            merged["properties"] = one | other
        one, other = known.get("required"), schema.get("required")
        if isinstance(one, list) and isinstance(other, list):
            merged["required"] = one + other
    return merged


# ----------------------------------------------------------------- the older form


def _as_openapi(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Turn what `json_form` gives into OpenAPI's form."""
    fit: dict[str, Any] = {}
    lost: dict[str, Any] = {}
    for name, value in schema.items():
        if name == "enum" and not all(isinstance(each, str) for each in value):
            lost["one of"] = value
        elif name == "format" and value != "date-time":
            lost[name] = value
        elif name in _WRITTEN:
            fit = {**_WRITTEN[name](value), **fit}
        else:
            fit[name] = value
    if fit.get("type") == "array":
        fit.setdefault("items", {"type": "string"})
    return with_words(fit, lost)


def _choice(schemas: list[Mapping[str, Any]]) -> dict[str, Any]:
    choices = [_as_openapi(each) for each in schemas if each != _NULL]
    is_nullable = {"nullable": True} if _NULL in schemas else {}
    if len(choices) <= 1:
        return {**(choices[0] if choices else _NULL), **is_nullable}
    return {"anyOf": choices, **is_nullable}


def _kind(kind: Any) -> dict[str, Any]:
    if isinstance(kind, list):
        return _choice([{"type": each} for each in kind])
    return {"type": kind}


_WRITTEN: dict[str, Callable[[Any], dict[str, Any]]] = {
    "$defs": lambda _: {},
    "$ref": lambda _: {"type": "object"},
    "additionalProperties": lambda _: {},
    "anyOf": _choice,
    "items": lambda value: {"items": _as_openapi(value)},
    "prefixItems": lambda values: {"items": _choice(values)},
    "properties": lambda value: {
        "properties": {key: _as_openapi(each) for key, each in value.items()}
    },
    "title": lambda _: {},
    "type": _kind,
}
"""How a keyword that means something else there is written."""
