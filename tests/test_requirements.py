"""The acceptance checks of the core, each as one test through the public face.

Other tests cover the parts more deeply; here each check stands whole, with its
number in the docstring.
"""

from __future__ import annotations

import asyncio
import json
import time

import httpx
import pytest

from notebook_agents import (
    Agent,
    AgentAPI,
    AgentConfigurationError,
    GuardrailBlockedError,
    GuardrailService,
    HistoryBuffer,
    LLMClient,
    Orchestrator,
    ScriptedProvider,
    block_keywords,
    cached_tool,
    call,
    llm_guard,
    strip_pii,
    tool,
)
from notebook_agents.providers import registry
from notebook_agents.testing import EventRecorder, FunctionProvider
from notebook_agents.testing.wire import whole, wire_server

SIX = {
    "answer",
    "messages",
    "context_tokens",
    "prompt_tokens",
    "completion_tokens",
    "reasoning_tokens",
}
FALLBACK = "Tool loop reached max rounds without final response"


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def sent(model: ScriptedProvider, number: int) -> str:
    """Write down the messages of one request."""
    return repr(model.requests[number].messages)


# ------------------------------------------------------------ the agent


async def test_an_agent_needs_no_key_until_its_first_run(refused_connections):
    """Check 2."""
    agent = Agent(provider="openai")
    assert refused_connections == []
    with pytest.raises(AgentConfigurationError, match="OPENAI_API_KEY"):
        await agent.run("hi")
    assert refused_connections == []


async def test_a_result_is_its_text_and_a_mapping_and_a_route_sends_the_text():
    """Check 3."""
    agent = Agent(ScriptedProvider(["hello", "hello"]))
    result = await agent.run("hi")
    assert str(result) == "hello"
    assert set(dict(result)) >= SIX
    app = AgentAPI()

    @app.chat("/ask")
    async def ask():
        return await agent.run("hi")

    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://app") as client:
        assert (await client.post("/ask")).text == '"hello"'


async def test_two_rounds_are_three_calls_and_then_the_fallback():
    """Check 4."""
    recorder = EventRecorder()
    model = ScriptedProvider([call("add", a=1, b=2)] * 3)
    agent = Agent(model, [add], on_event=recorder)
    result = await agent.run("go", max_tool_rounds=2)
    assert len(model.requests) == 3
    assert result.answer == FALLBACK
    assert agent.memory.all_messages[-1]["content"] == FALLBACK
    assert [e["reason"] for e in recorder.of("error")] == ["max_steps_reached"]


@pytest.mark.parametrize(("history", "is_seen"), [("full", True), ("final", False)])
async def test_the_steps_of_a_turn_are_stored_and_seen_again_as_asked(history, is_seen):
    """Check 5."""
    model = ScriptedProvider([call("add", a=20, b=22), "It is so.", "Yes."])
    agent = Agent(model, [add], history=history)
    await agent.run("go")
    assert len(agent.memory.messages) == 2
    assert len(agent.memory.all_messages) == 4
    await agent.run("sure?")
    assert ("'42'" in sent(model, 2)) is is_seen


@pytest.mark.parametrize(
    "wrong", [call("broken"), call("unknown"), call("add", raw='{"a": 1,')]
)
async def test_a_call_that_fails_is_a_result_and_the_run_finishes(wrong):
    """Check 6."""

    def broken() -> str:
        raise ZeroDivisionError

    agent = Agent(ScriptedProvider([wrong, "done"]), [add, broken])
    result = await agent.run("go")
    assert result.answer == "done"
    assert [m["role"] for m in result.new_messages].count("tool") == 1


@pytest.mark.parametrize("parallel", [True, False])
async def test_two_tools_of_a_step_overlap_unless_that_is_switched_off(parallel):
    """Check 7."""
    began, ended = {}, {}

    async def wait(name: str) -> str:
        began[name] = time.monotonic()
        # The first one takes longer: the order of results is not that of the ends.
        await asyncio.sleep(0.35 if name == "first" else 0.3)
        ended[name] = time.monotonic()
        return name

    script = [[call("wait", name="first"), call("wait", name="second")], "done"]
    tool_calling = {"parallel_tool_calls": parallel}
    agent = Agent(ScriptedProvider(script), [wait], tool_calling=tool_calling)
    result = await agent.run("go")
    assert [each["content"] for each in result.tool_calls] == ["first", "second"]
    # Whether they overlap, and not how long it took: clocks of busy machines lie.
    assert (began["second"] < ended["first"]) is parallel
    assert parallel or ended["second"] - began["first"] > 0.55


