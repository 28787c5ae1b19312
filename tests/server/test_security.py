"""Who may call a server: keys, hosts, origins and sizes."""

from __future__ import annotations

import socket

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from notebook_agents.server import CORSConfig, ServerConfig, serve
from tests.server.support import TIMEOUT, Caller, Gate, agent_of, holding, requests_of

OPEN = {"health", "info", "docs", "openapi"}


def _routes(server) -> dict[str, str]:
    """Every route with the method that it takes."""
    found = httpx.get(f"{server.url}/info").json()["endpoints"]
    asks = {"chat", "stream", "run_cancel", "approval_decide"}
    return {url: "POST" if name in asks else "GET" for name, url in found.items()}


def test_every_route_but_the_open_ones_needs_the_key():
    server = serve(agent_of())
    names = httpx.get(f"{server.url}/info").json()["endpoints"]
    open_urls = {url for name, url in names.items() if name in OPEN}
    for url, method in _routes(server).items():
        missing = httpx.request(method, url)
        wrong = httpx.request(method, url, headers={"Authorization": "Bearer nope"})
        if url in open_urls:
            assert missing.status_code == 200, url
        else:
            assert missing.status_code == 401, url
            assert missing.headers["WWW-Authenticate"] == "Bearer"
            assert wrong.status_code == 403, url
    assert len(names) > len(open_urls)


def test_a_path_that_does_not_exist_needs_the_key_too(caller_of):
    server = serve(agent_of())
    assert httpx.get(f"{server.url}/nowhere").status_code == 401
    assert caller_of(server).http.get("/nowhere").status_code == 404


@pytest.mark.parametrize("header", ["token abc", "Basic abc", "Bearer"])
def test_what_is_no_bearer_key_counts_as_missing(caller_of, header):
    caller = caller_of(serve(agent_of()), None)
    response = caller.http.get("/approvals", headers={"Authorization": header})
    assert response.status_code == 401


def test_a_key_in_the_address_does_not_count():
    server = serve(agent_of())
    url = f"{server.url}/approvals?token={server.token}"
    assert httpx.get(url).status_code == 401


def test_a_key_that_is_not_ascii_is_refused_and_not_an_error():
    server = serve(agent_of())
    headers = {"Authorization": "Bearer sch\u00fcssel".encode("latin-1")}
    assert httpx.get(f"{server.url}/approvals", headers=headers).status_code == 403


def test_the_start_page_leads_to_the_documentation_or_else_to_the_facts(served):
    caller = served(agent_of())
    assert caller.http.get("/").headers["location"] == "/docs"
    assert caller.http.get("/").status_code == 307
    bare = served(agent_of(name="bare"), docs_url=None)
    assert bare.http.get("/").headers["location"] == "/info"
    assert bare.http.get("/openapi.json").status_code == 404


def test_a_proxy_prefix_moves_the_documentation(served):
    headers = {"X-Forwarded-Prefix": "/user/ada/proxy/1234/"}
    page = served(agent_of()).http.get("/docs", headers=headers)
    assert "/user/ada/proxy/1234/openapi.json" in page.text


def test_a_key_of_one_user_speaks_for_that_user_only(served):
    keys = {"key-of-ada": "ada", "key-of-bob": "bob"}
    caller = served(agent_of("Hi Ada."), api_keys=keys)
    caller.http.headers["Authorization"] = "Bearer key-of-ada"
    assert caller.chat(user_id="bob").json()["user_id"] == "ada"


def test_runs_and_approvals_of_somebody_else_are_not_there(caller_of, served):
    gate = Gate()
    keys = {"key-of-ada": "ada", "key-of-bob": "bob"}
    owner = served(holding(gate), api_keys=keys)
    url = str(owner.http.base_url)
    ada, bob = Caller(url, "key-of-ada"), Caller(url, "key-of-bob")
    with ada.streaming() as frames:
        next(frames)
        run = f"/runs/{ada.last.headers['x-run-id']}"
        assert ada.http.get(run).status_code == 200
        assert bob.http.get(run).status_code == 404
        assert bob.http.get(f"{run}/events").status_code == 404
        assert bob.http.post(f"{run}/cancel").status_code == 404
        gate.opened.set()
        list(frames)
    ada.http.close()
    bob.http.close()


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1", 200),
        ("127.0.0.1:80", 200),
        ("LOCALHOST:8888", 200),
        ("localhost.", 200),
        ("app.localhost", 200),
        ("[::1]:8080", 200),
        ("hub.example.org", 200),
        ("evil.example", 421),
        ("localhost.evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("evil@127.0.0.1", 421),
        ("2130706433", 421),
        ("", 421),
        ("127.0.0.1 evil", 421),
    ],
)
def test_a_foreign_name_for_this_machine_is_refused(served, host, status):
    """DNS rebinding: the page's own name is made to point here."""
    caller = served(agent_of(), allowed_hosts=["hub.example.org"])
    assert caller.http.get("/health", headers={"Host": host}).status_code == status


def test_two_host_lines_are_refused():
    port = serve(agent_of()).port
    with socket.create_connection(("127.0.0.1", port), TIMEOUT) as connection:
        lines = "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil\r\n\r\n"
        connection.sendall(lines.encode())
        assert connection.recv(100).split()[1] in {b"400", b"421"}


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
def test_a_page_of_another_site_cannot_ask(served, headers):
    agent = agent_of("never")
    caller = served(agent)
    response = caller.http.post("/chat", json={"message": "Hi"}, headers=headers)
    assert response.status_code == 403
    assert response.json()["error"] == "ForeignOrigin"
    assert requests_of(agent) == []


