"""A model that ends, or that nobody has heard of, is told once."""

from __future__ import annotations

from datetime import date

import pytest

from notebook_agents.providers import (
    AnthropicProfile,
    AnthropicProvider,
    ChatProfile,
    GeminiProvider,
    OpenAIProvider,
)
from notebook_agents.providers.lifecycle import end_of, is_known, warn_of
from notebook_agents.providers.registry import make_provider


@pytest.fixture(autouse=True)
def _as_in_a_new_process():
    warn_of.cache_clear()
    yield
    warn_of.cache_clear()


@pytest.mark.parametrize(
    ("provider", "model", "end"),
    [
        ("openai", "gpt-5", date(2026, 12, 11)),
        ("openai", "gpt-5-mini-2025-08-07", date(2026, 12, 11)),
        ("openai", "o3", date(2026, 12, 11)),
        ("openai", "gpt-4o-mini", date(2027, 1, 14)),
        ("openai", "gpt-4.1-mini", date(2027, 1, 14)),
        ("openai", "gpt-4.1-nano", date(2026, 10, 23)),
        ("openai", "gpt-3.5-turbo-0125", date(2026, 10, 23)),
        ("openai", "gpt-4", date(2026, 10, 23)),
        ("openai", "gpt-5.1", date(2027, 4, 1)),
        ("openai", "gpt-5.2", None),
        ("openai", "gpt-6-luna", None),
        ("openai", "gpt-4o-realtime", None),
        ("anthropic", "claude-sonnet-4-5-20250929", date(2026, 11, 30)),
        ("anthropic", "claude-opus-4-5", date(2027, 1, 22)),
        ("anthropic", "claude-sonnet-5-5", None),
        ("gemini", "gemini-2.5-flash", date(2026, 12, 1)),
        ("gemini", "models/gemini-2.5-pro", date(2026, 12, 1)),
        ("gemini", "gemini-2.5-flash-lite", None),
        ("openai-compatible", "gpt-4o", None),
    ],
)
def test_the_end_of_a_model_is_known(provider, model, end):
    assert end_of(provider, model) == end


@pytest.mark.parametrize(
    ("provider", "model", "known"),
    [
        ("openai", "gpt-6.1-terra", True),
        ("openai", "gpt-oss-120b", True),
        ("openai", "ft:gpt-4.1:me::1", True),
        ("openai", "o3-mini", True),
        ("openai", "gpt-7", False),
        ("openai", "gpt-60", False),
        ("openai", "claude-sonnet-5-5", False),
        ("anthropic", "claude-3-5-haiku-latest", True),
        ("anthropic", "claude-haiku-5-5", True),
        ("anthropic", "claude-opus-6", False),
        ("anthropic", "gpt-6-luna", False),
        ("gemini", "gemini-flash-latest", True),
        ("gemini", "gemini-4-argon", True),
        ("gemini", "gemini-5-x", False),
        ("ollama", "whatever", True),
    ],
)
def test_a_name_is_known_by_its_family(provider, model, known):
    assert is_known(provider, model) is known


def test_a_model_that_ends_is_told_once(caplog):
    for _ in range(2):
        OpenAIProvider("gpt-5.1")
    (record,) = caplog.records
    assert "gpt-5.1 end" in record.getMessage()
    assert "on 2027-04-01" in record.getMessage()
    assert "such as gpt-6-luna" in record.getMessage()


@pytest.mark.parametrize(
    "make",
    [
        lambda: OpenAIProvider("gpt-7"),
        lambda: AnthropicProvider("claude-opus-9"),
        lambda: GeminiProvider("gemini-9-pro"),
    ],
)
def test_a_name_that_is_not_known_is_told_once(make, caplog):
    make()
    make()
    (record,) = caplog.records
    assert "what it takes is guessed" in record.getMessage()


def test_elsewhere_names_are_nobodys_business(caplog):
    OpenAIProvider("gpt-4o", base_url="http://localhost:1/v1")
    AnthropicProvider("qwen3", base_url="http://localhost:1")
    GeminiProvider("mine", base_url="http://localhost:1")
    assert caplog.records == []


def test_who_says_what_a_model_takes_is_not_told_that_it_is_guessed(caplog):
    OpenAIProvider("gpt-7", profile=ChatProfile())
    AnthropicProvider("claude-opus-9", profile=AnthropicProfile())
    assert caplog.records == []


def test_the_defaults_go_on(caplog):
    for provider in (OpenAIProvider(), AnthropicProvider(), GeminiProvider()):
        assert end_of(provider.name, provider.model) is None
    assert caplog.records == []


@pytest.mark.parametrize(
    ("provider", "key", "default"),
    [
        ("openai", "OPENAI_API_KEY", "gpt-6-luna"),
        ("anthropic", "ANTHROPIC_API_KEY", "claude-sonnet-5-5"),
        ("gemini", "GEMINI_API_KEY", "gemini-3.8-flash"),
        ("openrouter", "OPENROUTER_API_KEY", "~openai/gpt-sol-latest"),
        ("huggingface", "HF_TOKEN", "openai/gpt-oss-120b"),
    ],
)
def test_each_default_may_be_another_one(provider, key, default, monkeypatch, tmp_path):
    """Wire, section 7."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(key, "sk-a-key-of-the-tests")
    assert make_provider(provider).model == default
    variable = f"NOTEBOOK_AGENTS_{provider.upper()}_MODEL"
    monkeypatch.setenv(variable, "mine")
    assert make_provider(provider).model == "mine"
    assert make_provider(f"{provider}:this").model == "this"
    monkeypatch.setenv(variable, " ")
    assert make_provider(provider).model == default
