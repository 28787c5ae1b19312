"""The items that a reply of OpenAI Responses consists of, while they arrive."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pydantic_core import to_json

from notebook_agents.providers._json_values import mapping, mappings
from notebook_agents.providers._responses_items import Item

__all__ = ["Event", "GrowingItem", "Output", "kind_of"]

Event: TypeAlias = Mapping[str, Any]


@dataclass(slots=True)
class GrowingItem:
    """An item that is still arriving.

    Parameters
    ----------
    kind : str
        Its type: ``"message"``, ``"reasoning"``, ``"function_call"``, ...
    item : mapping
        As it came last.
    pieces : list of str
        What has arrived of its text, its thoughts or its arguments.
    part : tuple of (str, object)
        For thoughts, the part that arrived last: ``"summary"`` or ``"content"``,
        and which one.
    is_done : bool
        Whether it has come whole.
    """

    kind: str
    item: Item = field(default_factory=dict)
    pieces: list[str] = field(default_factory=list)
    part: tuple[str, object] = ("", None)
    is_done: bool = False

    def take(self, item: Item) -> None:
        """Take the item as it came now; what it does not say any more still holds."""
        said = {name: value for name, value in item.items() if value or value == 0}
        self.item = {**self.item, **said}

    def end(self, item: Item) -> GrowingItem:
        """Take the item as it is at its end."""
        self.take(item)
        self.is_done = True
        return self

    def whole(self) -> str:
        """Give the text, thoughts or arguments that the item as it came holds."""
        item = self.item
        if self.kind == "function_call":
            arguments = item.get("arguments", "")
            is_text = isinstance(arguments, str)
            return arguments if is_text else to_json(arguments).decode()
        if self.kind == "message":
            return "".join(map(_text_of, mappings(item.get("content"))))
        summaries = mappings(item.get("summary"))
        thoughts = mappings(item.get("content"))
        has_summaries = self.part[0] == "summary" or (not self.part[0] and summaries)
        return "\n\n".join(map(_text_of, summaries if has_summaries else thoughts))

    def to_send_back(self) -> Item | None:
        """Give the item as input; None if the service could not read it again."""
        item, left_out = self.item, set[str]()
        if not self.is_done or "type" not in item:
            return None
        if self.kind == "function_call":
            left_out = {"status", "call_id", "name", "arguments"}
        elif self.kind == "reasoning":
            # Thoughts in the open are refused beside the same ones encrypted.
            left_out = (
                {"status", "content"} if "encrypted_content" in item else {"status"}
            )
            if not item.keys() & {"encrypted_content", "content"}:
                return None
            item = {"summary": [], **item}
        return {name: value for name, value in item.items() if name not in left_out}


class Output:
    """The items of a reply, found by the events about them.

    Notes
    -----
    OpenAI names the item in each event. Other services give it another
    identifier in each, number all of them 0, or leave out its beginning or its
    end.
    """

    __slots__ = ("_by_id", "_by_index", "_items")

    def __init__(self) -> None:
        self._items: list[GrowingItem] = []
        self._by_id: dict[str, GrowingItem] = {}
        self._by_index: dict[int, GrowingItem] = {}

    def __iter__(self) -> Iterator[GrowingItem]:
        return iter(self._items)

    def of(self, event: Event, kind: str) -> GrowingItem:
        """Find the item that an event is about, or begin it.

        Parameters
        ----------
        event : mapping
            With ``item_id``, ``output_index``, or neither.
        kind : str
            Type of the item.

        Returns
        -------
        GrowingItem
            The item.
        """
        item_id, index = event.get("item_id"), event.get("output_index")
        found = self._by_id.get(item_id) if isinstance(item_id, str) else None
        if found is not None and found.kind == kind:
            return found
        found = self._by_index.get(index) if isinstance(index, int) else None
        if found is not None and found.kind == kind and not found.is_done:
            return found
        if kind == "function_call" and (item_id or index is not None):
            return self._new(item_id, index, kind)  # never mix two calls
        for each in reversed(self._items):
            if each.kind == kind and not each.is_done:
                return each
        return self._new(item_id, index, kind)

    def begin(self, event: Event) -> GrowingItem:
        """Take the beginning of an item.

        Parameters
        ----------
        event : mapping
            With the ``item``.

        Returns
        -------
        GrowingItem
            The item.
        """
        item = mapping(event.get("item"))
        kind, item_id = kind_of(item), item.get("id")
        found = self._by_id.get(item_id) if isinstance(item_id, str) else None
        if found is None or found.kind != kind:
            found = self._new(item_id, event.get("output_index"), kind)
        found.take(item)
        return found

    def _new(self, item_id: object, index: object, kind: str) -> GrowingItem:
        item = GrowingItem(kind)
        self._items.append(item)
        if isinstance(item_id, str) and item_id:
            self._by_id[item_id] = item
        if isinstance(index, int):
            self._by_index[index] = item
        return item


def kind_of(item: Item) -> str:
    """Give the type of an item; empty if it names none."""
    return str(item.get("type") or "")


def _text_of(part: Mapping[str, Any]) -> str:
    return str(part.get("text") or part.get("refusal") or "")
