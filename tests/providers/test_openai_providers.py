"""Services are found, fail in words, are tried again, and never show a key."""

from __future__ import annotations

import asyncio
import logging
import pickle
import traceback
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from notebook_agents import Agent
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
from notebook_agents.events import RetryEvent
from notebook_agents.messages import Message
from notebook_agents.providers import (
    HuggingFaceProvider,
    LlamaCppProvider,
    ModelReply,
    ModelRequest,
    OllamaProvider,
    OpenAICompatibleProvider,
    OpenAIProvider,
    OpenRouterProvider,
    RetryDelta,
    TextDelta,
    _retry,
)
from notebook_agents.providers._retry import asked_wait, wait_before
from notebook_agents.providers.registry import make_provider
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

KEY = "sk-very-secret-0123456789"
REQUEST = ModelRequest(messages=[Message("user", "hi")])


@pytest.fixture
def server(transport):
    """Serve what either way of sending requests may ask."""
    with wire_server() as running:
        yield running


def made(server, **options) -> OpenAICompatibleProvider:
    return OpenAICompatibleProvider(server.url, "m", KEY, **options)


async def all_of(provider) -> list:
    return [item async for item in provider.respond(REQUEST)]


async def failure_of(provider) -> Exception:
    with pytest.raises((AgentProviderError, AgentConfigurationError)) as caught:
        await all_of(provider)
    return caught.value


# ------------------------------------------------------------ names and defaults


@pytest.mark.parametrize(
    ("spec", "variables", "url", "model"),
    [
        ("openai", {"OPENAI_API_KEY": KEY}, "https://api.openai.com/v1", "gpt-6-luna"),
        (
            "openrouter:a/b",
            {"OPENROUTER_API_KEY": KEY},
            "https://openrouter.ai/api/v1",
            "a/b",
        ),
        (
            "huggingface",
            {"HF_TOKEN": KEY},
            "https://router.huggingface.co/v1",
            "openai/gpt-oss-120b",
        ),
        (
            "huggingface:m",
            {"HF_TOKEN": KEY, "HUGGINGFACE_BASE_URL": "https://x.example/v1/"},
            "https://x.example/v1",
            "m",
        ),
        ("ollama:llama3:8b", {}, "http://127.0.0.1:11434/v1", "llama3:8b"),
        ("ollama", {"OLLAMA_HOST": "0.0.0.0:99"}, "http://127.0.0.1:99/v1", ""),
        ("ollama", {"OLLAMA_HOST": "box"}, "http://box:11434/v1", ""),
        ("ollama", {"OLLAMA_HOST": "https://box/"}, "https://box/v1", ""),
        ("lmstudio:m", {}, "http://127.0.0.1:1234/v1", "m"),
        ("llamacpp", {"LLAMACPP_BASE_URL": "http://b:1/v1"}, "http://b:1/v1", ""),
        (
            "openai-compatible",
            {"LLM_BASE_URL": "http://b:1/v1", "LLM_MODEL": "m", "LLM_API_KEY": "x"},
            "http://b:1/v1",
            "m",
        ),
    ],
)
def test_a_name_is_a_service(spec, variables, url, model, monkeypatch):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    provider = make_provider(spec)
    assert (provider.base_url, provider.model) == (url, model)
    assert provider.name == spec.partition(":")[0]


@pytest.mark.parametrize(
    ("spec", "variable"),
    [
        ("openai", "OPENAI_API_KEY"),
        ("openrouter", "OPENROUTER_API_KEY"),
        ("huggingface", "HF_TOKEN"),
        ("openai-compatible", "LLM_BASE_URL"),
    ],
)
async def test_what_is_missing_is_named_at_the_first_run(spec, variable):
    """Acceptance check 2: making the agent needs nothing."""
    agent = Agent(spec)
    with pytest.raises(AgentConfigurationError, match=variable):
        await agent.run("hi")


async def test_a_missing_key_is_noticed_before_anything_is_sent(server):
    provider = OpenAIProvider(base_url=server.url)
    with pytest.raises(AgentConfigurationError, match="OPENAI_API_KEY"):
        await all_of(provider)
    assert server.connections == 0


async def test_a_key_that_comes_later_counts(server, monkeypatch):
    server.say(answer("ok"))
    provider = OpenAIProvider(base_url=server.url)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    await all_of(provider)
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


