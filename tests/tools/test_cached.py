"""A cached tool computes each result once, whoever asks for it."""

from __future__ import annotations

import asyncio
import enum
import functools
import gc
import math
import os
import threading
import warnings
import weakref
from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, PrivateAttr

from notebook_agents import Agent, RunContext, ScriptedProvider, cached_tool, call, tool
from notebook_agents.errors import AgentConfigurationError
from notebook_agents.tools import to_tool_definition


def counted(**options):
    """Give a cached function of anything, and the list of its executions."""
    calls = []

    @cached_tool(**options)
    def work(a=None, b=2, *rest, c=3, **more):
        calls.append((a, b, rest, c, more))
        return len(calls)

    return work, calls


def counted_async(**options):
    calls = []

    @cached_tool(**options)
    async def work(a=None):
        calls.append(a)
        await asyncio.sleep(0)
        return len(calls)

    return work, calls


# ------------------------------------------------------------ as a tool


def test_it_is_a_tool_and_a_function():
    """Requirement L9."""

    @cached_tool
    def rate(currency: str, day: date = date(2025, 1, 1)) -> float:
        """Tell a rate.

        Args:
            currency: Three letters
        """
        return 1.5

    definition = to_tool_definition(rate)
    assert (definition.name, definition.description) == ("rate", "Tell a rate.")
    described = definition.schema["function"]["parameters"]["properties"]["currency"]
    assert described == {"type": "string", "description": "Three letters"}
    assert rate("EUR") == 1.5
    assert rate.__name__ == "rate"
    assert rate.__agentapi_tool_name__ == "rate"
    bound = definition.bind('{"currency": "EUR", "day": "2025-01-01"}')
    assert definition(*bound.args, **bound.kwargs) == 1.5
    assert rate.cache_info() == (1, 1, None, 1)


def test_it_takes_the_options_of_a_tool():
    made = cached_tool(name="rate", risk="network", timeout=3, maxsize=5)(lambda a: a)
    definition = to_tool_definition(made)
    assert (definition.name, definition.risk, definition.timeout) == (
        "rate",
        "network",
        3,
    )
    assert made.cache_info().maxsize == 5


def test_both_marks_in_either_order_keep_what_was_said():
    @cached_tool(maxsize=3)
    @tool(name="rate", risk="network")
    def inner(a: int) -> int:
        return a

    @tool(name="price", risk="money")
    @cached_tool
    def outer(a: int) -> int:
        return a

    assert (to_tool_definition(inner).name, to_tool_definition(inner).risk) == (
        "rate",
        "network",
    )
    assert to_tool_definition(outer).name == "price"
    assert inner(1) == inner(1)
    assert outer(2) == outer(2)
    assert (inner.cache_info().hits, outer.cache_info().hits) == (1, 1)


async def test_an_agent_runs_it_once_for_equal_calls():
    """Acceptance check 11."""
    calls = []

    @cached_tool
    def square(n: int) -> int:
        calls.append(n)
        return n * n

    script = [[call("square", n=3), call("square", n=3)], [call("square", n=4)], "."]
    result = await Agent(ScriptedProvider(script), [square]).run("go")
    assert [entry["content"] for entry in result.tool_calls] == ["9", "9", "16"]
    assert calls == [3, 4]


async def test_it_is_found_under_partials_and_objects():
    def add(a: int, b: int) -> int:
        return a + b

    class Adds:
        async def __call__(self, a: int) -> int:
            return a + 1

    part = cached_tool(functools.partial(add, 1), name="add")
    thing = cached_tool(Adds(), name="adds")
    assert (part(2), part(b=2)) == (3, 3)
    assert part.cache_info().hits == 1
    assert (await thing(1), await thing(a=1)) == (2, 2)
    assert thing.cache_info().hits == 1


class Box:
    """Has cached methods."""

    def __init__(self):
        self.calls = []

    @cached_tool
    def grow(self, by: int) -> int:
        """Grow."""
        self.calls.append(by)
        return by

    @cached_tool(name="still")
    @staticmethod
    def still(by: int) -> int:
        """Stay."""
        return by


def test_a_method_counts_for_each_object():
    one, two = Box(), Box()
    assert (one.grow(1), one.grow(by=1), two.grow(1)) == (1, 1, 1)
    assert (one.calls, two.calls) == ([1], [1])
    definition = to_tool_definition(one.grow)
    bound = definition.bind('{"by": 1}')
    assert definition(*bound.args, **bound.kwargs) == 1
    assert one.calls == [1]
    assert Box.still(2) == 2
    assert to_tool_definition(Box.still).name == "still"


