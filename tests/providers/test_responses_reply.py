"""OpenAI Responses, as OpenAI and those who imitate it really send them.

Each line of wire.md 2.3 and of its checklist is a test, over a socket.
"""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notebook_agents import Agent, tool
from notebook_agents.errors import (
    AgentProviderError,
    ContentFilteredError,
    ContextLengthError,
    ProviderAuthError,
    ProviderRateLimitError,
    ProviderReplyError,
    StreamInterruptedError,
)
from notebook_agents.messages import Message, ToolCall, Usage
from notebook_agents.providers import (
    ModelReply,
    ModelRequest,
    OpenAIProvider,
    ReasoningDelta,
    RetryDelta,
    TextDelta,
)
from notebook_agents.providers._failures import Failure, ServiceFacts
from notebook_agents.providers._responses_reply import ResponsesReply
from notebook_agents.providers._sse import SseDecoder
from tests.providers.responses_wire import (
    CREATED,
    USAGE,
    added,
    answer,
    arguments_delta,
    completed,
    done,
    events_of,
    failed,
    function_call,
    incomplete,
    message,
    reasoning,
    reply,
    reply_of,
    response,
    said,
    text_delta,
    thought_delta,
    to_bytes,
)
from tests.providers.wire import CUT, DONE, HOLD, whole

KEY = "sk-very-secret-0123456789"
KINDS = [
    "output_text.delta",
    "refusal.delta",
    "function_call_arguments.delta",
    "function_call_arguments.done",
    "reasoning_summary_text.delta",
    "reasoning_text.delta",
    "output_item.added",
    "output_item.done",
    "incomplete",
    "completed",
]
KEYS = st.sampled_from(
    [
        "id",
        "type",
        "content",
        "summary",
        "text",
        "name",
        "call_id",
        "arguments",
        "status",
        "output",
        "usage",
        "input_tokens_details",
        "cached_tokens",
        "reason",
    ]
)
FIELDS = [
    "delta",
    "item",
    "item_id",
    "output_index",
    "summary_index",
    "arguments",
    "name",
    "response",
    "content_index",
]
A1, B2 = '{"a":1}', '{"b":2}'
F, G = function_call("f", A1, "x"), function_call("g", B2, "y", 1)
F_AND_G = (ToolCall("x", "f", A1), ToolCall("y", "g", B2))


@pytest.fixture
def provider(server):
    return made(server, max_retries=0)


def made(server, **options) -> OpenAIProvider:
    return OpenAIProvider(
        "gpt-6-luna", KEY, api="responses", base_url=server.url, **options
    )


async def all_of(provider) -> list:
    request = ModelRequest(messages=[Message("user", "hi")])
    return [item async for item in provider.respond(request)]


async def reply_to(server, provider, *events) -> ModelReply:
    server.say(reply(*events))
    return (await all_of(provider))[-1]


def shown(deltas: list, kind: type = TextDelta) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, kind))


# ------------------------------------------------------------------------- text


async def test_text_arrives_in_pieces_and_whole_at_the_end(server, provider):
    server.say(answer("Hello"))
    *deltas, last = await all_of(provider)
    assert shown(deltas) == "Hello"
    assert last == ModelReply(
        text="Hello",
        usage=Usage.of_call(5, 7, 2),
        cached_tokens=3,
        cache_write_tokens=1,
    )


@pytest.mark.parametrize("character", ["\u2028", "\x85", "é", "😀"])
async def test_any_character_arrives(server, provider, character):
    assert (
        await reply_to(server, provider, *events_of(message(character)))
    ).text == character


WHOLE_STREAM = b"".join(
    to_bytes(events_of(reasoning("hm", "so"), F, message("b\u2028é", 2), G))
)


@given(st.lists(st.integers(1, len(WHOLE_STREAM)), max_size=6))
def test_any_cut_of_the_bytes_gives_the_same_reply(cuts):
    edges = [0, *sorted(cuts), len(WHOLE_STREAM)]
    decoder = SseDecoder()
    service = ServiceFacts(name="x", url="http://x")
    one = ResponsesReply(service, sealed=lambda part: part)
    pieces = []
    for start, end in itertools.pairwise(edges):
        pieces += one.read(decoder.feed(WHOLE_STREAM[start:end]))
    found = one.reply()
    assert (found.text, found.reasoning) == ("b\u2028é", "hm\n\nso")
    assert found.tool_calls == F_AND_G
    assert shown(pieces) == found.text
    assert shown(pieces, ReasoningDelta) == found.reasoning


