"""Checks of the names and keys in a `ServerConfig`, beside those of every setting.

A setting that guards a server must never be taken for something wider than
what was written, such as a text for the sequence of its characters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from notebook_agents.checks import fail, not_blank, text

__all__ = ["ENDPOINTS", "NEEDED"]

NEEDED = (
    "chat_endpoint",
    "conversations_endpoint",
    "health_endpoint",
    "info_endpoint",
)
"""Settings that are paths and cannot be switched off."""
ENDPOINTS = (*NEEDED, "docs_url", "redoc_url")
"""Settings that are paths."""
_TAKEN = ("/runs", "/approvals", "/openapi.json")
_PATH = re.compile(r"(?:/[\w.~!$&'()*+,;=:@-]+)+", re.ASCII)
_HOST = re.compile(r"(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*", re.ASCII)
_ORIGIN = re.compile(
    r"([a-z][a-z0-9+.-]*)://(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(\d{1,5}))?", re.ASCII
)
_WORD = re.compile(r"\*|[A-Za-z0-9!#$%&'*+.^_`|~-]+", re.ASCII)
_DEFAULT_PORTS = {"http": "80", "https": "443"}


def words(name: str, values: Sequence[str]) -> tuple[str, ...]:
    """Give names of methods or headers, if they are such."""
    for value in values:
        if not _WORD.fullmatch(value):
            fail(f"{name}: {value!r} is no name of a method or header.")
    return tuple(values)


def address(value: object) -> None:
    """Refuse what is no address to listen on, as far as that can be seen."""
    text("host", value)
    written = str(value)
    # Two colons and more are an address of IPv6.
    if "/" in written or written != written.strip() or written.count(":") == 1:
        fail(
            f"host is {written!r}; write an address or a name alone, as '127.0.0.1'. "
            "The port goes into port=."
        )


def host(name: str) -> str:
    """Give a name for ``allowed_hosts`` in lower case, if it is one."""
    known = name.lower().removesuffix(".")
    if known != "*" and not _HOST.fullmatch(known):
        fail(
            f"allowed_hosts: {name!r} is no name of a host. Write it without a "
            "scheme, a port or a path, as 'hub.example.org' or '*.example.org'."
        )
    return known


def origin(value: str) -> str:
    """Give an origin as a browser writes it, if it is one."""
    if value == "*":
        return value
    match = _ORIGIN.fullmatch(value.lower().removesuffix("/"))
    if match is None:
        fail(
            f"origins: {value!r} is no origin. Write a scheme, a host and maybe a "
            "port, without a path, as 'https://app.example.org'."
        )
    scheme, name, port = match.groups()
    if port in {None, _DEFAULT_PORTS.get(scheme)}:  # which browsers leave out
        return f"{scheme}://{name}"
    return f"{scheme}://{name}:{port}"


def paths(endpoints: Mapping[str, object]) -> None:
    """Refuse paths that are none, or that stand for two things."""
    taken = {path: f"the server's own {path}" for path in _TAKEN}
    for name, path in endpoints.items():
        if not isinstance(path, str) or not _PATH.fullmatch(path):
            fail(
                f"{name} is {path!r}; it must be a path such as "
                f"'/{name.partition('_')[0]}', without a slash at the end."
            )
        own = [path, f"{path}/stream"] if name == "chat_endpoint" else [path]
        for each in own:
            root = "/" + each.split("/")[1]
            other = taken.get(each) or taken.get(root if root in _TAKEN else "")
            if other is not None:
                fail(f"{name} is {path!r}, which clashes with {other}.")
            taken[each] = name


def keys(api_key: object, api_keys: object) -> None:
    """Refuse keys that no request could send, or that mean two things."""
    if not isinstance(api_keys, Mapping):
        fail("api_keys must map keys to users: {'key-of-ada': 'ada'}.")
    if api_key is not None:
        _key("api_key", api_key)
        if api_key in api_keys:
            fail("A key is both api_key and in api_keys: whose is it?")
    for key, user in api_keys.items():
        _key("A key in api_keys", key)
        not_blank("The user of a key in api_keys", user)


def _key(name: str, value: object) -> None:
    # Never shown: what is wrong may still be somebody's key.
    if not isinstance(value, str) or not value.strip():
        fail(f"{name} is blank, or no text.")
    try:
        value.encode("ascii")
    except UnicodeEncodeError:
        fail(f"{name} holds characters that are not ASCII: no header can carry it.")
    if value != value.strip() or not value.isprintable() or " " in value:
        fail(f"{name} holds a space or a control character: no header can carry it.")