async def test_a_key_too_short_to_be_one_is_refused(server, monkeypatch):
    """Requirement A74."""
    monkeypatch.setenv("OPENAI_API_KEY", "short")
    with pytest.raises(AgentConfigurationError, match="too short") as caught:
        await all_of(OpenAIProvider(base_url=server.url))
    assert "'short'" not in str(caught.value)


async def test_without_a_key_none_is_sent(server):
    server.say(answer("ok"))
    await all_of(OpenAICompatibleProvider(server.url, "m"))
    assert "authorization" not in server.requests[0].headers


async def test_openrouter_is_told_who_asks(server):
    """Requirement A49."""
    server.say(answer("ok"))
    await all_of(OpenRouterProvider("a/b", KEY, base_url=server.url))
    assert {"http-referer", "x-title"} <= server.requests[0].headers.keys()


async def test_more_headers_win(server):
    server.say(answer("ok"))
    await all_of(made(server, extra_headers={"Authorization": "Basic x", "X-A": "b"}))
    sent = server.requests[0].headers
    assert (sent["authorization"], sent["x-a"]) == ("Basic x", "b")


async def test_a_server_is_asked_for_its_model(server):
    server.say(
        whole(200, {"data": [{"id": "nomic-embed-text"}, {"id": "llama3.2"}]}),
        answer("ok"),
        answer("ok"),
    )
    provider = OllamaProvider(base_url=server.url)
    await all_of(provider)
    await all_of(provider)
    assert provider.model == "llama3.2"
    assert [r.path for r in server.requests] == [
        "/v1/models",
        "/v1/chat/completions",
        "/v1/chat/completions",
    ]


async def test_a_server_without_a_model_says_how_to_get_one(server):
    server.say(whole(200, {"object": "list", "data": None}))
    with pytest.raises(AgentConfigurationError, match="ollama pull"):
        await all_of(OllamaProvider(base_url=server.url))


async def test_a_provider_can_be_asked_as_those_of_others(server):
    """Requirement A46."""
    server.say(answer("ok"), answer("ok"))
    ask = [{"role": "user", "content": "hi"}]
    assert (await made(server).chat(ask)).content == "ok"
    assert [text async for text in made(server).stream(ask)] == ["ok"]


# ---------------------------------------------------------------------- options


@pytest.mark.parametrize(
    "url", ["", "localhost:8000", "ftp://a", "http://", "http://a b", "http://a:b"]
)
def test_a_base_url_must_be_one(url):
    with pytest.raises(AgentConfigurationError, match="base URL"):
        OpenAICompatibleProvider(url, "m")


def test_a_password_does_not_belong_into_the_url():
    with pytest.raises(AgentConfigurationError) as caught:
        OpenAICompatibleProvider("http://me:hunter2@host/v1", "m")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "key", ["sk-line\nbreak-x", "sk-\u0440\u043e-secret", "two words"]
)
def test_a_key_that_cannot_be_one_is_refused_without_showing_it(key):
    """An HTTP library would show it."""
    with pytest.raises(AgentConfigurationError) as caught:
        OpenAIProvider("m", key)
    assert key not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    "options",
    [
        {"timeout": 0},
        {"connect_timeout": -1},
        {"stall_timeout": "90"},
        {"max_retries": -1},
        {"max_concurrency": 0},
        {"extra_headers": {"X-A": "a\nb"}},
    ],
    ids=str,
)
def test_an_option_must_make_sense(options):
    with pytest.raises(AgentConfigurationError, match=next(iter(options))):
        OpenAICompatibleProvider("http://a/v1", "m", **options)


def test_an_unknown_option_names_the_known_ones():
    with pytest.raises(TypeError, match=r"'retries'.*max_retries"):
        OpenAICompatibleProvider("http://a/v1", "m", retries=3)


def test_making_one_needs_no_network_and_no_loop():
    for kind in (OpenAIProvider, OpenRouterProvider, HuggingFaceProvider):
        assert kind().model
    assert LlamaCppProvider().model == ""


async def test_no_more_requests_at_once_than_allowed(server, wait_until):
    server.say([HOLD], answer("ok"))
    provider = made(server, max_concurrency=1)
    first = asyncio.create_task(all_of(provider))
    second = asyncio.create_task(all_of(provider))
    await asyncio.to_thread(wait_until, lambda: server.requests)
    assert len(server.requests) == 1
    first.cancel()
    assert (await second)[-1].text == "ok"


