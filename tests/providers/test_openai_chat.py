"""Chat completions, as the many servers that speak them really send them.

Each row of wire.md 1.4 and each line of its checklist is a test, over a socket.
"""

from __future__ import annotations

import itertools
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notebook_agents import Agent, tool
from notebook_agents.errors import (
    AgentProviderError,
    ContentFilteredError,
    ProviderAuthError,
    ProviderRateLimitError,
    ProviderReplyError,
    StreamInterruptedError,
)
from notebook_agents.messages import Message, ToolCall, Usage
from notebook_agents.providers import (
    ChatProfile,
    ModelReply,
    ModelRequest,
    OpenAICompatibleProvider,
    ReasoningDelta,
    TextDelta,
)
from notebook_agents.providers._chat_reply import ChatReply
from notebook_agents.providers._failures import ServiceFacts
from notebook_agents.providers._sse import SseDecoder
from notebook_agents.providers._think import ThinkSplitter
from notebook_agents.providers.profiles import chat_profile
from tests.providers.wire import (
    CUT,
    DONE,
    HOLD,
    STOP,
    answer,
    delta,
    event,
    streamed,
    whole,
    wire_server,
)

ADD = {
    "type": "function",
    "function": {"name": "add", "strict": True, "parameters": {"type": "object"}},
}


@pytest.fixture
def server(transport):
    """Serve what either way of sending requests may ask."""
    with wire_server() as running:
        yield running


@pytest.fixture
def provider(server):
    return OpenAICompatibleProvider(server.url, "m", max_retries=0)


def request(*messages: Message, **fields) -> ModelRequest:
    return ModelRequest(messages=messages or [Message("user", "hi")], **fields)


async def all_of(provider, asked: ModelRequest | None = None) -> list:
    return [item async for item in provider.respond(asked or request())]


async def reply_to(server, provider, *pieces) -> ModelReply:
    server.say(streamed(*[p if not isinstance(p, dict) else event(p) for p in pieces]))
    return (await all_of(provider))[-1]


def called(*pieces: dict, finish: str = "tool_calls") -> tuple:
    """Give a stream with these pieces of tool calls, one an event."""
    return (*[delta(tool_calls=[piece]) for piece in pieces], delta(finish), DONE)


def piece(name=None, arguments=None, **fields) -> dict:
    function = {"name": name, "arguments": arguments}
    return {**fields, "function": {k: v for k, v in function.items() if v is not None}}


# ------------------------------------------------------------------------- text


async def test_text_arrives_in_pieces_and_whole_at_the_end(server, provider):
    usage = {"prompt_tokens": 5, "completion_tokens": 7}
    server.say(
        streamed(
            event(delta(role="assistant", content="")),
            event(delta(content="Hel")),
            event(delta(content="lo")),
            STOP,
            event({"choices": [], "usage": usage}),
            DONE,
        )
    )
    *deltas, reply = await all_of(provider)
    assert "".join(d.text for d in deltas) == "Hello"
    assert all(isinstance(d, TextDelta) for d in deltas)
    assert reply == ModelReply(text="Hello", usage=Usage.of_call(5, 7))


async def test_pieces_of_one_read_come_as_one(server, provider):
    server.say(
        streamed(event(delta(content="a")) + event(delta(content="b")), STOP, DONE)
    )
    assert (await all_of(provider))[:-1] == [TextDelta("ab")]


@pytest.mark.parametrize("character", ["\u2028", "\x85", "é", "😀"])
async def test_any_character_arrives(server, provider, character):
    reply = await reply_to(server, provider, delta(content=character), STOP, DONE)
    assert reply.text == character


async def test_a_character_may_be_cut_in_two(server, provider):
    data = event(delta(content="é"))
    middle = data.index("é".encode()) + 1
    reply = await reply_to(server, provider, data[:middle], data[middle:], STOP, DONE)
    assert reply.text == "é"


