"""Replies of Anthropic's Messages, as the service and its imitators send them.

Each line of wire.md 3.3 and each rule of its section 0 is a test, over a socket.
"""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notebook_agents import Agent, tool
from notebook_agents.errors import (
    AgentProviderError,
    ContentFilteredError,
    ContextLengthError,
    ModelNotFoundError,
    ProviderAuthError,
    ProviderRateLimitError,
    ProviderReplyError,
    ProviderTimeoutError,
    StreamInterruptedError,
)
from notebook_agents.messages import Message, ToolCall, Usage
from notebook_agents.providers import (
    AnthropicProvider,
    ModelReply,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
)
from notebook_agents.providers._anthropic_reply import MessagesReply
from notebook_agents.providers._failures import ServiceFacts
from notebook_agents.providers._sse import SseDecoder
from tests.providers.anthropic_wire import (
    END,
    PING,
    answer,
    at_once,
    block,
    error_event,
    grown,
    message,
    say,
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


@pytest.fixture
def provider(server):
    return AnthropicProvider(api_key=KEY, base_url=server.url, max_retries=0)


async def all_of(provider) -> list:
    return [item async for item in provider.respond(REQUEST)]


async def reply_to(server, provider, *pieces, stop="end_turn") -> ModelReply:
    server.say(stream(*pieces, stop=stop))
    return (await all_of(provider))[-1]


# ------------------------------------------------------------- text and thoughts


async def test_text_arrives_in_pieces_and_whole_at_the_end(server, provider):
    server.say(
        streamed(
            started(input_tokens=5, output_tokens=1),
            block(0, {"type": "text", "text": ""}),
            *[grown(0, "text_delta", text=piece) for piece in ("Hel", "lo")],
            stopped("end_turn", usage={"output_tokens": 7}),
            END,
        )
    )
    *deltas, reply = await all_of(provider)
    assert "".join(d.text for d in deltas) == "Hello"
    assert all(isinstance(d, TextDelta) for d in deltas)
    assert reply == ModelReply(text="Hello", usage=Usage.of_call(5, 7))


async def test_pieces_of_one_read_come_as_one(server, provider):
    server.say(stream(text(0, "a", "b", "c")))
    assert (await all_of(provider))[:-1] == [TextDelta("abc")]


@pytest.mark.parametrize("character", ["\u2028", "\x85", "é", "😀"])
async def test_any_character_arrives(server, provider, character):
    assert (await reply_to(server, provider, text(0, character))).text == character


@given(st.lists(st.integers(1, 2500), max_size=6))
def test_any_cut_of_the_bytes_gives_the_same_reply(cuts):
    whole_stream = b"".join(
        [
            started(),
            thought(0, "h", "m"),
            PING,
            block(1, REDACTED),
            b": comment\r\n\r\n",
            text(2, "a\u2028", "b"),
            use(3, "toolu_a", "add", '{"a"', ":1}"),
            use(4, "toolu_b", "mul"),
            stopped("tool_use"),
            END,
        ]
    )
    edges = [0, *sorted(min(cut, len(whole_stream)) for cut in cuts), len(whole_stream)]
    decoder, kept = SseDecoder(), []
    reader = MessagesReply(
        REQUEST,
        ServiceFacts(name="x", url="http://x"),
        sealed=lambda *facts: kept.append(facts),
    )
    shown = []
    for start, end in itertools.pairwise(edges):
        shown += reader.read(decoder.feed(whole_stream[start:end]))
    assert reader.has_finished()
    reply = reader.reply()
    assert (reply.text, reply.reasoning) == ("a\u2028b", "hm")
    assert reply.tool_calls == (
        ToolCall("toolu_a", "add", '{"a":1}'),
        ToolCall("toolu_b", "mul", "{}"),
    )
    assert "".join(d.text for d in shown if isinstance(d, TextDelta)) == "a\u2028b"
    [(said, blocks)] = kept
    assert said == "a\u2028b"
    assert blocks[0] == {"type": "thinking", "thinking": "hm", "signature": "SIG"}
    assert [each["type"] for each in blocks] == [
        *("thinking", "redacted_thinking", "text", "tool_use", "tool_use")
    ]


async def test_thoughts_are_told_apart_from_the_answer(server, provider):
    server.say(stream(thought(0, "h", "m"), text(1, "a")))
    *deltas, reply = await all_of(provider)
    assert deltas == [ReasoningDelta("hm"), TextDelta("a")]
    assert (reply.reasoning, reply.text) == ("hm", "a")


async def test_thoughts_apart_are_told_with_a_gap(server, provider):
    reply = await reply_to(server, provider, thought(0, "one"), thought(1, "two", "."))
    assert reply.reasoning == "one\n\ntwo."


async def test_thoughts_that_are_not_shown_are_no_text(server, provider):
    reply = await reply_to(
        server, provider, thought(0), block(1, REDACTED), text(2, "a")
    )
    assert (reply.reasoning, reply.text) == ("", "a")


async def test_texts_of_several_blocks_are_one_answer(server, provider):
    citation = {"type": "citations_delta", "citation": {"cited_text": "x"}}
    cited = {"type": "text_delta", "text": "b"}
    reply = await reply_to(
        server,
        provider,
        text(0, "a"),
        block(1, {"type": "text", "text": "", "citations": []}, citation, cited),
    )
    assert reply.text == "ab"


async def test_blocks_may_arrive_side_by_side(server, provider):
    begin = [
        say("content_block_start", index=0, content_block={"type": "text", "text": ""}),
        say(
            "content_block_start",
            index=7,
            content_block={"type": "tool_use", "id": "x", "name": "f", "input": {}},
        ),
    ]
    reply = await reply_to(
        server,
        provider,
        *begin,
        grown(7, "input_json_delta", partial_json='{"a"'),
        grown(0, "text_delta", text="a"),
        grown(7, "input_json_delta", partial_json=":1}"),
    )
    assert reply.text == "a"
    assert reply.tool_calls == (ToolCall("x", "f", '{"a":1}'),)


@pytest.mark.parametrize(
    "odd",
    [
        PING,
        b": keepalive\n\n",
        b"data:\n\n",
        say("message_resumed", hint=1),
        block(0, {"type": "fallback", "from": {"model": "a"}}),
        block(0, {"type": "text", "text": ""}, {"type": "sparkle_delta", "text": "!"}),
        say("content_block_delta", index=0, delta=None),
        say("content_block_start", index=0, content_block=None),
        say("content_block_stop", index=99),
        say("message_delta", delta=None, usage=None),
    ],
    ids=str,
)
async def test_what_is_not_known_is_skipped(server, provider, odd):
    """Wire, section 0, rule 10."""
    reply = await reply_to(server, provider, odd, text(1, "a"), odd)
    assert (reply.text, reply.tool_calls, reply.stop_reason) == ("a", (), "stop")


anything = st.recursive(
    st.sampled_from([None, True, 1, 1.5, "", "x", "text", "tool_use", "thinking"]),
    lambda inner: st.lists(inner, max_size=2)
    | st.dictionaries(
        st.sampled_from(
            ["type", "text", "thinking", "partial_json", "id", "name", "input",
             "citation", "usage", "stop_reason", "output_tokens"]
        ),
        inner,
        max_size=3,
    ),
    max_leaves=5,
)  # fmt: skip
odd_events = st.dictionaries(
    st.sampled_from(["index", "content_block", "delta", "message", "usage"]),
    anything,
    max_size=4,
).flatmap(
    lambda facts: st.sampled_from(
        ["message_start", "content_block_start", "content_block_delta",
         "content_block_stop", "message_delta", "ping"]
    ).map(lambda kind: {"type": kind, **facts})
)  # fmt: skip


@given(st.lists(odd_events, max_size=6))
def test_events_of_odd_shapes_do_no_harm(events):
    kept = []
    reader = MessagesReply(
        REQUEST,
        ServiceFacts(name="x", url="http://x"),
        sealed=lambda *facts: kept.append(facts),
    )
    data = b"".join(event(each) for each in events)
    reader.read(SseDecoder().feed(data + END))
    reply = reader.reply()
    assert isinstance(reply, ModelReply)
    assert isinstance(reply.text, str)
    assert all(isinstance(each, dict) for _, blocks in kept for each in blocks)


# -------------------------------------------------------------------------- calls

A1 = '{"a": 1, "b": 2}'


@pytest.mark.parametrize(
    ("begin", "pieces", "arguments"),
    [
        ({}, ["", '{"a": 1,', ' "b": 2}'], A1),
        ({}, [], "{}"),
        ({}, [""], "{}"),
        ({"a": 1}, [], '{"a":1}'),
        ({"a": 1}, [""], '{"a":1}'),
        ({"a": 1}, [A1], A1),
        (None, [A1], A1),
        (None, [], "{}"),
    ],
    ids=str,
)
async def test_arguments_are_found_wherever_they_are(
    server, provider, begin, pieces, arguments
):
    """Wire, section 3.3: some proxies put all of it into the beginning."""
    beginning = {"type": "tool_use", "id": "x", "name": "f", "input": begin}
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    reply = await reply_to(
        server, provider, block(0, beginning, *deltas), stop="tool_use"
    )
    assert reply.tool_calls == (ToolCall("x", "f", arguments),)
    assert reply.stop_reason == "tool_calls"


async def test_calls_come_in_their_order(server, provider):
    reply = await reply_to(
        server, provider, use(1, "b", "g", '{"n":2}'), use(2, "a", "f", '{"n":1}')
    )
    assert reply.tool_calls == (
        ToolCall("b", "g", '{"n":2}'),
        ToolCall("a", "f", '{"n":1}'),
    )


@pytest.mark.parametrize("ids", [("", ""), ("x", "x"), (None, None)], ids=str)
@pytest.mark.parametrize("indexes", [(0, 1), (0, 0), (None, None)], ids=str)
async def test_each_call_has_an_identifier_of_its_own(server, provider, ids, indexes):
    reply = await reply_to(
        server,
        provider,
        use(indexes[0], ids[0], "f", '{"a":1}'),
        use(indexes[1], ids[1], "g", '{"b":2}'),
    )
    first, second = reply.tool_calls
    assert (first.name, first.arguments) == ("f", '{"a":1}')
    assert (second.name, second.arguments) == ("g", '{"b":2}')
    assert first.id != second.id
    assert first.id
    assert second.id


@pytest.mark.parametrize("reason", ["tool_use", "end_turn", "stop_sequence", None])
async def test_calls_count_whatever_the_reason_says(server, provider, reason):
    server.say(streamed(started(), use(0, "x", "f"), stopped(reason), END))
    assert (await all_of(provider))[-1].stop_reason == "tool_calls"


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded"])
async def test_a_truncated_call_does_not_run(server, provider, reason):
    """Wire, section 8, item 6."""
    ran = []

    @tool
    def f(a: int, b: int = 0) -> None:
        """Do it."""
        ran.append((a, b))

    cut_off = use(0, "x", "f", '{"a": 1, "b":')
    server.say(stream(cut_off, stop=reason), answer("Sorry"))
    result = await Agent(provider, [f]).run("go")
    assert (ran, result.answer) == ([], "Sorry")


async def test_arguments_that_are_no_json_are_told_to_the_model(server, provider):
    @tool
    def f(a: int) -> int:
        """Do it."""
        return a

    server.say(stream(use(0, "x", "f", '{"a": ', "}"), stop="tool_use"), answer("ok"))
    assert (await Agent(provider, [f]).run("go")).answer == "ok"
    said, told = server.requests[1].body["messages"][1:]
    assert said["content"][0]["input"] == {}
    assert "JSON" in told["content"][0]["content"][0]["text"]


# -------------------------------------------------------------------- the end


@pytest.mark.parametrize(
    "end", [CUT, b"\n", b": bye\n\n", b'data: {"typ', stopped("end_turn")]
)
async def test_a_cut_stream_is_an_error(server, provider, end):
    """Wire, section 0, rule 8: nothing but message_stop is the end."""
    server.say(streamed(started(), text(0, "half"), end))
    deltas = provider.respond(REQUEST)
    assert await anext(deltas) == TextDelta("half")
    with pytest.raises((StreamInterruptedError, ProviderReplyError)):
        await anext(deltas)


async def test_a_call_that_was_cut_off_does_not_run(server, provider):
    ran = []

    @tool
    def f(a: int) -> None:
        """Do it."""
        ran.append(a)

    server.say(streamed(started(), use(0, "x", "f", '{"a": 1}'), CUT))
    with pytest.raises(StreamInterruptedError):
        await Agent(provider, [f]).run("go")
    assert ran == []


async def test_what_follows_the_end_is_read_so_that_the_connection_lives(
    server, provider
):
    """Wire, section 0, rule 6."""
    for _ in range(3):
        server.say(streamed(started(), text(0, "a"), stopped("end_turn"), END, PING))
        assert (await all_of(provider))[-1].text == "a"
    assert server.connections == 1


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "refusal"),
        ("something_new", "stop"),
    ],
)
async def test_the_reason_is_told_in_our_words(server, provider, reason, stop):
    reply = await reply_to(server, provider, text(0, "a"), stop=reason)
    assert (reply.text, reply.stop_reason) == ("a", stop)


