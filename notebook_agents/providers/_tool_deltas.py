"""Tool calls that arrive in pieces, put together whatever the server's habits."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import from_json, to_json

from notebook_agents.identifiers import new_id
from notebook_agents.messages import ToolCall

__all__ = ["ToolDeltas"]

UNNAMED = "unnamed"
"""Name of a call whose name never came; no tool can have been meant."""


@dataclass(slots=True)
class _Slot:
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    told: int = 0
    """How many pieces of the arguments `ToolDeltas.arrived` has given."""

    @property
    def text(self) -> str:
        return "".join(self.arguments)


class ToolDeltas:
    """Sort the pieces of tool calls by the call they belong to.

    Notes
    -----
    Servers differ: no index, the same index for all calls, an index that skips,
    identifiers that are missing, empty, repeated or used twice, a name that
    comes after the arguments, arguments that are an object.

    Examples
    --------
    >>> deltas = ToolDeltas()
    >>> deltas.add({"index": 0, "id": "a", "function": {"name": "f"}})
    >>> deltas.add({"index": 0, "function": {"arguments": '{"x":1}'}})
    >>> deltas.calls()
    [ToolCall(id='a', name='f', arguments='{"x":1}')]
    """

    __slots__ = ("_by_id", "_by_index", "_slots")

    def __init__(self) -> None:
        self._slots: list[_Slot] = []
        self._by_index: dict[Hashable, _Slot] = {}
        self._by_id: dict[str, _Slot] = {}

    def __bool__(self) -> bool:
        return bool(self._slots)

    def add(self, piece: Mapping[str, Any]) -> None:
        """Take one piece.

        Parameters
        ----------
        piece : mapping
            An item of ``delta.tool_calls``; unknown keys are ignored.
        """
        function = piece.get("function")
        if not isinstance(function, Mapping):
            return
        index, identifier = piece.get("index"), _text(piece.get("id"))
        name, arguments = _text(function.get("name")), function.get("arguments")
        if not isinstance(index, int | str):
            index = None
        slot = self._slot(index, identifier, name, has_arguments=bool(arguments))
        if identifier and not slot.id:
            slot.id = identifier
        if identifier:
            self._by_id.setdefault(identifier, slot)
        if index is not None:
            self._by_index[index] = slot
        if name:  # assigned: some servers repeat it with every piece
            slot.name = name
        if isinstance(arguments, str):
            slot.arguments.append(arguments)
        elif arguments is not None:
            slot.arguments = [to_json(arguments).decode()]

    def arrived(self, name: str) -> str:
        """Give what has come since of the arguments of the first call of a tool.

        Parameters
        ----------
        name : str
            The tool.

        Returns
        -------
        str
            Empty if there is nothing new.
        """
        slot = next((slot for slot in self._slots if slot.name == name), None)
        if slot is None:
            return ""
        new = "".join(slot.arguments[slot.told :])
        slot.told = len(slot.arguments)
        return new

    def calls(self) -> list[ToolCall]:
        """Give the calls, in the order in which they began.

        Returns
        -------
        list of ToolCall
            Each with a name and an identifier of its own; the arguments as the
            model wrote them.
        """
        calls, seen = [], set[str]()
        for slot in self._slots:
            identifier = slot.id
            if not identifier or identifier in seen:
                identifier = f"call_{new_id()}"
            seen.add(identifier)
            calls.append(
                ToolCall(identifier, slot.name or UNNAMED, _unwrapped(slot.text))
            )
        return calls

    def _slot(
        self, index: Hashable | None, identifier: str, name: str, *, has_arguments: bool
    ) -> _Slot:
        begins = bool(name)
        by_id = self._by_id.get(identifier) if identifier else None
        by_index = None if index is None else self._by_index.get(index)
        if by_index is not None:
            if identifier and by_index.id and by_index.id != identifier:
                return by_id or self._new()
            found: _Slot | None = by_index
        elif index is not None:
            # Two calls with one identifier, or a server that counts pieces.
            return by_id if by_id is not None and not begins else self._new()
        elif identifier:
            found = by_id
            if found is None and self._slots and not self._slots[-1].id:
                # The identifier came after the beginning.
                found = None if begins else self._slots[-1]
        else:
            found = self._slots[-1] if self._slots else None
        if found is None or (begins and has_arguments and _is_whole(found)):
            return self._new()
        return found

    def _new(self) -> _Slot:
        self._slots.append(_Slot())
        return self._slots[-1]


def _is_whole(slot: _Slot) -> bool:
    """Tell whether a call has a name and complete arguments, so ended."""
    if not slot.name or not slot.arguments:
        return False
    try:
        return isinstance(from_json(slot.text), dict)
    except ValueError:
        return False


def _unwrapped(text: str) -> str:
    """Give the arguments, also where they were encoded twice."""
    text = text.strip()
    if text.startswith('"'):
        try:
            inner = from_json(text)
        except ValueError:
            return text
        text = inner.strip() if isinstance(inner, str) else text
    return text if text and text != "null" else "{}"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
