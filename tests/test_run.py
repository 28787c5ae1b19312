"""A run goes on by itself, can be followed from anywhere, and can be stopped."""

from __future__ import annotations

import asyncio
import gc
import json
import pickle
import threading
import time
import weakref

import pytest

from notebook_agents import (
    Agent,
    Allow,
    Deny,
    InMemoryStore,
    ScriptedProvider,
    SQLiteStore,
    Stop,
    call,
    event_from_dict,
    tool,
)
from notebook_agents.errors import (
    AgentProviderError,
    MemoryStoreError,
    RunCancelledError,
    ToolArgumentsError,
)
from notebook_agents.providers.base import ModelReply, Provider, TextDelta
from notebook_agents.sync import run_sync

SOON = 1.0  # seconds within which a stopped run has ended


async def cancelled(run) -> RunCancelledError:
    """Stop a run and give its error; fail if that takes longer than a second."""
    run.cancel()
    with pytest.raises(RunCancelledError) as caught:
        async with asyncio.timeout(SOON):
            await run.result()
    return caught.value


def assert_fit_to_send(messages):
    """Fail unless every call is answered once, right after it was made."""
    waiting, seen = [], set()
    for message in messages:
        if message["role"] == "tool":
            waiting.remove(message["tool_call_id"])
            continue
        assert waiting == [], "a call has no result"
        waiting = [c["id"] for c in message.get("tool_calls", ())]
        assert seen.isdisjoint(waiting)
        assert len(set(waiting)) == len(waiting)
        seen.update(waiting)
        for one in message.get("tool_calls", ()):
            assert isinstance(json.loads(one["function"]["arguments"]), dict)
    assert waiting == []


class Stuck(Provider):
    """Says something and then nothing more."""

    def __init__(self, *texts):
        self.texts = texts
        self.is_closed = False
        self.is_waiting = asyncio.Event()

    async def respond(self, request):
        try:
            for text in self.texts:
                yield TextDelta(text)
            self.is_waiting.set()
            await asyncio.Event().wait()
        finally:
            self.is_closed = True


# ------------------------------------------------------------ following


async def test_a_run_needs_nobody_to_follow_it(wait_until):
    run = Agent(ScriptedProvider(["hi"])).start("go")
    await asyncio.to_thread(wait_until, lambda: run.is_done)
    assert (await run.result()).answer == "hi"


def test_a_run_started_from_plain_code_goes_on_in_the_background(wait_until):
    run = Agent(ScriptedProvider(["hi"])).start("go")
    wait_until(lambda: run.is_done)
    assert run_sync(run.result()).answer == "hi"


async def test_events_are_numbered_without_gaps():
    run = Agent(ScriptedProvider([call("no"), "hello there you"])).start("go")
    assert [e.seq for e in (await run.result()).events] == list(range(1, 8))


async def test_events_of_calls_at_once_are_numbered_as_they_are_told(tmp_path):
    """Also where each result is written down before it is told."""

    async def work(n: int) -> str:
        if n % 2:
            raise ValueError
        return "done"

    script = [[call("work", n=n) for n in range(8)], "end"]
    with SQLiteStore(tmp_path / "chats.sqlite") as store:
        agent = Agent(ScriptedProvider(script), [work], memory=store.session())
        numbers = [event.seq for event in (await agent.run("go")).events]
    assert numbers == list(range(1, len(numbers) + 1))


async def test_a_reader_can_catch_up_from_any_point():
    run = Agent(ScriptedProvider(["hello there you"])).start("go")
    await run.ended()
    assert [e.seq async for e in run.events(after=2)] == [3, 4]
    assert [e.seq async for e in run.events(after=99)] == []


