"""A conversation as Gemini wants it: contents of a user and a model, in parts."""

from __future__ import annotations

import mimetypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from pydantic_core import from_json, to_json

from notebook_agents.errors import AgentConfigurationError
from notebook_agents.messages import Message, ToolCall
from notebook_agents.providers._encoding import fit_name
from notebook_agents.providers._parts import PDF, MediaPart, TextPart, parts_of, text_of

__all__ = ["ContentPart", "KeptParts", "contents_of", "texts_first"]

ContentPart: TypeAlias = Mapping[str, Any]

NO_SIGNATURE = "skip_thought_signature_validator"
"""What the service takes in the place of a signature that there is not."""
_IMAGES = frozenset(
    {"image/heic", "image/heif", "image/jpeg", "image/png", "image/webp"}
)
_HEARD = ("audio/", "video/")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptParts:
    """What a reply with calls was made of, to go back with them as it came.

    Parameters
    ----------
    parts : tuple of mapping
        Its parts, each with its own signature.
    text : str
        Its text, to know the message again.
    """

    parts: tuple[ContentPart, ...]
    text: str


class _Call(NamedTuple):
    """A call that waits for its result."""

    number: int
    name: str
    wire_id: str | None


def contents_of(
    messages: Sequence[Message],
    kept: Mapping[str, KeptParts],
    *,
    needs_signatures: bool = False,
    sends_ids: bool = True,
) -> list[dict[str, Any]]:
    """Write the messages of a request.

    Parameters
    ----------
    messages : sequence of Message
        In our shape; system messages are left out.
    kept : mapping of str to KeptParts
        Parts of replies, by the identifier of their first call; those of this
        turn go back.
    needs_signatures : bool
        Whether the first call of each reply of this turn needs a signature.
    sends_ids : bool
        Whether calls may have identifiers, where it is not known that the
        service gave them none.

    Returns
    -------
    list of dict
        With the roles ``"user"`` and ``"model"``.

    Raises
    ------
    AgentConfigurationError
        If a part of a message cannot be sent.
    """
    written = _Contents(kept, sends_ids=sends_ids)
    places = range(len(messages) - 1, -1, -1)
    question = next((n for n in places if messages[n].role == "user"), 0)
    for number, message in enumerate(messages):
        written.take(
            message,
            is_current=number > question,
            needs_signature=needs_signatures and number > question,
        )
    return written.contents


def texts_first(contents: list[dict[str, Any]], text: str) -> list[dict[str, Any]]:
    """Put a text before all others, for a model that takes no system message.

    Parameters
    ----------
    contents : list of dict
        The contents of a request.
    text : str
        What to say first.

    Returns
    -------
    list of dict
        New contents.
    """
    first = {"role": "user", "parts": [{"text": text}]}
    if contents and contents[0]["role"] == "user":
        parts = [*first["parts"], *contents[0]["parts"]]
        return [{"role": "user", "parts": parts}, *contents[1:]]
    return [first, *contents]


