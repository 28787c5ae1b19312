"""A question is answered once, and whoever cannot answer says no."""

from __future__ import annotations

import asyncio
import threading
import time
from functools import partial

import pytest

from notebook_agents import Agent, Allow, ApprovalRequest, Deny, ScriptedProvider, call
from notebook_agents.approval import PendingApproval, Stop, settle, waiting_approvals
from notebook_agents.sync import Call, Waiter
from notebook_agents.tools import tool


@tool(name="risky", approval=True, risk="write")
async def risky_tool(x: int = 1) -> str:
    """Change something."""
    return f"did {x}"


def agent_with(calls=("risky",), **options):
    script = [[call(name) for name in calls], "."]
    return Agent(ScriptedProvider(script), [risky_tool, free], **options)


async def free() -> str:
    """Change nothing."""
    return "free"


def contents(result):
    return [entry["content"] for entry in result.tool_calls]


def kinds(result):
    return [e.event for e in result.events if e.event != "token"]


class Answers:
    """Answers at once."""

    def __init__(self, decision):
        self.decision = decision
        self.requests = []

    async def ask(self, pending):
        self.requests.append(pending.request)
        pending.decide(self.decision, by="person")


def a_question(**facts):
    return PendingApproval(
        ApprovalRequest(run_id="r", call_id="c", agent="a", tool="t", args={}, **facts)
    )


async def test_a_question_that_is_printed_says_who_wants_what_and_what_became_of_it():
    asked = ApprovalRequest(
        id="q", run_id="r", call_id="c", agent="bot", tool="drop", args={"n": "x" * 99}
    )
    question = PendingApproval(asked)
    assert repr([question]).startswith("[<q: bot wants drop(n='xxx")
    assert len(repr(question)) < 80
    assert repr(question).endswith("; waits>")
    question.decide(Deny("no"), by="person")
    assert repr(question).endswith("; deny by person>")


# ------------------------------------------------------------ one answer


async def test_an_allowed_call_runs():
    result = await agent_with(approver=Answers(Allow())).run("go")
    assert contents(result) == ["did 1"]
    assert kinds(result) == [
        "task",
        "action",
        "waiting_for_approval",
        "approval_result",
        "observation",
        "answer",
    ]


async def test_a_denied_call_does_not_run_and_the_model_is_told_why():
    result = await agent_with(approver=Answers(Deny("not today"))).run("go")
    assert contents(result) == ["Denied: not today. The tool was not run."]
    assert result.answer == "."
    assert "tool_error" not in kinds(result)


async def test_a_decision_is_part_of_the_result():
    result = await agent_with(approver=Answers(Deny("no"))).run("go")
    (row,) = result.approvals
    assert time.time() - row.pop("at") < 60
    [decided] = [each for each in result.events if each.event == "approval_result"]
    assert row.pop("request_id") == decided.request_id
    assert row == {
        "agent": "agent",
        "tool": "risky",
        "args": {},
        "asked": {},
        "decision": "deny",
        "scope": "",
        "until": None,
        "reason": "no",
        "by": "person",
    }


async def test_a_question_says_what_a_person_needs_to_know():
    approver = Answers(Allow())
    await agent_with(approver=approver, name="helper", approval_timeout=60).run("go")
    [request] = approver.requests
    assert (request.agent, request.tool, request.risk) == ("helper", "risky", "write")
    assert request.description == "Change something."
    assert "x" in request.schema["properties"]
    assert request.expires_at - request.requested_at == pytest.approx(60)


