"""A generator tool reports what it yields, and is closed whatever happens."""

from __future__ import annotations

import asyncio
import itertools
import math
import threading

import numpy as np
import pytest

from notebook_agents import Agent, Progress, RunContext, ScriptedProvider, call, tool
from notebook_agents.sync import Call, Waiter


def agent_with(function, **options):
    """Give an agent that calls one tool, named ``work``, and then answers."""
    work = tool(name="work", **options)(function)
    return Agent(ScriptedProvider([call("work"), "."]), [work])


def outcome(result):
    return result.tool_calls[0]["content"]


def value(result):
    return next(e.value for e in result.events if e.event == "observation")


def progress(result):
    return [
        (e.done, e.total, e.message) for e in result.events if e.event == "progress"
    ]


def reporting():
    """Import some rows."""
    yield "opening"
    yield Progress(1, 3, "rows")
    yield 2
    yield np.float64(2.5)
    return "3 rows"


async def reporting_async():
    """Import some rows."""
    yield "opening"
    yield Progress(1, 3, "rows")
    yield 2
    yield np.float64(2.5)
    yield "3 rows"


TOLD = [(0, None, "opening"), (1, 3, "rows"), (2, None, ""), (2.5, None, "")]


@pytest.mark.parametrize("options", [{}, {"thread": False}, {"thread": True}])
async def test_what_a_generator_yields_is_progress_and_what_it_returns_the_result(
    options,
):
    result = await agent_with(reporting, **options).run("go")
    assert progress(result) == TOLD
    assert outcome(result) == "3 rows"


def test_a_generator_in_the_cell_reports_too():
    agent = agent_with(reporting)
    result = Call(agent.run("go"), Waiter(runs_tools=True)).wait()
    assert progress(result) == TOLD
    assert outcome(result) == "3 rows"


async def test_an_async_generator_reports_and_its_last_value_is_the_result():
    result = await agent_with(reporting_async).run("go")
    assert progress(result) == [*TOLD, (0, None, "3 rows")]
    assert outcome(result) == "3 rows"


async def test_progress_comes_between_the_action_and_the_observation():
    result = await agent_with(reporting).run("go")
    kinds = [event.event for event in result.events]
    assert kinds.index("action") < kinds.index("progress")
    assert kinds[kinds.index("observation") - 1] == "progress"
    event = next(e for e in result.events if e.event == "progress")
    action = next(e for e in result.events if e.event == "action")
    assert (event.tool, event.call_id) == ("work", action.call_id)


async def test_progress_is_told_while_the_tool_still_runs():
    heard = threading.Event()

    def work():
        yield "begun"
        return heard.wait(5)

    run = agent_with(work).start("go")
    async for event in run.events():
        if event.event == "progress":
            heard.set()
    assert value(await run.result()) is True


def test_progress_of_a_generator_in_the_cell_is_told_while_the_cell_is_busy():
    heard = threading.Event()

    def work():
        yield "begun"
        return heard.wait(5)

    async def follow(run):
        async for event in run.events():
            if event.event == "progress":
                heard.set()
        return await run.result()

    agent = agent_with(work)

    async def ask():
        return await follow(agent.start("go"))

    assert value(Call(ask(), Waiter(runs_tools=True)).wait()) is True


async def test_a_generator_is_read_where_the_tool_runs():
    def work():
        yield "a"
        return threading.current_thread()

    thread = value(await agent_with(work).run("go"))
    assert thread is not threading.current_thread()


async def test_other_things_that_are_yielded_are_no_progress():
    def work():
        yield {"rows": 1}
        yield True
        yield Progress(1)
        yield [1, 2]

    result = await agent_with(work).run("go")
    assert progress(result) == [(1, None, "")]
    assert outcome(result) == "[1,2]"


async def test_progress_alone_is_no_result():
    def work():
        yield Progress(1, 1)

    assert outcome(await agent_with(work).run("go")) == (
        "Done; the tool returned nothing."
    )


async def test_a_generator_that_yields_nothing_has_its_result():
    def work():
        return 5
        yield

    assert outcome(await agent_with(work).run("go")) == "5"


async def test_a_comprehension_is_a_list_and_no_progress():
    result = await agent_with(lambda: (n for n in range(3))).run("go")
    assert (progress(result), outcome(result)) == ([], "[0,1,2]")

    async def several():
        yield 1
        yield 2

    result = await agent_with(lambda: (n async for n in several())).run("go")
    assert (progress(result), outcome(result)) == ([], "[1,2]")


# ------------------------------------------------------------ other iterators


