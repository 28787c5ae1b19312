"""The local provider on the real weights, fetched once into the user's cache."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import os
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from notebook_agents import Agent
from notebook_agents.errors import AgentProviderError, ContextLengthError
from notebook_agents.messages import Message, ToolCall
from notebook_agents.providers.base import (
    Delta,
    ModelReply,
    ModelRequest,
    RetryDelta,
    TextDelta,
)
from notebook_agents.providers.local import LocalProvider
from notebook_agents.providers.local.engine import engine_for

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

pytestmark = pytest.mark.local_model


@pytest.fixture
def provider(weights: Path, monkeypatch: pytest.MonkeyPatch) -> LocalProvider:
    monkeypatch.setenv("NOTEBOOK_AGENTS_LOCAL_MODEL", str(weights))
    return LocalProvider()


def tool(name: str, description: str, **parameters: str) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {key: {"type": kind} for key, kind in parameters.items()},
        "required": list(parameters),
        "additionalProperties": False,
    }
    function = {"name": name, "description": description, "parameters": schema}
    return {"type": "function", "function": function}


ADD = tool("add", "Add two numbers.", a="integer", b="integer")
WEATHER = tool("get_weather", "Get the current weather of a city.", city="string")
SUM = Message("user", "What is 17 + 25?")
STORY = ModelRequest(
    messages=[Message("user", "Tell a very long story about a dragon and a king.")],
    max_tokens=3000,
)
SHORT = ModelRequest(messages=[Message("user", "Say hello.")], max_tokens=4)


async def all_of(provider: LocalProvider, request: ModelRequest) -> list[Delta]:
    async with asyncio.timeout(50):
        return [delta async for delta in provider.respond(request)]


async def reply_of(provider: LocalProvider, *said: Message, **facts: Any) -> ModelReply:
    deltas = await all_of(provider, ModelRequest(messages=said, **facts))
    assert isinstance(deltas[-1], ModelReply)
    return deltas[-1]


async def first_of(deltas: AsyncGenerator[Delta, None]) -> Delta:
    """Give what comes first of the reply itself."""
    delta = await anext(deltas)
    return await anext(deltas) if isinstance(delta, RetryDelta) else delta


async def work_for_the_next_request(provider: LocalProvider) -> float:
    """Seconds of the processor, which are as many on a busy machine."""
    start = time.process_time()
    await all_of(provider, SHORT)
    return time.process_time() - start


async def test_text_arrives_in_several_deltas_that_add_up_to_the_reply(
    provider: LocalProvider,
) -> None:
    asked = Message("user", "What is the capital of France?")
    deltas = await all_of(provider, ModelRequest(messages=[asked], max_tokens=30))
    *pieces, reply = deltas
    assert isinstance(reply, ModelReply)
    assert len(pieces) > 3
    assert "".join(p.text for p in pieces if isinstance(p, TextDelta)) == reply.text
    assert "Paris" in reply.text


async def test_only_the_first_request_says_that_the_model_is_being_loaded(
    weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a word, half a minute on a busy machine looks like a hang."""
    monkeypatch.setenv("NOTEBOOK_AGENTS_LOCAL_MODEL", str(weights))
    alone = LocalProvider(n_ctx=640)  # shares its engine with nobody
    first, again = [
        [
            each.reason
            for each in await all_of(alone, SHORT)
            if isinstance(each, RetryDelta)
        ]
        for _ in range(2)
    ]
    assert ["loading smollm2-135m" in reason for reason in first] == [True]
    assert again == []
    await alone.aclose()


async def test_the_engine_counts_the_tokens(provider: LocalProvider) -> None:
    reply = await reply_of(provider, Message("user", "Say hello."), max_tokens=4)
    assert reply.usage.completion_tokens == 4
    assert reply.usage.context_tokens == reply.usage.prompt_tokens > 10


async def test_a_conversation_is_written_as_the_model_was_taught_to_read_it(
    provider: LocalProvider,
) -> None:
    """The template in its file adds a system message, unless there is one."""
    asked = Message("user", "Say hello.")
    bare = await reply_of(provider, asked, max_tokens=1)
    told = await reply_of(provider, Message("system", "Hi."), asked, max_tokens=1)
    assert bare.usage.prompt_tokens > told.usage.prompt_tokens > 10


async def test_text_cut_by_the_limit_says_length(provider: LocalProvider) -> None:
    reply = await reply_of(provider, Message("user", "Tell a story."), max_tokens=4)
    assert reply.stop_reason == "length"


