"""What runs took is counted, whoever started them and however they ended."""

from __future__ import annotations

import asyncio
import threading

import pytest

from notebook_agents import Agent, ScriptedProvider, call, tool
from notebook_agents.errors import AgentProviderError
from notebook_agents.ledger import Ledger, Totals, process_totals
from notebook_agents.results import AgentResult


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def usage(prompt, completion, **fields):
    return {"usage": {"prompt": prompt, "completion": completion}, **fields}


async def test_calls_and_tokens_are_counted_by_model():
    first = usage(10, 2, tool_calls=[call("add", a=1, b=2), call("add", a=3, b=4)])
    agent = Agent(ScriptedProvider([first, usage(20, 3, text="done")]), [add])
    await agent.run("hi")
    other = ScriptedProvider([usage(5, 1, text="x"), usage(5, 1, text="y")])
    other.model = "other"
    await agent.with_model(other).run("hi")
    await agent.with_model(other).run("hi")
    totals = agent.ledger.totals()
    assert list(totals) == ["scripted:script", "scripted:other"]
    script, others = totals.values()
    assert (script.runs, script.model_calls, script.tool_calls) == (1, 2, 2)
    assert (script.prompt_tokens, script.completion_tokens) == (30, 5)
    assert (others.runs, others.prompt_tokens) == (2, 10)
    assert script.cost is None


async def test_what_a_failed_run_took_counts_too():
    script = [
        usage(10, 2, tool_calls=[call("add", a=1, b=2)]),
        AgentProviderError("no"),
    ]
    agent = Agent(ScriptedProvider(script), [add])
    with pytest.raises(AgentProviderError):
        await agent.run("hi")
    (totals,) = agent.ledger.totals().values()
    assert (totals.runs, totals.prompt_tokens, totals.tool_calls) == (1, 10, 1)


async def test_each_model_call_and_each_tool_call_has_its_own_facts():
    @tool(approval=True)
    async def wait() -> str:
        """Wait."""
        await asyncio.sleep(0.02)
        return "waited"

    script = [
        usage(10, 2, text="Let me.", tool_calls=[call("wait"), call("nosuch")]),
        usage(30, 4, text="done"),
    ]
    agent = Agent(ScriptedProvider(script, delay=0.01), [wait], policy="allow")
    await agent.run("hi")
    (facts,) = agent.ledger.runs()
    assert [(s.prompt_tokens, s.completion_tokens) for s in facts.steps] == [
        (10, 2),
        (30, 4),
    ]
    assert all(0.005 < step.seconds < 20 for step in facts.steps)
    assert (facts.prompt, facts.answer) == ("hi", "done")
    waited, unknown = facts.calls.values()
    assert (waited.status, waited.decision, waited.decided_by) == (
        "done",
        "allow",
        "policy",
    )
    assert waited.seconds >= 0.02
    assert (unknown.status, unknown.decision) == ("failed", "")


async def test_the_process_remembers_what_agents_took_that_are_gone():
    provider = ScriptedProvider([usage(7, 1, text="x")])
    provider.model = "of somebody who is gone"
    await Agent(provider).run("hi")
    totals = process_totals()["scripted:of somebody who is gone"]
    assert (totals.runs, totals.prompt_tokens) == (1, 7)


def test_threads_do_not_lose_a_run():
    ledger, each = Ledger(), 200
    result = AgentResult(answer="x", prompt_tokens=1, model="m")

    def work():
        for _ in range(each):
            ledger.add(result, requests=1)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.totals()["m"].runs == 8 * each


def test_a_ledger_does_not_grow_without_end():
    ledger = Ledger()
    for number in range(2000):
        ledger.add(AgentResult(answer=str(number), model="m"), requests=1)
    assert len(ledger.runs()) < 1000
    assert ledger.runs()[-1].answer == "1999"
    assert ledger.totals()["m"].runs == 2000


def test_a_cost_that_is_not_known_does_not_hide_one_that_is():
    known, unknown = Totals(cost=0.5), Totals()
    assert unknown.plus(unknown).cost is None
    assert unknown.plus(known).plus(unknown).cost == 0.5
    assert known.plus(known).plus(known, times=-1).cost == 0.5
