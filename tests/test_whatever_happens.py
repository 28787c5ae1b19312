"""Whatever a model, a tool and a person do: a run ends well, and can be gone on with."""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
import tempfile
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from notebook_agents import (
    Agent,
    Allow,
    Always,
    Deny,
    HistoryBudget,
    Respond,
    RunContext,
    SQLiteStore,
    Stop,
    ToolCall,
    tool,
)
from notebook_agents.errors import AgentProviderError
from notebook_agents.providers.base import ModelReply, Provider, TextDelta
from notebook_agents.sync import run_sync
from tests.history.fitness import assert_fit

# ------------------------------------------------------------ who takes part


class Plays(Provider):
    """Plays replies as they are, identifiers and all."""

    def __init__(self, replies):
        self.replies = iter(replies)
        self.requests = []

    async def respond(self, request):
        self.requests.append(request.messages)
        await asyncio.sleep(0)
        reply = next(self.replies, ModelReply(text="end"))
        if isinstance(reply, Exception):
            raise reply
        if reply.text:
            yield TextDelta(reply.text)
            await asyncio.sleep(0)
        yield reply


class Decides:
    """Answers as told; a class is raised."""

    def __init__(self, answers):
        self.answers = iter(answers)

    async def ask(self, pending):
        await asyncio.sleep(0)
        answer = next(self.answers, Deny("enough"))
        if answer is ZeroDivisionError:
            raise ZeroDivisionError
        pending.decide(answer, by="test")


def tools_that_note(ran):
    """Give tools of all sorts that write down which call they ran for."""

    @tool(name="good")
    async def good(n: int = 0, ticks: int = 0) -> str:
        ran[n] += 1
        for _ in range(ticks):
            await asyncio.sleep(0)
        return "good"

    @tool(name="asks", approval=True)
    async def asks(context: RunContext, n: int = 0) -> str:
        ran[n] += 1
        context.progress(1, 2)
        await asyncio.sleep(0)
        return "asked"

    @tool(name="alone", sequential=True)
    async def alone(n: int = 0) -> str:
        ran[n] += 1
        await asyncio.sleep(0)
        return "alone"

    @tool(name="bad", thread=False)
    def bad(n: int = 0) -> None:
        ran[n] += 1
        raise ZeroDivisionError

    @tool(name="ends", thread=False)
    def ends(n: int = 0) -> None:
        ran[n] += 1
        raise SystemExit

    @tool(name="cancels")
    async def cancels(n: int = 0) -> None:
        ran[n] += 1
        raise asyncio.CancelledError

    return [good, asks, alone, bad, ends, cancels]


# ------------------------------------------------------------ what may happen


def calls_of(names, arguments):
    """Give calls of some tools, with identifiers that services make up."""
    return st.builds(
        ToolCall,
        id=st.sampled_from(["", "a", "a_1", "b"]),
        name=st.sampled_from(names),
        arguments=st.sampled_from(arguments),
    )


RIGHT = ["{}", '{"n": 1}', '{"n": 2}', '{"n": 3}']
WRONG = ["{", "[]", "", "null", '{"n": "x"}']
some_calls = st.one_of(
    calls_of(["asks"], RIGHT),
    calls_of(["asks"], RIGHT),
    calls_of(["good", "alone"], [*RIGHT, '{"ticks": 3}']),
    calls_of(["bad", "ends", "cancels"], RIGHT),
    calls_of(["good", "asks", "unknown"], WRONG),
)
rounds = st.builds(
    ModelReply,
    text=st.sampled_from(["", "let me see"]),
    tool_calls=st.lists(some_calls, min_size=1, max_size=4).map(tuple),
    stop_reason=st.sampled_from(["tool_calls", "tool_calls", "tool_calls", "length"]),
)
some_replies = st.one_of(
    rounds,
    rounds,
    rounds,
    st.builds(ModelReply, text=st.sampled_from(["", "hello"])),
    st.just(AgentProviderError("down")),
)
some_answers = st.lists(
    st.sampled_from(
        [
            *[Allow(), Allow({"n": 7}), Allow({"n": "x"}), Always("call")],
            *[Deny("no"), Deny(), Respond("instead"), Stop(), ZeroDivisionError],
        ]
    ),
    min_size=3,
    max_size=8,
)


