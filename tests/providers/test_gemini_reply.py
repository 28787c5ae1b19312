"""Replies of Gemini's generateContent, as the service and its imitators send them.

Each line of wire.md 4.3 and each rule of its section 0 is a test, over a socket.
"""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notebook_agents import Agent, tool
from notebook_agents.errors import (
    AgentConfigurationError,
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
    GeminiProvider,
    ModelReply,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
    _http,
    _pausing,
    _reading,
)
from notebook_agents.providers._failures import Failure, ServiceFacts
from notebook_agents.providers._gemini_repeats import NewText
from notebook_agents.providers._gemini_reply import GeminiReply
from notebook_agents.providers._sse import SseDecoder, SseRecord
from tests.providers.gemini_wire import (
    COUNTS,
    answer,
    at_once,
    call,
    chunk,
    error,
    events,
    said,
    stream,
    thought,
)
from tests.providers.wire import CUT, DONE, HOLD, event, streamed, whole

KEY = "AIza-very-secret-0123456789"
REQUEST = ModelRequest(messages=[Message("user", "hi")])
SERVICE = ServiceFacts(name="gemini", url="http://x")


@pytest.fixture
def provider(server):
    return GeminiProvider(api_key=KEY, base_url=server.url, max_retries=0)


async def all_of(provider, asked=REQUEST) -> list:
    return [item async for item in provider.respond(asked)]


async def reply_to(server, provider, *parts, **facts) -> ModelReply:
    server.say(stream(*parts, **facts))
    return (await all_of(provider))[-1]


async def failure_of(server, provider, reply) -> Exception:
    server.say(reply)
    with pytest.raises((AgentProviderError, AgentConfigurationError)) as caught:
        await all_of(provider)
    return caught.value


def reader(kept: list | None = None) -> GeminiReply:
    return GeminiReply(REQUEST, SERVICE, sealed=([] if kept is None else kept).append)


# ------------------------------------------------------------- text and thoughts


async def test_text_arrives_in_pieces_and_whole_at_the_end(server, provider):
    last = {"promptTokenCount": 5, "candidatesTokenCount": 7}
    server.say(
        streamed(*events(chunk(said("Hel")), chunk(said("lo"))))[:-1]
        + streamed(event(chunk(finish="STOP", usage=last)))[1:]
    )
    *deltas, reply = await all_of(provider)
    assert "".join(d.text for d in deltas) == "Hello"
    assert all(isinstance(d, TextDelta) for d in deltas)
    assert reply == ModelReply(text="Hello", usage=Usage.of_call(5, 7))


async def test_pieces_of_one_read_come_as_one(server, provider):
    pieces = b"".join(events(chunk(said("a")), chunk(said("b"), finish="STOP")))
    server.say(streamed(pieces))
    assert (await all_of(provider))[:-1] == [TextDelta("ab")]


@pytest.mark.parametrize("character", ["\u2028", "\x85", "é", "😀"])
async def test_any_character_arrives(server, provider, character):
    assert (await reply_to(server, provider, said(character))).text == character


@given(st.lists(st.integers(1, 2500), max_size=6))
def test_any_cut_of_the_bytes_gives_the_same_reply(cuts):
    whole_stream = b"".join(
        [
            *events(chunk(thought("h")), chunk(thought("m"))),
            b": comment\r\n\r\n",
            *events(
                chunk(said("a\u2028")),
                chunk(said("b")),
                chunk(call("add", {"a": 1}, call_id="x", signature="SIG")),
                chunk(call("mul"), finish="STOP"),
            ),
        ]
    )
    edges = [0, *sorted(min(cut, len(whole_stream)) for cut in cuts), len(whole_stream)]
    decoder, kept = SseDecoder(), []
    gathered = reader(kept)
    shown = []
    for start, end in itertools.pairwise(edges):
        shown += gathered.read(decoder.feed(whole_stream[start:end]))
    assert gathered.has_finished()
    reply = gathered.reply()
    assert (reply.text, reply.reasoning) == ("a\u2028b", "hm")
    first, second = reply.tool_calls
    assert first == ToolCall("x", "add", '{"a":1}')
    assert (second.name, second.arguments) == ("mul", "{}")
    assert "".join(d.text for d in shown if isinstance(d, TextDelta)) == "a\u2028b"
    [parts] = kept
    assert parts.text == "a\u2028b"
    assert parts.parts == (
        {"text": "a\u2028b"},
        call("add", {"a": 1}, call_id="x", signature="SIG"),
        call("mul"),
    )


