"""`Question`: what a user says, and the images and files that come with it."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, TypeAlias, TypeGuard, cast

from notebook_agents.errors import AgentConfigurationError
from notebook_agents.messages import Message
from notebook_agents.reading import read_messages
from notebook_agents.results import AgentResult

__all__ = ["Question", "Said", "names_files", "shown", "with_files"]

Said: TypeAlias = str | Sequence[str | Path | Mapping[str, Any]]
"""A text, or parts: texts, files, and parts in the OpenAI chat shape."""

MOST_BYTES = 50_000_000
"""The largest file that is read: more than any service takes in a message."""

_EARLIER = " Earlier messages go into prior_messages=."
_MEANT: dict[type, str] = {
    bytes: " Decode it: message.decode().",
    PurePath: " Read it, path.read_text(), or pass it in a list: [text, path].",
    AgentResult: " Pass its answer: str(result).",
    list: _EARLIER,
    tuple: _EARLIER,
    dict: _EARLIER,
}
"""What somebody probably wants who passes something else than text."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a user says.

    Parameters
    ----------
    text : str
        All its text.
    parts : sequence of mapping
        Text, images and files in their order; empty for text alone.
    """

    text: str
    parts: Sequence[Mapping[str, Any]] = ()

    @classmethod
    def of(cls, said: object) -> Question:
        """Read what was passed as a message.

        Parameters
        ----------
        said : str or sequence of str, Path and mapping
            A text, or parts.

        Returns
        -------
        Question
            Which shares nothing with it.

        Raises
        ------
        AgentConfigurationError
            If it is neither, says nothing, or a file cannot be read.
        """
        if isinstance(said, str):
            return cls(_not_blank(said))
        if not isinstance(said, list | tuple) or any(map(_is_message, said)):
            hint = next((h for kind, h in _MEANT.items() if isinstance(said, kind)), "")
            message = f"The message must be text, not {type(said).__name__}.{hint}"
            raise AgentConfigurationError(message)
        wrapped = [{"role": "user", "content": with_files(said)}]
        content: Any = read_messages(wrapped, name="message")[0].content
        if isinstance(content, str):
            return cls(_not_blank(content))
        return cls("\n".join(_texts(content)), content)

    def saying(self, text: str) -> Question:
        """Give the same with another text, as the guards have left it."""
        if text == self.text:
            return self
        media = [part for part in self.parts if part.get("type") != "text"]
        words = {"type": "text", "text": text}
        return Question(text, [words, *media] if media else ())

    @property
    def shown(self) -> str:
        """The text, with a word for each image and file."""
        return shown([*self.parts] or self.text)

    def message(self) -> Message:
        """Give it as an entry of a conversation."""
        return Message("user", cast("str", [*self.parts]) if self.parts else self.text)


def names_files(said: Any) -> TypeGuard[Sequence[Any]]:
    """Tell whether files have to be read before a message can be sent."""
    is_list = isinstance(said, list | tuple)
    return is_list and any(isinstance(part, Path) for part in said)


def with_files(parts: Sequence[Any]) -> list[Any]:
    """Read the files of a message, which may take a while.

    Parameters
    ----------
    parts : sequence
        Its parts; those that are paths are read.

    Returns
    -------
    list
        The same with what is in the files.

    Raises
    ------
    AgentConfigurationError
        If one of them is no regular file, is too large or cannot be read.
    """
    return [_part_of(part) if isinstance(part, Path) else part for part in parts]


def shown(content: object) -> str:
    r"""Give the text of a message, with a word for each image and file in it.

    Parameters
    ----------
    content : str or list of mapping
        What the message holds.

    Returns
    -------
    str
        For people.

    Examples
    --------
    >>> shown([{"type": "text", "text": "This?"}, {"type": "image_url"}])
    'This?\n[image]'
    """
    if not isinstance(content, list):
        return str(content)
    return "\n".join(
        str(part["text"]) if part.get("type") == "text" else f"[{_kind(part)}]"
        for part in content
    )


def _is_message(part: object) -> bool:
    return isinstance(part, Mapping) and "role" in part


def _not_blank(text: str) -> str:
    if not text.strip():
        message = "The message is empty. Write what the agent should do."
        raise AgentConfigurationError(message)
    return text


def _texts(parts: Sequence[Mapping[str, Any]]) -> list[str]:
    return [str(part["text"]) for part in parts if part.get("type") == "text"]


def _kind(part: Mapping[str, Any]) -> str:
    return "image" if "image" in str(part.get("type")) else "file"


def _part_of(path: Path) -> dict[str, Any]:
    import base64
    import mimetypes

    try:
        data = base64.b64encode(_bytes_of(path.expanduser())).decode()
    except (OSError, ValueError, RuntimeError) as error:
        why = error.strerror if isinstance(error, OSError) else None
        message = f"{str(path)!r} cannot be read: {why or error}".rstrip(".") + "."
        raise AgentConfigurationError(message) from error
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    url = f"data:{kind};base64,{data}"
    if kind.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": url}}
    name = path.name.encode("utf-8", "replace").decode()  # it may be no text at all
    return {"type": "file", "file": {"filename": name, "file_data": url}}


def _bytes_of(path: Path) -> bytes:
    """Read a regular file; anything else might never end, or not even begin."""
    _check_file(path.stat())
    # It may be another one by now: a pipe must not be waited for either.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags), "rb") as file:
        _check_file(os.fstat(file.fileno()))
        # It may grow, or not know its size; None is one that has nothing to give yet.
        data: bytes | None = file.read(MOST_BYTES + 1)
    if data is None:
        raise BlockingIOError(_NOT_A_FILE)
    if len(data) > MOST_BYTES:
        raise OSError(_TOO_LARGE)
    return data


def _check_file(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError(_NOT_A_FILE)
    if status.st_size > MOST_BYTES:
        raise OSError(_TOO_LARGE)


_NOT_A_FILE = "it is no regular file"
_TOO_LARGE = f"a file of a message may have up to {MOST_BYTES // 10**6} MB"
