"""Agents on Anthropic's models: thoughts that go back, failures, keys, promises."""

from __future__ import annotations

import asyncio
import json
import logging
import pickle
import threading
import traceback
from contextlib import closing
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from notebook_agents import Agent, HistoryBudget, tool
from notebook_agents.errors import (
    AgentConfigurationError,
    AgentProviderError,
    ContextLengthError,
    ModelNotFoundError,
    ProviderAuthError,
    ProviderRateLimitError,
    ProviderReplyError,
    ProviderTimeoutError,
    StreamInterruptedError,
)
from notebook_agents.messages import Message
from notebook_agents.providers import (
    AnthropicProvider,
    ModelReply,
    ModelRequest,
    RetryDelta,
    TextDelta,
    discovery,
)
from notebook_agents.providers.registry import choose_default, make_provider
from notebook_agents.testing import check_provider
from tests.providers.anthropic_wire import (
    END,
    answer,
    block,
    error_event,
    failed,
    started,
    stopped,
    stream,
    text,
    thought,
    use,
)
from tests.providers.wire import CUT, HOLD, event, streamed, whole

KEY = "sk-ant-very-secret-0123456789"
REQUEST = ModelRequest(messages=[Message("user", "hi")])
REDACTED = {"type": "redacted_thinking", "data": "RED"}
THINKING = {"type": "thinking", "thinking": "hm", "signature": "SIG"}


def made(server, model=None, **options) -> AnthropicProvider:
    options = {"cache": None, **options}
    return AnthropicProvider(model, KEY, base_url=server.url, **options)


async def all_of(provider, asked=REQUEST) -> list:
    return [item async for item in provider.respond(asked)]


async def failure_of(provider) -> Exception:
    with pytest.raises((AgentProviderError, AgentConfigurationError)) as caught:
        await all_of(provider)
    return caught.value


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def calls(*ids: str, signature: str = "SIG") -> list:
    """Give a reply that thinks and calls."""
    uses = [use(n, each, "add", '{"a": 1, "b": 2}') for n, each in enumerate(ids, 1)]
    return stream(thought(0, "hm", signature=signature), *uses, stop="tool_use")


def kinds(server, number: int) -> list[list[str]]:
    """Name the blocks of each message of the assistant in a request."""
    return [
        [each["type"] for each in message["content"]]
        for message in server.requests[number].body["messages"]
        if message["role"] == "assistant"
    ]


# ----------------------------------------------------------- thoughts that go back


async def test_thoughts_go_back_with_their_calls_as_they_came(server):
    """Wire, section 3.2."""
    server.say(
        stream(
            thought(0, "h", "m"),
            block(1, REDACTED),
            text(2, "I add."),
            use(3, "toolu_a", "add", '{"a": 1, "b": 2}'),
            use(4, "toolu_b", "add", '{"a": 3, "b": 4}'),
            stop="tool_use",
        ),
        answer("3 and 7"),
    )
    await Agent(made(server), [add]).run("go")
    said, told = server.requests[1].body["messages"][1:]
    assert said == {
        "role": "assistant",
        "content": [
            THINKING,
            REDACTED,
            {"type": "text", "text": "I add."},
            {
                "type": "tool_use",
                "id": "toolu_a",
                "name": "add",
                "input": {"a": 1, "b": 2},
            },
            {
                "type": "tool_use",
                "id": "toolu_b",
                "name": "add",
                "input": {"a": 3, "b": 4},
            },
        ],
    }
    assert told == {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": call_id,
                "content": [{"type": "text", "text": said}],
            }
            for call_id, said in (("toolu_a", "3"), ("toolu_b", "7"))
        ],
    }


