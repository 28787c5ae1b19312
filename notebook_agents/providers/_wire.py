"""`Wire`: what sends requests to one origin, whichever HTTP library is underneath."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

__all__ = ["KEEP_ALIVE_SECONDS", "Head", "Patience", "Proxy", "Wire"]

KEEP_ALIVE_SECONDS = 60.0
"""How long an idle connection is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long to wait for what.

    Parameters
    ----------
    total : float or None
        Seconds for a whole reply; None for no limit.
    connect : float
        Seconds until connected.
    stall : float
        Seconds between two bytes; those of a comment count too.
    """

    total: float | None = None
    connect: float = 10.0
    stall: float = 90.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxy:
    """What stands between here and a service.

    Parameters
    ----------
    url : str
        Where it is, without a password.
    user, password : str
        Who asks, empty if it does not matter.
    """

    url: str
    user: str = ""
    password: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The beginning of a reply, and how to get the rest.

    Parameters
    ----------
    status : int
        The status code.
    headers : mapping of str to str
        Names in lower case.
    body : async generator of bytes
        The body as it comes, not unpacked.
    close : callable
        Lets go of the connection: read to its end it is used again, else
        closed.
    """

    status: int
    headers: Mapping[str, str]
    body: AsyncGenerator[bytes, None]
    close: Callable[[], Awaitable[None]]


class Wire(Protocol):
    """What sends requests to one origin."""

    async def send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        patience: Patience,
    ) -> Head:
        """Send a request and wait for the head of its reply."""

    async def aclose(self) -> None:
        """Close all connections."""