@given(st.lists(st.integers(1, 900), max_size=6))
def test_any_cut_of_the_bytes_gives_the_same_reply(cuts):
    stream = b"".join(
        [
            event(delta(reasoning_content="hm")),
            event(delta(content="<think>a")),
            b": comment\r\n\r\n",
            event(delta(content="</think>b\u2028")),
            event(delta(tool_calls=[piece("add", '{"a"', index=0, id="c")])),
            event(delta(tool_calls=[piece(None, ":1}", index=0)])),
            event(delta("tool_calls")),
            DONE,
        ]
    )
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    decoder = SseDecoder()
    reply = ChatReply(
        ChatProfile(), ServiceFacts(name="x", url="http://x"), sealed=lambda part: part
    )
    shown = []
    for start, end in itertools.pairwise(edges):
        shown += reply.read(decoder.feed(stream[start:end]))
    whole_reply = reply.reply()
    assert whole_reply.text == "b\u2028"
    assert whole_reply.reasoning == "hma"
    assert whole_reply.tool_calls == (ToolCall("c", "add", '{"a":1}'),)
    assert "".join(d.text for d in shown if isinstance(d, TextDelta)) == "b\u2028"


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
        ["a", {"type": "image"}, {"text": "b"}],
        "ab",
    ],
)
async def test_content_may_be_a_list_of_parts(server, provider, content):
    reply = await reply_to(server, provider, delta(content=content), STOP, DONE)
    assert reply.text == "ab"


@pytest.mark.parametrize(
    "odd",
    [
        {"choices": []},
        {"choices": None},
        {"choices": [], "prompt_filter_results": [{}]},
        {"choices": [{"delta": None}]},
        {"choices": [{"delta": {}, "finish_reason": ""}]},
        {"choices": [{"delta": {"tool_calls": None, "content": None}}]},
        {"choices": [{"delta": {"tool_calls": [None, {}, {"function": None}]}}]},
        {"obfuscation": "xx"},
        b": OPENROUTER PROCESSING\n\n",
        b"event: ping\ndata: {}\n\n",
        b"data:\n\n",
    ],
    ids=str,
)
async def test_an_event_that_says_nothing_is_skipped(server, provider, odd):
    reply = await reply_to(server, provider, odd, delta(content="a"), odd, STOP, DONE)
    assert (reply.text, reply.tool_calls) == ("a", ())


# -------------------------------------------------------------------- reasoning


@pytest.mark.parametrize(
    "fields",
    [
        {"content": None, "reasoning_content": "hm"},
        {"content": "", "reasoning": "hm"},
        {"reasoning_details": [{"type": "reasoning.text", "text": "hm"}]},
        {"reasoning": "hm", "reasoning_details": [{"text": "hm"}]},
        {"reasoning": "hm", "reasoning_content": "hm"},
        {"content": [{"type": "thinking", "thinking": [{"text": "hm"}]}]},
        {"content": "<think>hm</think>\n"},
    ],
    ids=str,
)
async def test_reasoning_is_told_apart_from_the_answer(server, provider, fields):
    server.say(streamed(event(delta(**fields)), event(delta(content="a")), STOP, DONE))
    *deltas, reply = await all_of(provider)
    assert deltas == [ReasoningDelta("hm"), TextDelta("a")]
    assert (reply.reasoning, reply.text) == ("hm", "a")


@given(st.lists(st.integers(0, 40), max_size=5))
def test_think_tags_may_be_cut_anywhere(cuts):
    text = " <think>\nso < it </thin is</think>\n\nYes <think>"
    edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    splitter, deltas = ThinkSplitter(), []
    for start, end in itertools.pairwise(edges):
        deltas += splitter.split(text[start:end])
    deltas += splitter.close()
    parts = {
        kind: "".join(d.text for d in deltas if isinstance(d, kind))
        for kind in (ReasoningDelta, TextDelta)
    }
    assert parts[ReasoningDelta].strip() == "so < it </thin is"
    assert parts[TextDelta] == "Yes <think>"


@pytest.mark.parametrize("text", ["a <think>b</think>", "<thin", "<", " <b>"])
async def test_a_tag_elsewhere_belongs_to_the_answer(server, provider, text):
    reply = await reply_to(server, provider, delta(content=text), STOP, DONE)
    assert (reply.text, reply.reasoning) == (text, "")


async def test_a_thought_without_an_end_is_no_answer(server, provider):
    content = delta("length", content="<think>so</th")
    reply = await reply_to(server, provider, content, DONE)
    assert (reply.text, reply.reasoning) == ("", "so</th")
    assert reply.stop_reason == "length"


