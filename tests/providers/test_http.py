"""Bytes come and go on real sockets, on any loop, and nothing is left open."""

from __future__ import annotations

import asyncio
import gc
import ssl
import subprocess
import sys
import threading

import pytest

from notebook_agents.errors import AgentConfigurationError
from notebook_agents.providers import _connections, _http
from notebook_agents.providers._http import Patience, TransportError, send
from notebook_agents.providers._transport import Trouble
from tests.providers.wire import (
    CUT,
    HOLD,
    LAST_CHUNK,
    STREAM_HEAD,
    answer,
    chunk,
    head,
    streamed,
    whole,
)

pytestmark = pytest.mark.usefixtures("transport")

QUICK = Patience(connect=5, stall=5)


async def ask(url: str, body: bytes = b"{}", **options) -> tuple[int, bytes]:
    options.setdefault("patience", QUICK)
    exchange = await send("POST", url, {"X-A": "b"}, body, **options)
    try:
        return exchange.status, await exchange.read()
    finally:
        await exchange.aclose()


def run(main):
    with asyncio.Runner() as runner:
        return runner.run(main)


async def trouble(url: str, **options) -> Trouble:
    with pytest.raises(TransportError) as caught:
        await ask(url, **options)
    return caught.value.kind


async def test_a_request_arrives_as_it_was_sent(server):
    server.say(whole(200, {"a": 1}))
    assert await ask(f"{server.url}/x", b"\xff") == (200, b'{"a": 1}')
    (request,) = server.requests
    assert (request.method, request.path, request.raw) == ("POST", "/v1/x", b"\xff")
    assert request.headers["x-a"] == "b"


async def test_bytes_are_given_as_they_come(server):
    server.say([STREAM_HEAD + chunk(b"a"), HOLD])
    exchange = await send("POST", server.url, {}, b"", patience=QUICK)
    chunks = exchange.chunks()
    assert await anext(chunks) == b"a"
    await chunks.aclose()
    await exchange.aclose()


async def test_a_connection_is_used_again(server):
    server.say(whole(200, {}), streamed(b"a", b"b"), whole(500, {}))
    for _ in range(3):
        await ask(server.url)
    assert [request.connection for request in server.requests] == [1, 1, 1]


async def test_a_reply_that_was_left_early_closes_its_connection(server, wait_until):
    server.say([STREAM_HEAD + chunk(b"a"), HOLD])
    exchange = await send("POST", server.url, {}, b"", patience=QUICK)
    await exchange.aclose()
    await asyncio.to_thread(wait_until, lambda: server.open_connections == 0)


async def test_all_share_one_client(server):
    server.say(*[whole(200, {})] * 2)
    await ask(f"{server.url}/a")
    await ask(f"{server.url}/b")
    assert len(_connections._wires[asyncio.get_running_loop()]) == 1


def test_each_loop_has_a_client_that_is_closed_with_it(server, wait_until):
    """Wire, section 8, item 7: others fail every second run."""
    server.say(*[whole(200, {})] * 5)
    for _ in range(5):
        assert run(ask(server.url))[0] == 200
    wait_until(lambda: server.open_connections == 0)
    assert server.connections == 5


