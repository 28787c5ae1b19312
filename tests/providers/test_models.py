"""What models there are to choose from, as each service tells it."""

from __future__ import annotations

import pytest

from notebook_agents import Agent, AgentConfigurationError, BaseProvider, LLMClient
from notebook_agents.cli.main import main
from notebook_agents.errors import (
    AgentProviderError,
    ModelNotFoundError,
    ProviderAuthError,
    ProviderReplyError,
    ProviderSetupError,
)
from notebook_agents.providers import (
    AnthropicProvider,
    FallbackProvider,
    GeminiProvider,
    OllamaProvider,
    OpenAICompatibleProvider,
    OpenAIProvider,
)
from notebook_agents.providers.discovery import models_in
from notebook_agents.providers.local import LocalProvider, weights
from notebook_agents.testing import EchoProvider
from tests.providers.wire import whole

KEY = "sk-a-key-of-the-tests"
LISTED = {"object": "list", "data": [{"id": "big"}, {"id": "small"}]}


@pytest.mark.parametrize(
    "make",
    [
        lambda url: OpenAICompatibleProvider(url, "m", KEY),
        lambda url: OpenAIProvider("m", KEY, base_url=url),
        lambda url: OllamaProvider(base_url=url),
        lambda url: LLMClient(url, KEY, "m"),
    ],
    ids=["compatible", "openai", "ollama", "client"],
)
async def test_a_compatible_service_lists_its_models(server, make):
    server.say(whole(200, LISTED))
    assert await Agent(make(server.url)).models() == ["big", "small"]
    [request] = server.requests
    assert (request.method, request.path, request.raw) == ("GET", "/v1/models", b"")


@pytest.mark.parametrize("base", ["", "/v1"])
async def test_anthropic_lists_all_of_them_at_once(server, base):
    data = [{"type": "model", "id": "claude-haiku-5-5", "display_name": "x"}]
    server.say(whole(200, {"data": data, "has_more": False}))
    url = server.url.removesuffix("/v1") + base
    provider = AnthropicProvider(None, KEY, base_url=url)
    assert await provider.models() == ["claude-haiku-5-5"]
    [request] = server.requests
    assert request.path == "/v1/models?limit=1000"
    assert request.headers["x-api-key"] == KEY


async def test_gemini_lists_those_that_can_write(server):
    listed = [
        {"name": "models/a", "supportedGenerationMethods": ["generateContent"]},
        {"name": "models/b", "supportedGenerationMethods": ["embedContent"]},
    ]
    server.say(whole(200, {"models": listed}))
    provider = GeminiProvider(None, KEY, base_url=server.url.removesuffix("/v1"))
    assert await Agent(provider).models() == ["a"]
    [request] = server.requests
    assert request.path == "/v1beta/models?pageSize=1000"
    assert request.headers["x-goog-api-key"] == KEY


def test_other_lists_are_read_as_well():
    assert models_in({"models": [{"name": "llama3.2:latest"}]}) == ["llama3.2:latest"]
    assert models_in([{"id": "a"}, {"id": None}, "b", {}]) == ["a"]


def test_sync_code_can_ask_too(server):
    server.say(whole(200, LISTED), whole(200, LISTED))
    provider = OpenAICompatibleProvider(server.url, "m")
    assert provider.models_sync() == ["big", "small"]
    assert Agent(provider).models_sync() == ["big", "small"]


async def test_a_key_that_is_missing_is_named():
    with pytest.raises(ProviderSetupError, match="OPENAI_API_KEY"):
        await Agent(OpenAIProvider()).models()


async def test_a_service_that_is_busy_is_asked_again(server):
    server.say(whole(503, {}), whole(200, LISTED))
    assert await OpenAICompatibleProvider(server.url, "m").models()


@pytest.mark.parametrize(
    ("reply", "error", "said"),
    [
        (whole(404, {"detail": "Not Found"}), AgentConfigurationError, "has no list"),
        (whole(404, {"error": "no such model"}), AgentConfigurationError, "no list"),
        (whole(405, {}), AgentConfigurationError, "has no list"),
        (whole(401, {"error": KEY}), ProviderAuthError, "refused the key"),
        (whole(200, {"hello": 1}), ProviderReplyError, "cannot be read"),
        (whole(200, b"<html>"), ProviderReplyError, "cannot be read"),
        (whole(200, {"error": {"message": "no"}}), AgentProviderError, "no"),
    ],
    ids=str,
)
async def test_what_is_no_list_is_a_clear_error(server, reply, error, said):
    server.say(reply)
    with pytest.raises(error, match=said) as caught:
        await OpenAICompatibleProvider(server.url, "m", KEY).models()
    assert KEY not in str(caught.value)


async def test_an_empty_list_is_one(server):
    server.say(whole(200, {"data": []}))
    assert await OpenAICompatibleProvider(server.url, "m").models() == []


async def test_a_provider_without_a_list_says_so():
    class Foreign(BaseProvider):
        name = "foreign"

        async def chat(self, messages, *, tools=None, tool_calling=None):
            raise NotImplementedError

        async def stream(self, messages, *, tools=None, tool_calling=None):
            yield ""

    with pytest.raises(AgentConfigurationError, match="foreign has no list of models"):
        await Agent(Foreign()).models()


async def test_several_tell_whose_each_is(server):
    server.say(whole(200, LISTED), whole(200, {"data": [{"id": "claude"}]}))
    agent = Agent(
        [
            OpenAICompatibleProvider(server.url, "m"),
            "openai",  # no key
            AnthropicProvider(None, KEY, base_url=server.url),
            EchoProvider(),
        ]
    )
    assert await agent.models() == [
        "openai-compatible:big",
        "openai-compatible:small",
        "anthropic:claude",
        "echo:echo",
    ]


async def test_that_none_of_several_can_tell_is_said_by_the_first():
    with pytest.raises(ProviderSetupError, match="OPENAI_API_KEY"):
        await FallbackProvider(["openai", "anthropic"]).models()


async def test_the_local_models_are_those_whose_weights_are_here(tmp_path, monkeypatch):
    monkeypatch.setattr(weights, "_packaged", lambda _: None)
    monkeypatch.setattr(weights, "_folders", lambda: [tmp_path / "models"])
    with pytest.raises(ModelNotFoundError, match="models pull"):
        await LocalProvider().models()
    folder = weights.models_folder()
    folder.mkdir(parents=True)
    (folder / "mine.gguf").touch()
    assert await LocalProvider().models() == [str(folder / "mine.gguf")]
    monkeypatch.setattr(weights, "is_complete", lambda *_: True)
    assert (await LocalProvider().models())[0] == "smollm2-135m"
    monkeypatch.setenv("NOTEBOOK_AGENTS_LOCAL_MODEL", "/a/b.gguf")
    assert await Agent("local").models() == ["/a/b.gguf"]


def test_the_command_lists_the_models_of_a_provider(server, monkeypatch, capsys):
    monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{server.port}")
    server.say(whole(200, LISTED))
    assert main(["models", "list", "ollama"]) == 0
    assert capsys.readouterr().out.split() == ["big", "small"]


def test_the_command_says_what_is_missing(capsys):
    assert main(["models", "list", "openai"]) == 1
    assert "OPENAI_API_KEY" in capsys.readouterr().err
    assert main(["models", "list", "opnai"]) == 1
    assert "no provider named 'opnai'" in capsys.readouterr().err
