"""What one turn does with texts, calls, failures and limits."""

from __future__ import annotations

import asyncio
import json
import threading

import pytest

from notebook_agents import Agent, BaseProvider, ScriptedProvider, ToolCall, call, tool
from notebook_agents.errors import AgentProviderError, StreamInterruptedError
from notebook_agents.messages import Message, Usage
from notebook_agents.providers.base import ModelReply, Provider, ProviderResponse
from notebook_agents.tools.observation import MODEL_CHARACTERS


def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


def kinds(result, *leave_out):
    return [e.event for e in result.events if e.event not in {"token", *leave_out}]


def observations(result):
    return [e.content for e in result.events if e.event == "observation"]


def tool_messages(result):
    return [m for m in result.new_messages if m["role"] == "tool"]


# ------------------------------------------------------------ texts and rounds


async def test_a_text_is_the_answer():
    """Acceptance check 3."""
    result = await Agent(ScriptedProvider(["hello"])).run("hi")
    assert str(result) == result.answer == "hello"


async def test_a_tool_round_comes_before_the_answer():
    agent = Agent(ScriptedProvider([call("add", a=1, b=2), "three"]), [add])
    result = await agent.run("1 + 2?")
    assert kinds(result) == ["task", "action", "observation", "answer"]
    assert [m["role"] for m in result.new_messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]


async def test_the_model_reads_the_result_of_its_call():
    provider = ScriptedProvider([call("add", a=1, b=2), "three"])
    await Agent(provider, [add]).run("1 + 2?")
    assert provider.requests[1].messages[-1] == Message(
        "tool", "3", tool_call_id="call_1", intermediate=True
    )


async def test_the_rounds_are_limited():
    """Acceptance check 4."""
    provider = ScriptedProvider([call("add", a=1)] * 5)
    agent = Agent(provider, [add])
    result = await agent.run("go", max_tool_rounds=2)
    assert len(provider.requests) == 3
    assert result.stop_reason == "max_tool_rounds"
    assert result.answer == "Tool loop reached max rounds without final response"
    assert agent.memory.all_messages[-1]["content"] == result.answer
    errors = [e for e in result.events if e.event == "error"]
    assert [e.reason for e in errors] == ["max_steps_reached"]


async def test_max_steps_counts_model_calls():
    provider = ScriptedProvider([call("add", a=1)] * 5)
    result = await Agent(provider, [add], max_steps=2).run("go")
    assert result.steps == len(provider.requests) == 2


async def test_the_rounds_of_a_run_win_over_the_steps_of_the_agent():
    provider = ScriptedProvider([call("add", a=1)] * 5)
    await Agent(provider, [add], max_steps=2).run("go", max_tool_rounds=0)
    assert len(provider.requests) == 1


async def test_no_rounds_still_let_the_model_answer():
    provider = ScriptedProvider(["ok"])
    assert (await Agent(provider).run("go", max_tool_rounds=0)).answer == "ok"


async def test_why_a_text_was_cut_is_told():
    script = [{"text": "once upon", "stop_reason": "length"}]
    assert (await Agent(ScriptedProvider(script)).run("go")).stop_reason == "length"


async def test_token_counts_add_up_and_the_context_is_the_last():
    """Acceptance check 36."""
    usage = {"prompt": 10, "completion": 5, "reasoning": 2}
    script = [
        {"tool_calls": [call("add", a=1)], "usage": usage},
        {"text": "2", "usage": Usage.of_call(20, 1)},
    ]
    result = await Agent(ScriptedProvider(script), [add]).run("go")
    assert (result.prompt_tokens, result.completion_tokens) == (30, 6)
    assert (result.context_tokens, result.reasoning_tokens) == (20, 2)


