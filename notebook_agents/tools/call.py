"""A call that is ready to be made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from notebook_agents.tools.context import BY_HAND, RunContext
from notebook_agents.tools.signature import (
    MISSING,
    POSITIONAL_ONLY,
    POSITIONAL_OR_KEYWORD,
    VAR_KEYWORD,
    VAR_POSITIONAL,
    Parameter,
)

__all__ = ["BoundCall", "lay_out"]


@dataclass(frozen=True, slots=True)
class BoundCall:
    """Validated arguments: ``func(*call.args, **call.kwargs)``."""

    values: Mapping[str, Any] = field(default_factory=dict)
    """The arguments as they were given, which JSON can hold."""

    args: tuple[Any, ...] = ()
    """Positional arguments, as Python objects."""

    kwargs: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments, as Python objects."""

    def within(self, context: RunContext[Any]) -> BoundCall:
        """Give the same call with the context of a run where it takes one.

        Parameters
        ----------
        context : RunContext
            The run that makes the call.

        Returns
        -------
        BoundCall
            Itself, if the function takes no context.
        """

        def put(value: Any) -> Any:
            return context if value is BY_HAND else value

        if not any(value is BY_HAND for value in (*self.args, *self.kwargs.values())):
            return self
        kwargs = {name: put(value) for name, value in self.kwargs.items()}
        return BoundCall(self.values, tuple(map(put, self.args)), kwargs)


def lay_out(
    parameters: Sequence[Parameter], bound: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Sort values into positional and keyword arguments.

    Parameters
    ----------
    parameters : sequence of Parameter
        The signature.
    bound : mapping of str to object
        Values by parameter name; the one of ``**kwargs`` is itself a mapping.

    Returns
    -------
    tuple of (tuple, dict)
        What to call with. An omitted argument is left to Python, except where a
        later positional one needs its place filled.
    """
    rest = next((p.name for p in parameters if p.kind is VAR_POSITIONAL), None)
    extra = next((p.name for p in parameters if p.kind is VAR_KEYWORD), None)
    by_place = [p for p in parameters if p.kind is POSITIONAL_ONLY]
    if rest is not None and bound.get(rest):
        by_place += [p for p in parameters if p.kind is POSITIONAL_OR_KEYWORD]
        last = len(by_place)
    else:
        given = [place for place, p in enumerate(by_place, 1) if p.name in bound]
        last = max(given, default=0)
    args = [_value(p, bound) for p in by_place[:last]]
    args += bound.get(rest, ()) if rest is not None else ()
    apart = {p.name for p in by_place} | {rest, extra}
    kwargs = {name: value for name, value in bound.items() if name not in apart}
    if extra is not None:
        kwargs.update(bound.get(extra, {}))
    return tuple(args), kwargs


def _value(parameter: Parameter, bound: Mapping[str, Any]) -> Any:
    value = bound.get(parameter.name, parameter.default)
    # Only an optional one is omitted, and those have a default.
    assert value is not MISSING  # noqa: S101 - would be a fault of this module
    return value