async def test_a_refusal_without_any_text_is_an_error_that_says_why(server, provider):
    """Design, section 17."""
    details = {"type": "refusal", "category": "cyber", "explanation": "Not that."}
    server.say(
        streamed(started(), stopped("refusal", stop_details=details), END),
        streamed(started(), thought(0, "hm"), stopped("refusal"), END),
        at_once(stop="refusal", stop_details=details),
    )
    for said in ("refusal, cyber.*Not that", "refusal", "refusal, cyber.*Not that"):
        with pytest.raises(ContentFilteredError, match=said):
            await all_of(provider)


async def test_a_call_in_a_refusal_does_not_run(server, provider):
    reply = await reply_to(
        server, provider, text(0, "No."), use(1, "x", "f", "{}"), stop="refusal"
    )
    assert (reply.text, reply.tool_calls, reply.stop_reason) == ("No.", (), "refusal")


# ------------------------------------------------------------------------- counts


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (
            {"input_tokens": 10, "output_tokens": 1},
            {"output_tokens": 7},
            (10, 7, 0, 0, 0),
        ),
        (
            {
                "input_tokens": 10,
                "cache_creation_input_tokens": 3,
                "cache_read_input_tokens": 4,
                "output_tokens": 1,
            },
            {"output_tokens": 7, "output_tokens_details": {"thinking_tokens": 5}},
            (17, 7, 5, 4, 3),
        ),
        (
            {"input_tokens": 0, "output_tokens": 0},
            {"input_tokens": 9, "cache_read_input_tokens": 2, "output_tokens": 7},
            (11, 7, 0, 2, 0),
        ),
        (
            {"input_tokens": 10, "cache_read_input_tokens": 4},
            {"cache_read_input_tokens": None, "output_tokens": 7},
            (14, 7, 0, 4, 0),
        ),
        ({"input_tokens": "many"}, {"output_tokens": -1}, (0, 0, 0, 0, 0)),
    ],
    ids=["plain", "all", "only at the end", "absent later", "nonsense"],
)
async def test_tokens_are_counted(server, provider, first, last, expected):
    """Wire, section 3.3."""
    server.say(
        streamed(started(**first), text(0, "a"), stopped("end_turn", usage=last), END)
    )
    reply = (await all_of(provider))[-1]
    prompt, completion, reasoning, cached, written = expected
    assert reply.usage == Usage.of_call(prompt, completion, reasoning)
    assert (reply.cached_tokens, reply.cache_write_tokens) == (cached, written)