@pytest.mark.parametrize(
    "odd",
    [
        {"type": "keepalive"},
        said("queued", response=response("queued")),
        said("some_new_thing.delta", delta="!", item_id="msg_0", output_index=0),
        said("output_text.annotation.added", item_id="msg_0", annotation={}),
        said("web_search_call.searching", item_id="ws_1", output_index=9),
        added({"type": "new_thing", "id": "n_1"}, 9),
        done({"type": "new_thing", "id": "n_2", "content": 3}, 9),
        {"no type": "at all"},
        {"type": ["a", "list"]},
        b"event: ping\ndata: {}\n\n",
        b": comment\n\n",
        b"data:\n\n",
    ],
    ids=str,
)
async def test_an_event_that_is_not_known_is_skipped(server, provider, odd):
    """Wire, section 0, rule 10."""
    events = [odd, *events_of(message("a"))[:-1], odd, completed()]
    found = await reply_to(server, provider, *events)
    assert (found.text, found.tool_calls, found.stop_reason) == ("a", (), "stop")


@pytest.mark.parametrize(
    "junk",
    [
        {"delta": None},
        {"delta": 3},
        {"delta": ["a"]},
        {"item_id": ["msg_0"], "delta": ""},
        {"output_index": {}, "delta": None},
        {"item": None},
        {"item": "text"},
        {"response": []},
        {"item": {"type": "message", "content": [None, 3, {"text": None}]}},
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", KINDS[:-2])
async def test_an_event_of_an_odd_shape_does_no_harm(server, provider, junk, kind):
    found = await reply_to(
        server, provider, said(kind, **junk), *events_of(message("a"))
    )
    assert found.text == "a"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 2) | st.sampled_from(["", "a", "fc_0"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=4)
    ),
    max_leaves=8,
)
EVENTS = st.fixed_dictionaries(
    {"type": st.sampled_from([f"response.{kind}" for kind in KINDS]) | JSON},
    optional=dict.fromkeys(FIELDS, JSON),
)


@given(st.lists(EVENTS, max_size=6))
def test_no_events_whatever_break_anything(events):
    """What cannot be a reply is a failure, and nothing else."""
    service = ServiceFacts(name="x", url="http://x")
    one = ResponsesReply(service, sealed=lambda part: part)
    told = []
    try:
        for data in to_bytes([*events, completed()]):
            told += one.read(SseDecoder().feed(data))
        found = one.reply()
    except Failure:
        return
    assert shown(told) == found.text
    assert shown(told, ReasoningDelta) == found.reasoning
    identifiers = [call.id for call in found.tool_calls]
    assert len(set(identifiers)) == len(identifiers)


async def test_two_messages_are_two_paragraphs(server, provider):
    first = message("I look.", phase="commentary")
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    events = [CREATED, added(first), text_delta("I look."), done(first)]
    events += [added(search, 1), done(search, 1)]
    second = message("It is so.", 2, phase="final_answer")
    events += [added(second, 2), text_delta("It is so.", "msg_2", 2), done(second, 2)]
    server.say(reply(*events, completed()))
    *deltas, last = await all_of(provider)
    assert shown(deltas) == last.text == "I look.\n\nIt is so."


async def test_two_messages_without_identifiers_are_two_paragraphs(server, provider):
    nameless = said("output_item.done", item={"type": "message"})
    one, two = (said("output_text.delta", delta=text) for text in ("One.", "Two."))
    found = await reply_to(server, provider, one, nameless, two, nameless, completed())
    assert found.text == "One.\n\nTwo."