async def test_thoughts_are_told_apart_from_the_answer(server, provider):
    server.say(stream(thought("h"), thought("m"), said("a")))
    *deltas, reply = await all_of(provider)
    assert "".join(d.text for d in deltas if isinstance(d, ReasoningDelta)) == "hm"
    assert "".join(d.text for d in deltas if isinstance(d, TextDelta)) == "a"
    assert (reply.reasoning, reply.text) == ("hm", "a")


LASTS = [
    chunk(said(""), finish="STOP"),
    chunk(finish="STOP"),
    {"candidates": [{"finishReason": "STOP"}]},
    {"candidates": [{"content": {"role": "model"}, "finishReason": "STOP"}]},
    {"candidates": [{"content": None, "finishReason": "STOP"}]},
    {"candidates": [{"content": {"parts": None}, "finishReason": "STOP"}]},
    chunk(said("", thoughtSignature="SIG"), finish="STOP"),
]


@pytest.mark.parametrize("last", LASTS)
@pytest.mark.parametrize("after", [[], [{"usageMetadata": COUNTS}]])
async def test_the_last_chunk_may_hold_nothing(server, provider, last, after):
    """Wire, section 4.3."""
    server.say(streamed(*events(chunk(said("Hi")), last, *after)))
    reply = (await all_of(provider))[-1]
    assert (reply.text, reply.stop_reason) == ("Hi", "stop")
    assert reply.usage.prompt_tokens == 5


async def test_a_chunk_without_candidates_may_come_anywhere(server, provider):
    server.say(
        streamed(
            *events(
                {"usageMetadata": COUNTS},
                chunk(said("a")),
                {"usageMetadata": COUNTS, "candidates": []},
                chunk(said("b"), finish="STOP"),
            )
        )
    )
    assert (await all_of(provider))[-1].text == "ab"


# --------------------------------------------------- text that is sent all over again


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        (["ha", "haha"], "hahaha"),
        (["ha", "haha", "!"], "hahaha!"),
        (["ha", "haha", "hahahaha"], "hahahahahahaha"),
        (["spam ", "spam spam ", "spam spam spam "], "spam " * 6),
        (["1", "10"], "110"),
        (["1", "10", "100"], "110100"),
        (["a", "a"], "aa"),
        (["Hello", " Hello"], "Hello Hello"),
        (["no", "no, never"], "nono, never"),
    ],
)
async def test_pieces_that_look_alike_are_all_text(server, provider, pieces, text):
    """Wire, section 4.3: text is incremental, "ha" and "haha" are a laugh."""
    reply = await reply_to(server, provider, *map(said, pieces))
    assert reply.text == text


@pytest.mark.parametrize(
    "pieces",
    [
        ["Hello", "Hello world"],
        ["Hel", "Hello", "Hello world"],
        ["H", "He", "Hel", "Hello w", "Hello world"],
        ["Hello ", "Hello ", "Hello world", "Hello world"],
        ["Hel", "Hello", "Hello wor", "ld"],
    ],
)
async def test_a_text_that_comes_all_over_again_is_not_repeated(
    server, provider, pieces
):
    """Requirements, check 12: cumulative chunks."""
    server.say(stream(*map(said, pieces)))
    *deltas, reply = await all_of(provider)
    assert reply.text == "Hello world"
    assert "".join(delta.text for delta in deltas) == "Hello world"