# --------------------------------------------------- what comes instead of a stream

CONTENT = (
    {"type": "thinking", "thinking": "hm", "signature": "SIG"},
    {"type": "text", "text": "a"},
    {"type": "tool_use", "id": "x", "name": "f", "input": {"a": 1}},
    {"type": "tool_use", "id": "y", "name": "g", "input": {}},
)


@pytest.mark.parametrize(
    "kind", ["application/json", "text/plain", "text/event-stream"]
)
async def test_a_whole_reply_is_read_too(server, provider, kind):
    """Wire, section 0, rule 7."""
    server.say(whole(200, message(*CONTENT, stop="tool_use"), content_type=kind))
    *deltas, reply = await all_of(provider)
    assert deltas == [ReasoningDelta("hm"), TextDelta("a")]
    assert reply == ModelReply(
        text="a",
        reasoning="hm",
        tool_calls=(ToolCall("x", "f", '{"a":1}'), ToolCall("y", "g", "{}")),
        usage=Usage.of_call(10, 20),
        stop_reason="tool_calls",
    )


async def test_a_whole_reply_may_be_asked_for(server):
    provider = AnthropicProvider(
        api_key=KEY, base_url=server.url, extra_body={"stream": False}
    )
    server.say(at_once({"type": "text", "text": "a"}))
    assert (await all_of(provider))[-1].text == "a"
    assert server.requests[0].body["stream"] is False