@pytest.mark.parametrize(
    "events",
    [
        [text_delta("Hel"), text_delta("lo"), completed()],
        [done(message("Hello")), completed()],
        [completed(message("Hello"))],
        [added(message("")), text_delta("Hel"), completed(message("Hello", 7))],
        [text_delta("Hel"), done(message("Hello")), completed(message("Hello", 7))],
        [added(message("")), text_delta("Hello"), done({"type": "message"}), completed()],
        [said("output_text.delta", delta="Hel"), said("output_text.delta", delta="lo"),
         done({"type": "message", "content": [{"text": "Hello"}]}), completed()],
        [text_delta("Hel"), added(message("")), text_delta("lo"), completed()],
        [text_delta("Hello"), done(message("It says something else.")), completed()],
        [*events_of(message("Hello")), DONE],
    ],
    ids=["deltas only", "the item only", "the end only", "a delta missing at the end",
         "a delta missing", "no text in the item", "no identifiers",
         "the beginning late", "another text in the item", "[DONE]"],
)  # fmt: skip
async def test_text_is_found_wherever_it_is_and_told_once(server, provider, events):
    server.say(reply(*events))
    *deltas, last = await all_of(provider)
    assert shown(deltas) == last.text == "Hello"


# -------------------------------------------------------------------- reasoning


async def test_summaries_are_reasoning_and_each_is_a_paragraph(server, provider):
    server.say(reply_of(reasoning("One.", "Two."), message("a", 1)))
    *deltas, last = await all_of(provider)
    assert shown(deltas, ReasoningDelta) == last.reasoning == "One.\n\nTwo."
    assert shown(deltas) == last.text == "a"


async def test_thoughts_in_the_open_are_reasoning(server, provider):
    raw = said("reasoning_text.delta", item_id="rs_0", content_index=0, delta="hm")
    found = await reply_to(
        server, provider, added(reasoning()), raw, done(reasoning()), completed()
    )
    assert found.reasoning == "hm"


async def test_thoughts_and_their_summary_are_told_once(server, provider):
    raw = said("reasoning_text.delta", item_id="rs_0", content_index=0, delta="hm")
    item = {**reasoning("short"), "content": [{"type": "reasoning_text", "text": "hm"}]}
    found = await reply_to(
        server, provider, added(item), raw, thought_delta("short"), done(item), completed()
    )  # fmt: skip
    assert found.reasoning == "hm"


async def test_a_summary_without_deltas_is_found_in_its_item(server, provider):
    found = await reply_to(server, provider, done(reasoning("hm", "so")), completed())
    assert found.reasoning == "hm\n\nso"


async def test_two_thoughts_are_two_paragraphs(server, provider):
    first, second = reasoning("One."), reasoning("Two.", n=1)
    found = await reply_to(
        server, provider, *events_of(first, F, second, message("a", 3))
    )
    assert found.reasoning == "One.\n\nTwo."


# ------------------------------------------------------------------- tool calls

UNNAMED = {"type": "function_call", "arguments": ""}


@pytest.mark.parametrize(
    "events",
    [
        events_of(F, G),
        [
            added(F), added(G, 1),
            arguments_delta('{"b"', "fc_1", 1), arguments_delta('{"a"', "fc_0", 0),
            arguments_delta(":1}", "fc_0", 0), arguments_delta(":2}", "fc_1", 1),
            completed(),
        ],
        [
            added(F, 0), arguments_delta('{"a"', "fc_0", 0),
            added(G, 0), arguments_delta(B2, "fc_1", 0),
            arguments_delta(":1}", "fc_0", 0), done(F, 0), done(G, 0), completed(),
        ],
        [
            added({**F, "id": "q"}), arguments_delta('{"a"', "r", 0),
            arguments_delta(":1}", "s", 0), done({**F, "id": "t"}),
            added({**G, "id": "u"}, 1), arguments_delta(B2, "v", 1),
            done({**G, "id": "w"}, 1), completed(F, G),
        ],
        [added({**F, "id": None}), done({**F, "id": None}),
         added({**G, "id": ""}, 1), done({**G, "id": ""}, 1), completed()],
        [done(F), done(G, 1), completed()],
        [said("output_item.added", output_index=0, item=F), said("output_item.added", output_index=1, item=G), completed()],
        [completed(F, G)],
        [text_delta(""), completed(F, G)],
        [added(F), arguments_delta("{", "fc_0", 0),
         said("function_call_arguments.done", item_id="fc_0", name="f", arguments=A1),
         done({**UNNAMED, "id": "fc_0"}), added(G, 1), done(G, 1), completed()],
        [done({**F, "arguments": {"a": 1}}), done({**G, "arguments": json.dumps(B2)}, 1),
         completed()],
        [done(F, 0), done(G, 0), completed()],
        [arguments_delta('{"a"', "fc_0", 0), arguments_delta('{"b"', "fc_1", 1),
         arguments_delta(":1}", "fc_0", 0), arguments_delta(":2}", "fc_1", 1),
         done({**F, "arguments": ""}), done({**G, "arguments": ""}, 1), completed()],
        [added(F), arguments_delta(A1, "fc_0", 0), done({**F, "arguments": ""}),
         done(G, 1), completed()],
    ],
    ids=["as OpenAI", "interleaved", "all of them number 0", "another id each time",
         "no id", "ends only", "beginnings only", "at the very end",
         "at the very end, after text", "nothing in the end", "odd arguments",
         "ends only, all of them number 0", "no beginnings, interleaved",
         "no arguments in the end"],
)  # fmt: skip
async def test_calls_are_put_together(server, provider, events):
    """Wire, section 2.3: by the identifier, else by the index."""
    found = await reply_to(server, provider, *events)
    assert found.tool_calls == F_AND_G
    assert found.stop_reason == "tool_calls"


