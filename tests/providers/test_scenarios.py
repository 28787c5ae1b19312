"""Every scenario of the public wire server, asked by an agent over a real socket.

The server is for users, and the scenarios are what wire.md lists; here each adapter
has to make of them what they mean.
"""

from __future__ import annotations

import asyncio
import re

import pytest

from notebook_agents import Agent
from notebook_agents.errors import (
    AgentProviderError,
    NotebookAgentsError,
    ProviderTimeoutError,
)
from notebook_agents.providers import OpenAICompatibleProvider
from notebook_agents.testing import scenario, scenario_names
from notebook_agents.testing.wire import HOLD, Wait, wire_server
from notebook_agents.testing.wire.catalogue import scenarios
from tests.providers.services import KEY, WIRES, provider_for

pytestmark = pytest.mark.usefixtures("transport")

NAMES = [name for wire in WIRES for name in scenario_names(f"{wire}/")]
BROKEN = [name for name in NAMES if scenario(name).error]
CALLS = [name for name in NAMES if scenario(name).calls]
TEXTS = sorted({*NAMES} - {*BROKEN} - {*CALLS})
SHORT, LONGER, LONG = 0.2, 0.7, 20
"""Seconds between two bytes: where none come, where some do, and elsewhere."""


class Tools:
    """The tools that scenarios call, and how they were called."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict]] = []

    def add(self, a: int, b: int) -> int:
        """Add."""
        self.calls.append(("add", {"a": a, "b": b}))
        return a + b

    def mul(self, a: int, b: int) -> int:
        """Multiply."""
        self.calls.append(("mul", {"a": a, "b": b}))
        return a * b

    def now(self) -> str:
        """Tell the time."""
        self.calls.append(("now", {}))
        return "noon"

    @property
    def all(self):
        return [self.add, self.mul, self.now]


def patience_for(name):
    if name.endswith("/slow"):
        return LONGER
    is_known = not name.endswith("/")
    return SHORT if is_known and HOLD in scenario(name).reply else LONG


def agent_on(server, name, tools, **options):
    options = {"max_retries": 0, "stall_timeout": patience_for(name), **options}
    return Agent(provider_for(name, server.url, **options), tools.all)


def good(name):
    """Name the plain answer of the same wire format."""
    return f"{name.partition('/')[0]}/answer"


@pytest.mark.parametrize("name", CALLS)
async def test_the_calls_run_as_they_are_meant(server, name):
    server.say(name, good(name))
    tools = Tools()
    result = await agent_on(server, name, tools).run("Hi")
    meant = scenario(name)
    assert sorted(tools.calls, key=str) == sorted(map(tuple, meant.calls), key=str)
    assert str(result) == "Hello."
    assert result.new_messages[1]["content"] == meant.text
    assert result.errors == []
    server.assert_done()


@pytest.mark.parametrize("name", TEXTS)
async def test_the_text_is_read_and_nothing_runs(server, name):
    server.say(name)
    wanted = scenario(name).text
    if name.endswith(("/pause_turn", "/continuation")):  # the same answer goes on
        server.say(good(name))
        wanted += "Hello."
    if re.search("(cut|broken)_(arguments|input)", name):
        server.say(good(name))  # the model is told that its call did not run
        wanted = "Hello."
    tools = Tools()
    result = await agent_on(server, name, tools).run("Hi")
    assert str(result) == wanted
    assert tools.calls == []
    server.assert_done()


@pytest.mark.parametrize("name", BROKEN)
async def test_what_is_broken_is_an_error_and_never_an_answer(server, name):
    server.say(name)
    wanted = scenario(name).error
    tools = Tools()
    with pytest.raises(NotebookAgentsError) as caught:
        async with asyncio.timeout(15):
            await agent_on(server, name, tools).run("Hi")
    assert isinstance(caught.value, wanted)
    assert KEY not in str(caught.value)
    assert tools.calls == []


@pytest.mark.parametrize(
    "name", ["chat/finish_in_every_event", "gemini/finish_in_every_piece"]
)
async def test_a_reply_that_goes_on_is_read_for_as_long_as_it_does(
    server, name, monkeypatch
):
    """Once it is said to be complete, nothing else is waited for that long."""
    monkeypatch.setattr("notebook_agents.providers._reading.TAIL_SECONDS", 0.5)
    begun, *events = scenario(name).reply
    slowly = [step for event in events[:2] * 4 for step in (event, Wait(0.1))]
    server.say([begun, *slowly, *events])
    stream = agent_on(server, name, Tools(), stall_timeout=5).stream("Hi")
    pieces = [text async for text in stream]
    assert "".join(pieces) == "Hello." * 5
    assert len(pieces) > 5


RETRIED = [
    name
    for name in BROKEN
    if name.rpartition("/")[2]
    in {"error_first", "no_reply", "status_429", "status_503", "silence"}
]


@pytest.mark.parametrize("name", RETRIED)
async def test_what_may_pass_is_asked_again(server, name):
    server.say(name, good(name))
    result = await agent_on(server, name, Tools(), max_retries=1).run("Hi")
    assert str(result) == "Hello."


def test_every_scenario_says_what_it_is_about():
    every = list(scenarios())
    assert len(every) == len({each.name for each in every}) > 400
    assert [each.name for each in every] == scenario_names()
    for each in every:
        assert each.about
        assert each.reply
        assert bool(each.error) <= (not each.text and not each.calls)


def test_a_name_that_is_wrong_is_told_with_those_that_are_like_it():
    with pytest.raises(ValueError, match=r"'chat/cutstream'; similar: chat/cut_stream"):
        scenario("chat/cutstream")


def test_the_server_works_where_a_loop_runs_already():
    async def ask():
        with wire_server("chat/answer") as server:
            provider = OpenAICompatibleProvider(server.url, "m")
            return str(await Agent(provider).run("Hi"))

    with asyncio.Runner() as runner:
        assert runner.run(ask()) == "Hello."


async def test_a_request_beyond_the_script_says_so(server):
    with pytest.raises(AgentProviderError, match="no reply left for POST /v1/chat"):
        await agent_on(server, "chat/", Tools()).run("Hi")


async def test_replies_that_nobody_asked_for_are_told(server):
    server.say("chat/answer", "chat/answer")
    await agent_on(server, "chat/", Tools()).run("Hi")
    with pytest.raises(AssertionError, match="1 replies were not asked for"):
        server.assert_done()


async def test_open_connections_are_dropped_at_the_end(wait_until):
    with wire_server("chat/silence") as server:
        run = agent_on(server, "chat/", Tools(), stall_timeout=30).start("Hi")
        await asyncio.to_thread(wait_until, lambda: server.requests)
    with pytest.raises(AgentProviderError) as caught:
        await run.result()
    assert not isinstance(caught.value, ProviderTimeoutError)
