"""Which calls need consent, and when nobody has to be asked."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from typing import Any

import pytest

from notebook_agents import (
    Agent,
    Allow,
    Always,
    ApprovalPolicy,
    Deny,
    InMemoryStore,
    Respond,
    ScriptedProvider,
    call,
)
from notebook_agents.errors import AgentConfigurationError
from notebook_agents.tools import tool


class Person:
    """Notes what it is asked, and says no."""

    def __init__(self):
        self.asked = []

    async def ask(self, pending):
        self.asked.append(pending.request.tool)
        pending.decide(Deny("no"), by="person")


class Says(Person):
    """Notes what it is asked, and always gives the same answer."""

    def __init__(self, decision, meddle=lambda args: None):
        super().__init__()
        self._decision, self._meddle = decision, meddle

    async def ask(self, pending):
        self.asked.append(dict(pending.request.args))
        self._meddle(pending.request.args)
        pending.decide(self._decision, by="person")


def agent_with(*, person=None, args=None, agent=None, **options):
    """Give an agent that calls ``work``, a tool with these options."""

    async def work(x: int = 1) -> str:
        return "done"

    definition = tool(name="work", **options)(work)
    script = [call("work", **(args or {})), "."]
    return Agent(
        ScriptedProvider(script), [definition], approver=person, **(agent or {})
    )


async def was_asked(**options):
    person = Person()
    await agent_with(person=person, **options).run("go")
    return bool(person.asked)


async def content(agent, **options):
    return (await agent.run("go", **options)).tool_calls[0]["content"]


@pytest.mark.parametrize(
    ("options", "asks"),
    [
        ({}, False),
        ({"approval": False}, False),
        ({"approval": True}, True),
        ({"approval": "risky"}, True),
        ({"approval": "risky", "risk": "write"}, True),
        ({"approval": "risky", "risk": "read"}, False),
        ({"risk": "money"}, False),
        ({"agent": {"approval_tools": ["work"]}}, True),
        ({"agent": {"approval_tools": "work"}}, True),
        ({"approval": True, "agent": {"approval_tools": []}}, True),
    ],
)
async def test_a_call_needs_consent_if_its_tool_or_the_agent_says_so(options, asks):
    assert await was_asked(**options) is asks


@pytest.mark.parametrize(("x", "asks"), [(1, False), (100, True)])
async def test_a_rule_looks_at_the_arguments(x, asks):
    rule = {"approval": lambda args: args["x"] > 10}
    assert await was_asked(args={"x": x}, **rule) is asks


async def test_a_rule_that_fails_asks():
    assert await was_asked(approval=lambda args: args["missing"])


async def test_a_rule_cannot_change_the_arguments():
    def rule(args):
        args["x"] = "nonsense"
        return False

    assert await content(agent_with(args={"x": 2}, approval=rule)) == "done"


def alter(args):
    args["options"]["path"] = "altered"
    return True


@pytest.mark.parametrize("of_tool", [False, True])
@pytest.mark.parametrize("annotation", [dict, Any])
@pytest.mark.parametrize(
    "parts",
    [
        {"policy": {"put": lambda args: alter(args) and "allow"}},
        {"approval_tools": "put", "approval_callback": lambda _, args: alter(args)},
        {"approver": Says(Allow(), alter)},
        {},
    ],
)
async def test_nothing_that_looks_at_the_arguments_changes_what_runs_and_is_told(
    parts, annotation, of_tool
):
    ran = []

    def put(options: annotation) -> str:
        ran.append(dict(options))
        return str(alter({"options": options}))

    rule = {"approval": lambda args: not alter(args)} if of_tool else {}
    model = ScriptedProvider([call("put", options={"path": "a"}), "."])
    agent = Agent(model, [tool(**rule)(put)], **parts)
    result = await agent.run("go")
    assert ran == [{"path": "a"}]
    assert result.tool_calls[0]["args"] == {"options": {"path": "a"}}
    assert all(row["args"] == {"options": {"path": "a"}} for row in result.approvals)


async def test_a_listener_cannot_change_what_is_asked_and_told():
    ran, asked = [], []

    class Person:
        async def ask(self, pending):
            asked.append(pending.request.args["path"])
            pending.decide(Allow(), by="person")

    @tool(approval=True)
    def delete(path: str, options: dict) -> str:
        ran.append((path, options))
        return "gone"

    def redact(event):
        if "args" in event:
            event["args"]["path"] = event["args"]["options"]["k"] = "***"

    model = ScriptedProvider([call("delete", path="a", options={"k": 1}), "."])
    agent = Agent(model, [delete], approver=Person(), on_event=redact)
    result = await agent.run("go")
    assert (ran, asked) == ([("a", {"k": 1})], ["a"])
    assert result.tool_calls[0]["args"] == {"path": "a", "options": {"k": 1}}


async def test_arguments_that_do_not_fit_are_not_asked_about():
    person = Person()
    agent = agent_with(person=person, args={"x": "nonsense"}, approval=True)
    assert (await content(agent)).startswith("Error")
    assert person.asked == []


async def test_a_tool_that_needs_consent_may_be_named_by_its_function():
    person = Person()

    async def work() -> str:
        return "done"

    for tools in (work, [work]):
        script = [call("work"), "."]
        agent = Agent(
            ScriptedProvider(script), [work], approver=person, approval_tools=tools
        )
        await agent.run("go")
    assert person.asked == ["work", "work"]


@pytest.mark.parametrize("way", ["approval_tools", "policy", "policy of the run"])
async def test_a_name_that_is_no_tool_is_refused_before_anything_runs(way):
    """What it says would have no effect, and nobody would know."""
    rules = {"policy": {"wrok": "deny"}}
    parts = {"approval_tools": {"approval_tools": ["wrok"]}, "policy": rules}.get(way)
    agent = agent_with(agent=parts or {})
    with pytest.raises(AgentConfigurationError, match=r"'wrok'.*Did you mean 'work'"):
        await agent.run("go", **({} if parts else rules))
    assert agent._model.get().requests == []


async def test_a_rule_may_be_made_before_the_tool_that_it_names():
    async def pay() -> str:
        return "paid"

    agent = agent_with(agent={"policy": {"pay": "deny", "send_*": "deny"}})
    with pytest.raises(AgentConfigurationError, match="'pay'"):
        await agent.run("go")
    agent.add_tool(pay)
    assert await content(agent) == "done"


# ------------------------------------------------------------ policies


@pytest.mark.parametrize("way", ["agent", "run", "environment"])
async def test_allow_runs_without_asking(way, monkeypatch):
    person = Person()
    options, agent = {}, {}
    if way == "environment":
        monkeypatch.setenv("NOTEBOOK_AGENTS_APPROVE", "allow")
    else:
        (agent if way == "agent" else options)["policy"] = "allow"
    asks = agent_with(person=person, approval=True, agent=agent)
    assert await content(asks, **options) == "done"
    assert person.asked == []


async def test_the_rules_alone_deny_without_asking_and_name_a_rule():
    person = Person()
    said = await content(agent_with(person=person, approval=True), policy="policy")
    assert "Denied: no rule of the policy allows it" in said
    assert 'policy={"work": "allow"}' in said
    assert person.asked == []


async def test_deny_denies_without_asking():
    person = Person()
    said = await content(agent_with(person=person, approval=True), policy="deny")
    assert said == "Denied: the policy is to deny. The tool was not run."
    assert person.asked == []


async def test_the_policy_of_a_run_wins_over_that_of_the_agent(monkeypatch):
    monkeypatch.setenv("NOTEBOOK_AGENTS_APPROVE", "deny")
    agent = agent_with(approval=True, agent={"policy": "deny"})
    assert await content(agent, policy="allow") == "done"


async def test_the_policy_of_the_agent_wins_over_the_environment(monkeypatch):
    monkeypatch.setenv("NOTEBOOK_AGENTS_APPROVE", "allow")
    agent = agent_with(approval=True, agent={"policy": "deny"})
    assert "Denied" in await content(agent)


async def test_ask_asks_whatever_the_environment_says(monkeypatch):
    monkeypatch.setenv("NOTEBOOK_AGENTS_APPROVE", "allow")
    person = Person()
    await agent_with(person=person, approval=True).run("go", policy="ask")
    assert person.asked == ["work"]


async def test_a_decision_by_policy_is_told_but_nobody_waits():
    result = await agent_with(approval=True).run("go", policy="deny")
    kinds = [e.event for e in result.events]
    assert "approval_result" in kinds
    assert "waiting_for_approval" not in kinds
    assert result.approvals[0]["by"] == "policy"


@pytest.mark.parametrize("where", ["agent", "run"])
async def test_a_policy_that_does_not_exist_is_refused(where):
    agent, options = (
        ({"policy": "yes"}, {}) if where == "agent" else ({}, {"policy": "yes"})
    )

    async def ask():
        await agent_with(agent=agent).run("go", **options)

    with pytest.raises(AgentConfigurationError, match="ask, policy, allow, deny"):
        await ask()


async def test_a_word_in_the_environment_that_does_not_exist_is_refused(monkeypatch):
    monkeypatch.setenv("NOTEBOOK_AGENTS_APPROVE", "yes")
    with pytest.raises(AgentConfigurationError, match="NOTEBOOK_AGENTS_APPROVE"):
        await agent_with(approval=True).run("go")


async def test_an_approver_can_be_given_to_one_run():
    class Yes:
        async def ask(self, pending):
            pending.decide(Allow(), by="test")

    assert await content(agent_with(approval=True), approver=Yes()) == "done"


async def test_an_agent_within_a_tool_asks_where_the_outer_one_asks():
    person = Person()
    inner = agent_with(approval=True)

    @tool(thread=True)
    def delegate() -> str:
        return str(inner.run_sync("go"))

    outer = Agent(
        ScriptedProvider([call("delegate"), "ok"]), [delegate], approver=person
    )
    await outer.run("go")
    assert len(person.asked) == 1


# ------------------------------------------------------------ rules


@pytest.mark.parametrize("calls", [1, 2])
async def test_an_agent_that_helps_between_two_steps_asks_nobody_of_the_outer_one(
    calls,
):
    """Neither before a tool has run nor after, however many ran in that step."""
    person, said = Person(), []

    @tool(approval=True)
    def risky() -> str:
        return "done"

    def free() -> str:
        return "free"

    async def ask_helper(messages):
        script = [call("risky"), "."]
        helper = Agent(ScriptedProvider(script), [risky], name="helper")
        said.append(await content(helper))
        return messages

    agent = Agent(
        ScriptedProvider([[call("free")] * calls, "."]),
        [free],
        history_processors=[ask_helper],
        approver=person,
    )
    result = await agent.run("go")
    assert person.asked == []
    assert len(said) == 2
    assert all("nobody is there to ask" in each for each in said)
    assert result.approvals == []


@pytest.mark.parametrize(
    ("rules", "asks"),
    [
        ({"work": "allow"}, False),
        ({"wo*": "allow"}, False),
        ({"[vw]ork": "allow"}, False),
        ({"Work*": "allow"}, True),
        ({"other*": "allow"}, True),
        ({"wor?": "ask", "work": "allow"}, True),
        ({"work": lambda args: "allow" if args["x"] < 10 else "ask"}, False),
        ({"work": lambda args: "ask" if args["x"] < 10 else "allow"}, True),
        ({"work": lambda _: True}, True),
        ({"work": lambda _: 1 / 0}, True),
    ],
)
async def test_the_first_rule_that_fits_decides_whether_to_ask(rules, asks):
    options = {"approval": True, "args": {"x": 2}}
    assert await was_asked(agent={"policy": rules}, **options) is asks


@pytest.mark.parametrize(
    ("parts", "note"),
    [
        (
            {"approval": lambda args: args["amount"] > 5},
            "The approval rule of work failed: KeyError: 'amount'.",
        ),
        (
            {"agent": {"policy": {"wo*": lambda _: int("x" * 900)}}},
            "The rule 'wo*' of the policy failed: ValueError: invalid literal",
        ),
        (
            {"agent": {"policy": {"work": lambda _: "yes"}}},
            "The rule 'work' returned 'yes', none of allow, ask, deny.",
        ),
    ],
)
async def test_the_question_says_that_a_rule_failed(parts, note):
    """Else nobody knows why it is asked, or that the rule never works."""
    person = Person()
    agent = agent_with(person=person, args={"x": 2}, **parts)
    result = await agent.run("go")
    [event] = [e for e in result.events if e.event == "waiting_for_approval"]
    assert event.request["note"].startswith(note)
    assert len(event.request["note"]) < 400


@pytest.mark.parametrize("policy", [None, "deny", "policy"])
async def test_a_denial_without_anybody_says_that_a_rule_failed(policy):
    agent = agent_with(approval=lambda _: 1 / 0)
    said = await content(agent, policy=policy)
    assert "The approval rule of work failed: ZeroDivisionError" in said


def fails_above_ten(args):
    return "ask" if args["x"] <= 10 else 1 / 0


async def test_what_was_always_allowed_is_asked_again_where_a_rule_fails():
    person = SaysAlways()
    calls = [call("work", x=1), call("work", x=5000), call("work", x=2)]
    agent = agent_that_calls(*calls, person=person, policy={"work": fails_above_ten})
    await agent.run("go")
    assert person.asked == [{"x": 1}, {"x": 5000}]


async def test_always_does_not_answer_an_open_question_about_a_rule_that_failed():
    class AnswersTheFirst(Person):
        async def ask(self, pending):
            self.asked.append(pending.request.args["x"])
            if len(self.asked) == 2:
                pending.decide(Always(), by="person")

    person = AnswersTheFirst()
    calls = [call("work", x=5000), call("work", x=1)]
    agent = agent_that_calls(
        calls, person=person, policy={"work": fails_above_ten}, approval_timeout=0.2
    )
    result = await agent.run("go")
    by = {row["args"]["x"]: row["by"] for row in result.approvals}
    assert by == {5000: "timeout", 1: "person"}


@pytest.mark.parametrize(
    ("mode", "asks"), [("ask", True), ("allow", True), ("policy", False)]
)
async def test_a_rule_that_fails_asks_whatever_the_mode_allows(mode, asks):
    person = Person()
    policy = ApprovalPolicy({"work": lambda _: 1 / 0}, mode)
    said = await content(agent_with(person=person, agent={"policy": policy}))
    assert said.startswith("Denied")
    assert bool(person.asked) is asks


async def test_a_failed_rule_names_no_flag_that_would_not_help():
    policy = ApprovalPolicy({"work": lambda _: 1 / 0}, "allow")
    said = await content(agent_with(agent={"policy": policy}))
    assert "failed: ZeroDivisionError" in said
    assert "pass" not in said


def test_an_async_rule_of_a_policy_is_refused_at_once():
    async def rule(args):
        return "allow"

    with pytest.raises(AgentConfigurationError, match="plain function"):
        agent_with(agent={"policy": {"work": rule}})


async def test_a_rule_may_ask_about_a_tool_that_asks_nothing_itself():
    assert await was_asked(agent={"policy": {"*": "ask"}})


async def test_what_a_rule_denies_is_denied_whatever_tool_and_mode_say():
    person = Person()
    policy = ApprovalPolicy({"work": "deny"}, "allow")
    said = await content(agent_with(person=person, agent={"policy": policy}))
    assert said == "Denied: a rule of the policy denies work. The tool was not run."
    assert person.asked == []


async def test_a_rule_that_allows_is_recorded_only_where_consent_was_needed():
    rules = {"policy": {"work": "allow"}}
    needed = await agent_with(approval=True, agent=rules).run("go")
    assert [each["by"] for each in needed.approvals] == ["policy"]
    assert (await agent_with(agent=rules).run("go")).approvals == []


async def test_a_word_for_one_run_keeps_the_rules_of_the_agent():
    agent = agent_with(approval=True, agent={"policy": {"work": "deny"}})
    assert (await content(agent, policy="allow")).startswith("Denied")


async def test_rules_for_one_run_take_the_place_of_those_of_the_agent():
    agent = agent_with(approval=True, agent={"policy": {"work": "deny"}})
    assert await content(agent, policy={"work": "allow"}) == "done"


async def test_the_rules_alone_allow_what_a_rule_allows():
    policy = ApprovalPolicy({"work": "allow"}, "policy")
    assert await content(agent_with(approval=True), policy=policy) == "done"


async def test_arguments_that_do_not_fit_are_never_allowed_by_a_rule():
    agent = agent_with(args={"x": "nonsense"}, agent={"policy": {"*": "allow"}})
    assert (await content(agent)).startswith("Error")


@pytest.mark.parametrize("rules", [{"work": "yes"}, {"work": None}, {1: "ask"}])
def test_a_rule_that_says_nothing_is_refused_at_once(rules):
    with pytest.raises(AgentConfigurationError, match="allow, ask, deny"):
        agent_with(agent={"policy": rules})


# ------------------------------------------------------------ for this session


class SaysAlways(Person):
    """Notes what it is asked, and allows it for good."""

    async def ask(self, pending):
        self.asked.append(pending.request.args)
        pending.decide(Always(), by="person")


def agent_that_calls(*calls, person, tools=None, **options):
    """Give an agent whose tools ``work`` and ``play`` both ask."""

    async def work(x: int = 1) -> str:
        return f"worked {x}"

    async def play() -> str:
        return "played"

    tools = tools or [tool(approval=True)(work), tool(approval=True)(play)]
    return Agent(ScriptedProvider([*calls, "."]), tools, approver=person, **options)


async def test_always_allows_later_calls_of_that_tool_only():
    person = SaysAlways()
    calls = [call("work", x=1), call("work", x=2), call("play")]
    agent = agent_that_calls(*calls, person=person)
    result = await agent.run("go", max_tool_rounds=3)
    assert person.asked == [{"x": 1}, {}]
    decided = [(each["decision"], each["by"]) for each in result.approvals]
    assert decided == [("always", "person"), ("allow", "session"), ("always", "person")]


async def test_always_lasts_for_the_next_run_of_the_same_agent():
    person = SaysAlways()
    agent = agent_that_calls(call("work"), "one", call("work"), person=person)
    await agent.run("go")
    assert await content(agent) == "worked 1"
    assert len(person.asked) == 1


async def test_always_is_not_said_for_another_agent_with_the_same_tool():
    person = SaysAlways()
    for _ in range(2):
        await agent_that_calls(call("work"), person=person).run("go")
    assert len(person.asked) == 2


async def test_another_tool_of_the_same_name_asks_again():
    person = SaysAlways()
    agent = agent_that_calls(call("work"), "one", call("work"), person=person)
    await agent.run("go")
    agent.tools["work"] = agent_that_calls(person=person).tools["work"]
    await agent.run("go")
    assert len(person.asked) == 2


async def test_what_one_user_allowed_is_asked_of_another():
    person, store = SaysAlways(), InMemoryStore()
    calls = [call("work"), "one", call("work"), "two", call("work")]
    agent = agent_that_calls(*calls, person=person)
    for user in ["ada", "ada", "bob"]:
        await agent.run("go", memory=store.session(user_id=user))
    assert len(person.asked) == 2


async def test_a_policy_that_denies_wins_over_always():
    agent = agent_that_calls(call("work"), "one", call("work"), person=SaysAlways())
    await agent.run("go")
    assert (await content(agent, policy="deny")).startswith("Denied")


async def test_always_for_a_call_asks_again_about_other_arguments():
    person = Says(Always(scope="call"))
    calls = [call("work", x=1), call("work", x=1), call("work", x=2)]
    await agent_that_calls(*calls, person=person).run("go")
    assert person.asked == [{"x": 1}, {"x": 2}]


async def test_always_for_a_call_tells_values_apart_that_python_calls_equal():
    person = Says(Always(scope="call"))

    @tool(approval=True)
    def pay(n: Any) -> str:
        return "paid"

    calls = [call("pay", n=1), call("pay", n=True), call("pay", n=1.0)]
    agent = agent_that_calls(*calls, person=person, tools=[pay])
    await agent.run("go", max_steps=5)
    assert [type(args["n"]) for args in person.asked] == [int, bool, float]


async def test_always_until_a_moment_asks_again_after_it(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("notebook_agents.consent.time.time", lambda: now[0])
    person = Says(Always(until=1060.0))
    script = [call("work"), ".", call("work"), ".", call("work")]
    agent = agent_that_calls(*script, person=person)
    for moment in (1000.0, 1059.0, 1061.0):
        now[0] = moment
        await agent.run("go")
    assert len(person.asked) == 2


async def test_always_answers_the_open_questions_about_the_same_tool():
    waiting = []

    class AnswersTheLast:
        async def ask(self, pending):
            waiting.append(pending)
            if len(waiting) == 3:
                last = next(p for p in waiting if p.request.args == {"x": 2})
                last.decide(Always(), by="person")
            await pending.wait()

    calls = [call("work", x=1), call("work", x=2), call("play")]
    agent = agent_that_calls(calls, person=AnswersTheLast(), approval_timeout=0.5)
    result = await agent.run("go")
    assert [(each["tool"], each["by"]) for each in result.approvals] == [
        ("work", "person"),
        ("work", "session"),
        ("play", "timeout"),
    ]


# ------------------------------------------------------------ an answer instead


async def test_a_person_may_answer_in_place_of_the_tool():
    agent = agent_that_calls(call("work"), person=Says(Respond("It is done by hand.")))
    result = await agent.run("go")
    assert result.tool_calls[0]["content"] == "It is done by hand."
    assert result.tool_calls[0]["status"] == "answered"
    assert not result.tool_calls[0]["failed"]
    assert result.approvals[0]["decision"] == "respond"
    assert result.approvals[0]["reason"] == "It is done by hand."


def test_an_answer_without_text_is_refused():
    with pytest.raises(AgentConfigurationError, match="text"):
        Respond(" ")


def test_always_of_an_unknown_scope_is_refused():
    with pytest.raises(AgentConfigurationError, match="one of tool, call"):
        Always(scope="day")


# ------------------------------------------------------- functions of the user's

HERE = contextvars.ContextVar("HERE", default="nowhere")


class Slow:
    """A function that waits until others have been heard."""

    def __init__(self, answer):
        self.is_called, self.may_end = threading.Event(), threading.Event()
        self.saw = []
        self._answer = answer

    def __call__(self, given):
        self.is_called.set()
        self.saw += [self.may_end.wait(10), HERE.get()]
        return given if self._answer is None else self._answer


@pytest.mark.parametrize(
    ("slow", "options"),
    [
        (rule := Slow("allow"), {"policy": {"wo*": rule}}),
        (rule := Slow(answer=False), {"approval": rule}),
        (function := Slow(None), {"history_processors": function}),
    ],
    ids=["policy", "approval", "history processor"],
)
async def test_a_slow_function_of_the_users_holds_up_no_other_run(slow, options):
    own = {"approval": options.pop("approval")} if "approval" in options else {}
    HERE.set("here")
    running = asyncio.create_task(content(agent_with(**own, agent=options)))
    assert await asyncio.to_thread(slow.is_called.wait, 10)
    assert (await Agent(ScriptedProvider(["hello"])).run("hi")).answer == "hello"
    slow.may_end.set()
    assert await running == "done"
    assert slow.saw[:2] == [True, "here"]
