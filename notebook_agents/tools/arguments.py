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
from notebook_agents.tools.json_schema import Schema, accepts_null
from notebook_agents.tools.problem import line_of, missing, unexpected, wrong
from notebook_agents.tools.repair import repair
from notebook_agents.tools.signature import (
    MISSING,
    VAR_KEYWORD,
    Parameter,
    read_parameters,
)

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = ["Arguments"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """What a function takes, ready to read JSON."""

    parameters: tuple[Parameter, ...]
    """Those that a model may fill."""

    adapters: Mapping[str, TypeAdapter[Any]]
    """What reads the value of each parameter."""

    schemas: Mapping[str, Schema]
    """Simplified JSON schema of each parameter."""

    definitions: Mapping[str, Schema]
    """What the schemas refer to."""

    doubts: tuple[str, ...]
    """Why some parameters take any value."""

    @classmethod
    def of(cls, func: Callable[..., Any]) -> Arguments:
        """Read the signature of a callable, in the place where it is defined."""
        scope = Scope.of(func)
        adapted = [adapt(item, scope) for item in read_parameters(func, scope)]
        schemas, definitions = json_schemas(adapted)
        return cls(
            parameters=tuple(item.parameter for item in adapted),
            adapters={item.parameter.name: item.adapter for item in adapted},
            schemas=schemas,
            definitions=definitions,
            doubts=tuple(item.doubt for item in adapted if item.doubt),
        )

    @property
    def are_known(self) -> bool:
        """Whether every name in the annotations is known."""
        return all(parameter.unknown is None for parameter in self.parameters)

    def read(self, values: Mapping[str, Any], *, tool: str) -> BoundCall:
        """Validate the values of a call.

        Parameters
        ----------
        values : mapping of str to object
            JSON values by name.
        tool : str
            Name of the tool, for the error.

        Returns
        -------
        BoundCall
            What to call the function with.

        Raises
        ------
        ToolArgumentsError
            If they do not fit; the message names everything that is wrong.
        """
        bound: dict[str, Any] = {}
        problems: list[str] = []
        for parameter in self.parameters:
            name = parameter.name
            if parameter.kind is VAR_KEYWORD:
                self._take_others(name, values, bound, problems)
            elif self._is_given(parameter, values):
                self._take(name, values[name], bound, problems)
            elif not parameter.is_optional:
                problems.append(missing(name, self.schemas[name], self.definitions))
            elif parameter.default is MISSING:
                self._take_field_default(name, bound)
        problems += self._find_unknown(values)
        if problems:
            raise ToolArgumentsError(line_of(tool, problems), tool=tool)
        args, kwargs = lay_out(self.parameters, bound)
        return BoundCall(dict(values), args, kwargs)

    def _is_given(self, parameter: Parameter, values: Mapping[str, Any]) -> bool:
        """Whether there is a value; null stands for a default that is not null."""
        name = parameter.name
        if values.get(name) is not None:
            return True
        if name not in values:
            return False
        takes_null = accepts_null(self.schemas[name], self.definitions)
        return takes_null or not parameter.is_optional

    def _take(
        self, name: str, value: Any, bound: dict[str, Any], problems: list[str]
    ) -> None:
        try:
            bound[name] = self._validated(name, value)
        except Exception as error:  # noqa: BLE001 - a validator of the user's may raise anything
            problems.append(wrong(name, error, self.schemas[name], self.definitions))

    def _validated(self, name: str, value: Any) -> Any:
        adapter = self.adapters[name]
        try:
            # As JSON and not as Python, where a strict type refuses a date's text.
            return adapter.validate_json(to_json(value))
        except Exception:
            again = repair(value, self.schemas[name], self.definitions)
            if again == value:
                raise
            return adapter.validate_json(to_json(again))

    def _take_others(
        self,
        name: str,
        values: Mapping[str, Any],
        bound: dict[str, Any],
        problems: list[str],
    ) -> None:
        """Validate what goes into ``**name``."""
        known = {p.name for p in self.parameters if p.kind is not VAR_KEYWORD}
        others: dict[str, Any] = {}
        for key in [key for key in values if key not in known]:
            try:
                others[key] = self._validated(name, values[key])
            except Exception as error:  # noqa: BLE001 - as above
                schema = self.schemas[name]
                problems.append(wrong(key, error, schema, self.definitions))
        bound[name] = others

    def _take_field_default(self, name: str, bound: dict[str, Any]) -> None:
        """Use the default of a pydantic ``Field``, which Python does not know."""
        default = self.adapters[name].get_default_value()
        if default is not None:
            bound[name] = default.value

    def _find_unknown(self, values: Mapping[str, Any]) -> list[str]:
        if any(parameter.kind is VAR_KEYWORD for parameter in self.parameters):
            return []
        known = [parameter.name for parameter in self.parameters]
        unknown = [name for name in values if name not in known]
        return [unexpected(unknown, known)] if unknown else []