async def test_thoughts_and_calls_that_come_all_over_again_are_not_repeated(
    server, provider
):
    add = call("add", {"a": 1}, call_id="x")
    server.say(
        streamed(
            *events(
                chunk(thought("I thi")),
                chunk(thought("I think"), said("Well")),
                chunk(thought("I think."), said("Well, yes"), add),
                chunk(thought("I think."), said("Well, yes."), add, finish="STOP"),
            )
        )
    )
    reply = (await all_of(provider))[-1]
    assert (reply.reasoning, reply.text) == ("I think.", "Well, yes.")
    assert reply.tool_calls == (ToolCall("x", "add", '{"a":1}'),)


@given(st.lists(st.text("ab1 ", min_size=1, max_size=3), max_size=8))
def test_short_pieces_are_never_lost(pieces):
    told = NewText()
    text = "".join([told.take(piece) for piece in pieces]) + told.end()
    is_growing = all(b.startswith(a) for a, b in itertools.pairwise(pieces))
    assert text == "".join(pieces) or (is_growing and text == pieces[-1])


async def test_parts_of_one_whole_reply_are_all_text(server, provider):
    server.say(at_once(said("Hello"), said("Hello world")))
    assert (await all_of(provider))[-1].text == "HelloHello world"


# ---------------------------------------------------------------------- tool calls


@pytest.mark.parametrize(
    ("args", "arguments"),
    [
        (None, "{}"),
        ({}, "{}"),
        ({"a": [1, None]}, '{"a":[1,null]}'),
        ('{"a": 1}', '{"a": 1}'),
    ],
)
async def test_arguments_are_found_wherever_they_are(server, provider, args, arguments):
    """Wire, section 4.3: ``args`` may be absent."""
    reply = await reply_to(server, provider, call("f", args, call_id="x"))
    assert reply.tool_calls == (ToolCall("x", "f", arguments),)
    assert reply.stop_reason == "tool_calls"


async def test_calls_come_in_their_order(server, provider):
    server.say(
        streamed(
            event(chunk(call("a", {}), call("b", {}))),
            event(chunk(call("a", {}), finish="STOP")),
        )
    )
    reply = (await all_of(provider))[-1]
    assert [each.name for each in reply.tool_calls] == ["a", "b", "a"]


@pytest.mark.parametrize("ids", [(None, None), ("", ""), ("x", "x"), ("x", None)])
async def test_each_call_has_an_identifier_of_its_own(server, provider, ids):
    first, second = ids
    calls = (call("f", {"a": 1}, call_id=first), call("f", {"a": 2}, call_id=second))
    reply = await reply_to(server, provider, *calls)
    assert len({each.id for each in reply.tool_calls}) == 2
    assert all(each.id for each in reply.tool_calls)
    assert [each.arguments for each in reply.tool_calls] == ['{"a":1}', '{"a":2}']


async def test_the_same_call_twice_is_two_calls(server, provider):
    """Only one with an identifier can be known again."""
    reply = await reply_to(server, provider, call("roll", {}), call("roll", {}))
    assert len(reply.tool_calls) == 2


@pytest.mark.parametrize("finish", ["MAX_TOKENS", "SAFETY", "MALFORMED_FUNCTION_CALL"])
async def test_a_call_that_may_be_cut_does_not_run(server, provider, finish):
    ran = []

    @tool
    def add(a: int = 0) -> int:
        """Add."""
        ran.append(a)
        return a

    server.say(
        stream(said("Well."), call("add", {"a": 1}), finish=finish),
        answer("done"),
        answer("done"),
    )
    await Agent(provider, [add]).run("go")
    assert ran == []


# ------------------------------------------------------------------- cut and ended


@pytest.mark.parametrize("end", [[], [CUT], [DONE]])
async def test_a_cut_stream_is_an_error(server, provider, end):
    """Wire, section 0.8: a finishReason is the end, and nothing else."""
    server.say(streamed(event(chunk(said("Half of"))), *end))
    with pytest.raises(StreamInterruptedError):
        await all_of(provider)


