"""Agents on Google's models: signatures that go back, failures, keys, promises."""

from __future__ import annotations

import asyncio
import json
import logging
import pickle
import threading
import traceback
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from notebook_agents import Agent, tool
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
    GeminiProvider,
    ModelReply,
    ModelRequest,
    RetryDelta,
    TextDelta,
    discovery,
)
from notebook_agents.providers.registry import choose_default, make_provider
from notebook_agents.testing import check_provider
from tests.providers.gemini_wire import (
    answer,
    call,
    chunk,
    error,
    failed,
    quota,
    said,
    stream,
    thought,
)
from tests.providers.wire import CUT, HOLD, event, streamed, whole

KEY = "AIza-very-secret-0123456789"
REQUEST = ModelRequest(messages=[Message("user", "hi")])
SKIP = "skip_thought_signature_validator"


def made(server, model=None, **options) -> GeminiProvider:
    return GeminiProvider(model, KEY, base_url=server.url, **options)


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


def adds(*calls: tuple[int, int], signature: str | None = "U0lH", **facts) -> list:
    """Give a reply that thinks and calls; the first call is signed."""
    parts = [call("add", {"a": a, "b": b}, **facts) for a, b in calls]
    if signature:
        parts[0]["thoughtSignature"] = signature
    return stream(thought("hm"), *parts)


def signatures(server, number: int) -> list[list[str | None]]:
    """Name the signatures of the calls of each reply in a request."""
    replies = [
        [part for part in content["parts"] if "functionCall" in part]
        for content in server.requests[number].body["contents"]
        if content["role"] == "model"
    ]
    return [[part.get("thoughtSignature") for part in parts] for parts in replies]


# -------------------------------------------------------- signatures that go back


async def test_a_second_round_has_the_shape_of_the_wire(server):
    """Wire, section 4.2: as an SDK sent it, and no identifiers that nobody gave."""
    server.say(adds((1, 2), (3, 4), signature="U0lHMQ=="), answer("3 and 7"))
    await Agent(made(server), [add]).run("go")
    assert server.requests[1].body["contents"] == [
        {"role": "user", "parts": [{"text": "go"}]},
        {
            "role": "model",
            "parts": [
                {
                    "functionCall": {"name": "add", "args": {"a": 1, "b": 2}},
                    "thoughtSignature": "U0lHMQ==",
                },
                {"functionCall": {"name": "add", "args": {"a": 3, "b": 4}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "add", "response": {"result": 3}}},
                {"functionResponse": {"name": "add", "response": {"result": 7}}},
            ],
        },
    ]


async def test_identifiers_that_the_service_gave_are_echoed(server):
    """Wire, section 4.2."""
    parts = [
        call("add", {"a": 1, "b": 2}, call_id="i1", signature="SIG"),
        call("add", {"a": 3, "b": 4}, call_id="i2"),
    ]
    server.say(stream(*parts), answer("ok"))
    await Agent(made(server), [add]).run("go")
    _, told, results = server.requests[1].body["contents"]
    assert told["parts"] == parts
    assert [part["functionResponse"]["id"] for part in results["parts"]] == ["i1", "i2"]


async def test_each_part_goes_back_unmerged_with_its_own_signature(server):
    """Wire, section 4.2: also of a text, and of a text that is empty."""
    code = {"executableCode": {"language": "PYTHON", "code": "1+1"}}
    server.say(
        stream(
            thought("not this"),
            thought("but this", thoughtSignature="S0"),
            said("I "),
            said("add"),
            said(" now", thoughtSignature="S1"),
            said("", thoughtSignature="S2"),
            code,
            said("."),
            said(" "),
            call("add", {"a": 1, "b": 2}, signature="S3"),
            call("add", {"a": 3, "b": 4}, signature="S4"),
        ),
        answer("ok"),
    )
    await Agent(made(server), [add]).run("go")
    assert server.requests[1].body["contents"][1]["parts"] == [
        {"text": "but this", "thought": True, "thoughtSignature": "S0"},
        {"text": "I add"},
        {"text": " now", "thoughtSignature": "S1"},
        {"text": "", "thoughtSignature": "S2"},
        code,
        {"text": ". "},
        call("add", {"a": 1, "b": 2}, signature="S3"),
        call("add", {"a": 3, "b": 4}, signature="S4"),
    ]