# ------------------------------------------------------------------- tool calls

A1, B2 = '{"a":1}', '{"b":2}'


@pytest.mark.parametrize(
    "pieces",
    [
        [
            piece("f", "", index=0, id="x"),
            piece(None, '{"a"', index=0),
            piece(None, ":1}", index=0),
            piece("g", B2, index=1, id="y"),
        ],
        [piece("f", A1, id="x"), piece("g", B2, id="y")],
        [piece("f", id="x"), piece(None, A1), piece("g", id="y"), piece(None, B2)],
        [piece("f", A1, index=0, id="x"), piece("g", B2, index=0, id="y")],
        [
            piece("f", '{"a"', index=0, id="x"),
            piece("g", '{"b"', index=0, id="y"),
            piece("f", ":1}", index=0, id="x"),
            piece("g", ":2}", index=0, id="y"),
        ],
        [piece("f", A1, index=1, id="x"), piece("g", B2, index=7, id="y")],
        [
            piece("f", '{"a"', index=0, id="x"),
            piece("f", ":1}", index=0, id="x"),
            piece("g", B2, index=1, id="y"),
        ],
        [
            piece("f", '{"a"', index=0, id="x"),
            piece("", ":1}", index=0, id=""),
            piece("g", B2, index=1, id="y"),
            piece(None, "", index=1, id=None),
        ],
        [
            piece(None, '{"a"', index=0, id="x"),
            piece("f", ":1}", index=0),
            piece("g", B2, index=1, id="y"),
        ],
        [piece("f", {"a": 1}, index=0, id="x"), piece("g", {"b": 2}, index=1, id="y")],
        [
            piece("f", json.dumps(A1), index=0, id="x"),
            piece("g", json.dumps(B2), index=1, id="y"),
        ],
        [
            piece("f", index=0),
            piece(None, A1, index=0, id="x"),
            piece("g", B2, index=1, id="y"),
        ],
    ],
    ids=[
        "as OpenAI",
        "no index",
        "no index, in pieces",
        "index 0 for all",
        "index 0 for all, mixed",
        "index skips",
        "id and name repeated",
        "id and name empty later",
        "name after arguments",
        "arguments an object",
        "arguments encoded twice",
        "id after the name",
    ],
)
async def test_pieces_of_calls_are_put_together(server, provider, pieces):
    """Wire, table 1.4."""
    reply = await reply_to(server, provider, *called(*pieces))
    assert reply.tool_calls == (ToolCall("x", "f", A1), ToolCall("y", "g", B2))
    assert reply.stop_reason == "tool_calls"


@pytest.mark.parametrize(
    "pieces",
    [
        [piece("f", A1), piece("g", B2)],
        [piece("f", A1, id=""), piece("g", B2, id="")],
        [piece("f", A1, index=0, id=""), piece("g", B2, index=1, id=None)],
        [piece("f", A1, index=0), piece("g", B2, index=0)],
        [piece("f", A1, index=0, id="x"), piece("g", B2, index=1, id="x")],
        [piece("f", A1, id="x"), piece("g", B2, id="x")],
    ],
    ids=str,
)
async def test_each_call_has_an_identifier_of_its_own(server, provider, pieces):
    """Wire, table 1.4."""
    reply = await reply_to(server, provider, *called(*pieces))
    first, second = reply.tool_calls
    assert (first.name, first.arguments) == ("f", A1)
    assert (second.name, second.arguments) == ("g", B2)
    assert first.id
    assert second.id
    assert first.id != second.id


@pytest.mark.parametrize("arguments", ["", None, "null", " "])
async def test_no_arguments_are_an_empty_object(server, provider, arguments):
    reply = await reply_to(server, provider, *called(piece("f", arguments, id="x")))
    assert reply.tool_calls == (ToolCall("x", "f", "{}"),)


async def test_the_old_function_call_is_a_call(server, provider):
    reply = await reply_to(
        server,
        provider,
        delta(function_call={"name": "f", "arguments": '{"a"'}),
        delta(function_call={"arguments": ":1}"}),
        delta("function_call"),
        DONE,
    )
    (call,) = reply.tool_calls
    assert (call.name, call.arguments) == ("f", A1)
    assert re.fullmatch(r"call_\w+", call.id)


