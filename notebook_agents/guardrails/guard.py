"""`Guard`: a function that looks at a text, and where it is put to use."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, get_args

from notebook_agents import checks
from notebook_agents.errors import AgentConfigurationError
from notebook_agents.spelling import by_name

__all__ = ["NO_GUARDS", "Guard", "Guards", "Scope"]

Check = Callable[[str], str | Awaitable[str]]
Scope = Literal["input", "output", "both"]
"""Which texts a guard is for: what goes in, what comes out, or both."""

MOST_SECONDS = 30.0
"""How long a guard may think about one text."""


@by_name
class Guard:
    """A function that looks at a text: it returns the text, changed or not, or raises.

    Any function of that form is a guard. This adds what a bare function cannot
    say; ``Guard(f)(text)`` is ``f(text)``.

    Parameters
    ----------
    function : callable
        ``(str) -> str``, sync or async. It raises `GuardrailBlockedError` with a
        reason to block the text. A plain ``ValueError`` will do; any other
        exception blocks as well, but its words are told to nobody.
    name : str, optional
        Shown to people; the name of the function when left out.
    scope : {"input", "output", "both"}, optional
        What it is for where both are possible. Among the ``tool_guards`` of
        an agent, input are the arguments of a call, output is its result.
        Left out, that of ``function`` if it has one, else both.
    timeout : float, optional
        Seconds after which the text counts as blocked. Left out, that of
        ``function`` if it has one, else 30.

    Raises
    ------
    AgentConfigurationError
        If one of these cannot be right.

    Examples
    --------
    >>> def calm(text):
    ...     return text.capitalize() if text.isupper() else text
    >>> guard = Guard(calm, scope="output")
    >>> guard("HELLO"), guard.name, guard.scope
    ('Hello', 'calm', 'output')
    """

    __slots__ = ("function", "name", "scope", "timeout")

    def __init__(
        self,
        function: Check,
        *,
        name: str = "",
        scope: Scope | None = None,
        timeout: float | None = None,
    ) -> None:
        self.function = _checked_function(function)
        """What looks at the text."""
        checks.text("name", name)
        self.name = name or _name_of(function)
        """Shown to people."""
        self.scope = _checked_scope(scope or getattr(function, "scope", "both"))
        """``"input"``, ``"output"`` or ``"both"``."""
        if timeout is None:
            timeout = getattr(function, "timeout", MOST_SECONDS)
        self.timeout = checked_seconds(timeout)
        """Seconds after which a text counts as blocked."""

    def __call__(self, text: str) -> str | Awaitable[str]:
        """Look at a text, as the function does."""
        return self.function(text)

    def __repr__(self) -> str:
        return f"<Guard {self.name!r} for {self.scope}>"


@dataclass(frozen=True, slots=True)
class Guards:
    """The guards of an agent, in the order in which they are asked.

    Parameters
    ----------
    input, output : tuple of Guard
        For what the user says and for what the model says.
    arguments, results : tuple of Guard
        For what goes into a tool and for what comes out.
    """

    input: tuple[Guard, ...] = ()
    output: tuple[Guard, ...] = ()
    arguments: tuple[Guard, ...] = ()
    results: tuple[Guard, ...] = ()

    @classmethod
    def of(
        cls,
        *,
        input_guards: Check | Iterable[Check],
        output_guards: Check | Iterable[Check],
        tool_guards: Check | Iterable[Check],
    ) -> Guards:
        """Sort what a user passes; one function alone is a guard, too.

        Parameters
        ----------
        input_guards, output_guards, tool_guards : callable or iterable of callable
            As in `Agent`.

        Returns
        -------
        Guards
            With the guards of tools sorted by their scope.
        """
        arguments, results = split(_guards_in(tool_guards))
        return cls(
            _guards_in(input_guards), _guards_in(output_guards), arguments, results
        )


NO_GUARDS = Guards()


def split(guards: Iterable[Check]) -> tuple[tuple[Guard, ...], tuple[Guard, ...]]:
    """Sort guards by their scope, those for both into both.

    Parameters
    ----------
    guards : iterable of callable
        Guards; a bare function is for both.

    Returns
    -------
    tuple of (tuple of Guard, tuple of Guard)
        Those for what goes in, and those for what comes out, in their order.
    """
    found = _guards_in(guards)
    return (
        tuple(guard for guard in found if guard.scope != "output"),
        tuple(guard for guard in found if guard.scope != "input"),
    )


def _guards_in(given: Check | Iterable[Check]) -> tuple[Guard, ...]:
    several = checks.each("guards", [given] if callable(given) else given, "functions")
    return tuple(one if isinstance(one, Guard) else Guard(one) for one in several)


def _checked_function(function: Any) -> Check:
    if not callable(function):
        message = f"A guard is a function of a text, not {function!r}."
        raise AgentConfigurationError(message)
    found: Check = function.function if isinstance(function, Guard) else function
    return found


def _checked_scope(scope: Any) -> Scope:
    if scope not in get_args(Scope):
        message = f"The scope of a guard is input, output or both, not {scope!r}."
        raise AgentConfigurationError(message)
    found: Scope = scope
    return found


def checked_seconds(seconds: Any) -> float:
    """Give a time limit of a guard back, if it is one."""
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not is_number or not seconds > 0:
        message = f"The timeout of a guard is a number of seconds, not {seconds!r}."
        raise AgentConfigurationError(message)
    return float(seconds)


def _name_of(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "name", None) or getattr(function, "__name__", None)
    if not isinstance(name, str):
        return type(function).__name__
    return "guard" if name == "<lambda>" else name