@dataclass(frozen=True)
class End:
    """When a run is stopped: after so many turns of the loop, or at an event."""

    ticks: int = 0
    event: int = 0


some_ends = st.one_of(
    st.none(),
    st.none(),
    st.builds(End, ticks=st.integers(1, 40)),
    st.builds(End, event=st.integers(1, 20)),
)


async def follow(run, end: End):
    """Go along with a run until its end is due."""
    for _ in range(end.ticks):
        await asyncio.sleep(0)
    if end.event:
        events = run.events()
        async for event in events:
            if event.seq >= end.event:
                break
        await events.aclose()


async def ended(run):
    """Give the events of a run, which has to end by itself."""
    async with asyncio.timeout(5):
        await run.ended()
    return list(run.recorded)


# ------------------------------------------------------------ what has to hold


def assert_in_order(events):
    """Fail unless the events of a run can be read one after the other."""
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert [event.ts for event in events] == sorted(event.ts for event in events)
    assert events[0].event == "task"
    assert [e.event in {"answer", "error"} for e in events].index(True) == (
        len(events) - 1
    )


def assert_one_result_each(events):
    """Fail unless each call has a beginning, and one end after it."""
    begun = [e.call_id for e in events if e.event == "action"]
    observed = [e.call_id for e in events if e.event == "observation"]
    assert len(set(begun)) == len(begun)
    assert sorted(begun) == sorted(observed)
    for call_id in begun:
        first, *_, last = [
            e.event for e in events if getattr(e, "call_id", None) == call_id
        ]
        assert (first, last) == ("action", "observation")
    asked = [e.request["id"] for e in events if e.event == "waiting_for_approval"]
    decided = [e.request_id for e in events if e.event == "approval_result"]
    assert set(asked) <= set(decided)
    assert len(set(decided)) == len(decided)