async def test_thoughts_between_calls_stay_in_their_places(server):
    server.say(
        stream(
            thought(0, "a", signature="1"),
            use(1, "x", "add", '{"a": 1, "b": 2}'),
            thought(2, "b", signature="2"),
            use(3, "y", "add", '{"a": 3, "b": 4}'),
            stop="tool_use",
        ),
        answer("ok"),
    )
    await Agent(made(server), [add]).run("go")
    assert kinds(server, 1) == [["thinking", "tool_use", "thinking", "tool_use"]]


async def test_thoughts_that_are_not_shown_go_back_too(server):
    """With ``display`` omitted, a signature is all there is."""
    server.say(
        stream(
            thought(0, signature="SIG"),
            use(1, "x", "add", '{"a": 1, "b": 2}'),
            stop="tool_use",
        ),
        answer("ok"),
    )
    await Agent(made(server), [add]).run("go")
    said = server.requests[1].body["messages"][1]["content"]
    assert said[0] == {"type": "thinking", "thinking": "", "signature": "SIG"}


async def test_a_blank_text_between_thought_and_call_does_not_go_back(server):
    """The service itself sends them, and refuses them."""
    server.say(
        stream(
            thought(0, "hm"),
            text(1, "\n\n"),
            use(2, "x", "add", '{"a": 1, "b": 2}'),
            stop="tool_use",
        ),
        answer("ok"),
    )
    await Agent(made(server), [add]).run("go")
    assert kinds(server, 1) == [["thinking", "tool_use"]]


async def test_each_round_of_a_turn_has_its_thoughts_and_a_later_turn_none(server):
    server.say(calls("a"), calls("b"), answer("one"), calls("c"), answer("two"))
    agent = Agent(made(server), [add])
    await agent.run("go")
    await agent.run("on")
    call = ["thinking", "tool_use"]
    assert kinds(server, 2) == [call, call]
    assert kinds(server, 3) == [["tool_use"], ["tool_use"], ["text"]]
    assert kinds(server, 4) == [["tool_use"], ["tool_use"], ["text"], call]


async def test_two_runs_at_once_do_not_mix_their_thoughts(server):
    server.say(calls("a"), calls("b"), answer("ok"), answer("ok"))
    provider = made(server)
    agents = [Agent(provider, [add]), Agent(provider, [add])]
    await asyncio.gather(*(agent.run(f"go {n}") for n, agent in enumerate(agents)))
    assert [kinds(server, n) for n in (2, 3)] == [[["thinking", "tool_use"]]] * 2


async def test_a_blank_result_makes_no_blank_text(server):
    @tool
    def nothing() -> str:
        """Say nothing."""
        return ""

    server.say(
        stream(thought(0, "hm"), use(1, "x", "nothing"), stop="tool_use"),
        answer("ok"),
    )
    await Agent(made(server), [nothing]).run("go")
    body = server.requests[1].body
    assert body["messages"][2]["content"] == [
        {"type": "tool_result", "tool_use_id": "x"}
    ]
    assert kinds(server, 1) == [["thinking", "tool_use"]]


# What comes before a thought must be the same as when it was made: wire.md 3.2, "The
# block is bound to a different conversation".


def long_result(n: int) -> str:
    """Look something up."""
    return f"{n} " + "." * 400


def looks(call_id: str, n: int) -> list:
    called = use(1, call_id, "long_result", f'{{"n": {n}}}')
    return stream(thought(0, "hm", signature=call_id), called, stop="tool_use")


async def test_thoughts_are_dropped_where_rounds_before_them_are_not_sent(server):
    server.say(*[looks(f"c{n}", n) for n in range(4)], answer("ok"))
    agent = Agent(
        made(server),
        [long_result],
        history=HistoryBudget(max_tokens=250),
        max_steps=9,
    )
    assert (await agent.run("go")).answer == "ok"
    sent = [kinds(server, number) for number in range(5)]
    whole_round, bare = ["thinking", "tool_use"], ["tool_use"]
    assert sent[1] == [whole_round]
    # Whatever the budget left out, no thought stands after something it did not see.
    for number in range(2, 5):
        messages = server.requests[number].body["messages"]
        first_call = messages[1]["content"][-1]["id"]
        expected = whole_round if first_call == "c0" else bare
        assert sent[number] == [expected] * len(sent[number])
    assert bare in sent[4]