async def test_a_call_that_was_cut_off_does_not_run(server, provider):
    ran = []

    @tool
    def add() -> int:
        """Add."""
        ran.append(1)
        return 1

    server.say(streamed(event(chunk(call("add", {}))), CUT))
    with pytest.raises(StreamInterruptedError):
        await Agent(provider, [add]).run("go")
    assert ran == []


async def test_what_follows_the_end_is_read_so_that_the_connection_lives(
    server, provider
):
    server.say(
        streamed(event(chunk(said("a"), finish="STOP")), b": bye\n\n", DONE),
        answer("b"),
    )
    assert [(await all_of(provider))[-1].text for _ in range(2)] == ["a", "b"]
    assert server.connections == 1


# ----------------------------------------------------------------- why it ended


@pytest.mark.parametrize(
    ("finish", "stop"),
    [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "content_filter"),
        ("RECITATION", "content_filter"),
        ("A_NEW_ONE", "stop"),
    ],
)
async def test_the_reason_is_told_in_our_words(server, provider, finish, stop):
    reply = await reply_to(server, provider, said("a"), finish=finish)
    assert (reply.text, reply.stop_reason) == ("a", stop)


RATINGS = [
    {"category": "HARM_CATEGORY_HATE_SPEECH", "probability": "LOW"},
    {
        "category": "HARM_CATEGORY_DANGEROUS_CONTENT",
        "probability": "HIGH",
        "blocked": True,
    },
]


@pytest.mark.parametrize("whole_reply", [True, False])
@pytest.mark.parametrize("reason", ["SAFETY", "PROHIBITED_CONTENT", "OTHER", "NEW"])
async def test_a_blocked_prompt_says_why(server, provider, reason, whole_reply):
    feedback = {"blockReason": reason, "safetyRatings": RATINGS}
    said_so = {"promptFeedback": feedback, "usageMetadata": COUNTS}
    reply = whole(200, said_so) if whole_reply else streamed(event(said_so))
    failure = await failure_of(server, provider, reply)
    assert type(failure) is ContentFilteredError
    assert f"blocked the prompt ({reason}, dangerous content)" in str(failure)


@pytest.mark.parametrize(
    "reason", ["SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"]
)
async def test_a_blocked_answer_says_why(server, provider, reason):
    """Wire, section 4.3."""
    reply = stream(finish=reason, safetyRatings=RATINGS, finishMessage="No.")
    failure = await failure_of(server, provider, reply)
    assert type(failure) is ContentFilteredError
    assert f"({reason}, dangerous content)" in str(failure)
    assert "It said: No." in str(failure)


async def test_a_call_in_a_blocked_answer_does_not_count(server, provider):
    reply = await reply_to(
        server, provider, said("Well."), call("f", {}), finish="SAFETY"
    )
    assert (reply.tool_calls, reply.stop_reason) == ((), "content_filter")


@pytest.mark.parametrize(
    "reason",
    ["LANGUAGE", "OTHER", "MISSING_THOUGHT_SIGNATURE", "TOO_MANY_TOOL_CALLS"],
)
@pytest.mark.parametrize("parts", [[], [said("Half")]])
async def test_a_reply_that_the_service_gave_up_is_an_error(
    server, provider, reason, parts
):
    """Wire, section 4.3: raise with the word."""
    failure = await failure_of(server, provider, stream(*parts, finish=reason))
    assert reason in str(failure)
    assert "Run it again" in str(failure)


async def test_an_end_of_a_new_kind_without_anything_is_an_error(server, provider):
    failure = await failure_of(server, provider, stream(finish="A_NEW_ONE"))
    assert "A_NEW_ONE" in str(failure)


# ----------------------------------------------- what has to be written once more


MALFORMED = ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE"]


