"""The parts of a message: texts, images and files, read from OpenAI's shape.

::

    {"type": "text", "text": "What is this?"}
    {"type": "image_url", "image_url": {"url": "data:image/png;base64,..."}}
    {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:..."}}
"""

from __future__ import annotations

import base64
import binascii
import mimetypes
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote_to_bytes

from notebook_agents.errors import AgentConfigurationError
from notebook_agents.messages import Message

__all__ = ["MediaPart", "Part", "TextPart", "parts_of", "system_text", "text_of"]

PDF = "application/pdf"


@dataclass(frozen=True, slots=True)
class TextPart:
    """A text.

    Parameters
    ----------
    text : str
        As it was written.
    """

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaPart:
    """An image or a file: its bytes, or where they are.

    Parameters
    ----------
    is_image : bool
        Whether it was given as an image.
    media_type : str
        Such as ``"image/png"``; empty where only the URL is known.
    data : str
        Its bytes in base64; empty if there is a URL.
    url : str
        Where it is, by HTTPS; empty if its bytes are here.
    name : str
        Name of the file, for people; may be empty.
    detail : str
        How closely to look at an image, such as ``"low"``; may be empty.
    """

    is_image: bool
    media_type: str = ""
    data: str = ""
    url: str = ""
    name: str = ""
    detail: str = ""

    def text(self) -> str | None:
        """Give the words of a file of plain text; None if it is something else."""
        is_text = self.media_type.startswith("text/")
        if not self.data or not (is_text or self.media_type == "application/json"):
            return None
        return base64.b64decode(self.data).decode("utf-8", "replace")


Part = TextPart | MediaPart


def parts_of(content: object) -> list[Part]:
    """Read the content of a message.

    Parameters
    ----------
    content : str or list
        A text, or parts.

    Returns
    -------
    list of TextPart and MediaPart
        In order; texts that say nothing are left out, since services refuse
        them.

    Raises
    ------
    AgentConfigurationError
        If a part is none of these, or is neither here nor to be had by HTTPS.

    Examples
    --------
    >>> url = "data:image/png;base64,AAAA"
    >>> [image] = parts_of([{"type": "image_url", "image_url": {"url": url}}])
    >>> image.media_type, image.data
    ('image/png', 'AAAA')
    """
    if isinstance(content, str):
        return [TextPart(content)] if content and not content.isspace() else []
    if not isinstance(content, list | tuple):
        message = f"The content of a message is a text or a list, not {content!r}."
        raise AgentConfigurationError(message)
    parts = map(_part, content)
    return [
        part
        for part in parts
        if isinstance(part, MediaPart) or (part.text and not part.text.isspace())
    ]


def text_of(content: object, role: str) -> str:
    """Give the content of a message that can hold nothing but text.

    Parameters
    ----------
    content : str or list
        A text, or parts.
    role : str
        Whose message it is, for the error.

    Returns
    -------
    str
        The text.

    Raises
    ------
    AgentConfigurationError
        If there is an image or a file in it.
    """
    if isinstance(content, str):
        return content
    texts = []
    for part in parts_of(content):
        if not isinstance(part, TextPart):
            message = f"A {role} message can hold text only, no image and no file."
            raise AgentConfigurationError(message)
        texts.append(part.text)
    return "".join(texts)


def system_text(messages: Iterable[Message]) -> str:
    """Give what the system messages of a conversation say, as one text.

    Parameters
    ----------
    messages : iterable of Message
        All messages.

    Returns
    -------
    str
        Empty if they say nothing.
    """
    texts = [
        text_of(message.content, "system")
        for message in messages
        if message.role == "system"
    ]
    return "\n\n".join(text for text in texts if text.strip())


def _part(part: Any) -> Part:
    if isinstance(part, str):
        return TextPart(part)
    kind = part.get("type") if isinstance(part, Mapping) else None
    if kind == "text" and isinstance(part.get("text"), str):
        return TextPart(part["text"])
    if kind == "image_url":
        image = part.get("image_url")
        if not isinstance(image, Mapping):
            return _media(image, is_image=True)
        found = _media(image.get("url"), is_image=True)
        return replace(found, detail=str(image.get("detail") or ""))
    if kind == "file" and isinstance(part.get("file"), Mapping):
        file = part["file"]
        name = file.get("filename")
        return _media(
            file.get("file_data"),
            is_image=False,
            name=name if isinstance(name, str) else "",
        )
    message = (
        f"A message holds a part that cannot be sent ({kind or type(part).__name__}). "
        "A part is a text, an image_url or a file with file_data."
    )
    raise AgentConfigurationError(message)


def _media(source: object, *, is_image: bool, name: str = "") -> MediaPart:
    what = "image" if is_image else "file"
    if isinstance(source, str) and source.startswith("https://"):
        return MediaPart(is_image=is_image, url=source, name=name)
    try:
        if isinstance(source, str) and source.startswith("data:"):
            media_type, data = _of_data_url(source)
        elif isinstance(source, str) and source and not is_image:
            data = _checked(source)
            media_type = mimetypes.guess_type(name)[0] or PDF
        else:
            data = media_type = ""
    except ValueError as error:
        message = f"The bytes of the {what} {name or 'in a message'} are no base64."
        raise AgentConfigurationError(message) from error
    if not data or not media_type:
        message = (
            f"The {what} {name or 'in a message'} is given as a data: URL, such as "
            "'data:image/png;base64,...', or as an https: URL."
        )
        raise AgentConfigurationError(message)
    return MediaPart(is_image=is_image, media_type=media_type, data=data, name=name)


def _of_data_url(url: str) -> tuple[str, str]:
    """Read a media type and base64 out of a ``data:`` URL."""
    head, _, body = url.removeprefix("data:").partition(",")
    media_type, *rest = head.split(";")
    if "base64" in rest:
        data = _checked(body)
    else:
        data = base64.b64encode(unquote_to_bytes(body)).decode()
    return media_type.strip().lower(), data


def _checked(data: str) -> str:
    """Give base64 without the line breaks in it; ValueError if it is none."""
    data = "".join(data.split())
    binascii.a2b_base64(data, strict_mode=True)
    return data
