"""The environment is read where it is used, and keys are never shown."""

from __future__ import annotations

import os

import pytest

from notebook_agents import Agent, ScriptedProvider
from notebook_agents.errors import AgentConfigurationError
from notebook_agents.settings import get_settings

SECRET = "sk-secret-value"


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    """Read no ``.env`` of whoever runs the tests."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_an_empty_environment_says_nothing():
    settings = get_settings()
    assert (settings.model, settings.default_provider, settings.approve) == (None,) * 3
    assert settings.keys == {}


@pytest.mark.parametrize("value", ["", "  "])
def test_blank_means_missing(value, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", value)
    monkeypatch.setenv("NOTEBOOK_AGENTS_MODEL", value)
    assert get_settings().keys == {}
    assert get_settings().model is None


def test_a_value_is_read_without_its_blanks(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", f" {SECRET}\n")
    assert get_settings().keys == {"openai": SECRET}


@pytest.mark.parametrize("name", ["HF_TOKEN", "HUGGINGFACE_API_KEY"])
def test_a_key_may_have_more_than_one_name(name, monkeypatch):
    monkeypatch.setenv(name, SECRET)
    assert get_settings().keys == {"huggingface": SECRET}


def test_the_nearest_file_is_found_from_a_folder_below(empty_folder, monkeypatch):
    (empty_folder / ".env").write_text(f"OPENAI_API_KEY={SECRET}\n")
    below = empty_folder / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert get_settings().keys == {"openai": SECRET}


def test_the_file_never_overrides_the_environment(empty_folder, monkeypatch):
    (empty_folder / ".env").write_text("NOTEBOOK_AGENTS_MODEL=file\n")
    monkeypatch.setenv("NOTEBOOK_AGENTS_MODEL", "environment")
    assert get_settings().model == "environment"


def test_the_file_is_read_again_when_it_changes(empty_folder):
    path = empty_folder / ".env"
    for number, model in enumerate(["one", "two"]):
        path.write_text(f"NOTEBOOK_AGENTS_MODEL={model}\n")
        os.utime(path, ns=(number, number))
        assert get_settings().model == model


def test_the_file_leaves_the_environment_as_it_is(empty_folder):
    (empty_folder / ".env").write_text(f"OPENAI_API_KEY={SECRET}\n")
    get_settings()
    assert "OPENAI_API_KEY" not in os.environ


def test_a_wrong_word_names_the_right_ones(monkeypatch):
    monkeypatch.setenv("NOTEBOOK_AGENTS_APPROVE", "maybe")
    with pytest.raises(AgentConfigurationError, match="ask, policy, allow, deny"):
        get_settings()


def test_keys_are_never_shown(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    settings = get_settings()
    assert SECRET not in f"{settings!r} {settings}"
    assert "openai" in repr(settings)


def test_keys_are_not_shown_by_an_agent_either(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    agent = Agent(ScriptedProvider(["hi"]))
    result = agent.run_sync("go")
    shown = f"{agent!r} {agent.last_run!r} {result!r} {result.to_dict()}"
    assert SECRET not in shown


def test_a_missing_key_is_named_and_a_present_one_is_not_shown(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    with pytest.raises(AgentConfigurationError, match="GEMINI_API_KEY") as caught:
        Agent(provider="gemini").run_sync("go")
    assert SECRET not in str(caught.value)
