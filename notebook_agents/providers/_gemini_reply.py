"""A reply of Gemini's generateContent, read from the objects of its stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from pydantic_core import from_json

from notebook_agents.errors import AgentProviderError, ContentFilteredError
from notebook_agents.identifiers import new_id
from notebook_agents.messages import ToolCall, Usage
from notebook_agents.providers._failures import (
    Failure,
    ServiceFacts,
    cut,
    redact,
    unreadable,
)
from notebook_agents.providers._gemini_contents import ContentPart, KeptParts
from notebook_agents.providers._gemini_repeats import NewText
from notebook_agents.providers._gemini_request import Continuation
from notebook_agents.providers._json_values import count_of, mapping, mappings
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

__all__ = ["GeminiReply"]

_BLOCKED = frozenset(
    {
        "BLOCKLIST",
        "ESCALATION",
        "IMAGE_PROHIBITED_CONTENT",
        "IMAGE_RECITATION",
        "IMAGE_SAFETY",
        "MODEL_ARMOR",
        "PROHIBITED_CONTENT",
        "PUP_LIMITED_DISABLED",
        "RECITATION",
        "SAFETY",
        "SPII",
    }
)
_STOPS = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "CONTINUATION": "length",
    **dict.fromkeys(_BLOCKED, "content_filter"),
}
_MALFORMED = frozenset(
    {"MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL"}
)
"""The model wrote what the service could not read; written again it often can."""
_FAILED = frozenset(
    {"LANGUAGE", "MISSING_THOUGHT_SIGNATURE", "OTHER", "TOO_MANY_TOOL_CALLS"}
)


class GeminiReply:
    """Gather one reply.

    Parameters
    ----------
    request : ModelRequest
        What is answered.
    service : ServiceFacts
        Whom errors are about.
    sealed : callable
        Gives, as `ModelReply.replay`, the parts that have to go back with the
        calls of the reply.
    """

    def __init__(
        self,
        request: ModelRequest,
        service: ServiceFacts,
        *,
        sealed: Callable[[KeptParts], object],
    ) -> None:
        self._request = request
        self._service = service
        self._sealed = sealed
        self._new_text: NewText | None = NewText()
        self._new_thought: NewText | None = NewText()
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._calls = ToolDeltas()
        self._known_calls: list[Mapping[str, Any]] = []
        self._parts: list[ContentPart] = []
        self._unsigned: list[str] = []
        """Text since the last part of `_parts`, which has no signature."""
        self._usage: dict[str, Any] = {}
        self._candidate: dict[str, Any] = {}
        """What has been said of the reply as a whole."""
        self._feedback: Mapping[str, Any] = {}

    @property
    def _finish(self) -> str:
        return str(self._candidate.get("finishReason") or "")

    def has_finished(self) -> bool:
        """Tell whether the reply is complete, though token counts may follow."""
        return bool(self._finish or self._feedback)

    def read(self, records: Sequence[SseRecord]) -> list[Piece]:
        """Take the next records of a stream, as in `Reply.read`."""
        pieces: list[Piece] = []
        for record in records:
            data = record.data
            if data and not data.startswith(b"[DONE]"):
                self._take(parsed(data, self._service), record.event, pieces)
        return joined(pieces)

    def read_whole(self, body: bytes) -> list[Piece]:
        """Take a reply that came as one object, or as a list of those of a stream."""
        found = self._found(body)
        if isinstance(found, dict):
            self._new_text = self._new_thought = None
        pieces: list[Piece] = []
        for chunk in mappings([found] if isinstance(found, dict) else found):
            self._take(chunk, "", pieces)
        if isinstance(found, dict) and self._candidate:
            self._candidate.setdefault("finishReason", "STOP")
        if not self.has_finished():
            failure = unreadable(body, self._service)
            raise failure
        return joined(pieces)

    def close(self) -> list[Piece]:
        """Take the end; give what was held back."""
        pieces: list[Piece] = []
        if self._new_thought is not None:
            self._think(self._new_thought.end(), pieces)
        if self._new_text is not None:
            self._say(self._new_text.end(), pieces)
        return pieces

    def reply(self) -> ModelReply:
        """Give the whole reply.

        Returns
        -------
        ModelReply
            All of it; a `PausedReply` if the service has to be asked again.

        Raises
        ------
        Failure
            If the service blocked it and there is nothing to show, or gave up.
        """
        finish, text = self._finish, "".join(self._texts)
        calls = tuple(map(self._named, self._calls.calls()))
        if finish in _BLOCKED:
            calls = ()  # their arguments may be cut
        says_something = bool(text or calls)
        if self._feedback or (finish in _BLOCKED and not says_something):
            raise self._blocked()
        is_known = finish in _STOPS or finish in _MALFORMED
        if finish in _FAILED or not (is_known or says_something):
            raise self._failed()
        then = self._then(has_calls=bool(calls))
        stop = _STOPS.get(finish, "stop")
        usage = _usage(self._usage)
        cached = count_of(self._usage, "cachedContentTokenCount")
        facts: dict[str, Any] = {
            "text": text,
            "tool_calls": calls if then is None else (),
            "reasoning": "".join(self._thoughts),
            "usage": usage,
            "stop_reason": "tool_calls" if calls and stop == "stop" else stop,
            "cached_tokens": min(cached, usage.prompt_tokens),
        }
        if then is not None:
            return PausedReply(**facts, then=then)
        if calls:
            self._add_part(None)
            kept = KeptParts(parts=tuple(self._parts), text=text)
            facts["replay"] = self._sealed(kept)
        return ModelReply(**facts)

    # One object of the stream.

    def _take(self, chunk: Mapping[str, Any], event: str, pieces: list[Piece]) -> None:
        if is_error(chunk, event):
            raise refused(status_of(chunk), chunk, self._service)
        counts = mapping(chunk.get("usageMetadata"))
        if counts:  # fields of it may be missing later
            self._usage |= counts
        feedback = mapping(chunk.get("promptFeedback"))
        if feedback.get("blockReason"):
            self._feedback = feedback
        for candidate in mappings(chunk.get("candidates"))[:1]:
            for part in mappings(mapping(candidate.get("content")).get("parts")):
                self._take_part(part, pieces)
            facts = {k: v for k, v in candidate.items() if k != "content" and v}
            if facts.get("finishReason") == "FINISH_REASON_UNSPECIFIED":
                del facts["finishReason"]
            self._candidate |= {"index": 0, **facts}

    def _take_part(self, part: Mapping[str, Any], pieces: list[Piece]) -> None:
        text = part.get("text")
        if isinstance(text, str):
            if part.get("thought"):
                self._take_thought(part, text, pieces)
            else:
                self._take_text(part, text, pieces)
        elif isinstance(part.get("functionCall"), Mapping):
            self._take_call(part)
        elif part:
            self._add_part(part)

    def _take_text(
        self, part: Mapping[str, Any], text: str, pieces: list[Piece]
    ) -> None:
        if text and self._new_text is not None:
            text = self._new_text.take(text)
        if part.get("thoughtSignature"):
            self._add_part({**part, "text": text})
            self._say(text, pieces, is_kept=True)
        else:
            self._say(text, pieces)

    def _take_thought(
        self, part: Mapping[str, Any], text: str, pieces: list[Piece]
    ) -> None:
        if part.get("thoughtSignature"):
            self._add_part(part)
        if text and self._new_thought is not None:
            text = self._new_thought.take(text)
        self._think(text, pieces)

    def _take_call(self, part: Mapping[str, Any]) -> None:
        call = part["functionCall"]
        if call.get("id") and call in self._known_calls:
            return  # said again with all that came before
        function = {"name": call.get("name"), "arguments": call.get("args")}
        place = len(self._known_calls)
        self._calls.add({"index": place, "id": call.get("id"), "function": function})
        self._known_calls.append(call)
        self._add_part(part)

    def _say(self, text: str, pieces: list[Piece], *, is_kept: bool = False) -> None:
        if text:
            self._texts.append(text)
            pieces.append(TextDelta(text))
            if not is_kept:
                self._unsigned.append(text)

    def _think(self, text: str, pieces: list[Piece]) -> None:
        if text:
            self._thoughts.append(text)
            pieces.append(ReasoningDelta(text))

    def _add_part(self, part: ContentPart | None) -> None:
        """Add a part to send back, after the text before it in one piece."""
        text, self._unsigned = "".join(self._unsigned), []
        if text and not text.isspace():
            self._parts.append({"text": text})
        if part is not None:
            self._parts.append(part)

    def _found(self, body: bytes) -> object:
        try:
            return from_json(body)
        except ValueError as error:
            failure = unreadable(body, self._service)
            raise failure from error

    # What becomes of it.

    def _then(self, *, has_calls: bool) -> Continuation | None:
        """Say how to go on where the reply is not complete, if that is possible."""
        asked, finish = self._request, self._finish
        facts = {
            field.name: getattr(asked, field.name) for field in fields(ModelRequest)
        }
        before = asked if isinstance(asked, Continuation) else Continuation(**facts)
        token = self._candidate.get("continuationToken")
        if finish == "CONTINUATION" and token and not has_calls:
            return replace(before, token=str(token))
        if finish not in _MALFORMED:
            return None
        if before.corrects:
            raise self._failed()
        self._add_part(None)
        said = tuple(part for part in self._parts if "functionCall" not in part)
        return replace(before, token="", corrects=True, said=said)

    def _named(self, call: ToolCall) -> ToolCall:
        """Give a call another identifier where one before it has the same."""
        said = (
            each for message in self._request.messages for each in message.tool_calls
        )
        if all(each.id != call.id for each in said):
            return call
        return replace(call, id=f"call_{new_id()}")

    def _blocked(self) -> Failure:
        name, facts = self._service.name, self._feedback or self._candidate
        what = "prompt" if self._feedback else "whole reply"
        why = [str(facts.get("blockReason") or self._finish)]
        for rating in mappings(facts.get("safetyRatings")):
            if rating.get("blocked"):
                category = str(rating.get("category")).removeprefix("HARM_CATEGORY_")
                why.append(category.replace("_", " ").lower())
        message = f"{name} blocked the {what} ({', '.join(why)}). Ask in other words."
        said = facts.get("blockReasonMessage") or facts.get("finishMessage")
        message = self._with_words(message, said)
        return Failure(ContentFilteredError(message, provider=name), "blocked")

    def _failed(self) -> Failure:
        name = self._service.name
        message = (
            f"{name} gave up before the reply was complete ({self._finish}). "
            "Run it again, or ask in other words."
        )
        message = self._with_words(message, self._candidate.get("finishMessage"))
        return Failure(AgentProviderError(message, provider=name), "gave up")

    def _with_words(self, message: str, said: object) -> str:
        if not said:
            return message
        return f"{message} It said: {redact(cut(str(said)), self._service.secrets)}"


def _usage(counts: Mapping[str, Any]) -> Usage:
    prompt = ("promptTokenCount", "toolUsePromptTokenCount")
    thoughts = count_of(counts, "thoughtsTokenCount")
    return Usage.of_call(
        sum(count_of(counts, name) for name in prompt),
        count_of(counts, "candidatesTokenCount") + thoughts,
        thoughts,
    )
