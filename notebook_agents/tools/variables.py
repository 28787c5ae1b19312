"""`Variables`: live objects that a model may name in a call.

A model cannot write a DataFrame down, but it can say ``"sales"``. The names are
those of the notebook, or of ``Agent(namespace=...)``, and of earlier results.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from contextvars import ContextVar, Token
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, cast

from notebook_agents.tools.handles import HandleBook, Handles

__all__ = [
    "Kind",
    "UnknownVariableError",
    "Variables",
    "enclosing_names",
    "name_like",
]

MOST_NAMES = 20
"""Names that an error lists."""
_NOTHING: Any = object()
_EMPTY: Mapping[str, Any] = MappingProxyType({})
_QUOTES = " \t\n`'\""


class UnknownVariableError(LookupError):
    """No variable of that name fits; the message lists those that do."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What kind of object a parameter takes.

    Parameters
    ----------
    label : str
        Its name for the model, such as ``DataFrame``.
    wanted : type
        The class.
    """

    label: str
    wanted: type

    @property
    def described(self) -> str:
        """The label with its article."""
        return _with_article(self.label)

    def fits(self, value: object) -> bool:
        """Tell whether an object is of this kind."""
        try:
            return isinstance(value, self.wanted)
        except Exception:  # noqa: BLE001 - the class or the value is the user's
            return not _can_tell(self.wanted)


class Variables:
    """The objects that the calls of one run may name.

    Parameters
    ----------
    namespace : mapping of str to object
        Variables of the notebook, or those that were passed for it.
    book : HandleBook, optional
        Where results of earlier calls are kept.
    memory : object, optional
        Whose conversation it is.
    """

    def __init__(
        self,
        namespace: Mapping[str, Any] = _EMPTY,
        book: HandleBook | None = None,
        memory: object = None,
    ) -> None:
        self._namespace = namespace
        self._book = HandleBook() if book is None else book
        self._memory = memory

    @property
    def _handles(self) -> Handles:
        return self._book.of(self._memory)

    def find(self, name: object, kind: Kind) -> Any:
        """Find the object that a model has named.

        Parameters
        ----------
        name : object
            What the model wrote.
        kind : Kind
            What is wanted.

        Returns
        -------
        object
            The live object.

        Raises
        ------
        UnknownVariableError
            If it is no name, or there is no such object; one line.
        """
        if not isinstance(name, str):
            what = f"{kind.described} is given by the name of a variable, as text"
            message = f"{what}; {self._offer(kind)}"
            raise UnknownVariableError(message)
        name = name.strip(_QUOTES)
        kept = self._handles.get(name, _NOTHING)
        value = _NOTHING if name.startswith("_") else self._of_namespace(name)
        if kept is not _NOTHING and value is not _NOTHING and kept is not value:
            message = (
                f"{name!r} is both a variable of the user and an earlier result; the "
                "user has to rename the variable"
            )
            raise UnknownVariableError(message)
        found = value if kept is _NOTHING else kept
        if found is _NOTHING:
            raise UnknownVariableError(self._absence(name, kind))
        if not kind.fits(found):
            got = _with_article(type(found).__name__)
            message = f"{name!r} is {got}, not {kind.described}; {self._offer(kind)}"
            raise UnknownVariableError(message)
        return found

    def keep(self, value: object, earlier: Callable[[], Iterable[str]]) -> str:
        """Give a result a name by which later calls can have it.

        Parameters
        ----------
        value : object
            What a tool returned.
        earlier : callable
            Gives the texts of the conversation, whose names are not used again.

        Returns
        -------
        str
            The variable that holds it already, or a handle.
        """
        for name in self._names():
            if self._of_namespace(name) is value:
                return name
        return self._handles.keep(value, earlier=earlier, is_taken=self._is_taken)

    def names(self) -> Mapping[str, Any]:
        """Give all of them, for an agent that works for this run."""
        here = cast("MutableMapping[str, Any]", self._namespace)  # which is only read
        return ChainMap(dict(self._handles.items()), here)

    def _is_taken(self, name: str) -> bool:
        return self._of_namespace(name) is not _NOTHING

    def _of_namespace(self, name: str) -> Any:
        return self._namespace.get(name, _NOTHING)

    def _names(self) -> list[str]:
        # The main thread may define variables meanwhile.
        names: list[object] = list(self._namespace)
        return [n for n in names if isinstance(n, str) and not n.startswith("_")]

    def _absence(self, name: str, kind: Kind) -> str:
        if self._handles.has_had(name):
            return f"{name!r} is not kept any more; call the tool that made it again"
        shown = name if len(name) <= 2 * MOST_NAMES else f"{name[: 2 * MOST_NAMES]}…"
        import difflib  # for a name that is wrong

        close = difflib.get_close_matches(name, self._fitting(kind), n=1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        return f"there is no {kind.label} named {shown!r}{hint}; {self._offer(kind)}"

    def _offer(self, kind: Kind) -> str:
        names = self._fitting(kind)
        if not names:
            return f"there is no {kind.label} yet"
        rest = len(names) - MOST_NAMES
        listed = ", ".join(names[:MOST_NAMES])
        more = f" and {rest} more" if rest > 0 else ""
        return f"there are: {listed}{more}"

    def _fitting(self, kind: Kind) -> list[str]:
        here = [n for n in self._names() if kind.fits(self._of_namespace(n))]
        kept = [name for name, value in self._handles.items() if kind.fits(value)]
        return [*here, *(name for name in reversed(kept) if name not in here)]


_enclosing: ContextVar[Variables | None] = ContextVar(
    "notebook_agents_variables", default=None
)


def name_like(variables: Variables) -> Token[Variables | None]:
    """Let agents that run within this context name what this one may."""
    return _enclosing.set(variables)


def enclosing_names() -> Mapping[str, Any] | None:
    """Give what the run may name whose tool runs here, if one does."""
    variables = _enclosing.get()
    return None if variables is None else variables.names()


def _can_tell(wanted: type) -> bool:
    """Whether a class knows its objects; not every protocol does."""
    try:
        isinstance(None, wanted)
    except Exception:  # noqa: BLE001 - as above
        return False
    return True


def _with_article(word: str) -> str:
    return f"an {word}" if word[:1] in "AEIOUaeiou" else f"a {word}"
