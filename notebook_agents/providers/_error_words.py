"""What a service says in an error, whatever shape it gives to it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from notebook_agents.providers._google_errors import told_reasons, told_wait

__all__ = ["Words", "words_of"]

MOST_CHARACTERS = 20_000
"""What is looked at: an error that has something to say does so sooner."""
# Each is found, or not, without a look at the rest of the text for each "<".
_TAG = re.compile(r"(?s)<(script|style)\b.*?(?:</\1>|\Z)|<[^<>]*>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The parts of an error object.

    Parameters
    ----------
    message : str
        What it says in words, without what was sent where it repeats that.
    code, kind : str
        What it names the error; empty if it does not.
    param : str
        The part of the request that it is about; empty if it names none.
    wait_s : float, optional
        Seconds to wait, if it says so.
    """

    message: str
    code: str = ""
    kind: str = ""
    param: str = ""
    wait_s: float | None = None

    @property
    def all(self) -> str:
        """The words and names, in small letters."""
        return f"{self.code} {self.kind} {self.message}".lower()


def words_of(body: object) -> Words:
    """Find the parts of an error.

    Parameters
    ----------
    body : object
        The parsed body, or its text.

    Returns
    -------
    Words
        What it says; nothing where there is nothing to read.

    Examples
    --------
    >>> words_of({"error": {"message": "No.", "param": "top_k"}})
    Words(message='No.', code='', kind='', param='top_k', wait_s=None)
    """
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, Mapping):
        return Words(message=_plain(str(body or ""))[:MOST_CHARACTERS])
    inner = body.get("error") or body
    if not isinstance(inner, Mapping):
        return Words(message=_text(inner)[:MOST_CHARACTERS])
    message = _text(inner.get("message") or inner.get("detail") or inner.get("error"))
    extra = inner.get("metadata")
    if isinstance(extra, Mapping) and extra.get("raw"):
        message = f"{message}: {extra['raw']}"  # OpenRouter's upstream error
    return Words(
        message=message[:MOST_CHARACTERS],
        code=str(inner.get("code") or ""),
        kind=str(inner.get("type") or told_reasons(inner)),
        param=str(inner.get("param") or ""),
        wait_s=told_wait(inner),
    )


def _text(said: object) -> str:
    """Give what is said as text."""
    if isinstance(said, list):
        return "; ".join(map(_text, said))
    if not isinstance(said, Mapping):
        return str(said or "")
    if "msg" not in said:
        inner = said.get("message") or said.get("detail") or said.get("error")
        return _text(inner) if inner else str(said)
    # One of FastAPI's list. What it says was sent are no words of the service.
    place = said.get("loc")
    where = ".".join(map(str, place)) if isinstance(place, list) else ""
    return f"{where}: {said['msg']}" if where else str(said["msg"])


def _plain(text: str) -> str:
    """Give the words of a text that may be a web page."""
    if "<" in text:
        text = _TAG.sub(" ", text)
    return " ".join(text.split())
