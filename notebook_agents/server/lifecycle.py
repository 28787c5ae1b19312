"""`AgentServer`: a web server on a thread of its own, beside the notebook."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import logging
import os
import socket
import sys
import threading
import weakref
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from notebook_agents import checks
from notebook_agents._optional import require
from notebook_agents.agent import Agent
from notebook_agents.checks import shown
from notebook_agents.errors import NotebookAgentsError, ServerStartError
from notebook_agents.memory.in_memory import InMemoryStore, UnaskedSession
from notebook_agents.memory.store import MemorySession, MemoryStore, checked_store
from notebook_agents.server.addresses import is_everywhere, seen_by_others, to_url
from notebook_agents.server.config import ServerConfig
from notebook_agents.server.logs import logger, redacted_logs
from notebook_agents.server.own_loop import run_on_own_loop
from notebook_agents.settings import get_settings
from notebook_agents.spelling import by_name

if TYPE_CHECKING:
    from fastapi import FastAPI

    from notebook_agents.server.listener import Listener
    from notebook_agents.server.service import Service

__all__ = ["AgentServer"]

START_SECONDS = 20.0
STOP_SECONDS = 9.0
"""More than draining and closing connections may take together."""
STUCK = (
    "the server was stopped and its port is free, but its thread goes on: something "
    "blocks it, perhaps a tool without await, at %s"
)

_listeners: weakref.WeakSet[Listener] = weakref.WeakSet()


def _let_go_after_fork() -> None:
    # A child, such as a worker of a pool, would hold the port after a stop, and
    # swallow connections that nobody in it accepts.
    for listener in _listeners:
        listener.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go_after_fork)


def checked_agent(agent: object) -> Agent:
    """Give an agent back, if it is one that can be served."""
    if not isinstance(agent, Agent):
        checks.fail(f"An agent is served, as in serve(Agent(...)), not {shown(agent)}.")
    return agent


def checked_config(config: object) -> ServerConfig:
    """Give a configuration back, if it is one; the usual one for None."""
    if config is None:
        return ServerConfig()
    if not isinstance(config, ServerConfig):
        checks.fail(f"config is {shown(config)}; pass ServerConfig(...).")
    return config


def store_of(agent: Agent) -> MemoryStore:
    """Give the store of an agent's own conversation, or one in this process."""
    memory = agent.memory
    return memory.store if isinstance(memory, MemorySession) else InMemoryStore()


def chosen_store(agent: Agent) -> MemoryStore | None:
    """Give the store of the memory that an agent was given, if it was given one."""
    memory = agent.memory
    if isinstance(memory, UnaskedSession) or not isinstance(memory, MemorySession):
        return None
    return memory.store


