"""An orchestrator hands tasks to other agents."""

from __future__ import annotations

import asyncio
import copy

import pytest

from notebook_agents import (
    Agent,
    Allow,
    Always,
    Deny,
    Orchestrator,
    ScriptedProvider,
    Stop,
    call,
    tool,
)
from notebook_agents.errors import AgentConfigurationError, RunCancelledError
from notebook_agents.testing import EchoProvider, EventRecorder, FunctionProvider


def team(*script, members=None, **options):
    """Give an orchestrator that follows a script, and its members."""
    members = members or {"poet": Agent(EchoProvider("poem: "), name="poet")}
    return Orchestrator(ScriptedProvider(script), members, **options)


def delegate(name, task):
    return call("delegate", agent_name=name, task=task)


async def test_what_a_member_says_is_the_result_of_the_call():
    result = await team(delegate("poet", "roses"), "Done.").run("Go")
    assert str(result) == "Done."
    assert result.tool_calls[0]["content"] == "poem: roses"


async def test_a_member_that_is_not_there_is_said_in_the_result():
    result = await team(delegate("cook", "soup"), "Done.").run("Go")
    said = result.tool_calls[0]["content"]
    assert said.startswith("There is no member 'cook'. Members: poet.")
    (event,) = [each for each in result.events if each.event == "observation"]
    assert event.status == "failed"


async def test_a_member_that_fails_is_an_error_the_model_can_react_to():
    broken = Agent(ScriptedProvider([ValueError("out of ink")]))
    agent = team(delegate("poet", "roses"), "Done.", members={"poet": broken})
    result = await agent.run("Go")
    assert "out of ink" in result.tool_calls[0]["content"]
    assert str(result) == "Done."


async def test_two_tasks_for_the_same_member_run_at_once_and_do_not_meet():
    both = asyncio.Barrier(2)
    seen = []

    async def answer(request):
        seen.append([message.content for message in request.messages])
        await asyncio.wait_for(both.wait(), 5)
        return f"done: {request.messages[-1].content}"

    member = Agent(FunctionProvider(answer))
    tasks = [delegate("m", "one"), delegate("m", "two")]
    result = await team(tasks, "Both.", members={"m": member}).run("Go")
    contents = [each["content"] for each in result.tool_calls]
    assert contents == ["done: one", "done: two"]
    assert sorted(seen) == [["one"], ["two"]]
    assert member.memory.messages == []


async def test_events_of_a_member_are_tagged_and_its_own_listener_stays():
    own, all_events = EventRecorder(), EventRecorder()
    member = Agent(ScriptedProvider(["one", "two"]), on_event=own)
    listener = member._on_event
    tasks = [delegate("m", "one"), delegate("m", "two")]
    agent = team(tasks, "Both.", members={"m": member}, on_event=all_events)
    await agent.run("Go")
    assert member._on_event is listener
    assert own.kinds.count("answer") == 2
    assert not any("delegated_to" in event for event in own.events)
    tagged = [e for e in all_events.events if e.get("delegated_to") == "m"]
    assert [e["event"] for e in tagged].count("answer") == 2
    plain = [e["event"] for e in all_events.events if "delegated_to" not in e]
    assert plain == ["task", "action", "action", "observation", "observation", "answer"]


async def test_a_member_without_a_model_answers_with_that_of_the_orchestrator():
    provider = ScriptedProvider([delegate("m", "task"), "from the member", "Done."])
    agent = Orchestrator(provider, {"m": Agent(system_prompt="Be a member.")})
    result = await agent.run("Go")
    assert result.tool_calls[0]["content"] == "from the member"
    assert provider.requests[1].messages[0].content == "Be a member."


async def test_the_orchestrator_reads_who_its_members_are():
    def search(query: str) -> str:
        return query

    member = Agent("local", [search], system_prompt="You find\nthings.")
    agent = team("Hi.", members={"finder": member})
    await agent.run("Go")
    prompt = agent._model.get().requests[0].messages[0].content
    assert "- finder: You find things. (tools: search)" in prompt


async def test_the_history_of_an_orchestrator_stays_within_its_budget():
    answers = ["x" * 4000, "y" * 4000, "z" * 4000]
    agent = team(*answers, history_max_tokens=1500)
    for question in ("1?", "2?", "3?"):
        await agent.run(question)
    sent = agent._model.get().requests[-1].messages
    assert sum(len(message.content) for message in sent[1:]) < 6000
    assert len(agent.memory.messages) == 6


