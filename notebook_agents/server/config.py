"""What a server is told: `ServerConfig` and `CORSConfig`."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from notebook_agents import checks
from notebook_agents.errors import AgentConfigurationError
from notebook_agents.server import config_checks
from notebook_agents.spelling import by_name

__all__ = ["CORSConfig", "ServerConfig"]

LOG_LEVELS = ("critical", "error", "warning", "info", "debug", "trace")


@by_name
@dataclass(frozen=True, slots=True, kw_only=True)
class CORSConfig:
    """Which pages of other sites may call the server.

    Parameters
    ----------
    origins : sequence of str
        Such as ``"https://app.example.org"``, without a path; ``"*"`` is every
        site. Here and below, a single text is a sequence of one.
    allow_credentials : bool, default False
        Whether their cookies and keys may come along; needs named origins.
    allow_methods, allow_headers : sequence of str
        What they may send; ``"*"`` is everything.
    expose_headers : sequence of str
        Which response headers they may read.
    max_age : int, default 600
        Seconds for which a browser may remember this.

    Raises
    ------
    AgentConfigurationError
        If credentials are allowed to every site, or a value cannot be right.

    Examples
    --------
    >>> CORSConfig(origins=["https://app.example.org"]).allows("https://evil.example")
    False
    """

    origins: Sequence[str] = ("*",)
    allow_credentials: bool = False
    allow_methods: Sequence[str] = ("*",)
    allow_headers: Sequence[str] = ("*",)
    expose_headers: Sequence[str] = ()
    max_age: int = 600

    def __post_init__(self) -> None:
        origins = checks.texts("origins", self.origins)
        object.__setattr__(self, "origins", tuple(map(config_checks.origin, origins)))
        for name in ("allow_methods", "allow_headers", "expose_headers"):
            words = checks.texts(name, getattr(self, name))
            object.__setattr__(self, name, config_checks.words(name, words))
        checks.flag("allow_credentials", self.allow_credentials)
        checks.whole("max_age", self.max_age, least=0)
        if self.allow_credentials and "*" in self.origins:
            message = (
                "allow_credentials needs origins that are named: with '*' every "
                "site could act with the credentials of whoever visits it."
            )
            raise AgentConfigurationError(message)

    def allows(self, origin: str) -> bool:
        """Tell whether pages of an origin may call the server.

        Parameters
        ----------
        origin : str
            As a browser sends it.

        Returns
        -------
        bool
            Whether it is one of the named, or all are.
        """
        return "*" in self.origins or origin.lower() in self.origins


@by_name
@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """How to serve an agent.

    Parameters
    ----------
    host : str, default "127.0.0.1"
        Address to listen on; any other than the loopback needs a key.
    port : int, default 1453
        Port to listen on; 0 takes a free one.
    chat_endpoint, conversations_endpoint, health_endpoint, info_endpoint : str
        Paths.
    api_key : str, optional
        The key that every request but ``/health``, ``/info`` and the pages
        needs. Its holder may speak for any user.
    api_keys : mapping of str to str
        Keys of single users: ``{key: user_id}``.
    default_user_id : str, optional
        The user of a request that names none; left out, such a request is
        refused.
    request_timeout : float, default 120
        Seconds that a run may work; waiting for an approval does not count.
    max_message_length : int, default 32768
        Most characters of a message and its context.
    max_body_size : int, default 1048576
        Most bytes of a request's body.
    max_concurrent_runs : int, default 64
        Most runs that work, or wait for their turn, at the same time.
    max_waiting_runs : int, default 256
        Most runs that wait for an approval at the same time; they do not
        count as working. A call beyond it is denied.
    approvals : {"wait", "deny"}, optional
        What becomes of a call that needs consent: it waits for a decision,
        or is denied at once. Left out, it waits where `serve` is called in an
        interactive kernel.
    cors : CORSConfig, optional
        Which pages of other sites may call; none when left out.
    allowed_hosts : sequence of str
        Names in the ``Host`` header that are right besides addresses and
        ``localhost``; ``"*.example.org"`` fits any name below, ``"*"`` all.
        A single text is a sequence of one.
    sse_heartbeat_seconds : float or None, default 15
        Seconds of silence after which a stream sends a comment; None never.
    title, description, api_version : str
        What the documentation says.
    docs_url, redoc_url : str or None
        Paths of the documentation pages; None switches one off.
    ssl_certfile, ssl_keyfile : str, optional
        Files for TLS.
    log_level : str, default "info"
        Level of the web server's loggers; ``"info"`` leaves it to the
        ``logging`` of this process, which shows warnings unless told otherwise.
    backlog : int, default 2048
        Most connections that wait to be accepted.
    limit_concurrency : int, optional
        Most connections at the same time, idle ones included.
    timeout_keep_alive : int, default 5
        Seconds that an idle connection stays open.

    Raises
    ------
    AgentConfigurationError
        If a value cannot be right, or the server would be open to the network
        without a key.

    Examples
    --------
    >>> ServerConfig(port=0, api_keys={"k-7f3a": "ada"}).has_auth
    True
    """

    host: str = "127.0.0.1"
    port: int = 1453
    chat_endpoint: str = "/chat"
    conversations_endpoint: str = "/conversations"
    health_endpoint: str = "/health"
    info_endpoint: str = "/info"
    api_key: str | None = field(default=None, repr=False)
    api_keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    default_user_id: str | None = None
    request_timeout: float = 120.0
    max_message_length: int = 32_768
    max_body_size: int = 1024 * 1024
    max_concurrent_runs: int = 64
    max_waiting_runs: int = 256
    approvals: Literal["wait", "deny"] | None = None
    cors: CORSConfig | None = None
    allowed_hosts: Sequence[str] = ()
    sse_heartbeat_seconds: float | None = 15.0
    title: str = "Agent API"
    description: str = ""
    api_version: str = "1.0.0"
    docs_url: str | None = "/docs"
    redoc_url: str | None = None
    ssl_certfile: str | None = None
    ssl_keyfile: str | None = None
    log_level: str = "info"
    backlog: int = 2048
    limit_concurrency: int | None = None
    timeout_keep_alive: int = 5

    def __post_init__(self) -> None:
        hosts = checks.texts("allowed_hosts", self.allowed_hosts)
        object.__setattr__(self, "allowed_hosts", tuple(map(config_checks.host, hosts)))
        config_checks.keys(self.api_key, self.api_keys)
        # A copy: what is changed in it later would not have been checked.
        object.__setattr__(self, "api_keys", dict(self.api_keys))
        self._check_paths()
        self._check_numbers()
        self._check_texts()
        self._check_safety()

    def _check_paths(self) -> None:
        names = [
            name for name in config_checks.ENDPOINTS if getattr(self, name) is not None
        ]
        if not set(names) >= set(config_checks.NEEDED):
            message = f"{', '.join(config_checks.NEEDED)}: each of them needs a path."
            raise AgentConfigurationError(message)
        config_checks.paths({name: getattr(self, name) for name in names})

    def _check_numbers(self) -> None:
        checks.whole("port", self.port, least=0, most=65_535)
        for name in (
            "max_message_length",
            "max_body_size",
            "max_concurrent_runs",
            "max_waiting_runs",
            "backlog",
            "timeout_keep_alive",
        ):
            checks.whole(name, getattr(self, name), least=1)
        if self.limit_concurrency is not None:
            checks.whole("limit_concurrency", self.limit_concurrency, least=1)
        checks.seconds("request_timeout", self.request_timeout)
        if self.sse_heartbeat_seconds is not None:
            checks.seconds("sse_heartbeat_seconds", self.sse_heartbeat_seconds)

    def _check_texts(self) -> None:
        for name in ("title", "description", "api_version"):
            checks.text(name, getattr(self, name))
        config_checks.address(self.host)
        cors: object = self.cors
        if not isinstance(cors, CORSConfig | None):
            checks.fail(f"cors is {cors!r}; it must be a CORSConfig(origins=[...]).")
        for name in ("ssl_certfile", "ssl_keyfile"):
            if getattr(self, name) is not None:
                checks.not_blank(name, getattr(self, name))
        if self.default_user_id is not None:
            checks.not_blank("default_user_id", self.default_user_id)
        if self.approvals is not None:
            checks.choice("approvals", self.approvals, ("wait", "deny"))
        checks.choice("log_level", self.log_level, LOG_LEVELS)

    def _check_safety(self) -> None:
        if self.ssl_keyfile is not None and self.ssl_certfile is None:
            message = "ssl_keyfile needs ssl_certfile: without it there is no TLS."
            raise AgentConfigurationError(message)
        if not (self.has_auth or self.is_loopback):
            message = (
                f"Listening on {self.host!r} opens the agent and its tools to the "
                "network. Set api_key= or api_keys=, or keep host='127.0.0.1'."
            )
            raise AgentConfigurationError(message)

    @property
    def has_auth(self) -> bool:
        """Whether requests need a key."""
        return self.api_key is not None or bool(self.api_keys)

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def scheme(self) -> str:
        """``https`` with a certificate, else ``http``."""
        return "https" if self.ssl_certfile else "http"
