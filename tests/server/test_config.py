"""Settings of a server: their defaults, and what cannot be right."""

from __future__ import annotations

import pytest

from notebook_agents import AgentConfigurationError
from notebook_agents.server import CORSConfig, ServerConfig


def test_the_defaults_are_those_of_the_specification_but_for_the_host():
    """Requirements, B3 to B8; the host and the origins are the design's."""
    config = ServerConfig()
    assert (config.host, config.port) == ("127.0.0.1", 1453)
    assert config.chat_endpoint == "/chat"
    assert config.conversations_endpoint == "/conversations"
    assert (config.health_endpoint, config.info_endpoint) == ("/health", "/info")
    assert (config.api_key, config.request_timeout) == (None, 120.0)
    assert config.max_message_length == 32_768
    assert (config.docs_url, config.redoc_url) == ("/docs", None)
    assert (config.backlog, config.limit_concurrency) == (2048, None)
    assert (config.timeout_keep_alive, config.log_level) == (5, "info")
    assert config.cors is None


def test_the_defaults_of_cors_are_those_of_the_specification():
    """Requirements, B3."""
    cors = CORSConfig()
    assert cors.origins == cors.allow_methods == cors.allow_headers == ("*",)
    assert (cors.allow_credentials, cors.expose_headers) == (False, ())
    assert cors.max_age == 600
    assert cors.allows("https://anywhere.example")


def test_credentials_for_every_site_are_refused():
    with pytest.raises(AgentConfigurationError, match="named"):
        CORSConfig(allow_credentials=True)
    named = CORSConfig(origins=["https://a.example"], allow_credentials=True)
    assert not named.allows("https://b.example")


@pytest.mark.parametrize("host", ["0.0.0.0", "", "::", "192.0.2.1", "example.org"])  # noqa: S104 - refused
def test_an_open_door_to_the_network_is_refused(host):
    with pytest.raises(AgentConfigurationError, match="api_key"):
        ServerConfig(host=host)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "localhost"])
def test_the_loopback_needs_no_key(host):
    assert ServerConfig(host=host).is_loopback


@pytest.mark.parametrize(
    "settings",
    [
        {"request_timeout": 0},
        {"request_timeout": "120"},
        {"request_timeout": float("nan")},
        {"chat_endpoint": "chat"},
        {"chat_endpoint": "/"},
        {"chat_endpoint": "/chat/"},
        {"chat_endpoint": "/{x}"},
        {"chat_endpoint": None},
        {"chat_endpoint": "/health"},
        {"health_endpoint": "/chat/stream"},
        {"info_endpoint": "/runs/all"},
        {"docs_url": "/openapi.json"},
        {"api_key": " "},
        {"api_key": "k-1 "},
        {"api_key": b"k-1"},
        {"api_key": "schl\u00fcssel"},
        {"api_key": "\u043a\u043b\u044e\u0447"},
        {"api_keys": {"k-1": ""}},
        {"api_keys": {1: "ada"}},
        {"api_keys": ["k-1"]},
        {"api_keys": {"k-1": "ada"}, "api_key": "k-1"},
        {"approvals": "maybe"},
        {"log_level": "loud"},
        {"max_body_size": 0},
        {"max_message_length": 0},
        {"max_concurrent_runs": 0},
        {"max_concurrent_runs": True},
        {"max_waiting_runs": 0.5},
        {"sse_heartbeat_seconds": 0},
        {"port": -1},
        {"port": 65_536},
        {"port": "80"},
        {"host": None},
        {"backlog": 0},
        {"ssl_keyfile": "server.key"},
        {"allowed_hosts": "a.example,b.example"},
        {"allowed_hosts": ["https://a.example"]},
        {"allowed_hosts": ["a.example:80"]},
        {"allowed_hosts": [None]},
        {"allowed_hosts": 1},
    ],
    ids=repr,
)
def test_a_setting_that_cannot_be_right_is_refused(settings):
    with pytest.raises(AgentConfigurationError, match=next(iter(settings))[:7]):
        ServerConfig(**settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"origins": ["https://a.example/app"]},
        {"origins": ["a.example"]},
        {"origins": ["null"]},
        {"origins": [1]},
        {"origins": None},
        {"allow_methods": ["GET, POST"]},
        {"allow_headers": ["X-Key\r\n"]},
        {"max_age": -1},
        {"allow_credentials": "no"},
    ],
    ids=repr,
)
def test_a_rule_for_other_sites_that_cannot_be_right_is_refused(settings):
    with pytest.raises(AgentConfigurationError, match=next(iter(settings))):
        CORSConfig(**settings)


def test_a_single_text_is_one_entry_and_not_its_characters():
    """As characters, ``"*.example"`` held a ``"*"``, which lets everybody in."""
    assert ServerConfig(allowed_hosts="*.Example.org").allowed_hosts == (
        "*.example.org",
    )
    cors = CORSConfig(origins="https://A.example:443")
    assert cors.origins == ("https://a.example",)
    assert cors.allows("https://a.example")
    assert not cors.allows("https://a.example.evil")
    assert not cors.allows("a")


def test_settings_do_not_follow_the_lists_they_were_made_of():
    hosts, keys = ["a.example"], {"k-1": "ada"}
    config = ServerConfig(allowed_hosts=hosts, api_keys=keys)
    hosts.append("*")
    keys["k-2"] = "eve"
    assert (config.allowed_hosts, dict(config.api_keys)) == (
        ("a.example",),
        {"k-1": "ada"},
    )


def test_keys_are_not_shown():
    config = ServerConfig(api_key="k-7f3a", api_keys={"k-9b1c": "ada"})
    assert "k-7f3a" not in repr(config)
    assert "k-9b1c" not in repr(config)
