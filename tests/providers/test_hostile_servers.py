"""A server may be slow, huge, wrong or hostile; a run ends, and the key stays here."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import tracemalloc

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from notebook_agents import Agent
from notebook_agents.errors import (
    AgentProviderError,
    ProviderReplyError,
    ProviderTimeoutError,
    RunCancelledError,
)
from notebook_agents.providers._chat_reply import ChatReply
from notebook_agents.providers._failures import Failure, ServiceFacts
from notebook_agents.providers._sse import SseDecoder
from notebook_agents.providers.profiles import ChatProfile
from notebook_agents.testing import scenario
from notebook_agents.testing.wire import (
    CUT,
    HOLD,
    Wait,
    chunk,
    event,
    head,
    streamed,
    wire_server,
)
from notebook_agents.testing.wire.replies import LAST_CHUNK, STREAM_HEAD
from tests.providers.services import KEY, WIRES, provider_for

pytestmark = pytest.mark.usefixtures("transport")
every_wire = pytest.mark.parametrize("wire", WIRES)

MEGABYTE = 2**20


def agent_on(server, wire="chat", **options):
    return Agent(provider_for(wire, server.url, **{"max_retries": 0, **options}))


async def failure(agent, cls=AgentProviderError):
    with pytest.raises(cls) as caught:
        await asyncio.wait_for(agent.run("Hi"), 20)
    return caught.value


@contextlib.contextmanager
def memory_below(most: int):
    """Fail if more bytes than that are held at any time."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()


# ------------------------------------------------------------------------- slow


DRIP = [step for _ in range(200) for step in (b"1\r\n:\r\n", Wait(0.05))]


@every_wire
async def test_a_drip_without_an_end_ends_with_the_time_there_is(server, wire):
    server.say([STREAM_HEAD, *DRIP])
    agent = agent_on(server, wire, timeout=0.4, stall_timeout=0.2)
    async with asyncio.timeout(5):  # the drip goes on for twice as long
        await failure(agent, ProviderTimeoutError)


async def test_a_head_that_drips_ends_with_the_time_there_is(server):
    server.say([step for byte in STREAM_HEAD for step in (bytes([byte]), Wait(0.05))])
    agent = agent_on(server, timeout=0.4, stall_timeout=0.2)
    await failure(agent, ProviderTimeoutError)


@every_wire
async def test_who_is_dripped_at_can_stop(server, wire, wait_until):
    server.say([STREAM_HEAD, *DRIP])
    run = agent_on(server, wire).start("Hi")
    await asyncio.to_thread(wait_until, lambda: server.requests)
    run.cancel()
    with pytest.raises(RunCancelledError):
        async with asyncio.timeout(5):  # the drip goes on for twice as long
            await run.result()
    await asyncio.to_thread(wait_until, lambda: not server.open_connections)


# ------------------------------------------------------------------------- huge


async def test_a_line_of_a_hundred_megabytes_is_not_read_to_its_end(server):
    line = [chunk(b"x" * MEGABYTE)] * 100
    server.say([STREAM_HEAD, chunk(b"data: "), *line, LAST_CHUNK])
    with memory_below(80 * MEGABYTE):
        error = await failure(agent_on(server), ProviderReplyError)
    assert "too large" in str(error)


async def test_a_huge_line_behind_the_answer_changes_nothing(server):
    line = [chunk(b"x" * MEGABYTE)] * 100
    said = scenario("chat/answer").reply[:-1]
    server.say([*said, chunk(b"data: "), *line, LAST_CHUNK])
    with memory_below(80 * MEGABYTE):
        assert (await agent_on(server).run("Hi")).answer == "Hello."


@pytest.mark.parametrize("status", [200, 500])
@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
async def test_a_few_bytes_that_unpack_to_very_many_are_not_unpacked(
    server, status, kind
):
    packed = gzip.compress(b'{"a": "' + b"x" * 200 * MEGABYTE)
    begun = {"content-type": kind, "content-encoding": "gzip"}
    begun["content-length"] = str(len(packed))
    server.say([head(status, begun) + packed])
    with memory_below(80 * MEGABYTE):
        await failure(agent_on(server))


async def test_a_head_of_a_megabyte_is_an_error(server):
    server.say([head(200, {"x-a": "x" * MEGABYTE}), b"{}", CUT])
    await failure(agent_on(server))


async def test_very_many_events_take_no_longer_each(server):
    said = event({"choices": [{"index": 0, "delta": {"content": "x"}}]})
    server.say(streamed(*[said * 1000] * 50, *scenario_events("chat")))
    result = await asyncio.wait_for(agent_on(server).run("Hi"), 20)
    assert result.answer == "x" * 50_000 + "Hello."


