"""A tool that asks for another try, and how often it is given one."""

from __future__ import annotations

import pytest

from notebook_agents import Agent, ScriptedProvider, ToolRetry, call, tool


def contents(result):
    return [entry["content"] for entry in result.tool_calls]


def agent_with(function, calls, **options):
    work = tool(name="work", **options)(function)
    script = [call("work", **arguments) for arguments in calls]
    return Agent(ScriptedProvider([*script, "."]), [work], max_steps=len(calls) + 1)


def asking(day: str) -> str:
    """Want another way of writing."""
    if "." in day:
        message = "Write the day as YYYY-MM-DD."
        raise ToolRetry(message)
    return f"sales of {day}"


async def asking_async(day: str) -> str:
    """Want another way of writing."""
    return asking(day)


@pytest.mark.parametrize("function", [asking, asking_async])
async def test_the_model_gets_the_words_of_the_tool_and_tries_again(function):
    agent = agent_with(function, [{"day": "6.1."}, {"day": "2025-01-06"}])
    result = await agent.run("go")
    assert contents(result) == ["Write the day as YYYY-MM-DD.", "sales of 2025-01-06"]
    error = next(e for e in result.events if e.event == "tool_error")
    assert (error.error, error.reason, error.detail) == (
        "Write the day as YYYY-MM-DD.",
        "ToolRetry",
        "",
    )
    assert [e.status for e in result.events if e.event == "observation"] == [
        "failed",
        "done",
    ]


@pytest.mark.parametrize("retries", [0, 1, 2])
async def test_after_the_last_try_it_is_a_plain_failure(retries):
    agent = agent_with(asking, [{"day": "6.1."}] * (retries + 2), retries=retries)
    result = await agent.run("go")
    told = contents(result)
    assert told[:retries] == ["Write the day as YYYY-MM-DD."] * retries
    assert (
        told[retries:]
        == [
            "Tool execution failed: ToolRetry: Write the day as YYYY-MM-DD. "
            "Do not call 'work' in this run again."
        ]
        * 2
    )
    error = [e for e in result.events if e.event == "tool_error"][-1]
    assert error.reason == "raised"
    assert "asking" in error.detail


async def test_wrong_arguments_count_as_well():
    agent = agent_with(asking, [{}, {"day": "6.1."}, {"dya": 1}], retries=2)
    told = contents(await agent.run("go"))
    assert told[0].startswith("Error: Invalid arguments for 'work': 'day' is missing")
    assert told[1] == "Write the day as YYYY-MM-DD."
    assert told[2].endswith(". Do not call 'work' in this run again.")


async def test_the_next_run_begins_anew():
    work = tool(name="work", retries=0)(asking)
    script = [call("work", day="6.1."), "."] * 2
    agent = Agent(ScriptedProvider(script), [work])
    first = contents(await agent.run("go"))
    assert contents(await agent.run("go")) == first


async def test_each_tool_has_tries_of_its_own():
    one = tool(name="one", retries=1)(asking)

    def other(day: str) -> str:
        return asking(day)

    script = [[call("one", day="."), call("other", day=".")], "."]
    agent = Agent(ScriptedProvider(script), [one, tool(name="other")(other)])
    assert contents(await agent.run("go")) == ["Write the day as YYYY-MM-DD."] * 2


async def test_a_generator_and_a_tool_without_words_may_ask_too():
    def work():
        yield "looking"
        raise ToolRetry

    agent = agent_with(work, [{}])
    assert contents(await agent.run("go")) == ["Try again with other arguments."]


async def test_guards_see_the_words_as_well():
    work = tool(name="work", retries=1)(asking)
    script = [call("work", day="6.1."), call("work", day="6.1."), "."]
    agent = Agent(ScriptedProvider(script), [work], tool_guards=str.lower)
    result = await agent.run("go")
    assert contents(result) == [
        "write the day as yyyy-mm-dd.",
        "Tool execution failed: toolretry: write the day as yyyy-mm-dd. "
        "Do not call 'work' in this run again.",
    ]
    errors = [e for e in result.events if e.event == "tool_error"]
    assert [e.error for e in errors] == [
        "write the day as yyyy-mm-dd.",
        "toolretry: write the day as yyyy-mm-dd.",
    ]
    assert {e.detail for e in errors} == {""}


async def test_it_is_an_error_as_any_other_when_called_by_hand():
    with pytest.raises(ToolRetry, match="YYYY"):
        asking("6.1.")