def test_a_script_that_ends_leaves_no_word_about_its_connections(server, transport):
    """The agent loop ends with the process, and nobody closes what it has."""
    server.say(answer("Hi!"))
    without = "" if transport == "aiohttp" else "sys.modules['aiohttp'] = None\n"
    script = (
        f"import sys\n{without}"
        "from notebook_agents import Agent\n"
        "from notebook_agents.providers import OpenAICompatibleProvider\n"
        f"provider = OpenAICompatibleProvider({server.url!r}, 'm', 'sk-a-test-key')\n"
        "print(Agent(provider).run_sync('Hello'))\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("Hi!\n", "")


def test_threads_do_not_disturb_each_other(server):
    server.say(*[whole(200, {})] * 8)
    seen = []
    threads = [
        threading.Thread(target=lambda: seen.append(run(ask(server.url))[0]))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    assert seen == [200] * 8


def test_a_closed_loop_is_forgotten(server):
    server.say(*[whole(200, {})] * 3)
    for _ in range(3):
        run(ask(server.url))
    gc.collect()
    assert not [
        loop
        for loop in _connections._wires
        if loop.is_closed() and _connections._wires[loop]
    ]


async def test_nobody_there(unused_port):
    assert await trouble(f"http://127.0.0.1:{unused_port}") is Trouble.REFUSED


async def test_a_host_that_is_not_known(monkeypatch):
    async def unknown(*args, **kwargs):
        import socket

        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", unknown)
    assert await trouble("http://localhost:1") is Trouble.DNS


async def test_a_server_that_speaks_no_tls(server):
    assert await trouble(server.url.replace("http", "https")) is Trouble.TLS


async def test_silence_before_the_reply(server):
    server.say([HOLD])
    assert await trouble(server.url, patience=Patience(stall=0.05)) is Trouble.STALL


async def test_silence_within_the_reply(server):
    server.say([STREAM_HEAD + chunk(b": life\n\n"), HOLD])
    assert await trouble(server.url, patience=Patience(stall=0.05)) is Trouble.STALL


async def test_a_reply_that_takes_too_long(server):
    server.say([STREAM_HEAD + chunk(b"a"), HOLD])
    assert await trouble(server.url, patience=Patience(total=0.05)) is Trouble.DEADLINE


async def test_no_reply_in_all_the_time(server):
    server.say([HOLD])
    assert await trouble(server.url, patience=Patience(total=0.05)) is Trouble.DEADLINE


@pytest.mark.parametrize(
    "reply",
    [
        [CUT],
        [STREAM_HEAD[:20], CUT],
        [STREAM_HEAD, CUT],
        [STREAM_HEAD + chunk(b"a"), CUT],
        [STREAM_HEAD + b"ff\r\na", CUT],
        [head(200, {"content-length": "9"}) + b"a", CUT],
    ],
    ids=["at once", "in the head", "after it", "between", "in a chunk", "too short"],
)
async def test_a_connection_that_breaks(server, reply):
    server.say(reply)
    assert await trouble(server.url) is Trouble.CUT


async def test_a_reply_without_an_end_is_not_read_for_ever(server, monkeypatch):
    monkeypatch.setattr(_http, "MOST_BYTES", 1000)
    server.say([STREAM_HEAD + chunk(b"x" * 1001), HOLD])
    assert await trouble(server.url) is Trouble.OVERSIZED


async def test_a_reply_that_is_no_http(server):
    server.say([b"SSH-2.0-OpenSSH\r\n\r\n", CUT])
    assert await trouble(server.url) is Trouble.PROTOCOL


async def test_a_body_that_breaks_the_rules_of_http_comes_to_an_end(server):
    server.say([STREAM_HEAD + chunk(b"a"), b"nonsense\r\n", CUT])
    async with asyncio.timeout(5):
        with pytest.raises(TransportError):
            await ask(server.url)


async def test_a_packed_reply_is_unpacked(server):
    import gzip

    raw = gzip.compress(b"data: a\n\n")
    server.say([head(200, {"content-encoding": "gzip", "content-length": str(len(raw))})
                + raw])  # fmt: skip
    assert await ask(server.url) == (200, b"data: a\n\n")


async def test_a_redirect_is_not_followed(server):
    """The key must not go elsewhere."""
    server.say(whole(307, {}, location="http://127.0.0.1:1/"))
    assert (await ask(server.url))[0] == 307


async def test_a_proxy_of_the_environment_is_not_used_for_the_loopback(
    server, monkeypatch, unused_port
):
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{unused_port}")
    server.say(whole(200, {}))
    assert (await ask(server.url))[0] == 200


@pytest.mark.parametrize(
    "names",
    [{"HTTP_PROXY": "http://"}, {"http_proxy": ""}, {"ALL_PROXY": "http://"}],
    ids=lambda names: next(iter(names)),
)
async def test_a_proxy_of_the_environment_is_used_for_other_machines(
    server, monkeypatch, names
):
    for name, scheme in names.items():
        monkeypatch.setenv(name, f"{scheme}127.0.0.1:{server.port}")
    server.say(whole(200, {}))
    assert (await ask("http://model.invalid/v1"))[0] == 200
    assert server.requests[0].path == "http://model.invalid/v1"


async def test_the_password_of_a_proxy_is_sent_to_it(server, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", f"http://ada:secret@127.0.0.1:{server.port}")
    server.say(whole(200, {}))
    await ask("http://model.invalid/v1")
    assert server.requests[0].headers["proxy-authorization"].startswith("Basic ")


@pytest.mark.parametrize(
    "hosts", ["*", "localhost,model.invalid", ".invalid", "model.invalid:80"]
)
async def test_hosts_without_a_proxy_are_asked_themselves(
    server, monkeypatch, refused_connections, hosts
):
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{server.port}")
    monkeypatch.setenv("NO_PROXY", hosts)
    with pytest.raises((TransportError, RuntimeError)):
        await ask("http://model.invalid:80/v1")
    assert server.requests == []
    refused_connections.clear()  # it was looked up, which a test must not do


async def test_cookies_of_a_service_are_not_kept(server):
    """All agents share the connections, and need not be one person's."""
    server.say(*[whole(200, {}, set_cookie="who=ada")] * 2)
    await ask(server.url)
    await ask(server.url)
    assert "cookie" not in server.requests[1].headers


async def test_certificates_that_cannot_be_read_are_named():
    with pytest.raises(AgentConfigurationError, match="nowhere"):
        await ask("https://127.0.0.1:1", verify="/nowhere.pem")


def test_certificates_may_be_a_folder(tmp_path):
    assert _connections._context(str(tmp_path)).verify_mode is ssl.CERT_REQUIRED


async def test_what_lies_underneath_is_of_the_standard_library(server, unused_port):
    """Only so it can be sent to another process."""
    for url in (
        server.url.replace("http", "https"),
        f"http://127.0.0.1:{unused_port}",
    ):
        with pytest.raises(TransportError) as caught:
            await ask(url)
        assert type(caught.value.original).__module__ in {"ssl", "builtins"}


async def test_a_whole_reply_may_have_only_so_many_bytes(server):
    server.say(whole(200, b"x" * 100))
    exchange = await send("POST", server.url, {}, b"", patience=QUICK)
    with pytest.raises(TransportError) as caught:
        await exchange.read(99)
    await exchange.aclose()
    assert caught.value.kind is Trouble.OVERSIZED


def test_there_is_one_context_for_all():
    assert _connections._context(verify=True) is _connections._context(verify=True)
    assert _connections._context(
        ssl.create_default_context()
    ) is not _connections._context(verify=True)


async def test_a_client_of_the_user_is_used_and_left_open(server):
    import httpx

    server.say(whole(200, {}))
    async with httpx.AsyncClient(headers={"X-Mine": "1"}) as client:
        await ask(server.url, client=client)
        assert not client.is_closed
    assert server.requests[0].headers["x-mine"] == "1"


async def ask_together(url: str, count: int) -> list[int]:
    """Ask several times at once: no reply is closed before all have come."""
    sent = [send("POST", url, {}, b"", patience=QUICK) for _ in range(count)]
    exchanges = await asyncio.gather(*sent)
    for exchange in exchanges:
        await exchange.read()
        await exchange.aclose()
    return [exchange.status for exchange in exchanges]


async def test_many_requests_at_once_use_their_connections_again(server):
    server.say(*[whole(200, {})] * 30)
    for _ in range(3):
        assert await ask_together(server.url, 10) == [200] * 10
    assert server.connections == 10


async def test_a_reply_that_is_closed_twice_frees_one_connection(server):
    server.say(*[whole(200, {})] * 3)
    exchange = await send("POST", server.url, {}, b"", patience=QUICK)
    await exchange.read()
    await exchange.aclose()
    await exchange.aclose()
    await ask_together(server.url, 2)
    assert server.connections == 2


async def test_a_connection_that_broke_is_replaced(server):
    server.say([CUT], whole(200, {}), [STREAM_HEAD, CUT], whole(200, {}))
    assert await trouble(server.url) is Trouble.CUT
    assert (await ask(server.url))[0] == 200
    assert await trouble(server.url) is Trouble.CUT
    assert (await ask(server.url))[0] == 200


async def test_a_request_that_is_cancelled_harms_no_other(server, wait_until):
    server.say([HOLD], whole(200, {}))
    asking = asyncio.create_task(ask(server.url))
    await asyncio.to_thread(wait_until, lambda: len(server.requests) == 1)
    asking.cancel()
    await asyncio.wait([asking])
    assert (await ask(server.url))[0] == 200
    await asyncio.to_thread(wait_until, lambda: server.open_connections == 1)


@pytest.mark.parametrize("name", ["AsyncClient", "Request", "Response", "Headers"])
async def test_a_request_makes_no_object_of_httpx(server, monkeypatch, name):
    """Those took a third of the time of a request."""
    made = []
    monkeypatch.setattr(f"httpx.{name}.__init__", lambda *_, **__: made.append(name))
    server.say(whole(200, {}))
    assert (await ask(server.url))[0] == 200
    assert not made


async def test_the_last_chunk_may_come_apart(server):
    server.say([STREAM_HEAD, chunk(b"a"), LAST_CHUNK[:2], LAST_CHUNK[2:]])
    assert await ask(server.url) == (200, b"a")


@pytest.fixture
def unused_port():
    import socket

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