# ------------------------------------------------------------ which calls are equal


def test_positional_keyword_and_default_are_the_same():
    """Requirement W44."""
    work, calls = counted()
    assert {work(1), work(a=1), work(1, 2), work(b=2, a=1), work(1, c=3)} == {1}
    assert len(calls) == 1
    assert work(1, x=1, y=2) == work(1, y=2, x=1) == 2


class Level(enum.IntEnum):
    """Equal to a number."""

    LOW = 1


class Pair(NamedTuple):
    """Equal to a tuple."""

    left: int


@dataclass(frozen=True)
class Point:
    """Equal to another of equal numbers."""

    x: object


class City(BaseModel):
    """Cannot be hashed."""

    name: object
    people: int = 5
    _seen: int = PrivateAttr(default=0)


DIFFERENT = [
    [1, True, 1.0, "1", Level.LOW, 1 + 0j, b"1"],
    [[1], [True], (1,), (True,), {1}, frozenset({1}), Pair(1)],
    [{"a": 1}, {"a": True}, {"a": [1]}, {"b": 1}],
    [Point(1), Point(x=True), City(name=1), City(name=True), City(name=1, people=6)],
    [np.array([1]), np.array([1.0]), np.array([1, 2])],
    [pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [2]}), pd.Series([1])],
    [None, 0, "", [], {}, ()],
]


@pytest.mark.parametrize("values", DIFFERENT, ids=lambda values: repr(values[0]))
def test_values_of_other_types_are_other_calls(values):
    """Requirement W44: True is not 1."""
    work, calls = counted()
    assert [work(value) for value in values] == list(range(1, len(values) + 1))
    assert [work([value]) for value in values]
    assert len(calls) == 2 * len(values)


EQUAL = [
    lambda: [1, [2, {"a": {3}}]],
    lambda: {"a": 1, "b": [2]},
    lambda: Point([1]),
    lambda: City(name="Oslo"),
    lambda: pd.DataFrame({"a": [1.5, math.nan], "b": ["x", "y"]}),
    lambda: np.arange(5),
    lambda: math.nan,
    lambda: date(2025, 1, 1),
    lambda: Pair(1),
]


@pytest.mark.parametrize("make", EQUAL)
def test_equal_values_are_the_same_call_although_they_cannot_be_hashed(make):
    work, calls = counted()
    assert work(make()) == work(a=make())
    assert len(calls) == 1


def test_the_order_of_keys_means_nothing():
    work, calls = counted()
    assert work({"a": 1, "b": 2}) == work({"b": 2, "a": 1})
    assert len(calls) == 1


def test_what_is_hidden_in_a_model_counts():
    one, two = City(name="Oslo"), City(name="Oslo")
    two._seen = 1
    work, _ = counted()
    assert work(one) != work(two)


def test_a_class_within_a_function_is_no_problem():
    @dataclass
    class Local:
        items: list = field(default_factory=list)

    class Model(BaseModel):
        items: list

    work, _ = counted()
    assert work(Local([1])) == work(Local([1])) == 1
    assert work(Model(items=[1])) == work(Model(items=[1])) == 2
    assert work(Local([2])) == 3


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=6,
)


def typed(value):
    """Write a value so that only equal values of equal types read the same."""
    if isinstance(value, list):
        return f"[{','.join(map(typed, value))}]"
    if isinstance(value, dict):
        items = sorted((repr(key), typed(item)) for key, item in value.items())
        return f"{{{items}}}"
    zero = isinstance(value, float) and value == 0
    return f"{type(value).__name__}:{abs(value) if zero else value!r}"


@given(json_values, json_values)
def test_two_calls_share_a_result_just_if_their_arguments_are_the_same(one, two):
    work, _ = counted()
    assert (work(one) == work(two)) is (typed(one) == typed(two))


class Sealed:
    """Can be neither hashed nor pickled."""

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self):
        raise TypeError


def test_what_has_no_key_is_not_cached_and_is_warned_of_once():
    work, _ = counted(name="lookup")
    with pytest.warns(UserWarning, match=r"'lookup' is not cached: 'a' \(Sealed\)"):
        assert work(Sealed()) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert work(Sealed()) == 2
    circle: list = []
    circle.append(circle)
    assert work(circle) == 3
    assert work.cache_info() == (0, 0, None, 0)