class Gate:
    """Code of the user's that goes on once the loop has gone on meanwhile."""

    def __init__(self):
        self.reached, self.has_gone_on = threading.Event(), threading.Event()

    def wait(self):
        self.reached.set()
        assert self.has_gone_on.wait(30), "the loop was blocked"

    def __repr__(self):
        self.wait()
        return "a gate"

    def let_through(self, number):
        self.wait()
        return number

    async def passed(self, run):
        assert await asyncio.to_thread(self.reached.wait, 30)
        self.has_gone_on.set()
        return outcome(await run.result())


def lazily(gate):
    return map(gate.let_through, range(3))


def a_generator(gate):
    yield 0
    gate.wait()
    return [0, 1, 2]


@pytest.mark.parametrize("made", [lazily, a_generator])
@pytest.mark.parametrize("is_async", [False, True])
async def test_an_iterator_is_not_read_on_the_loop(made, is_async):
    gate = Gate()

    async def work_async():
        return made(gate)

    def work():
        return made(gate)

    agent = agent_with(work_async if is_async else work)
    assert await gate.passed(agent.start("go")) == "[0,1,2]"


@pytest.mark.parametrize("is_async", [False, True])
async def test_what_is_in_a_list_is_not_written_on_the_loop(is_async):
    gate = Gate()

    async def work_async():
        return {"gates": [gate]}

    def work():
        return {"gates": [gate]}

    agent = agent_with(work_async if is_async else work)
    assert await gate.passed(agent.start("go")) == '{"gates":["a gate"]}'


def test_an_iterator_is_read_where_the_tool_runs():
    def where(_):
        return threading.current_thread()

    agent = agent_with(lambda: map(where, range(2)))
    result = Call(agent.run("go"), Waiter(runs_tools=True)).wait()
    assert value(result) == [threading.current_thread()] * 2


@pytest.mark.parametrize("is_async", [False, True])
async def test_an_iterator_that_fails_is_a_failed_call(is_async):
    def logs():
        return map(math.log, [1, 0])

    async def logs_async():
        return logs()

    result = await agent_with(logs_async if is_async else logs).run("go")
    assert "ValueError" in outcome(result)
    assert result.tool_calls[0]["failed"]


async def test_of_an_iterator_that_never_ends_the_beginning_is_read():
    result = await agent_with(lambda: map(str, itertools.count())).run("go")
    assert outcome(result).startswith('["0","1","2",')


async def test_an_iterator_that_is_read_for_too_long_ends_with_its_time():
    enough = threading.Event()
    slow = map(enough.wait, [30, 30, 30])
    result = await agent_with(lambda: slow, timeout=0.02).run("go")
    enough.set()
    assert "no result within" in outcome(result)


async def test_an_iterator_that_shows_itself_stays_what_it_is():
    class Chart:
        def __iter__(self):
            return self

        def __next__(self):
            raise StopIteration

        def _repr_html_(self):
            return "<b>chart</b>"

    chart = Chart()
    result = await agent_with(lambda: chart).run("go")
    assert value(result) is chart
    [seen] = [e.bundle for e in result.events if e.event == "observation"]
    assert seen == {"text/html": "<b>chart</b>"}


@pytest.mark.parametrize("is_async", [False, True])
async def test_an_object_that_will_not_be_looked_at_does_not_end_the_run(is_async):
    class Proxy:
        @property
        def __class__(self):
            message = "outside of its context"
            raise RuntimeError(message)

    async def work_async():
        return Proxy()

    def work():
        return Proxy()

    result = await agent_with(work_async if is_async else work).run("go")
    assert "RuntimeError: outside of its context" in outcome(result)
    assert str(result) == "."


@pytest.mark.parametrize("short", ["sunny", 5, {"rows": [1, 2], "of": "tea"}, None])
async def test_a_short_result_is_written_without_another_thread(short, monkeypatch):
    async def work():
        return short

    def refuse(*args, **options):
        pytest.fail("another thread was asked")

    monkeypatch.setattr("notebook_agents.performing.in_thread", refuse)
    monkeypatch.setattr("notebook_agents.tools.execution.in_thread", refuse)
    assert not (await agent_with(work).run("go")).tool_calls[0]["failed"]


# ------------------------------------------------------------ comprehensions


async def test_an_endless_comprehension_ends_with_its_time():
    enough = threading.Event()
    numbers = iter(lambda: enough.is_set() and 1, 1)
    result = await agent_with(lambda: (n for n in numbers), timeout=0.02).run("go")
    enough.set()
    assert "no result within" in outcome(result)


