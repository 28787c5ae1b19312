"""A reply of Anthropic's Messages, read from the events of its stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from pydantic_core import from_json

from notebook_agents.errors import ContentFilteredError
from notebook_agents.messages import Usage
from notebook_agents.providers._anthropic_messages import Block
from notebook_agents.providers._anthropic_request import Continuation
from notebook_agents.providers._failures import (
    Failure,
    ServiceFacts,
    cut,
    redact,
    unreadable,
)
from notebook_agents.providers._json_values import count_of, mapping
from notebook_agents.providers._pausing import PausedReply
from notebook_agents.providers._reading import joined, parsed
from notebook_agents.providers._refusals import is_error, refused, status_of
from notebook_agents.providers._sse import SseRecord
from notebook_agents.providers._think import Piece
from notebook_agents.providers._tool_deltas import ToolDeltas
from notebook_agents.providers.base import (
    ModelReply,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
)

__all__ = ["MessagesReply"]

_PLAIN = frozenset({"text", "tool_use"})
"""Types of blocks that a message holds anyway."""
_STOPS = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}


@dataclass(slots=True)
class _Growing:
    """A block that is still arriving."""

    number: int
    block: dict[str, Any]
    pieces: list[str] = field(default_factory=list)
    """Of its text, its thought or its input."""

    @property
    def kind(self) -> str:
        return str(self.block.get("type"))

    def is_worth_sending(self) -> bool:
        """Tell whether a service would take the block back."""
        says_something = any(not piece.isspace() for piece in self.pieces)
        return "type" in self.block and (self.kind != "text" or says_something)

    def whole(self) -> dict[str, Any]:
        """Give the block as it would have come in one piece."""
        said = "".join(self.pieces)
        if self.kind in {"text", "thinking"}:
            return {**self.block, self.kind: said}
        if not said or self.kind == "tool_use":
            return self.block
        try:
            return {**self.block, "input": from_json(said)}
        except ValueError:
            return self.block


class MessagesReply:
    """Gather one reply.

    Parameters
    ----------
    request : ModelRequest
        What is answered.
    service : ServiceFacts
        Whom errors are about.
    sealed : callable
        Gives, as `ModelReply.replay`, the blocks that have to go back with the
        calls of the reply; told its text as well.
    """

    def __init__(
        self,
        request: ModelRequest,
        service: ServiceFacts,
        *,
        sealed: Callable[[str, tuple[Block, ...]], object],
    ) -> None:
        self._request = request
        self._service = service
        self._sealed = sealed
        self._output_tool = request.output.tool if request.output else ""
        self._blocks: list[_Growing] = []
        self._by_index: dict[str, _Growing] = {}
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._calls = ToolDeltas()
        self._usage: dict[str, Any] = {}
        self._stop = ""
        self._stop_details: Mapping[str, Any] = {}
        self._is_done = False

    def has_finished(self) -> bool:
        """Tell whether the service said that the reply is complete."""
        return self._is_done

    def read(self, records: Sequence[SseRecord]) -> list[Piece]:
        """Take the next records of a stream, as in `Reply.read`."""
        pieces: list[Piece] = []
        for record in records:
            if record.data and not self._is_done:
                event = parsed(record.data, self._service)
                self._take(event, record.event, pieces)
        return joined(pieces)

    def read_whole(self, body: bytes) -> list[Piece]:
        """Take a reply that came as one JSON object."""
        message = parsed(body, self._service)
        self._check(message, "")
        content = message.get("content")
        if not isinstance(content, list):
            failure = unreadable(body, self._service)
            raise failure
        pieces: list[Piece] = []
        for index, block in enumerate(content):
            self._begin({"index": index, "content_block": block}, pieces)
        self._stopped(message)
        self._is_done = True
        return joined(pieces)

    def close(self) -> list[Piece]:
        """Take the end; nothing is held back."""
        return []

    def reply(self) -> ModelReply:
        """Give the whole reply.

        Returns
        -------
        ModelReply
            All of it; a `PausedReply` if the service wants to be asked again.

        Raises
        ------
        Failure
            If the service refused and there is nothing to show.
        """
        for block in self._blocks:
            self._end(block)
        text = "".join(self._texts)
        calls = tuple(self._calls.calls())
        stop = _STOPS.get(self._stop, "stop")
        if stop == "refusal":
            calls = ()  # their arguments may be cut
            if not text:
                raise self._blocked()
        elif calls and stop == "stop":
            stop = "tool_calls"
        facts: dict[str, Any] = {
            "text": text,
            "tool_calls": calls,
            "reasoning": "".join(self._thoughts),
            "usage": _usage(self._usage),
            "stop_reason": stop,
            "cached_tokens": count_of(self._usage, "cache_read_input_tokens"),
            "cache_write_tokens": count_of(self._usage, "cache_creation_input_tokens"),
        }
        blocks = self._to_send_back()
        if self._stop == "pause_turn" and not calls and blocks:
            return PausedReply(**facts, then=_continuation(self._request, blocks))
        if calls and any(block["type"] not in _PLAIN for block in blocks):
            facts["replay"] = self._sealed(text, blocks)
        return ModelReply(**facts)

    # One event of the stream.

    def _take(self, event: Mapping[str, Any], name: str, pieces: list[Piece]) -> None:
        kind = event.get("type") or name
        if kind == "content_block_delta":
            self._grow(event, pieces)
            return
        self._check(event, name)
        if kind == "content_block_start":
            self._begin(event, pieces)
        elif kind == "message_delta":
            self._stopped({"usage": event.get("usage"), **mapping(event.get("delta"))})
        elif kind == "message_start":
            self._stopped(mapping(event.get("message")))
        elif kind == "message_stop":
            self._is_done = True

    def _begin(self, event: Mapping[str, Any], pieces: list[Piece]) -> None:
        block = _Growing(len(self._blocks), dict(mapping(event.get("content_block"))))
        self._blocks.append(block)
        self._by_index[str(event.get("index"))] = block
        if block.kind == "tool_use":
            told = {"name": block.block.get("name")}
            call_id = block.block.get("id")
            self._calls.add({"index": block.number, "id": call_id, "function": told})
        elif block.kind == "text":
            self._say(block, block.block.get("text"), pieces)
        elif block.kind == "thinking":
            self._think(block, block.block.get("thinking"), pieces)

    def _grow(self, event: Mapping[str, Any], pieces: list[Piece]) -> None:
        delta = mapping(event.get("delta"))
        kind = delta.get("type")
        block = self._by_index.get(str(event.get("index")))
        if block is None:  # some gateways leave out how it began
            begun = {"type": "thinking" if kind == "thinking_delta" else "text"}
            self._begin({**event, "content_block": begun}, pieces)
            block = self._blocks[-1]
        if kind == "text_delta":
            self._say(block, delta.get("text"), pieces)
        elif kind == "thinking_delta":
            self._think(block, delta.get("thinking"), pieces)
        elif kind == "signature_delta":
            block.block["signature"] = delta.get("signature")
        elif kind == "input_json_delta":
            self._write(block, delta.get("partial_json"), pieces)
        elif kind == "citations_delta":
            known = block.block.get("citations") or []
            block.block["citations"] = [*known, delta.get("citation")]

    def _say(self, block: _Growing, text: object, pieces: list[Piece]) -> None:
        if text and isinstance(text, str):
            block.pieces.append(text)
            self._texts.append(text)
            pieces.append(TextDelta(text))

    def _think(self, block: _Growing, text: object, pieces: list[Piece]) -> None:
        if text and isinstance(text, str):
            gap = "\n\n" if self._thoughts and not block.pieces else ""
            block.pieces.append(text)
            self._thoughts.append(gap + text)
            pieces.append(ReasoningDelta(gap + text))

    def _write(self, block: _Growing, text: object, pieces: list[Piece]) -> None:
        if text and isinstance(text, str):
            block.pieces.append(text)
            if block.kind == "tool_use":
                self._calls.add(
                    {"index": block.number, "function": {"arguments": text}}
                )

    def _end(self, block: _Growing) -> None:
        """Take the arguments that came with the beginning of a call."""
        arguments = block.block.get("input")
        if block.kind == "tool_use" and arguments and not block.pieces:
            told = {"arguments": arguments}
            self._calls.add({"index": block.number, "function": told})

    def _stopped(self, facts: Mapping[str, Any]) -> None:
        """Take why the reply ends, if it does, and what has been counted so far."""
        counts = mapping(facts.get("usage")).items()
        self._usage |= {name: count for name, count in counts if count is not None}
        self._stop = str(facts.get("stop_reason") or self._stop)
        self._stop_details = facts.get("stop_details") or self._stop_details

    # What becomes of it.

    def _to_send_back(self) -> tuple[Block, ...]:
        """Give all blocks as they came, but for texts that say nothing."""
        said = self._request.said if isinstance(self._request, Continuation) else ()
        return said + tuple(
            block.whole() for block in self._blocks if block.is_worth_sending()
        )

    def _check(self, event: Mapping[str, Any], name: str) -> None:
        if is_error(event, name):
            raise refused(status_of(event), event, self._service)

    def _blocked(self) -> Failure:
        name, details = self._service.name, self._stop_details
        category = details.get("category")
        why = f"refusal, {category}" if category else "refusal"
        message = f"{name} declined to answer ({why}). Ask in other words."
        if explanation := details.get("explanation"):
            said = redact(cut(str(explanation)), self._service.secrets)
            message = f"{message} It said: {said}"
        return Failure(ContentFilteredError(message, provider=name), "refused")


def _continuation(request: ModelRequest, said: tuple[Block, ...]) -> Continuation:
    facts = {f.name: getattr(request, f.name) for f in fields(ModelRequest)}
    return Continuation(**facts, said=said)


def _usage(counts: Mapping[str, Any]) -> Usage:
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return Usage.of_call(
        sum(count_of(counts, name) for name in names),
        count_of(counts, "output_tokens"),
        count_of(mapping(counts.get("output_tokens_details")), "thinking_tokens"),
    )