def test_wrong_arguments_are_a_type_error_as_ever():
    @cached_tool
    def work(a: int) -> int:
        return a

    with pytest.raises(TypeError, match="missing"):
        work()
    with pytest.raises(TypeError, match="unexpected"):
        work(1, z=2)


# ------------------------------------------------------------ how many


def test_the_least_recently_wanted_goes_first():
    work, calls = counted(maxsize=2)
    work(1), work(2), work(1), work(3)
    assert work.cache_info() == (1, 3, 2, 2)
    work(1)
    assert len(calls) == 3
    work(2)
    assert len(calls) == 4


def test_clearing_forgets_everything():
    work, _ = counted()
    work(1), work(1)
    work.cache_clear()
    assert work.cache_info() == (0, 0, None, 0)
    assert work(1) == 2


@pytest.mark.parametrize("maxsize", [0, -1, 1.5, True, "all"])
def test_a_wrong_size_is_refused(maxsize):
    with pytest.raises(AgentConfigurationError, match="maxsize"):
        cached_tool(maxsize=maxsize)


def test_results_go_with_the_function():
    class Result:
        pass

    @cached_tool
    def work() -> object:
        return Result()

    alive = weakref.ref(work())
    del work
    gc.collect()
    assert alive() is None


# ------------------------------------------------------------ what is not kept


def test_an_error_is_not_kept():
    tries = []

    @cached_tool
    def work(a: int) -> int:
        tries.append(a)
        if len(tries) < 2:
            raise ConnectionError
        return a

    with pytest.raises(ConnectionError):
        work(1)
    assert work(1) == work(1) == 1
    assert tries == [1, 1]


async def test_an_error_of_an_async_function_is_not_kept():
    tries = []

    @cached_tool
    async def work(a: int) -> int:
        tries.append(a)
        if len(tries) < 2:
            raise ConnectionError
        return a

    with pytest.raises(ConnectionError):
        await work(1)
    assert await work(1) == 1


def test_what_can_be_read_once_is_not_kept():
    @cached_tool
    def work(a: int) -> object:
        return iter(range(a))

    assert list(work(2)) == list(work(2)) == [0, 1]
    assert work.cache_info().currsize == 0


async def test_an_awaitable_of_a_plain_function_is_not_kept():
    @cached_tool
    def work(a: int) -> object:
        return asyncio.sleep(0, a)

    assert (await work(1), await work(1)) == (1, 1)


async def several(a: int):
    """Yield."""
    yield a


@pytest.mark.parametrize("function", [several, lambda a: (yield a)])
def test_a_generator_is_refused(function):
    with pytest.raises(AgentConfigurationError, match="return a list"):
        cached_tool(function, name="work")


def test_a_context_is_refused_as_it_belongs_to_one_user():
    def work(a: int, context: RunContext) -> int:
        return a

    with pytest.raises(AgentConfigurationError, match="belongs to one run"):
        cached_tool(work)


def test_what_is_no_function_is_refused():
    with pytest.raises(AgentConfigurationError, match="A tool is a function"):
        cached_tool("rate")


# ------------------------------------------------------------ at the same time


def on_a_loop(coroutine):
    """Run a coroutine on a loop of this thread's own."""
    return asyncio.run(coroutine)  # noqa: TID251 - as any program of a user's


def in_threads(*functions):
    results = [None] * len(functions)

    def run(place, function):
        try:
            results[place] = function()
        except BaseException as error:  # noqa: BLE001 - looked at by the test
            results[place] = error

    threads = [
        threading.Thread(target=run, args=item, daemon=True)
        for item in enumerate(functions)
    ]
    for thread in threads:
        thread.start()
    return threads, results


def joined(threads):
    for thread in threads:
        thread.join(10)
    assert not any(thread.is_alive() for thread in threads)


def test_threads_share_one_execution(wait_until):
    calls, release = [], threading.Event()

    @cached_tool
    def work(a: int) -> object:
        calls.append(a)
        release.wait(5)
        return object()

    threads, results = in_threads(*[lambda: work(1)] * 8)
    wait_until(lambda: work.cache_info().hits == 7)
    release.set()
    joined(threads)
    assert len(calls) == 1
    assert len(set(map(id, results))) == 1


