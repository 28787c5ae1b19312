"""Fixtures for tests of serving: real servers on the loopback."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from notebook_agents import Agent
from notebook_agents.server import ServerConfig, ServerHandle, handle, serve
from tests.server.support import Caller


@pytest.fixture(autouse=True)
def _no_server_stays() -> Iterator[None]:
    """Stop every server of a test and forget it."""
    yield
    for each in list(handle._handles.values()):
        each.stop()
    handle._handles.clear()


@pytest.fixture
def callers() -> Iterator[list[Caller]]:
    """Close every client at the end."""
    made: list[Caller] = []
    yield made
    for each in made:
        each.http.close()


@pytest.fixture
def caller_of(callers: list[Caller]) -> Callable[..., Caller]:
    """Give a function that makes a client of a server."""

    def make(server: ServerHandle, token: str | None = "") -> Caller:
        caller = Caller(server.url, server.token if token == "" else token)
        callers.append(caller)
        return caller

    return make


@pytest.fixture
def served(caller_of: Callable[..., Caller]) -> Callable[..., Caller]:
    """Give a function that serves an agent and gives a client that has the key."""

    def make(agent: Agent, **settings: Any) -> Caller:
        settings.setdefault("sse_heartbeat_seconds", None)
        return caller_of(serve(agent, config=ServerConfig(port=0, **settings)))

    return make
