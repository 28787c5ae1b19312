"""What tests of providers share: a service, the ways to reach it, no long waits."""

from __future__ import annotations

import pytest

from notebook_agents.providers import _connections, _retry
from tests.providers.wire import wire_server


@pytest.fixture
def server():
    """Run a service that says what it is told to."""
    with wire_server() as running:
        yield running


@pytest.fixture(params=["httpcore", "aiohttp"])
def transport(request, monkeypatch):
    """Run a test with and without aiohttp."""
    if request.param == "httpcore":
        monkeypatch.setattr(_connections, "fast_library", lambda: None)
    else:
        assert _connections.fast_library() is not None
    return request.param


@pytest.fixture(autouse=True)
def quick(monkeypatch, tmp_path):
    """Wait a millisecond instead of seconds, and read no ``.env``."""
    monkeypatch.setattr(_retry, "FIRST_SECONDS", 0.001)
    monkeypatch.chdir(tmp_path)
