"""Rules of a schema that a service cannot hold, told in words instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["with_words"]


def with_words(schema: Mapping[str, Any], rules: Mapping[str, Any]) -> dict[str, Any]:
    """Tell rules in the description.

    Parameters
    ----------
    schema : mapping
        What the service can hold.
    rules : mapping
        Keywords that it cannot, and their values.

    Returns
    -------
    dict
        A new schema.

    Examples
    --------
    >>> with_words({"type": "integer", "description": "How many."}, {"minimum": 1})
    {'type': 'integer', 'description': 'How many. (minimum: 1)'}
    """
    if not rules:
        return dict(schema)
    told = ", ".join(f"{name}: {value}" for name, value in rules.items())
    said = f"{schema.get('description') or ''} ({told})".strip()
    return {**schema, "description": said}
