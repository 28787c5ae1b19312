"""`Listener`: uvicorn, made to live in a thread of somebody else's process."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator

import uvicorn
from fastapi import FastAPI

from notebook_agents.server.config import ServerConfig

__all__ = ["Listener"]

CLOSE_SECONDS = 5
"""How long open connections may take to finish, after the runs have ended."""


class Listener(uvicorn.Server):
    """Accept requests on a socket that is bound already.

    Parameters
    ----------
    app : FastAPI
        Who answers.
    config : ServerConfig
        How to serve.
    sock : socket
        Bound and listening.
    drain : callable
        Ends what is going on; awaited before connections are closed, while
        streams can still say goodbye.
    """

    def __init__(
        self,
        app: FastAPI,
        config: ServerConfig,
        sock: socket.socket,
        drain: Callable[[], Awaitable[None]],
    ) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                log_config=None,  # uvicorn's own would print into cells
                log_level=config.log_level,
                access_log=False,
                lifespan="off",
                ws="none",
                proxy_headers=False,
                server_header=False,
                backlog=config.backlog,
                limit_concurrency=config.limit_concurrency,
                timeout_keep_alive=config.timeout_keep_alive,
                timeout_graceful_shutdown=CLOSE_SECONDS,
                ssl_certfile=config.ssl_certfile,
                ssl_keyfile=config.ssl_keyfile,
            )
        )
        self.is_settled = threading.Event()
        """Set when it is up, or has failed."""
        self.port: int = sock.getsockname()[1]
        self._sock = sock
        self._drain = drain

    async def listen(self) -> None:
        """Serve until ``should_exit`` is set."""
        await self.serve(sockets=[self._sock])

    def close(self) -> None:
        """Give the port back."""
        self._sock.close()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept, and say so."""
        await super().startup(sockets)
        self.is_settled.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End what is going on, then close connections."""
        await self._drain()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signal handlers of the process alone."""
        yield