async def test_a_tool_of_a_member_asks_where_the_orchestrator_asks():
    asked = []

    class Person:
        async def ask(self, pending):
            asked.append((pending.request.agent, pending.request.tool))
            pending.decide(Allow(), by="person")

    @tool(approval=True)
    def rm(path: str) -> str:
        return f"removed {path}"

    member = Agent(ScriptedProvider([call("rm", path="a"), "Gone."]), [rm], name="rm")
    script = [delegate("m", "clean up"), "Done."]
    agent = team(*script, members={"m": member}, approver=Person())
    result = await agent.run("Go")
    assert asked == [("rm", "rm")]
    assert result.tool_calls[0]["content"] == "Gone."
    (decided,) = result.approvals
    assert (decided["agent"], decided["tool"]) == ("rm", "rm")
    assert (decided["decision"], decided["by"]) == ("allow", "person")


class Waiting:
    """Leaves it to somebody else to answer."""

    async def ask(self, pending):
        await pending.wait()


async def test_a_question_of_a_member_is_among_those_of_the_run_that_asked_it():
    @tool(approval=True)
    def rm(path: str) -> str:
        return f"removed {path}"

    member = Agent(ScriptedProvider([call("rm", path="a"), "Gone."]), [rm], name="rm")
    script = [delegate("m", "clean up"), "Done."]
    run = team(*script, members={"m": member}, approver=Waiting()).start("Go")
    async with asyncio.timeout(5):
        while not run.approvals:  # noqa: ASYNC110 - there is no event of it
            await asyncio.sleep(0.005)
        (pending,) = run.approvals
        assert run.decide(pending.request.id, Allow(), by="person")
        result = await run.result()
    assert result.tool_calls[0]["content"] == "Gone."
    assert [each["by"] for each in result.approvals] == ["person"]
    assert run.approvals == []


class Judge:
    """Allows the first call and denies the others."""

    def __init__(self):
        self.seen = 0

    async def ask(self, pending):
        self.seen += 1
        pending.decide(Allow() if self.seen == 1 else Deny("enough"), by="person")


@tool(approval=True)
def rm(path: str) -> str:
    """Remove a file."""
    return f"removed {path}"


def remover(name, *paths, end="Gone."):
    """Give an agent that removes files, one after the other."""
    script = [*(call("rm", path=path) for path in paths), end]
    return Agent(ScriptedProvider(script), [rm], name=name)


async def test_decisions_of_members_of_members_are_told_once_and_in_order():
    inner = Orchestrator(
        ScriptedProvider([delegate("m", "clean"), "Cleaned."]),
        {"m": remover("deep", "a", "b")},
        name="inner",
    )
    own = remover("near", "c")
    script = [delegate("i", "clean"), delegate("n", "clean"), call("rm", path="d"), "."]
    outer = Orchestrator(
        ScriptedProvider(script), {"i": inner, "n": own}, approver=Judge()
    )
    outer.add_tool(rm)
    result = await outer.run("Go")
    told = [
        (each["agent"], each["args"]["path"], each["decision"])
        for each in result.approvals
    ]
    assert told == [
        ("deep", "a", "allow"),
        ("deep", "b", "deny"),
        ("near", "c", "deny"),
        ("orchestrator", "d", "deny"),
    ]


async def test_decisions_of_a_member_that_fails_are_told_as_well():
    broken = remover("broken", "a", end=ValueError("out of order"))
    script = [delegate("b", "clean"), "Done."]
    result = await team(*script, members={"b": broken}, approver=Judge()).run("Go")
    assert [each["agent"] for each in result.approvals] == ["broken"]
    assert "out of order" in result.tool_calls[0]["content"]


async def test_decisions_of_an_agent_that_is_a_tool_are_told_by_the_one_that_asked():
    agent = Agent(
        ScriptedProvider([call("cleaner", task="x"), "Done."]),
        [remover("cleaner", "a").as_tool()],
        approver=Judge(),
    )
    (decided,) = (await agent.run("Go")).approvals
    assert decided["agent"] == "cleaner"
    assert (await Agent(ScriptedProvider(["Hi."])).run("x")).approvals == []


