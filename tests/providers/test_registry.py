"""A provider is found by its name, and a default is chosen."""

from __future__ import annotations

import pytest

from notebook_agents import Agent, ScriptedProvider, register_provider
from notebook_agents.errors import AgentConfigurationError
from notebook_agents.providers import discovery, registry
from notebook_agents.providers.registry import choose_default, make_provider


@pytest.fixture(autouse=True)
def nothing_registered(monkeypatch, tmp_path):
    monkeypatch.setattr(registry, "_registered", {})
    monkeypatch.setattr(discovery, "LOOPBACK_PORTS", ())  # whatever runs there
    monkeypatch.chdir(tmp_path)


def scripted(model, settings):
    provider = ScriptedProvider(["hi"])
    provider.model = model or "none"
    return provider


@pytest.mark.parametrize("spec", ["my", "MY", " my ", "my:m", "My: m "])
def test_a_name_is_compared_without_case_and_blanks(spec):
    """Acceptance check 13."""
    register_provider(" My ", scripted)
    assert make_provider(spec).model == ("m" if ":" in spec else "none")


def test_the_model_may_be_given_apart():
    register_provider("my", scripted)
    assert make_provider("my", model="m").model == "m"
    assert Agent(provider="my", model="m").model_label == "my:m"


def test_a_model_may_have_colons_of_its_own():
    register_provider("my", scripted)
    assert make_provider("my:llama:3b").model == "llama:3b"


@pytest.mark.parametrize("name", ["", "  "])
def test_a_name_must_not_be_blank(name):
    """Acceptance check 13."""
    with pytest.raises(ValueError, match="name"):
        register_provider(name, scripted)


def test_a_factory_must_make_a_provider():
    """Acceptance check 13."""
    register_provider("my", lambda model, settings: "nonsense")
    with pytest.raises(TypeError, match="str"):
        make_provider("my")


def test_a_later_factory_replaces_an_earlier_one():
    register_provider("my", lambda model, settings: None)
    register_provider("my", scripted)
    assert make_provider("my").model == "none"


def test_an_unknown_provider_names_the_known_ones():
    register_provider("my", scripted)
    with pytest.raises(AgentConfigurationError, match=r"'thier'.*my"):
        make_provider("thier:x")


def test_a_missing_key_is_named():
    """Acceptance check 2, requirement A33."""
    with pytest.raises(AgentConfigurationError) as caught:
        make_provider("openai:gpt")
    assert str(caught.value) == (
        "Missing API key for provider 'openai'. "
        "Set OPENAI_API_KEY in your environment or .env file."
    )


# ------------------------------------------------------------ the default


def test_the_model_of_the_environment_is_the_default(monkeypatch):
    monkeypatch.setenv("NOTEBOOK_AGENTS_MODEL", "my:m")
    monkeypatch.setenv("DEFAULT_PROVIDER", "other")
    choice = choose_default()
    assert (choice.spec, choice.reason) == ("my:m", "NOTEBOOK_AGENTS_MODEL")


def test_then_the_provider_of_the_environment(monkeypatch):
    monkeypatch.setenv("DEFAULT_PROVIDER", "other")
    choice = choose_default()
    assert (choice.spec, choice.reason) == ("other", "DEFAULT_PROVIDER")


def test_else_the_embedded_model():
    assert choose_default().spec == "local"


async def test_the_choice_and_its_reason_can_be_asked_for(monkeypatch):
    monkeypatch.setenv("NOTEBOOK_AGENTS_MODEL", "my:m")
    register_provider("my", scripted)
    agent = Agent()
    assert agent.model_label == "a model chosen at the first run"
    await agent.run("go")
    assert agent.model_label == "scripted:m"
    assert agent.model_reason == "NOTEBOOK_AGENTS_MODEL"
