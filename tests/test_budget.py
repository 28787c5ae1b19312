"""A run stops before the call that would cross what it may spend."""

from __future__ import annotations

import asyncio
import math
import re

import pytest

from notebook_agents import (
    Agent,
    Allow,
    Budget,
    Deny,
    Orchestrator,
    ScriptedProvider,
    call,
    tool,
)
from notebook_agents import budget as budget_module
from notebook_agents.errors import AgentConfigurationError, ToolArgumentsError
from notebook_agents.testing import FunctionProvider


def look() -> str:
    """Look around."""
    return "nothing"


class Person:
    """Gives its answers in turn."""

    def __init__(self, *answers):
        self._answers = iter(answers)
        self.asked = []

    async def ask(self, pending):
        self.asked.append(pending.request)
        pending.decide(next(self._answers), by="person")


def agent_on(script, budget, **options):
    return Agent(ScriptedProvider(script), [look], budget=Budget(**budget), **options)


def counted(text="", calls=(), *, prompt, completion):
    usage = {"prompt": prompt, "completion": completion}
    return {"text": text, "tool_calls": calls, "usage": usage}


# ------------------------------------------------------------ tool calls


async def test_the_call_that_would_cross_is_not_made():
    agent = agent_on([call("look")] * 3 + ["never"], {"tool_calls": 2})
    result = await agent.run("Go")
    assert result.stop_reason == "budget"
    assert len(result.tool_calls) == 2
    assert str(result) == "The budget is used up: 2 of 2 tool calls."
    assert result.events[-1].reason == "budget"
    assert agent.memory.messages[-1]["content"] == str(result)


async def test_of_calls_at_the_same_time_none_is_made_where_all_would_cross():
    agent = agent_on([[call("look")] * 3], {"tool_calls": 2})
    assert (await agent.run("Go")).tool_calls == []


async def test_each_run_has_the_whole_budget():
    agent = agent_on([call("look"), "one", call("look"), "two"], {"tool_calls": 1})
    assert str(await agent.run("Go")) == "one"
    assert str(await agent.run("Go")) == "two"


# ------------------------------------------------------------ tokens


async def test_a_reply_may_be_as_long_as_what_is_left():
    agent = agent_on(["Hi."], {"tokens": 500})
    await agent.run("x" * 400)
    sent = agent._model.get().requests[0].max_tokens
    assert 300 < sent < 400  # 500 less about 100 for the prompt, less the tools


@pytest.mark.parametrize(("tokens", "ends"), [(500, "budget"), (5000, "length")])
async def test_an_answer_that_the_budget_cuts_off_says_so(tokens, ends):
    reply = {"text": "Once upon", "stop_reason": "length"}
    agent = agent_on([reply], {"tokens": tokens})
    assert (await agent.run("x" * 400)).stop_reason == ends


async def test_no_request_is_sent_that_has_no_room_for_a_reply():
    first = counted(calls=[call("look")], prompt=900, completion=90)
    agent = agent_on([first, "never"], {"tokens": 1000})
    result = await agent.run("Go")
    said = r"The budget is used up: 990 of 1,000 tokens; the next request needs \d+\."
    assert re.fullmatch(said, str(result))
    assert len(agent._model.get().requests) == 1


async def test_a_long_question_is_refused_before_it_is_sent():
    agent = agent_on(["never"], {"tokens": 50})
    assert (await agent.run("x" * 4000)).stop_reason == "budget"
    assert agent._model.get().requests == []


# ------------------------------------------------------------ dollars


@pytest.fixture
def prices(monkeypatch):
    """Let a token that is read cost a cent, one that is written ten."""

    async def cost_of(calls):
        return sum(c.prompt_tokens * 0.01 + c.completion_tokens * 0.1 for c in calls)

    monkeypatch.setattr(budget_module, "cost_of", cost_of)


@pytest.mark.usefixtures("prices")
async def test_money_buys_as_many_tokens_as_it_is_good_for():
    agent = Agent(ScriptedProvider(["Hi."]), budget=Budget(usd=6.0))
    await agent.run("x" * 400)
    assert agent._model.get().requests[0].max_tokens == 50  # 100 read, 50 written


@pytest.mark.usefixtures("prices")
async def test_no_money_buys_no_token():
    first = counted(calls=[call("look")], prompt=100, completion=9)
    agent = agent_on([first, "never"], {"usd": 2.0})
    result = await agent.run("Go")
    assert str(result) == "The budget is used up: $1.9000 of $2."


async def test_a_model_of_unknown_price_says_what_to_do():
    class Paid(ScriptedProvider):
        model = "unheard-of"
        base_url = "https://models.example"

    agent = Agent(Paid(["never"]), budget=Budget(usd=1))
    with pytest.raises(AgentConfigurationError, match=r"Budget\(tokens="):
        await agent.run("Go")