async def test_a_stopped_request_closes_its_connection(server, wait_until):
    server.say(streamed(event(delta(content="a")), HOLD))
    deltas = made(server).respond(REQUEST)
    assert await anext(deltas) == TextDelta("a")
    await deltas.aclose()
    await asyncio.to_thread(wait_until, lambda: server.open_connections == 0)


async def test_certificates_of_the_environment_are_read(monkeypatch):
    monkeypatch.setenv("CA_BUNDLE_PATH", "/nowhere.pem")
    with pytest.raises(AgentConfigurationError, match="nowhere"):
        await all_of(OpenAICompatibleProvider("https://127.0.0.1:1/v1", "m", KEY))


async def test_a_key_for_a_service_that_needs_none_is_its_own(server, monkeypatch):
    """The key of one base URL must not go to another."""
    monkeypatch.setenv("LLM_API_KEY", KEY)
    monkeypatch.setenv("LLM_BASE_URL", server.url)
    server.say(answer("ok"), answer("ok"))
    await all_of(make_provider("openai-compatible:m"))
    await all_of(OpenAICompatibleProvider(server.url, "m"))
    keys = [request.headers.get("authorization") for request in server.requests]
    assert keys == [f"Bearer {KEY}", None]


async def test_a_list_of_models_that_is_refused_is_an_error(server):
    server.say(whole(401, {"error": "no"}))
    assert isinstance(
        await failure_of(OllamaProvider(base_url=server.url)), ProviderAuthError
    )


# ----------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("status", "body", "cls", "words"),
    [
        (400, "odd", AgentProviderError, "did not accept"),
        (401, "no", ProviderAuthError, "refused the key"),
        (403, "no", ProviderAuthError, "refused the key"),
        (402, "no", AgentProviderError, "out of credit"),
        (404, "not found", AgentProviderError, "/v1"),
        (404, "model 'm' not found", ModelNotFoundError, "'m'"),
        (400, "m is not a valid model ID", ModelNotFoundError, "'m'"),
        (408, "slow", ProviderTimeoutError, "Run it again"),
        (409, "busy", AgentProviderError, "Run it again"),
        (413, "big", ContextLengthError, "Shorten"),
        (422, "odd", AgentProviderError, "did not accept"),
        (429, "slow down", ProviderRateLimitError, "Too many"),
        (429, "You exceeded your current quota", ProviderRateLimitError, "billing"),
        (500, "oops", AgentProviderError, "out of order"),
        (503, "oops", AgentProviderError, "out of order"),
        (504, "oops", ProviderTimeoutError, "Run it again"),
        (529, "overloaded", AgentProviderError, "overloaded"),
        (307, "there", AgentProviderError, "moved"),
        (400, "maximum context length is 8192", ContextLengthError, "Shorten"),
        (400, "blocked by content_filter", ContentFilteredError, "content rules"),
        (400, "m does not support tools", AgentProviderError, "another model"),
    ],
)
async def test_each_refusal_has_its_class_and_says_what_to_do(
    server, status, body, cls, words
):
    server.say(whole(status, {"error": {"message": body}}))
    error = await failure_of(made(server, max_retries=0))
    assert type(error) is cls
    assert words in str(error)
    assert body in str(error)
    assert getattr(error, "provider_status", status) == status


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "it broke"}},
        {"error": "it broke"},
        {"message": "it broke"},
        {"detail": "it broke"},
        [{"error": {"message": "it broke"}}],
        {"error": {"message": "Provider", "metadata": {"raw": "it broke"}}},
        b"<html><style>p{}</style><p>it broke</p></html>",
    ],
    ids=str,
)
async def test_the_words_of_the_service_are_found(server, body):
    server.say(whole(400, body))
    error = str(await failure_of(made(server)))
    assert "it broke" in error
    assert "<" not in error


async def test_the_words_of_the_service_are_cut(server):
    """Requirement A47."""
    server.say(whole(400, {"error": {"message": "x" * 5000}}))
    assert str(await failure_of(made(server))).count("x") <= 505


@pytest.mark.parametrize(
    ("words", "times"), [(b"x", 3_000_000), (b"<", 1_000_000), (b"<script", 140_000)]
)
async def test_an_error_of_any_size_is_survived(server, words, times):
    server.say(whole(500, words * times))
    assert "500" in str(await failure_of(made(server, max_retries=0)))


