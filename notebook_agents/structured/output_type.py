"""`OutputType`: a Python type, as a shape for the model and a reader of its text."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Annotated, Any, get_args, get_origin

from pydantic import TypeAdapter
from pydantic_core import from_json, to_json

from notebook_agents.errors import AgentConfigurationError
from notebook_agents.providers.output_format import OutputFormat
from notebook_agents.structured.growing import growing_adapter, may_grow
from notebook_agents.structured.json_text import beginning_of_json, values_in
from notebook_agents.tools.adapter import adapt, json_schemas
from notebook_agents.tools.annotation import Scope
from notebook_agents.tools.function_schema import with_definitions
from notebook_agents.tools.json_schema import Schema, reference, types_of
from notebook_agents.tools.problem import wrong
from notebook_agents.tools.repair import repair
from notebook_agents.tools.signature import Parameter
from notebook_agents.tools.strict import find_obstacle, to_strict

__all__ = ["MisfitError", "OutputType"]

KEY = "answer"
"""What an answer that is no object is called in the object around it."""
LONGEST_NAME = 60  # characters of a type's name that are shown

_UNDONE_NUMBER = re.compile(r"(?<=[\s:,\[])[-+\d.eE]+\Z")
_PATH = re.compile(r"(?:[^\W\d]\w*\.|<locals>\.)+")


class MisfitError(Exception):
    """A text that is no value of the type; the message says why, for the model."""

    def __init__(self, message: str, *, has_json: bool = True) -> None:
        super().__init__(message)
        self.has_json = has_json


@dataclass(frozen=True, kw_only=True)
class OutputType:
    """A type that answers shall have.

    Parameters
    ----------
    name : str
        The type, for people.
    adapter : TypeAdapter
        What validates.
    schema : dict
        Simplified JSON schema of a value.
    definitions : mapping of str to dict
        What the schema refers to.
    format : OutputFormat or None
        What the model is told; None for plain text.
    is_wrapped : bool
        Whether the model is asked for an object that holds the value.
    """

    name: str
    adapter: TypeAdapter[Any]
    schema: Schema
    definitions: Mapping[str, Schema]
    format: OutputFormat | None
    is_wrapped: bool
    _scope: Scope = field(repr=False)
    _annotation: Any = field(repr=False)

    @classmethod
    def of(cls, annotation: Any) -> OutputType:
        """Find out how values of a type are asked for and read.

        Parameters
        ----------
        annotation : type
            A pydantic model, a dataclass, a TypedDict, an Enum, a plain type, or
            anything made of these.

        Returns
        -------
        OutputType
            For as many runs as wanted.

        Raises
        ------
        AgentConfigurationError
            If JSON cannot carry such values.
        """
        scope = Scope.of_caller()
        adapted = None
        if not isinstance(annotation, str) and not inspect.isroutine(annotation):
            adapted = adapt(Parameter(name=KEY, annotation=annotation), scope)
        # A tool may be given a live object by its name; an answer is a value.
        if adapted is None or adapted.doubt is not None or adapted.kinds:
            message = (
                f"output_type={_shown(annotation)} cannot be read from JSON"
                f"{_reason(annotation)}. Pass a pydantic model, a dataclass, a "
                "TypedDict, an Enum, a Literal, a plain type such as int, or a list, "
                "dict or union of these."
            )
            raise AgentConfigurationError(message)
        schemas, definitions = json_schemas([adapted])
        whole, is_wrapped = _object_of(schemas[KEY], definitions)
        is_strict = find_obstacle(whole) is None
        name = name_of(annotation)
        shape = OutputFormat(
            name=_wire_name(name),
            schema=to_strict(whole) if is_strict else whole,
            strict=is_strict,
        )
        return cls(
            name=name,
            adapter=adapted.adapter,
            schema=schemas[KEY],
            definitions=definitions,
            format=None if annotation is str else shape,
            is_wrapped=is_wrapped,
            _scope=scope,
            _annotation=annotation,
        )

    def read(self, text: str) -> Any:
        """Read the value in what a model wrote.

        Parameters
        ----------
        text : str
            JSON, perhaps in a code fence or with words around it.

        Returns
        -------
        object
            The value, validated.

        Raises
        ------
        MisfitError
            If there is none that fits.
        """
        if self.format is None:
            return text
        found = list(values_in(text))
        problem = "there is no JSON in it"
        for number, value in enumerate(self._meant(text, found)):
            try:
                # As JSON and not as Python, where a strict type refuses a date's text.
                return self._checked(
                    value, lambda it: self.adapter.validate_json(to_json(it))
                )
            except Exception as error:  # noqa: BLE001 - a validator may raise anything
                if number == 0:
                    problem = wrong(KEY, error, self.schema, self.definitions)
        raise MisfitError(problem, has_json=bool(found))

    def read_beginning(self, text: str) -> Any:
        """Read as much of a value as has arrived.

        Parameters
        ----------
        text : str
            The beginning of what `read` takes.

        Returns
        -------
        object
            The value so far: an object's fields that have not come yet are None,
            or have their default.

        Raises
        ------
        ValueError
            If nothing of it has come yet, or what has come does not fit.
        """
        if self.format is None:
            return text
        come = _UNDONE_NUMBER.sub("", beginning_of_json(text))
        value = self._unwrapped(from_json(come, allow_partial="trailing-strings"))
        if not may_grow(value, self.schema, self.definitions):
            value = self._unwrapped(from_json(come, allow_partial=True))
        grow = partial(
            self._growing.validate_python, experimental_allow_partial="trailing-strings"
        )
        return self._checked(value, grow)

    def _unwrapped(self, value: Any) -> Any:
        if not self.is_wrapped:
            return value
        found = value.get(KEY) if isinstance(value, dict) else None
        if found is None:
            message = "nothing has come yet"
            raise ValueError(message)
        return found

    @cached_property
    def _growing(self) -> TypeAdapter[Any]:
        return growing_adapter(self._annotation, self._scope) or self.adapter

    def _meant(self, text: str, found: Sequence[Any]) -> Iterator[Any]:
        """Go through what a text may mean, the value without its wrapping."""
        if self.is_wrapped:
            for value in found:
                if isinstance(value, dict) and value.keys() == {KEY}:
                    yield value[KEY]
            bare = text.strip()
            # A model may leave out the quotes; but half a list is no word.
            if bare and not found and bare[0] not in "[{":
                yield from (bare, bare.strip("`'\".*"))
        yield from found

    def _checked(self, value: Any, validate: Callable[[Any], Any]) -> Any:
        try:
            return validate(value)
        except Exception:
            again = repair(value, self.schema, self.definitions)
            if again == value:
                raise
            return validate(again)


def name_of(annotation: Any) -> str:
    """Name a type for people, without the modules of its parts.

    Parameters
    ----------
    annotation : object
        Any annotation.

    Returns
    -------
    str
        At most 60 characters.

    Examples
    --------
    >>> from datetime import date
    >>> name_of(dict[str, date] | None)
    'dict[str, date] | None'
    """
    if get_origin(annotation) is Annotated:
        return name_of(get_args(annotation)[0])
    is_class = isinstance(annotation, type) and not hasattr(annotation, "__args__")
    name = annotation.__name__ if is_class else _PATH.sub("", repr(annotation))
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def _shown(annotation: Any) -> str:
    try:
        return name_of(annotation)
    except Exception:  # noqa: BLE001 - it is no type, and its repr may do anything
        return type(annotation).__name__


def _reason(annotation: Any) -> str:
    try:
        TypeAdapter(annotation).json_schema()
    except Exception as error:  # noqa: BLE001 - see `_shown`
        said = str(error).partition("\n")[0].partition(". ")[0].rstrip(".")
        return f" ({said})" if said else ""
    return ""


def _wire_name(name: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_-]+", "_", name).strip("_") or KEY


def _object_of(
    schema: Schema, definitions: Mapping[str, Schema]
) -> tuple[Schema, bool]:
    """Give the schema of an object, which services want, and whether it is a holder."""
    name = reference(schema)
    plain = schema if name is None else definitions[name]
    if types_of(plain) == ["object"]:
        whole = with_definitions(plain, definitions)
        # One that refers to itself cannot stand at the top.
        if name not in whole.get("$defs", {}):
            return whole, False
    holder = {
        "type": "object",
        "properties": {KEY: schema},
        "required": [KEY],
        "additionalProperties": False,
    }
    return with_definitions(holder, definitions), True
