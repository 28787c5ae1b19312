"""A chat-completions reply, read from the objects of its stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from notebook_agents.messages import Usage
from notebook_agents.providers._failures import ServiceFacts, blocked, unreadable
from notebook_agents.providers._json_values import mapping, mappings
from notebook_agents.providers._reading import joined, parsed
from notebook_agents.providers._refusals import is_error, refused, status_of
from notebook_agents.providers._sse import SseRecord
from notebook_agents.providers._think import Piece, ThinkSplitter
from notebook_agents.providers._tool_deltas import ToolDeltas
from notebook_agents.providers.base import (
    ModelReply,
    ReasoningDelta,
    TextDelta,
)
from notebook_agents.providers.profiles import ChatProfile

__all__ = ["ChatReply"]

_FINISHES = {
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "refusal": "refusal",
}
_FAILED_FINISHES = {"error", "insufficient_system_resource"}


class ChatReply:
    """Gather one reply.

    Parameters
    ----------
    profile : ChatProfile
        What the model is like.
    service : ServiceFacts
        Whom errors are about.
    sealed : callable
        Gives, as `ModelReply.replay`, the reasoning that has to be sent back with
        the calls of the reply.
    output_tool : str
        The tool whose arguments are the answer, if there is one: they are told
        as they come.
    """

    def __init__(
        self,
        profile: ChatProfile,
        service: ServiceFacts,
        *,
        sealed: Callable[[Mapping[str, Any]], object],
        output_tool: str = "",
    ) -> None:
        self._service = service
        self._replays = profile.replays
        self._reports_cost = profile.reports_cost
        self._sealed = sealed
        self._output_tool = output_tool
        self._splitter = ThinkSplitter() if profile.splits_think_tags else None
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._calls = ToolDeltas()
        self._details: list[Any] = []
        self._usage: Mapping[str, Any] = {}
        self._finish = ""
        self._is_refusal = False
        self._is_done = False

    def has_finished(self) -> bool:
        """Tell whether the reply is complete, though token counts may follow."""
        return bool(self._finish) or self._is_done

    def read(self, records: Sequence[SseRecord]) -> list[Piece]:
        """Take the next records of a stream, as in `Reply.read`."""
        deltas: list[Piece] = []
        for record in records:
            data = record.data
            if data.startswith(b"[DONE]"):
                self._is_done = True
            elif data and not self._is_done:
                self._take(parsed(data, self._service), record.event, deltas)
        return joined(deltas)

    def read_whole(self, body: bytes) -> list[Piece]:
        """Take a reply that came as one JSON object."""
        found = parsed(body, self._service)
        deltas: list[Piece] = []
        self._take(found, "", deltas)
        if not found.get("choices"):
            failure = unreadable(body, self._service)
            raise failure
        self._is_done = True
        return joined(deltas)

    def close(self) -> list[Piece]:
        """Take the end of the text; give what was held back of it."""
        deltas = self._splitter.close() if self._splitter else []
        self._keep(deltas)
        return deltas

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
        calls = tuple(self._calls.calls())
        text = "".join(self._texts)
        stop = _FINISHES.get(self._finish.lower(), "stop")
        if stop == "content_filter":
            calls = ()  # their arguments may be cut
            if not text:
                failure = blocked(self._finish, self._service)
                raise failure
        if self._is_refusal:
            stop = "refusal"
        elif calls and stop != "length":
            stop = "tool_calls"
        reasoning = "".join(self._thoughts)
        return ModelReply(
            text=text,
            tool_calls=calls,
            reasoning=reasoning,
            usage=_usage(self._usage),
            stop_reason=stop,
            cached_tokens=_cached(self._usage),
            charged=_charged(self._usage) if self._reports_cost else None,
            replay=self._replay(reasoning) if calls else None,
        )

    def _replay(self, reasoning: str) -> object:
        name = self._replays
        part = self._details if name == "reasoning_details" else reasoning
        return self._sealed({name: part}) if name and part else None

    # One object of the stream.

    def _take(self, chunk: Mapping[str, Any], event: str, deltas: list[Piece]) -> None:
        if is_error(chunk, event):
            raise refused(status_of(chunk), chunk, self._service)
        if usage := chunk.get("usage"):
            self._take_usage(usage)
        choices = chunk.get("choices")
        choice = choices[0] if choices and type(choices) is list else None
        if type(choice) is not dict:
            self._take_usage(mapping(chunk.get("x_groq")).get("usage"))
            return
        finish = choice.get("finish_reason")
        if finish and finish != "null":
            self._finished(finish, chunk)
        if usage := choice.get("usage"):
            self._take_usage(usage)
        delta = choice.get("delta") or choice.get("message")
        if delta and type(delta) is dict:
            self._take_delta(delta, deltas)
        elif (text := choice.get("text")) and type(text) is str:
            self._say(text, deltas)

    def _take_usage(self, usage: object) -> None:
        if usage and isinstance(usage, dict):
            self._usage = usage

    def _take_delta(self, delta: Mapping[str, Any], deltas: list[Piece]) -> None:
        content = delta.get("content")
        if content and type(content) is str and len(delta) == 1:
            self._say(content, deltas)
            return
        if isinstance(details := delta.get("reasoning_details"), list):
            self._details += details
        if thought := _thought_of(delta):
            self._think(thought, deltas)
        if isinstance(content, list):
            self._take_parts(content, deltas)
        elif content and isinstance(content, str):
            self._say(content, deltas)
        refusal = delta.get("refusal")
        if refusal and isinstance(refusal, str):
            self._is_refusal = True
            self._say(refusal, deltas)
        self._take_calls(delta, deltas)

    def _take_calls(self, delta: Mapping[str, Any], deltas: list[Piece]) -> None:
        for piece in mappings(delta.get("tool_calls")):
            self._calls.add(piece)
        if legacy := delta.get("function_call"):
            self._calls.add({"index": "function_call", "function": legacy})
        if self._output_tool and (new := self._calls.arrived(self._output_tool)):
            deltas.append(TextDelta(new))

    def _take_parts(self, parts: Sequence[Any], deltas: list[Piece]) -> None:
        for part in parts:
            if isinstance(part, str):
                self._say(part, deltas)
            elif not isinstance(part, Mapping):
                continue
            elif part.get("type") == "thinking":
                self._think(_text_of(part.get("thinking")), deltas)
            elif text := part.get("text"):
                self._say(str(text), deltas)

    def _say(self, text: str, deltas: list[Piece]) -> None:
        splitter = self._splitter
        if splitter is None or splitter.is_through:
            self._texts.append(text)
            deltas.append(TextDelta(text))
        else:
            found = splitter.split(text)
            self._keep(found)
            deltas += found

    def _think(self, text: str, deltas: list[Piece]) -> None:
        if text:
            self._thoughts.append(text)
            deltas.append(ReasoningDelta(text))

    def _keep(self, deltas: Sequence[Piece]) -> None:
        for delta in deltas:
            if isinstance(delta, TextDelta):
                self._texts.append(delta.text)
            else:
                self._thoughts.append(delta.text)

    def _finished(self, finish: object, chunk: Mapping[str, Any]) -> None:
        self._finish = str(finish)
        if self._finish in _FAILED_FINISHES:
            raise refused(503, chunk, self._service)


def _thought_of(delta: Mapping[str, Any]) -> str:
    """Find the reasoning of a delta; services that use two names say it twice."""
    for name in ("reasoning_content", "reasoning"):
        thought = delta.get(name)
        if thought and isinstance(thought, str):
            return thought
    return _text_of(delta.get("reasoning_details"))


def _text_of(parts: object) -> str:
    if isinstance(parts, str):
        return parts
    if not isinstance(parts, list):
        return ""
    return "".join(
        str(part.get("text") or part.get("summary") or "")
        for part in parts
        if isinstance(part, Mapping)
    )


def _usage(counts: Mapping[str, Any]) -> Usage:
    details = counts.get("completion_tokens_details")
    reasoning = details.get("reasoning_tokens") if isinstance(details, Mapping) else 0
    return Usage.of_call(
        _count(counts.get("prompt_tokens")),
        _count(counts.get("completion_tokens")),
        _count(reasoning or counts.get("reasoning_tokens")),
    )


def _cached(counts: Mapping[str, Any]) -> int:
    details = counts.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, Mapping) else 0
    return min(
        _count(cached or counts.get("prompt_cache_hit_tokens")),
        _count(counts.get("prompt_tokens")),
    )


def _charged(counts: Mapping[str, Any]) -> float | None:
    cost = counts.get("cost")
    if isinstance(cost, int | float) and not isinstance(cost, bool) and cost >= 0:
        return float(cost)
    return None


def _count(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0