@pytest.mark.parametrize("before", [[], [text(0, "a")], [thought(0, "hm")]], ids=len)
@pytest.mark.parametrize(
    ("kind", "cls"),
    [
        ("overloaded_error", AgentProviderError),
        ("api_error", AgentProviderError),
        ("rate_limit_error", ProviderRateLimitError),
        ("authentication_error", ProviderAuthError),
        ("permission_error", ProviderAuthError),
        ("timeout_error", ProviderTimeoutError),
        ("request_too_large", ContextLengthError),
        ("invalid_request_error", AgentProviderError),
        ("something_new", AgentProviderError),
    ],
)
async def test_an_error_may_come_at_any_point(server, provider, kind, cls, before):
    """Wire, section 0, rule 9."""
    server.say(streamed(started(), *before, error_event(kind, "it broke"), CUT))
    with pytest.raises(cls, match="it broke") as caught:
        await all_of(provider)
    assert type(caught.value) is cls


async def test_a_missing_model_may_be_told_in_the_stream(server, provider):
    server.say(streamed(error_event("not_found_error", "model: claude-nope")))
    with pytest.raises(ModelNotFoundError, match="claude-haiku-5-5"):
        await all_of(provider)


@pytest.mark.parametrize(
    "error",
    [
        {"type": "error", "error": {"type": "api_error", "message": "it broke"}},
        {"error": {"message": "it broke"}},
        {"error": "it broke"},
    ],
    ids=str,
)
async def test_an_error_may_be_the_whole_reply(server, provider, error):
    server.say(whole(200, error))
    with pytest.raises(AgentProviderError, match="it broke"):
        await all_of(provider)


