"""The scripted provider plays its script and nothing else."""

from __future__ import annotations

import pytest

from notebook_agents import Agent, ScriptedProvider, call
from notebook_agents.errors import AgentProviderError
from notebook_agents.messages import Message, ToolCall, Usage
from notebook_agents.providers.base import (
    ModelReply,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
)

REQUEST = ModelRequest(messages=[Message("user", "one two")])


async def played(item, **options):
    provider = ScriptedProvider([item], **options)
    return [delta async for delta in provider.respond(REQUEST)]


async def test_a_text_comes_in_small_pieces():
    """Design, section 17."""
    deltas = await played("abcde", chunk=2)
    assert deltas[:-1] == [TextDelta("ab"), TextDelta("cd"), TextDelta("e")]
    assert deltas[-1].text == "abcde"


async def test_texts_and_calls_can_be_mixed():
    reply = (await played(["a", call("f", x=1), "b", call("g")]))[-1]
    assert (reply.text, reply.stop_reason) == ("ab", "tool_calls")
    assert reply.tool_calls == (
        ToolCall("call_1", "f", '{"x": 1}'),
        ToolCall("call_2", "g", "{}"),
    )


async def test_a_dict_says_everything():
    item = {
        "text": "a",
        "reasoning": "hm",
        "tool_calls": [call("f")],
        "usage": {"prompt": 3, "completion": 2, "reasoning": 1},
        "stop_reason": "length",
    }
    deltas = await played(item)
    assert deltas == [
        ReasoningDelta("hm"),
        TextDelta("a"),
        ModelReply(
            text="a",
            tool_calls=(ToolCall("call_1", "f", "{}"),),
            reasoning="hm",
            usage=Usage.of_call(3, 2, 1),
            stop_reason="length",
        ),
    ]


async def test_an_exception_is_raised():
    with pytest.raises(ZeroDivisionError):
        await played(ZeroDivisionError())


async def test_arguments_may_be_written_as_the_model_would():
    [reply] = await played(call("f", raw="{broken"))
    assert reply.tool_calls[0].arguments == "{broken"


async def test_a_parameter_may_be_called_tool():
    [reply] = await played(call("f", tool="x", name="y"))
    assert reply.tool_calls[0].arguments == '{"tool": "x", "name": "y"}'


async def test_words_are_counted_as_tokens():
    assert (await played("a b c"))[-1].usage == Usage.of_call(2, 3)


async def test_a_script_that_has_run_out_says_so():
    provider = ScriptedProvider(["a"])
    agent = Agent(provider)
    await agent.run("1")
    with pytest.raises(AgentProviderError, match="no line left"):
        await agent.run("2")


async def test_lines_that_are_left_are_a_fault():
    provider = ScriptedProvider(["a", "b", "c"])
    await Agent(provider).run("1")
    with pytest.raises(AssertionError, match=r"2 line.*'b'"):
        provider.assert_done()


async def test_a_script_may_be_written_while_it_is_played():
    def script():
        yield call("add", a=1)
        yield f"the tool said {provider.requests[-1].messages[-1].content}"

    def add(a: int) -> int:
        return a + 1

    provider = ScriptedProvider(script())
    assert (await Agent(provider, [add]).run("go")).answer == "the tool said 2"
    provider.assert_done()
