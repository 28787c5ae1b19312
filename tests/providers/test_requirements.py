"""Requirements, check 12: each provider chats, streams and calls tools.

Together with rows A47 to A52 and A75, and trap W13. Requests and replies are those of
the services, over a real socket.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pytest

from notebook_agents import Agent
from notebook_agents.errors import AgentConfigurationError
from notebook_agents.providers import (
    AnthropicProvider,
    BaseProvider,
    GeminiProvider,
    HuggingFaceProvider,
    OpenAICompatibleProvider,
    OpenAIProvider,
    OpenRouterProvider,
)
from notebook_agents.providers.registry import make_provider
from notebook_agents.testing.wire import event, streamed
from notebook_agents.testing.wire.gemini import said
from notebook_agents.tools import to_tool_definition
from tests.providers.services import KEY

pytestmark = pytest.mark.usefixtures("transport")

HI = [{"role": "user", "content": "Hi"}]


class Service(NamedTuple):
    """A provider, how it talks, and what only its requests have."""

    make: Callable[[str], BaseProvider]
    wire: str
    path: str
    headers: Mapping[str, str]
    key: str = f"Bearer {KEY}"
    key_header: str = "authorization"


SERVICES = {
    "openai": Service(
        lambda url: OpenAIProvider("gpt-6-luna", KEY, base_url=url, api="responses"),
        "responses",
        "/v1/responses",
        {},
    ),
    "openai by chat": Service(
        lambda url: OpenAIProvider("gpt-6-luna", KEY, base_url=url, api="chat"),
        "chat",
        "/v1/chat/completions",
        {},
    ),
    "openrouter": Service(
        lambda url: OpenRouterProvider("a/b", KEY, base_url=url),
        "chat",
        "/v1/chat/completions",
        {"http-referer": "https://github.com", "x-title": "notebook_agents"},
    ),
    "huggingface": Service(
        lambda url: HuggingFaceProvider("a/b", KEY, base_url=url),
        "chat",
        "/v1/chat/completions",
        {},
    ),
    "azure": Service(
        lambda url: OpenAICompatibleProvider(url, "m", extra_headers={"api-key": KEY}),
        "chat",
        "/v1/chat/completions",
        {},
        KEY,
        "api-key",
    ),
    "gemini": Service(
        lambda url: GeminiProvider(
            "gemini-3.8-flash", KEY, base_url=url.removesuffix("/v1")
        ),
        "gemini",
        "/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse",
        {},
        KEY,
        "x-goog-api-key",
    ),
    "anthropic": Service(
        lambda url: AnthropicProvider("claude-haiku-5-5", KEY, base_url=url),
        "anthropic",
        "/v1/messages",
        {"anthropic-version": "2023-06-01"},
        KEY,
        "x-api-key",
    ),
}

every_service = pytest.mark.parametrize(
    "service", SERVICES.values(), ids=SERVICES.keys()
)


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


TOOLS = [to_tool_definition(add).schema]


def check_request(server, service: Service) -> dict[str, Any]:
    """Check where the last request went and with which headers; give its body."""
    sent = server.requests[-1]
    assert (sent.method, sent.path) == ("POST", service.path)
    assert sent.headers[service.key_header] == service.key
    assert KEY not in sent.path
    assert KEY not in sent.raw.decode()
    assert sent.headers.items() >= service.headers.items()
    return sent.body


@every_service
async def test_12_a_chat_is_a_whole_answer(server, service):
    server.say(f"{service.wire}/answer", f"{service.wire}/whole")
    provider = service.make(server.url)
    for _ in range(2):  # as a stream, and as one object
        reply = await provider.chat(HI)
        assert (reply.content, reply.tool_calls) == ("Hello.", [])
        assert reply.raw_message == {"role": "assistant", "content": "Hello."}
        check_request(server, service)


@every_service
async def test_12_a_stream_is_text_in_pieces(server, service):
    server.say(f"{service.wire}/answer")
    pieces = [text async for text in service.make(server.url).stream(HI)]
    assert "".join(pieces) == "Hello."
    assert all(type(piece) is str for piece in pieces)
    check_request(server, service)


@every_service
@pytest.mark.parametrize("form", ["tool_call", "whole_call"])
async def test_12_a_call_comes_with_its_arguments(server, service, form):
    server.say(f"{service.wire}/{form}")
    reply = await service.make(server.url).chat(HI, tools=TOOLS)
    (call,) = reply.tool_calls
    assert (call.name, json.loads(call.arguments)) == ("add", {"a": 1, "b": 2})
    assert call.id
    assert reply.raw_message["tool_calls"][0]["id"] == call.id
    check_request(server, service)


@every_service
async def test_12_a_streamed_call_runs_and_goes_back(server, service):
    """For Anthropic the OpenAI-shaped history becomes ``tool_use`` (W13)."""
    server.say(f"{service.wire}/tool_call", f"{service.wire}/answer")
    stream = Agent(service.make(server.url), [add]).stream("1 + 2?")
    assert "".join([text async for text in stream]) == "Hello."
    body = check_request(server, service)
    assert '"a"' in str(body).replace("'", '"')
    server.assert_done()


async def test_12_huggingface_is_asked_where_the_environment_says(server, monkeypatch):
    monkeypatch.setenv("HUGGINGFACE_API_KEY", KEY)
    monkeypatch.setenv("HUGGINGFACE_BASE_URL", server.url)
    server.say("chat/answer")
    reply = await make_provider("huggingface").chat(HI)
    assert reply.content == "Hello."
    assert server.requests[0].body["model"] == "openai/gpt-oss-120b"
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


async def test_12_openrouter_may_be_told_who_asks(server):
    server.say("chat/answer")
    headers = {"HTTP-Referer": "https://lab.example", "X-Title": "Lab"}
    await OpenRouterProvider(
        "a/b", KEY, base_url=server.url, extra_headers=headers
    ).chat(HI)
    sent = server.requests[0].headers
    assert (sent["http-referer"], sent["x-title"]) == ("https://lab.example", "Lab")


async def test_12_gemini_echoes_the_identifier_of_a_call(server):
    server.say("gemini/call_id", "gemini/answer")
    await Agent(SERVICES["gemini"].make(server.url), [add]).run("1 + 2?")
    called, told = server.requests[1].body["contents"][1:]
    (call,) = [part["functionCall"] for part in called["parts"]]
    (result,) = [part["functionResponse"] for part in told["parts"]]
    assert (call["id"], result["id"]) == ("x1", "x1")
    assert result == {"id": "x1", "name": "add", "response": {"result": 3}}


async def test_12_gemini_gets_no_additional_properties(server):
    """Row A51."""
    server.say("gemini/answer")
    await SERVICES["gemini"].make(server.url).chat(HI, tools=TOOLS)
    assert b"additionalProperties" not in server.requests[0].raw
    assert "additionalProperties" in str(TOOLS)  # what was given is as it was


async def test_12_gemini_repeats_no_text_that_comes_all_over_again(server):
    whole = "A whole sentence that comes all over again"
    pieces = [whole[:20], whole[:30], whole]
    chunks = [said({"text": piece}) for piece in pieces]
    server.say(streamed(*map(event, [*chunks, said(finish="STOP")])))
    reply = await SERVICES["gemini"].make(server.url).chat(HI)
    assert reply.content == whole


async def test_12_anthropic_gets_tool_use_for_the_calls_of_a_history(server):
    """Trap W13: a ``tool_result`` never follows no ``tool_use``."""
    function = {"name": "add", "arguments": '{"a": 1, "b": 2}'}
    call = {"id": "call_1", "type": "function", "function": function}
    history = [
        *HI,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "3"},
    ]
    server.say("anthropic/answer")
    await SERVICES["anthropic"].make(server.url).chat(history, tools=TOOLS)
    called, told = server.requests[0].body["messages"][1:]
    used = {
        "type": "tool_use",
        "id": "call_1",
        "name": "add",
        "input": {"a": 1, "b": 2},
    }
    assert called["content"] == [used]
    (result,) = told["content"]
    assert (result["type"], result["tool_use_id"]) == ("tool_result", "call_1")


async def test_12_anthropic_writes_as_much_as_the_agent_allows(server):
    """Trap W13: 4096 tokens were fixed."""
    server.say("anthropic/answer")
    provider = AnthropicProvider("claude-3-haiku-20240307", KEY, base_url=server.url)
    await Agent(provider, max_tokens=77).run("Hi")
    assert server.requests[0].body["max_tokens"] == 77


def test_12_the_address_of_azure_is_told_to_who_pastes_the_old_one():
    url = "https://me.openai.azure.com/openai/deployments/m?api-version=2024-10-21"
    with pytest.raises(AgentConfigurationError, match="/openai/v1 needs no version"):
        OpenAICompatibleProvider(url, "m")