@pytest.mark.parametrize(
    "reply",
    [
        streamed(event("{broken")),
        streamed(event([1, 2])),
        whole(200, {"hello": "world"}),
        whole(200, {"content": "text"}),
        whole(200, b"<html>log in</html>"),
        whole(200, []),
    ],
    ids=[
        *("bad JSON", "a list", "another object", "no blocks", "a web page"),
        "an empty list",
    ],
)
async def test_what_is_no_reply_is_shown(server, provider, reply):
    server.say(reply)
    with pytest.raises(ProviderReplyError, match="base URL"):
        await all_of(provider)


@pytest.mark.parametrize(
    "reply",
    [
        streamed(b"data: " + b"x" * 2000, HOLD),
        whole(200, b'{"a":"' + b"x" * 2000, content_type="application/json"),
        whole(200, b"", content_type="application/json"),
    ],
    ids=["a record without an end", "a huge object", "nothing"],
)
async def test_what_cannot_be_a_reply_is_an_error(server, provider, reply, monkeypatch):
    monkeypatch.setattr("notebook_agents.providers._reading.MOST_WHOLE_BYTES", 1000)
    server.say(reply)
    with pytest.raises(ProviderReplyError):
        await all_of(provider)


# -------------------------------------------------------------------------- pauses

SEARCH = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}}
FOUND = {
    "type": "web_search_tool_result",
    "tool_use_id": "srv_1",
    "content": [{"type": "web_search_result", "encrypted_content": "ENC"}],
}
QUERY = {"type": "input_json_delta", "partial_json": '{"query": "x"}'}


