"""One agent works on any number of loops and threads, and leaves no connection open.

Wire, section 8, item 7: of other kits some fail every second ``asyncio.run``.
"""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
import warnings

import pytest

from notebook_agents import Agent
from tests.providers.services import WIRES, provider_for

pytestmark = [
    pytest.mark.usefixtures("transport"),
    pytest.mark.parametrize("wire", WIRES),
]


@pytest.fixture
def leaks():
    """List what was not closed, as Python tells where it is asked to."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ResourceWarning)
        yield caught
        gc.collect()
    assert [str(each.message) for each in caught] == []


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def agent_on(server, wire):
    return Agent(provider_for(wire, server.url), [add])


def run(main):
    with asyncio.Runner() as runner:
        return runner.run(main)


@pytest.mark.usefixtures("leaks")
def test_each_loop_has_one_connection_for_all_its_requests(server, wire, wait_until):
    server.say(*[f"{wire}/tool_call", f"{wire}/answer"] * 6)
    agent = agent_on(server, wire)

    async def twice():
        return [(await agent.run("1 + 2?")).answer for _ in range(2)]

    for _ in range(3):
        assert run(twice()) == ["Hello."] * 2
    over = [request.connection for request in server.requests]
    assert over == [1] * 4 + [2] * 4 + [3] * 4
    wait_until(lambda: server.open_connections == 0)


@pytest.mark.usefixtures("leaks")
def test_a_loop_that_fails_leaves_nothing(server, wire, wait_until):
    """The next one is none the worse for it."""
    agent = agent_on(server, wire)
    server.say(f"{wire}/stall", f"{wire}/answer")

    async def stopped():
        asking = asyncio.create_task(agent.run("Hi"))
        await asyncio.to_thread(wait_until, lambda: server.requests)
        asking.cancel()
        await asyncio.wait([asking])

    run(stopped())
    wait_until(lambda: server.open_connections == 0)
    assert run(agent.run("Hi")).answer == "Hello."
    wait_until(lambda: server.open_connections == 0)


@pytest.mark.usefixtures("leaks")
def test_threads_ask_at_the_same_time(server, wire, wait_until):
    server.say(*[f"{wire}/answer"] * 8)
    agent, said = agent_on(server, wire), []

    def ask_on_a_loop_of_its_own():
        said.append(run(agent.run("Hi")).answer)

    def ask_and_wait():
        said.append(agent.run_sync("Hi").answer)

    threads = [
        threading.Thread(target=target)
        for target in (ask_on_a_loop_of_its_own, ask_and_wait) * 4
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert said == ["Hello."] * 8


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_loop_that_is_only_closed_harms_no_other(server, wire):
    """Nobody shuts its generators down, as `asyncio.run` would; Python says so."""
    server.say(*[f"{wire}/answer"] * 3)
    agent = agent_on(server, wire)
    for _ in range(2):
        loop = asyncio.new_event_loop()
        assert loop.run_until_complete(agent.run("Hi")).answer == "Hello."
        loop.close()
    assert run(agent.run("Hi")).answer == "Hello."
    gc.collect()


def test_a_script_leaves_no_word_about_what_it_did_not_close(server, wire, transport):
    server.say(*[f"{wire}/tool_call", f"{wire}/answer"] * 3)
    without = "" if transport == "aiohttp" else "sys.modules['aiohttp'] = None"
    script = f"""
import asyncio, sys
{without}
from notebook_agents import Agent
from tests.providers.services import provider_for

def add(a: int, b: int) -> int:
    "Add."
    return a + b

agent = Agent(provider_for({wire!r}, {server.url!r}), [add])
print(asyncio.run(agent.run("Hi")))
print(asyncio.run(agent.run("Hi")))
print(agent.run_sync("Hi"))
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert (done.stderr, done.stdout) == ("", "Hello.\n" * 3)
