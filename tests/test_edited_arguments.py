"""Arguments that a person has changed are looked at as those of the model are."""

from __future__ import annotations

import asyncio

import pytest

from notebook_agents import Agent, Allow, Deny, ScriptedProvider, call, tool
from notebook_agents.errors import (
    NotebookAgentsError,
    RunCancelledError,
    ToolArgumentsError,
)

POLICY = {"pay": lambda args: "ask" if args["euros"] < 100 else "deny"}


class Changes:
    """Allows with other arguments, and denies where these are refused."""

    def __init__(self, *attempts):
        self._attempts, self.refused = attempts, []

    async def ask(self, pending):
        for euros in self._attempts:
            try:
                pending.decide(Allow({"euros": euros}), by="person")
            except ToolArgumentsError as error:
                self.refused.append(str(error))
            else:
                return
        pending.decide(Deny("then not"), by="person")


def paying(person, **options):
    """Give an agent that wants to pay 5 euros, and what it has paid."""
    paid = []

    @tool(approval=True)
    def pay(euros: int) -> str:
        paid.append(euros)
        return "paid"

    model = ScriptedProvider([call("pay", euros=5), "."])
    return Agent(model, [pay], approver=person, **options), paid


def said_about(result):
    return result.tool_calls[0]["content"]


async def test_what_a_rule_denies_is_not_run_for_a_person_who_may_try_again():
    person = Changes(1_000_000, 250, 50)
    agent, paid = paying(person, policy=POLICY)
    await agent.run("go")
    assert paid == [50]
    sentence = "A rule of the policy denies pay with these arguments."
    assert person.refused == [sentence, sentence]


async def test_a_refused_change_decides_nothing():
    agent, paid = paying(Changes(1_000_000), policy=POLICY)
    result = await agent.run("go")
    assert (paid, said_about(result)) == ([], "Denied: then not. The tool was not run.")


async def test_an_approver_that_insists_is_told_to_the_model():
    class Insists:
        async def ask(self, pending):
            pending.decide(Allow({"euros": 250}), by="person")

    agent, paid = paying(Insists(), policy=POLICY)
    result = await agent.run("go")
    assert paid == []
    assert "A rule of the policy denies pay with these arguments" in said_about(result)


async def test_what_a_rule_of_the_run_above_denies_is_not_run_either():
    inner, paid = paying(Changes(250))
    outer = Agent(ScriptedProvider([call("m", task="x"), "."]), [inner.as_tool("m")])
    await outer.run("go", policy={"p*": POLICY["pay"]})
    assert paid == []


@pytest.mark.parametrize("rule", ["ask", "allow"])
async def test_a_rule_that_asks_or_allows_is_satisfied_by_the_change(rule):
    person = Changes(50)
    rules = {"pay": lambda args: rule if args["euros"] == 50 else "ask"}
    agent, paid = paying(person, policy=rules)
    result = await agent.run("go")
    assert (paid, len(result.approvals)) == ([50], 1)
    assert (result.approvals[0]["decision"], person.refused) == ("allow", [])


EVIL = 666_000_666  # which stands in no identifier


def no_evil(text):
    if str(EVIL) in text:
        message = "evil"
        raise ValueError(message)
    return text.replace("77", "99")


async def test_what_a_guard_blocks_is_not_run_for_a_person():
    agent, paid = paying(Changes(EVIL), tool_guards=no_evil)
    result = await agent.run("go")
    assert paid == []
    assert "The user changed the arguments. " in said_about(result)
    assert "no_evil" in said_about(result)
    assert said_about(result).endswith("The tool was not run.")


async def test_whoever_made_a_change_that_a_guard_blocks_reads_why():
    agent, _ = paying(Changes(EVIL), tool_guards=no_evil)
    result = await agent.run("go")
    (row,) = result.approvals
    assert (row["decision"], row["by"], row["args"]) == ("deny", "policy", {"euros": 5})
    assert "no_evil" in row["reason"]
    told = [e for e in result.events if e.event in ("guardrail", "tool_error")]
    assert [event.event for event in told] == ["guardrail", "tool_error"]
    assert "no_evil" in told[1].error
    assert not any(str(EVIL) in repr(event.to_dict()) for event in result.events)


async def test_what_a_guard_makes_of_a_change_is_what_runs_and_is_told():
    agent, paid = paying(Changes(77), tool_guards=no_evil)
    result = await agent.run("go")
    assert paid == [99]
    assert result.approvals[0]["args"] == {"euros": "99"}  # guards write text
    assert "99" in said_about(result)
    assert "77" not in said_about(result)


async def test_what_a_guard_makes_of_a_change_is_put_to_the_rules_again():
    rules = {"pay": lambda args: "deny" if int(args["euros"]) == 99 else "ask"}
    agent, paid = paying(Changes(77), policy=rules, tool_guards=no_evil)
    result = await agent.run("go")
    assert paid == []
    assert "A rule of the policy denies pay" in said_about(result)


class Watches(Changes):
    """Changes the arguments, and looks at the question once the answer stands."""

    async def ask(self, pending):
        await super().ask(pending)
        try:
            await pending.wait()
        finally:  # it may be told to go first
            self.outcome = (pending.decision.kind, pending.by, pending.edited)


async def test_whoever_asks_sees_what_became_of_the_change():
    person = Watches(EVIL)
    agent, _ = paying(person, tool_guards=no_evil)
    await agent.run("go")
    assert person.outcome == ("deny", "policy", None)


async def test_a_guard_that_is_none_ends_the_run_before_a_change_runs():
    def broken(text):
        return text if "5" in text else 1

    agent, paid = paying(Changes(66), tool_guards=broken)
    with pytest.raises(NotebookAgentsError, match="broken"):
        await agent.run("go")
    assert paid == []


async def test_a_run_is_stopped_while_a_guard_looks_at_a_change():
    begun, ended = asyncio.Event(), asyncio.Event()

    async def slow(text):
        if "66" in text:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()
        return text

    agent, paid = paying(Changes(66), tool_guards=slow)
    run = agent.start("go")
    await begun.wait()
    run.cancel()
    with pytest.raises(RunCancelledError):
        await run.result()
    await ended.wait()
    assert paid == []
