"""What is said where loops cannot be nested; the rest needs a kernel."""

from __future__ import annotations

import asyncio
import sys

import pytest

from notebook_agents import Agent, ScriptedProvider, allow_nested_loops, call, tool
from notebook_agents.errors import AgentConfigurationError, MissingExtraError
from notebook_agents.nested_loops import nesting_hint


@pytest.fixture(autouse=True)
def _is_not_patched():
    """No test here may patch the loops of all the others."""
    yield
    assert not hasattr(asyncio, "_nest_patched")


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "nest_asyncio2", None)
    with pytest.raises(MissingExtraError, match=r"notebook-agents\[notebook\]"):
        allow_nested_loops()


async def test_a_loop_of_another_kind_is_refused_before_anything_is_patched(
    monkeypatch,
):
    class ForeignLoop(asyncio.AbstractEventLoop):
        """As uvloop's, which is not made in Python."""

    monkeypatch.setattr("notebook_agents.nested_loops.running_loop", ForeignLoop)
    with pytest.raises(AgentConfigurationError, match=r"ForeignLoop cannot be nested"):
        allow_nested_loops()


def failing(function):
    async def run():
        agent = Agent(
            ScriptedProvider([call("work"), "."]), [tool(name="work")(function)]
        )
        return (await agent.run("x")).tool_calls[0]["content"]

    return run()


async def test_an_async_tool_is_told_of_nested_loops():
    async def work() -> None:
        coroutine = asyncio.sleep(0)
        try:
            asyncio.run(coroutine)  # noqa: TID251 - what tools should not do
        finally:
            coroutine.close()

    said = await failing(work)
    assert said.endswith("(call notebook_agents.allow_nested_loops() first)")
    assert "thread=True" not in said


def test_a_new_loop_in_a_running_one_is_helped_by_a_thread():
    error = RuntimeError("Cannot run the event loop while another loop is running")
    assert "@tool(thread=True), or call" in nesting_hint(error, is_async=False)


@pytest.mark.parametrize(
    "error", [RuntimeError("something else"), ValueError("asyncio.run()"), OSError()]
)
def test_other_errors_get_no_hint(error):
    assert nesting_hint(error, is_async=False) == ""
