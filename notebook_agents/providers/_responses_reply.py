"""A reply of OpenAI Responses, read from the events of its stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from notebook_agents.messages import ToolCall, Usage
from notebook_agents.providers._failures import ServiceFacts, blocked, unreadable
from notebook_agents.providers._json_values import mapping, mappings
from notebook_agents.providers._reading import joined, parsed
from notebook_agents.providers._refusals import is_error, refused, status_of
from notebook_agents.providers._responses_items import Item, KeptItems
from notebook_agents.providers._responses_output import (
    Event,
    GrowingItem,
    Output,
    kind_of,
)
from notebook_agents.providers._sse import SseRecord
from notebook_agents.providers._think import Piece
from notebook_agents.providers._tool_deltas import ToolDeltas
from notebook_agents.providers.base import ModelReply, ReasoningDelta, TextDelta

__all__ = ["ResponsesReply"]

TEXT_DELTA = "response.output_text.delta"
_UNFINISHED = frozenset({"queued", "in_progress"})


class ResponsesReply:
    """Gather one reply.

    Parameters
    ----------
    service : ServiceFacts
        Whom errors are about.
    sealed : callable
        Gives, as `ModelReply.replay`, the items that have to go back with the
        calls of the reply.
    output_tool : str
        The tool whose arguments are the answer, if there is one: they are told
        as they come.
    """

    def __init__(
        self,
        service: ServiceFacts,
        *,
        sealed: Callable[[KeptItems], object],
        output_tool: str = "",
    ) -> None:
        self._service = service
        self._sealed = sealed
        self._output_tool = output_tool
        self._output = Output()
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._usage: Mapping[str, Any] = {}
        self._why_incomplete = ""
        self._is_refusal = False
        self._is_done = False

    def has_finished(self) -> bool:
        """Tell whether the service said that the reply is complete."""
        return self._is_done

    def read(self, records: Sequence[SseRecord]) -> list[Piece]:
        """Take the next records of a stream, as in `Reply.read`."""
        pieces: list[Piece] = []
        for record in records:
            data = record.data
            # Some services that are not OpenAI's end with that, too.
            if data and not self._is_done and not data.startswith(b"[DONE]"):
                self._take(parsed(data, self._service), record.event, pieces)
        return joined(pieces)

    def read_whole(self, body: bytes) -> list[Piece]:
        """Take a reply that came as one JSON object."""
        response = parsed(body, self._service)
        if is_error(response):
            failure = refused(status_of(response), response, self._service)
            raise failure
        is_whole = isinstance(response.get("output"), list)
        if not is_whole or response.get("status") in _UNFINISHED:
            failure = unreadable(body, self._service)
            raise failure
        pieces: list[Piece] = []
        self._finish({"response": response}, pieces)
        return joined(pieces)

    def close(self) -> list[Piece]:
        """Take the end; nothing is held back."""
        return []

    def reply(self) -> ModelReply:
        """Give the whole reply.

        Returns
        -------
        ModelReply
            All of it.

        Raises
        ------
        Failure
            If the service blocked it and there is nothing to show.
        """
        calls, text = self._calls(), "".join(self._texts)
        replay = None
        if self._why_incomplete == "content_filter":
            stop, calls = "content_filter", ()  # their arguments may be cut
            if not text:
                failure = blocked(stop, self._service)
                raise failure
        elif self._why_incomplete:
            stop = "length"
        elif self._is_refusal:
            stop = "refusal"
        else:
            stop = "tool_calls" if calls else "stop"
            replay = self._replay(calls, text)
        read, written = (self._usage.get(f"{n}_tokens") for n in ("input", "output"))
        return ModelReply(
            text=text,
            tool_calls=calls,
            reasoning="".join(self._thoughts),
            usage=Usage.of_call(
                _count(read), _count(written), self._detail("output", "reasoning")
            ),
            stop_reason=stop,
            cached_tokens=min(self._detail("input", "cached"), _count(read)),
            cache_write_tokens=self._detail("input", "cache_write"),
            replay=replay,
        )

    def _calls(self) -> tuple[ToolCall, ...]:
        calls = ToolDeltas()
        for number, each in enumerate(self._output):
            if each.kind == "function_call":
                arguments = "".join(each.pieces)
                function = {"name": each.item.get("name"), "arguments": arguments}
                call_id = each.item.get("call_id") or each.item.get("id")
                calls.add({"index": number, "id": call_id, "function": function})
        return tuple(calls.calls())

    def _replay(self, calls: Sequence[ToolCall], text: str) -> object:
        items = [each.to_send_back() for each in self._output]
        if not calls or None in items:
            return None
        return self._sealed(KeptItems(items=tuple(filter(None, items)), text=text))

    def _detail(self, side: str, name: str) -> int:
        details = mapping(self._usage.get(f"{side}_tokens_details"))
        return _count(details.get(f"{name}_tokens"))

    # One event of the stream.

    def _take(self, event: Event, name: str, pieces: list[Piece]) -> None:
        kind = event.get("type", name)
        if kind == TEXT_DELTA:
            item = self._output.of(event, "message")
            self._say(item, event.get("delta"), pieces)
            return
        if is_error(event, name):
            raise refused(status_of(event), event, self._service)
        if take := self._TAKES.get(str(kind)):
            take(self, event, pieces)

    def _begin(self, event: Event, _: list[Piece]) -> None:
        item = self._output.begin(event)
        if item.kind == "function_call" and (arguments := item.whole()):
            item.pieces = [arguments]

    def _end(self, event: Event, pieces: list[Piece]) -> None:
        item = mapping(event.get("item"))
        known = self._output.of({**event, "item_id": item.get("id")}, kind_of(item))
        self._complete(known.end(item), pieces)

    def _complete(self, item: GrowingItem, pieces: list[Piece]) -> None:
        """Tell what an item holds and no delta has said."""
        whole, told = item.whole(), "".join(item.pieces)
        if item.kind == "function_call":
            item.pieces = [whole or told]
            return
        rest = whole[len(told) :] if whole.startswith(told) else ""
        if item.kind == "message":
            parts = mappings(item.item.get("content"))
            self._is_refusal |= any(part.get("type") == "refusal" for part in parts)
            self._say(item, rest, pieces)
        elif item.kind == "reasoning":
            self._think(item, rest, pieces)

    def _refuse(self, event: Event, pieces: list[Piece]) -> None:
        self._is_refusal = True
        item = self._output.of(event, "message")
        self._say(item, event.get("delta"), pieces)

    def _call(self, event: Event, pieces: list[Piece]) -> None:
        item = self._output.of(event, "function_call")
        if isinstance(delta := event.get("delta"), str):
            item.pieces.append(delta)
            if self._output_tool and item.item.get("name") == self._output_tool:
                pieces.append(TextDelta(delta))

    def _called(self, event: Event, pieces: list[Piece]) -> None:
        item = self._output.of(event, "function_call")
        item.take({name: event.get(name) for name in ("name", "arguments")})
        self._complete(item, pieces)

    def _summarise(self, event: Event, pieces: list[Piece]) -> None:
        self._muse(event, ("summary", event.get("summary_index")), pieces)

    def _reason(self, event: Event, pieces: list[Piece]) -> None:
        self._muse(event, ("content", event.get("content_index")), pieces)

    def _muse(
        self, event: Event, part: tuple[str, object], pieces: list[Piece]
    ) -> None:
        item = self._output.of(event, "reasoning")
        if item.part[0] not in {"", part[0]}:
            return  # the same thoughts, in other words
        if item.pieces and item.part != part:
            self._think(item, "\n\n", pieces)
        item.part = part
        self._think(item, event.get("delta"), pieces)

    def _finish(self, event: Event, pieces: list[Piece]) -> None:
        response = mapping(event.get("response"))
        status = str(response.get("status") or event.get("type")).rpartition(".")[2]
        if status in {"failed", "cancelled"}:
            error = mapping(response.get("error")) or {"code": "server_error"}
            raise refused(status_of({"error": error}), {"error": error}, self._service)
        if status == "incomplete":
            details = mapping(response.get("incomplete_details"))
            self._why_incomplete = str(details.get("reason") or "max_output_tokens")
        self._take_output(mappings(response.get("output")), pieces)
        self._usage = mapping(response.get("usage"))
        self._is_done = True

    def _take_output(self, output: Sequence[Item], pieces: list[Piece]) -> None:
        """Take at the end what has not come whole before."""
        for kind in dict.fromkeys(map(kind_of, output)):
            known = [item for item in self._output if item.kind == kind]
            again = [item for item in output if kind_of(item) == kind]
            if not known:
                for item in again:
                    self._end({"item": item}, pieces)
            elif len(known) == len(again):
                # By their order: here they may have other identifiers.
                for growing, item in zip(known, again, strict=True):
                    if not growing.is_done:
                        self._complete(growing.end(item), pieces)

    _TAKES: ClassVar[
        Mapping[str, Callable[[ResponsesReply, Event, list[Piece]], None]]
    ] = {
        "response.output_item.added": _begin,
        "response.output_item.done": _end,
        "response.refusal.delta": _refuse,
        "response.function_call_arguments.delta": _call,
        "response.function_call_arguments.done": _called,
        "response.reasoning_summary_text.delta": _summarise,
        "response.reasoning_text.delta": _reason,
        "response.completed": _finish,
        "response.incomplete": _finish,
        "response.failed": _finish,
        "response.cancelled": _finish,
    }

    # What it adds.

    def _say(self, item: GrowingItem, text: object, pieces: list[Piece]) -> None:
        if isinstance(text, str) and text:
            said = text if item.pieces or not self._texts else f"\n\n{text}"
            item.pieces.append(text)
            self._texts.append(said)
            pieces.append(TextDelta(said))

    def _think(self, item: GrowingItem, text: object, pieces: list[Piece]) -> None:
        if isinstance(text, str) and text:
            said = text if item.pieces or not self._thoughts else f"\n\n{text}"
            item.pieces.append(text)
            self._thoughts.append(said)
            pieces.append(ReasoningDelta(said))


def _count(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0