def test_readers_on_other_loops_see_every_event_once():
    run = Agent(ScriptedProvider(["x" * 400], chunk=1)).start("go")

    async def read(after):
        return [e.seq async for e in run.events(after)]

    seen = {}

    def reader(number):
        with asyncio.Runner() as runner:
            seen[number] = runner.run(read(number))

    threads = [threading.Thread(target=reader, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert seen == {n: list(range(n + 1, 403)) for n in range(6)}


def test_the_last_event_is_never_lost_to_a_reader_on_another_loop():
    async def read(run):
        return [e.event async for e in run.events()][-1]

    with asyncio.Runner() as runner:
        for _ in range(100):
            run = Agent(ScriptedProvider(["hi"])).start("go")
            assert runner.run(read(run)) == "answer"


async def test_a_reader_that_leaves_does_not_stop_the_run():
    run = Agent(ScriptedProvider(["hello there you"])).start("go")
    events = run.events()
    await anext(events)
    await events.aclose()
    assert (await run.result()).stop_reason == "stop"


async def test_the_events_of_a_run_can_be_made_again_from_json():
    result = await Agent(ScriptedProvider([call("no"), "hello"])).run("go")
    sent = json.loads(json.dumps([e.to_dict() for e in result.events]))
    assert tuple(map(event_from_dict, sent)) == result.events


async def test_ten_thousand_tokens_cost_no_more_than_ten_times_a_thousand():
    async def seconds(tokens):
        agent = Agent(ScriptedProvider(["x" * tokens], chunk=1))
        began = time.thread_time()  # what else runs in this process does not count
        await agent.run("go")
        return time.thread_time() - began

    few = min([await seconds(1000) for _ in range(3)])
    many = min([await seconds(10_000) for _ in range(3)])
    assert many < 30 * few


async def test_a_finished_agent_is_not_kept_alive():
    agent = Agent(ScriptedProvider(["hi"]))
    await agent.run("go")
    there = weakref.ref(agent)
    del agent
    gc.collect()
    assert there() is None


async def test_asking_for_a_failure_again_does_not_grow_its_traceback():
    run = Agent(ScriptedProvider([AgentProviderError("down")])).start("go")
    sizes = []
    for _ in range(3):
        with pytest.raises(AgentProviderError) as caught:
            await run.result()
        sizes.append(len(caught.traceback))
    assert len(set(sizes)) == 1


# ------------------------------------------------------------ stopping


async def test_a_run_is_stopped_while_the_model_speaks():
    provider = Stuck("half an ", "answer")
    agent = Agent(provider)
    run = agent.start("go")
    await provider.is_waiting.wait()
    error = await cancelled(run)
    assert provider.is_closed
    assert error.result.stop_reason == "cancelled"
    assert error.result.answer.startswith("half an answer\n\n[stopped")
    assert agent.memory.messages == error.result.new_messages


async def test_a_run_that_is_stopped_before_a_word_leaves_no_trace():
    provider = Stuck()
    agent = Agent(provider)
    run = agent.start("go")
    await provider.is_waiting.wait()
    await cancelled(run)
    assert agent.memory.all_messages == []


@pytest.mark.parametrize(("guards", "told"), [([], "go"), ([str.upper], "[withheld]")])
async def test_a_run_that_is_stopped_at_once_tells_what_was_asked(guards, told):
    agent = Agent(ScriptedProvider(["never"]), input_guards=guards)
    run = agent.start("go")
    error = await cancelled(run)
    task, last = error.result.events
    assert (task.event, task.prompt, last.reason) == ("task", told, "cancelled")
    assert agent.memory.all_messages == []


async def test_an_async_tool_has_cleaned_up_before_a_stopped_run_has_ended():
    began, order = asyncio.Event(), []

    async def work() -> None:
        try:
            began.set()
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.05)
            order.append("cleaned up")

    agent = Agent(ScriptedProvider([call("work")]), [work])
    run = agent.start("go")
    await began.wait()
    await cancelled(run)
    assert order == ["cleaned up"]
    assert_fit_to_send(agent.memory.all_messages)
    assert "Cancelled" in agent.memory.all_messages[2]["content"]


async def test_a_run_is_stopped_while_a_thread_works():
    began, go_on = threading.Event(), threading.Event()

    def work() -> None:
        began.set()
        go_on.wait(5)

    agent = Agent(ScriptedProvider([call("work")]), [work])
    run = agent.start("go")
    await asyncio.to_thread(began.wait, 5)
    await cancelled(run)
    go_on.set()
    assert_fit_to_send(agent.memory.all_messages)


async def test_a_run_is_stopped_although_a_tool_will_not_stop(monkeypatch):
    monkeypatch.setattr("notebook_agents.merging.CLEANUP_SECONDS", 0.1)
    began, release = asyncio.Event(), asyncio.Event()

    async def stubborn() -> None:
        began.set()
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    agent = Agent(ScriptedProvider([call("stubborn")]), [stubborn])
    run = agent.start("go")
    await began.wait()
    await cancelled(run)
    release.set()
    assert_fit_to_send(agent.memory.all_messages)


class Silent:
    """An approver that never answers."""

    def __init__(self):
        self.asked = asyncio.Event()
        self.was_taken_down = False

    async def ask(self, pending):
        self.asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.was_taken_down = True


@tool(approval=True)
def risky() -> str:
    """Do something."""
    return "done"


async def test_a_run_is_stopped_while_a_question_waits():
    approver = Silent()
    agent = Agent(ScriptedProvider([call("risky")]), [risky], approver=approver)
    run = agent.start("go")
    await approver.asked.wait()
    error = await cancelled(run)
    assert approver.was_taken_down
    assert run.approvals == []
    assert [a["by"] for a in error.result.approvals] == ["cancelled"]
    assert_fit_to_send(agent.memory.all_messages)


async def test_a_run_is_stopped_while_a_callback_blocks():
    asked, release = threading.Event(), threading.Event()

    def callback(name, args):
        asked.set()
        return release.wait(5)

    script = ScriptedProvider([call("risky")])
    run = Agent(script, [risky], approval_callback=callback).start("go")
    await asyncio.to_thread(asked.wait, 5)
    await cancelled(run)
    release.set()


class Stubborn(Provider):
    """Speaks, and does not stop when told; goes on when it is released."""

    def __init__(self):
        self.is_waiting, self.release = asyncio.Event(), asyncio.Event()

    async def respond(self, request):
        yield TextDelta("half")
        self.is_waiting.set()
        while not self.release.is_set():
            try:
                await self.release.wait()
            except asyncio.CancelledError:
                continue
        yield TextDelta(" and more")
        yield ModelReply(text="half and more")


async def test_a_run_that_does_not_stop_is_given_up_and_hears_of_nothing_more(
    monkeypatch, caplog, wait_until
):
    monkeypatch.setattr("notebook_agents.run.GIVE_UP_SECONDS", 0.1)
    provider = Stubborn()
    agent = Agent(provider)
    run = agent.start("go")
    await provider.is_waiting.wait()
    error = await cancelled(run)
    assert error.result.answer.startswith("half\n\n[stopped")
    assert f"run {run.id} was given up" in caplog.text
    kept, events = agent.memory.all_messages, list(run.recorded)
    assert [e.seq for e in events] == list(range(1, len(events) + 1))
    provider.release.set()
    await asyncio.to_thread(wait_until, run._work_task.done)
    assert (agent.memory.all_messages, list(run.recorded)) == (kept, events)


async def test_on_event_that_hangs_over_one_event_does_not_hold_the_run(monkeypatch):
    monkeypatch.setattr("notebook_agents.telling.EVENT_SECONDS", 0.05)

    async def on_event(event):
        if event["event"] == "task":
            await asyncio.Event().wait()

    agent = Agent(ScriptedProvider(["hello"]), on_event=on_event)
    async with asyncio.timeout(SOON):
        assert (await agent.run("go")).answer == "hello"


async def test_on_event_that_hangs_does_not_keep_a_failed_run(monkeypatch):
    monkeypatch.setattr("notebook_agents.run.LAST_SECONDS", 0.05)

    async def on_event(event):
        if event["event"] == "error":
            await asyncio.Event().wait()

    agent = Agent(ScriptedProvider([AgentProviderError("down")]), on_event=on_event)
    with pytest.raises(AgentProviderError, match="down"):
        async with asyncio.timeout(SOON):
            await agent.run("go")


async def test_a_store_that_hangs_costs_the_record_and_not_the_answer(monkeypatch):
    class Hangs(InMemoryStore):
        async def save(self, scope, messages, **facts):
            await asyncio.Event().wait()

    monkeypatch.setattr("notebook_agents.run.KEEP_SECONDS", 0.05)
    agent = Agent(ScriptedProvider(["hello"]), memory=Hangs().session())
    async with asyncio.timeout(SOON):
        result = await agent.run("go")
    assert result.answer == "hello"
    assert result.errors == [
        "The turn could not be stored: the store did not answer in time"
    ]


ENDERS = [SystemExit, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError]


@pytest.mark.parametrize("kind", ENDERS)
def test_a_model_that_tries_to_end_the_process_fails_its_run(kind):
    class Ender(Provider):
        async def respond(self, request):
            raise kind
            yield TextDelta("never")

    for _ in range(2):  # the loop is still there
        with pytest.raises(RuntimeError, match=kind.__name__):
            Agent(Ender()).run_sync("go")


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, GeneratorExit])
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_on_event_that_tries_to_end_the_process_fails_its_run(kind, is_async):
    def now(event):
        raise kind

    async def later(event):
        raise kind

    on_event = later if is_async else now
    with pytest.raises(RuntimeError, match=kind.__name__):
        Agent(ScriptedProvider(["hello"]), on_event=on_event).run_sync("go")


