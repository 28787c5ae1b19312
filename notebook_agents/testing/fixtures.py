"""Fixtures for pytest: one line in a ``conftest.py`` makes them known.

``pytest_plugins = ["notebook_agents.testing.fixtures"]``
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator

import pytest

from notebook_agents.testing import network, tape, wire

__all__ = ["cassette", "no_network", "wire_server"]

_HAS_FAILED = pytest.StashKey[bool]()


@pytest.fixture
def wire_server() -> Iterator[wire.WireServer]:
    """Serve what ``wire_server.say(...)`` is told to; its ``url`` is for a provider."""
    with wire.wire_server() as server:
        yield server


@pytest.fixture
def no_network() -> Iterator[list[str]]:
    """Refuse to reach anything but this machine; the test fails if it tries."""
    with network.no_network() as refused:
        yield refused


@pytest.fixture
def cassette(request: pytest.FixtureRequest) -> Iterator[tape.Tape]:
    """Record the services that a test asks, in ``cassettes`` beside it, or replay."""
    name = re.sub(r"[^\w.-]+", "_", f"{request.path.stem}.{request.node.name}")
    with tape.cassette(request.path.parent / "cassettes" / f"{name}.json") as playing:
        yield playing
        if request.node.stash.get(_HAS_FAILED, False):
            playing.abandon()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember that a test failed: what it recorded is not worth keeping."""
    report = yield
    if report.failed:
        item.stash[_HAS_FAILED] = True
    return report