@pytest.mark.parametrize("kind", [reporting, reporting_async])
async def test_a_generator_that_fails_is_a_failed_call(kind):
    def work():
        yield from reporting()
        raise ZeroDivisionError

    async def work_async():
        async for item in reporting_async():
            yield item
        raise ZeroDivisionError

    failing = work if kind is reporting else work_async
    result = await agent_with(failing).run("go")
    assert "ZeroDivisionError" in outcome(result)
    assert progress(result)[:4] == TOLD
    error = next(e for e in result.events if e.event == "tool_error")
    # The first frame is the user's, not one of this package.
    assert __file__ in error.detail.splitlines()[1]


async def test_many_reports_are_told_now_and_then_and_the_last_one_always():
    def work():
        for number in range(100_000):
            yield Progress(number, 100_000)
        return "done"

    told = progress(await agent_with(work).run("go"))
    assert len(told) < 200
    assert told[-1] == (99_999, 100_000, "")
    assert [entry[0] for entry in told] == sorted(entry[0] for entry in told)


# ------------------------------------------------------------ closing


@pytest.mark.parametrize("ends", ["timeout", "cancelled"])
async def test_a_generator_that_is_stopped_in_a_thread_is_closed_there(ends):
    closed = threading.Event()
    threads = []

    def work():
        threads.append(threading.current_thread())
        try:
            while True:
                yield "still here"
        finally:
            threads.append(threading.current_thread())
            closed.set()

    agent = agent_with(work, timeout=0.05 if ends == "timeout" else None)
    run = agent.start("go")
    async for event in run.events():
        if event.event == "progress" and ends == "cancelled":
            run.cancel()
    assert await asyncio.to_thread(closed.wait, 5)
    assert threads[0] is threads[1]


@pytest.mark.parametrize("ends", ["timeout", "cancelled"])
async def test_an_async_generator_that_is_stopped_has_cleaned_up(ends):
    order = []

    async def work():
        try:
            yield "begun"
            await asyncio.Event().wait()
        finally:
            order.append("closed")

    run = agent_with(work, timeout=0.05 if ends == "timeout" else None).start("go")
    async for event in run.events():
        if event.event == "progress" and ends == "cancelled":
            run.cancel()
    assert order == ["closed"]


def test_stop_in_the_cell_closes_the_generator_before_the_next_cell():
    order = []

    def work():
        try:
            yield "begun"
            raise KeyboardInterrupt  # as the button does
        finally:
            order.append("closed")

    with pytest.raises(KeyboardInterrupt):
        Call(agent_with(work).run("go"), Waiter(runs_tools=True)).wait()
    assert order == ["closed"]


async def test_a_generator_that_refuses_to_end_is_a_failed_call():
    def work():
        try:
            yield "a"
        except GeneratorExit:
            yield "no"

    result = await agent_with(work, thread=False).run("go")
    assert outcome(result) == "a"


# ------------------------------------------------------------ the values


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((3, 10, "rows"), (3, 10, "rows")),
        ((np.int64(3), np.int64(10)), (3, 10, "")),
        ((math.nan, math.inf), (0, None, "")),
        ((1, 0), (1, None, "")),
        ((10**400, -5), (0, None, "")),
        ((0, None, "x" * 999), (0, None, "x" * 200)),
        ((0, None, "caf\udce9"), (0, None, "caf?")),
    ],
)
def test_progress_is_what_can_be_drawn_and_sent(arguments, told):
    made = Progress(*arguments)
    assert (made.done, made.total, made.message) == told


@pytest.mark.parametrize("wrong", ["half", True, None, [1]])
def test_what_is_no_number_is_refused_where_it_is_written(wrong):
    with pytest.raises(TypeError, match="done is a number"):
        Progress(wrong)


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_context_reports_progress_as_well(is_async):
    def work(context: RunContext) -> str:
        context.report_progress(1, 2, "half")
        return "done"

    async def work_async(context: RunContext) -> str:
        return work(context)

    result = await agent_with(work_async if is_async else work).run("go")
    assert progress(result) == [(1, 2, "half")]


async def test_words_that_no_guard_has_seen_are_in_no_progress():
    work = tool(name="work")(reporting)
    model = ScriptedProvider([call("work"), "."])
    agent = Agent(model, [work], tool_guards=str.upper)
    result = await agent.run("go")
    assert outcome(result) == "3 ROWS"
    assert [(done, total) for done, total, _ in progress(result)] == [
        (done, total) for done, total, _ in TOLD
    ]
    assert {message for _, _, message in progress(result)} == {""}


async def test_on_event_hears_no_progress():
    heard = []
    work = tool(name="work")(reporting)
    model = ScriptedProvider([call("work"), "."])
    await Agent(model, [work], on_event=heard.append).run("go")
    assert "progress" not in {event["event"] for event in heard}