async def test_the_same_question_gets_the_same_answer(provider: LocalProvider) -> None:
    asked = Message("user", "Name a colour.")
    first = await reply_of(provider, asked, max_tokens=20, temperature=0.7)
    again = await reply_of(provider, asked, max_tokens=20, temperature=0.7)
    assert first.text == again.text


async def test_cancelling_while_it_writes_frees_the_engine_at_once(
    provider: LocalProvider,
) -> None:
    deltas = provider.respond(STORY)
    await first_of(deltas)
    await deltas.aclose()
    start = time.monotonic()
    await all_of(provider, SHORT)
    assert time.monotonic() - start < 15


async def test_cancelling_while_it_reads_a_long_prompt_frees_the_engine_soon(
    provider: LocalProvider,
) -> None:
    """All of it takes more than four times as long as a quarter of it."""
    start, began = time.process_time(), time.monotonic()
    await reply_of(provider, Message("user", "any " * 300), max_tokens=1)
    work, quarter = time.process_time() - start, time.monotonic() - began
    long = ModelRequest(messages=[Message("user", "some " * 1300)], max_tokens=5)
    deltas = provider.respond(long)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(quarter / 2):
            await first_of(deltas)
    assert await work_for_the_next_request(provider) < 2.5 * work


async def test_a_cancelled_request_that_waits_is_taken_out_of_the_line(
    provider: LocalProvider,
) -> None:
    running = provider.respond(STORY)
    await first_of(running)
    waiting = asyncio.ensure_future(first_of(provider.respond(STORY)))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(waiting, 0.1)
    assert provider._options is not None
    assert not engine_for(provider._options, provider)._line
    await running.aclose()


async def test_the_model_calls_a_fitting_tool(provider: LocalProvider) -> None:
    reply = await reply_of(provider, SUM, tools=[ADD, WEATHER])
    assert reply.stop_reason == "tool_calls"
    assert [call.name for call in reply.tool_calls] == ["add"]
    assert json.loads(reply.tool_calls[0].arguments) == {"a": 17, "b": 25}


async def test_small_talk_calls_no_tool(provider: LocalProvider) -> None:
    hello = Message("user", "Hello!")
    reply = await reply_of(provider, hello, tools=[ADD, WEATHER], max_tokens=10)
    assert not reply.tool_calls
    assert reply.text


async def test_a_forced_call_has_arguments_that_fit_the_schema(
    provider: LocalProvider,
) -> None:
    choice = {"type": "function", "function": {"name": "get_weather"}}
    reply = await reply_of(
        provider,
        Message("user", "Hello from Oslo"),
        tools=[ADD, WEATHER],
        tool_calling={"tool_choice": choice},
    )
    assert [call.name for call in reply.tool_calls] == ["get_weather"]
    arguments = json.loads(reply.tool_calls[0].arguments)
    assert list(arguments) == ["city"]
    assert isinstance(arguments["city"], str)


async def test_a_required_call_is_made_although_none_fits(
    provider: LocalProvider,
) -> None:
    reply = await reply_of(
        provider,
        Message("user", "Hello!"),
        tools=[ADD, WEATHER],
        tool_calling={"tool_choice": "required"},
    )
    assert len(reply.tool_calls) == 1


async def test_tool_choice_none_calls_none(provider: LocalProvider) -> None:
    reply = await reply_of(
        provider,
        SUM,
        tools=[ADD],
        tool_calling={"tool_choice": "none"},
        max_tokens=10,
    )
    assert not reply.tool_calls


async def test_a_tool_without_parameters_gets_an_empty_object(
    provider: LocalProvider,
) -> None:
    ping = tool("ping", "Ping the server.")
    required = {"tool_choice": "required"}
    reply = await reply_of(provider, SUM, tools=[ping], tool_calling=required)
    assert reply.tool_calls[0].arguments == "{}"


async def test_a_schema_that_cannot_be_enforced_still_gives_an_object(
    provider: LocalProvider,
) -> None:
    odd = tool("odd", "Do it.", a="no-such-type")
    required = {"tool_choice": "required"}
    reply = await reply_of(provider, SUM, tools=[odd], tool_calling=required)
    assert isinstance(json.loads(reply.tool_calls[0].arguments), dict)