async def test_a_custom_provider_is_found_by_its_name(monkeypatch):
    """Check 13."""
    monkeypatch.setattr(registry, "_registered", {})
    Agent.register_provider(" My ", lambda *_: ScriptedProvider(["mine"]))
    assert str(await Agent(provider="my").run("go")) == "mine"
    Agent.register_provider("wrong", lambda *_: object())
    with pytest.raises(TypeError, match="BaseProvider"):
        await Agent(provider="wrong").run("go")
    with pytest.raises(ValueError, match="name"):
        Agent.register_provider(" ", lambda *_: ScriptedProvider([]))


# ------------------------------------------------------------ tools


def test_a_tool_is_the_same_function_with_four_attributes_and_a_strict_schema():
    """Check 8."""

    def search(terms: list[int], limit: int = 5) -> str:
        """Search."""
        return ""

    marked = tool(search)
    assert marked is search
    kinds = ("name", "description", "context", "schema")
    assert all(hasattr(marked, f"__agentapi_tool_{kind}__") for kind in kinds)
    function = marked.__agentapi_tool_schema__["function"]
    parameters = function["parameters"]
    assert function["strict"] is True
    assert parameters["required"] == ["terms", "limit"]
    assert parameters["additionalProperties"] is False
    assert parameters["properties"]["terms"]["items"] == {"type": "integer"}
    assert "null" in json.dumps(parameters["properties"]["limit"])
    assert "null" not in json.dumps(parameters["properties"]["terms"])


async def test_null_and_nothing_are_the_default_and_a_missing_argument_is_an_error():
    """Check 9."""
    got = []

    def f(q: str, limit: int = 5) -> str:
        got.append((q, limit))
        return "ok"

    recorder = EventRecorder()
    arguments = ['{"q":"a","limit":null}', '{"q":"a"}', '{"limit":7}']
    script = [*(call("f", raw=text) for text in arguments), "done"]
    agent = Agent(ScriptedProvider(script), [f], on_event=recorder)
    result = await agent.run("go")
    assert got == [("a", 5), ("a", 5)]
    assert result.answer == "done"
    [error] = recorder.of("tool_error")
    assert error["tool"] == "f"
    assert "q" in recorder.of("observation")[-1]["content"]
    assert result.tool_calls[-1]["status"] == "failed"


async def test_a_tool_has_the_name_that_it_is_given():
    """Check 10."""

    @tool(name="renamed", description="Say it.", context="Only on Mondays.")
    def one() -> str:
        return "one"

    @tool(name="renamed")
    def other(city: str) -> str:
        """Tell the weather.

        Args:
            city: Where it is asked for.
        """
        return f"other {city}"

    script = [call("renamed"), "done", call("renamed", city="Rome"), "done"]
    agent = Agent(ScriptedProvider(script), [one])
    function = agent.tools["renamed"].schema["function"]
    assert function["description"] == "Say it.\n\nContext: Only on Mondays."
    assert (await agent.run("go")).tool_calls[0]["content"] == "one"
    agent.add_tool(other)
    function = agent.tools["renamed"].schema["function"]
    assert function["description"] == "Tell the weather."
    city = function["parameters"]["properties"]["city"]
    assert city["description"] == "Where it is asked for."
    assert (await agent.run("go")).tool_calls[0]["content"] == "other Rome"


async def test_a_cached_tool_runs_once_for_equal_arguments():
    """Check 11."""
    ran = []

    @cached_tool
    def plain(a: int, b: int = 2) -> int:
        ran.append("plain")
        return a + b

    @cached_tool
    async def waiting(a: int) -> int:
        ran.append("waiting")
        await asyncio.sleep(0)
        return a

    assert plain(1) == plain(a=1) == plain(1, b=2) == 3
    assert await asyncio.gather(waiting(1), waiting(a=1)) == [1, 1]
    assert await waiting(1) == 1
    assert ran == ["plain", "waiting"]
    assert (plain(2), await waiting(2)) == (4, 2)
    assert ran == ["plain", "waiting", "plain", "waiting"]


# ------------------------------------------------------------ events


