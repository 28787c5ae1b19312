"""From the JSON of a tool call to the values that the function is called with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from notebook_agents.errors import ToolArgumentsError
from notebook_agents.tools.adapter import adapt, json_schemas
from notebook_agents.tools.annotation import Scope
from notebook_agents.tools.call import BoundCall, lay_out
from notebook_agents.tools.context import BY_HAND
from notebook_agents.tools.json_schema import Schema, accepts_null
from notebook_agents.tools.problem import line_of, missing, unexpected, wrong
from notebook_agents.tools.repair import repair
from notebook_agents.tools.signature import (
    MISSING,
    VAR_KEYWORD,
    Parameter,
    fixed_keywords,
    read_parameters,
)
from notebook_agents.tools.variables import Kind, Variables

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = ["Arguments"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """What a function takes, ready to read JSON."""

    parameters: tuple[Parameter, ...]
    """Those that a model may fill."""

    layout: tuple[Parameter, ...]
    """All that a call fills, in the order of the signature."""

    hidden: frozenset[str]
    """Names that are not the model's: of a context, or fixed by a partial."""

    adapters: Mapping[str, TypeAdapter[Any]]
    """What reads the value of each parameter."""

    schemas: Mapping[str, Schema]
    """Simplified JSON schema of each parameter."""

    definitions: Mapping[str, Schema]
    """What the schemas refer to."""

    doubts: tuple[str, ...]
    """Why some parameters take any value."""

    kinds: tuple[Kind, ...]
    """Objects that a call may name."""

    @classmethod
    def of(cls, func: Callable[..., Any]) -> Arguments:
        """Read the signature of a callable, in the place where it is defined."""
        scope = Scope.of(func)
        written = read_parameters(func, scope)
        adapted = [adapt(item, scope) for item in written if not item.is_context]
        schemas, definitions = json_schemas(adapted)
        contexts = {item.name: item for item in written if item.is_context}
        others = {item.parameter.name: item.parameter for item in adapted}
        return cls(
            parameters=tuple(others.values()),
            layout=tuple((contexts | others)[item.name] for item in written),
            hidden=frozenset({*contexts, *fixed_keywords(func)}),
            adapters={item.parameter.name: item.adapter for item in adapted},
            schemas=schemas,
            definitions=definitions,
            doubts=tuple(item.doubt for item in adapted if item.doubt),
            kinds=tuple(kind for item in adapted for kind in item.kinds),
        )

    @property
    def are_known(self) -> bool:
        """Whether every name in the annotations is known."""
        return all(parameter.unknown is None for parameter in self.parameters)

    def read(
        self,
        values: Mapping[str, Any],
        *,
        tool: str,
        variables: Variables | None = None,
    ) -> BoundCall:
        """Validate the values of a call.

        Parameters
        ----------
        values : mapping of str to object
            JSON values by name.
        tool : str
            Name of the tool, for the error.
        variables : Variables, optional
            What may be named instead of written.

        Returns
        -------
        BoundCall
            What to call the function with.

        Raises
        ------
        ToolArgumentsError
            If they do not fit; the message names everything that is wrong.
        """
        reading = _Reading(self, values, variables)
        for parameter in self.layout:
            reading.take(parameter)
        problems = [*reading.problems, *self._find_unknown(values)]
        if problems:
            raise ToolArgumentsError(line_of(tool, problems), tool=tool)
        args, kwargs = lay_out(self.layout, reading.bound)
        return BoundCall(dict(values), args, kwargs)

    def takes_null(self, name: str) -> bool:
        """Tell whether null is a value of a parameter of its own."""
        return accepts_null(self.schemas[name], self.definitions)

    def _find_unknown(self, values: Mapping[str, Any]) -> list[str]:
        known = [parameter.name for parameter in self.parameters]
        takes_any = any(parameter.kind is VAR_KEYWORD for parameter in self.parameters)
        unknown = [
            name
            for name in values
            if name in self.hidden or not (takes_any or name in known)
        ]
        return [unexpected(unknown, known)] if unknown else []


class _Reading:
    """One reading of one call: what has been bound so far, and what is wrong."""

    def __init__(
        self,
        arguments: Arguments,
        values: Mapping[str, Any],
        variables: Variables | None,
    ) -> None:
        self.bound: dict[str, Any] = {}
        self.problems: list[str] = []
        self._arguments = arguments
        self._values = values
        self._variables = variables

    def take(self, parameter: Parameter) -> None:
        """Bind one parameter, if there is something to bind to it."""
        name = parameter.name
        if parameter.is_context:
            self.bound[name] = BY_HAND
        elif parameter.kind is VAR_KEYWORD:
            self.bound[name] = self._others(name)
        elif self._is_given(parameter):
            self._bind(name, self.bound, name)
        elif not parameter.is_optional:
            arguments = self._arguments
            schema = arguments.schemas[name]
            self.problems.append(missing(name, schema, arguments.definitions))
        elif parameter.default is MISSING:
            self._bind_field_default(name)

    def _is_given(self, parameter: Parameter) -> bool:
        """Whether there is a value; null stands for a default that is not null."""
        name = parameter.name
        if self._values.get(name) is not None:
            return True
        if name not in self._values:
            return False
        return self._arguments.takes_null(name) or not parameter.is_optional

    def _bind(self, key: str, into: dict[str, Any], name: str) -> None:
        """Validate one value as the parameter ``name`` wants it."""
        try:
            into[key] = self._validated(name, self._values[key])
        except Exception as error:  # noqa: BLE001 - a validator of the user's may raise anything
            arguments = self._arguments
            schema = arguments.schemas[name]
            self.problems.append(wrong(key, error, schema, arguments.definitions))

    def _validated(self, name: str, value: Any) -> Any:
        arguments = self._arguments
        read = arguments.adapters[name].validate_json
        try:
            # As JSON and not as Python, where a strict type refuses a date's text.
            return read(to_json(value), context=self._variables)
        except Exception:
            again = repair(value, arguments.schemas[name], arguments.definitions)
            if again == value:
                raise
            return read(to_json(again), context=self._variables)

    def _others(self, name: str) -> dict[str, Any]:
        """Validate what goes into ``**name``."""
        known = {p.name for p in self._arguments.layout if p.kind is not VAR_KEYWORD}
        others: dict[str, Any] = {}
        for key in self._values:
            if key not in known | self._arguments.hidden:
                self._bind(key, others, name)
        return others

    def _bind_field_default(self, name: str) -> None:
        """Use the default of a pydantic ``Field``, which Python does not know."""
        default = self._arguments.adapters[name].get_default_value()
        if default is not None:
            self.bound[name] = default.value
