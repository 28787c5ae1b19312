"""How the values of a parameter travel as JSON: one pydantic adapter each.

One adapter a parameter, and no model class for the whole signature: then a
parameter may have any name, and one odd annotation does not spoil the others.
"""

from __future__ import annotations

import enum
import sys
import types
import typing
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, Union

import typing_extensions
from pydantic import AfterValidator, TypeAdapter
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import to_jsonable_python

from notebook_agents.tools.annotation import Scope, resolve
from notebook_agents.tools.by_name import carried, hint_of, kinds_of
from notebook_agents.tools.json_schema import simplify
from notebook_agents.tools.signature import MISSING, Parameter
from notebook_agents.tools.variables import Kind

__all__ = ["Adapted", "adapt", "json_schemas"]


@dataclass(frozen=True, slots=True)
class Adapted:
    """A parameter with the adapter that reads its values."""

    parameter: Parameter
    adapter: TypeAdapter[Any]
    doubt: str | None = None
    """Why any value is accepted, if it is."""

    kinds: tuple[Kind, ...] = ()
    """Objects that a value, or a part of it, may name."""


def adapt(parameter: Parameter, scope: Scope) -> Adapted:
    """Find out how to read the values of a parameter.

    Parameters
    ----------
    parameter : Parameter
        As it was written.
    scope : Scope
        The names its annotation, and the types in it, may use.

    Returns
    -------
    Adapted
        One that takes any value, with a doubt, if the type says too little.
    """
    if parameter.unknown is not None:
        return _anything(
            parameter,
            f"the annotation {parameter.unknown!r} of {parameter.name!r} is not known "
            "here; until it is, any value is accepted",
        )
    parameter = _without_field_default(parameter)
    adapter = _adapter(parameter.annotation, scope)
    kinds: tuple[Kind, ...] = ()
    if adapter is None:
        other = carried(
            parameter.annotation, lambda part: _adapter(part, scope) is not None
        )
        adapter = None if other is None else _adapter(other, scope)
        parameter = replace(parameter, hint=hint_of(other))
        kinds = tuple(kinds_of(other))
    if adapter is None:
        kind = getattr(parameter.annotation, "__name__", str(parameter.annotation))
        return _anything(
            parameter,
            f"{parameter.name!r} is a {kind}, which JSON cannot carry; any value is "
            "accepted",
        )
    if parameter.default is MISSING and adapter.get_default_value() is not None:
        # `Annotated[int, Field(default=5)]`
        parameter = replace(parameter, is_optional=True)
    return Adapted(parameter, adapter, kinds=kinds)


def json_schemas(
    adapted: Sequence[Adapted],
) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Describe the values of all parameters.

    Parameters
    ----------
    adapted : sequence of Adapted
        The parameters.

    Returns
    -------
    tuple of (dict, dict)
        The simplified JSON schema of each parameter by its name, and the
        definitions that they refer to.
    """
    schemas, shared = TypeAdapter.json_schemas(
        [(item.parameter.name, "validation", item.adapter) for item in adapted],
        schema_generator=_QuietSchema,
    )
    by_name = {
        str(key): simplify(schema, tells_default=False)
        for (key, _), schema in schemas.items()
    }
    for parameter in (item.parameter for item in adapted):
        if parameter.default is not MISSING:
            by_name[parameter.name]["default"] = _jsonable(parameter.default)
    definitions = shared.get("$defs", {})
    return by_name, {name: simplify(definitions[name]) for name in definitions}


def _jsonable(value: Any) -> Any:
    try:
        return to_jsonable_python(value)
    except Exception:  # noqa: BLE001 - a default may be any object, and is only told
        return None


class _QuietSchema(GenerateJsonSchema):
    """Leave out a default or a choice that JSON cannot hold, and say nothing."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012 - as in the base class


def _anything(parameter: Parameter, doubt: str) -> Adapted:
    return Adapted(parameter, TypeAdapter(Any), doubt)


def _without_field_default(parameter: Parameter) -> Parameter:
    """Read ``x: int = Field(5, ge=1)`` as ``x: Annotated[int, Field(5, ge=1)]``."""
    field = parameter.default
    if not isinstance(field, FieldInfo):
        return parameter
    return replace(
        parameter,
        annotation=Annotated[parameter.annotation, field],
        default=MISSING,
        is_optional=not field.is_required(),
    )


def _adapter(annotation: Any, scope: Scope) -> TypeAdapter[Any] | None:
    """Build an adapter, or nothing if values of the type cannot come from JSON."""
    if (typing.get_origin(annotation) or annotation) is type:
        return None  # pydantic has an adapter, but one that reads nothing
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(_readable(annotation, scope, {}))
        if not adapter.pydantic_complete:
            # A dataclass in a function may name its neighbours.
            adapter.rebuild(_types_namespace=scope.names)
        adapter.json_schema(schema_generator=_QuietSchema)
    except Exception:  # noqa: BLE001 - the types are the user's, and may do anything
        return None
    return adapter


def _readable(annotation: Any, scope: Scope, seen: dict[Any, Any]) -> Any:
    """Exchange the parts of a type that pydantic reads late or not at all."""
    if sys.version_info < (3, 12) and typing.is_typeddict(annotation):
        return _modern_typed_dict(annotation, scope, seen)
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is Iterable or origin is Iterable:
        # Pydantic would check the items only while the function reads them.
        origin, annotation = list, types.GenericAlias(list, parts or (Any,))
    if origin is Literal:
        return _literal(annotation, parts)
    if origin is None:
        return annotation
    inner = parts[:1] if origin is Annotated else parts
    changed = tuple(_readable(part, scope, seen) for part in inner)
    if all(new is old for new, old in zip(changed, inner, strict=True)):
        return annotation
    if origin is types.UnionType:
        origin = Union
    return origin[changed + parts[len(inner) :]]


def _literal(annotation: Any, parts: tuple[Any, ...]) -> Any:
    """Read a member of an enumeration by its value, as elsewhere."""
    members = {part.value: part for part in parts if isinstance(part, enum.Enum)}
    if not members:
        return annotation
    values = tuple(getattr(part, "value", part) for part in parts)
    return Annotated[
        Literal[values], AfterValidator(lambda value: members.get(value, value))
    ]


def _modern_typed_dict(old: Any, scope: Scope, seen: dict[Any, Any]) -> Any:
    """Make the kind of `TypedDict` that pydantic wants before Python 3.12."""
    if old in seen:
        return seen[old]
    seen[old] = old
    fields = {}
    for key, written in old.__annotations__.items():
        hint, _ = resolve(written, scope)
        hint = _readable(hint, scope, seen)
        if typing.get_origin(hint) not in {typing.Required, typing.NotRequired}:
            is_required = key in old.__required_keys__
            mark: Any = typing.Required if is_required else typing.NotRequired
            hint = mark[hint]
        fields[key] = hint
    make: Any = typing_extensions.TypedDict  # mypy reads only literal ones
    new = make(old.__name__, fields)
    new.__doc__ = old.__doc__
    seen[old] = new
    return new