@pytest.mark.parametrize("finish", MALFORMED)
async def test_a_malformed_call_is_written_once_more(server, provider, finish):
    """Wire, section 4.3: once, with a short correction."""
    server.say(
        stream(thought("hm"), finish=finish),
        stream(call("add", {"a": 1}, call_id="x")),
    )
    *deltas, reply = await all_of(provider)
    assert deltas == [ReasoningDelta("hm")]
    assert reply.tool_calls == (ToolCall("x", "add", '{"a":1}'),)
    assert reply.usage.prompt_tokens == 10  # both are paid for
    first, second = [request.body["contents"] for request in server.requests]
    assert second[: len(first)] == first
    [correction] = second[len(first) :]
    assert correction["role"] == "user"
    assert "could not be read" in correction["parts"][0]["text"]


async def test_what_was_said_before_a_malformed_call_goes_back_with_it(
    server, provider
):
    server.say(
        stream(said("I add.", thoughtSignature="SIG"), finish=MALFORMED[0]),
        answer(" Done."),
    )
    assert (await all_of(provider))[-1].text == "I add. Done."
    [_, told, _] = server.requests[1].body["contents"]
    assert told == {
        "role": "model",
        "parts": [{"text": "I add.", "thoughtSignature": "SIG"}],
    }


@pytest.mark.parametrize("finish", MALFORMED)
async def test_a_call_that_is_malformed_twice_is_an_error(server, provider, finish):
    server.say(*[stream(finish=finish)] * 3)
    with pytest.raises(AgentProviderError, match=finish):
        await all_of(provider)
    assert len(server.requests) == 2


# ------------------------------------------------------------ what comes in parts


async def test_a_long_reply_is_asked_for_until_it_is_whole(server, provider):
    """Wire, section 4.3: CONTINUATION."""
    server.say(
        stream(said("One, "), finish="CONTINUATION", continuationToken="VDE="),
        stream(said("two, "), finish="CONTINUATION", continuationToken="VDI="),
        stream(said("three.")),
    )
    *deltas, reply = await all_of(provider)
    assert reply.text == "".join(d.text for d in deltas) == "One, two, three."
    assert (reply.stop_reason, reply.usage.completion_tokens) == ("stop", 9)
    bodies = [request.body for request in server.requests]
    assert [body.pop("continuationToken", None) for body in bodies] == [
        *(None, "VDE=", "VDI=")
    ]
    assert bodies[0] == bodies[1] == bodies[2]


async def test_a_long_reply_that_cannot_go_on_is_cut(server, provider):
    reply = await reply_to(server, provider, said("One"), finish="CONTINUATION")
    assert (reply.text, reply.stop_reason) == ("One", "length")


async def test_a_correction_stays_while_the_reply_goes_on(server, provider):
    server.say(
        stream(finish=MALFORMED[0]),
        stream(said("One, "), finish="CONTINUATION", continuationToken="VDE="),
        stream(said("two.")),
    )
    assert (await all_of(provider))[-1].text == "One, two."
    second, third = [request.body for request in server.requests[1:]]
    assert third.pop("continuationToken") == "VDE="
    assert second == third


async def test_parts_without_an_end_are_an_error(server, provider, monkeypatch):
    monkeypatch.setattr(_pausing, "MOST_PAUSES", 3)
    more = stream(said("a"), finish="CONTINUATION", continuationToken="VDE=")
    server.say(*[more] * 4)
    with pytest.raises(AgentProviderError, match="3 times"):
        await all_of(provider)


async def test_a_cut_in_a_later_part_is_an_error(server, provider):
    server.say(
        stream(said("One"), finish="CONTINUATION", continuationToken="VDE="),
        streamed(event(chunk(said("two"))), CUT),
    )
    with pytest.raises(StreamInterruptedError):
        await all_of(provider)


# -------------------------------------------------------------------- token counts