@pytest.mark.parametrize("finish", ["stop", "tool_calls", "function_call", "eos"])
async def test_calls_count_whatever_the_finish_says(server, provider, finish):
    """Wire, section 1.2: never by the finish reason."""
    reply = await reply_to(
        server, provider, *called(piece("f", A1, id="x"), finish=finish)
    )
    assert reply.stop_reason == "tool_calls"


async def test_calls_that_were_cut_off_say_so(server, provider):
    """Wire, section 8, item 6: the loop never runs them."""
    reply = await reply_to(
        server, provider, *called(piece("f", '{"a": 1, "b":', id="x"), finish="length")
    )
    assert reply.stop_reason == "length"
    assert reply.tool_calls[0].arguments == '{"a": 1, "b":'


async def test_a_truncated_call_does_not_run(server, provider):
    """Wire, section 8, item 6."""
    ran = []

    @tool
    def f(a: int, b: int = 0) -> None:
        """Do it."""
        ran.append((a, b))

    events = called(piece("f", '{"a": 1, "b":', id="x"), finish="length")
    server.say(streamed(*[e if isinstance(e, bytes) else event(e) for e in events]))
    server.say(answer("Sorry"))
    result = await Agent(provider, [f]).run("go")
    assert (ran, result.answer) == ([], "Sorry")


# -------------------------------------------------------------------- the end


async def test_without_the_last_marker_a_finish_is_enough(server, provider):
    assert (await reply_to(server, provider, delta(content="a"), STOP)).text == "a"


async def test_without_a_finish_the_last_marker_is_enough(server, provider):
    assert (await reply_to(server, provider, delta(content="a"), DONE)).text == "a"


@pytest.mark.parametrize("end", [CUT, b"\n", b": bye\n\n", b'data: {"choi'])
async def test_a_cut_stream_is_an_error(server, provider, end):
    """Wire, section 0, rule 8."""
    server.say(streamed(event(delta(content="half")), end))
    deltas = provider.respond(request())
    assert await anext(deltas) == TextDelta("half")
    with pytest.raises((StreamInterruptedError, ProviderReplyError)):
        await anext(deltas)


async def test_a_cut_after_the_end_is_no_error(server, provider):
    assert (await reply_to(server, provider, delta(content="a"), STOP, CUT)).text == "a"


async def test_a_server_that_says_nothing_after_the_end_is_not_waited_for(
    server, provider, monkeypatch
):
    monkeypatch.setattr("notebook_agents.providers._reading.TAIL_SECONDS", 0.05)
    reply = await reply_to(server, provider, delta(content="a"), STOP, HOLD)
    assert reply.text == "a"


async def test_what_follows_the_end_is_read_so_that_the_connection_lives(
    server, provider
):
    """Wire, section 0, rule 6."""
    for _ in range(3):
        await reply_to(server, provider, delta(content="a"), STOP, DONE, b": x\n\n")
    assert server.connections == 1


@pytest.mark.parametrize(
    ("finish", "stop"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("max_tokens", "length"),
        ("content_filter", "content_filter"),
        ("SAFETY", "content_filter"),
        ("end_turn", "stop"),
    ],
)
async def test_the_finish_is_told_in_our_words(server, provider, finish, stop):
    reply = await reply_to(server, provider, delta(finish, content="a"), DONE)
    assert reply.stop_reason == stop


async def test_a_block_without_any_text_is_an_error(server, provider):
    """Design, section 17."""
    with pytest.raises(ContentFilteredError, match="content_filter"):
        await reply_to(server, provider, delta("content_filter"), DONE)


async def test_a_refusal_is_a_reply_with_its_text(server, provider):
    """Design, section 17."""
    reply = await reply_to(server, provider, delta(refusal="No."), STOP, DONE)
    assert (reply.text, reply.stop_reason) == ("No.", "refusal")


