"""`Replays`: what has to be sent back to a service as it came, with its reply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from notebook_agents.providers.deltas import ModelRequest

__all__ = ["Replays"]

V = TypeVar("V")


@dataclass(frozen=True, slots=True, eq=False)
class _Sealed(Generic[V]):
    """A part of a reply that only whoever sealed it may read."""

    part: V
    seal: object


class Replays(Generic[V]):
    """Seal what a provider wants back with its replies, and know it again.

    A part travels with its reply, as `ModelReply.replay`, and comes back in the
    requests of the same turn. Nothing is kept here: identifiers of calls, which
    many services begin anew with each reply, cannot lead to another conversation.
    """

    def __init__(self) -> None:
        self._seal = object()
        self._has_sealed = False

    def sealed(self, part: V) -> object:
        """Give a part of a reply as it travels with it.

        Parameters
        ----------
        part : object
            What to send back with the reply.

        Returns
        -------
        object
            For `ModelReply.replay`.
        """
        sealed = _Sealed(part, self._seal)
        self._has_sealed = True
        return sealed

    def opened(self, request: ModelRequest) -> dict[str, V]:
        """Give the parts that come back with a request.

        Parameters
        ----------
        request : ModelRequest
            What is asked.

        Returns
        -------
        dict
            Those sealed here, by the identifier of the first call of their reply.
        """
        return {
            call_id: each.part
            for call_id, each in request.replays.items()
            if isinstance(each, _Sealed) and each.seal is self._seal
        }

    def renounce(self) -> bool:
        """Know nothing again of what was sealed so far.

        Returns
        -------
        bool
            Whether there was anything.
        """
        self._seal = object()
        has_sealed, self._has_sealed = self._has_sealed, False
        return has_sealed
