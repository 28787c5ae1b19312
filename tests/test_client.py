"""A model service asked directly."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import pickle
import threading

import pytest

from notebook_agents import Agent, LLMClient, tool
from notebook_agents.errors import (
    AgentConfigurationError,
    AgentProviderError,
    MissingFileError,
    ModelNotFoundError,
    ProviderAuthError,
    ProviderRateLimitError,
    ProviderReplyError,
    ProviderTimeoutError,
)
from notebook_agents.providers import OpenAICompatibleProvider, _retry
from tests.providers.wire import HOLD, answer, head, whole, wire_server

KEY = "a-very-secret-key"
HELLO = {
    "id": "c1",
    "object": "chat.completion",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello"}}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1},
}
MESSAGES = [{"role": "user", "content": "Hi"}]
BUSY = whole(429, {"error": {"message": "slow down"}}, retry_after="0")
BROKEN = whole(503, {"error": {"message": "overloaded"}})


@pytest.fixture
def server():
    with wire_server() as running:
        yield running


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    monkeypatch.setattr(_retry, "FIRST_SECONDS", 0.001)


def client(server, **options) -> LLMClient:
    return LLMClient(server.url, KEY, "m", **options)


def vectors(*rows: list[float]) -> dict:
    return {"data": [{"index": i, "embedding": row} for i, row in enumerate(rows)]}


# ----------------------------------------------------------------- whole replies


async def test_a_reply_comes_as_the_service_sent_it(server):
    server.say(whole(200, HELLO))
    async with client(server) as asked:
        assert await asked.chat_completions(MESSAGES) == HELLO
    [request] = server.requests
    assert (request.method, request.path) == ("POST", "/v1/chat/completions")
    assert request.body == {
        "model": "m",
        "messages": MESSAGES,
        "temperature": 0.7,
        "max_tokens": 1024,
    }


async def test_the_key_goes_by_both_names(server):
    server.say(whole(200, HELLO))
    await client(server).chat_completions(MESSAGES)
    headers = server.requests[0].headers
    assert headers["authorization"] == f"Bearer {KEY}"
    assert headers["x-api-key"] == KEY


async def test_all_else_is_passed_on(server):
    server.say(whole(200, HELLO))
    schema = {"type": "json_schema", "json_schema": {"name": "a", "schema": {}}}
    function = {"type": "function", "function": {"name": "f", "parameters": {}}}
    await client(server).chat_completions(
        MESSAGES,
        [function],
        temperature=None,
        max_tokens=None,
        response_format=schema,
        seed=3,
        tool_choice="auto",
    )
    assert server.requests[0].body == {
        "model": "m",
        "messages": MESSAGES,
        "tools": [function],
        "response_format": schema,
        "seed": 3,
        "tool_choice": "auto",
    }


async def test_parts_of_a_message_are_left_as_they_are(server):
    server.say(whole(200, HELLO))
    parts = [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]
    await client(server).chat_completions([{"role": "user", "content": parts}])
    assert server.requests[0].body["messages"][0]["content"] == parts


async def test_what_a_service_refuses_is_left_out(server):
    refused = (
        "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    )
    server.say(whole(400, {"error": {"message": refused}}), whole(200, HELLO))
    await client(server).chat_completions(MESSAGES, max_tokens=5)
    body = server.requests[1].body
    assert body["max_completion_tokens"] == 5
    assert "max_tokens" not in body


async def test_a_model_that_is_not_named_is_the_first_that_can_chat(server):
    server.say(whole(200, {"data": [{"id": "embed"}, {"id": "llama"}]}))
    server.say(whole(200, HELLO))
    await LLMClient(server.url).chat_completions(MESSAGES)
    assert server.requests[1].body["model"] == "llama"


async def test_a_stream_is_not_to_be_had_here(server):
    with pytest.raises(AgentConfigurationError, match=r"Agent\(client\)\.stream"):
        await client(server).chat_completions(MESSAGES, stream=True)
    assert server.requests == []


@pytest.mark.parametrize("messages", ["Hi", {"role": "user", "content": "Hi"}])
async def test_messages_are_a_list(server, messages):
    with pytest.raises(AgentConfigurationError, match="Pass a list of messages"):
        await client(server).chat_completions(messages)


async def test_what_json_cannot_hold_is_not_sent(server):
    with pytest.raises(AgentConfigurationError, match="cannot be written as JSON"):
        await client(server).chat_completions(MESSAGES, [test_messages_are_a_list])
    assert server.requests == []


# ------------------------------------------------------------------ trying again


async def test_what_may_pass_is_tried_again(server):
    server.say(BUSY, BROKEN, whole(200, HELLO))
    assert await client(server).chat_completions(MESSAGES) == HELLO
    assert len(server.requests) == 3


async def test_no_retries_is_one_try(server):
    server.say(BUSY)
    with pytest.raises(ProviderRateLimitError, match="slow down"):
        await client(server).chat_completions(MESSAGES, max_retries=0)
    assert len(server.requests) == 1


async def test_after_the_last_retry_the_error_is_the_last_one(server):
    server.say(BROKEN, BROKEN, BUSY)
    with pytest.raises(ProviderRateLimitError):
        await client(server).chat_completions(MESSAGES, max_retries=2)
    assert len(server.requests) == 3


async def test_what_will_not_pass_is_not_tried_again(server):
    server.say(whole(401, {"error": {"message": f"bad key {KEY}"}}))
    with pytest.raises(ProviderAuthError) as caught:
        await client(server).chat_completions(MESSAGES)
    assert KEY not in str(caught.value)
    assert len(server.requests) == 1


async def test_it_waits_as_long_as_the_service_asks(server, monkeypatch):
    waited = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    server.say(whole(429, {}, retry_after="7"), BROKEN, whole(200, HELLO))
    monkeypatch.setattr("notebook_agents.providers._retry.asyncio.sleep", sleep)
    await client(server).chat_completions(MESSAGES)
    assert waited[0] == 7.0
    assert 0 <= waited[1] <= 0.002


async def test_a_connection_that_is_refused_is_tried_again(free_tcp_port, caplog):
    asked = LLMClient(f"http://127.0.0.1:{free_tcp_port}/v1", KEY, "m")
    with (
        caplog.at_level(logging.INFO, "notebook_agents"),
        pytest.raises(AgentProviderError, match="Nothing answers"),
    ):
        await asked.chat_completions(MESSAGES, max_retries=2)
    assert caplog.text.count("trying again") == 2
    assert KEY not in caplog.text


async def test_a_reply_that_takes_too_long_is_given_up(server):
    server.say([head(200, {"content-type": "application/json"}), HOLD])
    with pytest.raises(ProviderTimeoutError, match="longer than timeout="):
        await client(server, timeout=0.1).chat_completions(MESSAGES)
    assert len(server.requests) == 1


# ----------------------------------------------------------------- what is no reply


@pytest.mark.parametrize(
    "reply", [{}, {"choices": []}, [1], "text", {"choices": None}, 3]
)
async def test_what_is_no_reply_is_an_error(server, reply):
    server.say(whole(200, reply))
    with pytest.raises(ProviderReplyError, match="cannot be read as a reply"):
        await client(server).chat_completions(MESSAGES)


async def test_a_web_page_is_an_error(server):
    server.say(whole(200, b"<html>Sign in</html>"))
    with pytest.raises(ProviderReplyError, match="Check the base URL"):
        await client(server).chat_completions(MESSAGES)


async def test_an_error_in_the_guise_of_a_reply_is_one(server):
    error = {"error": {"message": "upstream is busy", "code": 429}}
    server.say(whole(200, error), whole(200, HELLO))
    assert await client(server).chat_completions(MESSAGES) == HELLO
    server.say(whole(200, {"error": {"message": "no such thing", "code": 400}}))
    with pytest.raises(AgentProviderError, match="no such thing"):
        await client(server).chat_completions(MESSAGES)


async def test_a_model_that_is_not_there_is_named(server):
    server.say(whole(404, {"error": {"message": "model not found"}}))
    with pytest.raises(ModelNotFoundError, match="'m'"):
        await client(server).chat_completions(MESSAGES)


# -------------------------------------------------------------------- embeddings


async def test_texts_become_vectors_in_their_order(server):
    rows = [{"index": 1, "embedding": [3, 4]}, {"index": 0, "embedding": [1, 2]}]
    server.say(whole(200, {"data": rows}))
    found = await client(server, embed_model="e").embeddings(["a", "b"])
    assert found == [[1.0, 2.0], [3.0, 4.0]]
    [request] = server.requests
    assert request.path == "/v1/embeddings"
    assert request.body == {"model": "e", "input": ["a", "b"]}


async def test_many_texts_are_sent_in_batches(server):
    texts = [f"text {number}" for number in range(130)]
    for size in (64, 64, 2):
        server.say(whole(200, vectors(*[[float(n)] for n in range(size)])))
    found = await client(server).embeddings(texts)
    assert len(found) == 130
    sent = [request.body["input"] for request in server.requests]
    assert [len(batch) for batch in sent] == [64, 64, 2]
    assert [text for batch in sent for text in batch] == texts


async def test_a_long_vector_is_read(server):
    rows = [[0.123456789012345] * 4096] * 64
    server.say(whole(200, vectors(*rows)))
    assert len((await client(server).embeddings(["x"] * 64))[63]) == 4096


async def test_nothing_is_sent_for_no_texts(server):
    assert await client(server).embeddings([]) == []
    assert server.requests == []


async def test_a_batch_is_tried_again(server):
    server.say(BROKEN, whole(200, vectors([1.0])))
    assert await client(server).embeddings(["a"]) == [[1.0]]
    server.say(BROKEN)
    with pytest.raises(AgentProviderError):
        await client(server).embeddings(["a"], max_retries=0)


@pytest.mark.parametrize(
    "reply",
    [
        {"data": []},
        {"data": [{"index": 0, "embedding": [1.0]}]},
        {"data": None},
        {"data": [{"index": 0, "embedding": "AAAA"}, {"index": 1, "embedding": []}]},
        {},
    ],
)
async def test_vectors_that_are_missing_are_an_error(server, reply):
    server.say(whole(200, reply))
    with pytest.raises(ProviderReplyError):
        await client(server).embeddings(["a", "b"])


@pytest.mark.parametrize("texts", ["abc", ["a", None], [b"a"]])
async def test_one_text_is_no_list(server, texts):
    with pytest.raises(AgentConfigurationError, match=r"embeddings\(\[text\]\)"):
        await client(server).embeddings(texts)


async def test_a_model_that_embeds_is_needed(server):
    with pytest.raises(AgentConfigurationError, match="embed_model"):
        await LLMClient(server.url, KEY).embeddings(["a"])


# ------------------------------------------------------------------------ models


@pytest.mark.parametrize("wrapped", [True, False])
async def test_the_models_are_listed(server, wrapped):
    listing = [{"id": "a"}, {"id": "b"}, {"name": "odd"}]
    server.say(whole(200, {"data": listing} if wrapped else listing))
    assert await client(server).models() == ["a", "b"]
    assert server.requests[0].method == "GET"


# ------------------------------------------------------------------ as a provider


async def test_an_agent_runs_on_it(server):
    @tool
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    server.say(answer("Four."))
    agent = Agent(client(server), [add])
    assert (await agent.run("2 + 2?")).answer == "Four."
    assert server.requests[0].body["stream"] is True
    assert server.requests[0].headers["x-api-key"] == KEY
    assert agent.model_label == "openai-compatible:m"


def test_one_client_serves_any_number_of_loops(server):
    asked = client(server)

    async def ask() -> None:
        assert await asked.chat_completions(MESSAGES) == HELLO

    def in_a_loop_of_its_own() -> None:
        with asyncio.Runner() as runner:
            runner.run(ask())

    server.say(*[whole(200, HELLO)] * 4)
    in_a_loop_of_its_own()
    in_a_loop_of_its_own()
    threads = [threading.Thread(target=in_a_loop_of_its_own) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    assert len(server.requests) == 4


async def test_no_more_requests_at_a_time_than_allowed(server):
    server.say(*[whole(200, HELLO)] * 6)
    asked = client(server, max_concurrency=2)
    await asyncio.gather(*[asked.chat_completions(MESSAGES) for _ in range(6)])
    assert server.connections <= 2


async def test_a_request_that_is_cancelled_lets_go(server, wait_until):
    server.say([head(200, {"content-type": "application/json"}), HOLD])
    asked = client(server, max_concurrency=1)
    task = asyncio.create_task(asked.chat_completions(MESSAGES))
    async with asyncio.timeout(5):
        await asyncio.to_thread(wait_until, lambda: server.requests)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        server.say(whole(200, HELLO))
        assert await asked.chat_completions(MESSAGES) == HELLO


async def test_it_can_be_used_after_it_was_closed(server):
    server.say(whole(200, HELLO))
    asked = client(server)
    await asked.aclose()
    assert await asked.chat_completions(MESSAGES) == HELLO
    gc.collect()


def test_the_key_is_never_shown(server):
    asked = client(server)
    assert repr(asked) == f"<LLMClient 'm' at {server.url}>"
    assert KEY not in repr(Agent(asked)) + str(asked)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"timeout": 0}, "timeout is 0"),
        ({"max_concurrency": 0}, "max_concurrency is 0"),
        ({"extra_headers": {"a": "b\nc"}}, "cannot be sent"),
    ],
)
def test_options_that_cannot_be_are_refused(server, options, said):
    with pytest.raises(AgentConfigurationError, match=said):
        client(server, **options)


# ------------------------------------------------------------- from the environment


@pytest.fixture
def environment(monkeypatch, tmp_path):
    """Set variables in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def put(**values: str) -> None:
        for name, value in values.items():
            monkeypatch.setenv(name, value)

    return put