def test_a_page_of_the_server_itself_can_ask(served):
    caller = served(agent_of("Hello!"))
    origin = str(caller.http.base_url).rstrip("/")
    response = caller.http.post(
        "/chat", json={"message": "Hi"}, headers={"Origin": origin}
    )
    assert response.status_code == 200


def test_an_allowed_site_passes_its_preflight_and_others_do_not(served):
    cors = CORSConfig(origins=["https://app.example.org"], max_age=60)
    caller = served(agent_of("Hello!"), cors=cors)
    asked = {
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization",
    }
    good = {"Origin": "https://app.example.org"}
    preflight = httpx.options(f"{caller.http.base_url}/chat", headers={**good, **asked})
    assert preflight.status_code == 200
    assert preflight.headers["access-control-allow-origin"] == good["Origin"]
    assert preflight.headers["access-control-max-age"] == "60"
    response = caller.http.post("/chat", json={"message": "Hi"}, headers=good)
    assert response.status_code == 200
    evil = {"Origin": "https://evil.example"}
    assert caller.http.options("/chat", headers={**evil, **asked}).status_code == 403


def test_a_page_that_is_named_may_reach_into_a_private_network(served):
    asked = {
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Private-Network": "true",
        "Origin": "https://app.example.org",
    }
    named = served(agent_of(), cors=CORSConfig(origins="https://app.example.org"))
    preflight = named.http.options("/chat", headers=asked)
    assert preflight.status_code == 200
    assert preflight.headers["access-control-allow-private-network"] == "true"
    anybody = served(agent_of(name="open"), cors=CORSConfig())
    assert anybody.http.options("/chat", headers=asked).status_code == 400


@pytest.mark.parametrize("prefix", ["", "/proxy/8000"], ids=["plain", "proxied"])
async def test_an_app_that_is_mounted_in_another_keeps_its_open_and_closed_paths(
    prefix,
):
    server = serve(agent_of())
    outer = Starlette(routes=[Mount("/bot", app=server._server.app)])
    headers = {"X-Forwarded-Prefix": prefix} if prefix else {}
    transport = httpx.ASGITransport(app=outer)
    async with httpx.AsyncClient(
        transport=transport, base_url="http://127.0.0.1", headers=headers
    ) as client:
        assert (await client.get("/bot/health")).status_code == 200
        assert (await client.get("/bot/approvals")).status_code == 401
        assert (await client.get("/bot")).status_code in {307, 401, 404}
        docs = (await client.get("/bot/docs")).text
        assert f"{prefix}/bot/openapi.json" in docs
        info = (await client.get("/bot/info")).json()
        assert info["endpoints"]["chat"] == f"http://127.0.0.1{prefix}/bot/chat"
        key = {"Authorization": f"Bearer {server.token}"}
        listed = await client.get("/bot/approvals", headers=key)
        assert listed.json() == {"approvals": []}


def test_a_prefix_opens_no_path_that_is_closed(caller_of):
    http = caller_of(serve(agent_of()), None).http
    for prefix in ("/health", "/approvals", "/docs", "/a"):
        headers = {"X-Forwarded-Prefix": prefix}
        assert http.get("/approvals", headers=headers).status_code == 401
        assert http.get("/health", headers=headers).status_code == 200


def test_a_slash_at_the_end_leads_nowhere(served):
    headers = {"X-Forwarded-Prefix": "/proxy/8000"}
    response = served(agent_of()).http.post(
        "/chat/", json={"message": "Hi"}, headers=headers
    )
    assert response.status_code == 404


def test_who_takes_too_long_to_ask_is_hung_up_on(monkeypatch):
    monkeypatch.setattr("notebook_agents.server.deadline.ASK_SECONDS", 0.2)
    server = serve(agent_of(), config=ServerConfig(port=0, timeout_keep_alive=1))
    head = f"GET /health HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n".encode()
    for sent in (b"", head, head + b"\r\n" + head):
        with socket.create_connection(("127.0.0.1", server.port), 5) as connection:
            connection.sendall(sent)
            received = b""
            while piece := connection.recv(1000):
                received += piece
            assert received.count(b"200 OK") == sent.count(b"\r\n\r\n")


def test_who_is_being_answered_is_not_hung_up_on(served, monkeypatch):
    monkeypatch.setattr("notebook_agents.server.deadline.ASK_SECONDS", 0.05)
    gate = Gate()
    caller = served(holding(gate), sse_heartbeat_seconds=0.05)
    with caller.streaming() as frames:
        beats = [next(frames) for _ in range(4)]
        gate.opened.set()
        assert len(beats) + len(list(frames)) >= 6


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded"])
def test_what_a_plain_form_can_send_is_refused(served, kind):
    response = served(agent_of()).http.post(
        "/chat", content=b'{"message": "Hi"}', headers={"Content-Type": kind}
    )
    assert response.status_code == 415


@pytest.mark.parametrize("pieces", [1, 40], ids=["with a length", "in chunks"])
def test_a_body_that_is_too_large_is_refused(served, pieces):
    caller = served(agent_of(), max_body_size=10_000)
    content = b"x" * 20_000 if pieces == 1 else (b"x" * 500 for _ in range(pieces))
    response = caller.http.post(
        "/chat", content=content, headers={"Content-Type": "application/json"}
    )
    assert response.status_code == 413
    assert response.json()["error"] == "ContentTooLarge"