@pytest.mark.usefixtures("transport")
async def test_nobody_there_says_how_to_start_it():
    provider = OllamaProvider("m", base_url=nobody(), max_retries=0)
    error = await failure_of(provider)
    assert "ollama serve" in str(error)
    assert isinstance(error.original, ConnectionRefusedError)


@pytest.mark.parametrize(
    ("reply", "cls"),
    [
        ([HOLD], ProviderTimeoutError),
        (streamed(b": comment\n\n", HOLD), ProviderTimeoutError),
        ([CUT], StreamInterruptedError),
        (streamed(b": comment\n\n", CUT), StreamInterruptedError),
        (streamed(event("{")), ProviderReplyError),
    ],
    ids=["silent", "silent later", "cut", "cut later", "bad JSON"],
)
async def test_each_trouble_on_the_way_has_its_class(server, reply, cls):
    server.say(reply)
    error = await failure_of(made(server, max_retries=0, stall_timeout=0.05))
    assert type(error) is cls
    assert (error.provider, error.retryable) == (
        "openai-compatible",
        cls is not ProviderReplyError,
    )


async def test_a_reply_may_take_only_so_long(server):
    server.say(streamed(event(delta(content="a")), HOLD))
    error = await failure_of(made(server, timeout=0.05))
    assert "timeout=" in str(error)


async def test_an_error_can_be_sent_to_another_process(server):
    server.say(whole(429, {"error": {"message": "no"}}, retry_after="7"))
    error = await failure_of(made(server, max_retries=0))
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert (str(again), again.retry_after) == (str(error), 7.0)


def nobody() -> str:
    import socket

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{listener.getsockname()[1]}/v1"


# ---------------------------------------------------------------------- retries

SLOW_DOWN = whole(429, {"error": {"message": "slow down"}}, retry_after_ms="1")


@pytest.mark.parametrize(
    "trouble",
    [
        whole(408, {}),
        whole(409, {}),
        SLOW_DOWN,
        whole(500, {}),
        whole(529, {}),
        [CUT],
        [HOLD],
        streamed(b": comment\n\n", CUT),
        streamed(event({"error": {"message": "overloaded", "code": 503}})),
    ],
    ids=lambda reply: str(reply[0])[2:40],
)
async def test_what_may_pass_is_tried_again(server, trouble):
    server.say(trouble, answer("ok"))
    retry, *_, reply = await all_of(made(server, stall_timeout=0.1))
    assert isinstance(retry, RetryDelta)
    assert (retry.attempt, retry.discard_partial) == (1, False)
    assert retry.reason
    assert reply == ModelReply(text="ok")


@pytest.mark.parametrize(
    "refusal",
    [
        whole(400, {}),
        whole(401, {}),
        whole(402, {}),
        whole(403, {}),
        whole(404, {}),
        whole(422, {}),
        whole(429, {"error": {"code": "insufficient_quota", "message": "no"}}),
        whole(500, {}, x_should_retry="false"),
        whole(500, {"error": {"message": "maximum context length"}}, x_should_retry="false"),
    ],
    ids=lambda reply: str(reply[0])[2:30],
)  # fmt: skip
async def test_what_stays_is_not_tried_again(server, refusal):
    server.say(refusal, answer("ok"))
    await failure_of(made(server))
    assert len(server.requests) == 1


async def test_nothing_is_tried_again_after_the_first_text(server):
    """Wire, section 6."""
    server.say(streamed(event(delta(content="a")), CUT), answer("ok"))
    await failure_of(made(server))
    assert len(server.requests) == 1


@pytest.mark.parametrize("most", [0, 1, 3])
async def test_there_are_as_many_retries_as_allowed(server, most):
    """Trap W45: zero is one try."""
    server.say(*[SLOW_DOWN] * 5)
    error = await failure_of(made(server, max_retries=most))
    assert isinstance(error, ProviderRateLimitError)
    assert error.retry_after == 0.001
    assert len(server.requests) == most + 1


async def test_a_call_that_groq_could_not_read_is_tried_once_more(server):
    """Wire, table 1.4."""
    failed = (
        b'event: error\ndata: {"error":{"code":"tool_use_failed","message":"x"}}\n\n'
    )
    server.say(*[streamed(failed)] * 3)
    await failure_of(made(server))
    assert len(server.requests) == 2