@pytest.mark.parametrize(
    "pieces",
    [
        [STOP, event({"choices": [], "usage": {"prompt_tokens": 5,
                                               "completion_tokens": 7}})],
        [event({**delta("stop"), "usage": {"prompt_tokens": 5,
                                           "completion_tokens": 7}})],
        [event({**delta(content="a"), "usage": {"prompt_tokens": 1}}),
         event({**delta("stop"), "usage": {"prompt_tokens": 5,
                                           "completion_tokens": 7}}),
         event({**delta(), "usage": None})],
        [event({"choices": [{"delta": {}, "finish_reason": "stop",
                             "usage": {"prompt_tokens": 5,
                                       "completion_tokens": 7}}]})],
        [STOP, event({"choices": [], "x_groq": {"usage": {"prompt_tokens": 5,
                                                          "completion_tokens": 7}}})],
    ],
    ids=["OpenAI", "in the finish", "in each", "in the choice", "Groq"],
)  # fmt: skip
async def test_token_counts_are_found_wherever_they_are(server, provider, pieces):
    reply = await reply_to(server, provider, *pieces, DONE)
    assert reply.usage == Usage.of_call(5, 7)


async def test_reasoning_tokens_are_counted(server, provider):
    usage = {
        "prompt_tokens": 1,
        "completion_tokens": 9,
        "completion_tokens_details": {"reasoning_tokens": 4},
    }
    reply = await reply_to(server, provider, STOP, {"choices": [], "usage": usage})
    assert reply.usage == Usage.of_call(1, 9, 4)


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}},
        {"prompt_tokens": 9, "prompt_cache_hit_tokens": 4},
    ],
    ids=["OpenAI", "DeepSeek"],
)
async def test_cached_tokens_are_counted(server, provider, usage):
    reply = await reply_to(server, provider, STOP, {"choices": [], "usage": usage})
    assert reply.cached_tokens == 4


async def test_more_tokens_than_were_read_cannot_be_cached(server, provider):
    usage = {"prompt_tokens": 3, "prompt_tokens_details": {"cached_tokens": 4}}
    reply = await reply_to(server, provider, STOP, {"choices": [], "usage": usage})
    assert reply.cached_tokens == 3


@pytest.mark.parametrize(
    ("cost", "charged"),
    [(0.25, 0.25), (0, 0.0), (None, None), ("0.25", None), (-1, None), (True, None)],
)
async def test_what_openrouter_says_it_charged_is_taken(server, cost, charged):
    profile = chat_profile("openrouter", "a/b")
    provider = OpenAICompatibleProvider(server.url, "m", profile=profile)
    usage = {"prompt_tokens": 9, "cost": cost}
    reply = await reply_to(server, provider, STOP, {"choices": [], "usage": usage})
    assert reply.charged == charged


async def test_what_an_unknown_service_says_of_costs_is_not(server, provider):
    usage = {"prompt_tokens": 9, "cost": 0.25}
    reply = await reply_to(server, provider, STOP, {"choices": [], "usage": usage})
    assert reply.charged is None


# --------------------------------------------------- what comes instead of a stream

WHOLE = {
    "object": "chat.completion",
    "choices": [
        {
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant",
                "content": "a",
                "tool_calls": [
                    {"id": "x", "function": {"name": "f", "arguments": A1}},
                    {"id": "y", "function": {"name": "g", "arguments": B2}},
                ],
            },
        }
    ],
    "usage": {"prompt_tokens": 5, "completion_tokens": 7},
}


@pytest.mark.parametrize(
    "kind", ["application/json", "text/plain", "text/event-stream"]
)
async def test_a_whole_reply_is_read_too(server, provider, kind):
    """Wire, section 0, rule 7."""
    server.say(whole(200, WHOLE, content_type=kind))
    *deltas, reply = await all_of(provider)
    assert deltas == [TextDelta("a")]
    assert reply.tool_calls == (ToolCall("x", "f", A1), ToolCall("y", "g", B2))
    assert reply.usage == Usage.of_call(5, 7)


ERRORS = [
    {"error": {"message": "it broke", "code": 500}},
    {"error": "it broke"},
    {"object": "error", "message": "it broke", "code": 500},
    {"type": "error", "error": {"type": "api_error", "message": "it broke"}},
    {**delta("error", content=""), "error": {"code": 502, "message": "it broke"}},
]


