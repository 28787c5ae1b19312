"""What a turn costs, counted and not timed: clocks of shared machines lie."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager

import pytest

from notebook_agents import Agent, InMemoryStore, ScriptedProvider, call
from notebook_agents.messages import Message
from notebook_agents.providers import OpenAICompatibleProvider
from notebook_agents.waiting import Waiter
from tests.providers.wire import answer, wire_server


@pytest.fixture
def server():
    with wire_server() as running:
        yield running


def add(a: int, b: int) -> int:
    return a + b


async def count() -> int:
    return 7


@contextmanager
def counted(monkeypatch, owner: type, name: str):
    """Count the calls of a method."""
    calls: list[str] = []
    original = getattr(owner, name)

    def method(self, *args, **kwargs):
        calls.append(name)
        return original(self, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, method)
        yield calls


@contextmanager
def tasks_counted():
    """Count the tasks that are made on the running loop."""
    loop = asyncio.get_running_loop()
    tasks: list[str] = []

    def make(loop, coroutine, **options):
        tasks.append(coroutine.__qualname__)
        return asyncio.Task(coroutine, loop=loop, **options)

    loop.set_task_factory(make)
    try:
        yield tasks
    finally:
        loop.set_task_factory(None)


async def tasks_of(agent: Agent) -> int:
    with tasks_counted() as tasks:
        await agent.run("Go", memory=InMemoryStore().session())
    return len(tasks)


async def test_a_turn_takes_two_tasks():
    """The work, and who watches over it."""
    assert await tasks_of(Agent(ScriptedProvider(["Hi!"]))) == 2


async def test_a_sync_call_alone_takes_no_task():
    script = [call("add", a=1, b=2), call("add", a=1, b=2), "3"]
    assert await tasks_of(Agent(ScriptedProvider(script), [add])) == 2


@pytest.mark.parametrize(
    ("calls", "more"),
    [(call("count"), 1), ([call("add", a=1, b=2)] * 2, 2)],
    ids=["async", "two at once"],
)
async def test_what_could_hold_the_run_up_takes_a_task_each(calls, more):
    agent = Agent(ScriptedProvider([calls, "Done"]), [add, count])
    assert await tasks_of(agent) == 2 + more


async def test_a_token_takes_no_task_and_no_timer(monkeypatch):
    loop = asyncio.get_running_loop()
    made = []
    for tokens in (10, 1000):
        agent = Agent(ScriptedProvider(["x" * tokens], chunk=1))
        with (
            tasks_counted() as tasks,
            counted(monkeypatch, type(loop), "call_at") as timers,
        ):
            stream = agent.stream("Go", memory=InMemoryStore().session())
            assert sum([len(text) async for text in stream]) == tokens
        made.append((len(tasks), len(timers)))
    assert made[0] == made[1]


async def test_who_awaits_a_run_is_woken_once(monkeypatch):
    script = [call("add", a=1, b=2), "x" * 400]
    agent = Agent(ScriptedProvider(script, chunk=1), [add])
    with counted(monkeypatch, Waiter, "wake") as wakes:
        await agent.run("Go")
    assert len(wakes) == 1


async def test_sync_tools_one_after_the_other_share_a_thread(monkeypatch):
    rounds = 30
    script = [*[call("add", a=1, b=2)] * rounds, "Done"]
    agent = Agent(ScriptedProvider(script), [add], max_steps=rounds + 1)
    with counted(monkeypatch, threading.Thread, "start") as started:
        await agent.run("Go")
    assert len(started) < rounds / 3  # now and then one is not idle again yet


async def test_a_stored_message_is_written_once_a_turn(server, monkeypatch):
    """For the request alone: a result writes them when they are looked at."""
    session = InMemoryStore().session()
    for number in range(200):
        role = "assistant" if number % 2 else "user"
        session.add({"role": role, "content": f"message {number}"})
    server.say(answer("Hi!"))
    provider = OpenAICompatibleProvider(server.url, "m", "sk-a-test-key")
    with counted(monkeypatch, Message, "to_dict") as written:
        await Agent(provider).run("Go", memory=session)
    assert len(written) < 200  # the wire format has a way of its own