@pytest.mark.parametrize(
    ("counts", "usage", "cached"),
    [
        ([COUNTS], Usage.of_call(5, 3), 0),
        (
            [
                {"promptTokenCount": 9, "cachedContentTokenCount": 4},
                {"candidatesTokenCount": 3, "thoughtsTokenCount": 2},
                {"promptTokenCount": 9, "candidatesTokenCount": 5},
            ],
            Usage.of_call(9, 7, 2),
            4,
        ),
        (
            [{"promptTokenCount": 5, "toolUsePromptTokenCount": 6}],
            Usage.of_call(11, 0),
            0,
        ),
        ([{}, None], Usage(), 0),
        ([{"promptTokenCount": None, "candidatesTokenCount": "3"}], Usage(), 0),
    ],
)
async def test_tokens_are_counted(server, provider, counts, usage, cached):
    """Wire, section 4.3: cumulative, and fields may vanish."""
    *before, last = counts
    chunks = [chunk(said("x"), usage=each) for each in before]
    server.say(streamed(*events(*chunks, chunk(finish="STOP", usage=last))))
    reply = (await all_of(provider))[-1]
    assert (reply.usage, reply.cached_tokens) == (usage, cached)


# ------------------------------------------------------------------- whole replies


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("finish", ["STOP", None])
async def test_a_whole_reply_is_read_too(server, streaming, finish):
    """Wire, section 0.7."""
    provider = GeminiProvider(api_key=KEY, base_url=server.url, streaming=streaming)
    parts = (thought("hm"), said("a"), call("f", {"a": 1}, call_id="x"))
    server.say(at_once(*parts, finish=finish))
    *deltas, reply = await all_of(provider)
    assert deltas == [ReasoningDelta("hm"), TextDelta("a")]
    assert reply == ModelReply(
        text="a",
        reasoning="hm",
        tool_calls=(ToolCall("x", "f", '{"a":1}'),),
        usage=Usage.of_call(5, 3),
        stop_reason="tool_calls",
    )


async def test_a_stream_that_came_as_a_list_is_read_too(server, provider):
    """What the service sends where ``alt=sse`` got lost."""
    chunks = [chunk(said("a")), chunk(said("b"), finish="STOP")]
    [reply] = whole(200, json.dumps(chunks, indent=1).encode())
    server.say([reply.replace(b"text/html", b"application/json")])
    assert (await all_of(provider))[-1].text == "ab"


async def test_events_without_their_type_are_read_too(server, provider):
    reply = answer("a")
    reply[0] = reply[0].replace(b"text/event-stream", b"text/plain")
    server.say(reply)
    assert (await all_of(provider))[-1].text == "a"


# -------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("error_and_status", "cls"),
    [
        ((503, "UNAVAILABLE"), AgentProviderError),
        ((429, "RESOURCE_EXHAUSTED"), ProviderRateLimitError),
        ((504, "DEADLINE_EXCEEDED"), ProviderTimeoutError),
        ((500, "INTERNAL"), AgentProviderError),
        ((403, "PERMISSION_DENIED"), ProviderAuthError),
        ((400, "INVALID_ARGUMENT"), AgentProviderError),
    ],
)
@pytest.mark.parametrize("before", [[], [chunk(said("Half"))], [chunk(thought("hm"))]])
async def test_an_error_may_come_at_any_point(
    server, provider, error_and_status, cls, before
):
    """Wire, sections 0.9 and 4.3."""
    reply = streamed(*events(*before, error(*error_and_status, "oops")))
    failure = await failure_of(server, provider, reply)
    assert type(failure) is cls
    assert "oops" in str(failure)


@pytest.mark.parametrize("pretty", [None, 2])
@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
async def test_an_error_may_be_the_whole_reply(server, provider, pretty, listed, kind):
    """Wire, section 4.3: a list of one, or without ``data:``."""
    body = error(503, "UNAVAILABLE", "The model is overloaded.")
    raw = json.dumps([body] if listed else body, indent=pretty).encode()
    reply = whole(200, raw)
    reply[0] = reply[0].replace(b"text/html", kind.encode())
    failure = await failure_of(server, provider, reply)
    assert "overloaded" in str(failure)