async def test_a_thought_made_after_the_cut_goes_back_as_long_as_nothing_changes(
    server,
):
    """Later thoughts saw the shorter conversation, and fit it."""
    server.say(calls("a"), calls("b"), calls("c"), answer("ok"))
    provider = made(server)
    cut = []

    def without_first_round(messages):
        if len(messages) > 3:
            cut.append(len(messages))
            return [messages[0], *messages[3:]]
        return messages

    agent = Agent(provider, [add], history_processors=without_first_round)
    assert (await agent.run("go")).answer == "ok"
    assert cut == [5, 7]
    assert kinds(server, 2) == [["tool_use"]]  # b, which saw a
    assert kinds(server, 3) == [["tool_use"], ["thinking", "tool_use"]]  # b, c


async def test_thoughts_are_dropped_where_an_earlier_message_has_changed(server):
    server.say(calls("a"), calls("b"), answer("ok"))
    times = iter(range(9))

    def with_the_time(messages):
        first = {**messages[0], "content": f"{messages[0]['content']} at {next(times)}"}
        return [first, *messages[1:]]

    agent = Agent(made(server), [add], history_processors=with_the_time)
    assert (await agent.run("go")).answer == "ok"
    assert kinds(server, 1) == [["tool_use"]]
    assert kinds(server, 2) == [["tool_use"], ["tool_use"]]


@pytest.mark.parametrize("changed", ["system", "tools", "text"])
async def test_thoughts_are_dropped_where_something_else_has_changed(server, changed):
    provider = made(server)
    server.say(
        stream(
            thought(0, "hm"), text(1, "I add."), use(2, "x", "add"), stop="tool_use"
        ),
        answer("ok"),
        answer("ok"),
    )
    first = ModelRequest(messages=[Message("system", "S"), Message("user", "go")])
    reply = (await all_of(provider, first))[-1]
    said = Message("assistant", reply.text, reply.tool_calls)
    told = Message("tool", "3", tool_call_id="x")
    replays = {"x": reply.replay}
    same = ModelRequest(messages=[*first.messages, said, told], replays=replays)
    await all_of(provider, same)
    assert kinds(server, 1) == [["thinking", "text", "tool_use"]]
    other_said = Message("assistant", "I a**.", reply.tool_calls)
    other = {
        "system": {"messages": [Message("system", "T"), *same.messages[1:]]},
        "tools": {"tools": [add_schema()]},
        "text": {"messages": [*first.messages, other_said, told]},
    }[changed]
    await all_of(provider, replace(same, **other))
    assert kinds(server, 2) == [["text", "tool_use"]]


def add_schema() -> dict:
    return {"type": "function", "function": {"name": "add", "parameters": {}}}


async def test_the_marks_of_the_cache_bind_no_thoughts(server):
    server.say(calls("a"), calls("b"), answer("ok"))
    await Agent(made(server, cache="5m"), [add], system_prompt="S").run("go")
    assert kinds(server, 2) == [["thinking", "tool_use"]] * 2


@pytest.mark.parametrize(
    "said",
    [
        "messages.1.content.0: Invalid `signature` in `thinking` block. The block is "
        "bound to a different conversation.",
        "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest "
        "assistant message cannot be modified.",
    ],
)
async def test_thoughts_that_the_service_refuses_are_not_sent_again(server, said):
    server.say(calls("a"), failed(400, "invalid_request_error", said), answer("ok"))
    assert (await Agent(made(server), [add]).run("go")).answer == "ok"
    assert [kinds(server, n) for n in (1, 2)] == [
        [["thinking", "tool_use"]],
        [["tool_use"]],
    ]


BUDGET = {"thinking": {"type": "enabled", "budget_tokens": 2048}}


