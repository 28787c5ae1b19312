"""The parts for other people's tests."""

from __future__ import annotations

import pytest

from notebook_agents import Agent, ScriptedProvider, call
from notebook_agents.testing import EchoProvider, EventRecorder, FunctionProvider


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def test_a_function_may_call_tools_and_read_their_results():
    def model(request):
        last = request.messages[-1]
        if last.role == "tool":
            return f"It is {last.content}."
        return [call("add", a=2, b=3), "Let me see."]

    result = await Agent(FunctionProvider(model), [add]).run("2 + 3?")
    assert str(result) == "It is 5."


async def test_a_function_may_be_async_and_raise():
    async def model(request):
        return ValueError("out of order")

    with pytest.raises(ValueError, match="out of order"):
        await Agent(FunctionProvider(model)).run("Hello")


async def test_an_echo_says_what_the_user_said_last():
    agent = Agent(EchoProvider("> "))
    await agent.run("first")
    assert str(await agent.run("second")) == "> second"


async def test_a_recorder_keeps_what_happened_in_order():
    recorder = EventRecorder()
    script = [call("add", a=1, b=2), "Three."]
    await Agent(ScriptedProvider(script), [add], on_event=recorder).run("1 + 2?")
    assert recorder.kinds == ["task", "action", "observation", "answer"]
    recorder.assert_order("task", "observation", "answer")
    with pytest.raises(AssertionError, match="'action'"):
        recorder.assert_order("answer", "action")
    recorder.clear()
    assert recorder.events == []