ALL = {"LLM_BASE_URL": "https://llm.example/v1", "LLM_API_KEY": KEY, "LLM_MODEL": "m"}


async def test_the_environment_says_everything(server, environment):
    environment(**ALL | {"LLM_BASE_URL": server.url}, EMBED_MODEL="e")
    server.say(whole(200, HELLO), whole(200, vectors([1.0])))
    async with LLMClient.from_env() as asked:
        await asked.chat_completions(MESSAGES)
        await asked.embeddings(["a"])
    assert [request.body["model"] for request in server.requests] == ["m", "e"]
    assert server.requests[0].headers["x-api-key"] == KEY


def test_a_file_says_the_rest_and_never_overrides(environment, tmp_path):
    environment(LLM_MODEL="from the environment")
    lines = [f"{name}={value}" for name, value in ALL.items()]
    (tmp_path / ".env").write_text("\n".join(lines))
    asked = LLMClient.from_env()
    assert (asked.base_url, asked.model) == (
        ALL["LLM_BASE_URL"],
        "from the environment",
    )


@pytest.mark.parametrize("name", ALL)
def test_a_variable_that_is_missing_is_named(environment, name):
    environment(**{key: value for key, value in ALL.items() if key != name})
    with pytest.raises(AgentConfigurationError, match=name) as caught:
        LLMClient.from_env()
    assert KEY not in str(caught.value)


