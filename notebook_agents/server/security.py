"""Who may call: the host, the origin, the key and the size of a request.

Each check is one ASGI layer over everything, so that a new route is guarded
without anybody thinking of it.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.routing import get_route_path  # type: ignore[attr-defined]  # the very rule of the router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from notebook_agents.server.config import CORSConfig, ServerConfig
from notebook_agents.server.failures import Refusal

__all__ = [
    "BearerAuth",
    "BodyLimit",
    "Caller",
    "CallerOf",
    "Credentials",
    "HostAndOrigin",
]

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(\d{1,5}))?", re.ASCII)
_PREFIX = re.compile(r"(?:/[\w.~@%-]+)+", re.ASCII)
_PORTS = {"http": "80", "https": "443"}
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_CALLER = "notebook_agents.caller"


# Who calls.


@dataclass(frozen=True, slots=True)
class Caller:
    """Whoever holds the key of a request.

    Parameters
    ----------
    user_id : str or None
        The user that the key belongs to; None where it may speak for any.
    """

    user_id: str | None = None

    def may_see(self, user_id: str) -> bool:
        """Tell whether what belongs to a user is for this caller."""
        return self.user_id is None or self.user_id == user_id


class Credentials:
    """The keys that open a server.

    Parameters
    ----------
    config : ServerConfig
        Where they are named; without any, the server is open.
    """

    def __init__(self, config: ServerConfig) -> None:
        self._callers = [
            (key.encode(), Caller(user)) for key, user in config.api_keys.items()
        ]
        if config.api_key is not None:
            self._callers.append((config.api_key.encode(), Caller()))

    def caller(self, authorization: str | None) -> Caller:
        """Find out who sends a request.

        Parameters
        ----------
        authorization : str or None
            The header of that name.

        Returns
        -------
        Caller
            Whose key it is.

        Raises
        ------
        Refusal
            401 without a key, 403 with a wrong one.
        """
        if not self._callers:
            return Caller()
        scheme, _, key = (authorization or "").partition(" ")
        if scheme.lower() != "bearer" or not key.strip():
            text = "This needs a key: send 'Authorization: Bearer <key>'."
            challenge = {"WWW-Authenticate": "Bearer"}
            raise Refusal(401, "Unauthorized", text, headers=challenge)
        given = key.strip().encode("latin-1")  # header text is latin-1
        found = None
        for known, caller in self._callers:  # all of them: the time tells nothing
            if hmac.compare_digest(given, known):
                found = caller
        if found is None:
            raise Refusal(403, "Forbidden", "The key is not right.")
        return found


async def _caller_of(request: Request) -> Caller:
    caller: Caller = request.scope[_CALLER]
    return caller


CallerOf = Annotated[Caller, Depends(_caller_of)]
"""A parameter of a route that says who calls."""


class BearerAuth:
    """Let in who has a key, and everybody to the open pages.

    Parameters
    ----------
    app : ASGI application
        What is guarded.
    credentials : Credentials
        The keys.
    open_paths : collection of str
        Paths that need none.
    """

    def __init__(
        self, app: ASGIApp, *, credentials: Credentials, open_paths: Collection[str]
    ) -> None:
        self._app = app
        self._credentials = credentials
        self._open_paths = frozenset(open_paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it before its body is read."""
        # The path as the routes see it, also where this is mounted in another app.
        if scope["type"] == "http" and get_route_path(scope) not in self._open_paths:
            try:
                header = Headers(scope=scope).get("authorization")
                scope[_CALLER] = self._credentials.caller(header)
            except Refusal as refusal:
                await refusal.failure.to_response()(scope, receive, send)
                return
        await self._app(scope, receive, send)


# Where the call comes from.


