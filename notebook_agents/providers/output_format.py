"""`OutputFormat`: the shape that an answer must have, as every wire can be told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

__all__ = ["OutputFormat", "OutputMode", "response_format"]

OutputMode: TypeAlias = Literal["native", "tool", "prompted"]
"""How an answer of a given shape is asked for: by the service's own means, as the
arguments of a tool, or in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputFormat:
    """The shape that an answer must have.

    Parameters
    ----------
    name : str
        What it is called: 1 to 64 letters, digits, ``_`` or ``-``.
    schema : mapping
        JSON schema of an object.
    strict : bool
        Whether the schema is in the strict form.
    tool : str
        The tool whose arguments are the answer; empty where the answer is text.
    """

    name: str
    schema: Mapping[str, Any]
    strict: bool
    tool: str = ""


def response_format(output: OutputFormat) -> dict[str, Any]:
    """Write a shape as chat completions spell it."""
    named = {
        "name": output.name,
        "strict": output.strict,
        "schema": dict(output.schema),
    }
    return {"type": "json_schema", "json_schema": named}
