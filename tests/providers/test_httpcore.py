"""Connections without aiohttp: one for each request at the same time, used again."""

from __future__ import annotations

import asyncio
import ssl

import httpcore
import pytest

from notebook_agents.providers import _httpcore
from notebook_agents.providers._httpcore import HttpcoreWire
from notebook_agents.providers._wire import Head, Patience
from tests.providers.wire import CUT, HOLD, STREAM_HEAD, whole

QUICK = Patience(connect=5, stall=5)


@pytest.fixture
async def wire():
    wire = HttpcoreWire(ssl.create_default_context(), None)
    yield wire
    await wire.aclose()


async def begin(wire: HttpcoreWire, url: str) -> Head:
    return await wire.send("POST", url, {}, b"", QUICK)


async def finish(head: Head) -> bytes:
    try:
        return b"".join([chunk async for chunk in head.body])
    finally:
        await head.close()


async def ask_together(wire: HttpcoreWire, url: str, count: int) -> None:
    """Ask several times at once: no reply is closed before all have come."""
    heads = await asyncio.gather(*[begin(wire, url) for _ in range(count)])
    for head in heads:
        await finish(head)


async def test_there_are_as_many_as_requests_at_the_same_time(server, wire):
    server.say(*[whole(200, {})] * 9)
    await ask_together(wire, server.url, 1)
    await ask_together(wire, server.url, 4)
    await ask_together(wire, server.url, 4)
    assert server.connections == 4


async def test_a_request_looks_at_one_connection(server, wire, monkeypatch):
    """The pool of httpcore looks at each of its connections, at each request."""
    server.say(*[whole(200, {})] * 21)
    await ask_together(wire, server.url, 20)
    looks = []
    has_expired = httpcore.AsyncHTTPConnection.has_expired

    def counted(connection):
        looks.append(connection)
        return has_expired(connection)

    monkeypatch.setattr(httpcore.AsyncHTTPConnection, "has_expired", counted)
    await ask_together(wire, server.url, 1)
    assert len(looks) == 1


async def test_the_one_used_last_is_used_next(server, wire):
    server.say(*[whole(200, {})] * 5)
    await ask_together(wire, server.url, 3)
    last = await begin(wire, server.url)
    await finish(last)
    await ask_together(wire, server.url, 1)
    assert server.requests[-1].connection == server.requests[-2].connection


async def test_only_so_many_idle_ones_are_kept(server, wire, monkeypatch, wait_until):
    monkeypatch.setattr(_httpcore, "MOST_IDLE", 2)
    server.say(*[whole(200, {})] * 5)
    await ask_together(wire, server.url, 5)
    await asyncio.to_thread(wait_until, lambda: server.open_connections == 2)


async def test_one_that_was_idle_for_long_is_closed(
    server, wire, monkeypatch, wait_until
):
    server.say(*[whole(200, {})] * 3)
    await ask_together(wire, server.url, 2)
    monkeypatch.setattr(_httpcore, "KEEP_ALIVE_SECONDS", 0.0)
    await ask_together(wire, server.url, 1)
    await asyncio.to_thread(wait_until, lambda: server.open_connections == 1)


async def test_a_reply_that_is_closed_twice_frees_one(server, wire):
    server.say(*[whole(200, {})] * 3)
    head = await begin(wire, server.url)
    await finish(head)
    await head.close()
    await ask_together(wire, server.url, 2)
    assert server.connections == 2


async def test_one_that_broke_is_replaced(server, wire):
    server.say([CUT], whole(200, {}), [STREAM_HEAD, CUT], whole(200, {}))
    with pytest.raises(httpcore.RemoteProtocolError):
        await begin(wire, server.url)
    await ask_together(wire, server.url, 1)
    with pytest.raises(httpcore.RemoteProtocolError):
        await finish(await begin(wire, server.url))
    await ask_together(wire, server.url, 1)
    assert server.connections == 3


async def test_one_that_the_server_closed_is_replaced(server, wire, wait_until):
    server.say([*whole(200, {}), CUT], whole(200, {}))
    await ask_together(wire, server.url, 1)
    await asyncio.to_thread(wait_until, lambda: server.open_connections == 0)
    await ask_together(wire, server.url, 1)
    assert server.connections == 2


async def test_a_request_that_is_cancelled_closes_its_own(server, wire, wait_until):
    server.say([HOLD], whole(200, {}))
    asking = asyncio.create_task(begin(wire, server.url))
    await asyncio.to_thread(wait_until, lambda: server.requests)
    asking.cancel()
    await asyncio.wait([asking])
    await ask_together(wire, server.url, 1)
    await asyncio.to_thread(wait_until, lambda: server.open_connections == 1)


async def test_those_in_use_are_closed_with_all(server, wire, wait_until):
    server.say([STREAM_HEAD, HOLD])
    head = await begin(wire, server.url)
    await wire.aclose()
    await asyncio.to_thread(wait_until, lambda: server.open_connections == 0)
    await head.close()


async def test_headers_of_the_user_win(server, wire):
    server.say(whole(200, {}))
    head = await wire.send("POST", server.url, {"HOST": "model.example"}, b"", QUICK)
    await finish(head)
    assert server.requests[0].headers["host"] == "model.example"


def test_a_host_that_is_not_ascii_is_written_as_such():
    target, host = _httpcore._parsed("https://münchen.example:8443/v1/größe")
    assert (target.host, target.target) == (
        b"xn--mnchen-3ya.example",
        b"/v1/gr%C3%B6%C3%9Fe",
    )
    assert host == "xn--mnchen-3ya.example:8443"