async def test_a_member_whose_events_nobody_can_be_told_is_stopped():
    async def wait() -> str:
        await asyncio.Event().wait()

    def on_event(event):
        if event["event"] == "action" and "delegated_to" in event:
            raise SystemExit

    worker = Agent(ScriptedProvider([call("wait"), "."]), [wait], name="worker")
    members = {"worker": worker}
    lead = team(delegate("worker", "Go"), "Done.", members=members, on_event=on_event)
    async with asyncio.timeout(20):
        result = await lead.run("Go")
    assert result.tool_calls[0]["failed"]
    others = asyncio.all_tasks() - {asyncio.current_task()}
    assert [each for each in others if "run" in each.get_name()] == []


async def test_stopping_the_orchestrator_stops_its_members():
    started, ended = asyncio.Event(), []

    async def answer(_):
        started.set()
        try:
            await asyncio.sleep(30)
        finally:
            ended.append("stopped")

    members = {"m": Agent(FunctionProvider(answer))}
    run = team(delegate("m", "work"), members=members).start("Go")
    await asyncio.wait_for(started.wait(), 5)
    run.cancel()
    await asyncio.wait_for(run.ended(), 5)
    assert ended == ["stopped"]


@pytest.mark.parametrize("way", ["member", "tool", "swallowed"])
async def test_stop_said_to_a_question_of_a_member_ends_the_whole_run(way):
    """Also where the tool that asked the member makes nothing of it."""

    @tool(approval=True)
    async def burn() -> str:
        """Burn the poems."""
        return "burnt"

    class Stopping:
        async def ask(self, pending):
            pending.decide(Stop(), by="person")

    poet = Agent(ScriptedProvider([call("burn"), "Done."]), [burn], name="poet")

    @tool
    async def ask_poet() -> str:
        """Ask the poet."""
        try:
            return str(await poet.run("roses"))
        except RunCancelledError:
            return "nothing"

    agents = {
        "member": lambda: team(
            delegate("poet", "x"), "On.", members={"poet": poet}, approver=Stopping()
        ),
        "tool": lambda: Agent(
            ScriptedProvider([call("poet", task="x"), "On."]),
            [poet.as_tool()],
            approver=Stopping(),
        ),
        "swallowed": lambda: Agent(
            ScriptedProvider([call("ask_poet"), "On."]), [ask_poet], approver=Stopping()
        ),
    }
    with pytest.raises(RunCancelledError) as stopped:
        await agents[way]().run("Go")
    assert [row["decision"] for row in stopped.value.result.approvals] == ["stop"]


def test_an_orchestrator_needs_members():
    with pytest.raises(AgentConfigurationError, match="members"):
        Orchestrator(ScriptedProvider([]))


async def test_an_agent_can_be_the_tool_of_another_one():
    poet = Agent(EchoProvider("poem: "), name="poet", system_prompt="Write poems.")
    agent = Agent(ScriptedProvider([call("poet", task="roses"), "."]), [poet.as_tool()])
    result = await agent.run("Go")
    assert result.tool_calls[0]["content"] == "poem: roses"
    schema = agent.tools["poet"].schema["function"]
    assert schema["description"] == "Ask poet. Write poems."


async def test_agents_that_ask_each_other_come_to_an_end():
    asked = []

    def answer(request):
        asked.append(request)
        last = request.messages[-1]
        return call("one", task="deeper") if last.role == "user" else last.content

    one = Agent(FunctionProvider(answer), name="one")
    two = Agent(FunctionProvider(answer), [one.as_tool()], name="two")
    one.add_tool(two.as_tool("one"))
    async with asyncio.timeout(5):
        result = await two.run("Go")
    assert "handed on 10 times" in str(result)
    assert len(asked) == 22


async def test_tasks_one_after_the_other_are_not_nested():
    member = Agent(EchoProvider())
    script = [delegate("m", f"task {n}") for n in range(15)]
    agent = team(*script, "Done.", members={"m": member}, max_steps=20)
    result = await agent.run("Go")
    assert [each["status"] for each in result.tool_calls] == ["done"] * 15


def test_an_agent_as_a_tool_works_from_a_cell_that_blocks():
    poet = Agent(EchoProvider(), name="poet")
    agent = Agent(ScriptedProvider([call("poet", task="roses"), "."]), [poet.as_tool()])
    assert agent.run_sync("Go").tool_calls[0]["content"] == "roses"


# ------------------------------------------------------------ consent beneath a run


class Says:
    """Notes what it is asked, and always gives the same answer."""

    def __init__(self, decision):
        self.asked, self._decision = [], decision

    async def ask(self, pending):
        self.asked.append(pending.request.tool)
        pending.decide(self._decision, by="person")


