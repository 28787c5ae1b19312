"""Which targets a link may have, and how text is written so that it is only text."""

from __future__ import annotations

import html
import re
from urllib.parse import quote

__all__ = [
    "ESCAPED",
    "LINK_TARGET",
    "LOCAL_IMAGE",
    "character_references",
    "code_html",
    "label_key",
    "safe_url",
]

_URL_CHARACTERS = r"(?:[A-Za-z0-9\-._~/:?#@=+,;%!]|&amp;)*"
LINK_TARGET = rf"(?:https?://|mailto:|(?!//)(?![^/?#):]*:)){_URL_CHARACTERS}\)"
"""Pattern of what may stand between ``](`` and ``)``, with the ``)``."""
LOCAL_IMAGE = r"(?![./]*/)[A-Za-z0-9_%./\-]+\.(?:png|jpe?g|gif|webp)\)"
"""Pattern of an image beside the notebook, with the closing ``)``."""
ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
"""Pattern of a backslash escape."""

_IGNORED_IN_URLS = re.compile(
    r"[\x00-\x20\x7f-\xa0\xad\u2000-\u200f\u2028-\u202f\u205f-\u206f\ufeff]"
)
_SCHEME = re.compile(r"([^/?#:]*):")
_MARKUP = {
    ord(character): f"&#{ord(character)};"
    for character in "\n\t&<>\"'`*_[](){}$@\\!|~:#^."
}


def character_references(text: str) -> str:
    """Write text so that no Markdown parser finds markup in it."""
    return text.translate(_MARKUP)


def code_html(code: str, *, block: bool = False) -> str:
    """Give code as one line of HTML, which is read alike inside any block."""
    inner = f"<code>{character_references(code)}</code>"
    return f"<pre>{inner}</pre>" if block else inner


def safe_url(target: str) -> str | None:
    """Check a link target.

    Parameters
    ----------
    target : str
        As written in Markdown, with entities and backslash escapes.

    Returns
    -------
    str or None
        The target in a form without any character that means something in
        Markdown, HTML or mathematics; None if it must not be followed.

    Examples
    --------
    >>> safe_url("https://example.org/a b")
    'https://example.org/ab'
    >>> safe_url("java&Tab;script:alert(1)") is None
    True
    """
    url = ESCAPED.sub(r"\1", html.unescape(target))
    url = _IGNORED_IN_URLS.sub("", url)
    if url.startswith("//"):
        url = f"https:{url}"
    scheme = _SCHEME.match(url)
    if scheme and not re.match(r"https?://|mailto:", url, re.IGNORECASE):
        return None
    if scheme:
        url = scheme[0].lower() + url[scheme.end() :]
    url = quote(url, safe="-._~/:?#@=+,;%!&", errors="replace")
    return url.replace("@@", "%40%40").replace("&", "&amp;")


def label_key(label: str) -> str:
    """Give the form in which reference labels are compared."""
    return " ".join(label.casefold().split())