def test_threads_share_an_error(wait_until):
    calls, release = [], threading.Event()

    @cached_tool
    def work(a: int) -> None:
        calls.append(a)
        release.wait(5)
        raise ConnectionError

    threads, results = in_threads(*[lambda: work(1)] * 3)
    wait_until(lambda: work.cache_info().hits == 2)
    release.set()
    joined(threads)
    assert [type(result) for result in results] == [ConnectionError] * 3
    assert len(calls) == 1


def test_different_calls_do_not_wait_for_each_other():
    together = threading.Barrier(2, timeout=5)

    @cached_tool
    def work(a: int) -> int:
        together.wait()
        return a

    threads, results = in_threads(lambda: work(1), lambda: work(2))
    joined(threads)
    assert results == [1, 2]


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_stops_only_the_one_it_was_meant_for(kind, wait_until):
    calls, release = [], threading.Event()

    @cached_tool
    def work(a: int) -> str:
        calls.append(a)
        release.wait(5)
        if len(calls) == 1:
            raise kind
        return "done"

    threads, results = in_threads(*[lambda: work(1)] * 3)
    wait_until(lambda: work.cache_info().hits == 2)
    release.set()
    joined(threads)
    assert sorted(map(type, results), key=str) == sorted([str, str, kind], key=str)
    assert len(calls) == 2


async def test_tasks_share_one_execution():
    """Acceptance check 11."""
    work, calls = counted_async()
    assert await asyncio.gather(*[work(1) for _ in range(5)]) == [1] * 5
    assert calls == [1]
    assert await work(a=1) == 1
    assert work.cache_info() == (5, 1, None, 1)


def test_loops_share_one_execution(wait_until):
    calls, release = [], threading.Event()

    @cached_tool
    async def work(a: int) -> int:
        calls.append(a)
        await asyncio.to_thread(release.wait, 5)
        return a

    threads, results = in_threads(*[lambda: on_a_loop(work(1))] * 4)
    wait_until(lambda: work.cache_info().hits == 3)
    release.set()
    joined(threads)
    assert (results, calls) == ([1] * 4, [1])


async def test_a_cancelled_leader_takes_nobody_along():
    begun, release = asyncio.Event(), asyncio.Event()
    calls = []

    @cached_tool
    async def work(a: int) -> int:
        calls.append(a)
        begun.set()
        await release.wait()
        return a

    leader = asyncio.create_task(work(1))
    await begun.wait()
    followers = [asyncio.create_task(work(1)) for _ in range(2)]
    await asyncio.sleep(0)
    leader.cancel()
    await asyncio.wait([leader])
    release.set()
    async with asyncio.timeout(5):
        assert await asyncio.gather(*followers) == [1, 1]
    assert leader.cancelled()
    assert calls == [1]


async def test_a_cancelled_follower_disturbs_nobody():
    begun, release = asyncio.Event(), asyncio.Event()

    @cached_tool
    async def work(a: int) -> int:
        begun.set()
        await release.wait()
        return a

    leader = asyncio.create_task(work(1))
    await begun.wait()
    follower = asyncio.create_task(work(1))
    await asyncio.sleep(0)
    follower.cancel()
    await asyncio.wait([follower])
    release.set()
    assert await leader == 1


async def test_the_last_one_to_leave_ends_the_work_and_waits_for_its_clean_up():
    begun, order = asyncio.Event(), []

    @cached_tool
    async def work(a: int) -> None:
        try:
            begun.set()
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            order.append("cleaned up")

    leader = asyncio.create_task(work(1))
    await begun.wait()
    follower = asyncio.create_task(work(1))
    await asyncio.sleep(0)
    leader.cancel()
    await asyncio.wait([leader])
    assert order == []
    follower.cancel()
    await asyncio.wait([follower])
    assert order == ["cleaned up"]
    assert work.cache_info().currsize == 0


def test_a_loop_that_ends_with_the_work_on_it_leaves_the_others_to_themselves(
    wait_until,
):
    begun, calls = threading.Event(), []

    @cached_tool
    async def work(a: int) -> int:
        calls.append(a)
        begun.set()
        if len(calls) == 1:
            await asyncio.Event().wait()
        return len(calls)

    loop = asyncio.new_event_loop()
    leader = loop.create_task(work(1))
    loop.call_later(0.05, lambda: None)
    while not begun.is_set():
        loop.run_until_complete(asyncio.sleep(0))
    threads, results = in_threads(lambda: on_a_loop(work(1)))
    wait_until(lambda: work.cache_info().hits == 1)
    pending = asyncio.all_tasks(loop)
    loop.close()  # without cancelling anything
    joined(threads)
    assert results == [2]
    for task in (leader, *pending):
        task._log_destroy_pending = False  # that is what is tested


