"""Values that are still arriving: what of a type can be read from half of its JSON.

Pydantic reads the beginning of a list, a dict or a TypedDict, but not of a model or
a dataclass, whose fields have to be there. So each of those is exchanged for a
TypedDict of the same fields, none of them required, from which an instance is made.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Annotated, Any, Literal, Union

import typing_extensions
from pydantic import AfterValidator, AliasChoices, BaseModel, RootModel, TypeAdapter

from notebook_agents.tools.annotation import Scope, resolve
from notebook_agents.tools.json_schema import Schema, reference, types_of

__all__ = ["growing_adapter", "may_grow"]


_NUMBERS = {"integer", "number"}


def growing_adapter(annotation: Any, scope: Scope) -> TypeAdapter[Any] | None:
    """Make what reads the beginning of a value.

    Parameters
    ----------
    annotation : object
        The type.
    scope : Scope
        The names that the types in it may use.

    Returns
    -------
    TypeAdapter or None
        None where a part of the type does not allow it.
    """
    try:
        return TypeAdapter(_growing(annotation, scope, frozenset()))
    except Exception:  # noqa: BLE001 - the types are the user's, and may do anything
        return None


def may_grow(
    value: Any, schema: Mapping[str, Any], definitions: Mapping[str, Schema]
) -> bool:
    """Tell whether the end of a value makes sense before it is whole.

    Parameters
    ----------
    value : object
        What has come, as JSON values.
    schema : mapping
        Simplified JSON schema of the whole.
    definitions : mapping of str to dict
        What the schema refers to.

    Returns
    -------
    bool
        True for text; False for the text of a date, a number or a choice.
    """
    name = reference(schema)
    if name is not None:
        return may_grow(value, definitions.get(name, {}), definitions)
    if "anyOf" in schema:
        kinds = {kind for part in schema["anyOf"] for kind in types_of(part)}
        # Beside a number, text is most often the exact form of one.
        is_number = isinstance(value, str) and not kinds.isdisjoint(_NUMBERS)
        parts = [] if is_number else schema["anyOf"]
        return any(may_grow(value, part, definitions) for part in parts)
    if isinstance(value, dict) and value:
        key, last = next(reversed(value.items()))
        others = schema.get("additionalProperties")
        usual = others if isinstance(others, dict) else {}
        return may_grow(last, schema.get("properties", {}).get(key, usual), definitions)
    if isinstance(value, list) and value:
        return may_grow(value[-1], schema.get("items", {}), definitions)
    if not isinstance(value, str):
        return True
    is_text = "string" in types_of(schema) or "type" not in schema
    return is_text and schema.keys().isdisjoint({"enum", "format", "pattern"})


def _growing(annotation: Any, scope: Scope, around: frozenset[type]) -> Any:
    """Exchange the models in a type; one inside itself is read when it is whole."""
    annotation, _ = resolve(annotation, scope)
    parts = typing.get_args(annotation)
    if isinstance(annotation, type) and not parts:
        if annotation in around:
            return annotation
        inner = partial(_growing, scope=scope, around=around | {annotation})
        return _of_class(annotation, scope, inner)
    inner = partial(_growing, scope=scope, around=around)
    origin = typing.get_origin(annotation)
    if origin is None or origin is Literal:
        return annotation
    if origin is Annotated:
        return Annotated[(inner(parts[0]), *parts[1:])]
    if origin is types.UnionType:
        origin = Union
    elif origin is Iterable:  # read as a list, as for a tool
        origin = list
    return origin[tuple(inner(part) for part in parts)]


def _of_class(kind: Any, scope: Scope, inner: Callable[[Any], Any]) -> Any:
    if dataclasses.is_dataclass(kind):
        return _dataclass(kind, scope, inner)
    if typing_extensions.is_typeddict(kind):
        fields = typing.get_type_hints(kind, scope.module, dict(scope.names))
        return _typed_dict(kind, {name: inner(hint) for name, hint in fields.items()})
    if issubclass(kind, RootModel):
        root = inner(kind.model_fields["root"].annotation)
        return Annotated[root, AfterValidator(kind.model_construct)]
    return _model(kind, inner) if issubclass(kind, BaseModel) else kind


def _model(kind: type[BaseModel], inner: Callable[[Any], Any]) -> Any:
    fields = kind.model_fields
    keys = {name: _key(name, field) for name, field in fields.items()}

    def construct(values: Mapping[str, Any]) -> BaseModel:
        came = {name: values[keys[name]] for name in fields if keys[name] in values}
        blank = {
            name: None
            for name, field in fields.items()
            if field.is_required() and name not in came
        }
        return kind.model_construct(_fields_set=set(came), **blank, **came)

    hints = {keys[name]: inner(field.annotation) for name, field in fields.items()}
    return Annotated[_typed_dict(kind, hints), AfterValidator(construct)]


def _dataclass(kind: Any, scope: Scope, inner: Callable[[Any], Any]) -> Any:
    fields = [field for field in dataclasses.fields(kind) if field.init]

    def construct(values: Mapping[str, Any]) -> Any:
        made = object.__new__(kind)
        for field in dataclasses.fields(kind):
            object.__setattr__(
                made, field.name, values.get(field.name, _default(field))
            )
        return made

    hints = {field.name: inner(resolve(field.type, scope)[0]) for field in fields}
    return Annotated[_typed_dict(kind, hints), AfterValidator(construct)]


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default is not dataclasses.MISSING:
        return field.default
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return None


def _key(name: str, field: Any) -> str:
    """Give the name of a field in JSON."""
    alias = field.validation_alias or field.alias
    first = alias.choices[0] if isinstance(alias, AliasChoices) else alias
    return first if isinstance(first, str) else name


def _typed_dict(kind: Any, fields: dict[str, Any]) -> Any:
    make: Any = typing_extensions.TypedDict  # mypy reads only literal ones
    return make(kind.__name__, fields, total=False)