async def test_with_a_budget_a_turn_without_its_thoughts_goes_on_without(server):
    """The service refuses a turn that thinks by a budget and does not begin so."""
    model = "claude-haiku-4-5"
    server.say(calls("a"), answer("one"))
    agent = Agent(made(server, model), [add])
    await agent.run("go", params=BUDGET)
    messages = [Message.from_dict(each) for each in agent.memory.all_messages[:-1]]
    assert [request.body.get("thinking") for request in server.requests] == [
        BUDGET["thinking"]
    ] * 2
    server.say(answer("two"))
    asked = ModelRequest(messages=messages, params=BUDGET, max_tokens=9)
    await all_of(made(server, model), asked)  # another process would have no more
    body = server.requests[2].body
    assert "thinking" not in body
    assert body["max_tokens"] == 9
    assert kinds(server, 2) == [["tool_use"]]


async def test_who_does_not_think_gets_no_thoughts_back(server):
    server.say(calls("a"), answer("ok"))
    extra = {"thinking": {"type": "disabled"}}
    await Agent(made(server, extra_body=extra), [add]).run("go")
    assert kinds(server, 1) == [["tool_use"]]


async def test_thoughts_are_stored_nowhere(server):
    server.say(calls("a"), answer("ok"))
    agent = Agent(made(server), [add])
    await agent.run("go")
    assert "SIG" not in repr(agent.memory.all_messages)


# ------------------------------------------------------------ names and defaults


def test_a_name_is_a_service(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    provider = make_provider("anthropic")
    assert (provider.model, provider.base_url, provider.name) == (
        *("claude-sonnet-5-5", "https://api.anthropic.com"),
        "anthropic",
    )
    assert make_provider("anthropic:claude-haiku-5-5").model == "claude-haiku-5-5"


def test_its_key_makes_it_the_default(monkeypatch):
    monkeypatch.setattr(discovery, "LOOPBACK_PORTS", ())
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    choice = choose_default()
    assert (choice.spec, choice.reason) == ("anthropic", "ANTHROPIC_API_KEY is set")


async def test_a_missing_key_is_named_before_anything_is_sent(server):
    """Acceptance check 2: making the agent needs nothing."""
    with pytest.raises(AgentConfigurationError, match="ANTHROPIC_API_KEY"):
        await Agent("anthropic").run("hi")
    with pytest.raises(AgentConfigurationError, match="ANTHROPIC_API_KEY"):
        await all_of(AnthropicProvider(base_url=server.url))
    assert server.connections == 0


@pytest.mark.parametrize(
    ("end", "path"),
    [
        ("", "/v1/messages"),
        ("/v1", "/v1/messages"),
        ("/v1/", "/v1/messages"),
        ("/v1/messages", "/v1/messages"),
        ("/anthropic", "/anthropic/v1/messages"),
    ],
)
async def test_a_base_url_is_taken_as_people_write_it(server, end, path):
    server.say(answer("ok"))
    url = server.url.removesuffix("/v1") + end
    await all_of(AnthropicProvider(api_key=KEY, base_url=url))
    assert server.requests[0].path == path


@pytest.mark.parametrize(
    ("options", "version"),
    [
        ({}, "2026-10-21"),
        ({"base_url": "https://gateway.example/v1"}, "2023-06-01"),
        ({"version": "2023-06-01"}, "2023-06-01"),
        ({"extra_headers": {"Anthropic-Version": "2030-01-01"}}, "2030-01-01"),
    ],
)
def test_the_version_is_the_newest_at_home_and_the_oldest_elsewhere(options, version):
    """Wire, section 3."""
    headers = AnthropicProvider(**options)._extra_headers
    assert headers["anthropic-version"] == version


async def test_more_headers_are_sent(server):
    server.say(answer("ok"))
    await all_of(made(server, extra_headers={"anthropic-beta": "a,b"}))
    assert server.requests[0].headers["anthropic-beta"] == "a,b"


# ----------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("status", "kind", "said", "cls_and_words"),
    [
        (400, "invalid_request_error", "odd", (AgentProviderError, "not accept")),
        (
            400,
            "invalid_request_error",
            "Your credit balance is too low to access the Anthropic API.",
            (AgentProviderError, "out of credit"),
        ),
        (
            400,
            "invalid_request_error",
            "prompt is too long: 210000 tokens > 200000 maximum",
            (ContextLengthError, "Shorten"),
        ),
        (
            400,
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit: 199000 + 2000 > 200000",
            (ContextLengthError, "Shorten"),
        ),
        (401, "authentication_error", "bad x-api-key", (ProviderAuthError, "the key")),
        (402, "billing_error", "no", (AgentProviderError, "out of credit")),
        (403, "permission_error", "no", (ProviderAuthError, "refused the key")),
        (404, "not_found_error", "model: x", (ModelNotFoundError, "claude-haiku-5-5")),
        (404, "not_found_error", "Not Found", (AgentProviderError, "base URL")),
        (408, "timeout_error", "slow", (ProviderTimeoutError, "Run it again")),
        (409, "conflict_error", "busy", (AgentProviderError, "Run it again")),
        (413, "request_too_large", "big", (ContextLengthError, "Shorten")),
        (422, "invalid_request_error", "odd", (AgentProviderError, "not accept")),
        (429, "rate_limit_error", "slow", (ProviderRateLimitError, "Too many")),
        (500, "api_error", "oops", (AgentProviderError, "out of order")),
        (504, "timeout_error", "oops", (ProviderTimeoutError, "Run it again")),
        (529, "overloaded_error", "Overloaded", (AgentProviderError, "overloaded")),
    ],
)
async def test_each_refusal_has_its_class_and_says_what_to_do(
    server, status, kind, said, cls_and_words
):
    """Wire, section 6."""
    server.say(failed(status, kind, said))
    error = await failure_of(made(server, max_retries=0))
    cls, words = cls_and_words
    assert type(error) is cls
    assert words in str(error)
    assert said in str(error)