@pytest.mark.parametrize("error", ERRORS, ids=str)
@pytest.mark.parametrize("before", [0, 1])
async def test_an_error_may_come_at_any_point(server, provider, error, before):
    """Wire, section 0, rule 9."""
    pieces = [delta(content="a")] * before
    with pytest.raises(AgentProviderError, match="it broke"):
        await reply_to(server, provider, *pieces, error, STOP, DONE)


@pytest.mark.parametrize("error", ERRORS, ids=str)
async def test_an_error_may_be_the_whole_reply(server, provider, error):
    server.say(whole(200, error))
    with pytest.raises(AgentProviderError, match="it broke"):
        await all_of(provider)


async def test_an_error_may_be_an_event_of_that_name(server, provider):
    data = b'event: error\ndata: {"message": "it broke"}\n\n'
    with pytest.raises(AgentProviderError, match="it broke"):
        await reply_to(server, provider, data)


@pytest.mark.parametrize("finish", ["error", "insufficient_system_resource"])
async def test_an_error_may_be_a_finish(server, provider, finish):
    with pytest.raises(AgentProviderError, match="out of order"):
        await reply_to(server, provider, delta(content="a"), delta(finish), DONE)


@pytest.mark.parametrize(
    "reply",
    [
        streamed(event("{broken"), STOP, DONE),
        streamed(event([1, 2]), DONE),
        whole(200, {"hello": "world"}),
        whole(200, b"<html>log in</html>"),
        whole(200, []),
    ],
    ids=["bad JSON", "a list", "another object", "a web page", "an empty list"],
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
        whole(200, b"  ", content_type="text/event-stream"),
        whole(200, b"", content_type="application/json"),
    ],
    ids=["a record without an end", "a huge object", "blanks", "nothing"],
)
async def test_what_cannot_be_a_reply_is_an_error(server, provider, reply, monkeypatch):
    monkeypatch.setattr("notebook_agents.providers._reading.MOST_WHOLE_BYTES", 1000)
    server.say(reply)
    with pytest.raises(ProviderReplyError):
        await all_of(provider)


@pytest.mark.parametrize(
    ("error", "cls"),
    [
        ({"message": "no", "type": "rate_limit_exceeded"}, ProviderRateLimitError),
        ({"message": "no", "code": "invalid_api_key"}, ProviderAuthError),
        ({"message": "no", "code": "503"}, AgentProviderError),
        ({"message": "overloaded"}, AgentProviderError),
        ({"message": "no"}, AgentProviderError),
    ],
    ids=str,
)
async def test_an_error_in_a_stream_has_a_class_too(server, provider, error, cls):
    with pytest.raises(cls) as caught:
        await reply_to(server, provider, {"error": error})
    assert type(caught.value) is cls


async def test_a_completion_of_the_old_kind_is_text(server, provider):
    choice = {"text": "a", "index": 0, "finish_reason": None}
    reply = await reply_to(server, provider, {"choices": [choice]}, DONE)
    assert reply.text == "a"


async def test_a_call_without_a_name_is_not_lost(server, provider):
    reply = await reply_to(server, provider, *called(piece(None, A1, id="x")))
    assert reply.tool_calls == (ToolCall("x", "unnamed", A1),)


# ---------------------------------------------------------------- what is sent


async def body_of(server, provider, asked: ModelRequest) -> dict:
    server.say(answer("ok"))
    await all_of(provider, asked)
    return server.requests[-1].body


async def test_the_conversation_is_sent_in_the_shape_of_the_wire(server, provider):
    call = ToolCall("call_1", "add", '{"a":1}')
    body = await body_of(
        server,
        provider,
        request(
            Message("system", "S"),
            Message("user", "T"),
            Message("assistant", "", (call,)),
            Message("tool", "3", tool_call_id="call_1"),
            Message("assistant", "three"),
            tools=[ADD],
            temperature=0.7,
            max_tokens=10,
        ),
    )
    assert body == {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [
            {"role": "system", "content": "S"},
            {"role": "user", "content": "T"},
            {"role": "assistant", "content": None, "tool_calls": [call.to_dict()]},
            {"role": "tool", "tool_call_id": "call_1", "content": "3"},
            {"role": "assistant", "content": "three"},
        ],
        "tools": [
            {"type": "function",
             "function": {"name": "add", "parameters": {"type": "object"}}}
        ],
        "temperature": 0.7,
        "max_tokens": 10,
    }  # fmt: skip
    assert server.requests[-1].path == "/v1/chat/completions"


