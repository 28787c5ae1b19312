"""What a service said once is said again, and a request that differs is told."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os

import pytest

from notebook_agents import Agent, tool
from notebook_agents.errors import ProviderAuthError, StreamInterruptedError
from notebook_agents.providers import (
    AnthropicProvider,
    OpenAICompatibleProvider,
    OpenAIProvider,
)
from notebook_agents.testing import CassetteError, cassette, no_network, wire_server
from notebook_agents.testing.wire import CUT, chunk, event, streamed, whole
from notebook_agents.testing.wire.chat import DONE, STOP, delta
from notebook_agents.testing.wire.replies import STREAM_HEAD

KEY = "sk-proj-3FLlPVKs93kfhVmpoTJ4"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "tapes" / "one.json"


@pytest.fixture
def server():
    with wire_server() as running:
        yield running


def chat(server, **options):
    options = {"max_retries": 0, **options}
    return OpenAICompatibleProvider(server.url, "m", **options)


async def record(path, server, *replies, said="Hi", **options):
    server.say(*replies)
    with cassette(path):
        return await Agent(chat(server, **options)).run(said)


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


# -------------------------------------------------------------- record and replay


async def test_what_was_recorded_is_replayed_without_the_service(path):
    with wire_server("chat/tool_call", "chat/answer") as server, cassette(path) as tape:
        assert tape.is_recording
        agent = Agent(chat(server), [add])
        first = await agent.run("1 + 2?")
    with no_network(), cassette(path) as tape:
        assert not tape.is_recording
        again = await Agent(chat(server), [add]).run("1 + 2?")
    assert str(first) == str(again) == "Hello."
    assert again.tool_calls[0]["content"] == "3"
    assert len(tape.exchanges) == 2
    assert again.prompt_tokens == first.prompt_tokens > 0


async def test_the_file_can_be_read_by_people(path, server):
    await record(path, server, "chat/answer", said="Grüße")
    text = path.read_text("utf-8")
    assert "Grüße" in text
    found = json.loads(text)
    [exchange] = found["exchanges"]
    assert exchange["url"] == "http://127.0.0.1/v1/chat/completions"
    assert exchange["body"]["messages"] == [{"role": "user", "content": "Grüße"}]
    assert exchange["headers"] == {"content-type": "text/event-stream"}
    assert not [each for each in path.parent.iterdir() if each != path]


async def test_every_transport_is_recorded(path, server, monkeypatch):
    import httpx

    from notebook_agents.providers import _connections

    monkeypatch.setattr(_connections, "fast_library", lambda: None)
    await record(path, server, "chat/answer")
    path.unlink()
    async with httpx.AsyncClient() as client:
        await record(path, server, "chat/answer", http_client=client)
        with cassette(path):
            await Agent(chat(server, http_client=client)).run("Hi")
    assert len(server.requests) == 2


async def test_refusals_are_replayed_as_well(path, server):
    server.say(whole(429, {"error": {"message": "no"}}, retry_after_ms="10"))
    server.say("chat/answer")
    with cassette(path):
        await Agent(chat(server, max_retries=1)).run("Hi")
    with cassette(path) as tape:
        assert str(await Agent(chat(server, max_retries=1)).run("Hi")) == "Hello."
    assert [each.status for each in tape.exchanges] == [429, 200]
    assert tape.exchanges[0].headers["retry-after-ms"] == "10"


async def test_a_reply_that_broke_off_breaks_off_again(path, server):
    server.say("chat/cut_stream")
    with cassette(path), pytest.raises(StreamInterruptedError):
        await Agent(chat(server)).run("Hi")
    with cassette(path), pytest.raises(StreamInterruptedError):
        await Agent(chat(server)).run("Hi")


async def test_any_bytes_survive(path, server):
    server.say([STREAM_HEAD, chunk(b"data: \xff\xfe\n\n"), chunk(b"\xf0\x9f"), CUT])
    with cassette(path), pytest.raises(Exception, match="cannot be read"):
        await Agent(chat(server)).run("Hi")
    with cassette(path), pytest.raises(Exception, match="cannot be read"):
        await Agent(chat(server)).run("Hi")


async def test_a_character_in_two_chunks_is_one(path, server):
    data = event(delta(content="é"))
    server.say(streamed(data[:-30], data[-30:], STOP, DONE))
    middle = data.index("é".encode()) + 1
    server.say(streamed(data[:middle], data[middle:], STOP, DONE))
    for _ in range(2):
        with cassette(path):
            agent = Agent(chat(server))
            said = [str(await agent.run("Hi")), str(await agent.run("Hi"))]
        assert said == ["é", "é"]


async def test_runs_at_the_same_time_find_their_own_replies(path, server):
    questions = [f"question {number}" for number in range(8)]

    async def ask_all():
        agents = [Agent(chat(server), name=each) for each in questions]
        asked = zip(agents, questions, strict=True)
        return [
            str(each) for each in await asyncio.gather(*(a.run(q) for a, q in asked))
        ]

    server.say(*[streamed(event(delta(content=f"{n}")), STOP, DONE) for n in range(8)])
    with cassette(path):
        first = await ask_all()
    with cassette(path):
        assert await ask_all() == first
    assert sorted(first) == [str(number) for number in range(8)]


async def test_identifiers_that_are_new_each_time_do_not_matter(path):
    with wire_server("chat/no_id", "chat/answer") as server, cassette(path):
        await Agent(chat(server), [add]).run("Go")
    with cassette(path):
        assert str(await Agent(chat(server), [add]).run("Go")) == "Hello."


def test_sync_code_and_other_threads_are_recorded_too(path, server):
    server.say("chat/answer")
    for _ in range(2):
        with cassette(path):
            assert str(Agent(chat(server)).run_sync("Hi")) == "Hello."
    assert len(server.requests) == 1


# ------------------------------------------------------------------ what differs


async def test_a_request_that_differs_is_told_with_what_differs(path, server):
    await record(path, server, "chat/answer")

    async def ask():
        with cassette(path):
            await Agent(chat(server, extra_body={"seed": 1})).run("Hello")

    with pytest.raises(CassetteError) as caught:
        await ask()
    assert str(caught.value).splitlines() == [
        "Request 1 is not the one in one.json:",
        "- body.messages[0].content is 'Hello', recorded was 'Hi'",
        "- body.seed is 1, recorded was nothing",
        "To record anew, delete one.json or pass record=True.",
    ]


async def test_a_request_too_many_is_told(path, server):
    await record(path, server, "chat/answer")

    async def ask():
        with cassette(path):
            await Agent(chat(server)).run("Hi")
            await Agent(chat(server)).run("Hi")

    with pytest.raises(CassetteError, match=r"Request 2 \(POST .*one\.json has 1"):
        await ask()


async def test_a_request_that_does_not_come_is_told(path, server):
    await record(path, server, "chat/answer")

    def ask_nothing():
        with cassette(path):
            pass

    with pytest.raises(CassetteError, match="1 of 1 recorded requests did not come"):
        ask_nothing()


async def test_a_difference_that_is_swallowed_is_told_at_the_end(path, server):
    await record(path, server, "chat/answer")

    async def ask():
        with cassette(path), pytest.raises(CassetteError):
            await Agent(chat(server)).run("Something else")

    with pytest.raises(CassetteError, match="is not the one"):
        await ask()


async def test_what_fails_otherwise_fails_with_its_own_error(path, server):
    await record(path, server, "chat/answer")

    def fail(**options):
        with cassette(path, **options):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    before = path.read_bytes()
    with pytest.raises(ZeroDivisionError):
        fail(record=True)
    assert path.read_bytes() == before


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"exchanges": 3}', "\x00"])
def test_a_file_that_is_none_says_so(path, text):
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(CassetteError, match="is no cassette"), cassette(path):
        pass


def test_a_build_does_not_record(path):
    with (
        pytest.raises(CassetteError, match="record=True makes it"),
        cassette(path, record=False),
    ):
        pass
    assert not path.exists()


async def test_it_can_be_recorded_anew(path, server):
    await record(path, server, "chat/answer")
    server.say(streamed(event(delta(content="New.")), STOP, DONE))
    with cassette(path, record=True):
        await Agent(chat(server)).run("Other")
    with cassette(path):
        assert str(await Agent(chat(server)).run("Other")) == "New."


# ------------------------------------------------------------------------- keys


@pytest.mark.parametrize(
    "reply",
    [
        whole(401, {"error": {"message": f"wrong key {KEY}"}}),
        streamed(*[bytes([byte]) for byte in event(delta(content=KEY))], STOP, DONE),
    ],
    ids=["refusal", "stream in pieces"],
)
async def test_no_key_is_in_the_file(path, server, reply):
    server.say(reply)
    secret_url = f"http://127.0.0.1:{server.port}/v1?key={KEY}&alt=sse"
    provider = OpenAICompatibleProvider(
        server.url,
        "m",
        KEY,
        max_retries=0,
        extra_headers={"X-Auth-Token": "token-of-mine-77"},
        extra_body={"api_key": "anything", "note": f"{secret_url} token-of-mine-77"},
    )
    with cassette(path), contextlib.suppress(ProviderAuthError):
        await Agent(provider).run(f"My key is {KEY}, and hf_abcdefghijklmnopqrst")
    text = path.read_text("utf-8")
    for secret in (KEY, "token-of-mine-77", "anything", "hf_abcdefghijklmnopqrst"):
        assert secret not in text
    assert "My key is [redacted]" in text


async def test_a_password_of_the_environment_is_not_in_the_file(
    path, server, monkeypatch
):
    monkeypatch.setenv("MY_DATABASE_PASSWORD", "correct-horse-9")
    monkeypatch.setenv("SOME_TOKEN", "wholesome")  # a word, that texts may hold
    said = "Log in with correct-horse-9, wholesome as it is"
    await record(path, server, "chat/answer", said=said)
    text = path.read_text("utf-8")
    assert "correct-horse-9" not in text
    assert "wholesome as it is" in text
    monkeypatch.delenv("MY_DATABASE_PASSWORD")
    with cassette(path):  # what was taken out may be anything
        await Agent(chat(server)).run(said)


async def test_a_replay_needs_no_key(path, server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-not-used-here-1")
    server.say("chat/answer")
    with cassette(path):
        await Agent(OpenAIProvider("m", base_url=server.url)).run("Hi")
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with cassette(path) as tape:
        assert tape.keys == ["OPENAI_API_KEY"]
        assert str(await Agent(OpenAIProvider("m", base_url=server.url)).run("Hi"))
    assert "OPENAI_API_KEY" not in os.environ


async def test_a_signature_is_compared_and_a_key_in_a_query_is_not_kept(path, server):
    """The first is no key, though it looks random."""
    server.say("anthropic/thinking_tool", "anthropic/answer")

    def agent():
        provider = AnthropicProvider("claude-haiku-5-5", KEY, base_url=server.url)
        return Agent(provider, [add])

    with cassette(path):
        await agent().run("Go")
    assert "SIG123" in path.read_text("utf-8")
    with cassette(path):
        assert str(await agent().run("Go")) == "Hello."