async def test_nobody_there_is_an_error_that_names_the_url():
    provider = AnthropicProvider(
        api_key=KEY, base_url="http://127.0.0.1:1", max_retries=0
    )
    assert "http://127.0.0.1:1" in str(await failure_of(provider))


@pytest.mark.parametrize(
    ("reply", "cls"),
    [
        ([HOLD], ProviderTimeoutError),
        (streamed(started(), HOLD), ProviderTimeoutError),
        (streamed(started(), text(0, "a"), HOLD), ProviderTimeoutError),
        ([CUT], StreamInterruptedError),
        (streamed(started(), stopped("end_turn"), CUT), StreamInterruptedError),
        (streamed(event("{")), ProviderReplyError),
    ],
    ids=["silent", "silent later", "silent at last", "cut", "cut later", "bad JSON"],
)
async def test_each_trouble_on_the_way_has_its_class(server, reply, cls):
    server.say(reply)
    error = await failure_of(made(server, max_retries=0, stall_timeout=0.05))
    assert type(error) is cls


@pytest.mark.parametrize(
    "trouble",
    [
        failed(529, "overloaded_error"),
        failed(429, "rate_limit_error", retry_after="0"),
        failed(500, "api_error"),
        failed(409, "conflict_error"),
        [CUT],
        streamed(started(), CUT),
        streamed(started(), error_event("overloaded_error")),
        streamed(error_event("api_error")),
    ],
    ids=lambda reply: str(reply)[2:60],
)
async def test_what_may_pass_is_tried_again(server, trouble):
    server.say(trouble, answer("ok"))
    retry, *_, reply = await all_of(made(server))
    assert isinstance(retry, RetryDelta)
    assert isinstance(reply, ModelReply)
    assert reply.text == "ok"