async def test_the_first_of_many_answers_counts():
    pending, counted = a_question(), []

    def answer(number):
        barrier.wait()
        counted.append(pending.decide(Deny(str(number)), by=str(number)))

    barrier = threading.Barrier(8)
    threads = [threading.Thread(target=answer, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        await asyncio.to_thread(thread.join, 5)
    assert sorted(counted) == [False] * 7 + [True]
    assert await pending.wait() == Deny(pending.by)


async def test_calls_of_one_step_are_asked_side_by_side():
    both = asyncio.Event()

    class Both:
        count = 0

        async def ask(self, pending):
            self.count += 1
            if self.count == 2:
                both.set()
            await both.wait()
            pending.decide(Allow(), by="person")

    async with asyncio.timeout(5):
        result = await agent_with(["risky", "risky"], approver=Both()).run("go")
    assert contents(result) == ["did 1", "did 1"]


def test_stop_denies_and_ends_the_run():
    assert Stop().kind == "stop"


# ------------------------------------------------------------ whoever cannot


async def test_nobody_there_means_no_with_the_flag_that_allows():
    """Design, section 17."""
    [content] = contents(await agent_with().run("go"))
    assert "nobody is there to ask" in content
    assert 'policy="allow"' in content


async def test_silence_means_no():
    class Silent:
        async def ask(self, pending):
            await asyncio.Event().wait()

    result = await agent_with(approver=Silent(), approval_timeout=0.02).run("go")
    assert contents(result) == [
        "Denied: nobody answered within 0.02 s. The tool was not run."
    ]
    assert result.approvals[0]["by"] == "timeout"


@pytest.mark.parametrize(
    "error", [ZeroDivisionError, SystemExit, KeyboardInterrupt, asyncio.CancelledError]
)
def test_an_approver_that_breaks_means_no(error):
    class Broken:
        async def ask(self, pending):
            raise error

    result = agent_with(approver=Broken(), approval_timeout=5).run_sync("go")
    assert error.__name__ in contents(result)[0]
    assert result.approvals[0]["decision"] == "deny"


async def test_an_approver_that_is_not_async_means_no():
    class Wrong:
        def ask(self, pending):
            return None

    result = await agent_with(approver=Wrong(), approval_timeout=5).run("go")
    assert "asking failed: TypeError" in contents(result)[0]


async def test_an_approver_that_returns_leaves_the_question_to_others():
    class Shows:
        async def ask(self, pending):
            shown.set()

    shown = asyncio.Event()
    run = agent_with(approver=Shows(), approval_timeout=5).start("go")
    await shown.wait()
    run.decide(run.approvals[0].request.id, Allow(), by="another cell")
    assert contents(await run.result()) == ["did 1"]


async def test_an_approver_is_told_when_another_surface_was_first():
    order, asked = [], asyncio.Event()

    class Card:
        async def ask(self, pending):
            asked.set()
            try:
                await asyncio.Event().wait()
            finally:
                order.append(pending.by)

    run = agent_with(approver=Card()).start("go")
    await asked.wait()
    run.decide(run.approvals[0].request.id, Deny(), by="server")
    result = await run.result()
    assert order == ["server"]
    assert contents(result) == ["Denied by the user. The tool was not run."]


async def test_an_approver_that_will_not_leave_does_not_hold_the_run(monkeypatch):
    monkeypatch.setattr("notebook_agents.approval.CLEANUP_SECONDS", 0.05)
    release = asyncio.Event()

    class Stubborn:
        async def ask(self, pending):
            pending.decide(Allow(), by="person")
            while not release.is_set():
                try:
                    await release.wait()
                except asyncio.CancelledError:
                    continue

    async with asyncio.timeout(5):
        assert contents(await agent_with(approver=Stubborn()).run("go")) == ["did 1"]
    release.set()


class Together:
    """Waits until all calls are there, and then decides in an order of its own."""

    def __init__(self, *order):
        self.order = order
        self.waiting = {}

    async def ask(self, pending):
        self.waiting[pending.request.args["n"]] = pending
        if len(self.waiting) == len(self.order):
            loop = asyncio.get_running_loop()
            for turn, number in enumerate(self.order):
                decide = partial(self.waiting[number].decide, Allow(), by="person")
                loop.call_later(turn / 100, decide)
        await pending.wait()


@pytest.mark.parametrize("order", [(1, 2, 3), (3, 2, 1), (2, 3, 1)])
def test_tools_of_the_cell_run_in_call_order_once_all_is_decided(order):
    ran = []

    @tool(approval=lambda args: args["n"])
    def write(n: int) -> int:
        ran.append(n)
        return n

    calls = [call("write", n=n) for n in (1, 0, 2, 3)]
    agent = Agent(ScriptedProvider([calls, "."]), [write], approver=Together(*order))
    result = Call(agent.run("go"), Waiter(runs_tools=True)).wait()
    assert ran == [1, 0, 2, 3]
    assert contents(result) == ["1", "0", "2", "3"]


@pytest.mark.parametrize("kind", ["async", "thread"])
def test_a_tool_that_blocks_no_cell_runs_when_its_own_question_is_decided(kind):
    ran = threading.Event()

    def body(n: int) -> int:
        ran.set()
        return n

    async def async_body(n: int) -> int:
        return body(n)

    class DecidesTheSecondWhenTheFirstHasRun:
        async def ask(self, pending):
            if pending.request.args["n"] == 2:
                assert await asyncio.to_thread(ran.wait, 5)
            pending.decide(Allow(), by="person")

    function = tool(name="work", approval=True, thread=kind == "thread" or None)(
        body if kind == "thread" else async_body
    )
    calls = [call("work", n=1), call("work", n=2)]
    approver = DecidesTheSecondWhenTheFirstHasRun()
    agent = Agent(ScriptedProvider([calls, "."]), [function], approver=approver)
    result = Call(agent.run("go"), Waiter(runs_tools=True)).wait()
    assert contents(result) == ["1", "2"]


async def test_a_question_is_found_from_anywhere_while_it_waits():
    found = []

    class Looks:
        async def ask(self, pending):
            found.extend(waiting_approvals())
            found[0].decide(Allow(), by="elsewhere")

    result = await agent_with(approver=Looks()).run("go")
    assert [each.request.tool for each in found] == ["risky"]
    assert result.approvals[0]["by"] == "elsewhere"
    assert waiting_approvals() == []


async def test_cancelling_a_question_says_so():
    class Silent:
        async def ask(self, pending):
            await asyncio.Event().wait()

    pending = a_question()
    task = asyncio.create_task(settle(pending, Silent(), timeout=5))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (pending.by, pending.decision) == ("cancelled", Deny("the run was stopped"))


# ------------------------------------------------------------ a callback


def saying(answer):
    asked = []

    def callback(name, args):
        asked.append((name, args))
        return answer

    async def async_callback(name, args):
        await asyncio.sleep(0)
        return callback(name, args)

    return asked, callback, async_callback


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("answer", [True, False])
async def test_a_callback_decides(is_async, answer):
    """Acceptance check 37."""
    asked, *callbacks = saying(answer)
    agent = agent_with(
        ["risky", "free"],
        approval_callback=callbacks[is_async],
        approval_tools=["risky"],
    )
    result = await agent.run("go")
    assert asked == [("risky", {})]
    said = "did 1" if answer else "Denied: the callback said no. The tool was not run."
    assert contents(result) == ["free", said] or contents(result) == [said, "free"]
    assert result.answer == "."


async def test_a_callback_is_asked_after_the_question_was_told():
    """Acceptance check 37."""
    order = []

    def callback(name, args):
        order.append("asked")
        return True

    agent = agent_with(
        approval_callback=callback, on_event=lambda event: order.append(event["event"])
    )
    await agent.run("go")
    assert order.index("waiting_for_approval") < order.index("observation")


async def test_a_callback_is_asked_one_question_at_a_time():
    """Acceptance check 37."""
    open_now, most = 0, 0

    async def callback(name, args):
        nonlocal open_now, most
        open_now += 1
        most = max(most, open_now)
        for _ in range(5):
            await asyncio.sleep(0)
        open_now -= 1
        return True

    agent = agent_with(["risky", "risky", "free"], approval_callback=callback)
    result = await agent.run("go")
    assert most == 1
    assert sorted(contents(result)) == ["did 1", "did 1", "free"]


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_callback_is_asked_in_turn_by_runs_on_different_loops(
    is_async, wait_until
):
    """A run without an approver asks the outer one, from the loop it is on."""
    asked = []

    def callback(name, args):
        asked.append(name)
        if name == "risky":  # answered when the other question is open as well
            wait_until(lambda: len(run.approvals) == 2, 30)
            threading.Event().wait(0.2)
        return True

    async def async_callback(name, args):
        return await asyncio.to_thread(callback, name, args)

    @tool(approval=True)
    def inner_risky() -> str:
        return "inner done"

    script = [call("inner_risky"), "."]
    inner = Agent(ScriptedProvider(script), [inner_risky], approval_timeout=40)

    @tool
    def ask_inner() -> str:
        wait_until(lambda: asked, 30)
        return contents(inner.run_sync("go"))[0]

    agent = Agent(
        ScriptedProvider([[call("risky"), call("ask_inner")], "."]),
        [risky_tool, ask_inner],
        approval_callback=async_callback if is_async else callback,
        approval_tools=[],
    )
    run = agent.start("go")
    assert sorted(contents(await run.result())) == ["did 1", "inner done"]
    assert asked == ["risky", "inner_risky"]


async def test_a_callback_without_a_list_is_asked_about_every_tool():
    asked, callback, _ = saying(answer=True)
    await agent_with(["risky", "free"], approval_callback=callback).run("go")
    assert [name for name, _ in asked] == ["risky", "free"]


async def test_an_empty_list_asks_about_nothing_more():
    asked, callback, _ = saying(answer=True)
    agent = agent_with(["free"], approval_callback=callback, approval_tools=[])
    await agent.run("go")
    assert asked == []


async def test_a_single_name_is_one_tool_and_not_its_letters():
    asked, callback, _ = saying(answer=True)
    agent = agent_with(["free"], approval_callback=callback, approval_tools="free")
    await agent.run("go")
    assert [name for name, _ in asked] == ["free"]


@pytest.mark.parametrize("answer", [None, 1, "yes"])
async def test_only_true_is_a_yes(answer):
    _, callback, _ = saying(answer)
    result = await agent_with(approval_callback=callback).run("go")
    assert contents(result)[0].startswith("Denied")


async def test_a_callback_that_fails_means_no():
    def callback(name, args):
        raise ZeroDivisionError

    result = await agent_with(approval_callback=callback).run("go")
    assert "asking failed: ZeroDivisionError" in contents(result)[0]


async def test_a_callback_that_blocks_does_not_block_the_loop():
    loop, answer = asyncio.get_running_loop(), threading.Event()
    asked = asyncio.Event()

    def callback(name, args):
        loop.call_soon_threadsafe(asked.set)
        return answer.wait(5)

    run = agent_with(approval_callback=callback).start("go")
    await asked.wait()
    answer.set()
    assert contents(await run.result()) == ["did 1"]


def test_a_callback_is_called_in_the_waiting_cell():
    threads = []

    def callback(name, args):
        threads.append(threading.current_thread())
        return True

    agent = agent_with(approval_callback=callback)
    Call(agent.run("go"), Waiter(runs_tools=True)).wait()
    assert threads == [threading.current_thread()]


async def test_an_async_callback_runs_on_the_loop_of_the_awaiting_cell():
    loops = []

    async def callback(name, args):
        loops.append(asyncio.get_running_loop())
        return True

    agent = agent_with(approval_callback=callback)
    await Call(agent.run("go"), Waiter(runs_tools=True)).wait_async()
    assert loops == [asyncio.get_running_loop()]


async def test_a_callback_cannot_change_the_arguments():
    def callback(name, args):
        args["x"] = 99
        return True

    script = [call("risky", x=2), "."]
    agent = Agent(ScriptedProvider(script), [risky_tool], approval_callback=callback)
    assert contents(await agent.run("go")) == ["did 2"]