async def test_events_tell_a_reasoned_round_in_order():
    """Acceptance check 36."""
    told = []
    script = [
        {"reasoning": "hm", "text": "I add.", "tool_calls": [call("add", a=1)]},
        "2",
    ]
    await Agent(ScriptedProvider(script), [add], on_event=told.append).run("go")
    names = [event["event"] for event in told]
    assert names == ["task", "thought", "thought", "action", "observation", "answer"]
    assert [event["kind"] for event in told[1:3]] == ["reasoning", "plan"]
    for event in told:
        has_counts = event["event"] not in {"task", "tool_error"}
        assert ("prompt_tokens" in event) is has_counts


async def test_reasoning_is_not_sent_again():
    """Acceptance check 36."""
    provider = ScriptedProvider(
        [{"reasoning": "secret", "tool_calls": [call("add", a=1)]}, "2"]
    )
    result = await Agent(provider, [add]).run("go")
    assert "secret" not in str(provider.requests[1])
    assert "secret" not in str(result.messages)


# ------------------------------------------------------------ what goes wrong


def fail(x: int) -> int:
    """Fail."""
    message = f"no {x}"
    raise KeyError(message)


@pytest.mark.parametrize(
    ("scripted", "said"),
    [
        (call("fail", x=1), "Tool execution failed: KeyError: 'no 1'"),
        (call("nothing"), "Error: Tool 'nothing' is not registered."),
        (call("add", raw='{"a": 1'), "Error: "),
        (call("add", raw="[1]"), "Error: "),
        (call("add", b=2), "Error: "),
        (call("add", a="x"), "Error: "),
    ],
)
async def test_a_call_that_cannot_be_is_a_result_and_the_run_goes_on(scripted, said):
    """Acceptance checks 6 and 9."""
    result = await Agent(ScriptedProvider([scripted, "sorry"]), [add, fail]).run("go")
    assert kinds(result) == ["task", "action", "tool_error", "observation", "answer"]
    assert result.answer == "sorry"
    assert len(tool_messages(result)) == 1
    assert tool_messages(result)[0]["content"].startswith(said)
    assert result.tool_calls[0]["failed"]


async def test_people_see_the_traceback_and_the_model_one_line():
    result = await Agent(ScriptedProvider([call("fail", x=1), "."]), [fail]).run("go")
    error = next(e for e in result.events if e.event == "tool_error")
    assert "Traceback" in error.detail
    assert "in fail" in error.detail
    assert "execution.py" not in error.detail
    assert "\n" not in tool_messages(result)[0]["content"]


@pytest.mark.parametrize("raw", ['{"a": 1', "nonsense", "[1]", "", '{"a": NaN}'])
async def test_what_goes_back_on_the_wire_is_a_json_object(raw):
    """Design, section 17."""
    provider = ScriptedProvider([call("add", raw=raw), "."])
    await Agent(provider, [add]).run("go")
    [sent] = provider.requests[1].messages[-2].tool_calls
    assert sent.arguments == "{}"


async def test_null_and_a_missing_argument_mean_the_default():
    """Acceptance check 9."""
    script = [[call("add", a=1, b=None), call("add", a=1)], "."]
    result = await Agent(ScriptedProvider(script), [add]).run("go")
    assert observations(result) == ["2", "2"]


async def test_a_call_that_was_cut_by_the_token_limit_is_never_run():
    ran = []
    cut = {"tool_calls": [call("note", x=1)], "stop_reason": "length"}

    def note(x: int) -> None:
        ran.append(x)

    result = await Agent(ScriptedProvider([cut, "."]), [note], max_tokens=7).run("go")
    assert ran == []
    assert "cut off at the token limit (7)" in observations(result)[0]


async def test_a_long_observation_is_cut_once_and_says_how_much_is_missing():
    """Acceptance check 36."""

    def long() -> str:
        return "x" * (MODEL_CHARACTERS + 1)

    result = await Agent(ScriptedProvider([call("long"), "."]), [long]).run("go")
    assert observations(result) == [
        "x" * MODEL_CHARACTERS + "\n[... 1 more characters cut]"
    ]


async def test_a_long_error_is_cut_too():
    def long() -> str:
        raise ValueError("x" * 2 * MODEL_CHARACTERS)

    result = await Agent(ScriptedProvider([call("long"), "."]), [long]).run("go")
    assert len(observations(result)[0]) < MODEL_CHARACTERS + 50