@pytest.mark.parametrize("call_id", ["same", "", None])
async def test_each_call_has_an_identifier_of_its_own(server, provider, call_id):
    first, second = ({**item, "call_id": call_id, "id": None} for item in (F, G))
    found = await reply_to(server, provider, done(first), done(second, 1), completed())
    one, two = found.tool_calls
    assert (one.name, two.name) == ("f", "g")
    assert one.id
    assert two.id
    assert one.id != two.id


@pytest.mark.parametrize("arguments", ["", None, "null"])
async def test_no_arguments_are_an_empty_object(server, provider, arguments):
    item = {**F, "arguments": arguments}
    found = await reply_to(server, provider, done(item), completed())
    assert found.tool_calls == (ToolCall("x", "f", "{}"),)


async def test_a_call_without_a_name_is_not_lost(server, provider):
    item = {**F, "name": None}
    found = await reply_to(server, provider, done(item), completed())
    assert found.tool_calls == (ToolCall("x", "unnamed", A1),)


async def test_a_truncated_call_does_not_run(server, provider):
    """Wire, section 8, item 6."""
    ran = []

    @tool
    def f(a: int, b: int = 0) -> None:
        """Do it."""
        ran.append((a, b))

    begun = [CREATED, added(F), arguments_delta('{"a": 1, "b":', "fc_0", 0)]
    server.say(reply(*begun, incomplete("max_output_tokens")), answer("Sorry"))
    result = await Agent(provider, [f]).run("go")
    assert (ran, result.answer) == ([], "Sorry")
    second = server.requests[1].body["input"]
    assert json.loads(second[-2]["arguments"]) == {}
    assert second[-1]["call_id"] == second[-2]["call_id"] == "x"


# ----------------------------------------------------------------------- the end


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("max_output_tokens", "length"),
        ("content_filter", "content_filter"),
        ("max_messages", "length"),
        (None, "length"),
    ],
)
async def test_why_a_reply_is_incomplete_is_told_in_our_words(
    server, provider, reason, stop
):
    events = [text_delta("half"), *events_of(F)[:-1], incomplete(reason)]
    found = await reply_to(server, provider, *events)
    assert (found.text, found.stop_reason) == ("half", stop)
    assert bool(found.tool_calls) == (stop == "length")
    assert found.usage == Usage.of_call(5, 7, 2)


async def test_a_block_without_any_text_is_an_error(server, provider):
    """Design, section 17."""
    with pytest.raises(ContentFilteredError, match="content_filter"):
        await reply_to(server, provider, CREATED, incomplete("content_filter"))