class HostAndOrigin:
    """Refuse requests that a foreign web page makes.

    A page whose name is made to point at this machine (DNS rebinding) shows
    in the ``Host`` header, any other foreign page in ``Origin``.

    Parameters
    ----------
    app : ASGI application
        What is guarded.
    config : ServerConfig
        Its hosts and its CORS rules.
    """

    def __init__(self, app: ASGIApp, *, config: ServerConfig) -> None:
        self._app = app
        self._cors = config.cors
        self._allowed_hosts = tuple(name.lower() for name in config.allowed_hosts)
        # Where the network is let in, a key is needed anyway, and only the
        # operator knows the names that lead here.
        self._checks_host = config.is_loopback or bool(self._allowed_hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            refusal = self._refusal(scope, headers)
            if refusal is not None:
                await refusal.failure.to_response()(scope, receive, send)
                return
            prefix = headers.get("x-forwarded-prefix", "").rstrip("/")
            if _PREFIX.fullmatch(prefix):
                # Behind jupyter-server-proxy, /docs must know where it is.
                scope["root_path"] = prefix + scope.get("root_path", "")
                scope["path"] = prefix + scope["path"]
        await self._app(scope, receive, send)

    def _refusal(self, scope: Scope, headers: Headers) -> Refusal | None:
        hosts = headers.getlist("host")
        if self._checks_host and (len(hosts) != 1 or not self._knows(hosts[0])):
            text = (
                "This server does not go by that name. Use its address, or list "
                "the name in ServerConfig(allowed_hosts=[...])."
            )
            return Refusal(421, "MisdirectedRequest", text)
        origin = headers.get("origin")
        if origin is None:
            is_foreign = headers.get("sec-fetch-site") == "cross-site"
            is_foreign = is_foreign and scope["method"] not in _READING
        else:
            is_foreign = not _is_same(origin, hosts) and not _allows(self._cors, origin)
        if is_foreign:
            text = (
                "Pages of other sites may not call this server; "
                "ServerConfig(cors=CORSConfig(origins=[...])) lets some in."
            )
            return Refusal(403, "ForeignOrigin", text)
        return None

    def _knows(self, host: str) -> bool:
        match = _HOST.fullmatch(host.lower())
        if match is None:
            return False
        name = match[1].strip("[]").removesuffix(".")
        if _is_address(name) or name == "localhost" or name.endswith(".localhost"):
            return True
        return any(_fits(name, pattern) for pattern in self._allowed_hosts)


def _is_address(name: str) -> bool:
    # No DNS answer can make a page's own name an address.
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _fits(name: str, pattern: str) -> bool:
    if pattern.startswith("*."):
        return name.endswith(pattern[1:])
    return pattern in {"*", name}


def _is_same(origin: str, hosts: Iterable[str]) -> bool:
    scheme, _, authority = origin.lower().partition("://")
    port = _PORTS.get(scheme, "")
    own = _with_port(authority, port)
    if not port or own is None:  # "null" too
        return False
    return any(_with_port(host, port) == own for host in hosts)


def _with_port(authority: str, default: str) -> tuple[str, str] | None:
    match = _HOST.fullmatch(authority.lower())
    return (match[1], match[2] or default) if match else None


def _allows(cors: CORSConfig | None, origin: str) -> bool:
    return cors is not None and cors.allows(origin)


# What the call brings.


class BodyLimit:
    """Refuse bodies that are too large, or that a plain form could send.

    Parameters
    ----------
    app : ASGI application
        What is guarded.
    most : int
        Bytes.
    """

    def __init__(self, app: ASGIApp, *, most: int) -> None:
        self._app = app
        self._most = most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, counting its bytes as they are read."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refusal = self._refusal(headers)
        if refusal is not None:
            await refusal.failure.to_response()(scope, receive, send)
            return
        read = 0

        async def counted() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > self._most:
                raise self._too_large()
            return message

        await self._app(scope, counted, send)

    def _refusal(self, headers: Headers) -> Refusal | None:
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self._most:
            return self._too_large()
        has_body = int(length) > 0 or "transfer-encoding" in headers
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if has_body and kind != "application/json":
            text = "The body must be JSON: send 'Content-Type: application/json'."
            return Refusal(415, "UnsupportedMediaType", text)
        return None

    def _too_large(self) -> Refusal:
        text = f"The body is larger than {self._most} bytes."
        return Refusal(413, "ContentTooLarge", text)