@pytest.mark.parametrize(
    "refusal",
    [
        failed(400, "invalid_request_error"),
        failed(401, "authentication_error"),
        failed(529, "overloaded_error", x_should_retry="false"),
        streamed(started(), error_event("invalid_request_error")),
    ],
    ids=lambda reply: str(reply)[2:60],
)
async def test_what_stays_is_not_tried_again(server, refusal):
    server.say(refusal, answer("ok"))
    await failure_of(made(server))
    assert len(server.requests) == 1


async def test_nothing_is_tried_again_after_the_first_text(server):
    """Wire, section 6."""
    server.say(streamed(started(), text(0, "half"), CUT), answer("ok"))
    await failure_of(made(server))
    assert len(server.requests) == 1


async def test_the_rest_of_a_paused_reply_is_tried_again(server):
    """Nothing of the rest has been shown then."""
    search = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    server.say(
        stream(text(0, "a"), block(1, search), stop="pause_turn"),
        failed(529, "overloaded_error"),
        stream(text(0, "b")),
    )
    deltas = await all_of(made(server))
    assert deltas[-1].text == "ab"
    assert [type(delta) for delta in deltas[:-1]] == [TextDelta, RetryDelta, TextDelta]


async def test_a_stopped_request_closes_its_connection(server, wait_until):
    server.say(streamed(started(), text(0, "a"), HOLD))
    deltas = made(server).respond(REQUEST)
    assert await anext(deltas) == TextDelta("a")
    await deltas.aclose()
    await asyncio.to_thread(wait_until, lambda: server.open_connections == 0)


# ------------------------------------------------------------------------- keys


@pytest.mark.parametrize(
    "reply",
    [
        failed(401, "authentication_error", f"invalid x-api-key: {KEY}"),
        whole(500, f"<p>{KEY}</p>".encode()),
        streamed(error_event("api_error", f"bad {KEY}")),
        streamed(event(f"{{{KEY}")),
        streamed(
            started(), stopped("refusal", stop_details={"explanation": KEY}), END
        ),
        whole(200, {"hello": KEY}),
        [CUT],
        [HOLD],
    ],
    ids=["401", "500", "in the stream", "bad JSON", "refusal", "no reply", "cut",
         "silent"],
)  # fmt: skip
async def test_no_error_event_or_log_shows_the_key(server, reply, caplog):
    """Design, section 13: a key in a log or error, never."""
    caplog.set_level(logging.DEBUG)
    server.say(*[reply] * 3)
    provider = made(server, max_retries=1, stall_timeout=0.1)
    agent = Agent(provider)
    with pytest.raises(AgentProviderError) as caught:
        await agent.run("hi")
    error = caught.value
    shown = [
        repr(vars(error)),
        pickle.dumps(error).decode("latin-1"),
        "".join(traceback.format_exception(error)),
        repr(vars(provider)),
        repr(provider),
        repr(agent),
        repr([event.to_dict() for event in agent.last_run.recorded]),
        caplog.text,
    ]
    assert [each for each in shown if KEY in each] == []
    assert server.requests[0].headers["x-api-key"] == KEY


# --------------------------------------------------------------------- promises


class _StandIn(BaseHTTPRequestHandler):
    """A model that says hello, and calls the tool where it must."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        size = int(self.headers["content-length"])
        asked = json.loads(self.rfile.read(size))
        if asked.get("tool_choice", {}).get("type") == "any":
            said = calls("toolu_1")
        else:
            said = answer("Hello.")
        for piece in said:
            self.wfile.write(piece)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


def test_it_keeps_every_promise_of_a_provider():
    server = ThreadingHTTPServer(("127.0.0.1", 0), _StandIn)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}"
    with closing(server.socket):
        left = check_provider(
            lambda: AnthropicProvider("claude-haiku-5-5", KEY, base_url=url),
            secret=KEY,
        )
        server.shutdown()
    thread.join(5)
    assert left == []
