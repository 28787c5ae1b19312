"""`Replayed`: what has to be sent back to a service as it came, by the call it led to."""

from __future__ import annotations

from typing import TypeVar

__all__ = ["Replayed"]

V = TypeVar("V")

MOST = 256
"""Replies; one is needed only until the turn that it belongs to ends."""


class Replayed(dict[str, V]):
    """Parts of replies, by the identifier of the first call of the reply.

    The latest ones are kept; nobody says when a turn is over, or given up.
    """

    def keep(self, call_id: str, part: V) -> None:
        """Keep a part of a reply.

        Parameters
        ----------
        call_id : str
            Identifier of its first call.
        part : object
            What to send back with it.
        """
        self[call_id] = part
        while len(self) > MOST:
            self.pop(next(iter(self)), None)