def test_all_that_are_missing_are_named(environment):
    with pytest.raises(AgentConfigurationError) as caught:
        LLMClient.from_env()
    assert "Set LLM_BASE_URL, LLM_API_KEY, LLM_MODEL in your" in str(caught.value)


def test_a_service_on_this_machine_needs_no_key(environment):
    environment(LLM_BASE_URL="http://localhost:11434/v1", LLM_MODEL="m")
    assert LLMClient.from_env().model == "m"


def test_certificates_that_are_missing_are_named(environment):
    environment(**ALL, CA_BUNDLE_PATH="/nowhere/ca.pem")
    with pytest.raises(FileNotFoundError, match=r"/nowhere/ca\.pem") as caught:
        LLMClient.from_env()
    assert isinstance(caught.value, MissingFileError | AgentConfigurationError)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)  # noqa: S301


def test_certificates_may_be_named_by_hand():
    with pytest.raises(FileNotFoundError, match="There are no certificates at"):
        LLMClient("https://llm.example/v1", KEY, "m", "/nowhere/ca.pem")


async def test_providers_look_for_the_same_certificates(environment):
    environment(CA_BUNDLE_PATH="/nowhere/ca.pem")
    provider = OpenAICompatibleProvider("https://llm.example/v1", "m")
    with pytest.raises(MissingFileError, match="CA_BUNDLE_PATH"):
        await Agent(provider).run("Hi")
    with pytest.raises(FileNotFoundError):
        OpenAICompatibleProvider("https://llm.example/v1", "m", verify="/nowhere.pem")


def test_a_setting_is_not_taken_for_another(environment):
    """Its parameters come in another order than those of its parent."""
    environment(**ALL)
    from notebook_agents.settings import get_settings

    asked = LLMClient.from_settings("other", get_settings())
    assert (asked.model, KEY in repr(asked)) == ("other", False)
    assert json.dumps(asked.base_url) == '"https://llm.example/v1"'
