"""A conversation as Anthropic wants it: two who take turns, in blocks."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from pydantic_core import from_json

from notebook_agents.errors import AgentConfigurationError
from notebook_agents.messages import Message, ToolCall
from notebook_agents.providers._encoding import encode, fit_id, fit_name
from notebook_agents.providers._parts import PDF, MediaPart, TextPart, parts_of, text_of

__all__ = ["THOUGHTS", "Block", "Conversation", "KeptBlocks"]

Block: TypeAlias = Mapping[str, Any]

THOUGHTS = frozenset({"thinking", "redacted_thinking"})
"""Types of blocks that hold what the model thought, readable or not."""
_IMAGES = frozenset({"image/gif", "image/jpeg", "image/png", "image/webp"})


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptBlocks:
    """What a reply with calls was made of, to go back with them as it came.

    Parameters
    ----------
    blocks : tuple of mapping
        Its blocks; those that call a tool only mark their place.
    text : str
        Its text, to know the message again.
    before : bytes
        `Conversation.digest` of what it answered. Thoughts are bound to that:
        they are refused after anything else.
    """

    blocks: tuple[Block, ...]
    text: str
    before: bytes


class Conversation:
    """The messages of a request, in the shape of the wire.

    Parameters
    ----------
    messages : sequence of Message
        In ours; system messages are left out.
    head : mapping
        What stands before them in the request.
    kept : mapping of str to KeptBlocks
        Blocks of replies of this turn, by the identifier of their first call.
        They go back only where all that comes before them is the same as when
        they were made.

    Raises
    ------
    AgentConfigurationError
        If a part of a message cannot be sent.
    """

    def __init__(
        self,
        messages: Sequence[Message],
        head: Mapping[str, Any],
        kept: Mapping[str, KeptBlocks],
    ) -> None:
        self.messages: list[dict[str, Any]] = []
        self._head = head
        self._digest = hashlib.blake2b(digest_size=16)
        self._digested = -1
        places = range(len(messages) - 1, -1, -1)
        question = next((n for n in places if messages[n].role == "user"), 0)
        for message in messages[:question]:
            self._take(message, {})
        self._begin = len(self.messages)
        for message in messages[question:]:
            self._take(message, kept)

    def has_lost_thoughts(self) -> bool:
        """Tell whether the current turn begins without the thoughts that led to it."""
        said = (each for each in self.messages[self._begin :] if _is_reply(each))
        first = next(said, None)
        return first is not None and first["content"][0]["type"] not in THOUGHTS

    def is_answered(self) -> bool:
        """Tell whether the assistant has said anything."""
        return any(map(_is_reply, self.messages[:2]))

    def digest(self) -> bytes:
        """Give a fingerprint of everything so far; it grows with the messages."""
        if self._digested < 0:
            self._digest.update(encode(self._head))
            self._digested = 0
        if new := self.messages[self._digested :]:
            # Together, which takes less time, yet as if one came after the other.
            self._digest.update(encode(new)[1:-1] + b",")
            self._digested = len(self.messages)
        return self._digest.digest()

    def _take(self, message: Message, kept: Mapping[str, KeptBlocks]) -> None:
        role = message.role
        if role == "assistant":
            self._add(role, self._said(message, kept))
        elif role == "user":
            self._add(role, _blocks(message.content))
        elif role == "tool":
            self._add("user", [_result(message)])

    def _add(self, role: str, blocks: list[Block]) -> None:
        """Add blocks; those of one speaker become one message."""
        if not blocks:
            return
        if not self.messages or self.messages[-1]["role"] != role:
            self.messages.append({"role": role, "content": blocks})
            return
        content = self.messages[-1]["content"]
        is_late = _is_result(blocks[0]) and not _is_result(content[-1])
        content += blocks
        if is_late:  # results come first
            content.sort(key=lambda block: not _is_result(block))

    def _said(self, message: Message, kept: Mapping[str, KeptBlocks]) -> list[Block]:
        calls = message.tool_calls
        if not calls:
            return _blocks(text_of(message.content, "assistant"))
        part = kept.get(calls[0].id)
        if part is not None and self._fits(part, message):
            uses = map(_use, calls)
            return [next(uses) if _is_use(block) else block for block in part.blocks]
        text = _blocks(text_of(message.content, "assistant"))
        return [*text, *map(_use, calls)]

    def _fits(self, part: KeptBlocks, message: Message) -> bool:
        return (
            sum(map(_is_use, part.blocks)) == len(message.tool_calls)
            and part.text == message.content
            and part.before == self.digest()
        )


def _is_reply(message: Mapping[str, Any]) -> bool:
    return bool(message["role"] == "assistant")


def _is_result(block: Block) -> bool:
    return bool(block["type"] == "tool_result")


def _is_use(block: Block) -> bool:
    return bool(block["type"] == "tool_use")


def _use(call: ToolCall) -> Block:
    try:
        arguments = from_json(call.arguments)
    except ValueError:
        arguments = None
    return {
        "type": "tool_use",
        "id": fit_id(call.id),
        "name": fit_name(call.name),
        "input": arguments if isinstance(arguments, dict) else {},
    }


def _result(message: Message) -> Block:
    result: dict[str, Any] = {
        "type": "tool_result",
        "tool_use_id": fit_id(message.tool_call_id or ""),
    }
    # A blank text is refused; no content at all is not.
    if content := _blocks(message.content):
        result["content"] = content
    return result


def _blocks(content: object) -> list[Block]:
    if isinstance(content, str):  # nearly always
        said = content and not content.isspace()
        return [{"type": "text", "text": content}] if said else []
    return [
        {"type": "text", "text": part.text}
        if isinstance(part, TextPart)
        else _media_block(part)
        for part in parts_of(content)
    ]


def _media_block(part: MediaPart) -> Block:
    if part.url:
        source = {"type": "url", "url": part.url}
        return {"type": "image" if part.is_image else "document", "source": source}
    media_type = part.media_type.replace("image/jpg", "image/jpeg")
    source = {"type": "base64", "media_type": media_type, "data": part.data}
    if media_type in _IMAGES:
        return {"type": "image", "source": source}
    if (text := part.text()) is not None:
        source = {"type": "text", "media_type": "text/plain", "data": text}
    elif media_type != PDF:
        message = (
            f"Anthropic takes no {media_type}: an image has to be PNG, JPEG, GIF or "
            "WebP, and a file a PDF or plain text. Convert it first."
        )
        raise AgentConfigurationError(message)
    document: dict[str, Any] = {"type": "document", "source": source}
    if part.name:
        document["title"] = part.name
    return document