async def test_an_error_of_a_status_may_be_a_list(server, provider):
    body = [error(404, "NOT_FOUND", "models/x is not found for API version v1beta")]
    reply = whole(404, json.dumps(body).encode())
    failure = await failure_of(server, provider, reply)
    assert type(failure) is ModelNotFoundError


async def test_a_conversation_that_is_too_long_is_named(server, provider):
    body = error(
        400,
        "INVALID_ARGUMENT",
        "The input token count (2845475) exceeds the maximum number of tokens allowed "
        "(1048576).",
    )
    failure = await failure_of(server, provider, whole(400, body))
    assert type(failure) is ContextLengthError


@pytest.mark.parametrize(
    "reply",
    [
        whole(200, {"hello": "world"}),
        whole(200, {"usageMetadata": COUNTS}),
        whole(200, b"<p>Sign in</p>"),
        whole(200, b"[]"),
        whole(200, b"[1]"),
        whole(200, b"3"),
        streamed(event("{")),
        streamed(event("[1, 2]")),
    ],
)
async def test_what_is_no_reply_is_shown(server, provider, reply):
    assert type(await failure_of(server, provider, reply)) is ProviderReplyError


@pytest.mark.parametrize(
    "reply",
    [
        streamed(b"data: " + b"x" * 3000, HOLD),
        whole(200, b'{"a":"' + b"x" * 3000, content_type="application/json"),
        whole(200, b"", content_type="application/json"),
        streamed(*[event(chunk(said("x" * 900)))] * 9, HOLD),
    ],
    ids=["a record without an end", "a huge object", "nothing", "all of it"],
)
async def test_what_cannot_be_a_reply_is_an_error(server, provider, reply, monkeypatch):
    monkeypatch.setattr(_reading, "MOST_WHOLE_BYTES", 2000)
    monkeypatch.setattr(_http, "MOST_BYTES", 5000)
    failure = await failure_of(server, provider, reply)
    assert type(failure) is ProviderReplyError


@pytest.mark.parametrize(
    "odd",
    [
        {"aNewKey": {"a": 1}},
        chunk(aNewKey=3),
        chunk({"aNewPart": {}}),
        chunk({"executableCode": {"language": "PYTHON", "code": "1"}}),
        chunk({"codeExecutionResult": {"outcome": "OUTCOME_OK"}}),
        chunk({"inlineData": {"mimeType": "image/png", "data": "AAAA"}}),
        chunk(groundingMetadata={"webSearchQueries": ["x"]}),
        {"promptFeedback": {"safetyRatings": RATINGS}},
        {"candidates": [], "modelVersion": "x"},
        b": ping\n\n",
        b"event: new\ndata: {}\n\n",
    ],
)
async def test_what_is_not_known_is_skipped(server, provider, odd):
    """Wire, section 0.10."""
    middle = odd if isinstance(odd, bytes) else event(odd)
    server.say(
        streamed(
            event(chunk(said("a"))), middle, event(chunk(said("b"), finish="STOP"))
        )
    )
    assert (await all_of(provider))[-1].text == "ab"


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["", "STOP", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *("candidates", "content", "parts", "text", "functionCall", "name"),
                    *("args", "id", "finishReason", "promptFeedback", "blockReason"),
                    *("usageMetadata", "promptTokenCount", "thoughtSignature"),
                    *("safetyRatings", "continuationToken", "thought"),
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["candidates", "promptFeedback", "usageMetadata"]), values
        ),
        max_size=4,
    )
)
def test_chunks_of_odd_shapes_do_no_harm(chunks):
    gathered = reader()
    try:
        gathered.read([SseRecord(json.dumps(each).encode()) for each in chunks])
        gathered.close()
        gathered.reply()
    except Failure:
        pass  # an error that says something


async def test_a_stream_that_stalls_is_given_up(server):
    server.say(streamed(event(chunk(said("a"))), HOLD))
    provider = GeminiProvider(api_key=KEY, base_url=server.url, stall_timeout=0.05)
    with pytest.raises(ProviderTimeoutError):
        await all_of(provider)
