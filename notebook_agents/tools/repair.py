"""Second thoughts about a value that did not fit: what the model must have meant.

Two habits of models are known and harmless: null for a field that has a default,
which the strict form asks for, and a string that holds the JSON of a value.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from notebook_agents.tools.json_schema import (
    Schema,
    accepts_null,
    reference,
    types_of,
)

__all__ = ["repair"]


def repair(value: Any, schema: Schema, definitions: Mapping[str, Schema]) -> Any:
    """Read a value again, in the light of what is expected.

    Parameters
    ----------
    value : object
        A JSON value that did not pass.
    schema : dict
        Simplified schema of what is expected.
    definitions : mapping of str to dict
        What the schema refers to.

    Returns
    -------
    object
        A new value to try, or an equal one if there is nothing to mend.
    """
    schema = _followed(value, schema, definitions)
    kinds = types_of(schema)
    if isinstance(value, str) and kinds and "string" not in kinds:
        value = _decoded(value)
    if isinstance(value, dict):
        return _repair_object(value, schema, definitions)
    if isinstance(value, list) and "items" in schema:
        return [repair(item, schema["items"], definitions) for item in value]
    return value


def _repair_object(
    value: dict[str, Any], schema: Schema, definitions: Mapping[str, Schema]
) -> dict[str, Any]:
    fields = schema.get("properties", {})
    required = schema.get("required", [])
    others = schema.get("additionalProperties")
    repaired = {}
    for name, item in value.items():
        field = fields.get(name, others if isinstance(others, dict) else {})
        has_default = name in fields and name not in required
        if item is None and has_default and not accepts_null(field, definitions):
            continue
        repaired[name] = repair(item, field, definitions)
    return repaired


def _followed(value: Any, schema: Schema, definitions: Mapping[str, Schema]) -> Schema:
    """Follow references, and in a choice the branch that the value looks like."""
    name = reference(schema)
    if name is not None:
        return _followed(value, definitions.get(name, {}), definitions)
    branches = [
        _followed(value, branch, definitions) for branch in schema.get("anyOf", ())
    ]
    branches = [branch for branch in branches if types_of(branch) != ["null"]]
    if len(branches) == 1:
        return branches[0]
    if isinstance(value, dict):
        for branch in branches:
            if value.keys() <= branch.get("properties", {}).keys():
                return branch
    if branches:
        # Only what they have in common may be relied on.
        kinds = {kind for branch in branches for kind in types_of(branch)}
        return {"type": sorted(kinds)}
    return schema


def _decoded(text: str) -> Any:
    """Read the JSON in a string; the string itself if there is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