class _Contents:
    """Contents that grow by one message after the other."""

    def __init__(self, kept: Mapping[str, KeptParts], *, sends_ids: bool) -> None:
        self.contents: list[dict[str, Any]] = []
        self._kept = kept
        self._sends_ids = sends_ids
        self._kind = ""
        """What the last content holds: what a user or a model says, or results."""
        self._calls: dict[str, _Call] = {}
        self._results: list[int] = []
        """The numbers of the calls that the last content answers."""

    def take(
        self, message: Message, *, is_current: bool, needs_signature: bool
    ) -> None:
        role = message.role
        if role == "user":
            self._add(role, "user", _parts(message.content))
        elif role == "tool":
            self._add_result(message)
        elif role == "assistant" and message.tool_calls:
            parts = self._called(message, is_current=is_current)
            if needs_signature:
                _sign(parts)
            self._add(role, "model", parts)
        elif role == "assistant":
            said = text_of(message.content, role)
            self._add(role, "model", _parts(said))

    def _add(self, kind: str, role: str, parts: list[ContentPart]) -> None:
        """Add parts; those of one speaker become one content."""
        if not parts:
            return
        if kind == self._kind:
            self.contents[-1]["parts"] += parts
            return
        self._kind, self._results = kind, []
        self.contents.append({"role": role, "parts": parts})

    def _called(self, message: Message, *, is_current: bool) -> list[ContentPart]:
        calls = message.tool_calls
        kept = self._kept.get(calls[0].id) if is_current else None
        told = [part for part in kept.parts if "functionCall" in part] if kept else []
        if kept is None or len(told) != len(calls):
            text = text_of(message.content, "assistant")
            return [*_parts(text), *(self._call(call, None) for call in calls)]
        parts = kept.parts
        if kept.text != message.content:  # another has been put in its place
            parts = (*_parts(text_of(message.content, "assistant")), *told)
        waiting = iter(calls)
        return [
            self._call(next(waiting), part) if "functionCall" in part else part
            for part in parts
        ]

    def _call(self, call: ToolCall, kept: ContentPart | None) -> ContentPart:
        """Write a call as it is now, with what stood beside it when it came."""
        if kept is None:
            wire_id = call.id if self._sends_ids else None
        else:
            wire_id = kept["functionCall"].get("id")
        name = fit_name(call.name)
        self._calls[call.id] = _Call(len(self._calls), name, wire_id)
        function = {"name": name, "args": _arguments(call)}
        if wire_id:
            function["id"] = wire_id
        return {**(kept or {}), "functionCall": function}

    def _add_result(self, message: Message) -> None:
        """Add a result at its place: some models know results by their order."""
        call_id = message.tool_call_id or ""
        call = self._calls.get(call_id) or _Call(-1, fit_name(call_id), call_id)
        function: dict[str, Any] = {
            "name": call.name,
            "response": {"result": _value(text_of(message.content, "tool"))},
        }
        if call.wire_id:
            function["id"] = call.wire_id
        self._add("tool", "user", [{"functionResponse": function}])
        self._results.append(call.number)
        if self._results != (ordered := sorted(self._results)):
            parts = self.contents[-1]["parts"]
            places = sorted(range(len(parts)), key=self._results.__getitem__)
            self.contents[-1]["parts"] = [parts[place] for place in places]
            self._results = ordered


def _sign(parts: list[ContentPart]) -> None:
    """Say of calls that came without a signature that they have none."""
    place = next(n for n, part in enumerate(parts) if "functionCall" in part)
    if not parts[place].get("thoughtSignature"):
        parts[place] = {**parts[place], "thoughtSignature": NO_SIGNATURE}


def _arguments(call: ToolCall) -> dict[str, Any]:
    try:
        arguments = from_json(call.arguments)
    except ValueError:
        arguments = None
    return arguments if isinstance(arguments, dict) else {}


def _value(text: str) -> Any:
    """Give the value that a result is the JSON of, else the text itself."""
    try:
        value = from_json(text, allow_inf_nan=False)
    except ValueError:
        return text
    # "1.10" may be a version.
    is_same = isinstance(value, dict | list) or to_json(value).decode() == text.strip()
    return value if is_same else text


# ------------------------------------------------------------------ images and files


def _parts(content: object) -> list[ContentPart]:
    if isinstance(content, str):  # nearly always
        return [{"text": content}] if content and not content.isspace() else []
    return [
        {"text": part.text} if isinstance(part, TextPart) else _media_part(part)
        for part in parts_of(content)
    ]


def _media_part(part: MediaPart) -> ContentPart:
    if part.url:
        guessed = mimetypes.guess_type(part.url.partition("?")[0])[0]
        kind = {"mimeType": guessed} if guessed else {}
        return {"fileData": {"fileUri": part.url, **kind}}
    media_type = part.media_type.replace("image/jpg", "image/jpeg")
    if part.text() is not None:
        media_type = "text/plain"
    elif media_type not in {*_IMAGES, PDF} and not media_type.startswith(_HEARD):
        message = (
            f"Gemini takes no {media_type}: an image has to be PNG, JPEG, WebP, HEIC "
            "or HEIF, and a file a PDF, plain text, audio or video. Convert it first."
        )
        raise AgentConfigurationError(message)
    return {"inlineData": {"mimeType": media_type, "data": part.data}}
