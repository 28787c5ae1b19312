"""What tests of providers share: the two ways in which a request may go out."""

from __future__ import annotations

import pytest

from notebook_agents.providers import _connections


@pytest.fixture(params=["httpcore", "aiohttp"])
def transport(request, monkeypatch):
    """Run a test with and without aiohttp."""
    if request.param == "httpcore":
        monkeypatch.setattr(_connections, "fast_library", lambda: None)
    else:
        assert _connections.fast_library() is not None
    return request.param
