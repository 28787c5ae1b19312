"""Connections that never finish asking: they are closed after a while."""

from __future__ import annotations

import asyncio
from typing import Any

__all__ = ["with_deadline"]

ASK_SECONDS = 15.0
"""How long a client may take over the head of a request, its first one or a
later one of which it has sent a part."""


def with_deadline(protocol: type[Any]) -> type[Any]:
    """Make uvicorn's protocol close connections that take too long to ask.

    Parameters
    ----------
    protocol : type
        One of uvicorn's HTTP protocols.

    Returns
    -------
    type
        The same, with a clock that runs while no request is being answered.
    """
    return type("Deadlined", (_Deadline, protocol), {})


_Base: Any = asyncio.Protocol


class _Deadline(_Base):  # type: ignore[misc]  # comes before the protocol that it adds to
    _clock: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_clock()
        super().connection_lost(exc)

    def _watch(self) -> None:
        if _is_answering(self.cycle):
            self._stop_clock()
        elif self._clock is None:
            self._clock = self.loop.call_later(ASK_SECONDS, self._hang_up)

    def _stop_clock(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def _hang_up(self) -> None:
        self._clock = None
        if not _is_answering(self.cycle):
            self.transport.close()


def _is_answering(cycle: Any) -> bool:
    return cycle is not None and not cycle.response_complete