async def test_a_run_tells_what_happens_in_order_with_its_tokens():
    """Check 36."""
    recorder = EventRecorder()
    script = [
        {
            "reasoning": "Let me think.",
            "text": "I will look.",
            "tool_calls": [call("look")],
            "usage": {"prompt": 10, "completion": 5, "reasoning": 2},
        },
        {"text": "Done.", "usage": {"prompt": 20, "completion": 1}},
    ]
    model = ScriptedProvider(script)

    def look() -> str:
        return "x" * 6001

    await Agent(model, [look], on_event=recorder).run("go")
    assert recorder.kinds == [
        "task",
        "thought",
        "thought",
        "action",
        "observation",
        "answer",
    ]
    assert [event["kind"] for event in recorder.of("thought")] == ["reasoning", "plan"]
    counts = ("context_tokens", "prompt_tokens", "completion_tokens")
    for event in recorder.events:
        assert all((key in event) is (event["event"] != "task") for key in counts)
    [action], [last] = recorder.of("action"), recorder.of("answer")
    assert [action[key] for key in counts] == [10, 10, 5]
    assert [last[key] for key in counts] == [20, 30, 6]
    assert last["reasoning_tokens"] == 2
    assert "Let me think." not in sent(model, 1)
    content = recorder.of("observation")[0]["content"]
    assert content == "x" * 6000 + "\n[... 1 more characters cut]"


KEYS = {
    "task": {"prompt"},
    "thought": {"kind", "content"},
    "action": {"step", "tool", "args"},
    "observation": {"step", "tool", "content"},
    "tool_error": {"tool", "error"},
    "waiting_for_approval": {"tool", "args"},
    "answer": {"content"},
    "error": {"reason"},
}


async def test_a_listener_is_told_the_documented_dicts():
    """Row L22, with the kinds that the design adds; tokens and progress apart."""
    recorder = EventRecorder()

    @tool(approval=True)
    def work() -> str:
        return "done"

    script = [{"text": "I will.", "tool_calls": [call("work"), call("none")]}, "end"]
    options = {"approval_callback": lambda *_: True, "on_event": recorder}
    agent = Agent(ScriptedProvider(script), [work], **options)
    await agent.run("go")
    await Agent(ScriptedProvider([call("none")]), on_event=recorder).run(
        "go", max_tool_rounds=0
    )
    assert set(recorder.kinds) == {*KEYS, "approval_result"}
    for event in recorder.events:
        assert KEYS.get(event["event"], set()) <= event.keys()
    assert [e["step"] for e in recorder.of("action")] == [1, 1]


# ------------------------------------------------------------ approvals


@pytest.mark.parametrize("is_async", [True, False])
async def test_listed_tools_ask_one_after_the_other_and_no_is_an_observation(is_async):
    """Check 37."""
    recorder, asked, asking = EventRecorder(), [], 0

    def delete(path: str) -> str:
        return f"deleted {path}"

    def decide(name, args):
        told = [e["args"] for e in recorder.of("waiting_for_approval")]
        assert args in told
        asked.append((name, args["path"]))
        return args["path"] == "b"

    async def decide_later(name, args):
        nonlocal asking
        asking += 1
        assert asking == 1
        await asyncio.sleep(0.01)
        asking -= 1
        return decide(name, args)

    script = [
        [call("delete", path="a"), call("add", a=1, b=2), call("delete", path="b")],
        "done",
    ]
    agent = Agent(
        ScriptedProvider(script),
        [delete, add],
        on_event=recorder,
        approval_callback=decide_later if is_async else decide,
        approval_tools=["delete"],
    )
    result = await agent.run("go")
    assert asked == [("delete", "a"), ("delete", "b")]
    statuses = [each["status"] for each in result.tool_calls]
    assert statuses == ["denied", "done", "done"]
    assert "Denied" in result.tool_calls[0]["content"]
    assert result.tool_calls[2]["content"] == "deleted b"
    assert result.answer == "done"


# ------------------------------------------------------------ guards


BLOCK = json.dumps({"reason": "gives medical advice", "status": "BLOCK"})
ALLOW = json.dumps({"reason": "about fruit", "status": "ALLOW"})


@pytest.fixture
def judge():
    """Give a client whose service says what it is told to."""
    with wire_server() as server:

        def saying(*verdicts: str) -> LLMClient:
            for text in verdicts:
                message = {"role": "assistant", "content": text}
                choice = {"index": 0, "message": message, "finish_reason": "stop"}
                server.say(whole(200, {"choices": [choice]}))
            return LLMClient(server.url, api_key="none", model="judge")

        yield saying


@pytest.mark.parametrize("side", ["input", "output"])
@pytest.mark.parametrize("kind", ["keywords", "llm"])
async def test_a_blocked_text_goes_nowhere(side, kind, judge):
    """Check 38, the guards that block."""
    model = ScriptedProvider(["Take two pills."])
    guard = block_keywords(["pills"])
    if kind == "llm":
        guard = llm_guard(judge(BLOCK), "No medical advice.")
    agent = Agent(model, **{f"{side}_guards": [guard]})
    with pytest.raises(GuardrailBlockedError) as caught:
        await agent.run("How many pills?" if side == "input" else "What now?")
    assert caught.value.stage == side
    assert len(model.requests) == (0 if side == "input" else 1)
    assert "pills" not in repr(agent.memory.all_messages)


