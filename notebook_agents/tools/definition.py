"""A tool as an agent holds it: a function, its schema, and how to run it."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

from notebook_agents.errors import AgentConfigurationError, ToolArgumentsError
from notebook_agents.front_ends import front_ends
from notebook_agents.tools.annotation import innermost
from notebook_agents.tools.call import BoundCall
from notebook_agents.tools.names import check_name
from notebook_agents.tools.parsing import parse_object
from notebook_agents.tools.variables import Variables

if TYPE_CHECKING:
    from notebook_agents.tools.arguments import Arguments

__all__ = [
    "RISKS",
    "Approval",
    "BoundCall",
    "ToolDefinition",
    "ToolOptions",
    "is_any",
    "read_arguments",
]

Approval: TypeAlias = bool | Literal["risky"] | Callable[[dict[str, Any]], Any] | None

RISKS = ("read", "write", "network", "code", "money")


class ToolOptions(TypedDict, total=False):
    """What ``@tool(...)`` takes; see `ToolDefinition` for the meanings."""

    name: str | None
    description: str | None
    context: str | None
    approval: Approval
    risk: str | None
    timeout: float | None
    retries: int
    thread: bool | None
    sequential: bool
    strict: bool | None
    label: str | None


@dataclass(frozen=True, slots=True)
class _Nature:
    """What kind of function it is, which takes longer to find out than one thinks."""

    func: Any
    is_async: bool
    is_generator: bool

    @classmethod
    def of(cls, func: Any) -> _Nature:
        is_generator, is_async_generator = (
            inspect.isgeneratorfunction,
            inspect.isasyncgenfunction,
        )
        return cls(
            func,
            is_any(func, inspect.iscoroutinefunction, is_async_generator),
            is_any(innermost(func), is_generator, is_async_generator),
        )


@dataclass
class ToolDefinition:
    """A function that a model may call, with all that an agent knows of it.

    Usually made by `tool` or `to_tool_definition`. It can be called like the
    function itself.

    Parameters
    ----------
    name : str
        Name for the model: 1 to 64 letters, digits, ``_`` or ``-``.
    description : str
        What the tool does, without the context.
    context : str or None
        When and why to use it; the model reads it after the description.
    func : callable
        The function.
    schema : dict
        OpenAI's function-tool object, ``{"type": "function", "function": {...}}``.
    approval : bool, "risky", callable or None
        Whether a call needs a person's consent; a callable gets the arguments.
        None leaves it to the agent.
    risk : {"read", "write", "network", "code", "money"}, optional
        What a call may do.
    timeout : float, optional
        Seconds that a call may take.
    retries : int, default 2
        How often in a run the model is told to try again, after wrong arguments
        or a `ToolRetry`; then a failure is final.
    thread : bool, optional
        Whether a synchronous function runs in a worker thread; None leaves it to
        the place where the agent runs.
    sequential : bool, default False
        Whether no other tool may run at the same time.
    label : str, optional
        Sentence for people about what a call does.
    strict : bool, optional
        The form of the schema that was asked for; None is strict where possible.
    relaxed : str, optional
        Why the schema is not in the strict form; None if it is.

    Raises
    ------
    AgentConfigurationError
        If the name or an option is not valid.

    Examples
    --------
    >>> from notebook_agents.tools import to_tool_definition
    >>> def add(a: int, b: int = 1) -> int:
    ...     "Add two numbers."
    ...     return a + b
    >>> definition = to_tool_definition(add)
    >>> definition.name, definition.description
    ('add', 'Add two numbers.')
    >>> call = definition.bind('{"a": 2, "b": null}')
    >>> add(*call.args, **call.kwargs)
    3
    """

    name: str
    description: str
    context: str | None
    func: Callable[..., Any]
    schema: dict[str, Any]
    approval: Approval = None
    risk: str | None = None
    timeout: float | None = None
    retries: int = 2
    thread: bool | None = None
    sequential: bool = False
    label: str | None = None
    strict: bool | None = None
    relaxed: str | None = None
    is_plain: bool = field(default=False, init=False, repr=False, compare=False)
    """Whether it says what its function says, with no word of an agent's own."""
    _arguments: Arguments | None = field(default=None, repr=False, compare=False)
    _known: _Nature | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_name(self.name)
        _check_options(self)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the function, as plain Python does."""
        return self.func(*args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        # What reads the arguments is made anew from the function where needed.
        return {**self.__dict__, "_arguments": None, "_known": None}

    @property
    def is_async(self) -> bool:
        """Whether a call has to be awaited, or read by ``async for``."""
        return self._nature.is_async

    @property
    def may_report(self) -> bool:
        """Whether a call may tell its progress while it runs."""
        takes_context = any(p.is_context for p in self.arguments.layout)
        return takes_context or self._nature.is_generator

    @property
    def _nature(self) -> _Nature:
        if self._known is None or self._known.func is not self.func:
            self._known = _Nature.of(self.func)
        return self._known

    @property
    def arguments(self) -> Arguments:
        """What reads and validates the arguments."""
        if self._arguments is None:
            self._arguments = read_arguments(self.func)
        return self._arguments

    def bind(self, arguments: str, variables: Variables | None = None) -> BoundCall:
        """Read the arguments that a model wrote.

        The text is parsed strictly, blank text is no arguments. Each value is
        validated against the signature. Null for a parameter that has a default
        and may not be None means the default, and a string that holds the JSON of
        a fitting value is accepted.

        Parameters
        ----------
        arguments : str
            JSON text of one object.
        variables : Variables, optional
            The live objects that it may name, for a parameter that JSON cannot
            carry.

        Returns
        -------
        BoundCall
            What to call the function with.

        Raises
        ------
        ToolArgumentsError
            If they do not fit; the message is one line for the model.

        Examples
        --------
        >>> from notebook_agents.tools import to_tool_definition
        >>> def search(query: str, limit: int = 5) -> None: ...
        >>> dict(to_tool_definition(search).bind('{"query": "tea"}').kwargs)
        {'query': 'tea'}
        """
        values = parse_object(arguments, tool=self.name)
        return self.arguments.read(values, tool=self.name, variables=variables)

    def rebind(
        self, values: Mapping[str, Any], variables: Variables | None = None
    ) -> BoundCall:
        """Validate arguments that a person has edited, exactly as `bind` does.

        Parameters
        ----------
        values : mapping of str to object
            Arguments by name. Objects that have a JSON form, such as a date, are
            brought into it first.
        variables : Variables, optional
            As for `bind`.

        Returns
        -------
        BoundCall
            What to call the function with.

        Raises
        ------
        ToolArgumentsError
            If they do not fit.
        """
        # Imported here: see `read_arguments`.
        from pydantic_core import to_jsonable_python

        try:
            text = json.dumps(dict(values), allow_nan=False, default=to_jsonable_python)
        except (TypeError, ValueError, RecursionError) as error:
            message = f"The arguments cannot be written as JSON: {error}"
            raise ToolArgumentsError(message, tool=self.name) from error
        return self.bind(text, variables)

    def form(self) -> Any:
        """Give a form to try the tool by hand, for the end of a notebook cell.

        It has a field for each argument. Once the tool has run, the form gives
        way to a record of the call with its result below, so that the notebook
        can be saved; run the cell again for another try.

        Returns
        -------
        object
            Shows itself; plain text where a widget cannot be shown.

        Raises
        ------
        AgentConfigurationError
            If this package is not installed properly.

        Notes
        -----
        A function that was marked with ``@tool`` has this as ``f.form()``.
        """
        for host in front_ends():
            return host.form(self)
        message = "No front end is installed; install the package with pip."
        raise AgentConfigurationError(message)

    def options(self) -> ToolOptions:
        """Give everything that `tool` was told, to define a similar tool.

        Returns
        -------
        ToolOptions
            As keywords for `tool` and `to_tool_definition`.
        """
        names = ToolOptions.__annotations__
        options: Any = {
            item.name: getattr(self, item.name)
            for item in fields(self)
            if item.name in names
        }
        return options  # type: ignore[no-any-return]  # the keys are those of ToolOptions


def is_any(func: Any, *kinds: Callable[[Any], bool]) -> bool:
    """Tell whether a callable, or the ``__call__`` of an object, is of some kind.

    Parameters
    ----------
    func : callable
        A function, a partial, an object.
    *kinds : callable
        Such as ``inspect.iscoroutinefunction``.

    Returns
    -------
    bool
        Whether one of them says so.
    """
    call = getattr(type(func), "__call__", None)  # noqa: B004 - the method itself is wanted
    places = [func] if inspect.isroutine(func) else [func, call]
    return any(kind(place) for place in places for kind in kinds)


def read_arguments(func: Callable[..., Any]) -> Arguments:
    """Read the signature of a function."""
    # Imported here: it brings pydantic, which nobody needs without tools.
    from notebook_agents.tools.arguments import Arguments

    return Arguments.of(func)


def _check_options(definition: ToolDefinition) -> None:
    approval, timeout = definition.approval, definition.timeout
    is_flag = approval is None or isinstance(approval, bool) or approval == "risky"
    problem = None
    if not (is_flag or callable(approval)):
        problem = f"approval={approval!r}: use True, False, 'risky' or a function."
    elif inspect.iscoroutinefunction(approval):
        problem = "an async approval rule: use a plain function of the arguments."
    elif definition.risk is not None and definition.risk not in RISKS:
        problem = f"risk={definition.risk!r}: use one of {', '.join(RISKS)}."
    elif timeout is not None and not _is_positive(timeout):
        problem = f"timeout={timeout!r}: use seconds, more than 0, or None."
    elif not _is_count(definition.retries):
        problem = f"retries={definition.retries!r}: use a whole number, 0 or more."
    else:
        problem = _wrong_kind(definition)
    if problem:
        message = f"The tool {definition.name!r} was given {problem}"
        raise AgentConfigurationError(message)


def _wrong_kind(definition: ToolDefinition) -> str | None:
    """Find an option that is neither left out nor of its kind."""
    for kind, word, names in _KINDS:
        for name in names:
            value = getattr(definition, name)
            if value is not None and not isinstance(value, kind):
                return f"{name}={value!r}: use {word}."
    return None


_KINDS: tuple[tuple[type, str, tuple[str, ...]], ...] = (
    (str, "a text", ("description", "context", "label")),
    (bool, "True or False", ("thread", "sequential", "strict")),
)


def _is_positive(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and math.isfinite(value) and value > 0


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
