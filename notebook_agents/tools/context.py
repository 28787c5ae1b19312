"""`RunContext`: what a tool may know of the run that calls it."""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic, Union

from typing_extensions import TypeVar

from notebook_agents.tools.progress import Progress

__all__ = ["BY_HAND", "RunContext", "is_context", "is_named_context"]

D = TypeVar("D", default=Any)

_NAMED = re.compile(
    r"((\w+\.)*Optional\[)?(\w+\.)*RunContext(\[.*\])?\]?(\s*\|\s*None)?"
)


def _unheard(progress: Progress) -> None:
    """Take a report that nobody reads."""


@dataclass(frozen=True, slots=True, eq=False)
class RunContext(Generic[D]):
    """The run that a tool is called in.

    A tool that has a parameter annotated ``RunContext``, or ``RunContext[Deps]``
    with the type of your own ``deps``, gets it there. The model does not see the
    parameter and cannot fill it. To call such a tool by hand, pass one.

    Parameters
    ----------
    run_id : str, default ""
        Identifier of the run.
    agent : str, default ""
        Name of the agent.
    deps : object, optional
        What was passed as ``Agent(deps=...)`` or ``run(..., deps=...)``.
    user_id : str, default ""
        Whose conversation it is; empty where the memory names nobody.
    conversation_id : str, default ""
        The conversation; empty where the memory has no identifier.
    step : int, default 0
        Number of the model call that asked for the tool, from 1.

    Examples
    --------
    >>> from notebook_agents import Agent, RunContext, ScriptedProvider, call, tool
    >>> @tool
    ... def stock(item: str, context: RunContext[dict[str, int]]) -> int:
    ...     "Count what is left of an item."
    ...     return context.deps[item]
    >>> model = ScriptedProvider([call("stock", item="tea"), "There are 3."])
    >>> Agent(model, [stock], deps={"tea": 3}).run_sync("Tea?").tool_calls[0]["content"]
    '3'
    >>> stock("tea", RunContext(deps={"tea": 5}))
    5
    """

    run_id: str = ""
    agent: str = ""
    deps: D = field(default=None, repr=False)  # type: ignore[assignment]  # as for any D
    user_id: str = ""
    conversation_id: str = ""
    step: int = 0
    _report: Callable[[Progress], object] = field(default=_unheard, repr=False)

    def report_progress(
        self, done: float = 0, total: float | None = None, message: str = ""
    ) -> None:
        """Say how far the tool is; callable from any thread.

        Parameters
        ----------
        done : float, default 0
            How much is done, in any unit.
        total : float, optional
            How much there is, in the same unit.
        message : str, default ""
            What is being done, in a few words.

        Examples
        --------
        >>> from notebook_agents import RunContext
        >>> RunContext().report_progress(3, 10, "rows")  # nobody listens by hand
        """
        self._report(Progress(done, total, message))


BY_HAND: RunContext[Any] = RunContext()
"""Stands where a context goes as long as there is no run."""


def is_context(annotation: Any) -> bool:
    """Tell whether an annotation is `RunContext`, alone, parametrised or optional."""
    origin = typing.get_origin(annotation)
    if origin is Annotated:
        return is_context(typing.get_args(annotation)[0])
    if origin is Union or origin is types.UnionType:
        parts = [p for p in typing.get_args(annotation) if p is not types.NoneType]
        return len(parts) == 1 and is_context(parts[0])
    return (origin or annotation) is RunContext


def is_named_context(text: str | None) -> bool:
    """Tell it from a text whose names were imported for type checkers only."""
    return text is not None and _NAMED.fullmatch(text.strip("'\"")) is not None
