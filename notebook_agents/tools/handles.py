"""Results that JSON cannot carry, kept so that later calls can name them.

Each conversation has its own: what one user's run made is not there for
another's.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["HandleBook", "Handles"]

MOST_HANDLES = 50
"""Results that a conversation keeps."""
MOST_BYTES = 2**30
"""Size of what an agent keeps, as far as its objects tell their sizes."""
MOST_CONVERSATIONS = 64
"""Conversations of one agent whose results are kept."""

_PREFIXES = {"DataFrame": "df", "ndarray": "array"}
_WORD = re.compile(r"[^a-z0-9]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class Handles:
    """The results of one conversation: the latest 50 by use, and 1 GiB at most."""

    size: int
    """Of all of them together, in bytes."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Any] = OrderedDict()
        self._sizes: dict[str, int] = {}
        self.size = 0
        self._numbers: dict[str, int] = {}
        self._lock = threading.Lock()

    def keep(
        self,
        value: object,
        *,
        earlier: Callable[[], Iterable[str]] = tuple,
        is_taken: Callable[[str], bool] = lambda _: False,
    ) -> str:
        """Keep a result.

        Parameters
        ----------
        value : object
            The result.
        earlier : callable, optional
            Gives texts in which older names may stand, of an earlier process.
        is_taken : callable, optional
            Tells whether a name means something else already.

        Returns
        -------
        str
            Its name; the one that it has, if it has one.
        """
        prefix = _prefix(type(value))
        with self._lock:
            for name, kept in self._kept.items():
                if kept is value:
                    return name
            if prefix not in self._numbers:
                self._numbers[prefix] = _highest(prefix, earlier())
            name = self._next(prefix)
            while is_taken(name):
                name = self._next(prefix)
            self._kept[name], self._sizes[name] = value, _size_of(value)
            self.size += self._sizes[name]
            while len(self._kept) > MOST_HANDLES or self._is_too_large():
                dropped, _ = self._kept.popitem(last=False)
                self.size -= self._sizes.pop(dropped)
        return name

    def get(self, name: str, default: Any = None) -> Any:
        """Give a result by its name, which makes it the latest."""
        with self._lock:
            if name not in self._kept:
                return default
            self._kept.move_to_end(name)
            return self._kept[name]

    def items(self) -> list[tuple[str, Any]]:
        """List names and results, the oldest first."""
        with self._lock:
            return list(self._kept.items())

    def has_had(self, name: str) -> bool:
        """Tell whether there was a result of that name once."""
        prefix, _, number = name.rpartition("_")
        if not (number.isascii() and number.isdigit()):
            return False
        return name not in self._kept and 0 < int(number) <= self._numbers.get(
            prefix, 0
        )

    def _is_too_large(self) -> bool:
        # The one that has just been made stays in any case.
        return len(self._kept) > 1 and self.size > MOST_BYTES

    def _next(self, prefix: str) -> str:
        self._numbers[prefix] += 1
        return f"{prefix}_{self._numbers[prefix]}"


class HandleBook:
    """The results that an agent keeps, conversation by conversation."""

    def __init__(self) -> None:
        self._by_key: OrderedDict[object, tuple[object, Handles]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, memory: object) -> Handles:
        """Give the results of one conversation.

        Parameters
        ----------
        memory : object
            Where the conversation is kept.

        Returns
        -------
        Handles
            The same for every session object of that conversation.
        """
        with self._lock:
            key = _key_of(memory)
            # An identity is good for as long as its object lives.
            _, handles = self._by_key.setdefault(key, (memory, Handles()))
            self._by_key.move_to_end(key)
            while len(self._by_key) > MOST_CONVERSATIONS or self._is_too_large():
                self._by_key.popitem(last=False)
        return handles

    def forget(self, memory: object) -> None:
        """Let the results of one conversation go."""
        with self._lock:
            self._by_key.pop(_key_of(memory), None)

    def _is_too_large(self) -> bool:
        total = sum(handles.size for _, handles in self._by_key.values())
        return len(self._by_key) > 1 and total > MOST_BYTES


def _key_of(memory: object) -> object:
    key = getattr(getattr(memory, "scope", None), "key", None)
    return key if isinstance(key, str) else id(memory)


def _size_of(value: Any) -> int:
    """Tell the size of a table or an array, in bytes; 0 of anything else."""
    try:
        if hasattr(type(value), "memory_usage"):
            usage = value.memory_usage()
            return int(usage.sum() if hasattr(usage, "sum") else usage)
        return int(getattr(value, "nbytes", 0))
    except Exception:  # noqa: BLE001 - the class is somebody else's
        return 0


def _prefix(kind: type) -> str:
    """Make the start of a name: ``df`` of ``DataFrame``, ``bar_chart`` of ``BarChart``."""
    name = kind.__name__
    if name in _PREFIXES:
        return _PREFIXES[name]
    words = _WORD.sub("_", _HUMP.sub("_", name).lower()).strip("_")
    return words or "object"


def _highest(prefix: str, texts: Iterable[str]) -> int:
    """Find the highest number that a name with this start has in some texts."""
    pattern = re.compile(rf"\b{re.escape(prefix)}_(\d{{1,6}})\b")
    return max(
        (int(number) for text in texts for number in pattern.findall(text)), default=0
    )
