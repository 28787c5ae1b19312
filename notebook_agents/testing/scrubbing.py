"""`Scrubber`: takes keys out of what is written to a file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from notebook_agents.providers._failures import KEY_SHAPES, REDACTED, redact
from notebook_agents.providers._http_options import secrets_in
from notebook_agents.settings import get_settings

__all__ = ["Scrubber"]

SHORTEST = 8
"""Characters of the shortest value of the environment that is taken for a secret."""
_SECRET_VARIABLE = re.compile(r"(?i)key|token|secret|passw|credential")
_SECRET_FIELD = re.compile(
    r"(?i)^(x-)?(goog-)?(api[-_]?)?key$|^(access|refresh|id|auth)?[-_]?token$"
    r"|secret|passw|authorization|credential"
)
_LOOKS_LIKE_A_KEY = re.compile(
    KEY_SHAPES + r"|(?i:\bbearer\s+)(?=[\w.~+/=-]*\d)[\w.~+/=-]{16,}"
)


class Scrubber:
    """Take keys out of texts, URLs and JSON values.

    What the environment holds under the name of a secret is known from the
    start; what looks like a key is taken out as well.
    """

    def __init__(self) -> None:
        self._secrets = set(get_settings().keys.values())
        self._secrets |= {
            value.strip()
            for name, value in os.environ.items()
            if _SECRET_VARIABLE.search(name) and _may_be_secret(value.strip())
        }

    def learn(self, headers: Mapping[str, str]) -> None:
        """Take note of the keys that a request is sent with."""
        self._secrets.update(secrets_in(headers))

    def text(self, text: str) -> str:
        """Give a text without keys."""
        # Also as they stand in a URL.
        known = {*self._secrets, *(quote(each, safe="") for each in self._secrets)}
        return _LOOKS_LIKE_A_KEY.sub(REDACTED, redact(text, known))

    def url(self, url: str) -> str:
        """Give a URL without keys, neither in its query nor elsewhere."""
        parts = urlsplit(url)
        query = [
            (name, REDACTED if _is_secret(name) or name == "sig" else value)
            for name, value in parse_qsl(parts.query, keep_blank_values=True)
        ]
        return self.text(parts._replace(query=urlencode(query, safe="[]")).geturl())

    def value(self, value: Any) -> Any:
        """Give a JSON value without keys."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {
                name: REDACTED
                if isinstance(inner, str) and _is_secret(name)
                else self.value(inner)
                for name, inner in value.items()
            }
        if isinstance(value, Iterable):
            return [self.value(inner) for inner in value]
        return value


def _is_secret(name: str) -> bool:
    return bool(_SECRET_FIELD.search(name))


def _may_be_secret(value: str) -> bool:
    # A plain word would be taken out of every text that it stands in.
    return len(value) >= SHORTEST and not value.isalpha()