@by_name
class AgentServer:
    """Serve an agent from a background thread with a loop of its own.

    A busy notebook does not slow it down, and it never touches the signal
    handlers of the process.

    Parameters
    ----------
    agent : Agent
        Who answers.
    config : ServerConfig, optional
        How to serve it.
    store : MemoryStore, optional
        Where conversations are kept; the agent's own store when left out, else
        this process. It outlives a stop.

    Examples
    --------
    >>> import asyncio
    >>> from notebook_agents import Agent, ScriptedProvider
    >>> async def try_it():
    ...     server = AgentServer(Agent(ScriptedProvider([])), ServerConfig(port=0))
    ...     await server.start()
    ...     was_running = server.is_running
    ...     await server.stop()
    ...     return was_running, server.is_running
    >>> asyncio.run(try_it())
    (True, False)
    """

    def __init__(
        self,
        agent: Agent,
        config: ServerConfig | None = None,
        *,
        store: MemoryStore | None = None,
    ) -> None:
        self.config = checked_config(config)
        self._agent = checked_agent(agent)
        self._store = store_of(agent) if store is None else checked_store(store)
        self._lock = threading.Lock()
        self._service: Service | None = None
        self._app: FastAPI | None = None
        self._listener: Listener | None = None
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    def __repr__(self) -> str:
        state = f"at {self.url}" if self.is_running else "stopped"
        return f"<AgentServer of {self._agent.name!r}: {state}>"

    @property
    def agent(self) -> Agent:
        """Who answers; setting it swaps the agent, and running turns keep theirs."""
        return self._agent

    @agent.setter
    def agent(self, agent: Agent) -> None:
        self._agent = checked_agent(agent)
        if self._service is not None:
            self._service.agent = agent

    @property
    def store(self) -> MemoryStore:
        """Where conversations are kept."""
        return self._store

    def swap(self, agent: Agent, store: MemoryStore) -> None:
        """Answer with another agent, and keep conversations in another store.

        Turns that go on keep theirs.
        """
        self.agent, self._store = agent, store
        if self._service is not None:
            self._service.store = store

    @property
    def app(self) -> FastAPI:
        """The web application, made anew at each start."""
        if self._app is None:
            message = "There is no app before the server has been started."
            raise RuntimeError(message)
        return self._app

    @property
    def service(self) -> Service:
        """What the routes share: the runs and their open questions."""
        if self._service is None:
            message = "There is no service before the server has been started."
            raise RuntimeError(message)
        return self._service

    @property
    def is_running(self) -> bool:
        """Whether requests are accepted."""
        listener, thread = self._listener, self._thread
        if listener is None or thread is None:
            return False
        return listener.started and not listener.should_exit and thread.is_alive()

    @property
    def effective_port(self) -> int:
        """The port it listens on; before a start, the one that is configured."""
        if self._listener is not None and self.is_running:
            return self._listener.port
        return self.config.port

    @property
    def url(self) -> str:
        """Where this machine reaches it."""
        host = self.config.host
        if is_everywhere(host):
            host = "127.0.0.1"
        return to_url(self.config.scheme, host, self.effective_port)

    @property
    def network_url(self) -> str | None:
        """Where other machines reach it; None if they do not."""
        host = seen_by_others(self.config.host)
        if host is None:
            return None
        return to_url(self.config.scheme, host, self.effective_port)

    async def start(self) -> None:
        """Start, and return when requests are accepted.

        Raises
        ------
        OSError
            If the port is taken.
        RuntimeError
            If it is running already.
        ServerStartError
            If it does not come up.
        MissingExtraError
            If FastAPI or uvicorn is not installed.
        """
        await asyncio.to_thread(self.launch)

    async def stop(self) -> None:
        """Stop: open streams get a last event, runs are cancelled, the port is free.

        Doing it twice does no harm.
        """
        await asyncio.to_thread(self.halt)

    def launch(
        self, *, successor_of: AgentServer | None = None, port: int | None = None
    ) -> None:
        """Do what `start` does, from sync code.

        Parameters
        ----------
        successor_of : AgentServer, optional
            A running server whose socket is taken over; it is to be stopped
            when this one is up.
        port : int, optional
            Instead of the configured one.

        Raises
        ------
        RuntimeError
            If it is running already.
        """
        with self._lock:
            if self.is_running:
                message = f"The server is already running at {self.url}."
                raise RuntimeError(message)
            if self._listener is None:
                self._set_up()
            listener = self._listener
            assert listener is not None  # noqa: S101 - made by `_set_up`
            try:
                listener.take(self._socket(successor_of, port))
                _listeners.add(listener)
                self._run(listener)
            except BaseException:
                # Also a Stop while it comes up: nobody would know of the thread.
                listener.ask_to_exit()
                self._listener = None
                raise
            atexit.register(self.halt)

    def prepare(self) -> None:
        """Do all of a `launch` that may fail without touching the port.

        Raises
        ------
        ServerStartError
            If the settings do not work, such as a certificate that is missing.
        """
        with self._lock:
            self._set_up()

    def halt(self) -> None:
        """Do what `stop` does, from sync code."""
        if threading.current_thread() is self._thread:
            # A tool or a route: waiting for oneself would never end.
            self._ask_to_exit()
            return
        with self._lock:
            self._ask_to_exit()
            if self._thread is not None:
                self._thread.join(STOP_SECONDS)
                if self._thread.is_alive():
                    logger.warning(STUCK, _place_of(self._thread))
            self._thread = self._listener = None
            atexit.unregister(self.halt)

    def _ask_to_exit(self) -> None:
        if self._listener is not None:
            self._listener.ask_to_exit()

    def _set_up(self) -> None:
        for module in ("fastapi", "uvicorn"):
            require(module, extra="server")
        from notebook_agents.server.app import build_app
        from notebook_agents.server.listener import Listener
        from notebook_agents.server.service import Service

        config = replace(self.config, approvals=self.config.approvals or "deny")
        self._service = Service(self._agent, config, self._store)
        self._app = build_app(self._service)
        try:
            self._listener = Listener(self._app, config, self._service.runs.drain)
        except (OSError, ValueError) as error:
            about = f" (with {config.ssl_certfile!r})" if config.ssl_certfile else ""
            message = f"The server did not come up{about}: {error!r}."
            raise ServerStartError(message) from error

    def _socket(
        self, predecessor: AgentServer | None, port: int | None
    ) -> socket.socket:
        if predecessor is not None and predecessor._listener is not None:  # noqa: SLF001 - same class
            return predecessor._listener.share()  # noqa: SLF001
        # Bound here: a taken port must be an error of the cell that asked,
        # and uvicorn would end the thread, or the process, over it.
        config = self.config
        return _bind(config.host, config.port if port is None else port, config.backlog)

    def _run(self, listener: Listener) -> None:
        self._error = None
        name = f"notebook-agents-server-{listener.port}"
        self._thread = threading.Thread(
            target=self._main, args=(listener,), name=name, daemon=True
        )
        self._thread.start()
        is_up = listener.is_settled.wait(START_SECONDS)
        if is_up and self.is_running:
            return
        if is_up:
            listener.close()
        cause = self._error if is_up else "it took too long"
        message = f"The server did not come up: {cause!r}."
        raise ServerStartError(message) from self._error

    def _main(self, listener: Listener) -> None:
        with redacted_logs(_secrets(self.config)):
            try:
                run_on_own_loop(listener.listen())
            except BaseException as error:  # noqa: BLE001 - SystemExit, from uvicorn
                self._error = error
                logger.log(logging.ERROR, "the server ended", exc_info=error)
            finally:
                listener.close()
                listener.is_settled.set()


def _bind(host: str, port: int, backlog: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        if sys.platform != "win32":  # there it would let two servers share a port
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        # Two sockets may be bound to a port, but only one may listen.
        sock.listen(backlog)
    except OSError as error:
        sock.close()
        advice = "Choose another port, or port=0 for a free one"
        if isinstance(error, socket.gaierror):
            advice = "host= is an address of this machine, or its name"
        message = f"cannot listen on {host}:{port}: {error.strerror or error}. {advice}"
        raise OSError(error.errno, message) from error
    return sock


def _place_of(thread: threading.Thread) -> str:
    """Say where a thread is, for whoever has to find what holds it."""
    frame = sys._current_frames().get(thread.ident or 0)  # noqa: SLF001 - the only way to ask
    if frame is None:
        return "an unknown place"
    code = frame.f_code
    return f"{code.co_qualname}, {code.co_filename}:{frame.f_lineno}"


def _secrets(config: ServerConfig) -> Iterator[str]:
    if config.api_key is not None:
        yield config.api_key
    yield from config.api_keys
    with contextlib.suppress(NotebookAgentsError):
        yield from get_settings().keys.values()
