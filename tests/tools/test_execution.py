"""Where a tool runs, and what becomes of whatever it does."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import signal
import threading

import pytest

from notebook_agents import Agent, Allow, ScriptedProvider, call, tool
from notebook_agents.errors import (
    AgentConfigurationError,
    RunCancelledError,
    ToolTimeoutError,
)
from notebook_agents.sync import Call, Waiter, agent_loop
from notebook_agents.tools import to_tool_definition
from notebook_agents.tools.execution import execute


def agent_with(function, **options):
    """Give an agent that calls one tool, named ``work``, and then answers."""
    work = tool(name="work", **options)(function)
    return Agent(ScriptedProvider([call("work"), "."]), [work])


def outcome(result):
    return result.tool_calls[0]["content"]


def value(result):
    return next(e.value for e in result.events if e.event == "observation")


def in_a_cell(agent):
    """Run as a blocked cell does, whose thread runs the tools."""
    return Call(agent.run("go"), Waiter(runs_tools=True)).wait()


async def in_an_async_cell(agent):
    return await Call(agent.run("go"), Waiter(runs_tools=True)).wait_async()


def where():
    return threading.current_thread()


async def which_loop():
    return asyncio.get_running_loop()


# ------------------------------------------------------------ where


def test_a_tool_runs_in_the_thread_of_the_waiting_cell():
    assert value(in_a_cell(agent_with(where))) is threading.current_thread()


async def test_a_tool_runs_in_the_thread_of_an_awaiting_cell():
    result = await in_an_async_cell(agent_with(where))
    assert value(result) is threading.current_thread()


def test_a_tool_that_wants_a_thread_gets_one():
    thread = value(in_a_cell(agent_with(where, thread=True)))
    assert thread is not threading.current_thread()
    assert (thread.name, thread.daemon) == ("tool work", True)


async def test_without_a_cell_a_tool_runs_in_a_thread():
    result = await agent_with(where).run("go")
    assert value(result) is not threading.current_thread()


async def test_without_a_cell_a_tool_may_stay_on_the_loop():
    result = await agent_with(where, thread=False).run("go")
    assert value(result) is threading.current_thread()


def test_a_tool_that_wants_no_thread_runs_in_the_waiting_one():
    result = agent_with(where, thread=False).run_sync("go")
    assert value(result) is threading.current_thread()


async def test_an_async_tool_runs_on_the_loop_of_the_awaiting_cell():
    result = await in_an_async_cell(agent_with(which_loop))
    assert value(result) is asyncio.get_running_loop()


def test_an_async_tool_runs_on_the_agent_loop_when_the_cell_blocks():
    assert value(in_a_cell(agent_with(which_loop))) is agent_loop()


async def test_without_a_cell_an_async_tool_runs_on_the_loop_of_the_run():
    result = await agent_with(which_loop).run("go")
    assert value(result) is asyncio.get_running_loop()


def test_a_background_run_takes_a_thread_and_not_a_cell_that_has_gone():
    run = agent_with(where).start("go")
    waiter = Waiter(runs_tools=True)
    result = Call(run.result(), waiter).wait()
    assert value(result) is not threading.current_thread()


async def test_an_awaitable_that_a_sync_tool_returns_is_awaited():
    result = await agent_with(lambda: asyncio.sleep(0, "slept")).run("go")
    assert outcome(result) == "slept"


async def test_an_awaitable_of_a_tool_in_the_cell_is_awaited_on_its_loop():
    async def ask():
        return asyncio.get_running_loop()

    result = await in_an_async_cell(agent_with(lambda: ask()))  # noqa: PLW0108 - a sync function is meant
    assert value(result) is asyncio.get_running_loop()


async def test_a_partial_and_a_callable_object_are_awaited():
    async def add(a, b):
        return a + b

    class Adds:
        async def __call__(self):
            return 3

    adds = functools.partial(add, 1, 2)
    script = [[call("one"), call("two")], "."]
    tools = [tool(name="one")(adds), tool(name="two")(Adds())]
    result = await Agent(ScriptedProvider(script), tools).run("go")
    assert [entry["content"] for entry in result.tool_calls] == ["3", "3"]


@pytest.mark.parametrize("options", [{}, {"thread": True}, {"thread": False}])
async def test_context_variables_reach_a_tool(options):
    who = contextvars.ContextVar("who")
    who.set("ada")
    assert outcome(await agent_with(lambda: who.get(), **options).run("go")) == "ada"  # noqa: PLW0108 - a built-in has no signature


def test_context_variables_reach_a_tool_in_the_cell():
    who = contextvars.ContextVar("who")
    who.set("ada")
    agent = agent_with(lambda: who.get())  # noqa: PLW0108 - as above
    assert outcome(in_a_cell(agent)) == "ada"


# ------------------------------------------------------------ what it raises

KINDS = [
    SystemExit,
    KeyboardInterrupt,
    StopIteration,
    StopAsyncIteration,
    GeneratorExit,
    asyncio.CancelledError,
    BaseException,
    TimeoutError,
]


def raising(kind):
    def work():
        raise kind

    return work


def raising_async(kind):
    async def work():
        raise kind

    return work


def still_works():
    return agent_with(lambda: "fine").run_sync("go").answer == "."


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [{"thread": True}, {"thread": None}])
def test_whatever_a_tool_in_a_thread_raises_is_a_result(kind, options):
    result = agent_with(raising(kind), **options).run_sync("go")
    assert kind.__name__ in outcome(result)
    assert result.answer == "."
    assert still_works()


@pytest.mark.parametrize("kind", KINDS)
async def test_whatever_a_tool_on_the_loop_raises_is_a_result(kind):
    result = await agent_with(raising(kind), thread=False).run("go")
    assert kind.__name__ in outcome(result)
    assert result.answer == "."


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_an_async_tool_raises_is_a_result(kind):
    result = agent_with(raising_async(kind)).run_sync("go")
    assert kind.__name__ in outcome(result)
    assert result.answer == "."
    assert still_works()


@pytest.mark.parametrize("kind", set(KINDS) - {KeyboardInterrupt})
async def test_whatever_an_async_tool_in_the_cell_raises_is_a_result(kind):
    result = await in_an_async_cell(agent_with(raising_async(kind)))
    assert kind.__name__ in outcome(result)


@pytest.mark.parametrize("kind", set(KINDS) - {KeyboardInterrupt})
def test_whatever_a_tool_in_the_cell_raises_is_a_result(kind):
    result = in_a_cell(agent_with(raising(kind)))
    assert kind.__name__ in outcome(result)


def test_an_interrupt_of_a_tool_in_the_cell_stops_the_cell():
    agent = agent_with(raising(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        in_a_cell(agent)
    assert agent.last_run.is_done
    assert still_works()


async def test_an_interrupt_of_an_async_tool_that_blocks_is_told_to_the_cell():
    """Whose own handler, in a kernel, only schedules that the cell is cancelled."""
    told = []

    async def work() -> None:
        signal.raise_signal(signal.SIGINT)
        told.append("the tool went on")

    before = signal.signal(signal.SIGINT, lambda number, _: told.append(number))
    agent = agent_with(work)
    try:
        with pytest.raises(RunCancelledError):
            await in_an_async_cell(agent)
    finally:
        signal.signal(signal.SIGINT, before)
    assert told == [signal.SIGINT]
    assert agent.last_run.is_done


async def test_a_failure_before_the_first_await_is_a_result():
    async def needs(argument):
        return argument

    agent = agent_with(which_loop)
    agent.tools["work"].func = needs
    assert "TypeError" in outcome(await agent.run("go"))


# ------------------------------------------------------------ how long


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_tool_that_takes_too_long_is_a_result(is_async):
    release = threading.Event()

    def block() -> None:
        release.wait(5)

    async def wait() -> None:
        await asyncio.Event().wait()

    agent = agent_with(wait if is_async else block, timeout=0.05)
    result = await agent.run("go")
    release.set()
    assert outcome(result) == "Tool execution failed: no result within 0.05 s"


async def test_a_timeout_without_words_of_the_tools_own_is_not_that_of_its_time():
    def work() -> None:
        raise TimeoutError

    result = await agent_with(work, timeout=50).run("go")
    assert outcome(result) == "Tool execution failed: TimeoutError"


async def test_a_call_that_took_too_long_has_an_error_of_its_own():
    async def wait() -> None:
        await asyncio.Event().wait()

    definition = to_tool_definition(tool(timeout=0.01)(wait))
    ended = await execute(definition, definition.bind("{}"))
    assert isinstance(ended.error, ToolTimeoutError)
    assert ended.error.tool == "wait"


async def test_a_late_async_tool_has_cleaned_up():
    order = []

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            order.append("cleaned up")

    await agent_with(wait, timeout=0.01).run("go")
    assert order == ["cleaned up"]


async def test_a_timeout_of_the_tools_own_is_told_as_it_is():
    def work() -> None:
        message = "the database is slow"
        raise TimeoutError(message)

    result = await agent_with(work, timeout=5).run("go")
    assert outcome(result).endswith("TimeoutError: the database is slow")


@pytest.mark.parametrize("retries", [0, 5])
async def test_a_failing_tool_is_never_run_again_by_itself(retries):
    tries = []

    async def work() -> None:
        tries.append(1)
        raise ConnectionError

    await agent_with(work, retries=retries).run("go")
    assert tries == [1]


def test_retries_must_be_a_number():
    with pytest.raises(AgentConfigurationError):
        tool(retries=-1)(where)


# ------------------------------------------------------------ beside questions


class Person:
    """Answers only once a tool had its chance to block the cell."""

    def __init__(self, decision):
        self.decision = decision

    async def ask(self, pending):
        for _ in range(5):
            await asyncio.sleep(0)
        pending.decide(self.decision, by="person")


def test_questions_come_before_tools_that_would_block_the_cell():
    order = []

    def block() -> None:
        order.append("block")

    @tool(approval=True)
    def risky() -> None:
        order.append("risky")

    script = [[call("block"), call("risky")], "."]
    agent = Agent(ScriptedProvider(script), [block, risky], approver=Person(Allow()))
    events = in_a_cell(agent).events
    kinds = [e.event for e in events]
    assert kinds.index("approval_result") < kinds.index("observation")
    assert sorted(order) == ["block", "risky"]


async def test_other_tools_run_while_a_question_waits():
    ran = asyncio.Event()

    class Waits:
        async def ask(self, pending):
            await ran.wait()
            pending.decide(Allow(), by="person")

    async def free() -> None:
        ran.set()

    @tool(approval=True)
    async def risky() -> str:
        return "done"

    script = [[call("risky"), call("free")], "."]
    agent = Agent(ScriptedProvider(script), [risky, free], approver=Waits())
    async with asyncio.timeout(5):
        result = await agent.run("go")
    assert {entry["content"] for entry in result.tool_calls} >= {"done"}
