"""A stream is a run that one reader follows."""

from __future__ import annotations

import asyncio
import contextlib
import gc

import pytest

from notebook_agents import Agent, ScriptedProvider, call
from notebook_agents.errors import (
    AgentConfigurationError,
    AgentProviderError,
    RunCancelledError,
)


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def test_the_text_arrives_in_pieces():
    stream = Agent(ScriptedProvider(["Hello there"])).stream("hi")
    assert [text async for text in stream] == ["Hello th", "ere"]


async def test_a_stream_runs_tools_as_run_does():
    """Acceptance check 23."""
    script = ["Let me see. ", call("add", a=1, b=2)], "It is three."
    agents = [Agent(ScriptedProvider(script), [add]) for _ in range(2)]
    texts = [text async for text in agents[0].stream("1 + 2?")]
    await agents[1].run("1 + 2?")
    assert "".join(texts) == "Let me see. It is three."
    assert agents[0].memory.all_messages == agents[1].memory.all_messages


async def test_the_result_of_a_stream_is_that_of_the_run():
    stream = Agent(ScriptedProvider(["Hello"])).stream("hi")
    async for _ in stream:
        pass
    assert (await stream.result()).answer == "Hello"


async def test_the_result_can_be_had_without_reading():
    assert (
        str(await Agent(ScriptedProvider(["Hello"])).stream("hi").result()) == "Hello"
    )


async def test_the_result_may_be_awaited_while_somebody_reads():
    async def read():
        return [text async for text in stream]

    stream = Agent(ScriptedProvider(["Hello there"], delay=0.01)).stream("hi")
    reading = asyncio.create_task(read())
    async with asyncio.timeout(5):
        result, texts = await asyncio.gather(stream.result(), reading)
    assert result.answer == "".join(texts)


async def test_reasoning_is_not_part_of_the_text():
    script = [{"reasoning": "hm", "text": "Hello"}]
    stream = Agent(ScriptedProvider(script)).stream("hi")
    assert [text async for text in stream] == ["Hello"]


async def test_typed_events_can_be_read_instead():
    events = Agent(ScriptedProvider(["Hello"])).stream("hi").events()
    assert [event.event async for event in events] == ["task", "token", "answer"]


async def test_the_text_of_an_exhausted_run_is_the_fallback():
    provider = ScriptedProvider([call("add", a=1, b=2)])
    stream = Agent(provider, [add]).stream("go", max_tool_rounds=0)
    texts = [text async for text in stream]
    assert texts == ["Tool loop reached max rounds without final response"]


# ------------------------------------------------------------ one reader


async def test_nothing_is_asked_before_the_first_look():
    provider = ScriptedProvider(["Hello"])
    Agent(provider).stream("hi")
    await asyncio.sleep(0)
    assert provider.requests == []


async def test_a_second_reader_is_refused():
    stream = Agent(ScriptedProvider(["Hello"])).stream("hi")
    async for _ in stream:
        pass
    with pytest.raises(RuntimeError, match="one reader"):
        stream.events()
    with pytest.raises(RuntimeError, match=r"stream\.run\.events"):
        aiter(stream)


async def test_the_run_has_as_many_readers_as_one_likes():
    stream = Agent(ScriptedProvider(["Hello"])).stream("hi")
    async for _ in stream:
        pass
    assert len([event async for event in stream.run.events()]) == 3


# ------------------------------------------------------------ leaving


def long_answer():
    return ScriptedProvider(["Hello there" * 100], delay=0.01)


async def leave_early(stream):
    async for _ in stream:
        break


async def test_leaving_early_stops_the_run():
    agent = Agent(long_answer())
    stream = agent.stream("hi")
    await leave_early(stream)
    gc.collect()
    with pytest.raises(RunCancelledError):
        async with asyncio.timeout(20):
            await stream.result()
    assert "[stopped" in agent.memory.messages[-1]["content"]


async def test_closing_the_events_stops_the_run():
    stream = Agent(long_answer()).stream("hi")
    async with contextlib.aclosing(stream.events()) as events:
        await anext(events)
    with pytest.raises(RunCancelledError):
        await stream.result()


async def test_an_error_of_the_reader_stops_the_run():
    stream = Agent(long_answer()).stream("hi")

    async def stumble():
        async for _ in stream:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await stumble()
    with pytest.raises(RunCancelledError):
        await stream.result()


async def test_a_stream_can_be_cancelled_while_it_is_read():
    stream = Agent(long_answer()).stream("hi")

    async def cancel_while_reading():
        async for _ in stream:
            stream.cancel()

    with pytest.raises(RunCancelledError) as caught:
        await cancel_while_reading()
    assert caught.value.result.stop_reason == "cancelled"


async def test_a_failure_is_raised_after_the_text_that_came():
    script = [["Let me", call("add", a=1, b=2)], AgentProviderError("down")]
    texts = aiter(Agent(ScriptedProvider(script), [add]).stream("hi"))
    assert await anext(texts) == "Let me"
    with pytest.raises(AgentProviderError, match="down"):
        await anext(texts)


async def test_a_wrong_message_fails_at_the_first_look():
    with pytest.raises(AgentConfigurationError, match="empty"):
        await Agent(ScriptedProvider([])).stream(" ").result()


def test_a_stream_made_in_plain_code_is_read_on_any_loop():
    stream = Agent(ScriptedProvider(["Hello there"])).stream("hi")

    async def read():
        return [text async for text in stream]

    with asyncio.Runner() as runner:
        assert runner.run(read()) == ["Hello th", "ere"]


def test_a_loop_that_ends_takes_its_run_along():
    """No task is left behind that nobody awaits."""
    agent = Agent(long_answer())

    async def look():
        await anext(aiter(agent.stream("hi")))

    with asyncio.Runner() as runner:
        runner.run(look())
    assert agent.last_run.is_done
