"""`OpenAIProvider`: which endpoint it takes, how it fails, and what it never shows."""

from __future__ import annotations

import asyncio
import json
import logging
import pickle
import threading
import traceback
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from notebook_agents import Agent, tool
from notebook_agents.errors import (
    AgentConfigurationError,
    AgentProviderError,
    ContentFilteredError,
    ContextLengthError,
    ModelNotFoundError,
    ProviderAuthError,
    ProviderRateLimitError,
    ProviderTimeoutError,
    StreamInterruptedError,
)
from notebook_agents.messages import Message
from notebook_agents.providers import (
    ModelRequest,
    OpenAIProvider,
    RetryDelta,
    TextDelta,
    _reading,
    discovery,
)
from notebook_agents.providers.registry import choose_default, make_provider
from notebook_agents.testing import check_provider
from tests.providers import wire
from tests.providers.responses_wire import (
    CREATED,
    answer,
    events_of,
    failed,
    function_call,
    message,
    reasoning,
    reply,
    text_delta,
    to_bytes,
)
from tests.providers.wire import CUT, HOLD, event, streamed, whole

KEY = "sk-very-secret-0123456789"
REQUEST = ModelRequest(messages=[Message("user", "hi")])


def made(server, **options) -> OpenAIProvider:
    options = {"api_key": KEY, "api": "responses", "base_url": server.url, **options}
    return OpenAIProvider("gpt-6-luna", **options)


async def all_of(provider) -> list:
    return [item async for item in provider.respond(REQUEST)]


# ------------------------------------------------------------------ the endpoint


@pytest.mark.parametrize(
    ("options", "api"),
    [
        ({}, "responses"),
        ({"api": "chat"}, "chat"),
        ({"base_url": "https://api.openai.com/v1/"}, "responses"),
        ({"base_url": "https://api.openai.com/v1/responses"}, "responses"),
        ({"base_url": "https://eu.api.openai.com/v1"}, "responses"),
        ({"base_url": "https://gateway.example/v1"}, "chat"),
        ({"base_url": "https://api.openai.com.example/v1"}, "chat"),
        ({"base_url": "https://notapi.openai.com/v1"}, "chat"),
        ({"base_url": "http://localhost:1/v1", "api": "responses"}, "responses"),
    ],
    ids=str,
)
def test_openai_itself_is_asked_by_responses_and_others_by_chat(options, api):
    """Design, section 17."""
    assert OpenAIProvider(**options).api == api