async def test_several_system_messages_are_sent_as_one(server, provider):
    """Wire, section 1.1."""
    messages = [Message("system", "a"), Message("user", "u"), Message("system", "b")]
    body = await body_of(server, provider, request(*messages))
    assert body["messages"] == [
        {"role": "system", "content": "a\n\nb"},
        {"role": "user", "content": "u"},
    ]


async def test_without_tools_nothing_is_said_about_them(server, provider):
    """Wire, section 1.1: 400 otherwise."""
    asked = request(tool_calling={"tool_choice": "auto", "parallel_tool_calls": True})
    body = await body_of(server, provider, asked)
    assert not {"tools", "tool_choice", "parallel_tool_calls"} & body.keys()


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("required", "required"),
        ("add", {"type": "function", "function": {"name": "add"}}),
        ({"name": "add"}, {"type": "function", "function": {"name": "add"}}),
        (
            {"type": "function", "function": {"name": "add"}},
            {"type": "function", "function": {"name": "add"}},
        ),
    ],
)
async def test_a_choice_of_tools_is_passed_on(server, provider, choice, sent):
    calling = {"tool_choice": choice, "parallel_tool_calls": False, "mode": "AUTO"}
    body = await body_of(server, provider, request(tools=[ADD], tool_calling=calling))
    assert (body["tool_choice"], body["parallel_tool_calls"]) == (sent, False)
    assert "mode" not in body


async def test_a_name_that_the_model_invented_can_be_sent_back(server, provider):
    call = ToolCall("x", "do it.now", "{}")
    asked = request(Message("user", "u"), Message("assistant", "", (call,)))
    body = await body_of(server, provider, asked)
    assert body["messages"][1]["tool_calls"][0]["function"]["name"] == "do_it_now"


async def test_half_a_surrogate_pair_does_not_break_the_request(server, provider):
    body = await body_of(server, provider, request(Message("user", "a\ud800é")))
    assert body["messages"][0]["content"] == "a?é"


async def test_more_keys_may_be_added(server):
    provider = OpenAICompatibleProvider(
        server.url, "m", extra_body={"top_k": 3, "temperature": 0.1}
    )
    body = await body_of(server, provider, request(temperature=0.9))
    assert (body["top_k"], body["temperature"]) == (3, 0.1)


async def test_params_are_sent_as_they_are_but_never_instead_of_the_run(server):
    provider = OpenAICompatibleProvider(server.url, "m", extra_body={"top_k": 3})
    params = {"top_p": 0.5, "top_k": 9, "stop": ["END"], "seed": 1}
    params |= {"messages": [], "stream": False, "model": "other"}
    asked = request(params=params, tool_calling={"seed": 0, "stop": None})
    body = await body_of(server, provider, asked)
    assert (body["top_p"], body["stop"], body["seed"]) == (0.5, ["END"], 1)
    assert body["top_k"] == 3
    assert (body["stream"], body["model"]) == (True, "m")
    assert body["messages"] == [{"role": "user", "content": "hi"}]


async def test_a_limit_of_the_other_name_takes_the_place_of_ours(server, provider):
    body = await body_of(
        server, provider, request(params={"max_completion_tokens": 5}, max_tokens=9)
    )
    assert body["max_completion_tokens"] == 5
    assert "max_tokens" not in body


async def test_a_temperature_that_the_model_does_not_take_is_told_once(server, caplog):
    provider = OpenAICompatibleProvider(
        server.url, "gpt-6-luna", profile=chat_profile("openai", "gpt-6-luna")
    )
    for _ in range(2):
        assert "temperature" not in await body_of(
            server, provider, request(temperature=0)
        )
    assert [each.getMessage() for each in caplog.records] == [
        "gpt-6-luna takes no temperature; it is left out"
    ]