async def test_each_round_of_a_turn_has_its_signature_and_a_later_turn_none(server):
    server.say(
        adds((1, 1), signature="A"),
        adds((2, 2), (3, 3), signature="B"),
        answer("one"),
        adds((4, 4), signature="C"),
        answer("two"),
    )
    agent = Agent(made(server), [add])
    await agent.run("go")
    await agent.run("on")
    assert signatures(server, 2) == [["A"], ["B", None]]
    assert signatures(server, 3) == [[None], [None, None], []]
    assert signatures(server, 4) == [[None], [None, None], [], ["C"]]


async def test_calls_that_are_named_alike_in_every_reply_keep_their_signatures(server):
    """Some gateways count the calls of each reply anew."""
    server.say(
        adds((1, 1), signature="A", call_id="0"),
        adds((2, 2), signature="B", call_id="0"),
        answer("ok"),
    )
    await Agent(made(server), [add]).run("go")
    assert signatures(server, 2) == [["A"], ["B"]]


async def test_two_runs_at_once_do_not_mix_their_signatures(server):
    server.say(
        adds((1, 1), signature="A"),
        adds((1, 1), signature="B"),
        answer("x"),
        answer("y"),
    )
    provider = made(server)
    agents = [Agent(provider, [add]), Agent(provider, [add])]
    await asyncio.gather(*(agent.run(f"go {n}") for n, agent in enumerate(agents)))
    second = [signatures(server, number) for number in (2, 3)]
    assert sorted(second) == [[["A"]], [["B"]]]


async def test_calls_keep_their_signature_where_the_text_has_changed(server):
    server.say(
        stream(said("The key is 1234."), call("add", {"a": 1, "b": 2}, signature="S")),
        answer("ok"),
    )
    provider = made(server)
    reply = (await all_of(provider))[-1]
    told = Message("assistant", "The key is ****.", reply.tool_calls)
    result = Message("tool", "3", tool_call_id=reply.tool_calls[0].id)
    messages = [*REQUEST.messages, told, result]
    replays = {reply.tool_calls[0].id: reply.replay}
    await all_of(provider, ModelRequest(messages=messages, replays=replays))
    assert server.requests[1].body["contents"][1]["parts"] == [
        {"text": "The key is ****."},
        call("add", {"a": 1, "b": 2}, signature="S"),
    ]


async def test_a_turn_that_another_process_began_goes_on(server):
    """Wire, section 4.2: what has no signature says so."""
    server.say(adds((1, 2)), answer("ok"))
    provider = made(server)
    reply = (await all_of(provider))[-1]
    messages = [
        *REQUEST.messages,
        Message("assistant", "", reply.tool_calls),
        Message("tool", "3", tool_call_id=reply.tool_calls[0].id),
    ]
    await all_of(made(server), ModelRequest(messages=messages))
    assert signatures(server, 1) == [[SKIP]]


async def test_a_call_that_came_without_a_signature_says_so(server):
    """A gateway may have lost it."""
    server.say(adds((1, 2), signature=None), answer("ok"))
    await Agent(made(server), [add]).run("go")
    assert signatures(server, 1) == [[SKIP]]


@pytest.mark.parametrize(
    "said_so", ["Thought signature is not valid.", "Corrupted thought signature."]
)
async def test_signatures_that_the_service_refuses_are_not_sent_again(server, said_so):
    server.say(adds((1, 2)), failed(400, "INVALID_ARGUMENT", said_so), answer("ok"))
    assert (await Agent(made(server), [add]).run("go")).answer == "ok"
    assert [signatures(server, n) for n in (1, 2)] == [[["U0lH"]], [[SKIP]]]


async def test_signatures_are_stored_nowhere(server):
    server.say(adds((1, 2), signature="SIGNATURE"), answer("ok"))
    agent = Agent(made(server), [add])
    await agent.run("go")
    assert "SIGNATURE" not in repr(agent.memory.all_messages)


async def test_a_forced_call_is_forced_once(server):
    server.say(adds((1, 2)), answer("3"))
    calling = {"mode": "ANY", "allowed_function_names": ["add"]}
    agent = Agent(made(server), [add], tool_calling=calling)
    assert (await agent.run("go")).answer == "3"
    modes = [
        request.body["toolConfig"]["functionCallingConfig"]["mode"]
        for request in server.requests
    ]
    assert modes == ["ANY", "AUTO"]


