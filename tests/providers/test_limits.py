"""How much is asked of a service, at a time and a minute, and who waits for whom."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notebook_agents import Agent, AgentConfigurationError, LLMClient
from notebook_agents.errors import RunCancelledError
from notebook_agents.messages import Message, ToolCall
from notebook_agents.providers import (
    ModelReply,
    ModelRequest,
    OpenAICompatibleProvider,
    RetryDelta,
    TextDelta,
    _limits,
)
from notebook_agents.providers._limits import Limits, estimated_tokens
from tests.providers.wire import (
    DONE,
    HOLD,
    STOP,
    answer,
    delta,
    event,
    streamed,
    whole,
)

KEY = "sk-a-key-of-the-tests"
REQUEST = ModelRequest(messages=[Message("user", "hi")])
COUNTED = {"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10}


@pytest.fixture(autouse=True)
def _nothing_asked_yet():
    _limits._accounts.clear()


@pytest.fixture
def short_minute(monkeypatch):
    """Let a minute pass in 0.4 s."""
    monkeypatch.setattr(_limits, "MINUTE", 0.4)
    return 0.4


@pytest.fixture
def told_soon(monkeypatch):
    """Say after 50 ms that something is waited for."""
    monkeypatch.setattr(_limits, "TELL_SECONDS", 0.05)


def made(server, model="m", key=KEY, **options):
    options = {"max_retries": 0, **options}
    return OpenAICompatibleProvider(server.url, model, key, **options)


async def all_of(provider, request=REQUEST):
    return [each async for each in provider.respond(request)]


async def until(condition):
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.005)


def line():
    return [place for each in _limits._accounts.values() for place in each.line]


def prompts(server):
    return [each.body["messages"][-1]["content"] for each in server.requests]


def saying(text):
    return ModelRequest(messages=[Message("user", text)])


# ------------------------------------------------------------- at the same time


async def test_others_that_ask_the_same_share_what_there_is(server):
    server.say([HOLD])
    first = asyncio.create_task(all_of(made(server, max_concurrency=1)))
    await until(lambda: server.requests)
    second = asyncio.create_task(all_of(made(server, max_concurrency=1)))
    await asyncio.sleep(0.05)
    assert len(server.requests) == 1
    server.say(answer("ok"))
    first.cancel()
    assert (await second)[-1].text == "ok"


@pytest.mark.parametrize("other", [{"model": "n"}, {"key": "sk-another-key-of-tests"}])
async def test_another_model_or_key_is_counted_by_itself(server, other):
    server.say([HOLD], answer("ok"))
    first = asyncio.create_task(all_of(made(server, max_concurrency=1)))
    await until(lambda: server.requests)
    assert (await all_of(made(server, max_concurrency=1, **other)))[-1].text == "ok"
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)


async def test_nobody_overtakes(server):
    server.say(*[answer("ok")] * 12)
    provider = made(server, max_concurrency=1)
    await asyncio.gather(*(all_of(provider, saying(str(n))) for n in range(12)))
    assert prompts(server) == [str(n) for n in range(12)]


async def test_whose_turn_it_is_begins_at_once(server, monkeypatch):
    """Nobody waits for a look at the clock while there is room."""
    monkeypatch.setattr(_limits, "LOOK_SECONDS", 60.0)
    monkeypatch.setattr(_limits, "TELL_SECONDS", 60.0)
    server.say([HOLD], [HOLD], [HOLD])
    provider = made(server, max_concurrency=3)
    held = [asyncio.create_task(all_of(provider)) for _ in range(3)]
    await until(lambda: len(server.requests) == 3)
    server.say(*[answer("ok")] * 9)
    waiting = [asyncio.create_task(all_of(provider)) for _ in range(9)]
    await asyncio.sleep(0.01)
    for task in held:
        task.cancel()
    async with asyncio.timeout(5):
        await asyncio.gather(*waiting)


async def test_who_stops_waiting_holds_up_nobody(server):
    server.say([HOLD])
    provider = made(server, max_concurrency=1)
    first, second, third = (
        asyncio.create_task(all_of(provider, saying(name))) for name in "abc"
    )
    await until(lambda: server.requests)
    server.say(answer("ok"))
    second.cancel()
    first.cancel()
    assert (await third)[-1].text == "ok"
    assert prompts(server) == ["a", "c"]


@pytest.mark.parametrize("ask", ["embed", "models"])
async def test_who_stops_waiting_for_what_is_no_chat_holds_up_nobody(server, ask):
    def asking(provider):
        wanted = {"embed": lambda: provider.embed(["a"], model="e")}
        return asyncio.create_task(wanted.get(ask, provider.models)())

    server.say([HOLD])
    provider = made(server, max_concurrency=1)
    first, second, third = (asking(provider) for _ in range(3))
    await until(lambda: server.requests)
    await until(lambda: len(line()) == 2)
    reply = {"data": [{"index": 0, "embedding": [1.0], "id": "m"}]}
    server.say(whole(200, reply))
    second.cancel()
    first.cancel()
    async with asyncio.timeout(30):
        assert await third == ([[1.0]] if ask == "embed" else ["m"])
        await asyncio.gather(first, second, return_exceptions=True)
    assert line() == []


def test_requests_on_other_loops_and_threads_are_counted_too(server):
    server.say(*[answer("ok")] * 12)
    under_way, most = [0], [0]
    lock = threading.Lock()

    class Counting(OpenAICompatibleProvider):
        async def _ask(self, request, access):
            with lock:
                under_way[0] += 1
                most[0] = max(most[0], under_way[0])
            async for each in super()._ask(request, access):
                yield each
            with lock:
                under_way[0] -= 1

    def ask():
        async def both():
            provider = Counting(server.url, "m", max_concurrency=2)
            await asyncio.gather(*(all_of(provider) for _ in range(3)))

        with asyncio.Runner() as runner:
            runner.run(both())

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(server.requests) == 12
    assert most[0] <= 2


async def test_a_loop_that_stopped_in_between_gives_its_place_back(server):
    server.say([HOLD], answer("ok"))
    loops = []

    def stop_in_between():
        loop = asyncio.new_event_loop()
        loops.append((loop, loop.create_task(all_of(made(server, max_concurrency=1)))))
        loop.run_until_complete(until(lambda: server.requests))

    await asyncio.to_thread(stop_in_between)
    assert (await all_of(made(server, max_concurrency=1)))[-1].text == "ok"
    [(loop, task)] = loops
    task.cancel()

    def go_on():
        with pytest.raises(asyncio.CancelledError):
            loop.run_until_complete(task)
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()

    await asyncio.to_thread(go_on)


async def test_a_child_of_a_fork_begins_anew():
    limits = Limits(url="http://a", model="m", concurrency=1)
    place = limits.place(KEY, tokens=0)
    assert await place.admitted()
    _limits._forget_after_fork()
    assert await limits.place(KEY, tokens=0).admitted(within=0)


async def test_what_nobody_asks_any_more_is_forgotten(short_minute):
    limits = Limits(url="http://a", model="m", requests=5)
    place = limits.place(KEY, tokens=0)
    await place.admitted()
    place.leave()
    await asyncio.sleep(short_minute + 0.05)
    Limits(url="http://b", model="m", requests=5).place(KEY, tokens=0)
    assert [account[0] for account in _limits._accounts] == ["http://b"]
    assert KEY not in repr(_limits._accounts)


# ------------------------------------------------------------ agents in agents


async def test_agents_that_ask_agents_of_the_same_model_do_not_wait_for_themselves(
    server,
):
    """Neither at once nor one in the other: a tool runs between two requests."""
    calls = [
        {"index": n, "id": f"c{n}", "function": {"name": "helper", "arguments": task}}
        for n, task in enumerate(['{"task": "x"}', '{"task": "y"}'])
    ]
    server.say(
        streamed(event(delta(tool_calls=calls)), event(delta("tool_calls")), DONE),
        *[answer("ok")] * 3,
    )
    provider = made(server, max_concurrency=1)
    helper = Agent(provider, name="helper")
    async with asyncio.timeout(5):
        result = await Agent(provider, [helper.as_tool()]).run("Go")
    assert [each["content"] for each in result.tool_calls] == ["ok", "ok"]


async def test_who_waits_for_another_try_lets_others_ask(server):
    server.say(whole(500, {}), answer("meanwhile"), answer("at last"))
    provider = made(server, max_concurrency=1, max_retries=1)
    asked = []

    async def on_event(event):
        if event["event"] == "retry":
            asked.append(str(await Agent(provider).run("Well?")))

    async with asyncio.timeout(5):
        result = await Agent(provider, on_event=on_event).run("Go")
    assert (asked, str(result)) == (["meanwhile"], "at last")


# --------------------------------------------------------------------- a minute


async def test_no_more_requests_begin_within_a_minute(server, short_minute):
    server.say(*[answer("ok")] * 5)
    provider = made(server, requests_per_minute=2)
    began = time.monotonic()
    await asyncio.gather(*(all_of(provider) for _ in range(5)))
    assert time.monotonic() - began >= 2 * short_minute


async def test_a_provider_that_is_made_again_goes_on_counting(server, short_minute):
    server.say(*[answer("ok")] * 3)
    began = time.monotonic()
    for _ in range(3):  # as a cell that is run again
        await all_of(made(server, requests_per_minute=2))
    assert time.monotonic() - began >= short_minute


async def test_tries_that_fail_are_requests_too(server, short_minute):
    server.say(whole(500, {}), answer("ok"))
    began = time.monotonic()
    await all_of(made(server, requests_per_minute=1, max_retries=1))
    assert time.monotonic() - began >= short_minute


async def test_tokens_are_those_that_were_used(server):
    """Of 1,000 estimated ones each, 10 were used, so nobody waits for a minute."""
    server.say(*[answer("ok", usage=COUNTED)] * 20)
    provider = made(server, tokens_per_minute=1300)
    async with asyncio.timeout(20):
        for _ in range(20):
            await all_of(provider)
    [account] = _limits._accounts.values()
    assert account.tokens == 200


async def test_where_nobody_counts_the_estimate_holds(server, short_minute):
    server.say(*[answer("ok")] * 2)
    provider = made(server, tokens_per_minute=1500)
    began = time.monotonic()
    await all_of(provider)
    await all_of(provider)
    assert time.monotonic() - began >= short_minute


async def test_what_was_refused_took_no_tokens(server):
    server.say(whole(503, {}), answer("ok", usage=COUNTED))
    async with asyncio.timeout(20):
        await all_of(made(server, tokens_per_minute=1100, max_retries=1))


async def test_a_request_larger_than_a_minute_may_go_alone(server, short_minute):
    server.say(*[answer("ok")] * 2)
    provider = made(server, tokens_per_minute=10)
    async with asyncio.timeout(5):
        await asyncio.gather(all_of(provider), all_of(provider))
    assert len(server.requests) == 2


@given(
    st.integers(1, 4),
    st.integers(1, 50),
    st.lists(st.tuples(st.integers(0, 40), st.integers(1, 60)), max_size=25),
)
def test_in_no_minute_is_more_asked_than_allowed(requests, tokens, steps):
    now = [0.0]
    clock = _limits.time
    _limits._accounts.clear()

    class Clock:
        monotonic = staticmethod(lambda: now[0])

    async def play():
        limits = Limits(url="u", model="m", requests=requests, tokens=tokens)
        begun = []
        for pause, wanted in steps:
            now[0] += pause
            place = limits.place("k", tokens=wanted)
            wait = place._begin()
            if wait > 0:
                now[0] += wait
                assert place._begin() == 0  # it said when
            begun.append((now[0], wanted))
            place.leave()
        for start, _ in begun:
            within = [each for each in begun if start <= each[0] < start + 60]
            assert len(within) <= requests
            # One that is larger than a minute's worth goes alone.
            assert len(within) == 1 or sum(each[1] for each in within) <= tokens

    _limits.time = Clock
    try:
        with asyncio.Runner() as runner:
            runner.run(play())
    finally:
        _limits.time = clock


# ----------------------------------------------------------------- what is told


async def test_who_waits_for_the_rate_limit_says_so(server, told_soon, monkeypatch):
    monkeypatch.setattr(_limits, "MINUTE", 2.0)
    server.say(*[answer("ok")] * 2)
    agent = Agent(made(server, requests_per_minute=1))
    assert [each.event for each in (await agent.run("Hi")).events].count("retry") == 0
    result = await agent.run("Hi")
    [told] = [each for each in result.events if each.event == "retry"]
    assert told.reason == "waiting for the rate limit"
    assert (told.attempt, told.discard_partial, told.model) == (0, False, "")
    assert 0 < told.wait_s <= 2
    assert str(result) == "ok"


async def test_who_waits_for_others_says_so(server, told_soon):
    server.say([HOLD])
    provider = made(server, max_concurrency=1)
    first = asyncio.create_task(all_of(provider))
    await until(lambda: server.requests)
    server.say(answer("ok"))
    deltas = provider.respond(REQUEST)
    assert await anext(deltas) == RetryDelta(
        0, 0.0, "waiting for other requests to end"
    )
    first.cancel()
    assert [each async for each in deltas][-1].text == "ok"


async def test_a_failure_after_waiting_is_still_tried_again(
    server, told_soon, monkeypatch
):
    monkeypatch.setattr(_limits, "MINUTE", 2.0)
    server.say(answer("ok"), whole(500, {}), answer("ok"))
    provider = made(server, requests_per_minute=1, max_retries=1)
    await all_of(provider)
    kinds = [type(each) for each in await all_of(provider)]
    assert kinds == [RetryDelta, RetryDelta, RetryDelta, TextDelta, ModelReply]


async def test_a_run_that_waits_can_be_stopped(server):
    server.say(answer("ok"), answer("never"))
    agent = Agent(made(server, requests_per_minute=1))
    await agent.run("Hi")
    run = agent.start("Again")
    await until(lambda: any(account.line for account in _limits._accounts.values()))
    run.cancel()
    with pytest.raises(RunCancelledError):
        async with asyncio.timeout(5):  # it would have waited for a minute
            await run.result()
    assert not any(account.line for account in _limits._accounts.values())


# ------------------------------------------------------------------ what counts


def test_a_request_is_estimated_by_its_texts_and_what_may_be_written():
    message = Message(
        "user",
        [  # type: ignore[arg-type]
            {"type": "text", "text": "x" * 400},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        ],
    )
    said = Message("assistant", "", (ToolCall("1", "a" * 10, "b" * 30),))
    request = ModelRequest(messages=[message, said], tools=[{"n": "y" * 40}])
    estimate = estimated_tokens(request)
    assert 1024 + 100 + 1000 + 10 + 10 <= estimate <= 1024 + 100 + 1000 + 10 + 10 + 10


async def test_a_client_that_is_asked_directly_keeps_the_same_limits(
    server, short_minute
):
    hello = {"choices": [{"message": {"content": "ok"}}], "usage": COUNTED}
    listed = {"data": [{"index": 0, "embedding": [1.0]}]}
    server.say(*[whole(200, hello)] * 2, whole(200, listed))
    client = LLMClient(server.url, KEY, "m", requests_per_minute=2)
    began = time.monotonic()
    for _ in range(2):
        await client.chat_completions([{"role": "user", "content": "Hi"}])
    [account] = _limits._accounts.values()
    assert account.tokens == 20
    await client.embeddings(["x"])
    assert time.monotonic() - began >= short_minute


@pytest.mark.parametrize(
    "options", [{"requests_per_minute": 0}, {"tokens_per_minute": 1.5}], ids=str
)
def test_a_limit_is_a_whole_number(server, options):
    with pytest.raises(AgentConfigurationError, match=next(iter(options))):
        made(server, **options)


async def test_without_limits_nothing_is_counted(server):
    server.say(streamed(event(delta(content="ok")), STOP, DONE))
    await all_of(made(server))
    assert _limits._accounts == {}