async def test_optional_parameters_may_be_null(provider: LocalProvider) -> None:
    optional = {"anyOf": [{"type": "string"}, {"type": "null"}]}
    search = tool("search", "Search a table.", text="string")
    search["function"]["parameters"]["properties"]["where"] = optional
    search["function"]["parameters"]["required"].append("where")
    required = {"tool_choice": "required"}
    reply = await reply_of(provider, SUM, tools=[search], tool_calling=required)
    assert set(json.loads(reply.tool_calls[0].arguments)) == {"text", "where"}


async def test_calls_have_different_ids(provider: LocalProvider) -> None:
    replies = [await reply_of(provider, SUM, tools=[ADD]) for _ in range(2)]
    assert len({reply.tool_calls[0].id for reply in replies}) == 2


async def test_arguments_that_are_cut_say_length(provider: LocalProvider) -> None:
    reply = await reply_of(
        provider,
        SUM,
        tools=[ADD],
        tool_calling={"tool_choice": "required"},
        max_tokens=3,
    )
    assert reply.stop_reason == "length"


async def test_a_result_is_quoted_in_the_answer(provider: LocalProvider) -> None:
    said = Message("assistant", "", (ToolCall("c1", "add", '{"a": 17, "b": 25}'),))
    result = Message("tool", "42", tool_call_id="c1")
    reply = await reply_of(provider, SUM, said, result, tools=[ADD, WEATHER])
    assert reply.stop_reason == "stop"
    assert "42." in reply.text


async def test_a_long_result_is_quoted_with_the_name_of_its_tool(
    provider: LocalProvider,
) -> None:
    said = Message("assistant", "", (ToolCall("c1", "delete_rows", "{}"),))
    denied = 'The user denied this call: not\ttoday,\nor ever \\ "really"'
    reply = await reply_of(
        provider, SUM, said, Message("tool", denied, tool_call_id="c1")
    )
    assert reply.text == "delete_rows says: " + denied.replace("\t", " ")


async def test_a_conversation_that_does_not_fit_is_a_context_length_error(
    provider: LocalProvider,
) -> None:
    long = Message("user", "word " * 5000)
    with pytest.raises(ContextLengthError, match=r"reads 4096 at most: .*n_ctx="):
        await reply_of(provider, long)


async def test_a_file_that_is_no_model_says_so(tmp_path: Path) -> None:
    path = tmp_path / "bad.gguf"
    path.write_bytes(b"not a model")
    with pytest.raises(AgentProviderError, match=r"bad\.gguf could not be loaded"):
        await reply_of(LocalProvider(str(path)), SUM)


async def test_any_gguf_file_can_be_named(weights: Path) -> None:
    provider = LocalProvider(str(weights))
    reply = await reply_of(provider, Message("user", "Say hello."), max_tokens=4)
    assert reply.text


async def test_two_providers_share_one_engine_and_the_last_one_frees_it(
    provider: LocalProvider,
) -> None:
    other = LocalProvider()
    await all_of(provider, SHORT)
    await all_of(other, SHORT)
    assert provider._options == other._options is not None
    engine = engine_for(other._options, other)
    assert engine is engine_for(other._options, provider)
    engine.holders.clear()
    engine.holders.update({provider, other})
    await provider.aclose()
    assert not engine._is_closed
    await other.aclose()
    assert engine._is_closed
    assert (await all_of(provider, SHORT))[-1]


async def test_unloading_fails_what_runs_and_the_next_request_loads_again(
    provider: LocalProvider,
) -> None:
    running = provider.respond(STORY)
    await first_of(running)
    provider.unload()
    with pytest.raises(AgentProviderError, match="was unloaded"):
        async for _ in running:
            pass
    assert await all_of(provider, SHORT)


def run_in_new_loop(provider: LocalProvider) -> list[Delta]:
    with asyncio.Runner() as runner:
        return runner.run(all_of(provider, SHORT))


def test_one_provider_serves_several_loops_one_after_the_other(
    provider: LocalProvider,
) -> None:
    assert run_in_new_loop(provider)[-1] == run_in_new_loop(provider)[-1]