# ------------------------------------------------------------ names and defaults


@pytest.mark.parametrize("variable", ["GEMINI_API_KEY", "GOOGLE_API_KEY"])
def test_a_name_is_a_service(monkeypatch, variable):
    monkeypatch.setenv(variable, KEY)
    provider = make_provider("gemini")
    assert (provider.model, provider.base_url, provider.name) == (
        *("gemini-3.8-flash", "https://generativelanguage.googleapis.com"),
        "gemini",
    )
    assert make_provider("gemini:gemini-4-argon").model == "gemini-4-argon"
    assert make_provider("gemini:models/gemini-4-argon").model == "gemini-4-argon"


@pytest.mark.parametrize("variable", ["GEMINI_API_KEY", "GOOGLE_API_KEY"])
def test_its_key_makes_it_the_default(monkeypatch, variable):
    monkeypatch.setattr(discovery, "LOOPBACK_PORTS", ())
    monkeypatch.setenv(variable, KEY)
    choice = choose_default()
    assert (choice.spec, variable in choice.reason) == ("gemini", True)


async def test_a_missing_key_is_named_before_anything_is_sent(server):
    """Acceptance check 2: making the agent needs nothing."""
    with pytest.raises(AgentConfigurationError, match="GEMINI_API_KEY"):
        await Agent("gemini").run("hi")
    with pytest.raises(AgentConfigurationError, match="GEMINI_API_KEY"):
        await all_of(GeminiProvider(base_url=server.url))
    assert server.connections == 0


METHOD = ":streamGenerateContent?alt=sse"


@pytest.mark.parametrize(
    ("end", "model", "path"),
    [
        ("", "g", f"/v1beta/models/g{METHOD}"),
        ("/", "g", f"/v1beta/models/g{METHOD}"),
        ("/v1", "g", f"/v1/models/g{METHOD}"),
        ("/v1beta/", "g", f"/v1beta/models/g{METHOD}"),
        ("/v1alpha/models/x:generateContent", "g", f"/v1alpha/models/g{METHOD}"),
        ("/gateway", "g", f"/gateway/v1beta/models/g{METHOD}"),
        (
            "/v1/projects/p/locations/l/publishers/google",
            "g",
            f"/v1/projects/p/locations/l/publishers/google/models/g{METHOD}",
        ),
        ("", "models/g", f"/v1beta/models/g{METHOD}"),
        ("", "tunedModels/my-1", f"/v1beta/tunedModels/my-1{METHOD}"),
        ("", "a b?c#d", f"/v1beta/models/a%20b%3Fc%23d{METHOD}"),
    ],
)
async def test_a_base_url_is_taken_as_people_write_it(server, end, model, path):
    server.say(answer("ok"))
    url = server.url.removesuffix("/v1") + end
    await all_of(GeminiProvider(model, KEY, base_url=url))
    assert server.requests[0].path == path


async def test_the_version_may_be_chosen(server):
    server.say(answer("ok"))
    url = server.url.removesuffix("/v1")
    await all_of(GeminiProvider("g", KEY, base_url=url, api_version="v1"))
    assert server.requests[0].path == f"/v1/models/g{METHOD}"


@pytest.mark.parametrize(
    "url", [f"https://x.example/v1beta?key={KEY}", f"x.example/v1beta?key={KEY}"]
)
def test_a_key_in_the_url_is_refused_and_not_shown(url):
    with pytest.raises(AgentConfigurationError) as caught:
        GeminiProvider(base_url=url)
    assert KEY not in str(caught.value)


# ----------------------------------------------------------------------- errors


KEY_INVALID = {
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    "reason": "API_KEY_INVALID",
    "domain": "googleapis.com",
}


