"""Nothing but this machine can be reached, whoever tries."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys

import httpx
import pytest

from notebook_agents import Agent
from notebook_agents.providers import OpenAICompatibleProvider
from notebook_agents.testing import NetworkAccessError, no_network, wire_server

FAR = [("192.0.2.1", 80), ("2001:db8::1", 80), ("::ffff:192.0.2.1", 80)]


@pytest.mark.parametrize("address", FAR, ids=str)
@pytest.mark.parametrize("way", ["connect", "connect_ex", "sendto", "sendmsg"])
def test_a_socket_goes_nowhere(way, address):
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    before = {"sendto": (b"x",), "sendmsg": ([b"x"], [], 0)}
    kind = socket.SOCK_DGRAM if way in before else socket.SOCK_STREAM
    with no_network() as refused, socket.socket(family, kind) as sock:
        with pytest.raises(NetworkAccessError, match="is not this machine"):
            getattr(sock, way)(*before.get(way, ()), address)
        assert refused == [repr(address)]
        refused.clear()


@pytest.mark.parametrize("name", ["getaddrinfo", "gethostbyname", "gethostbyname_ex"])
def test_no_name_is_looked_up(name):
    arguments = ("model.example", 443) if name == "getaddrinfo" else ("model.example",)
    with no_network() as refused:
        with pytest.raises(NetworkAccessError, match=r"'model\.example'"):
            getattr(socket, name)(*arguments)
        refused.clear()


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "::1", None, b"::1"])
def test_this_machine_can_be_looked_up(host):
    with no_network():
        assert socket.getaddrinfo(host, 80)


async def test_an_agent_asks_a_service_on_this_machine_and_no_other():
    with no_network() as refused:
        with wire_server("chat/answer") as server:
            near = Agent(OpenAICompatibleProvider(server.url, "m"))
            assert str(await near.run("Hi")) == "Hello."
        far = Agent(OpenAICompatibleProvider("https://model.example/v1", "m"))
        with pytest.raises(NetworkAccessError, match="ScriptedProvider"):
            await far.run("Hi")
        assert refused
        refused.clear()


async def test_whoever_swallows_the_refusal_is_found_out():
    async def ask_and_say_nothing():
        with no_network():
            async with httpx.AsyncClient() as client:
                with pytest.raises(NetworkAccessError):
                    await client.get("http://model.example")

    with pytest.raises(NetworkAccessError, match=r"swallowed: 'model\.example'"):
        await ask_and_say_nothing()


def test_what_fails_otherwise_fails_with_its_own_error():
    def swallow_and_fail():
        with no_network():
            with pytest.raises(NetworkAccessError):
                socket.getaddrinfo("model.example", 80)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        swallow_and_fail()


def test_the_network_is_back_afterwards():
    """In a process of its own, as a guard is on for the whole suite here."""
    code = (
        "import socket; from notebook_agents.testing import no_network;"
        "parts = lambda: (socket.getaddrinfo, *map(vars(socket.socket).get, "
        "('connect', 'sendto', 'sendmsg')));"
        "before = parts();"
        "outer = no_network(); outer.__enter__();"
        "inner = no_network(); inner.__enter__();"
        "outer.__exit__(None, None, None); assert parts() != before;"
        "inner.__exit__(None, None, None); assert parts() == before"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=50)


async def test_a_server_may_listen_everywhere():
    with no_network():
        server = await asyncio.start_server(lambda *_: None, "0.0.0.0", 0)  # noqa: S104
        server.close()
