"""Where a server says that it is found."""

from __future__ import annotations

import socket

import pytest

from notebook_agents import Agent, ScriptedProvider, serve
from notebook_agents.server import addresses

EVERYWHERE = "0.0.0.0"  # noqa: S104 - what is tested


def served(**options):
    return serve(Agent(ScriptedProvider([]), name="desk"), **options)


def shown(server):
    bundle = server._repr_mimebundle_()
    assert server.token not in str(bundle)
    return bundle["text/plain"], bundle["text/html"]


@pytest.mark.parametrize("found", ["192.0.2.7", None])
def test_a_server_that_is_open_says_so_and_where(monkeypatch, found):
    """Else people send each other the address of their own loopback."""
    monkeypatch.setattr(addresses, "_own_address", lambda _: found)
    server = served(host=EVERYWHERE)
    where = f"http://192.0.2.7:{server.port}" if found else None
    assert server.network_url == where
    for text in shown(server):
        assert f"{where or 'this port'} is open to other machines" in text
        assert f"http://127.0.0.1:{server.port}" in text


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", None])
def test_a_server_of_this_machine_alone_says_nothing_of_others(host):
    server = served(host=host)
    assert server.network_url is None
    assert all("other machines" not in text for text in shown(server))


@pytest.mark.parametrize(
    ("host", "seen"),
    [("192.0.2.1", "192.0.2.1"), ("example.org", "example.org"), ("::1", None)],
)
def test_an_address_that_was_chosen_is_the_one_for_others(host, seen):
    assert addresses.seen_by_others(host) == seen


def test_the_address_of_this_machine_is_found_without_sending_anything():
    found = addresses.seen_by_others(EVERYWHERE)
    if found is not None:  # None where there is no network at all
        assert socket.inet_aton(found)
        assert not found.startswith("127.")


def test_a_version_six_address_is_written_in_brackets():
    assert addresses.to_url("http", "::1", 80) == "http://[::1]:80"
