"""Whatever keeps an answer away has its class, and a sentence that says what to do.

One table for every wire format, over either HTTP library.
"""

from __future__ import annotations

import asyncio
import socket

import pytest

from notebook_agents.errors import (
    AgentProviderError,
    ContextLengthError,
    ModelNotFoundError,
    NotebookAgentsError,
    ProviderAuthError,
    ProviderRateLimitError,
    ProviderReplyError,
    ProviderTimeoutError,
    StreamInterruptedError,
)
from notebook_agents.messages import Message
from notebook_agents.providers import ModelRequest, _http, _reading
from notebook_agents.testing import scenario
from notebook_agents.testing.wire import Reply, head, wire_server
from tests.providers.services import KEY, WIRES, provider_for

pytestmark = [
    pytest.mark.usefixtures("transport"),
    pytest.mark.parametrize("wire", WIRES),
]

REFUSED = [
    # scenario, class, what to do, whether it may pass
    ("status_400", AgentProviderError, "Change what it objects to", False),
    ("status_401", ProviderAuthError, "Check that it is right", False),
    ("status_402", AgentProviderError, "out of credit. Add some", False),
    ("status_403", ProviderAuthError, "Check that it is right", False),
    ("status_404", ModelNotFoundError, "Check its name", False),
    ("status_408", ProviderTimeoutError, "Run it again", True),
    ("status_409", AgentProviderError, "Run it again later", True),
    ("status_413", ContextLengthError, "Shorten the conversation", False),
    ("status_422", AgentProviderError, "Change what it objects to", False),
    ("status_429", ProviderRateLimitError, "Wait a little", True),
    ("quota_used_up", ProviderRateLimitError, "Check plan and billing", False),
    ("status_500", AgentProviderError, "Run it again later", True),
    ("proxy_page", AgentProviderError, "Run it again later", True),
    ("status_503", AgentProviderError, "Run it again later", True),
    ("status_504", ProviderTimeoutError, "Run it again", True),
    ("status_529", AgentProviderError, "Run it again later", True),
    ("too_long", ContextLengthError, "Shorten it, or start a new one", False),
    ("redirect", AgentProviderError, "Use the new address", False),
]
BROKEN = [
    ("silence", ProviderTimeoutError, "pass a larger stall_timeout=", True),
    ("stall", ProviderTimeoutError, "pass a larger stall_timeout=", False),
    ("no_reply", StreamInterruptedError, "Run it again", True),
    ("no_end", StreamInterruptedError, "Run it again", False),
    ("cut_call", StreamInterruptedError, "Run it again", True),
    ("error_first", AgentProviderError, "Run it again later", True),
    ("web_page", ProviderReplyError, "Check the base URL", False),
    ("no_http", ProviderReplyError, "does not speak HTTP .* Check the URL", False),
]


async def whole_reply(provider) -> list:
    request = ModelRequest(messages=[Message("user", "Hi")])
    return [delta async for delta in provider.respond(request)]


async def failure(provider, cls: type, words: str) -> NotebookAgentsError:
    """Ask, and give the error, which has this class and says this."""
    with pytest.raises(cls, match=words) as caught:
        await asyncio.wait_for(whole_reply(provider), 10)
    error = caught.value
    assert type(error) is cls
    assert KEY not in str(error)
    if isinstance(error, AgentProviderError):
        assert error.provider == provider.name
        timed_out = isinstance(error, ProviderTimeoutError)
        assert error.status_code == (504 if timed_out else 502)
    return error


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: row[0])
async def test_a_refusal_says_what_to_do(server, wire, row):
    variant, cls, words, may_pass = row
    name = f"{wire}/{variant}"
    server.say(name, name)
    error = await failure(provider_for(wire, server.url, max_retries=1), cls, words)
    assert len(server.requests) == (2 if may_pass else 1)
    if isinstance(error, AgentProviderError):
        assert error.provider_status == status_of(scenario(name).reply)
        assert error.retryable is may_pass


def status_of(reply: Reply) -> int:
    return int(reply[0][len("HTTP/1.1 ") :][:3])


@pytest.mark.parametrize("row", BROKEN, ids=lambda row: row[0])
async def test_a_broken_reply_says_what_to_do(server, wire, row):
    variant, cls, words, may_pass = row
    server.say(*[f"{wire}/{variant}"] * 2)
    seconds = 0.2 if cls is ProviderTimeoutError else 9
    provider = provider_for(wire, server.url, max_retries=1, stall_timeout=seconds)
    await failure(provider, cls, words)
    assert len(server.requests) == (2 if may_pass else 1)


async def test_nothing_to_talk_about_is_an_error_too(server, wire):
    server.say([head(204)])
    await failure(provider_for(wire, server.url), AgentProviderError, "204")


async def test_a_host_that_is_not_known(wire, monkeypatch):
    async def unknown(*_args, **_options):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", unknown)
    provider = provider_for(wire, "http://localhost:1/v1", max_retries=1)
    await failure(provider, AgentProviderError, "not known. Check the URL and the")


async def test_nobody_listens(wire):
    with wire_server() as gone:
        pass
    provider = provider_for(wire, gone.url, max_retries=1)
    await failure(provider, AgentProviderError, "refused. Is the URL right, and the")


async def test_no_connection_in_time(wire, monkeypatch):
    async def hang(*_args, **_options):
        await asyncio.Event().wait()

    monkeypatch.setattr(asyncio.get_running_loop(), "sock_connect", hang)
    provider = provider_for(
        wire, "http://127.0.0.1:1/v1", max_retries=0, connect_timeout=0.05
    )
    await failure(provider, ProviderTimeoutError, "in time. Is the URL right")


async def test_no_tls(server, wire):
    url = server.url.replace("http:", "https:")
    provider = provider_for(wire, url, max_retries=1)
    await failure(provider, AgentProviderError, "CA_BUNDLE_PATH.* or pass verify=")
    assert server.connections == 1


@pytest.mark.parametrize("variant", ["answer", "whole"])
async def test_too_much_of_a_reply(server, wire, variant, monkeypatch):
    monkeypatch.setattr(_http, "MOST_BYTES", 100)
    server.say(f"{wire}/{variant}")
    provider = provider_for(wire, server.url, max_retries=1)
    await failure(provider, ProviderReplyError, "too large.* a model service")
    assert len(server.requests) == 1


async def test_an_event_without_an_end(server, wire, monkeypatch):
    monkeypatch.setattr(_reading, "MOST_WHOLE_BYTES", 1000)
    line = scenario(f"{wire}/half_a_pair").reply[0]
    server.say([line, b"7d0\r\ndata: " + b"x" * 1994 + b"\r\n", b"1\r\nx\r\n"])
    provider = provider_for(wire, server.url, max_retries=1)
    await failure(provider, ProviderReplyError, "too large")