def scenario_events(wire: str) -> list[bytes]:
    """Give the events of the plain answer."""
    steps = scenario(f"{wire}/one_chunk").reply
    return [steps[1].partition(b"\r\n")[2].removesuffix(b"\r\n")]


# ------------------------------------------------------------------ other places


@every_wire
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_takes_no_key_along(server, wire, status):
    with wire_server() as elsewhere:
        server.say([head(status, {"location": elsewhere.url, "content-length": "0"})])
        error = await failure(agent_on(server, wire))
    assert "has moved" in str(error)
    assert elsewhere.connections == 0


@every_wire
async def test_not_even_a_client_that_follows_redirects_does(server, wire):
    with wire_server() as elsewhere:
        server.say([head(307, {"location": elsewhere.url, "content-length": "0"})])
        async with httpx.AsyncClient(follow_redirects=True) as client:
            await failure(agent_on(server, wire, http_client=client))
    assert elsewhere.connections == 0


@every_wire
async def test_what_was_sent_unasked_answers_no_later_question(server, wire):
    """Of two replies to one request the second is nobody's."""
    evil = scenario(f"{wire}/any_character").reply
    raw = b"".join(step for step in evil if isinstance(step, bytes))
    said = [step for step in scenario(f"{wire}/whole").reply if isinstance(step, bytes)]
    server.say([b"".join(said) + raw], f"{wire}/answer")
    agent = agent_on(server, wire, max_retries=2)
    assert (await agent.run("Hi")).answer == "Hello."
    assert (await agent.run("Hi")).answer == "Hello."


@every_wire
async def test_a_connection_that_the_server_closed_is_not_used_again(
    server, wire, wait_until
):
    server.say([*scenario(f"{wire}/answer").reply, CUT], f"{wire}/answer")
    agent = agent_on(server, wire, max_retries=1)
    assert (await agent.run("Hi")).answer == "Hello."
    await asyncio.to_thread(wait_until, lambda: not server.open_connections)
    assert (await agent.run("Hi")).answer == "Hello."


async def test_a_server_that_says_continue_first_is_waited_for(server):
    server.say([b"HTTP/1.1 100 Continue\r\n\r\n", *scenario("chat/answer").reply])
    assert (await agent_on(server).run("Hi")).answer == "Hello."


async def test_continue_and_nothing_more_is_a_silence(server):
    server.say([b"HTTP/1.1 100 Continue\r\n\r\n", HOLD])
    agent = agent_on(server, connect_timeout=0.2, stall_timeout=0.2)
    await failure(agent, ProviderTimeoutError)


@pytest.mark.parametrize(
    "packing", ["br", "zstd", "gzip, gzip", "nonsense", "deflate", "gzip"]
)
async def test_what_cannot_be_unpacked_is_an_error(server, packing):
    body = b"\x00\x01 not packed"
    begun = {"content-encoding": packing, "content-length": str(len(body))}
    server.say([head(200, begun) + body])
    await failure(agent_on(server))


# ------------------------------------------------------------------------- wrong

KEYS = [
    *("choices", "delta", "message", "content", "role", "tool_calls", "function"),
    *("function_call", "name", "arguments", "index", "id", "finish_reason", "usage"),
    *("prompt_tokens", "completion_tokens", "completion_tokens_details", "cost"),
    *("reasoning_tokens", "prompt_tokens_details", "cached_tokens", "error", "type"),
    *("text", "refusal", "reasoning", "reasoning_details", "thinking", "x_groq"),
]
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(KEYS),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
FACTS = ServiceFacts(name="junk", url="http://localhost", secrets=(KEY,))


def plausible(inner) -> st.SearchStrategy:
    """Give events that look like those of chat completions at first."""
    delta = st.fixed_dictionaries(
        {}, optional=dict.fromkeys(("content", "tool_calls", "refusal"), inner)
    )
    choice = st.fixed_dictionaries(
        {"delta": delta | inner}, optional={"finish_reason": inner, "usage": inner}
    )
    return st.fixed_dictionaries(
        {"choices": st.lists(choice | inner, max_size=2) | inner},
        optional={"usage": inner, "x_groq": inner},
    )


@pytest.mark.usefixtures("transport")
@given(st.lists(plausible(JUNK) | JUNK, max_size=3), st.booleans())
@settings(max_examples=300)
def test_chat_events_of_odd_shapes_do_no_harm(events, is_whole):
    profile = ChatProfile(replays="reasoning_details", reports_cost=True)
    reply = ChatReply(profile, FACTS, sealed=lambda part: part, output_tool="add")
    with contextlib.suppress(Failure):
        if is_whole:
            for each in events[:1]:
                reply.read_whole(event(each)[6:])
        else:
            decoder = SseDecoder()
            for each in events:
                reply.read(decoder.feed(event(each)))
        reply.close()
        reply.reply()