@pytest.mark.parametrize("side", ["input", "output"])
async def test_a_redacted_text_is_redacted_everywhere(side, judge):
    """Check 38, the guards that change or let pass."""
    said = "Write to ada@example.org."
    model = ScriptedProvider([said])
    guards = [strip_pii(), llm_guard(judge(ALLOW), "Fruit only.")]
    agent = Agent(model, **{f"{side}_guards": guards})
    result = await agent.run(said if side == "input" else "Who helps?")
    if side == "input":
        assert "[EMAIL]" in sent(model, 0)
        assert "ada@example.org" not in sent(model, 0)
    else:
        assert result.answer == "Write to [EMAIL]."
        assert "ada@example.org" not in repr(result.messages)
        assert "ada@example.org" not in repr(agent.memory.all_messages)


async def test_guards_that_were_written_down_work_on_their_sides(tmp_path, judge):
    """Check 38, GuardrailService."""
    with GuardrailService(tmp_path / "guardrails.sqlite") as service:
        words = {"words": ["bomb"]}
        ids = [
            service.create("in", kind="keywords", config=words, scope="input").id,
            service.create("out", kind="pii", config={}, scope="output").id,
            service.create("both", kind="llm", config={"policy": "Fruit."}).id,
        ]
        guards = service.instantiate_guards(ids, judge(ALLOW, ALLOW, BLOCK))
        with pytest.raises(KeyError):
            service.instantiate_guards(["unknown"])
    assert [guard.scope for guard in guards] == ["input", "output", "both"]
    before, after = GuardrailService.split(guards)
    assert (len(before), len(after)) == (2, 2)
    model = ScriptedProvider(["Mail ada@example.org."])
    agent = Agent(model, input_guards=before, output_guards=after)
    assert str(await agent.run("Who?")) == "Mail [EMAIL]."
    for text in ("A bomb?", "What else?"):  # by its word, then by the judge
        with pytest.raises(GuardrailBlockedError):
            await agent.run(text)
    assert len(model.requests) == 1


async def test_a_buffer_holds_each_message_once_and_loses_whole_rounds():
    """Check 38, HistoryBuffer."""
    buffer = HistoryBuffer()
    agent = Agent(ScriptedProvider(["a1", "a2", "a3"]), system_prompt="Be brief.")
    for question in ("q1", "q2", "q3"):
        result = await agent.run(question, prior_messages=buffer.get())
        buffer.extend(result["messages"])
    assert len(buffer.messages) == 6
    assert {message["role"] for message in buffer.messages} == {"user", "assistant"}

    small = HistoryBuffer(max_messages=4)
    model = ScriptedProvider([[call("add", a=1, b=2), call("add", a=3, b=4)], "a", "b"])
    agent = Agent(model, [add])
    for question in ("q1", "q2"):
        await small.run(agent, question)
    # Seven messages: the round of three goes, and not one of it stays.
    assert [m["content"] for m in small.messages] == ["q1", "a", "q2", "b"]


# ------------------------------------------------------------ several agents


async def test_an_orchestrator_delegates_twice_at_once_and_leaves_its_member_alone():
    """Check 40, the orchestrator."""
    both, own, seen = asyncio.Barrier(2), EventRecorder(), EventRecorder()

    async def answer(request):
        await asyncio.wait_for(both.wait(), 5)
        return f"done: {request.messages[-1].content}"

    member = Agent(FunctionProvider(answer), on_event=own)
    before = dict(vars(member))
    tasks = [call("delegate", agent_name="m", task=task) for task in ("one", "two")]
    unknown = call("delegate", agent_name="nobody", task="three")
    answers = ["x" * 12_000, "y" * 12_000, "z" * 12_000]
    model = ScriptedProvider([tasks, unknown, *answers])
    team = Orchestrator(model, {"m": member}, on_event=seen)
    result = await team.run("go")
    contents = [each["content"] for each in result.tool_calls]
    assert contents[:2] == ["done: one", "done: two"]
    assert "no member 'nobody'" in contents[2]
    assert result.tool_calls[2]["status"] == "failed"
    assert {k: v for k, v in vars(member).items() if k != "last_run"} == {
        k: v for k, v in before.items() if k != "last_run"
    }
    tagged = [e for e in seen.events if e.get("delegated_to") == "m"]
    assert [e["event"] for e in tagged].count("answer") == 2
    assert not any("delegated_to" in event for event in own.events)
    for question in ("and?", "more?"):
        await team.run(question)
    characters = sum(len(m.content) for m in model.requests[-1].messages[1:])
    assert characters / 4 < 8000
    assert len(team.memory.messages) == 6
