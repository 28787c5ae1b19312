"""What somebody may have meant by a name that is none."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NoReturn, TypeVar, cast

from notebook_agents.errors import UnknownOptionError

__all__ = ["by_name", "closest", "did_you_mean", "refuse_option"]

ALIKE = 0.6
"""How alike two names have to be for one to stand for the other, from 0 to 1."""

C = TypeVar("C", bound=Callable[..., Any])


def closest(given: str, known: Iterable[str], *, alike: float = ALIKE) -> str | None:
    """Give the name that is most like another one.

    Parameters
    ----------
    given : str
        As somebody wrote it.
    known : iterable of str
        The names there are.
    alike : float, default 0.6
        How alike they have to be, from 0 to 1; the case does not count.

    Returns
    -------
    str or None
        None if there is none like it.

    Examples
    --------
    >>> closest("opnai", ["openai", "ollama"])
    'openai'
    """
    import difflib  # only a mistake needs it

    names = {name.lower(): name for name in known}
    found = difflib.get_close_matches(given.lower(), names, n=1, cutoff=alike)
    return names[found[0]] if found else None


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """Give a sentence to put at the end of a message; empty where nothing is alike.

    Parameters
    ----------
    given : str
        As somebody wrote it.
    known : iterable of str
        The names there are.

    Returns
    -------
    str
        Begins with a space. The only name that begins with what was written comes
        before any that is alike.

    Examples
    --------
    >>> did_you_mean("hist", ["history", "list"])
    " Did you mean 'history'?"
    """
    names = list(known)
    begun = [name for name in names if name.lower().startswith(given.lower())]
    name = begun[0] if given and len(begun) == 1 else closest(given, names)
    return f" Did you mean {name!r}?" if name is not None else ""


def refuse_option(what: str, name: str, known: Collection[str]) -> NoReturn:
    """Refuse a keyword that is none.

    Parameters
    ----------
    what : str
        What it was given to, at the beginning of a sentence.
    name : str
        The keyword.
    known : collection of str
        Those there are.

    Raises
    ------
    UnknownOptionError
        With the one that may have been meant, or all.
    """
    meant = did_you_mean(name, known) or f" There are {', '.join(known)}."
    message = f"{what} has no option {name!r}.{meant}"
    raise UnknownOptionError(message)


def by_name(target: C) -> C:
    """Let a function or a class say what it takes, when called with something else.

    Parameters
    ----------
    target : callable
        A function, or a class with an ``__init__`` written in Python.

    Returns
    -------
    callable
        The same class, or a function around that function.

    Examples
    --------
    >>> @by_name
    ... def paint(wall, *, colour="white"): ...
    >>> paint("north", color="red")
    Traceback (most recent call last):
        ...
    notebook_agents.errors.UnknownOptionError: paint has no option 'color'. Did you mean 'colour'?
    """
    if isinstance(target, type):
        made: Any = target
        made.__init__ = _checked(made.__init__, made.__name__, own=1)
        return cast("C", made)
    return cast("C", _checked(target, target.__name__, own=0))


def _checked(function: Any, label: str, *, own: int) -> Any:
    code = function.__code__
    names = code.co_varnames[own : code.co_argcount + code.co_kwonlyargcount]
    positional = names[: code.co_argcount - own]
    known = frozenset(names)
    takes_more = bool(code.co_flags & 0x08)  # as **options, which checks its own
    most = code.co_argcount

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if not takes_more and not kwargs.keys() <= known:
            unknown = next(name for name in kwargs if name not in known)
            refuse_option(label, unknown, names)
        if len(args) > most and len(names) > len(positional):
            raise UnknownOptionError(_too_many(label, positional, names))
        return function(*args, **kwargs)

    return checked


def _too_many(label: str, positional: Collection[str], names: Sequence[str]) -> str:
    by_place = f"only {', '.join(positional)}" if positional else "nothing"
    first = names[len(positional)]
    return f"{label} takes {by_place} by position; name the rest, as in {first}=."