async def test_a_retry_is_an_event_of_the_run(server):
    server.say(SLOW_DOWN, answer("ok"))
    result = await Agent(made(server)).run("hi")
    (retry,) = [e for e in result.events if isinstance(e, RetryEvent)]
    assert (retry.attempt, retry.wait_s) == (1, 0.001)
    assert "429" in retry.reason
    assert result.answer == "ok"


async def test_a_retry_may_void_the_text_so_far():
    class Restarts(OpenAICompatibleProvider):
        async def respond(self, request):
            yield TextDelta("half")
            yield RetryDelta(1, 0.0, "it broke", discard_partial=True)
            raise AgentProviderError("it broke again")  # noqa: EM101

    agent = Agent(Restarts("http://a/v1", "m"))
    with pytest.raises(AgentProviderError):
        await agent.run("hi")
    assert not agent.last_run._turn.answer.startswith("half")


NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7),
        ({"retry-after": "0"}, 0),
        ({"retry-after-ms": "1500", "retry-after": "7"}, 1.5),
        ({"retry-after": format_datetime(NOW + timedelta(seconds=9), usegmt=True)}, 9),
        ({"retry-after": format_datetime(NOW - timedelta(seconds=9), usegmt=True)}, 0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
    ],
    ids=str,
)
def test_the_service_may_say_how_long_to_wait(headers, seconds):
    assert asked_wait(headers, now=NOW) == seconds


def test_no_wait_is_longer_than_two_minutes():
    assert wait_before(1, 9999) == 120


def test_waits_grow_and_are_random(monkeypatch):
    monkeypatch.setattr(_retry, "FIRST_SECONDS", 0.5)
    monkeypatch.setattr("random.uniform", lambda least, most: (least, most))
    spans = [wait_before(n) for n in (1, 2, 3, 4, 5, 6, 500)]
    assert spans == [(0, 0.5), (0, 1), (0, 2), (0, 4), (0, 8), (0, 8), (0, 8)]


# ------------------------------------------------------------------------- keys


@pytest.mark.parametrize(
    "reply",
    [
        whole(401, {"error": {"message": f"Incorrect API key provided: {KEY}"}}),
        whole(500, f"<p>{KEY}</p>".encode()),
        streamed(event({"error": {"message": f"bad {KEY}"}})),
        streamed(event(f"{{{KEY}")),
        whole(200, {"hello": KEY}),
        streamed(event(delta(content="a")), CUT),
        [CUT],
        [HOLD],
    ],
    ids=["401", "500", "in the stream", "bad JSON", "no reply", "cut", "cut early",
         "silent"],
)  # fmt: skip
async def test_no_error_event_or_log_shows_the_key(server, reply, caplog):
    """Requirement W23 and design, section 13: a key in a log or error, never."""
    caplog.set_level(logging.DEBUG)
    server.say(*[reply] * 3)
    provider = made(
        server,
        max_retries=1,
        stall_timeout=0.1,
        extra_headers={"X-Api-Key": "another-secret-value"},
    )
    agent = Agent(provider)
    with pytest.raises(AgentProviderError) as caught:
        await agent.run("hi")
    error = caught.value
    shown = [
        str(error),
        repr(error),
        repr(vars(error)),
        pickle.dumps(error).decode("latin-1"),
        "".join(traceback.format_exception(error)),
        repr(provider),
        repr(agent),
        repr([event.to_dict() for event in agent.last_run.recorded]),
        caplog.text,
    ]
    for secret in (KEY, "another-secret-value"):
        assert [text for text in shown if secret in text] == []
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


async def test_a_key_is_not_among_the_attributes_in_the_open(server):
    assert KEY not in repr(vars(made(server)))


# --------------------------------------------------------------- across threads


def test_one_agent_works_from_many_loops(server):
    """Wire, section 8, item 7."""
    server.say(*[answer("ok")] * 4)
    agent = Agent(made(server))
    with asyncio.Runner() as runner:
        assert runner.run(agent.run("hi")).answer == "ok"
    with asyncio.Runner() as runner:
        assert runner.run(agent.run("hi")).answer == "ok"
    assert agent.run_sync("hi").answer == "ok"
    assert agent.run_sync("hi").answer == "ok"


async def test_the_last_marker_is_not_needed_to_answer_an_agent(server):
    server.say(streamed(event(delta(content="ok")), STOP), streamed(DONE))
    assert (await Agent(made(server)).run("hi")).answer == "ok"