def test_the_name_of_a_model_is_enough(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    provider = make_provider("openai:gpt-6.1-sol")
    assert (provider.api, provider.model) == ("responses", "gpt-6.1-sol")
    assert provider.base_url == "https://api.openai.com/v1"


def test_the_only_key_that_is_set_chooses_it(monkeypatch):
    monkeypatch.setattr(discovery, "LOOPBACK_PORTS", ())
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert choose_default().spec == "openai"


@pytest.mark.parametrize("api", ["completions", "", "Responses", True])
def test_an_endpoint_that_there_is_not_names_those_that_there_are(api):
    with pytest.raises(AgentConfigurationError, match="'responses' or 'chat'"):
        OpenAIProvider(api=api)


@pytest.mark.parametrize(
    ("api", "path", "said"),
    [
        ("responses", "/v1/responses", answer("ok")),
        ("chat", "/v1/chat/completions", wire.answer("ok")),
        (None, "/v1/chat/completions", wire.answer("ok")),
    ],
)
async def test_each_endpoint_has_its_path(server, api, path, said):
    server.say(said)
    assert (await all_of(made(server, api=api)))[-1].text == "ok"
    assert server.requests[0].path == path


async def test_a_missing_key_is_noticed_before_anything_is_sent(server):
    with pytest.raises(AgentConfigurationError, match="OPENAI_API_KEY"):
        await all_of(made(server, api_key=None))
    assert server.connections == 0


# ----------------------------------------------------------------- how it fails


def refusal(status: int, said: str, code: str | None = None, **headers: str):
    error = {"message": said, "type": "invalid_request_error", "code": code}
    return whole(status, {"error": {**error, "param": None}}, **headers)


@pytest.mark.parametrize(
    ("said", "cls", "words"),
    [
        (refusal(400, "odd"), AgentProviderError, "did not accept"),
        (refusal(401, "Incorrect API key provided"), ProviderAuthError, "the key"),
        (refusal(402, "no"), AgentProviderError, "out of credit"),
        (refusal(403, "no"), ProviderAuthError, "refused the key"),
        (refusal(404, "Not found"), AgentProviderError, "api='chat'"),
        (
            refusal(404, "The model `x` does not exist", "model_not_found"),
            ModelNotFoundError,
            "'gpt-6-luna'",
        ),
        (refusal(408, "slow"), ProviderTimeoutError, "Run it again"),
        (refusal(409, "busy"), AgentProviderError, "Run it again"),
        (refusal(413, "big"), ContextLengthError, "Shorten"),
        (refusal(422, "odd"), AgentProviderError, "did not accept"),
        (refusal(429, "slow down", "rate_limit_exceeded"), ProviderRateLimitError, "Too many"),
        (refusal(429, "no", "insufficient_quota"), ProviderRateLimitError, "billing"),
        (refusal(500, "oops"), AgentProviderError, "out of order"),
        (refusal(503, "oops"), AgentProviderError, "out of order"),
        (refusal(529, "oops"), AgentProviderError, "overloaded"),
        (
            refusal(400, "too long", "context_length_exceeded"),
            ContextLengthError,
            "Shorten",
        ),
        (
            refusal(400, "flagged: usage policy", "invalid_prompt"),
            ContentFilteredError,
            "content rules",
        ),
        ([HOLD], ProviderTimeoutError, "stall_timeout="),
        ([CUT], StreamInterruptedError, "Run it again"),
    ],
    ids=lambda said: str(said[0])[2:24] if isinstance(said, list) else "",
)  # fmt: skip
async def test_each_failure_has_its_class_and_says_what_to_do(server, said, cls, words):
    server.say(said)
    stall = 0.1 if said == [HOLD] else 60
    provider = made(server, max_retries=0, stall_timeout=stall)
    with pytest.raises((AgentProviderError, AgentConfigurationError)) as caught:
        await all_of(provider)
    assert type(caught.value) is cls
    assert words in str(caught.value)


async def test_nobody_there_is_told(server):
    provider = made(server, max_retries=0, base_url="http://127.0.0.1:9/v1")
    with pytest.raises(AgentProviderError, match="Nothing answers at"):
        await all_of(provider)


async def test_a_reply_without_an_end_is_no_answer_but_an_error(server, monkeypatch):
    monkeypatch.setattr(_reading, "MOST_WHOLE_BYTES", 1000)
    server.say(streamed(*to_bytes([CREATED]), b"data: " + b"x" * 2000, HOLD))
    with pytest.raises(AgentProviderError, match="too large"):
        await all_of(made(server, max_retries=0))


async def test_what_may_pass_is_tried_again_after_the_time_it_asks_for(server):
    server.say(refusal(429, "slow down", retry_after_ms="2"), answer("ok"))
    retry, *_, last = await all_of(made(server))
    assert retry == RetryDelta(1, 0.002, "openai answered 429")
    assert last.text == "ok"


async def test_a_stopped_request_closes_its_connection(server, wait_until):
    server.say(reply(CREATED, text_delta("a"), HOLD))
    deltas = made(server).respond(REQUEST)
    assert await anext(deltas) == TextDelta("a")
    await deltas.aclose()
    await asyncio.to_thread(wait_until, lambda: server.open_connections == 0)


def test_one_agent_works_from_many_loops(server):
    server.say(*[answer("ok")] * 3)
    agent = Agent(made(server))
    for _ in range(2):
        with asyncio.Runner() as runner:
            assert runner.run(agent.run("hi")).answer == "ok"
    assert agent.run_sync("hi").answer == "ok"


# ------------------------------------------------------------- what it never shows


@pytest.mark.parametrize(
    "said",
    [
        whole(401, {"error": {"message": f"Incorrect API key provided: {KEY}"}}),
        whole(500, f"<p>{KEY}</p>".encode()),
        reply(CREATED, failed("server_error", f"bad {KEY}")),
        reply({"type": "error", "code": KEY, "message": f"bad {KEY}"}),
        streamed(event(f"{{{KEY}")),
        whole(200, {"hello": KEY}),
        reply(CREATED, text_delta("a"), CUT),
    ],
    ids=["401", "500", "failed", "error", "bad JSON", "no reply", "cut"],
)
async def test_no_error_event_or_log_shows_the_key(server, said, caplog):
    """Design, section 13."""
    caplog.set_level(logging.DEBUG)
    server.say(*[said] * 2)
    provider = made(server, max_retries=1)
    agent = Agent(provider)
    with pytest.raises(AgentProviderError) as caught:
        await agent.run("hi")
    error = caught.value
    shown = [
        str(error),
        repr(vars(error)),
        pickle.dumps(error).decode("latin-1"),
        "".join(traceback.format_exception(error)),
        repr(provider),
        repr(agent),
        repr([event.to_dict() for event in agent.last_run.recorded]),
        caplog.text,
    ]
    assert [text for text in shown if KEY in text] == []
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


# --------------------------------------------------------- a service that looks


class _StandIn(BaseHTTPRequestHandler):
    """Answers anything with text, and calls ``add`` where it must."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.answer(*self.look_at(body))

    def look_at(self, body: dict) -> tuple[int, str, bytes]:
        item = message("Hello.")
        if body.get("tool_choice") == "required":
            item = function_call("add", '{"a":1,"b":2}', "call_1")
        events = events_of(reasoning("hm"), item)
        return 200, "text/event-stream", b"".join(to_bytes(events))

    def answer(self, status: int, kind: str, raw: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


class _Unverified(_StandIn):
    """Shows no summaries, and says so only when three have asked for one."""

    asked = threading.Barrier(3, timeout=5)

    def look_at(self, body: dict) -> tuple[int, str, bytes]:
        if "reasoning" not in body:
            return super().look_at(body)
        self.asked.wait()
        said = "Your organization must be verified to generate reasoning summaries."
        error = {"message": said, "param": "reasoning.summary"}
        return 400, "application/json", json.dumps({"error": error}).encode()


class _Counting(_StandIn):
    """Names the first call of each reply alike, and answers two runs at once."""

    asked = threading.Barrier(2, timeout=5)

    def look_at(self, body: dict) -> tuple[int, str, bytes]:
        question, *rest = body["input"]
        if rest:
            told = [rest[0].get("encrypted_content"), rest[-1]["output"]]
            items = [message(f"{told}")]
        else:
            n = question["content"]
            call = function_call("note", f'{{"n":{n}}}', "call_0")
            items = [reasoning("hm", encrypted=n), call]
        self.asked.wait()
        return 200, "text/event-stream", b"".join(to_bytes(events_of(*items)))


@contextmanager
def served(handler: type[_StandIn]) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    with closing(server.socket):
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
    thread.join(5)


def test_it_keeps_every_promise_of_a_provider():
    with served(_StandIn) as url:
        left = check_provider(
            lambda: OpenAIProvider("gpt-6-luna", KEY, api="responses", base_url=url),
            secret=KEY,
        )
    assert left == []


async def test_several_requests_learn_the_same_at_once():
    """All were sent before the first was refused."""
    with served(_Unverified) as url:
        provider = OpenAIProvider("m", KEY, api="responses", base_url=url)
        asked = replace(REQUEST, params={"reasoning": {"summary": "auto"}})

        async def ask() -> str:
            return [item async for item in provider.respond(asked)][-1].text

        assert await asyncio.gather(ask(), ask(), ask()) == ["Hello."] * 3


async def test_two_runs_of_one_agent_keep_their_thoughts_apart():
    @tool
    def note(n: int) -> int:
        """Note."""
        return n

    with served(_Counting) as url:
        provider = OpenAIProvider("gpt-6-luna", KEY, api="responses", base_url=url)
        agent = Agent(provider, [note])
        runs = [agent.run(n, prior_messages=[]) for n in ("1", "2")]
        answers = [result.answer for result in await asyncio.gather(*runs)]
    assert answers == ["['1', '1']", "['2', '2']"]