def test_a_loop_that_cancels_the_work_leaves_the_others_to_themselves(wait_until):
    begun, calls = threading.Event(), []

    @cached_tool
    async def work(a: int) -> int:
        calls.append(a)
        begun.set()
        if len(calls) == 1:
            await asyncio.Event().wait()
        return len(calls)

    async def lead():
        task = asyncio.create_task(work(1))
        await asyncio.to_thread(wait_until, lambda: work.cache_info().hits == 1)
        return task  # the end of the loop cancels it

    threads, results = in_threads(
        lambda: on_a_loop(lead()), lambda: begun.wait(5) and on_a_loop(work(1))
    )
    joined(threads)
    assert results[1] == 2


async def test_what_is_cleared_meanwhile_is_not_kept_nor_shared():
    begun, release = asyncio.Event(), asyncio.Event()
    calls = []

    @cached_tool
    async def work(a: int) -> int:
        calls.append(a)
        number = len(calls)
        begun.set()
        await release.wait()
        return number

    old = asyncio.create_task(work(1))
    await begun.wait()
    work.cache_clear()
    new = asyncio.create_task(work(1))
    await asyncio.sleep(0)
    release.set()
    assert (await old, await new, await work(1)) == (1, 2, 2)


def test_a_function_that_calls_itself_does_not_wait_for_itself():
    depth = []

    @cached_tool
    def work(a: int) -> int:
        depth.append(a)
        return 1 if len(depth) > 1 else work(a) + 1

    assert work(5) == 2

    @cached_tool
    def fibonacci(n: int) -> int:
        return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

    assert fibonacci(60) == 1548008755920
    assert fibonacci.cache_info().misses == 61


async def test_an_async_function_that_calls_itself_does_not_wait_for_itself():
    depth = []

    @cached_tool
    async def work(a: int) -> int:
        depth.append(a)
        return 1 if len(depth) > 1 else await work(a) + 1

    async with asyncio.timeout(5):
        assert await work(5) == 2


async def test_a_call_within_itself_keeps_nobody_from_ending_the_work():
    begun, order = asyncio.Event(), []

    @cached_tool
    async def work(a: int) -> None:
        if order:
            return
        order.append("within")
        await work(a)
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            order.append("cleaned up")

    task = asyncio.create_task(work(1))
    await begun.wait()
    task.cancel()
    await asyncio.wait([task])
    assert order == ["within", "cleaned up"]


def test_a_strange_result_keeps_nobody_waiting():
    class Strange:
        def __getattr__(self, name):
            raise RuntimeError

    @cached_tool
    def work(a: int) -> object:
        return Strange()

    threads, results = in_threads(*[lambda: work(1)] * 3)
    joined(threads)
    assert [type(result) for result in results] == [Strange] * 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_does_not_wait_for_what_its_parent_does(wait_until):
    release, begun = threading.Event(), threading.Event()

    @cached_tool
    def work(a: int) -> int:
        begun.set()
        release.wait(5)
        return a

    threads, _ = in_threads(lambda: work(1))
    begun.wait(5)
    child = os.fork()
    if child == 0:
        release.set()
        os._exit(0 if work(1) == 1 else 1)
    wait_until(lambda: os.waitpid(child, os.WNOHANG) == (child, 0))
    release.set()
    joined(threads)


async def test_a_tool_that_times_out_goes_on_for_the_next_call():
    calls, release = [], threading.Event()

    @cached_tool(timeout=0.05)
    def work(a: int) -> str:
        calls.append(a)
        release.wait(5)
        return "late"

    model = ScriptedProvider([call("work", a=1), call("work", a=1), "."])
    agent = Agent(model, [work])
    run = agent.start("go")
    async for event in run.events():
        if event.event == "observation":
            release.set()
    contents = [entry["content"] for entry in (await run.result()).tool_calls]
    assert contents == ["Tool execution failed: no result within 0.05 s", "late"]
    assert calls == [1]