async def test_half_characters_are_replaced_before_anybody_sees_them():
    half = "\ud83d"
    script = [[half, call(f"no{half}")], {"text": half, "reasoning": half}]
    agent = Agent(ScriptedProvider(script))
    result = await agent.run("go")
    json.dumps(result.to_dict(), ensure_ascii=False).encode()
    json.dumps(agent.memory.all_messages, ensure_ascii=False).encode()
    assert result.answer == "\ufffd"
    assert result.tool_calls[0]["tool"] == "no\ufffd"


async def test_the_error_of_a_stopped_run_survives_pickling():
    provider = Stuck("half")
    run = Agent(provider).start("go")
    await provider.is_waiting.wait()
    error = await cancelled(run)
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert again.result.answer == error.result.answer


@pytest.mark.parametrize("at", ["task", "action", "observation"])
async def test_a_run_is_stopped_while_on_event_hangs(at):
    reached = asyncio.Event()

    async def on_event(event):
        if event["event"] == at:
            reached.set()
            await asyncio.Event().wait()

    script = [["Let me see. ", call("work")], "."]
    agent = Agent(ScriptedProvider(script), [work_a_little], on_event=on_event)
    run = agent.start("go")
    await reached.wait()
    await cancelled(run)
    assert_fit_to_send(agent.memory.all_messages)


