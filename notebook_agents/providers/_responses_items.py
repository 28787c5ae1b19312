"""A conversation as OpenAI Responses wants it: a list of items."""

from __future__ import annotations

import mimetypes
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from notebook_agents.errors import AgentConfigurationError
from notebook_agents.messages import Message, ToolCall
from notebook_agents.providers._encoding import fit_id, fit_name
from notebook_agents.providers._parts import MediaPart, TextPart, parts_of, text_of

__all__ = ["Item", "KeptItems", "input_items", "instructions"]

Item: TypeAlias = Mapping[str, Any]

_IMAGES = frozenset({"image/gif", "image/jpeg", "image/jpg", "image/png", "image/webp"})


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptItems:
    """What a reply with calls was made of, to go back with them as it came.

    Parameters
    ----------
    items : tuple of mapping
        Its items; those that call a tool lack what the call itself says.
    text : str
        Its text, to know the message again.
    """

    items: tuple[Item, ...]
    text: str

    def fits(self, message: Message) -> bool:
        """Tell whether a message is still the reply that these items made."""
        calls = sum(item["type"] == "function_call" for item in self.items)
        return calls == len(message.tool_calls) and self.text == message.content

    def around(self, calls: Sequence[ToolCall]) -> Iterator[Item]:
        """Give the items, with the calls in their places."""
        rest = iter(calls)
        for item in self.items:
            is_call = item["type"] == "function_call"
            yield {**item, **_call(next(rest))} if is_call else item


def instructions(messages: Sequence[Message]) -> str:
    """Give what the system messages of a conversation say.

    Parameters
    ----------
    messages : sequence of Message
        The conversation.

    Returns
    -------
    str
        Their texts, an empty line in between.
    """
    texts = [
        text_of(message.content, "system")
        for message in messages
        if message.role == "system"
    ]
    return "\n\n".join(filter(None, texts))


def input_items(
    messages: Sequence[Message], *, kept: Mapping[str, KeptItems], has_phases: bool
) -> list[Item]:
    """Write a conversation as items.

    Parameters
    ----------
    messages : sequence of Message
        In ours; system messages are left out.
    kept : mapping of str to KeptItems
        Items of replies, by the identifier of their first call.
    has_phases : bool
        Whether what the assistant said is marked as an answer or as something
        said on the way.

    Returns
    -------
    list of mapping
        As JSON values.

    Raises
    ------
    AgentConfigurationError
        If a part of a message cannot be sent.
    """
    question = _question(messages)
    items: list[Item] = []
    for number, message in enumerate(messages):
        if message.role == "user":
            items.append({"role": "user", "content": _content(message.content)})
        elif message.role == "assistant":
            # What led to the calls of an earlier turn is not needed any more.
            found = None
            if kept and message.tool_calls and number > question:
                found = kept.get(message.tool_calls[0].id)
            items += _said(message, found, has_phases=has_phases)
        elif message.role == "tool":
            items.append(_result(message))
    return items


def _question(messages: Sequence[Message]) -> int:
    """Find where the current turn begins; -1 if nobody has asked anything."""
    questions = (n for n, message in enumerate(messages) if message.role == "user")
    return max(questions, default=-1)


def _said(
    message: Message, kept: KeptItems | None, *, has_phases: bool
) -> Iterator[Item]:
    calls = message.tool_calls
    if kept is not None and kept.fits(message):
        yield from kept.around(calls)
        return
    # Without the identifiers of items: they would want the thoughts before them.
    text = text_of(message.content, "assistant")
    if text or not calls:
        said: dict[str, Any] = {"role": "assistant", "content": text}
        if has_phases:
            said["phase"] = "commentary" if calls else "final_answer"
        yield said
    yield from map(_call, calls)


def _call(call: ToolCall) -> Item:
    return {
        "type": "function_call",
        "call_id": fit_id(call.id),
        "name": fit_name(call.name),
        "arguments": call.arguments,
    }


def _result(message: Message) -> Item:
    return {
        "type": "function_call_output",
        "call_id": fit_id(message.tool_call_id or ""),
        "output": _content(message.content),
    }


def _content(content: object) -> str | list[Item]:
    if isinstance(content, str):
        return content
    return [
        {"type": "input_text", "text": part.text}
        if isinstance(part, TextPart)
        else _media(part)
        for part in parts_of(content)
    ]


def _media(part: MediaPart) -> Item:
    kind = part.media_type
    source = part.url or f"data:{kind};base64,{part.data}"
    if kind in _IMAGES or (part.url and part.is_image):
        detail = part.detail or "auto"
        return {"type": "input_image", "image_url": source, "detail": detail}
    if kind.startswith("image/"):
        message = (
            f"OpenAI takes no {kind}: an image has to be PNG, JPEG, GIF or WebP. "
            "Convert it first."
        )
        raise AgentConfigurationError(message)
    if part.url:
        return {"type": "input_file", "file_url": part.url}
    name = part.name or f"file{mimetypes.guess_extension(kind) or ''}"
    return {"type": "input_file", "filename": name, "file_data": source}