@pytest.mark.parametrize(
    ("reply", "cls", "words"),
    [
        (failed(400, "INVALID_ARGUMENT", "odd"), AgentProviderError, "not accept"),
        (
            failed(400, "INVALID_ARGUMENT", "API key not valid.", KEY_INVALID),
            ProviderAuthError,
            "refused the key",
        ),
        (
            failed(
                400,
                "INVALID_ARGUMENT",
                "The input token count (9) exceeds the maximum number of tokens "
                "allowed (8).",
            ),
            ContextLengthError,
            "Shorten",
        ),
        (
            failed(400, "FAILED_PRECONDITION", "User location is not supported."),
            AgentProviderError,
            "not accept",
        ),
        (failed(401, "UNAUTHENTICATED"), ProviderAuthError, "refused the key"),
        (failed(402, "X"), AgentProviderError, "out of credit"),
        (failed(403, "PERMISSION_DENIED"), ProviderAuthError, "refused the key"),
        (
            failed(404, "NOT_FOUND", "models/x is not found for API version v1beta"),
            ModelNotFoundError,
            "gemini-3.5-flash-lite",
        ),
        (failed(404, "NOT_FOUND", "no such page"), AgentProviderError, "base URL"),
        (failed(408, "CANCELLED"), ProviderTimeoutError, "Run it again"),
        (failed(409, "ABORTED"), AgentProviderError, "Run it again"),
        (failed(413, "X"), ContextLengthError, "Shorten"),
        (failed(422, "X"), AgentProviderError, "not accept"),
        (
            failed(429, "RESOURCE_EXHAUSTED", "Resource exhausted."),
            ProviderRateLimitError,
            "Too many",
        ),
        (failed(500, "INTERNAL"), AgentProviderError, "out of order"),
        (failed(503, "UNAVAILABLE"), AgentProviderError, "overloaded"),
        (failed(504, "DEADLINE_EXCEEDED"), ProviderTimeoutError, "Run it again"),
    ],
    ids=lambda each: str(each)[2:90],
)
async def test_each_refusal_has_its_class_and_says_what_to_do(
    server, reply, cls, words
):
    """Wire, section 6."""
    server.say(reply)
    failure = await failure_of(made(server, max_retries=0))
    assert type(failure) is cls
    assert words in str(failure)


USED_UP = "You exceeded your current quota, please check your plan and billing details."
A_MINUTE = "GenerateRequestsPerMinutePerProjectPerModel-FreeTier"
A_DAY = "GenerateRequestsPerDayPerProjectPerModel-FreeTier"


@pytest.mark.parametrize(
    ("message", "details", "tries"),
    [
        (USED_UP, quota(A_MINUTE, delay="0s"), 2),
        (USED_UP, quota(A_MINUTE), 2),
        (USED_UP, quota(delay="0.01s"), 2),
        (USED_UP, [], 1),
        (USED_UP, quota(A_DAY, delay="0s"), 1),
        (USED_UP, quota(A_MINUTE, A_DAY, delay="0s"), 1),
        (f"{USED_UP} * Quota exceeded, limit: 0", quota(A_MINUTE, delay="0s"), 1),
        ("Resource has been exhausted (e.g. check quota).", [], 2),
    ],
)
async def test_a_quota_of_this_minute_passes_and_one_of_the_day_does_not(
    server, message, details, tries
):
    """Google says the same of both; wire, section 6."""
    refusal = failed(429, "RESOURCE_EXHAUSTED", message, *details)
    server.say(refusal, refusal)
    failure = await failure_of(made(server, max_retries=1))
    assert type(failure) is ProviderRateLimitError
    assert len(server.requests) == tries


@pytest.mark.parametrize("in_stream", [True, False])
async def test_it_waits_as_long_as_the_error_says(server, in_stream):
    """Wire, section 6: the vendor's SDK does not."""
    details = quota(A_MINUTE, delay="0.0125s")
    body = error(429, "RESOURCE_EXHAUSTED", USED_UP, *details)
    refusal = streamed(event(body)) if in_stream else whole(429, body)
    server.say(refusal, answer("ok"))
    retry, *_ = await all_of(made(server))
    assert (type(retry), retry.wait_s) == (RetryDelta, 0.0125)


async def test_nobody_there_is_an_error_that_names_the_url():
    provider = GeminiProvider(api_key=KEY, base_url="http://127.0.0.1:1", max_retries=0)
    assert "http://127.0.0.1:1" in str(await failure_of(provider))


HALF = event(chunk(said("Half")))