@tool(name="work")
async def work_a_little() -> str:
    await asyncio.sleep(0)
    return "done"


async def test_on_event_that_hangs_for_ever_does_not_keep_a_stopped_run(monkeypatch):
    monkeypatch.setattr("notebook_agents.run.TELL_SECONDS", 0.1)
    reached = asyncio.Event()

    async def on_event(event):
        reached.set()
        await asyncio.Event().wait()

    run = Agent(ScriptedProvider(["hi"]), on_event=on_event).start("go")
    await reached.wait()
    error = await cancelled(run)
    assert [e.event for e in error.result.events] == ["task", "error"]


async def test_tools_are_stopped_too_when_on_event_hangs():
    """They must not outlive the run, nor write into it afterwards."""
    reached, order = asyncio.Event(), []

    async def on_event(event):
        if event["event"] == "observation" and not reached.is_set():
            reached.set()
            await asyncio.Event().wait()
        elif event["event"] == "error":
            order.append("run ends")

    async def quick() -> str:
        return "quick"

    async def slow() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            order.append("tool cleaned up")

    script = [[call("quick"), call("slow")]]
    agent = Agent(ScriptedProvider(script), [quick, slow], on_event=on_event)
    run = agent.start("go")
    await reached.wait()
    error = await cancelled(run)
    assert order == ["tool cleaned up", "run ends"]
    results = [m["content"] for m in agent.memory.all_messages if m["role"] == "tool"]
    assert results[0] == "quick"
    assert "Cancelled" in results[1]
    assert agent.memory.all_messages == error.result.new_messages


