"""`serve`: one call that puts an agent behind a web server."""

from __future__ import annotations

import secrets
import threading
from dataclasses import replace
from types import TracebackType
from typing import Any, Literal, Self

from notebook_agents.agent import Agent
from notebook_agents.approval import PendingApproval
from notebook_agents.hosts import current_host
from notebook_agents.memory.store import MemoryStore, checked_store
from notebook_agents.server.config import ServerConfig
from notebook_agents.server.lifecycle import (
    AgentServer,
    checked_agent,
    checked_config,
    chosen_store,
    store_of,
)
from notebook_agents.server.panel import Panel
from notebook_agents.spelling import by_name

__all__ = ["ServerHandle", "serve"]

Approvals = Literal["wait", "deny"]

DEFAULT_USER = "notebook"
TOKEN_BYTES = 32

_handles: dict[str, ServerHandle] = {}
_lock = threading.RLock()


@by_name
def serve(
    agent: Agent,
    *,
    port: int | None = None,
    host: str | None = None,
    config: ServerConfig | None = None,
    approvals: Approvals | None = None,
    store: MemoryStore | None = None,
) -> ServerHandle:
    """Serve an agent over HTTP while the notebook goes on.

    The server listens on this machine only, on a free port, and needs a token
    that is made at random. Calling `serve` again for an agent of the same
    name swaps the agent and gives the same handle: address and token stay.

    Parameters
    ----------
    agent : Agent
        Who answers.
    port : int, optional
        Port to listen on; another one moves a running server. Left out, the
        one of ``config``, or a free one.
    host : str, optional
        Address to listen on, this machine's loopback by default; with
        ``"0.0.0.0"`` other machines reach it, too.
    config : ServerConfig, optional
        Everything else.
    approvals : {"wait", "deny"}, optional
        What becomes of a call that needs consent. Left out, it waits for a
        decision in an interactive kernel, and is denied elsewhere.
    store : MemoryStore, optional
        Where conversations are kept. Left out, it is the store of the memory
        that the agent was given; a swap to an agent that was given none keeps
        the store that is there.

    Returns
    -------
    ServerHandle
        Has the ``url`` and the ``token``, and stops the server.

    Raises
    ------
    OSError
        If the port is taken.
    AgentConfigurationError
        If a setting cannot be right, or the ``server`` extra is missing.

    Examples
    --------
    >>> import httpx
    >>> from notebook_agents import Agent, ScriptedProvider
    >>> server = serve(Agent(ScriptedProvider(["Hello!"]), name="greeter"))
    >>> answer = httpx.post(
    ...     f"{server.url}/chat",
    ...     headers={"Authorization": f"Bearer {server.token}"},
    ...     json={"message": "Hi"},
    ... )
    >>> answer.json()["response"]
    'Hello!'
    >>> server.stop()
    """
    checked_agent(agent)
    checked_config(config)
    if store is not None:
        checked_store(store)
    with _lock:
        handle = _handles.get(agent.name)
        given = config or (handle.config if handle else ServerConfig(port=0))
        token = given.api_key or (handle.token if handle else _new_token())
        wanted = replace(
            given,
            host=given.host if host is None else host,
            port=given.port if port is None else port,
            api_key=token,
            default_user_id=given.default_user_id or DEFAULT_USER,
            approvals=approvals or given.approvals or _default_approvals(),
        )
        if handle is None:
            kept = store_of(agent) if store is None else store
            handle = ServerHandle(agent, wanted, kept)
            handle._start()  # noqa: SLF001 - same module
            _handles[agent.name] = handle
        else:
            chosen = chosen_store(agent) if store is None else store
            handle._change(agent, wanted, chosen)  # noqa: SLF001 - same module
        return handle


class ServerHandle:
    """A served agent, as `serve` gives it.

    Parameters
    ----------
    agent : Agent
        Who answers.
    config : ServerConfig
        How it is served; has a key.
    store : MemoryStore
        Where conversations are kept.
    """

    def __init__(self, agent: Agent, config: ServerConfig, store: MemoryStore) -> None:
        self._server = AgentServer(agent, config, store=store)

    def __repr__(self) -> str:
        state = f"at {self.url}" if self.is_running else "stopped"
        return f"<ServerHandle of agent {self.agent.name!r}: {state}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def agent(self) -> Agent:
        """Who answers."""
        return self._server.agent

    @property
    def config(self) -> ServerConfig:
        """How it is served."""
        return self._server.config

    @property
    def is_running(self) -> bool:
        """Whether requests are accepted."""
        return self._server.is_running

    @property
    def url(self) -> str:
        """Where this machine reaches it."""
        return self._server.url

    @property
    def network_url(self) -> str | None:
        """Where other machines reach it; None if they do not."""
        return self._server.network_url

    @property
    def port(self) -> int:
        """The port it listens on."""
        return self._server.effective_port

    @property
    def token(self) -> str:
        """The key that requests need; shown nowhere else."""
        return self.config.api_key or ""

    @property
    def approvals(self) -> list[PendingApproval]:
        """The calls that wait for a decision; ``decide`` answers one."""
        if not self.is_running:
            return []
        runs = self._server.service.runs.active
        return [pending for served in runs for pending in served.run.approvals]

    def stop(self) -> None:
        """Stop serving and free the port; doing it twice does no harm."""
        self._server.halt()

    def _start(self) -> None:
        self._server.launch()

    def _change(
        self, agent: Agent, wanted: ServerConfig, store: MemoryStore | None
    ) -> None:
        """Swap the agent; start anew only where something else is different."""
        before, port = self._server, self.port
        is_here = self.is_running and wanted.port in {0, port}
        here = replace(wanted, port=self.config.port)
        kept = before.store if store is None else store
        if is_here and here == self.config:
            before.swap(agent, kept)
            return
        server = AgentServer(agent, wanted, store=kept)
        server.prepare()
        if is_here and wanted.host != self.config.host:
            # Two addresses that share a port may overlap: first the one, then
            # the other.
            before.halt()
            try:
                server.launch(port=port)
            except BaseException:
                before.launch(port=port)
                raise
        else:
            server.launch(successor_of=before if is_here else None)
        self._server = server
        before.halt()

    def _panel(self) -> Panel:
        config = self.config
        agent = self.agent
        may_ask = agent.asking.may_ask(agent.tools.values(), agent.policy)
        return Panel(
            agent=self.agent.name,
            url=self.url,
            network_url=self.network_url,
            is_open=not config.is_loopback,
            is_running=self.is_running,
            chat_endpoint=config.chat_endpoint,
            docs_url=config.docs_url,
            approvals=(config.approvals or "deny") if may_ask else None,
        )

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        panel = self._panel()
        return {"text/plain": panel.text(), "text/html": panel.to_html()}


def _new_token() -> str:
    return secrets.token_urlsafe(TOKEN_BYTES)


def _default_approvals() -> Approvals:
    """Let calls wait only where a person is there to answer."""
    if current_host() is None:
        return "deny"
    from notebook_agents.jupyter.kernel import can_ask_stdin

    return "wait" if can_ask_stdin() else "deny"
