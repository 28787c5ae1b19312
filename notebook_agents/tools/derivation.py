"""How a callable becomes a tool definition."""

from __future__ import annotations

import functools
import inspect
import re
import string
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from notebook_agents.checks import shown
from notebook_agents.errors import AgentConfigurationError
from notebook_agents.spelling import did_you_mean, refuse_option
from notebook_agents.tools.annotation import innermost
from notebook_agents.tools.definition import (
    ToolDefinition,
    ToolOptions,
    read_arguments,
)
from notebook_agents.tools.docstring import read_documentation
from notebook_agents.tools.function_schema import compose_description, function_schema
from notebook_agents.tools.names import check_name, name_from
from notebook_agents.tools.signature import is_unbound_method

if TYPE_CHECKING:
    from notebook_agents.tools.arguments import Arguments

__all__ = ["MARK", "attach", "check_callable", "derive", "to_tool_definition"]

VAR_KEYWORD = inspect.Parameter.VAR_KEYWORD
_parse = string.Formatter().parse
MARK = "__notebook_agents_tool__"
"""The attribute of a function that holds its definition."""


def to_tool_definition(
    func: Callable[..., Any] | ToolDefinition, **overrides: Unpack[ToolOptions]
) -> ToolDefinition:
    """Make a tool of a callable, or find the one that `tool` has made of it.

    Parameters
    ----------
    func : callable or ToolDefinition
        A function marked with `tool`, or any other callable: then name,
        description and schema come from its name, docstring and signature. A
        partial, a bound method and a wrapper of a marked function keep what the
        function was marked with.
    **overrides
        The keywords of `tool`; they win over the mark, which stays as it is.

    Returns
    -------
    ToolDefinition
        The attached one itself, if there are no overrides.

    Raises
    ------
    AgentConfigurationError
        If `func` is no callable, or needs a name, or an option is not valid.

    Warns
    -----
    UserWarning
        If an annotation says nothing that JSON can carry.

    Examples
    --------
    >>> def area(width: float, height: float) -> float:
    ...     "Area of a rectangle, in square metres."
    ...     return width * height
    >>> to_tool_definition(area).schema["function"]["parameters"]["required"]
    ['width', 'height']
    >>> to_tool_definition(area, name="rectangle").name
    'rectangle'
    """
    if isinstance(func, ToolDefinition):
        return _revise(func, overrides) if overrides else _refresh(func)
    check_callable(func)
    if is_unbound_method(func):
        message = (
            f"{func.__qualname__!r} is a method without its object. "
            f"Pass the method of an instance, as in thing.{func.__name__}."
        )
        raise AgentConfigurationError(message)
    mark = _find_mark(func)
    if mark is None:
        definition = derive(func, overrides)
        definition.is_plain = not overrides
        return definition
    if mark.func is not func:
        # A wrapper has to run, and what the mark asks for, such as approval, holds.
        # The names in the annotations may be known only to the mark by now.
        same = mark.arguments if _takes_the_same(func, mark) else None
        return derive(func, {**mark.options(), **overrides}, arguments=same)
    return _revise(mark, overrides) if overrides else _refresh(mark)


def derive(
    func: Callable[..., Any],
    options: ToolOptions,
    *,
    arguments: Arguments | None = None,
) -> ToolDefinition:
    """Make a new definition from a signature, a docstring and options.

    Parameters
    ----------
    func : callable
        What the tool calls.
    options : ToolOptions
        What is told apart from it.
    arguments : Arguments, optional
        What it takes, if that is known already.

    Returns
    -------
    ToolDefinition
        A new one.
    """
    _check_known(options)
    given = options.get("name")
    name = check_name(given) if given is not None else name_from(_written_name(func))
    doubts: tuple[str, ...] = ()
    if arguments is None:
        arguments = read_arguments(func)
        doubts = arguments.doubts
    _check_label(name, options.get("label"), arguments)
    documentation = read_documentation(func)
    description = (
        options.get("description") or documentation.summary or f"Tool function {name}"
    )
    context = options.get("context")
    schema, relaxed = function_schema(
        name,
        compose_description(description, context),
        arguments,
        texts=documentation.parameters,
        strict=options.get("strict"),
    )
    for doubt in doubts:
        _warn(f"Tool {name!r}: {doubt}.", func)
    own: Any = {"name": name, "description": description, "context": context}
    return ToolDefinition(
        **{**options, **own},
        func=func,
        schema=schema,
        relaxed=relaxed,
        _arguments=arguments,
    )


def attach(func: Any, definition: ToolDefinition) -> bool:
    """Write a definition onto its function.

    Parameters
    ----------
    func : object
        The callable.
    definition : ToolDefinition
        What to write.

    Returns
    -------
    bool
        False if the object takes no attributes, as bound methods and built-ins.
    """
    attributes: dict[str, Any] = {
        "__agentapi_tool_name__": definition.name,
        "__agentapi_tool_description__": definition.description,
        "__agentapi_tool_context__": definition.context,
        "__agentapi_tool_schema__": definition.schema,
        MARK: definition,
    }
    shown = getattr(func, "form", None)
    if shown is None or isinstance(getattr(shown, "__self__", None), ToolDefinition):
        attributes["form"] = definition.form
    try:
        for name, value in attributes.items():
            setattr(func, name, value)
    except (AttributeError, TypeError, ValueError):
        return False
    definition.is_plain = True
    return True