async def test_a_model_on_this_machine_costs_nothing():
    agent = Agent(ScriptedProvider(["Hi."]), budget=Budget(usd=0.01))
    assert str(await agent.run("Go")) == "Hi."


# ------------------------------------------------------------ seconds


async def test_a_run_ends_when_its_time_is_up():
    async def slow(_):
        await asyncio.sleep(30)

    agent = Agent(FunctionProvider(slow), budget=Budget(seconds=0.05))
    result = await asyncio.wait_for(agent.run("Go"), 10)
    assert result.stop_reason == "budget"
    assert str(result) == "[The budget is used up: 0.05 of 0.05 seconds]"


async def test_a_tool_is_stopped_when_the_time_is_up():
    ended = []

    async def wait() -> None:
        try:
            await asyncio.sleep(30)
        finally:
            ended.append("cleaned up")

    script, budget = [call("wait")], Budget(seconds=0.05)
    agent = Agent(ScriptedProvider(script), [wait], budget=budget)
    result = await asyncio.wait_for(agent.run("Go"), 10)
    assert result.stop_reason == "budget"
    assert result.tool_calls[0]["status"] == "cancelled"
    assert ended == ["cleaned up"]


# ------------------------------------------------------------ asking for more


async def test_a_person_may_let_the_run_go_on():
    person = Person(Allow())
    script = [call("look")] * 3 + ["Seen."]
    agent = agent_on(script, {"tool_calls": 2}, approver=person)
    result = await agent.run("Go")
    assert str(result) == "Seen."
    (question,) = person.asked
    assert (question.tool, question.args) == ("raise_budget", {"tool_calls": 4})
    assert "2 of 2 tool calls" in question.description
    assert result.approvals[0]["tool"] == "raise_budget"


async def test_a_person_may_write_another_limit():
    person = Person(Allow({"tool_calls": 3}), Deny())
    script = [call("look")] * 4
    agent = agent_on(script, {"tool_calls": 2}, approver=person, max_steps=9)
    result = await agent.run("Go")
    assert result.stop_reason == "budget"
    assert len(result.tool_calls) == 3
    assert [each["args"] for each in result.approvals] == [
        {"tool_calls": 3},
        {"tool_calls": 6},
    ]


async def test_a_limit_that_is_none_is_said_and_can_be_mended():
    problems = []

    class Person:
        async def ask(self, pending):
            for limit in (2, "many", True):
                with pytest.raises(Exception, match="above 2") as caught:
                    pending.decide(Allow({"tool_calls": limit}), by="person")
                problems.append(str(caught.value))
            pending.decide(Deny(), by="person")

    agent = agent_on([call("look")] * 3, {"tool_calls": 2}, approver=Person())
    assert (await agent.run("Go")).stop_reason == "budget"
    assert len(problems) == 3


@pytest.mark.parametrize(
    "limit",
    [math.inf, math.nan, -math.inf, 10**400],
    ids=["inf", "nan", "-inf", "huge"],
)
async def test_a_limit_that_is_no_number_leaves_the_question_open(limit):
    problems = []

    class Person:
        async def ask(self, pending):
            with pytest.raises(ToolArgumentsError, match="above 2") as caught:
                pending.decide(Allow({"tool_calls": limit}), by="person")
            problems.append(caught.value)
            pending.decide(Allow({"tool_calls": 3}), by="person")

    script = [call("look")] * 3 + ["Seen."]
    agent = agent_on(script, {"tool_calls": 2}, approver=Person(), max_steps=9)
    assert str(await agent.run("Go")) == "Seen."
    assert len(problems) == 1


async def test_a_limit_below_the_present_one_is_refused_as_it_would_end_nothing():
    """The next call has no room under the old one, so it would only ask again."""

    class Person:
        async def ask(self, pending):
            with pytest.raises(ToolArgumentsError, match=r"a number above 1,000\."):
                pending.decide(Allow({"tokens": 960}), by="person")
            pending.decide(Deny(), by="person")

    first = counted(calls=[call("look")], prompt=900, completion=50)
    agent = agent_on([first, "never"], {"tokens": 1000}, approver=Person())
    result = await agent.run("x" * 400)
    assert str(result).startswith("The budget is used up: 950 of 1,000 tokens; the")


