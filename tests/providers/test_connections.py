"""Connections without aiohttp: one for each request at the same time, used again."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from notebook_agents.providers import _connections
from notebook_agents.providers._connections import Lanes
from tests.providers.wire import CUT, HOLD, STREAM_HEAD, whole, wire_server


@pytest.fixture
def server():
    with wire_server() as running:
        yield running


@pytest.fixture
def made():
    """List the transports that were made, each for one request at a time."""
    return []


@pytest.fixture
async def lanes(made):
    def make() -> httpx.AsyncHTTPTransport:
        made.append(httpx.AsyncHTTPTransport())
        return made[-1]

    lanes = Lanes(make)
    yield lanes
    await lanes.aclose()


async def begin(lanes: Lanes, url: str) -> httpx.Response:
    return await lanes.handle_async_request(httpx.Request("POST", url, content=b""))


async def ask_together(lanes: Lanes, url: str, count: int) -> None:
    """Ask several times at once: no reply is closed before all have come."""
    responses = await asyncio.gather(*[begin(lanes, url) for _ in range(count)])
    for response in responses:
        await response.aread()


async def test_there_are_as_many_as_requests_at_the_same_time(server, lanes, made):
    server.say(*[whole(200, {})] * 9)
    await ask_together(lanes, server.url, 1)
    await ask_together(lanes, server.url, 4)
    await ask_together(lanes, server.url, 4)
    assert len(made) == server.connections == 4


async def test_no_pool_ever_looks_at_more_than_its_own_connection(server, lanes, made):
    """The pool of httpcore takes time for each connection, at each request."""
    server.say(*[whole(200, {})] * 40)
    for _ in range(2):
        await ask_together(lanes, server.url, 20)
    assert [len(transport._pool.connections) for transport in made] == [1] * 20


async def test_the_one_used_last_is_used_next(server, lanes):
    server.say(*[whole(200, {})] * 5)
    await ask_together(lanes, server.url, 3)
    await ask_together(lanes, server.url, 1)
    await ask_together(lanes, server.url, 1)
    last, *_ = {request.connection for request in server.requests[3:]}
    assert [request.connection for request in server.requests[3:]] == [last] * 2


async def test_only_so_many_idle_ones_are_kept(server, lanes, monkeypatch, wait_until):
    monkeypatch.setattr(_connections, "MOST_IDLE", 2)
    server.say(*[whole(200, {})] * 5)
    await ask_together(lanes, server.url, 5)
    await asyncio.to_thread(wait_until, lambda: server.open_connections == 2)


async def test_one_that_was_idle_for_long_is_closed(
    server, lanes, monkeypatch, wait_until
):
    server.say(*[whole(200, {})] * 3)
    await ask_together(lanes, server.url, 2)
    monkeypatch.setattr(_connections, "KEEP_ALIVE_SECONDS", 0.0)
    await ask_together(lanes, server.url, 1)
    await asyncio.to_thread(wait_until, lambda: server.open_connections == 1)


async def test_a_reply_that_is_closed_twice_frees_one(server, lanes, made):
    server.say(*[whole(200, {})] * 3)
    response = await begin(lanes, server.url)
    await response.stream.aclose()
    await response.stream.aclose()
    await ask_together(lanes, server.url, 2)
    assert len(made) == 2


async def test_one_that_broke_is_used_again_with_a_new_connection(server, lanes, made):
    server.say([CUT], whole(200, {}), [STREAM_HEAD, CUT], whole(200, {}))
    with pytest.raises(httpx.RemoteProtocolError):
        await begin(lanes, server.url)
    await ask_together(lanes, server.url, 1)
    response = await begin(lanes, server.url)
    with pytest.raises(httpx.RemoteProtocolError):
        await response.aread()
    await response.aclose()
    await ask_together(lanes, server.url, 1)
    assert (len(made), server.connections) == (1, 3)


async def test_one_is_free_when_its_request_is_cancelled(
    server, lanes, made, wait_until
):
    server.say([HOLD], whole(200, {}))
    asking = asyncio.create_task(begin(lanes, server.url))
    await asyncio.to_thread(wait_until, lambda: server.requests)
    asking.cancel()
    await asyncio.wait([asking])
    await ask_together(lanes, server.url, 1)
    assert len(made) == 1


async def test_those_in_use_are_closed_with_all(server, lanes, wait_until):
    server.say([STREAM_HEAD, HOLD], whole(200, {}))
    response = await begin(lanes, server.url)
    await lanes.aclose()
    await asyncio.to_thread(wait_until, lambda: server.open_connections == 0)
    await response.aclose()