@pytest.mark.parametrize(
    ("reply", "cls"),
    [
        ([HOLD], ProviderTimeoutError),
        (streamed(HOLD), ProviderTimeoutError),
        (streamed(HALF, HOLD), ProviderTimeoutError),
        ([CUT], StreamInterruptedError),
        (streamed(HALF, CUT), StreamInterruptedError),
        (streamed(event("{")), ProviderReplyError),
    ],
    ids=["silent", "silent later", "silent at last", "cut", "cut later", "bad JSON"],
)
async def test_each_trouble_on_the_way_has_its_class(server, reply, cls):
    server.say(reply)
    failure = await failure_of(made(server, max_retries=0, stall_timeout=0.05))
    assert type(failure) is cls


@pytest.mark.parametrize(
    "trouble",
    [
        failed(503, "UNAVAILABLE"),
        failed(429, "RESOURCE_EXHAUSTED"),
        failed(500, "INTERNAL"),
        failed(409, "ABORTED"),
        [CUT],
        streamed(CUT),
        streamed(event(error(503, "UNAVAILABLE"))),
        whole(200, [error(503, "UNAVAILABLE")]),
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
        failed(400, "INVALID_ARGUMENT"),
        failed(403, "PERMISSION_DENIED"),
        streamed(event(error(400, "INVALID_ARGUMENT"))),
        streamed(event({"promptFeedback": {"blockReason": "SAFETY"}})),
        stream(finish="SAFETY"),
        stream(finish="OTHER"),
    ],
    ids=lambda reply: str(reply)[2:60],
)
async def test_what_stays_is_not_tried_again(server, refusal):
    server.say(refusal, answer("ok"))
    await failure_of(made(server))
    assert len(server.requests) == 1


async def test_nothing_is_tried_again_after_the_first_text(server):
    """Wire, section 6."""
    server.say(streamed(HALF, CUT), answer("ok"))
    await failure_of(made(server))
    assert len(server.requests) == 1


async def test_a_stopped_request_closes_its_connection(server, wait_until):
    server.say(streamed(HALF, HOLD))
    deltas = made(server).respond(REQUEST)
    assert await anext(deltas) == TextDelta("Half")
    await deltas.aclose()
    await asyncio.to_thread(wait_until, lambda: server.open_connections == 0)


# ------------------------------------------------------------------------- keys


@pytest.mark.parametrize(
    "reply",
    [
        failed(400, "INVALID_ARGUMENT", f"API key not valid: {KEY}", KEY_INVALID),
        whole(500, f"<p>{KEY}</p>".encode()),
        streamed(event(error(503, "UNAVAILABLE", f"bad {KEY}"))),
        streamed(event(f"{{{KEY}")),
        stream(finish="SAFETY", finishMessage=KEY),
        stream(finish="OTHER", finishMessage=KEY),
        whole(200, {"promptFeedback": {"blockReason": "X", "blockReasonMessage": KEY}}),
        whole(200, {"hello": KEY}),
        [CUT],
        [HOLD],
    ],
    ids=["400", "500", "in the stream", "bad JSON", "safety", "other", "prompt",
         "no reply", "cut", "silent"],
)  # fmt: skip
async def test_no_error_event_or_log_shows_the_key(server, reply, caplog):
    """Design, section 13: a key in a log or error, never."""
    caplog.set_level(logging.DEBUG)
    server.say(*[reply] * 3)
    provider = made(server, max_retries=1, stall_timeout=0.1)
    agent = Agent(provider)
    with pytest.raises(AgentProviderError) as caught:
        await agent.run("hi")
    failure = caught.value
    shown = [
        repr(vars(failure)),
        pickle.dumps(failure).decode("latin-1"),
        "".join(traceback.format_exception(failure)),
        repr(vars(provider)),
        repr(provider),
        repr(agent),
        repr([event.to_dict() for event in agent.last_run.recorded]),
        caplog.text,
    ]
    assert [each for each in shown if KEY in each] == []
    sent = server.requests[0]
    assert sent.headers["x-goog-api-key"] == KEY
    assert KEY not in sent.path


# --------------------------------------------------------------------- promises


class _StandIn(BaseHTTPRequestHandler):
    """A model that says hello, and calls the tool where it must."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        size = int(self.headers["content-length"])
        asked = json.loads(self.rfile.read(size))
        choice = asked.get("toolConfig", {}).get("functionCallingConfig", {})
        replied = adds((1, 2)) if choice.get("mode") == "ANY" else answer("Hello.")
        for piece in replied:
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
            lambda: GeminiProvider(None, KEY, base_url=url), secret=KEY
        )
        server.shutdown()
    thread.join(5)
    assert left == []
