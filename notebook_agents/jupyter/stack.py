"""Several outputs as one, where only one can still be shown."""

from __future__ import annotations

import html
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["stacked"]

Bundle = dict[str, Any]

_PICTURES = ("image/png", "image/jpeg", "image/gif")
_PRE = (
    '<pre style="font-family: var(--jp-code-font-family, monospace); margin: 0; '
    'white-space: pre-wrap">{}</pre>'
)


def stacked(bundles: Sequence[Mapping[str, Any]]) -> Bundle:
    r"""Put MIME bundles below each other.

    Parameters
    ----------
    bundles : sequence of mapping
        As they would have been displayed, one after the other.

    Returns
    -------
    dict
        A single one as it is, several as HTML and plain text.

    Examples
    --------
    >>> one, two = {"text/plain": "a"}, {"text/html": "<b>b</b>", "text/plain": "b"}
    >>> stacked([one, two])  # doctest: +ELLIPSIS
    {'text/html': '<pre ...>a</pre>\n<b>b</b>', 'text/plain': 'a\nb'}
    """
    if len(bundles) <= 1:
        return dict(bundles[0]) if bundles else {}
    return {
        "text/html": "\n".join(map(_html, bundles)),
        "text/plain": "\n".join(str(each.get("text/plain", "")) for each in bundles),
    }


def _html(bundle: Mapping[str, Any]) -> str:
    for mime in ("text/html", "image/svg+xml"):
        if mime in bundle:
            return str(bundle[mime])
    for mime in _PICTURES:
        if mime in bundle:
            return f'<img src="data:{mime};base64,{_base64(bundle[mime])}">'
    text = bundle.get("text/plain", bundle.get("text/markdown", ""))
    return _PRE.format(html.escape(str(text)))


def _base64(data: bytes | str) -> str:
    return b64encode(data).decode() if isinstance(data, bytes) else data.strip()
