"""`no_network`: nothing but this machine can be reached."""

from __future__ import annotations

import ipaddress
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["NetworkAccessError", "no_network"]

_INTERNET = frozenset({socket.AF_INET, socket.AF_INET6})
_SENDING = {"connect": 0, "connect_ex": 0, "sendto": -1, "sendmsg": 3}
"""What sends, and which of its arguments is the address."""
_LOOKING_UP = ("getaddrinfo", "gethostbyname", "gethostbyname_ex")

_lock = threading.Lock()
_listening: list[list[str]] = []
"""Of each guard that is on, what was refused while no other was on within it."""
_undo: list[Callable[[], None]] = []


class NetworkAccessError(RuntimeError):
    """Something tried to leave this machine while `no_network` was on."""


@contextmanager
def no_network() -> Iterator[list[str]]:
    """Refuse to look up or to reach anything but this machine.

    Holds for every thread of the process, at the level of sockets, so it does not
    matter who tries. Not for other processes, nor for libraries that bring sockets
    of their own, such as uvloop; a proxy on this machine leads out of it.

    Yields
    ------
    list of str
        What was refused so far. Clear it, and nobody complains at the end.

    Raises
    ------
    NetworkAccessError
        Where somebody tries, and again at the end, if it was swallowed there.

    Examples
    --------
    >>> import socket
    >>> from notebook_agents.testing import NetworkAccessError, no_network
    >>> with no_network() as refused:
    ...     try:
    ...         socket.create_connection(("model.example", 443))
    ...     except NetworkAccessError as error:
    ...         refused.clear()
    ...         print(str(error).partition(".")[0])
    'model
    """
    refused: list[str] = []
    with _lock:
        if not _listening:
            _guard()
        _listening.append(refused)
    try:
        yield refused
    finally:
        with _lock:
            # Not "remove": another list may be equal.
            _listening[:] = [each for each in _listening if each is not refused]
            if not _listening:
                while _undo:
                    _undo.pop()()
    if refused:
        message = (
            f"The network was tried, and the refusal swallowed: {', '.join(refused)}."
        )
        raise NetworkAccessError(message)


def _guard() -> None:
    for name in _SENDING:
        if hasattr(socket.socket, name):  # Windows has no sendmsg
            _replace(socket.socket, name, _sending(name))
    for name in _LOOKING_UP:
        _replace(socket, name, _looking_up(name))


def _replace(owner: Any, name: str, guarded: Callable[..., Any]) -> None:
    is_own, original = name in vars(owner), getattr(owner, name)
    setattr(owner, name, guarded)
    if is_own:
        _undo.append(lambda: setattr(owner, name, original))
    else:  # inherited
        _undo.append(lambda: delattr(owner, name))


def _sending(name: str) -> Callable[..., Any]:
    original = getattr(socket.socket, name)

    def guarded(sock: socket.socket, *args: Any) -> Any:
        place = _SENDING[name]
        # It is missing where the socket is connected already.
        address = args[place] if len(args) > max(place, 0) else None
        if sock.family in _INTERNET and isinstance(address, tuple):
            _check(address[0], address)
        return original(sock, *args)

    return guarded


def _looking_up(name: str) -> Callable[..., Any]:
    original = getattr(socket, name)

    def guarded(host: Any, *args: Any, **kwargs: Any) -> Any:
        if host != socket.gethostname():  # its own name is not outside
            _check(host, host)
        return original(host, *args, **kwargs)

    return guarded


def _check(host: object, target: object) -> None:
    if _is_here(host):
        return
    if isinstance(target, bytes):
        target = target.decode("ascii", "replace")
    with _lock:
        for innermost in _listening[-1:]:  # what it puts up with is no one else's
            innermost.append(repr(target))
    message = (
        f"{target!r} is not this machine, and no_network() is on. A test can ask a "
        "ScriptedProvider, a wire_server, or a cassette that has been recorded."
    )
    raise NetworkAccessError(message)


def _is_here(host: object) -> bool:
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    if host is None or host in {"", "localhost"}:
        return True
    try:
        address = ipaddress.ip_address(str(host).partition("%")[0])
    except ValueError:
        return str(host).endswith(".localhost")
    mapped = getattr(address, "ipv4_mapped", None)
    # "Anywhere" is where a server listens.
    return address.is_unspecified or (mapped or address).is_loopback