async def test_of_two_answers_about_one_budget_the_higher_limit_holds():
    looked = asyncio.Event()
    answers = iter([Allow({"tool_calls": 9}), Allow()])
    proposed = []

    async def look_on() -> str:
        looked.set()
        return "nothing"

    class Person:
        async def ask(self, pending):
            answer = next(answers)
            proposed.append(pending.request.args)
            if len(proposed) == 2:  # the first answer has been acted upon
                await asyncio.wait_for(looked.wait(), 30)
            pending.decide(answer, by="person")

    def member():
        return Agent(ScriptedProvider([call("look_on")] * 3 + ["Seen."]), [look_on])

    tasks = [call("delegate", agent_name=name, task="look") for name in "ab"]
    team = Orchestrator(
        ScriptedProvider([tasks, "Done."]),
        {"a": member(), "b": member()},
        budget=Budget(tool_calls=2),
        approver=Person(),
    )
    result = await team.run("Go")
    assert [each["content"] for each in result.tool_calls] == ["Seen.", "Seen."]
    assert proposed == [{"tool_calls": 4}] * 2


async def test_a_policy_that_allows_all_calls_does_not_raise_the_budget():
    person = Person()
    agent = agent_on([call("look")] * 3, {"tool_calls": 2}, approver=person)
    result = await agent.run("Go", policy="allow")
    assert result.stop_reason == "budget"
    assert person.asked == []


@pytest.mark.parametrize("tools", [None, [], ["look"]])
@pytest.mark.parametrize("is_async", [False, True])
async def test_a_callback_that_says_yes_to_all_does_not_raise_the_budget(
    tools, is_async
):
    asked = []

    def callback(name, args):
        asked.append(name)
        return True

    async def async_callback(name, args):
        return callback(name, args)

    agent = agent_on(
        [call("look")] * 5 + ["never"],
        {"tool_calls": 2},
        approval_callback=async_callback if is_async else callback,
        approval_tools=tools,
        max_steps=9,
    )
    result = await agent.run("Go")
    assert (result.stop_reason, len(result.tool_calls)) == ("budget", 2)
    assert "raise_budget" not in asked


async def test_the_callback_of_a_team_does_not_raise_the_budget_of_a_member():
    member = agent_on([call("look"), call("look"), "never"], {"tool_calls": 1})
    script = [call("delegate", agent_name="m", task="look"), "Done."]
    asked = []
    team = Orchestrator(
        ScriptedProvider(script),
        {"m": member},
        approval_callback=lambda name, _: asked.append(name) or True,
    )
    result = await team.run("Go")
    assert "1 of 1 tool calls" in result.tool_calls[0]["content"]
    assert asked == ["delegate"]


# ------------------------------------------------------------ agents within agents


async def test_the_agents_that_a_run_asks_spend_its_budget():
    member = agent_on([call("look"), call("look"), "never"], {"tool_calls": 9})
    script = [call("delegate", agent_name="m", task="look"), "Done."]
    budget = Budget(tool_calls=2)
    team = Orchestrator(ScriptedProvider(script), {"m": member}, budget=budget)
    result = await team.run("Go")
    assert "budget is used up" in result.tool_calls[0]["content"]
    assert str(result) == "Done."


async def test_agents_that_are_asked_at_once_do_not_spend_the_same_tokens():
    sent = []

    async def answer(request):
        sent.append(request.max_tokens)
        await asyncio.sleep(0.01)
        return "x"

    member = Agent(FunctionProvider(answer), max_tokens=600)

    @tool
    async def ask(n: int) -> str:
        return await member.as_tool()(str(n))

    script = [[call("ask", n=1), call("ask", n=2)], "Done."]
    agent = Agent(ScriptedProvider(script), [ask], budget=Budget(tokens=1300))
    await agent.run("Go")
    assert sent[0] == 600
    assert sum(sent) < 1300


HELPED = {
    "history_processors": lambda help_out: [help_out],
    "tool_guards": lambda help_out: help_out,
    "on_event": lambda help_out: help_out,
}


@pytest.mark.parametrize("place", HELPED)
@pytest.mark.parametrize("calls", [1, 2])
async def test_an_agent_that_a_function_around_the_run_asks_has_its_own_budget(
    place, calls
):
    """As many calls as it may be in the round before: only tools spend for the run."""
    reply = counted("short", prompt=400, completion=10)
    helper = Agent(ScriptedProvider([reply] * 20))
    helped = []

    async def help_out(given):
        helped.append(await helper.run("Help"))
        return given

    script = [
        counted(calls=[call("look")] * calls, prompt=100, completion=10),
        counted(calls=[call("look")], prompt=100, completion=10),
        counted("Seen.", prompt=100, completion=10),
    ]
    options = {place: HELPED[place](help_out)}
    agent = agent_on(script, {"tokens": 900}, **options)
    assert str(await agent.run("Go")) == "Seen."
    assert [each.stop_reason for each in helped] == ["stop"] * len(helped)
    assert len(helped) >= 2


@pytest.mark.parametrize("limits", [{"usd": 0}, {"tokens": -1}, {"seconds": 0.0}])
def test_a_budget_of_nothing_is_refused(limits):
    with pytest.raises(AgentConfigurationError, match="more than 0"):
        Budget(**limits)
