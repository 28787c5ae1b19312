"""`TransportError`: no reply or not all of it, told apart by what lies underneath."""

from __future__ import annotations

import socket
import ssl
import zlib
from collections.abc import Iterator
from enum import StrEnum
from typing import Any

__all__ = ["TransportError", "Trouble", "transport_error"]


class Trouble(StrEnum):
    """What kept a reply away; the value is a few words for people."""

    REFUSED = "the connection was refused"
    DNS = "the host is not known"
    TLS = "no secure connection"
    CONNECT = "no connection"
    PROXY = "the proxy refused"
    CONNECT_TIMEOUT = "no connection in time"
    STALL = "no reply in time"
    DEADLINE = "the reply took too long"
    CUT = "the connection broke"
    OVERSIZED = "the reply is too large"
    PROTOCOL = "the reply is no HTTP"


class TransportError(Exception):
    """No reply, or not all of it.

    Parameters
    ----------
    kind : Trouble
        What happened.
    detail : str
        The words of whoever noticed.
    original : BaseException, optional
        The error of the operating system underneath.
    """

    def __init__(
        self, kind: Trouble, detail: str = "", original: BaseException | None = None
    ) -> None:
        super().__init__(kind)
        self.kind = kind
        self.detail = detail
        self.original = original


def transport_error(
    error: BaseException, *, is_reading: bool = False
) -> TransportError:
    """Say what an error of the HTTP library was.

    Parameters
    ----------
    error : BaseException
        What it raised.
    is_reading : bool
        Whether the reply had begun.

    Returns
    -------
    TransportError
        The same without anything of that library.

    Notes
    -----
    The class alone does not tell: a library may report a refused connection, a
    dropped one or a bad certificate alike. So the whole chain is looked at.
    """
    if isinstance(error, TransportError):
        return error
    causes = list(_causes(error))
    for kind, types in _BY_CAUSE:
        found = [cause for cause in causes if isinstance(cause, types)]
        if found:
            # Not aiohttp's, which is an OSError too but cannot be pickled.
            plain = [cause for cause in found if type(cause).__module__ in _STDLIB]
            original = plain[0] if plain else None
            return TransportError(kind, str(original or found[0]), original)
    names = {type(cause).__name__ for cause in causes}
    usual = Trouble.CUT if is_reading else Trouble.CONNECT
    kind = next((kind for kind, known in _BY_NAME if names & known), usual)
    if not is_reading and "RemoteProtocolError" in names:
        # Of httpcore and httpx, both for a server that went and for one that
        # speaks something else.
        went = "disconnected" in str(error)
        kind = Trouble.CUT if went else Trouble.PROTOCOL
    return TransportError(kind, str(error))


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Walk an error and everything underneath it."""
    waiting: list[Any] = [error]
    seen: set[int] = set()
    while waiting:
        cause = waiting.pop(0)
        if not isinstance(cause, BaseException) or id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        waiting += [cause.__cause__, cause.__context__]
        waiting.append(getattr(cause, "os_error", None))  # aiohttp
        if isinstance(cause, BaseExceptionGroup):  # anyio, one for each address
            waiting += cause.exceptions


_STDLIB = {"builtins", "ssl", "socket"}
_BY_CAUSE: tuple[tuple[Trouble, type[BaseException]], ...] = (
    (Trouble.TLS, ssl.SSLError),
    (Trouble.DNS, socket.gaierror),
    (Trouble.REFUSED, ConnectionRefusedError),
    (Trouble.CUT, ConnectionResetError),
    (Trouble.CUT, BrokenPipeError),
    (Trouble.PROTOCOL, zlib.error),
)
# Of httpcore and httpx, then of aiohttp.
_BY_NAME: tuple[tuple[Trouble, set[str]], ...] = (
    (Trouble.PROXY, {"ProxyError"}),
    (Trouble.PROXY, {"ClientProxyConnectionError", "ClientHttpProxyError"}),
    (Trouble.STALL, {"ReadTimeout", "WriteTimeout", "SocketTimeoutError"}),
    (Trouble.CUT, {"RemoteProtocolError", "ReadError", "WriteError", "CloseError"}),
    (Trouble.CUT, {"ServerDisconnectedError", "ClientPayloadError", "ClientOSError"}),
    (Trouble.CONNECT_TIMEOUT, {"ConnectionTimeoutError"}),
    (Trouble.CONNECT, {"ClientConnectorError", "ConnectError"}),
    (Trouble.CONNECT_TIMEOUT, {"ConnectTimeout", "PoolTimeout"}),
    (Trouble.PROTOCOL, {"UnsupportedProtocol", "LocalProtocolError", "InvalidURL"}),
    (Trouble.PROTOCOL, {"NonHttpUrlClientError", "InvalidUrlClientError"}),
    (Trouble.PROTOCOL, {"DecodingError", "HttpProcessingError", "BadStatusLine"}),
)