async def test_a_pause_is_not_the_end(server, provider):
    """Wire, section 3.3; design, section 17."""
    server.say(
        stream(
            thought(0, "hm"),
            text(1, "I search. "),
            block(2, SEARCH, QUERY),
            stop="pause_turn",
        ),
        stream(block(0, FOUND), thought(1, "aha"), text(2, "Found.")),
    )
    *deltas, reply = await all_of(provider)
    told = "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))
    assert told == reply.text == "I search. Found."
    assert reply.reasoning == "hm\n\naha"
    assert reply.usage == Usage(
        context_tokens=10, prompt_tokens=20, completion_tokens=40
    )
    assert type(reply) is ModelReply
    first, second = (request.body for request in server.requests)
    assert second == {**first, "messages": second["messages"]}
    assert second["messages"] == [
        *first["messages"],
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "SIG"},
                {"type": "text", "text": "I search. "},
                {**SEARCH, "input": {"query": "x"}},
            ],
        },
    ]


async def test_after_several_pauses_all_of_it_goes_back(server, provider):
    server.say(
        stream(block(0, SEARCH, QUERY), stop="pause_turn"),
        stream(block(0, FOUND), text(1, "a"), block(2, SEARCH), stop="pause_turn"),
        stream(text(0, "b")),
    )
    assert (await all_of(provider))[-1].text == "ab"
    kinds = [each["type"] for each in server.requests[2].body["messages"][1]["content"]]
    assert kinds == [
        *("server_tool_use", "web_search_tool_result", "text", "server_tool_use")
    ]


async def test_what_was_paused_goes_back_with_the_calls_it_led_to(server, provider):
    @tool
    def f() -> str:
        """Do it."""
        return "done"

    server.say(
        stream(thought(0, "hm"), block(1, SEARCH, QUERY), stop="pause_turn"),
        stream(block(0, FOUND), text(1, "Now."), use(2, "x", "f"), stop="tool_use"),
        answer("ok"),
    )
    assert (await Agent(provider, [f]).run("go")).answer == "ok"
    said = server.requests[2].body["messages"][1]["content"]
    assert [each["type"] for each in said] == [
        *("thinking", "server_tool_use", "web_search_tool_result", "text", "tool_use")
    ]
    assert said[2] == FOUND


async def test_a_pause_at_a_call_of_ours_is_a_call(server, provider):
    reply = await reply_to(server, provider, use(0, "x", "f"), stop="pause_turn")
    assert (reply.stop_reason, len(reply.tool_calls)) == ("tool_calls", 1)


async def test_a_pause_without_anything_is_the_end(server, provider):
    assert (await reply_to(server, provider, stop="pause_turn")).text == ""


async def test_pauses_without_an_end_are_an_error(server, provider, monkeypatch):
    monkeypatch.setattr("notebook_agents.providers._pausing.MOST_PAUSES", 3)
    server.say(*[stream(block(0, SEARCH), stop="pause_turn")] * 3)
    with pytest.raises(AgentProviderError, match="paused its reply 3 times"):
        await all_of(provider)


async def test_a_cut_after_a_pause_is_an_error(server, provider):
    server.say(
        stream(text(0, "a"), block(1, SEARCH), stop="pause_turn"),
        streamed(started(), text(0, "b"), CUT),
    )
    with pytest.raises(StreamInterruptedError):
        await all_of(provider)
