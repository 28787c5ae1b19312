"""Where a server is found: from this machine, and from others."""

from __future__ import annotations

import _socket
import contextlib
import ipaddress
import socket

__all__ = ["is_everywhere", "seen_by_others", "to_url"]

EVERYWHERE = {"", "0.0.0.0", "::"}  # noqa: S104 - compared, not bound
# Of a range that is nobody's. Choosing the way there sends nothing.
_ELSEWHERE = {
    socket.AF_INET: ("192.0.2.1", 9),
    socket.AF_INET6: ("2001:db8::1", 9),
}


def is_everywhere(host: str) -> bool:
    """Tell whether an address to listen on stands for all of this machine."""
    return host in EVERYWHERE


def to_url(scheme: str, host: str, port: int) -> str:
    """Write an address as a URL."""
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def seen_by_others(host: str) -> str | None:
    """Give the address under which other machines find a server.

    Parameters
    ----------
    host : str
        What it listens on.

    Returns
    -------
    str or None
        None if only this machine finds it, or there is no network.
    """
    if is_everywhere(host):
        family = socket.AF_INET6 if host == "::" else socket.AF_INET
        found = _own_address(family) or _own_address(socket.AF_INET)
        return found if found and not _is_loopback(found) else None
    return None if host == "localhost" or _is_loopback(host) else host


def _own_address(family: socket.AddressFamily) -> str | None:
    try:
        # The plain kind, of which `no_network` knows nothing: nothing is sent.
        with contextlib.closing(_socket.socket(family, socket.SOCK_DGRAM)) as sock:
            sock.connect(_ELSEWHERE[family])
            address: str = sock.getsockname()[0]
            return address
    except OSError:
        return None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
