"""`Listener`: uvicorn, made to live in a thread of somebody else's process."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import uvicorn
from fastapi import FastAPI

from notebook_agents.server.config import ServerConfig
from notebook_agents.server.deadline import with_deadline

__all__ = ["Listener"]

CLOSE_SECONDS = 2
"""How long open connections may take to finish, after the runs have ended."""


class Listener(uvicorn.Server):
    """Accept requests on a socket that somebody else has bound.

    Parameters
    ----------
    app : FastAPI
        Who answers.
    config : ServerConfig
        How to serve.
    drain : callable
        Ends what is going on; awaited before connections are closed, while
        streams can still say goodbye.
    """

    def __init__(
        self,
        app: FastAPI,
        config: ServerConfig,
        drain: Callable[[], Awaitable[None]],
    ) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                log_config=None,  # uvicorn's own would print into cells
                log_level=None if config.log_level == "info" else config.log_level,
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
        self.port = 0
        self._sock: socket.socket | None = None
        self._drain = drain
        self.config.load()  # here, where a certificate may turn out to be missing
        protocol: Any = self.config.http_protocol_class
        self.config.http_protocol_class = with_deadline(protocol)

    def take(self, sock: socket.socket) -> None:
        """Take a socket to listen on, bound and listening."""
        self._sock, self.port = sock, sock.getsockname()[1]

    def share(self) -> socket.socket:
        """Give the same socket once more, for a server that takes over."""
        assert self._sock is not None  # noqa: S101 - it is listening
        return self._sock.dup()

    async def listen(self) -> None:
        """Serve until ``should_exit`` is set."""
        assert self._sock is not None  # noqa: S101 - taken before
        await self.serve(sockets=[self._sock])

    def ask_to_exit(self) -> None:
        """End soon, and give the port back now; callable from any thread."""
        if not self.should_exit:
            self._free_port()
        self.should_exit = True

    def _free_port(self) -> None:
        sock = self._sock
        if sys.platform == "win32" or sock is None or sock.fileno() < 0:
            return
        # The loop may be blocked, and does not expect its socket to be closed by
        # others: an unbound one takes its place. Done before the loop is told to
        # end, after which the number may be that of somebody else's file.
        with socket.socket() as unbound:
            os.dup2(unbound.fileno(), sock.fileno(), inheritable=False)

    def close(self) -> None:
        """Give the port back."""
        if self._sock is not None:
            self._sock.close()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept, and say so."""
        if self.should_exit:  # given up meanwhile: its socket has no port any more
            return
        await super().startup(sockets)
        self.is_settled.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more, end what is going on, then close connections."""
        for server in self.servers:
            server.close()
        await self._drain()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signal handlers of the process alone."""
        yield