@pytest.mark.parametrize("has_deltas", [True, False])
async def test_a_refusal_is_a_reply_with_its_text(server, provider, has_deltas):
    """Design, section 17."""
    refusal = {**message(""), "content": [{"type": "refusal", "refusal": "No."}]}
    delta = said("refusal.delta", item_id="msg_0", output_index=0, delta="No.")
    events = [delta] * has_deltas + [done(refusal), completed()]
    found = await reply_to(server, provider, added(message("")), *events)
    assert (found.text, found.stop_reason) == ("No.", "refusal")


@pytest.mark.parametrize(
    "end",
    [
        [CUT],
        [b"\n"],
        [DONE],
        [done(message("half"))],
        [b'data: {"type":"response.comp'],
    ],
    ids=["dropped", "ended", "[DONE]", "after the item", "in the last event"],
)
async def test_a_cut_stream_is_an_error(server, provider, end):
    """Wire, section 0, rule 8: only an event of the whole response is the end."""
    server.say(reply(CREATED, added(message("")), text_delta("half"), *end))
    deltas = provider.respond(ModelRequest(messages=[Message("user", "hi")]))
    assert await anext(deltas) == TextDelta("half")
    with pytest.raises((StreamInterruptedError, ProviderReplyError)):
        await anext(deltas)


async def test_calls_of_a_cut_stream_do_not_run(server, provider):
    ran = []

    @tool
    def f(a: int) -> None:
        """Do it."""
        ran.append(a)

    server.say(reply(*events_of(F)[:-1], CUT))
    with pytest.raises(StreamInterruptedError):
        await Agent(provider, [f]).run("go")
    assert ran == []


async def test_what_follows_the_end_is_not_read_as_part_of_it(server, provider):
    more = [text_delta("!"), failed("server_error", "late")]
    found = await reply_to(
        server, provider, *events_of(message("a")), *more, b": x\n\n"
    )
    assert found.text == "a"
    await reply_to(server, provider, *events_of(message("a")))
    assert server.connections == 1


async def test_a_cut_after_the_end_is_no_error(server, provider):
    assert (await reply_to(server, provider, *events_of(message("a")), CUT)).text == "a"


@pytest.mark.parametrize("usage", [None, {}, {"input_tokens": None}, "many"], ids=str)
async def test_token_counts_may_be_missing(server, provider, usage):
    found = await reply_to(server, provider, completed(message("a"), usage=usage))
    assert (found.text, found.usage) == ("a", Usage.of_call(0, 0))


async def test_more_tokens_than_were_read_cannot_be_cached(server, provider):
    usage = {**USAGE, "input_tokens_details": {"cached_tokens": 9}}
    found = await reply_to(server, provider, completed(message("a"), usage=usage))
    assert found.cached_tokens == 5


# ------------------------------------------------------------------------ errors

FLAT = {"type": "error", "code": "server_error", "message": "boom", "param": None}
ERRORS = [
    FLAT,
    {"type": "error", "error": {"code": "server_error", "message": "boom"}},
    {"error": {"message": "boom", "type": "server_error"}},
    {"object": "error", "message": "boom", "code": 500},
    failed("server_error", "boom"),
    said("completed", response=response("failed", error={"message": "boom"})),
    b'event: error\ndata: {"message": "boom"}\n\n',
]


@pytest.mark.parametrize("error", ERRORS, ids=str)
@pytest.mark.parametrize("before", [0, 3])
async def test_an_error_may_come_at_any_point(server, provider, error, before):
    """Wire, section 0, rule 9."""
    events = events_of(message("a"))
    with pytest.raises(AgentProviderError, match="boom"):
        await reply_to(server, provider, *events[:before], error, *events[before:])


@pytest.mark.parametrize(
    ("code", "text", "cls"),
    [
        ("server_error", "boom", AgentProviderError),
        ("server_is_overloaded", "later", AgentProviderError),
        ("rate_limit_exceeded", "later", ProviderRateLimitError),
        ("insufficient_quota", "You exceeded", ProviderRateLimitError),
        ("context_length_exceeded", "too long", ContextLengthError),
        ("invalid_prompt", "flagged: usage policy", ContentFilteredError),
        ("invalid_prompt", "no", AgentProviderError),
        ("bio_policy", "no", ContentFilteredError),
        ("image_content_policy_violation", "no", ContentFilteredError),
        ("invalid_api_key", "no", ProviderAuthError),
        ("image_parse_error", "no image", AgentProviderError),
        ("something_new", "no", AgentProviderError),
    ],
)
async def test_a_response_that_failed_has_its_class(server, provider, code, text, cls):
    with pytest.raises(AgentProviderError, match=text) as caught:
        await reply_to(server, provider, CREATED, failed(code, text))
    assert type(caught.value) is cls
    may_pass = {"server_error", "server_is_overloaded", "rate_limit_exceeded"}
    assert caught.value.retryable is (code in may_pass)