async def test_an_answer_that_is_there_is_not_lost_to_a_late_stop():
    reached = asyncio.Event()

    async def on_event(event):
        if event["event"] == "answer":
            reached.set()
            await asyncio.Event().wait()

    agent = Agent(ScriptedProvider(["hello"]), on_event=on_event)
    run = agent.start("go")
    await reached.wait()
    run.cancel()
    result = await run.result()
    assert (result.answer, result.stop_reason) == ("hello", "stop")
    assert [m["content"] for m in agent.memory.messages] == ["go", "hello"]


async def test_stopping_twice_loses_nothing():
    provider = Stuck("half")

    async def on_event(event):
        await asyncio.sleep(0)

    agent = Agent(provider, on_event=on_event)
    run = agent.start("go")
    await provider.is_waiting.wait()
    for _ in range(5):
        run.cancel()
        await asyncio.sleep(0)
    error = await cancelled(run)
    assert error.result.answer.startswith("half")
    assert len(agent.memory.messages) == 2


async def test_stopping_twice_still_waits_for_the_clean_up_of_a_tool():
    began, order = asyncio.Event(), []

    async def work() -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.02)
            order.append("cleaned up")

    run = Agent(ScriptedProvider([call("work")]), [work]).start("go")
    await began.wait()
    run.cancel()
    await asyncio.sleep(0)
    await cancelled(run)
    assert order == ["cleaned up"]


async def test_no_event_is_lost_when_the_task_is_cancelled_again():
    began = asyncio.Event()

    async def quick() -> str:
        return "quick"

    async def slow() -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(5):
                await asyncio.sleep(0)

    script = [[call("slow"), call("quick")]]
    run = Agent(ScriptedProvider(script), [quick, slow]).start("go")
    await began.wait()
    for _ in range(3):
        run._task.cancel()
        await asyncio.sleep(0)
    await run.ended()
    seqs = [event.seq async for event in run.events()]
    assert seqs == list(range(1, len(seqs) + 1))


async def test_a_stop_that_is_swallowed_still_stops_the_run():
    reached = asyncio.Event()

    async def on_event(event):
        if event["event"] == "task":
            reached.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                return

    run = Agent(ScriptedProvider(["hi"]), on_event=on_event).start("go")
    await reached.wait()
    await cancelled(run)


async def test_a_finished_run_can_be_stopped_without_effect():
    run = Agent(ScriptedProvider(["hi"])).start("go")
    await run.ended()
    run.cancel()
    assert (await run.result()).answer == "hi"


async def test_a_stopped_call_still_ends_in_one_observation():
    """Design, section 17; whoever shows the call must be able to close it."""
    began = asyncio.Event()

    async def slow() -> None:
        began.set()
        await asyncio.Event().wait()

    agent = Agent(ScriptedProvider([[call("slow"), call("slow")]]), [slow])
    run = agent.start("go")
    await began.wait()
    error = await cancelled(run)
    kinds = [e.event for e in error.result.events]
    assert kinds == ["task", "action", "action", "observation", "observation", "error"]
    assert [e.seq for e in error.result.events] == [1, 2, 3, 4, 5, 6]


async def test_the_last_run_of_an_agent_is_one_in_its_own_conversation():
    agent = Agent(ScriptedProvider(["one", "two"]))
    await agent.run("go", memory=None)  # the same as leaving it out
    run = agent.last_run
    assert run.is_done
    await agent.run("go", memory=InMemoryStore().session())
    assert agent.last_run is run


async def test_cancelling_the_awaiting_task_stops_the_run():
    provider = Stuck("half")
    agent = Agent(provider)
    task = asyncio.create_task(agent.run("go"))
    await provider.is_waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert provider.is_closed
    assert agent.last_run.is_done


async def test_a_stop_as_answer_ends_the_run():
    class Stopper:
        async def ask(self, pending):
            pending.decide(Stop(), by="person")

    agent = Agent(
        ScriptedProvider([[call("risky"), call("risky")]]), [risky], approver=Stopper()
    )
    with pytest.raises(RunCancelledError) as caught:
        await agent.run("go")
    assert caught.value.result.stop_reason == "cancelled"
    assert "the user stopped the run" in caught.value.result.tool_calls[0]["content"]
    assert_fit_to_send(agent.memory.all_messages)