def test_one_provider_serves_several_loops_at_once(provider: LocalProvider) -> None:
    replies: list[Delta] = []
    threads = [
        threading.Thread(target=lambda: replies.append(run_in_new_loop(provider)[-1]))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(replies) == 3


def test_a_loop_that_is_gone_does_not_block_the_engine(
    provider: LocalProvider,
) -> None:
    async def begin() -> None:
        await first_of(provider.respond(STORY))

    loop = asyncio.new_event_loop()
    loop.run_until_complete(begin())
    loop.close()
    assert run_in_new_loop(provider)


async def test_the_loop_goes_on_while_the_model_is_loaded_and_asked(
    provider: LocalProvider,
) -> None:
    provider.unload()
    task = asyncio.ensure_future(all_of(provider, SHORT))
    turns = 0
    while not task.done():
        await asyncio.sleep(0)
        turns += 1
    assert turns > 100


async def test_nobody_else_may_use_the_port_of_the_engine(
    provider: LocalProvider,
) -> None:
    import httpx

    await all_of(provider, SHORT)
    assert provider._options is not None
    server = engine_for(provider._options, provider)._server
    async with httpx.AsyncClient(base_url=server.listening_address) as client:
        assert (await client.get("/")).status_code == 404
        asked = await client.post("/v1/chat/completions", json={"messages": []})
        assert asked.status_code == 401


# ------------------------------------------------------------ answers of a shape


class Person(BaseModel):
    """Somebody."""

    name: str
    age: int


async def test_an_answer_has_the_type_that_was_asked_for(
    provider: LocalProvider,
) -> None:
    agent = Agent(provider, output_type=Person)
    result = await agent.run("Ada Lovelace is 36 years old.")
    assert result.output == Person(name="Ada Lovelace", age=36)
    assert result.steps == 1


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Literal["good", "bad"], "I love this product, it works great!"),
        (list[str], "Name the three primary colours."),
        (bool, "Is Paris in France?"),
        (Annotated[str, Field(pattern=r"^\w{3}-\d{2}$")], "The code is ABC-12."),
        (dict[str, int], "Ada has 3 apples and Bob has 5."),
        (tuple[int, str], "Three cats."),
        (dt.date, "The invoice says nothing of when it is due."),
        (dt.datetime | None, "The meeting is on 2026-12-31 at 14:30."),
    ],
    ids=str,
)
async def test_the_engine_holds_the_model_to_the_type(
    provider: LocalProvider, kind: Any, message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    agent = Agent(provider, output_type=kind, max_tokens=200)
    result = await agent.run(message)
    assert json.loads(result.answer) is not None
    assert result.output is not None
    assert capfd.readouterr().err == ""


async def test_a_shaped_answer_arrives_in_pieces(provider: LocalProvider) -> None:
    stream = Agent(provider, output_type=Person).stream("Ada is 36 years old.")
    pieces = [text async for text in stream]
    assert len(pieces) > 3
    assert json.loads("".join(pieces)) == {"name": "Ada", "age": 36}


async def test_a_tool_is_called_before_the_typed_answer(
    provider: LocalProvider,
) -> None:
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    result = await Agent(provider, [add], output_type=int).run("What is 17 + 25?")
    assert [each["args"] for each in result.tool_calls] == [{"a": 17, "b": 25}]
    assert result.output == 42


async def test_any_other_model_is_told_the_schema(weights: Path) -> None:
    provider = LocalProvider(str(weights), guided=False)
    agent = Agent(provider, output_type=Person, max_tokens=100)
    assert isinstance((await agent.run("Ada is 36 years old.")).output, Person)


# ------------------------------------------------------- the end of the process

_PROGRAM = """
import asyncio, os, sys, threading
from notebook_agents.messages import Message
from notebook_agents.providers.base import ModelRequest
from notebook_agents.providers.local import LocalProvider

async def ask(said, tokens, started):
    request = ModelRequest(messages=[Message("user", said)], max_tokens=tokens)
    async for delta in LocalProvider().respond(request):
        started.set()

def run(*arguments):
    asyncio.run(ask(*arguments))

started = threading.Event()
"""
_LEAVE_WHILE_IT_WRITES = """
threading.Thread(target=run, args=("A long story", 3000, started), daemon=True).start()
assert started.wait(30)
sys.exit(7)
"""
_FORK = """
run("hi", 3, started)
child = os.fork()
run("hi", 3, started)
if child:
    assert os.waitpid(child, 0)[1] == 0
print("done")
"""


def run_program(source: str, weights: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _PROGRAM + source],
        env=os.environ | {"NOTEBOOK_AGENTS_LOCAL_MODEL": str(weights)},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


def test_a_process_can_end_while_the_model_writes(weights: Path) -> None:
    ended = run_program(_LEAVE_WHILE_IT_WRITES, weights)
    assert (ended.returncode, ended.stderr) == (7, "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_loads_the_model_itself_and_ends(weights: Path) -> None:
    ended = run_program(_FORK, weights)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.split() == ["done", "done"]