async def test_an_error_that_cannot_be_written_breaks_nothing():
    class RudeError(Exception):
        def __str__(self):
            raise RuntimeError

    def rude() -> None:
        raise RudeError

    result = await Agent(ScriptedProvider([call("rude"), "."]), [rude]).run("go")
    assert observations(result) == ["Tool execution failed: RudeError"]


async def test_a_value_that_cannot_be_written_breaks_nothing():
    class Rude:
        def __repr__(self):
            raise RuntimeError

    def rude():
        return Rude()

    result = await Agent(ScriptedProvider([call("rude"), "."]), [rude]).run("go")
    assert observations(result) == ["<Rude whose repr raised RuntimeError>"]


async def test_a_provider_error_ends_the_run_and_keeps_nothing():
    agent = Agent(ScriptedProvider([AgentProviderError("down")]))
    with pytest.raises(AgentProviderError, match="down"):
        await agent.run("hi")
    assert agent.memory.all_messages == []


async def test_a_provider_error_after_a_round_keeps_the_round():
    script = [call("add", a=1), AgentProviderError("down")]
    agent = Agent(ScriptedProvider(script), [add])
    with pytest.raises(AgentProviderError):
        await agent.run("hi")
    roles = [m["role"] for m in agent.memory.all_messages]
    assert roles == ["user", "assistant", "tool", "assistant"]
    assert "failed" in agent.memory.all_messages[-1]["content"]


class _Cut(Provider):
    async def respond(self, request):
        from notebook_agents.providers.base import TextDelta

        yield TextDelta("half an ans")


async def test_a_stream_without_its_end_is_an_error():
    with pytest.raises(StreamInterruptedError):
        await Agent(_Cut()).run("hi")


async def test_an_unexpected_error_of_a_provider_reaches_the_caller():
    with pytest.raises(ZeroDivisionError):
        await Agent(ScriptedProvider([ZeroDivisionError()])).run("hi")


# ------------------------------------------------------------ side by side


async def test_calls_of_one_step_run_at_the_same_time_and_answer_in_order():
    """Acceptance check 7."""
    second_ran = asyncio.Event()

    async def first() -> str:
        await second_ran.wait()
        return "first"

    async def second() -> str:
        second_ran.set()
        return "second"

    script = [[call("first"), call("second")], "."]
    result = await Agent(ScriptedProvider(script), [first, second]).run("go")
    assert [m["content"] for m in tool_messages(result)] == ["first", "second"]
    assert observations(result) == ["second", "first"]


class Overlap:
    """A tool that notes how many of its calls ran at once."""

    def __init__(self):
        self.now = self.most = 0

    async def __call__(self) -> None:
        self.now += 1
        self.most = max(self.most, self.now)
        for _ in range(3):
            await asyncio.sleep(0)
        self.now -= 1


@pytest.mark.parametrize(
    "options",
    [{"parallel_tools": False}, {"tool_calling": {"parallel_tool_calls": False}}],
)
async def test_calls_can_be_made_to_run_one_after_the_other(options):
    """Acceptance check 7."""
    overlap = Overlap()
    work = tool(name="work")(overlap.__call__)
    script = [[call("work")] * 3, "."]
    await Agent(ScriptedProvider(script), [work], **options).run("go")
    assert overlap.most == 1


async def test_threads_run_at_the_same_time_too():
    both = threading.Barrier(2, timeout=5)

    def meet() -> str:
        both.wait()
        return "met"

    script = [[call("meet"), call("meet")], "."]
    result = await Agent(ScriptedProvider(script), [meet]).run("go")
    assert observations(result) == ["met", "met"]