async def test_a_response_that_failed_without_a_reason_is_an_error(server, provider):
    for status in ("failed", "cancelled"):
        with pytest.raises(AgentProviderError, match="Run it again"):
            await reply_to(server, provider, said(status, response=response(status)))


@pytest.mark.parametrize(
    "error", [FLAT, failed("rate_limit_exceeded", "later")], ids=["error", "failed"]
)
async def test_what_may_pass_is_tried_again_before_the_first_text(server, error):
    server.say(reply(CREATED, error), answer("ok"))
    retry, *_, last = await all_of(made(server))
    assert isinstance(retry, RetryDelta)
    assert last.text == "ok"


async def test_nothing_is_tried_again_after_the_first_text(server):
    server.say(reply(CREATED, text_delta("a"), CUT), answer("ok"))
    with pytest.raises(StreamInterruptedError):
        await all_of(made(server))
    assert len(server.requests) == 1


async def test_a_stalled_reply_is_given_up(server):
    server.say(reply(CREATED, text_delta("a"), HOLD))
    with pytest.raises(AgentProviderError, match="stall_timeout="):
        await all_of(made(server, stall_timeout=0.05))


# -------------------------------------------------- what comes instead of a stream


@pytest.mark.parametrize(
    "kind", ["application/json", "text/plain", "text/event-stream"]
)
async def test_a_whole_reply_is_read_too(server, provider, kind):
    """Wire, section 0, rule 7."""
    body = response(output=(reasoning("hm"), message("a", 1), F, G))
    server.say(whole(200, body, content_type=kind))
    *deltas, last = await all_of(provider)
    assert deltas == [ReasoningDelta("hm"), TextDelta("a")]
    assert last.tool_calls == F_AND_G
    assert last.usage == Usage.of_call(5, 7, 2)


async def test_a_whole_reply_may_be_incomplete(server, provider):
    details = {"reason": "max_output_tokens"}
    body = response("incomplete", (message("half"),), incomplete_details=details)
    server.say(whole(200, body))
    last = (await all_of(provider))[-1]
    assert (last.text, last.stop_reason) == ("half", "length")


@pytest.mark.parametrize(
    "body",
    [
        response("failed", error={"code": "server_error", "message": "boom"}),
        response("failed", error=None),
        FLAT,
        {"error": {"message": "boom"}},
    ],
    ids=["failed", "failed, no reason", "flat", "nested"],
)
async def test_an_error_may_be_the_whole_reply(server, provider, body):
    server.say(whole(200, body))
    with pytest.raises(AgentProviderError, match=r"boom|Run it again"):
        await all_of(provider)


@pytest.mark.parametrize(
    "body",
    [
        {"hello": "world"},
        {"choices": [{"message": {"content": "a"}}]},
        response("queued"),
        {"object": "response", "status": "completed", "output": None},
        b"<html>log in</html>",
        [],
    ],
    ids=["another object", "chat completions", "queued", "no output", "a web page",
         "a list"],
)  # fmt: skip
async def test_what_is_no_reply_is_shown(server, provider, body):
    server.say(whole(200, body))
    with pytest.raises(ProviderReplyError, match="base URL"):
        await all_of(provider)


# ---------------------------------------------------------------- through an agent


async def test_an_agent_streams_thoughts_and_text(server, provider):
    server.say(reply_of(reasoning("hm"), message("Hi", 1)))
    stream = Agent(provider).stream("hello")
    assert "".join([text async for text in stream]) == "Hi"
    result = await stream.result()
    assert [e.content for e in result.events if e.event == "thought"] == ["hm"]
    assert (result.prompt_tokens, result.reasoning_tokens) == (5, 2)