# ------------------------------------------------------------ being asked


async def test_an_open_question_is_answered_through_the_run():
    approver = Silent()
    agent = Agent(ScriptedProvider([call("risky"), "."]), [risky], approver=approver)
    run = agent.start("go")
    await approver.asked.wait()
    [pending] = run.approvals
    assert run.decide(pending.request.id, Allow(), by="test")
    assert not run.decide(pending.request.id, Deny(), by="late")
    result = await run.result()
    assert result.tool_calls[0]["content"] == "done"
    assert not run.decide(pending.request.id, Deny(), by="too late")


@tool(approval=True)
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def test_a_call_runs_with_the_arguments_that_a_person_chose():
    approver = Silent()
    script = ScriptedProvider([call("add", a=1, b=2), "."])
    run = Agent(script, [add], approver=approver).start("go")
    await approver.asked.wait()
    [pending] = run.approvals
    for wrong in ({}, {"a": "x", "b": 2}, {"a": 1, "b": 2, "c": 3}):
        with pytest.raises(ToolArgumentsError):
            pending.decide(Allow(wrong), by="test")
        assert pending.decision is None
    assert pending.decide(Allow({"a": 5, "b": 6}), by="test")
    assert not pending.decide(Allow({}), by="late")
    result = await run.result()
    [made] = result.tool_calls
    assert (made["args"], result.approvals[0]["args"]) == ({"a": 5, "b": 6},) * 2
    assert made["content"].endswith("\n\n11")
    assert "The user changed the arguments" in script.requests[1].messages[-1].content


# ------------------------------------------------------------ keeping


async def test_two_runs_at_once_do_not_mix_their_turns():
    """Acceptance check 17."""
    session = InMemoryStore().session()
    one, two = (
        Agent(ScriptedProvider([call("work"), f"answer {n}"]), [work_a_little])
        for n in "ab"
    )
    await asyncio.gather(one.run("a", memory=session), two.run("b", memory=session))
    said = [(m["role"], m["content"][-1]) for m in session.messages]
    assert [role for role, _ in said] == ["user", "assistant"] * 2
    assert said[0][1] == said[1][1]
    assert said[2][1] == said[3][1]


class BrokenStore(InMemoryStore):
    """A store that cannot write."""

    async def save(self, scope, messages, **facts):
        message = "the disk is full"
        raise MemoryStoreError(message)


async def test_an_answer_is_not_lost_when_it_cannot_be_stored():
    result = await Agent(
        ScriptedProvider(["hello"]), memory=BrokenStore().session()
    ).run("go")
    assert result.answer == "hello"
    assert result.errors == ["The turn could not be stored: the disk is full"]


async def test_a_store_that_cannot_be_read_fails_the_run_before_any_request():
    class Unreadable(InMemoryStore):
        async def load(self, scope):
            message = "no connection"
            raise MemoryStoreError(message)

    provider = ScriptedProvider(["hello"])
    with pytest.raises(MemoryStoreError, match="no connection"):
        await Agent(provider, memory=Unreadable().session()).run("go")
    assert provider.requests == []


async def test_the_turn_is_stored_although_the_run_is_being_stopped():
    saving, save_on = asyncio.Event(), asyncio.Event()

    class Slow(InMemoryStore):
        async def save(self, scope, messages, **facts):
            saving.set()
            await save_on.wait()
            return await super().save(scope, messages, **facts)

    session = Slow().session()
    run = Agent(ScriptedProvider(["hello"]), memory=session).start("go")
    await saving.wait()
    run.cancel()
    save_on.set()
    assert (await run.result()).answer == "hello"
    assert len(session.messages) == 2


# ------------------------------------------------------------ being told


async def test_on_event_that_fails_changes_nothing():
    def on_event(event):
        raise ZeroDivisionError

    agent = Agent(ScriptedProvider(["hello"]), on_event=on_event)
    assert (await agent.run("go")).answer == "hello"


async def test_on_event_may_be_async():
    told = []

    async def on_event(event):
        await asyncio.sleep(0)
        told.append(event["event"])

    await Agent(ScriptedProvider(["hello"]), on_event=on_event).run("go")
    assert told == ["task", "answer"]
