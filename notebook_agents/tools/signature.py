"""The parameters of a callable, as a model may fill them."""

from __future__ import annotations

import functools
import inspect
import sys
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from notebook_agents.errors import AgentConfigurationError
from notebook_agents.tools.annotation import Scope, resolve
from notebook_agents.tools.context import is_context, is_named_context

__all__ = [
    "MISSING",
    "Parameter",
    "fixed_keywords",
    "is_unbound_method",
    "read_parameters",
]

MISSING: Any = inspect.Parameter.empty
POSITIONAL_ONLY = inspect.Parameter.POSITIONAL_ONLY
POSITIONAL_OR_KEYWORD = inspect.Parameter.POSITIONAL_OR_KEYWORD
VAR_POSITIONAL = inspect.Parameter.VAR_POSITIONAL
KEYWORD_ONLY = inspect.Parameter.KEYWORD_ONLY
VAR_KEYWORD = inspect.Parameter.VAR_KEYWORD


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter."""

    name: str
    """Its name in Python and for the model."""

    kind: Any = POSITIONAL_OR_KEYWORD
    """One of the kinds of `inspect.Parameter`."""

    annotation: Any = Any
    """Its type; `typing.Any` if nothing is known."""

    default: Any = MISSING
    """What Python passes when it is left out."""

    is_optional: bool = False
    """Whether it may be left out."""

    unknown: str | None = None
    """The annotation's text if its names are not known."""

    is_context: bool = False
    """Whether it gets the `RunContext` of a call, and is hidden from the model."""

    hint: str | None = None
    """What the model is told of it in any case, after its description."""

    @property
    def note(self) -> str | None:
        """The text of ``Annotated[T, "text"]``, or of a ``Doc`` or ``Field`` there."""
        for item in getattr(self.annotation, "__metadata__", ()):
            text = item if isinstance(item, str) else getattr(item, "documentation", 0)
            text = text or getattr(item, "description", 0)
            if isinstance(text, str):
                return " ".join(text.split())
        return None


def read_parameters(func: Callable[..., Any], scope: Scope) -> tuple[Parameter, ...]:
    """List the parameters that a call has to fill.

    A keyword that a `functools.partial` has fixed is not among them, so that a
    connection or a key stays out of the model's sight.

    Parameters
    ----------
    func : callable
        Any callable.
    scope : Scope
        The names its annotations may use.

    Returns
    -------
    tuple of Parameter
        In the order of the signature.

    Raises
    ------
    AgentConfigurationError
        If Python does not know the parameters, as of some built-in functions.
    """
    try:
        written = list(_signature(func).parameters.values())
    except (TypeError, ValueError) as error:
        message = (
            f"The parameters of {func!r} cannot be read. Wrap it: write a small "
            "function with annotated parameters that calls it."
        )
        raise AgentConfigurationError(message) from error
    if is_unbound_method(func):
        written = written[1:]
    fixed = fixed_keywords(func)
    found: list[Parameter] = []
    for parameter in written:
        if parameter.kind is VAR_KEYWORD or parameter.name not in fixed:
            found.extend(_read(parameter, scope))
    return tuple(found)


def is_unbound_method(func: Any) -> bool:
    """Whether a function is a method as the class body sees it, without its object."""
    if not isinstance(func, types.FunctionType):
        return False
    outer = func.__qualname__.rpartition(".")[0]
    names = func.__code__.co_varnames[: func.__code__.co_argcount]
    in_class = bool(outer) and not outer.endswith("<locals>")
    return in_class and names[:1] in {("self",), ("cls",)}


def _signature(func: Callable[..., Any]) -> inspect.Signature:
    if sys.version_info >= (3, 14):
        # Annotations are evaluated late there, and may name what is not defined.
        import annotationlib

        return inspect.signature(
            func, annotation_format=annotationlib.Format.FORWARDREF
        )
    return inspect.signature(func)


def fixed_keywords(func: Any) -> set[str]:
    """Name what a `functools.partial` has filled already."""
    fixed: set[str] = set()
    while isinstance(func, functools.partial):
        fixed.update(func.keywords)
        func = func.func
    return fixed


def _read(parameter: inspect.Parameter, scope: Scope) -> list[Parameter]:
    written = Any if parameter.annotation is MISSING else parameter.annotation
    annotation, is_known = resolve(written, scope)
    unknown = None if is_known else _text(parameter.annotation)
    if is_context(annotation) or is_named_context(unknown):
        return _context(parameter)
    if parameter.kind is VAR_KEYWORD and _mark_of(annotation) == "Unpack":
        return _unpacked(typing.get_args(annotation)[0], scope)
    if parameter.kind is VAR_POSITIONAL:
        # `*args: int` is a list of numbers to a model.
        parts = Any if _mark_of(annotation) == "Unpack" else annotation
        annotation = types.GenericAlias(list, (parts,))
    has_default = parameter.default is not MISSING
    return [
        Parameter(
            name=parameter.name,
            kind=parameter.kind,
            annotation=annotation,
            default=parameter.default,
            is_optional=has_default or parameter.kind in {VAR_POSITIONAL, VAR_KEYWORD},
            unknown=unknown,
        )
    ]


def _context(parameter: inspect.Parameter) -> list[Parameter]:
    if parameter.kind in {VAR_POSITIONAL, VAR_KEYWORD}:
        return []
    name, kind = parameter.name, parameter.kind
    return [Parameter(name=name, kind=kind, is_context=True)]


def _unpacked(typed_dict: Any, scope: Scope) -> list[Parameter]:
    """Read ``**options: Unpack[Options]`` as one keyword for each key."""
    parameters = []
    for key, written in typed_dict.__annotations__.items():
        annotation, is_known = resolve(written, scope)
        is_required = key in typed_dict.__required_keys__
        while (mark := _mark_of(annotation)) in {"Required", "NotRequired", "ReadOnly"}:
            # The dictionary itself does not see a mark that is written as a string.
            is_required = {"Required": True, "NotRequired": False}.get(
                mark, is_required
            )
            annotation = typing.get_args(annotation)[0]
        parameters.append(
            Parameter(
                name=key,
                kind=KEYWORD_ONLY,
                annotation=annotation,
                is_optional=not is_required,
                unknown=None if is_known else _text(written),
            )
        )
    return parameters


def _mark_of(annotation: Any) -> str:
    # By name: `typing` and `typing_extensions` may each have their own.
    return getattr(typing.get_origin(annotation), "_name", None) or ""


def _text(annotation: Any) -> str:
    if not isinstance(annotation, str):
        annotation = getattr(annotation, "__forward_arg__", None) or repr(annotation)
    return str(annotation)
