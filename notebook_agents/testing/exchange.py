"""`Exchange`: one request to a service and its reply, as a cassette keeps them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import urlsplit

from notebook_agents.providers.discovery import is_loopback
from notebook_agents.testing.differing import differences
from notebook_agents.testing.scrubbing import Scrubber

__all__ = ["Exchange"]

_MADE_UP = re.compile(r"\bcall_[0-9a-f]{32}\b")
"""Identifiers that this package gives to calls whose service gave none."""


@dataclass(kw_only=True)
class Exchange:
    """One request and its reply, without keys.

    Parameters
    ----------
    method, url : str
        The request; of this machine's services without the port.
    body : object
        Its body, parsed if it is JSON.
    status : int
        Of the reply.
    headers : dict of str to str
        Of the reply, those that mean something.
    reply : list of str
        The body of the reply, in the pieces in which it came.
    is_broken : bool
        Whether the connection broke before its end.
    """

    method: str
    url: str
    body: Any = None
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    reply: list[str] = field(default_factory=list)
    is_broken: bool = False

    @classmethod
    def begun(
        cls, method: str, url: str, body: bytes | None, *, scrubber: Scrubber
    ) -> Self:
        """Write a request down, without keys."""
        return cls(
            method=method,
            url=scrubber.url(_without_port(url)),
            body=scrubber.value(_parsed(body)),
        )

    def unlike(self, asked: Exchange) -> list[str]:
        """Say how another request differs from this one; nothing if it does not."""
        return [
            *differences("method", self.method, asked.method),
            *differences("url", self.url, asked.url),
            *differences("body", self.body, asked.body),
        ]


def _without_port(url: str) -> str:
    """Leave out which port a server of this machine happened to get."""
    parts = urlsplit(url)
    if not is_loopback(parts.hostname):
        return url
    return parts._replace(netloc=str(parts.hostname)).geturl()


def _parsed(body: bytes | None) -> Any:
    """Read a body, with identifiers in it numbered that are new in each run."""
    if body is None:
        return None
    text = body.decode("utf-8", "replace")
    made_up = dict.fromkeys(_MADE_UP.findall(text))
    for number, identifier in enumerate(made_up, 1):
        text = text.replace(identifier, f"call_{number}")
    try:
        return json.loads(text)
    except ValueError:
        return text