@pytest.mark.parametrize(
    ("refusal", "key"),
    [
        ("Unrecognized request argument: stream_options", "stream_options"),
        ("Unsupported value: 'temperature' does not support 0.7", "temperature"),
        ("parallel_tool_calls is not supported", "parallel_tool_calls"),
    ],
)
async def test_what_a_server_refuses_is_left_out(server, provider, refusal, key):
    asked = request(
        tools=[ADD], tool_calling={"parallel_tool_calls": True}, temperature=0.7
    )
    server.say(whole(400, {"error": {"message": refusal}}), answer("ok"), answer("ok"))
    assert (await all_of(provider, asked))[-1].text == "ok"
    await all_of(provider, asked)
    assert [key in r.body for r in server.requests] == [True, False, False]


async def test_the_limit_changes_its_name_where_the_server_says_so(server, provider):
    refusal = (
        "Unsupported parameter: 'max_tokens' is not supported with this model. "
        "Use 'max_completion_tokens' instead."
    )
    server.say(whole(400, {"error": {"message": refusal}}), answer("ok"))
    await all_of(provider, request(max_tokens=9))
    assert server.requests[0].body["max_tokens"] == 9
    assert server.requests[1].body["max_completion_tokens"] == 9
    assert "max_tokens" not in server.requests[1].body


async def test_a_refusal_that_does_not_end_is_an_error(server, provider):
    refusal = whole(400, {"error": {"message": "unknown: temperature, stream_options"}})
    server.say(refusal, refusal)
    with pytest.raises(AgentProviderError, match="400"):
        await all_of(provider, request(temperature=0.7))
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("model", "tools", "sent"),
    [
        ("gpt-4.1", [], {"temperature": 0.7, "max_completion_tokens": 10}),
        ("gpt-6-luna", [], {"max_completion_tokens": 10 + 8192}),
        (
            "gpt-6-luna",
            [ADD],
            {"max_completion_tokens": 10, "reasoning_effort": "none"},
        ),
    ],
)
async def test_models_of_openai_get_what_they_take(server, model, tools, sent):
    """Wire, section 1.1."""
    provider = OpenAICompatibleProvider(
        server.url, model, profile=chat_profile("openai", model)
    )
    asked = request(tools=tools, temperature=0.7, max_tokens=10)
    body = await body_of(server, provider, asked)
    keys = ("temperature", "max_tokens", "max_completion_tokens", "reasoning_effort")
    assert {key: body[key] for key in keys if key in body} == sent
    assert body.get("tools", []) == tools  # strict is kept


def test_a_model_that_thinks_gets_room_for_it():
    """Design, section 17: max_tokens means visible output."""
    assert chat_profile("ollama", "qwen3:8b").thinking_tokens > 0
    assert chat_profile("ollama", "llama3.2").thinking_tokens == 0


@pytest.mark.parametrize(
    ("provider", "model", "sent", "expected"),
    [
        ("openai-compatible", "deepseek-chat", {"reasoning_content": "hm"}, "hm"),
        (
            "openrouter",
            "a/b",
            {
                "reasoning": "hm",
                "reasoning_details": [{"text": "hm", "signature": "s"}],
            },
            [{"text": "hm", "signature": "s"}],
        ),
        ("openai", "gpt-6-luna", {"reasoning_content": "hm"}, None),
    ],
)
async def test_reasoning_goes_back_to_whom_it_needs_within_the_turn(
    server, provider, model, sent, expected
):
    """Wire, sections 1.5 and 1.6."""

    @tool
    def f(a: int) -> int:
        """Do it."""
        return a

    call = [
        event(delta(**sent)),
        event(delta("tool_calls", tool_calls=[piece("f", A1, index=0, id="x")])),
        DONE,
    ]
    server.say(streamed(*call), answer("one"), answer("two"))
    profile = chat_profile(provider, model)
    service = OpenAICompatibleProvider(server.url, model, profile=profile)
    agent = Agent(service, [f])
    await agent.run("go")
    await agent.run("on")

    def replayed(number: int) -> object:
        messages = server.requests[number].body["messages"]
        (said,) = [m for m in messages if m.get("tool_calls")]
        return said.get(profile.replays or "reasoning_content")

    assert replayed(1) == expected
    assert replayed(2) is None
