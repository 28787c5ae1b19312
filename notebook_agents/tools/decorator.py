"""The mark that makes a function a tool."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

from notebook_agents.errors import AgentConfigurationError
from notebook_agents.spelling import by_name
from notebook_agents.tools.definition import Approval, ToolDefinition, ToolOptions
from notebook_agents.tools.derivation import (
    attach,
    check_callable,
    derive,
    to_tool_definition,
)

__all__ = ["tool"]

_DEFAULTS = {"retries": 2, "sequential": False}  # of the others: None

F = TypeVar("F", bound=Callable[..., Any])


@overload
def tool(
    func: F,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    context: str | None = None,
    approval: Approval = None,
    risk: str | None = None,
    timeout: float | None = None,
    retries: int = 2,
    thread: bool | None = None,
    sequential: bool = False,
    strict: bool | None = None,
    label: str | None = None,
) -> F: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    context: str | None = None,
    approval: Approval = None,
    risk: str | None = None,
    timeout: float | None = None,
    retries: int = 2,
    thread: bool | None = None,
    sequential: bool = False,
    strict: bool | None = None,
    label: str | None = None,
) -> Callable[[F], F]: ...


@by_name
def tool(
    func: Any = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    context: str | None = None,
    approval: Approval = None,
    risk: str | None = None,
    timeout: float | None = None,
    retries: int = 2,
    thread: bool | None = None,
    sequential: bool = False,
    strict: bool | None = None,
    label: str | None = None,
) -> Any:
    """Mark a function as a tool; the function itself does not change.

    Parameters
    ----------
    func : callable
        The function, when used as ``@tool`` without parentheses.
    name : str, optional
        Name for the model, by default that of the function.
    description : str, optional
        What it does, by default the first paragraph of the docstring.
    context : str, optional
        When and why to use it; the model reads it after the description.
    approval : bool, "risky" or callable, optional
        Whether a call needs a person's consent; a callable gets the arguments.
        By default the agent decides.
    risk : {"read", "write", "network", "code", "money"}, optional
        What a call may do.
    timeout : float, optional
        Seconds that a call may take.
    retries : int, default 2
        How often in a run the model is told to try again, after wrong arguments
        or a `ToolRetry` that the tool raised; then a failure is final.
    thread : bool, optional
        Whether a synchronous function runs in a worker thread; by default where
        the agent runs decides.
    sequential : bool, default False
        Whether no other tool may run at the same time.
    strict : bool, optional
        Whether the schema is in the strict form; by default where that is
        possible without losing meaning.
    label : str, optional
        Sentence for people about what a call does.

    Returns
    -------
    callable
        The same object, with the attributes ``__agentapi_tool_name__``,
        ``__agentapi_tool_description__``, ``__agentapi_tool_context__`` and
        ``__agentapi_tool_schema__``, and with ``form()``, which shows a form to try
        it by hand in a notebook. An object that takes no attributes, such as
        a bound method, comes back as a `ToolDefinition`, which can be called and
        passed to an agent just the same.

    Raises
    ------
    AgentConfigurationError
        If it is not a function, or needs a name, or an option is not valid.

    Warns
    -----
    UserWarning
        If an annotation says nothing that JSON can carry.

    Notes
    -----
    A function has one mark: marking it again replaces the first. For a second
    tool from the same function use ``to_tool_definition(func, name="other")``.

    Examples
    --------
    >>> @tool
    ... def add(a: int, b: int = 1) -> int:
    ...     "Add two numbers."
    ...     return a + b
    >>> add(2, 3)
    5
    >>> add.__agentapi_tool_schema__["function"]["parameters"]["required"]
    ['a', 'b']

    >>> @tool(name="remove", approval=True, risk="write")
    ... def delete_rows(table: str, rows: list[int]) -> str:
    ...     "Delete rows of a table."
    ...     return f"{len(rows)} rows deleted"
    >>> delete_rows.__agentapi_tool_name__
    'remove'
    """
    options = ToolOptions(
        name=name,
        description=description,
        context=context,
        approval=approval,
        risk=risk,
        timeout=timeout,
        retries=retries,
        thread=thread,
        sequential=sequential,
        strict=strict,
        label=label,
    )
    return (
        (lambda given: _mark(given, options)) if func is None else _mark(func, options)
    )


def _mark(func: Any, options: ToolOptions) -> Any:
    if isinstance(func, str):
        message = f"The name of a tool is a keyword: @tool(name={func!r})."
        raise AgentConfigurationError(message)
    if isinstance(func, staticmethod | classmethod):
        # The descriptor is gone once the class exists; its function stays.
        _mark(func.__func__, options)
        return func
    if not callable(func) or isinstance(func, ToolDefinition):
        given: Any = {
            key: value
            for key, value in options.items()
            if value is not _DEFAULTS.get(key)
        }
        return to_tool_definition(func, **given)
    check_callable(func)
    definition = derive(func, options)
    return func if attach(func, definition) else definition
