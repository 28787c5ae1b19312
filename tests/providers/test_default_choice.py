"""An agent that names no model gets one, by a fixed order, and says why."""

from __future__ import annotations

import asyncio

import pytest

from notebook_agents import Agent
from notebook_agents.errors import AgentConfigurationError
from notebook_agents.providers import discovery
from notebook_agents.providers.discovery import find_local_server, loopback_ports
from notebook_agents.providers.registry import choose_default
from tests.providers.wire import CUT, HOLD, Reply, answer, whole, wire_server

KEY = "sk-very-secret-0123456789"
MODELS = {"object": "list", "data": [{"id": "bge-m3"}, {"id": "llama3.2"}]}


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch, tmp_path):
    for name in ("LMSTUDIO_BASE_URL", "LLAMACPP_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(discovery, "LOOPBACK_PORTS", ())


@pytest.fixture
def servers():
    with wire_server() as first, wire_server() as second:
        yield first, second


def ports_of(*servers) -> list[tuple[str, int]]:
    names = ["ollama", "lmstudio", "llamacpp"]
    return [(name, each.port) for name, each in zip(names, servers, strict=False)]


def test_the_model_of_the_environment_wins(monkeypatch, servers):
    monkeypatch.setenv("NOTEBOOK_AGENTS_MODEL", "my:m")
    monkeypatch.setenv("DEFAULT_PROVIDER", "openai")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert choose_default(ports=ports_of(*servers)).spec == "my:m"
    assert servers[0].connections == 0


def test_then_the_provider_of_the_environment(monkeypatch):
    monkeypatch.setenv("DEFAULT_PROVIDER", "openrouter")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENROUTER_API_KEY", KEY)
    assert choose_default().spec == "openrouter"


@pytest.mark.parametrize(
    ("variable", "spec"),
    [
        ("OPENAI_API_KEY", "openai"),
        ("ANTHROPIC_API_KEY", "anthropic"),
        ("GEMINI_API_KEY", "gemini"),
        ("GOOGLE_API_KEY", "gemini"),
        ("OPENROUTER_API_KEY", "openrouter"),
        ("HF_TOKEN", "huggingface"),
        ("HUGGINGFACE_API_KEY", "huggingface"),
        ("LLM_BASE_URL", "openai-compatible"),
    ],
)
def test_then_the_only_one_that_is_set_up(monkeypatch, servers, variable, spec):
    monkeypatch.setenv(variable, KEY)
    choice = choose_default(ports=ports_of(*servers))
    assert choice.spec == spec
    assert choice.reason.endswith("is set")
    assert servers[0].connections == 0


def test_several_are_an_error_that_says_so(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("HF_TOKEN", KEY)
    with pytest.raises(AgentConfigurationError, match="DEFAULT_PROVIDER") as caught:
        choose_default()
    assert "openai" in str(caught.value)
    assert "huggingface" in str(caught.value)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("variable", ["LLM_API_KEY", "LLM_MODEL"])
def test_a_key_that_nothing_here_can_use_does_not_count(monkeypatch, variable):
    monkeypatch.setenv(variable, KEY)
    assert choose_default().spec == "local"


def test_then_a_server_on_this_machine(servers):
    servers[1].say(whole(200, MODELS))
    choice = choose_default(ports=ports_of(*servers))
    assert choice.spec == "lmstudio:llama3.2"
    assert choice.reason == f"answers on this machine, port {servers[1].port}"


def test_the_first_of_several_servers_is_used(servers):
    for server in servers:
        server.say(whole(200, MODELS))
    assert choose_default(ports=ports_of(*servers)).spec == "ollama:llama3.2"


def test_else_the_embedded_model():
    choice = choose_default(ports=[])
    assert (choice.spec, choice.reason) == ("local", "no other model is configured")


@pytest.mark.parametrize(
    "reply",
    [
        [HOLD],
        [CUT],
        whole(404, MODELS),
        whole(200, b"<html>"),
        whole(200, {"data": [{"id": "nomic-embed-text"}]}),
        whole(200, {"data": {}}),
        whole(200, []),
        [b"\x00\x01", CUT],
    ],
    ids=["silent", "cut", "404", "a web page", "embeds only", "odd", "a list", "noise"],
)
def test_what_is_no_model_server_is_passed_over(servers, reply: Reply):
    servers[0].say(reply)
    servers[1].say(whole(200, MODELS))
    found = find_local_server(ports_of(*servers), seconds=0.3)
    assert found is not None
    assert found.provider == "lmstudio"


def test_a_server_that_is_silent_is_not_waited_for(servers, wait_until):
    for server in servers:
        server.say([HOLD])
    assert find_local_server(ports_of(*servers), seconds=0.05) is None
    wait_until(lambda: all(server.open_connections == 0 for server in servers))


async def test_looking_works_inside_a_running_loop(servers):
    servers[0].say(whole(200, MODELS))
    assert choose_default(ports=ports_of(servers[0])).spec == "ollama:llama3.2"
    assert asyncio.get_running_loop().is_running()


async def test_nothing_is_asked_before_the_first_run(servers, monkeypatch):
    """Design, section 4: construction does local work only."""
    server = servers[0]
    monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{server.port}")
    monkeypatch.setattr(discovery, "LOOPBACK_PORTS", (("ollama", 1),))
    server.say(whole(200, MODELS), answer("ok"))
    agent = Agent()
    repr(agent)
    assert server.connections == 0
    assert (await agent.run("hi")).answer == "ok"
    assert agent.model_label == "ollama:llama3.2"
    assert "this machine" in agent.model_reason


def test_only_the_loopback_is_looked_at(monkeypatch):
    monkeypatch.setattr(
        discovery, "LOOPBACK_PORTS", (("ollama", 1), ("lmstudio", 2), ("llamacpp", 3))
    )
    urls = {"ollama": "http://elsewhere:9/v1", "lmstudio": "http://localhost:8/v1"}
    assert loopback_ports(urls) == [("lmstudio", 8), ("llamacpp", 3)]