def assert_can_go_on(agent):
    """Fail unless what was sent, and what is stored, is fit for any service."""
    for messages in agent._model.get().requests:
        assert_fit(messages, is_open=True)
    stored = agent.memory.all_messages
    calls = [call["id"] for m in stored for call in m.get("tool_calls", ())]
    results = [m["tool_call_id"] for m in stored if m["role"] == "tool"]
    assert calls == results
    later = Plays([])
    run_sync(Agent(later, memory=agent.memory).run("go on"))
    assert_fit(later.requests[0], is_open=True)
    finals = [m["role"] for m in agent.memory.messages]
    assert finals == ["user", "assistant"] * (len(finals) // 2)


def kinds_of(events):
    """Tell what happened in a run, for a count."""
    for event in events:
        if event.event == "observation":
            yield event.status
        elif event.event == "approval_result":
            yield f"{event.decision} by {event.by}"
        elif event.event in {"answer", "error"}:
            yield getattr(event, "reason", "answer")


EXPLORED = {
    *["done", "failed", "denied", "answered", "cancelled"],
    *["answer", "max_steps_reached", "AgentProviderError"],
    *["allow by test", "always by test", "deny by test", "respond by test"],
    *["stop by test", "deny by error", "deny by cancelled"],
}


def test_whatever_happens_the_history_can_be_sent_again():
    seen = Counter()

    @settings(max_examples=400)
    @given(
        replies=st.lists(some_replies, min_size=4, max_size=8),
        answers=some_answers,
        ends=st.lists(some_ends, min_size=2, max_size=3),
        parallel=st.booleans(),
        history=st.sampled_from(
            [
                "full",
                "final",
                HistoryBudget(max_messages=4),
                HistoryBudget(max_tokens=20),
            ]
        ),
    )
    def holds(replies, answers, ends, parallel, history):
        agent = Agent(
            Plays(replies),
            tools_that_note(Counter()),
            approver=Decides(answers),
            parallel_tools=parallel,
            history=history,
        )

        async def turn(end):
            run = agent.start("go", max_tool_rounds=2)
            if end is not None:
                await follow(run, end)
                run.cancel()
            return await ended(run)

        for end in ends:
            events = run_sync(turn(end))
            assert_in_order(events)
            assert_one_result_each(events)
            seen.update(set(kinds_of(events)))
        assert_can_go_on(agent)

    holds()
    # What a test of everything does not try, it does not test.
    assert {kind: seen[kind] for kind in EXPLORED if not seen[kind]} == {}


def test_runs_at_once_in_one_conversation_keep_their_turns_whole():
    seen = Counter()

    @settings(max_examples=100)
    @given(
        scripts=st.lists(
            st.tuples(st.lists(some_replies, min_size=1, max_size=3), some_ends),
            min_size=2,
            max_size=4,
        ),
        answers=some_answers,
    )
    def holds(scripts, answers):
        approver = Decides(answers)
        agents = [
            Agent(Plays(replies), tools_that_note(Counter()), approver=approver)
            for replies, _ in scripts
        ]
        session = agents[0].memory

        async def turn(agent, end):
            run = agent.start("go", memory=session)
            if end is not None:
                await follow(run, end)
                run.cancel()
            return await ended(run)

        async def all_turns():
            turns = (turn(a, e) for a, (_, e) in zip(agents, scripts, strict=True))
            return await asyncio.gather(*turns)

        for events in run_sync(all_turns()):
            assert_in_order(events)
            assert_one_result_each(events)
            seen.update(set(kinds_of(events)))
        for agent in agents:
            agent.memory = session
            assert_can_go_on(agent)

    holds()
    assert seen["done"] > 5
    assert seen["cancelled"] > 5


# ------------------------------------------------------------ killed anywhere


def numbered(replies, numbers):
    """Give the same replies, each call of which says which one it is."""
    for reply in replies:
        if isinstance(reply, Exception):
            yield reply
            continue
        calls = [
            ToolCall(c.id, c.name, f'{{"n": {next(numbers)}}}')
            for c in reply.tool_calls
        ]
        yield ModelReply(
            text=reply.text, tool_calls=tuple(calls), stop_reason=reply.stop_reason
        )


def copied(source: Path, target: Path):
    """Copy a database as a process that is killed now would leave it."""
    with (
        closing(sqlite3.connect(source)) as one,
        closing(sqlite3.connect(target)) as two,
    ):
        one.backup(two)


@pytest.mark.timeout(120)
def test_a_run_that_is_killed_anywhere_goes_on_and_does_nothing_twice():
    resumed = Counter()

    @settings(max_examples=100)
    @given(
        before=st.lists(rounds, min_size=1, max_size=2),
        after=st.lists(rounds, max_size=2),
        answers=some_answers,
        end=st.builds(End, event=st.integers(2, 14)),
    )
    def holds(before, after, answers, end):
        numbers, ran, ran_later = itertools.count(10), Counter(), Counter()
        with tempfile.TemporaryDirectory() as name:
            path, copy = Path(name, "chats.sqlite"), Path(name, "copy.sqlite")
            store = SQLiteStore(path)
            session = store.session()
            first = Agent(
                Plays(numbered(before, numbers)),
                tools_that_note(ran),
                approver=Decides(answers),
                memory=session,
            )

            async def until_killed():
                run = first.start("go")
                await follow(run, end)
                copied(path, copy)
                ran_before = Counter(ran)
                run.cancel()
                assert_in_order(await ended(run))
                return ran_before

            ran_before = run_sync(until_killed())
            store.close()
            with SQLiteStore(copy) as later:
                second = Agent(
                    Plays(numbered(after, numbers)),
                    tools_that_note(ran_later),
                    approver=Decides(answers),
                    memory=later.session(session.scope),
                )
                if not second.unfinished():
                    resumed["none"] += 1
                    return
                task = {}

                async def go_on():
                    try:
                        await second.resume()
                    except Exception as error:  # noqa: BLE001 - such as Stop
                        task["error"] = error
                    return await ended(second.last_run)

                events = run_sync(go_on())
                assert_in_order(events)
                assert_one_result_each(events)
                assert_can_go_on(second)
                assert second.unfinished() == []
            both = ran_before + ran_later
            twice = {n: times for n, times in both.items() if n >= 10 and times > 1}
            assert twice == {}
            resumed["yes"] += 1
            resumed.update(set(kinds_of(events)))

    holds()
    assert resumed["yes"] > 10
    assert {"done", "failed", "denied"} <= resumed.keys()