def _find_mark(func: Any) -> ToolDefinition | None:
    """Find what a callable, or the function inside of it, was marked with."""
    while isinstance(func, functools.partial) and not hasattr(func, MARK):
        func = func.func
    for place in (func, type(func).__call__, innermost(func)):
        mark = getattr(place, MARK, None)
        if isinstance(mark, ToolDefinition):
            return mark
    return None


def _takes_the_same(func: Callable[..., Any], mark: ToolDefinition) -> bool:
    """Whether a wrapper or bound method has the parameters of the marked function."""
    try:
        written = list(inspect.signature(func).parameters.values())
    except (TypeError, ValueError):
        return False
    known = mark.arguments.layout
    return len(written) == len(known) and all(
        (a.name, a.kind) == (b.name, b.kind) and a.default is b.default
        for a, b in zip(written, known, strict=True)
    )


def _revise(definition: ToolDefinition, overrides: ToolOptions) -> ToolDefinition:
    """Copy a definition with other options; its parameters stay as they are."""
    _check_known(overrides)
    changes: Any = {
        key: value
        for key, value in overrides.items()
        if value is not None or key not in {"name", "description"}
    }
    new = replace(definition, **changes)
    text = compose_description(new.description, new.context)
    if new.strict is definition.strict:
        function = {**new.schema["function"], "name": new.name, "description": text}
        new.schema = {**new.schema, "function": function}
    else:
        new.schema, new.relaxed = _rebuilt(new)
    return new


def _refresh(definition: ToolDefinition) -> ToolDefinition:
    """Look again for names that did not exist when the function was defined."""
    if definition.arguments.are_known:
        return definition
    fresh = replace(definition, _arguments=None)
    if fresh.arguments.are_known:
        definition._arguments = fresh.arguments  # noqa: SLF001 - our own class
        definition.schema, definition.relaxed = _rebuilt(definition)
        if getattr(definition.func, MARK, None) is definition:
            attach(definition.func, definition)
    return definition


def _rebuilt(definition: ToolDefinition) -> tuple[dict[str, Any], str | None]:
    return function_schema(
        definition.name,
        compose_description(definition.description, definition.context),
        definition.arguments,
        texts=read_documentation(definition.func).parameters,
        strict=definition.strict,
    )


def _written_name(func: Any) -> str:
    while isinstance(func, functools.partial):
        func = func.func
    name = getattr(func, "__name__", None)
    return name if isinstance(name, str) else type(func).__name__


def check_callable(func: Any) -> None:
    """Refuse what is no function, and say what to pass."""
    if isinstance(func, type) and _is_meant_as_object(func):
        message = (
            f"{func.__name__} is a class, and the model could do nothing with a new "
            f"object of it. Pass an object, {func.__name__}(...), if it can be called, "
            "or a method of one."
        )
        raise AgentConfigurationError(message)
    if callable(func):
        return
    hint = "Pass the function itself, as in tools=[search]"
    if hasattr(func, "as_tool"):
        hint = "Another agent is asked through a tool: tools=[agent.as_tool()]"
    if inspect.isawaitable(func):
        hint += ", without calling it"
        if inspect.iscoroutine(func):
            # Nobody will await it now, and Python would complain about that.
            func.close()
    message = f"A tool is a function, not {type(func).__name__} {shown(func)}. {hint}."
    raise AgentConfigurationError(message)


def _is_meant_as_object(kind: type) -> bool:
    """Tell whether a class was passed where one of its objects was meant."""
    if hasattr(kind, "as_tool") or any("__call__" in vars(k) for k in kind.__mro__):
        return True
    try:
        return not inspect.signature(kind).parameters
    except (TypeError, ValueError):
        return False  # refused as soon as its parameters are asked for


def _check_label(name: str, label: object, arguments: Arguments) -> None:
    """Refuse a label that would be shown with its braces."""
    if not isinstance(label, str):
        return
    known = [each.name for each in arguments.layout]
    takes_any = any(each.kind is VAR_KEYWORD for each in arguments.layout)
    try:
        fields = [re.split(r"[.\[]", part[1])[0] for part in _parse(label) if part[1]]
    except ValueError as error:
        message = f"The label {label!r} of the tool {name!r} cannot be read: {error}."
        raise AgentConfigurationError(message) from error
    for field in fields:
        if field not in known and not takes_any:
            meant = did_you_mean(field, known)
            message = (
                f"The label of the tool {name!r} names no parameter: {field!r}.{meant}"
            )
            raise AgentConfigurationError(message)


def _check_known(options: ToolOptions) -> None:
    unknown = options.keys() - ToolOptions.__annotations__.keys()
    if unknown:
        refuse_option("A tool", sorted(unknown)[0], list(ToolOptions.__annotations__))


def _warn(message: str, func: Any) -> None:
    """Warn at the line where the function is defined, which is where to mend it."""
    code = getattr(innermost(func), "__code__", None)
    if code is None:
        warnings.warn(message, stacklevel=3)
    else:
        warnings.warn_explicit(
            message, UserWarning, code.co_filename, code.co_firstlineno
        )