async def test_a_sequential_tool_is_a_barrier():
    order = []

    async def free(name: str) -> None:
        order.append(f"{name} begins")
        await asyncio.sleep(0)
        order.append(f"{name} ends")

    @tool(sequential=True)
    async def alone() -> None:
        order.append("alone begins")
        await asyncio.sleep(0)
        order.append("alone ends")

    calls = [call("free", name="a"), call("free", name="b"), call("alone")]
    script = [[*calls, call("free", name="c")], "."]
    await Agent(ScriptedProvider(script), [free, alone]).run("go")
    assert order[:2] == ["a begins", "b begins"]
    assert order[4:6] == ["alone begins", "alone ends"]
    assert order[6] == "c begins"


# ------------------------------------------------------------ identifiers


def ids(*names):
    calls = tuple(ToolCall(name, "add", '{"a": 1}') for name in names)
    return ModelReply(tool_calls=calls)


class _Replies(Provider):
    def __init__(self, *replies):
        self.replies = iter(replies)

    async def respond(self, request):
        yield next(self.replies)


@pytest.mark.parametrize(
    "names", [("", ""), ("x", "x"), ("a_3", "a", "a"), ("a", "a", "a_1")]
)
async def test_every_call_of_a_step_has_an_identifier_of_its_own(names):
    provider = _Replies(ids(*names), ModelReply(text="."))
    result = await Agent(provider, [add]).run("go")
    given = [m["tool_call_id"] for m in tool_messages(result)]
    assert len(set(given)) == len(names)
    assert all(given)


async def test_an_identifier_that_comes_again_in_a_later_step_is_changed():
    big = (ToolCall("x", "add", '{"a": 10}'),)
    provider = _Replies(ids("x"), ModelReply(tool_calls=big), ModelReply(text="."))
    result = await Agent(provider, [add]).run("go")
    assert len({m["tool_call_id"] for m in tool_messages(result)}) == 2
    assert [entry["args"] for entry in result.tool_calls] == [{"a": 1}, {"a": 10}]


# ------------------------------------------------------------ foreign providers


class Foreign(BaseProvider):
    """As somebody else would write it: ``chat`` only."""

    def __init__(self, *responses):
        self.responses = list(responses)
        self.seen = []

    async def chat(self, messages, *, tools=None, tool_calling=None):
        self.seen.append((messages, tools, tool_calling))
        return self.responses.pop(0)

    def stream(self, messages, *, tools=None, tool_calling=None):
        raise NotImplementedError


async def test_a_provider_with_chat_alone_runs_tools():
    asks = ProviderResponse("", [ToolCall("1", "add", '{"a": 1}')])
    provider = Foreign(asks, ProviderResponse("two"))
    assert (await Agent(provider, [add]).run("go")).answer == "two"
    assert provider.seen[1][0][-1] == {
        "role": "tool",
        "content": "2",
        "tool_call_id": "1",
    }


async def test_a_foreign_provider_cannot_change_the_tools_of_the_agent():
    class Changes(Foreign):
        async def chat(self, messages, *, tools=None, tool_calling=None):
            del tools[0]["function"]["strict"]
            tools[0]["function"]["parameters"].clear()
            messages.clear()
            return ProviderResponse("hi")

    agent = Agent(Changes(), [add])
    before = json.dumps(agent.tools["add"].schema)
    await agent.run("go")
    assert json.dumps(agent.tools["add"].schema) == before
    assert len(agent.memory.messages) == 2


async def test_a_foreign_provider_gets_no_empty_list_of_tools():
    provider = Foreign(ProviderResponse("hi"))
    await Agent(provider).run("go")
    assert provider.seen[0][1:] == (None, None)


async def test_the_text_of_a_foreign_provider_is_streamed_as_one_token():
    provider = Foreign(ProviderResponse("hello there"))
    assert [t async for t in Agent(provider).stream("go")] == ["hello there"]


async def test_a_foreign_provider_that_says_none_means_nothing():
    provider = Foreign(ProviderResponse(None, None))
    assert (await Agent(provider).run("go")).answer == ""


async def test_a_foreign_provider_that_returns_something_else_is_told_so():
    with pytest.raises(AgentProviderError, match="returned dict"):
        await Agent(Foreign({"content": "hi"})).run("go")
