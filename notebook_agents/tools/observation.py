"""What a returned value looks like: text for the model, MIME for a person."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias, TypeVar, cast

from notebook_agents.tools.summary import one_line, plain, repr_of, summarise

__all__ = [
    "MODEL_CHARACTERS",
    "bundle_of",
    "cut",
    "is_light",
    "shows_itself",
    "text_of",
]

MODEL_CHARACTERS = 6000
"""Longest observation that a model is shown, in characters."""
MOST_KEPT = 10
"""Parts of one value that are kept for later calls; the rest is told only."""
LIGHT_PARTS = 200
"""Parts of a value that is written in less time than another thread would take."""
LIGHT_CHARACTERS = 20_000
"""Characters of such a value."""
BUNDLE_CHARACTERS = 200_000
"""Longest single representation that is kept for people, in characters."""

T = TypeVar("T")
Keep: TypeAlias = Callable[[object], str | None]

_TEXTS = frozenset({str, bytes})
_GROUPS = frozenset({list, tuple, dict, set, frozenset})
_POINTS = frozenset({type(None), bool, float})
_WHOLE = "_repr_mimebundle_"
_METHODS = {
    "_repr_html_": "text/html",
    "_repr_markdown_": "text/markdown",
    "_repr_svg_": "image/svg+xml",
    "_repr_png_": "image/png",
    "_repr_jpeg_": "image/jpeg",
}


def text_of(value: object, keep: Keep | None = None) -> str:
    """Write a value as the model will read it, cut at 6,000 characters.

    Parameters
    ----------
    value : object
        What a tool returned. Text stays as it is, whatever JSON can hold
        becomes JSON, an object is described.
    keep : callable, optional
        Keeps an object that JSON cannot hold, and gives the name by which later
        calls can have it, or None if nobody would. Such an object is its ``repr``.

    Returns
    -------
    str
        Never longer than 6,000 characters and a note on what is missing.
    """
    value = plain(value)
    if value is None:
        return "Done; the tool returned nothing."
    return cut(value) if isinstance(value, str) else _json_of(value, keep)


def cut(text: str, *, is_all: bool = True) -> str:
    """Cut a text at 6,000 characters and say how much is missing."""
    if not text.isascii():
        # Half a character, as in a file name that is not UTF-8, cannot be sent.
        text = text.encode("utf-8", "replace").decode()
    if len(text) <= MODEL_CHARACTERS:
        return text
    least = "" if is_all else "more than "
    missing = f"{least}{len(text) - MODEL_CHARACTERS} more characters cut"
    return f"{text[:MODEL_CHARACTERS]}\n[... {missing}]"


def _json_of(value: object, keep: Keep | None) -> str:
    from pydantic_core import to_json

    objects, beginning = _Objects(value, keep), _Beginning()
    try:
        text = to_json(beginning.of(value), fallback=objects.write).decode()
    except Exception:  # noqa: BLE001 - parts of it are the user's and may do anything
        return cut(repr_of(value))
    if keep is None or not objects.is_whole:
        return cut(text, is_all=not beginning.is_cut)
    return cut(summarise(value, keep(value)))


class _Beginning:
    """As many parts of a value as could be shown of it, each in a character.

    A list may be huge, no other thread runs while it is written, and an iterator
    may never end.
    """

    def __init__(self) -> None:
        self.is_cut = False
        self._left = MODEL_CHARACTERS

    def of(self, value: object) -> Any:
        """Give the value, with what comes too late left out."""
        if type(value) is dict:
            return {key: self.of(part) for key, part in self._first(value.items())}
        if type(value) in _GROUPS or issubclass(type(value), Iterator):
            parts = cast("Iterable[object]", value)
            return [self.of(part) for part in self._first(parts)]
        return value

    def _first(self, parts: Iterable[T]) -> Iterator[T]:
        for part in parts:
            if not self._left:
                self.is_cut = True
                return
            self._left -= 1
            yield part


class _Objects:
    """Writes the parts of a value that JSON cannot hold."""

    def __init__(self, whole: object, keep: Keep | None) -> None:
        self.is_whole = False
        self._whole = whole
        self._keep = keep
        self._left = MOST_KEPT

    def write(self, part: object) -> Any:
        scalar = plain(part)
        if scalar is not part:
            return scalar
        if self._keep is None or is_of_python(part) or not self._left:
            return repr_of(part)
        if part is self._whole:
            self.is_whole = True
            return None
        name = self._keep(part)
        if name is None:
            return repr_of(part)
        self._left -= 1
        return one_line(part, name)


def is_of_python(value: object) -> bool:
    """Tell whether a value is of Python's own kinds, as a number or a function is."""
    return type(value).__module__ == "builtins"


def is_light(value: object) -> bool:
    """Tell whether a value is written at once, and none of it by the user's code.

    Parameters
    ----------
    value : object
        What a tool returned.

    Returns
    -------
    bool
        Whether it is a short text, a number, or a few of these together.
    """
    parts, characters, left = LIGHT_PARTS, LIGHT_CHARACTERS, [value]
    while left:
        part = left.pop()
        kind = type(part)
        if kind in _TEXTS:
            characters -= len(part)  # type: ignore[arg-type]  # a text
        elif kind is int:
            characters -= part.bit_length()  # type: ignore[attr-defined]  # an int
        elif kind in _GROUPS:
            parts -= len(part)  # type: ignore[arg-type]  # a group
            if parts < 0:
                return False
            left.extend(part)  # type: ignore[arg-type]  # a group
            if kind is dict:
                left.extend(part.values())  # type: ignore[attr-defined]  # a dict
        elif kind not in _POINTS:
            return False
    return characters >= 0


def shows_itself(value: object) -> bool:
    """Tell whether an object says how people see it, as a chart does."""
    kind = type(value)
    return any(hasattr(kind, name) for name in (_WHOLE, *_METHODS))


def bundle_of(value: object) -> dict[str, Any]:
    """Gather how a value wants to be shown, by MIME type.

    Parameters
    ----------
    value : object
        What a tool returned.

    Returns
    -------
    dict
        Empty for plain values; pictures as base64 text. A representation
        that fails or is longer than 200,000 characters is left out.
    """
    if value is None or isinstance(value, (str, int, float, bool, list, dict, tuple)):
        return {}
    found: dict[str, Any] = {}
    whole = _shown(value, _WHOLE)
    if isinstance(whole, tuple):
        whole = whole[0]
    if isinstance(whole, Mapping):
        found.update(whole)
    for method, mime in _METHODS.items():
        if mime not in found:
            shown = _shown(value, method)
            found[mime] = shown[0] if isinstance(shown, tuple) else shown
    texts = {mime: _as_text(data) for mime, data in found.items()}
    return {
        mime: text
        for mime, text in texts.items()
        if text is not None and len(text) <= BUNDLE_CHARACTERS
    }


def _shown(value: object, method: str) -> Any:
    show = getattr(type(value), method, None)
    if show is None:
        return None
    try:
        return show(value)
    except Exception:  # noqa: BLE001 - a broken repr must not break the run
        return None


def _as_text(data: object) -> str | None:
    if isinstance(data, bytes):
        from base64 import b64encode

        return b64encode(data).decode()
    return data if isinstance(data, str) else None