def with_member(member, **options):
    return team(*[delegate("m", "x"), "."] * 2, members={"m": member}, **options)


def with_agent_as_tool(member, **options):
    script = [call("m", task="x"), "."] * 2
    return Agent(ScriptedProvider(script), [member.as_tool("m")], **options)


def with_own_tool(member, **options):
    @tool(thread=True)
    def hand_on() -> str:
        return str(member.run_sync("x"))

    return Agent(ScriptedProvider([call("hand_on"), "."] * 2), [hand_on], **options)


def with_member_of_a_member(member, **options):
    return with_member(with_agent_as_tool(member), **options)


every_way = pytest.mark.parametrize(
    "above", [with_member, with_agent_as_tool, with_own_tool, with_member_of_a_member]
)


def noting(*, policy=None, rule=True):
    """Give an agent that works twice, one run each, and what it has done."""
    done = []

    @tool(approval=rule)
    def work() -> str:
        done.append("worked")
        return "worked"

    script = [call("work"), "."] * 2
    return Agent(ScriptedProvider(script), [work], policy=policy, name="m"), done


@every_way
async def test_what_one_user_allows_a_member_for_good_is_asked_of_another(above):
    person = Says(Always())
    member, done = noting()
    agent = above(member, approver=person)
    await agent.chat("ada", "c", "go")
    await agent.chat("bob", "c", "go")
    assert len(person.asked) == len(done) == 2


@every_way
async def test_what_a_user_allows_a_member_for_good_holds_for_that_user(above):
    person = Says(Always())
    member, done = noting()
    agent = above(member, approver=person)
    await agent.chat("ada", "c", "go")
    await agent.chat("ada", "d", "go")
    assert (len(person.asked), len(done)) == (1, 2)


@every_way
@pytest.mark.parametrize(
    ("of_run", "own", "asks", "runs"),
    [
        ("deny", None, False, False),
        ("deny", "allow", False, False),
        ("deny", "policy", False, False),
        ({"w*": "deny"}, None, False, False),
        ("allow", None, False, True),
        ("allow", "ask", False, True),
        ("allow", "policy", False, False),
        ("allow", "deny", False, False),
        ("allow", {"work": "deny"}, False, False),
        ("allow", {"work": lambda _: 1 / 0}, True, True),
        ("policy", None, False, False),
        ("policy", {"work": "allow"}, False, True),
        ("ask", "allow", True, True),
        ("ask", None, True, True),
        ({"w*": "ask"}, {"work": "allow"}, True, True),
        ({"w*": "allow"}, None, True, True),
        (None, "allow", False, True),
    ],
)
async def test_what_is_said_for_a_run_holds_beneath_it(above, of_run, own, asks, runs):
    person = Says(Allow())
    member, done = noting(policy=own)
    await above(member, approver=person).run("go", policy=of_run)
    assert (bool(person.asked), bool(done)) == (asks, runs)


async def test_what_was_said_for_a_run_ends_with_it():
    person = Says(Allow())
    member, done = noting()
    agent = with_member(member, approver=person)
    await agent.run("go", policy="deny")
    await agent.run("go")
    assert (person.asked, done) == (["work"], ["worked"])


async def test_the_policy_of_an_agent_itself_is_about_its_own_tools():
    person = Says(Allow())
    member, done = noting()
    await with_member(member, approver=person, policy="allow").run("go")
    assert (person.asked, done) == (["work"], ["worked"])


# ------------------------------------------------------------ on another model


@pytest.mark.parametrize("again", [lambda team: team, copy.copy])
async def test_on_another_model_the_members_answer_with_that_one_too(again):
    first = ScriptedProvider(["not asked"])
    other = ScriptedProvider([delegate("poet", "a line"), "Roses.", "Here it is."])
    agent = Orchestrator(first, {"poet": Agent(name="poet")})
    result = await again(agent.with_model(other)).run("Go")
    assert (str(result), result.tool_calls[0]["content"]) == ("Here it is.", "Roses.")
    assert first.requests == []


async def test_on_another_model_a_member_that_names_its_own_keeps_it():
    other = ScriptedProvider([delegate("poet", "roses"), "Done."])
    result = await team("not asked").with_model(other).run("Go")
    assert result.tool_calls[0]["content"] == "poem: roses"
