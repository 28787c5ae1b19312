"""The options of every provider that talks to a service, and what they must be."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import TypedDict
from urllib.parse import urlsplit

from notebook_agents import checks
from notebook_agents.errors import AgentConfigurationError, ProviderSetupError
from notebook_agents.providers._connections import Verify, check_certificates
from notebook_agents.providers._failures import redact
from notebook_agents.providers._http import Client, Patience
from notebook_agents.providers._limits import Limits
from notebook_agents.spelling import refuse_option

__all__ = [
    "ConnectionOptions",
    "HttpOptions",
    "checked_headers",
    "checked_key",
    "normalized_url",
]

_GEMINI_PATH = re.compile(r"/models/[^/?]+:\w+$")
_QUOTES = frozenset("'\"\N{LEFT DOUBLE QUOTATION MARK}")
_HOST = re.compile(r"[\w-]+(\.[\w-]+)*(:\d+)?(/[\w./-]*)?$", re.ASCII)
SHORTEST_KEY = 8
WHOLE_NUMBERS = {
    "max_retries": 0,
    "max_concurrency": 1,
    "requests_per_minute": 1,
    "tokens_per_minute": 1,
}
"""Options that are whole numbers, and the least of each."""
SECRET_HEADERS = ("auth", "cookie", "key", "token", "secret")


class ConnectionOptions(TypedDict, total=False):
    """How to talk to a service."""

    connect_timeout: float
    """Seconds until connected, 10."""
    stall_timeout: float
    """Seconds between two bytes of a reply, 90."""
    max_retries: int
    """Further tries after one that failed before any text came, 3; 0 is one try."""
    max_concurrency: int | None
    """Most requests at the same time; by default there is no limit."""
    requests_per_minute: int | None
    """Most requests within any minute; by default there is no limit."""
    tokens_per_minute: int | None
    """Most tokens, read and written, within any minute; by default no limit."""
    extra_headers: Mapping[str, str]
    """More headers; they win."""
    http_client: Client | None
    """An ``httpx.AsyncClient`` to use, which is left open."""


class HttpOptions(ConnectionOptions, total=False):
    """Options of every provider that talks to a service."""

    timeout: float | None
    """Seconds for a whole reply; by default there is no limit."""
    verify: Verify
    """False, a path of certificates to trust, or an ``SSLContext``."""


def check_options(options: HttpOptions) -> None:
    """Refuse options that are unknown or cannot be.

    Parameters
    ----------
    options : HttpOptions
        What was passed.

    Raises
    ------
    UnknownOptionError
        If there is no option of that name.
    AgentConfigurationError
        If a value is out of its range, or names a file that is not there.
    """
    unknown = sorted(options.keys() - HttpOptions.__annotations__.keys())
    if unknown:
        refuse_option("A provider", unknown[0], list(HttpOptions.__annotations__))
    for name, least in WHOLE_NUMBERS.items():
        if (value := options.get(name)) is not None:
            checks.whole(name, value, least=least)
    for name in ("timeout", "connect_timeout", "stall_timeout"):
        value = options.get(name)
        if value is not None and value != math.inf:
            checks.seconds(name, value)
    client: object = options.get("http_client")
    if client is not None and not callable(getattr(client, "send", None)):
        checks.fail(f"http_client is {checks.shown(client)}, not an httpx.AsyncClient.")
    check_certificates(options.get("verify", True))


def patience_of(options: HttpOptions) -> Patience:
    """Give the time limits that options name."""
    usual = Patience()
    return Patience(
        total=options.get("timeout"),
        connect=options.get("connect_timeout") or usual.connect,
        stall=options.get("stall_timeout") or usual.stall,
    )


def limits_of(options: HttpOptions, *, url: str, model: str) -> Limits | None:
    """Give the limits that options set for asking a model; None for none."""
    limits = Limits(
        url=url,
        model=model,
        concurrency=options.get("max_concurrency"),
        requests=options.get("requests_per_minute"),
        tokens=options.get("tokens_per_minute"),
    )
    return limits if limits.has_any else None


def normalized_url(url: str, *, secrets: Iterable[str] = ()) -> str:
    """Give a base URL without what people paste along with it.

    Parameters
    ----------
    url : str
        As the user wrote it.
    secrets : iterable of str
        What an error must not show of it.

    Returns
    -------
    str
        Without a slash at the end or the path of a request.

    Raises
    ------
    AgentConfigurationError
        If it is no HTTP URL, or holds a password or a query.

    Examples
    --------
    >>> normalized_url("http://localhost:8000/v1/chat/completions")
    'http://localhost:8000/v1'
    """
    checks.text("base_url", url)
    url = url.strip().rstrip("/")
    for path in ("/chat/completions", "/messages", "/responses"):
        url = url.removesuffix(path).rstrip("/")
    url = _GEMINI_PATH.sub("", url)
    try:
        parts = urlsplit(url)
        has_host = parts.scheme in {"http", "https"} and bool(parts.hostname)
        _ = parts.port  # raises if it is no number
    except ValueError:
        has_host = False
    if not has_host or not url.isprintable() or " " in url:
        shown = redact(url.rpartition("@")[2].partition("?")[0], secrets)
        meant = f" Did you mean 'http://{shown}'?" if _HOST.match(shown) else ""
        message = (
            f"{shown!r} is no base URL; one looks like 'http://localhost:8000/v1'."
            f"{meant}"
        )
        raise AgentConfigurationError(message)
    if "@" in parts.netloc:
        message = (
            f"The base URL of {parts.hostname} holds a password. Pass it as "
            "extra_headers={'Authorization': ...} instead."
        )
        raise AgentConfigurationError(message)
    if parts.query or parts.fragment:
        message = (
            f"The base URL of {parts.hostname} ends in a query, which may hold a key. "
            "Leave it out; a key is passed as api_key=."
        )
        if "api-version" in parts.query:
            message += (
                " At Azure, https://NAME.openai.azure.com/openai/v1 needs no version."
            )
        raise AgentConfigurationError(message)
    return url


def checked_key(key: str | None, provider: str, *, least: int = 1) -> str:
    """Give a key without the blanks around it.

    Parameters
    ----------
    key : str or None
        As it was set.
    provider : str
        Whose it is.
    least : int
        Characters of the shortest key there may be.

    Returns
    -------
    str
        The key; empty if there is none.

    Raises
    ------
    ProviderSetupError
        If it cannot be a key. The message does not show it.
    """
    given: object = key
    if not isinstance(given, str | None):
        message = f"The API key for {provider!r} is not text."
        raise ProviderSetupError(message)
    key = (key or "").strip()
    if key[:1] in _QUOTES:
        message = f"The API key for {provider!r} has quotation marks around it."
        raise ProviderSetupError(message)
    if key and len(key) < least:
        message = f"The API key for {provider!r} is too short to be one."
        raise ProviderSetupError(message)
    # An HTTP library would repeat the whole key in its complaint.
    if not key.isascii() or not key.isprintable() or " " in key:
        message = (
            f"The API key for {provider!r} holds characters that no key has. "
            "Copy it again."
        )
        raise ProviderSetupError(message)
    return key


def checked_headers(headers: Mapping[str, str] | None) -> dict[str, str]:
    """Give headers that can be sent; a refusal does not show their values."""
    given: object = headers
    if not isinstance(given, Mapping | None):
        message = (
            f"extra_headers is a dict of names and values, not {type(given).__name__}."
        )
        raise AgentConfigurationError(message)
    for name, value in (given or {}).items():
        line = f"{name}{value}"
        if not (isinstance(value, str) and line.isprintable() and line.isascii()):
            message = (
                f"The header {name!r} of extra_headers cannot be sent: it must be "
                "one line of ASCII."
            )
            raise AgentConfigurationError(message)
    return dict(headers or {})


def secrets_in(headers: Mapping[str, str]) -> list[str]:
    """Find the values of headers that no text may show."""
    found = []
    for name, value in headers.items():
        if any(word in name.lower() for word in SECRET_HEADERS):
            found += [value, value.partition(" ")[2]]  # "Bearer KEY" and "KEY"
    return found
