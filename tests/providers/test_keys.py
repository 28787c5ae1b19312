"""A key is in the request that needs it, and nowhere else, whatever happens.

Design, section 13: never a key in a log, output, error or file.
"""

from __future__ import annotations

import logging
import pickle
import re
import traceback
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from notebook_agents import Agent, FallbackProvider, SQLiteStore
from notebook_agents.errors import NotebookAgentsError
from notebook_agents.providers import OpenAICompatibleProvider, OpenAIProvider
from notebook_agents.testing import scenario, scenario_names
from notebook_agents.testing.wire import Reply, chunk, whole, wire_server
from tests.providers.services import KEY, WIRES, provider_for

SECRET = "another-secret-2718"
PROXY_PASSWORD = "a-password-2818"
SECRETS = (KEY, SECRET)
BROKEN = [name for name in scenario_names() if scenario(name).error]
SHORT = 0.1
"""Seconds between two bytes."""


@pytest.fixture
def log(caplog):
    """Keep whatever anybody logs."""
    caplog.set_level(logging.DEBUG)
    return caplog


def agent_on(server, name, *tools, **options):
    return Agent(provider_on(server, name, **options), tools)


def provider_on(server, name, **options):
    options = {"max_retries": 1, "stall_timeout": SHORT, **options}
    headers = {"X-Api-Secret": SECRET}
    return provider_for(name, server.url, extra_headers=headers, **options)


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def leaking(name: str) -> Reply:
    """Give a scenario in which the service repeats the keys in each message."""
    return [_leaking(s) if isinstance(s, bytes) else s for s in scenario(name).reply]


def _leaking(written: bytes) -> bytes:
    said = f'"message": "bad {KEY}, {SECRET}"'.encode()
    head, _, body = written.partition(b"\r\n\r\n")
    if written.startswith(b"HTTP/"):
        body = re.sub(rb'"message": "[^"]*"', said, body)
        length = b"content-length: %d" % len(body)
        head = re.sub(rb"(?i)content-length: \d+", length, head)
        return head + b"\r\n\r\n" + body
    if framed := re.fullmatch(rb"(?s)[0-9a-f]+\r\n(.+)\r\n", written):
        return chunk(re.sub(rb'"message": "[^"]*"', said, framed[1]))
    return written


def all_that_is_shown(error: BaseException) -> Iterator[tuple[str, str]]:
    """Give whatever a person, a log or a crash report makes of an error."""
    waiting: list[BaseException | None] = [error]
    while waiting:
        each = waiting.pop()
        if each is None:
            continue
        waiting += [each.__cause__, each.__context__]
        name = type(each).__name__
        yield f"text of {name}", f"{each} {each!r} {each.args} {vars(each)}"
        yield f"pickled {name}", pickled(each)
    yield "traceback", "".join(traceback.format_exception(error))
    told = traceback.TracebackException.from_exception(error, capture_locals=True)
    yield "traceback with all variables", "".join(told.format())


def pickled(value: object) -> str:
    try:
        return pickle.dumps(value).decode("latin-1")
    except (TypeError, AttributeError, pickle.PicklingError):
        return ""


def leaks(shown: dict[str, str]) -> list[tuple[str, str]]:
    """Name what shows a secret, with what is before it."""
    return [
        (where, text[max(0, place - 200) : place + 20])
        for where, text in shown.items()
        for secret in SECRETS
        if (place := text.find(secret)) >= 0
    ]


def shown_by(agent: Agent, error: BaseException, log: Any) -> dict[str, str]:
    records = [repr(vars(record)) for record in log.records]
    run = agent.last_run
    return {
        **dict(all_that_is_shown(error)),
        "log": "\n".join([log.text, *records]),
        "repr": f"{agent!r} {run!r} {vars(agent)}",
        "events": repr([event.to_dict() for event in run.recorded]),
        "pickled events": pickled(run.recorded),
    }


@pytest.mark.usefixtures("transport")
@pytest.mark.parametrize("name", BROKEN)
async def test_no_error_event_or_log_shows_a_key(server, name, log):
    """Requirement W23."""
    server.say(*[leaking(name)] * 2)
    agent = agent_on(server, name, add)
    with pytest.raises(NotebookAgentsError) as caught:
        await agent.run("Hi")
    assert leaks(shown_by(agent, caught.value, log)) == []
    sent = server.requests[0]
    assert KEY in " ".join(sent.headers.values())
    assert KEY not in sent.path


@pytest.mark.usefixtures("transport")
@pytest.mark.parametrize("wire", WIRES)
async def test_no_key_is_shown_where_nobody_answers(wire, log):
    with wire_server() as gone:
        pass
    agent = agent_on(gone, wire, add, max_retries=0)
    with pytest.raises(NotebookAgentsError) as caught:
        await agent.run("Hi")
    assert leaks(shown_by(agent, caught.value, log)) == []


@pytest.mark.usefixtures("transport")
@pytest.mark.parametrize("wire", WIRES)
async def test_no_list_of_models_or_vectors_shows_a_key(server, wire, log):
    server.say(*[leaking(f"{wire}/status_401")] * 2)
    provider = provider_on(server, wire)
    asked = [provider.models()]
    if hasattr(provider, "embed"):
        asked.append(provider.embed(["Hi"]))
    for asking in asked:
        with pytest.raises(NotebookAgentsError) as caught:
            await asking
        assert leaks(dict(all_that_is_shown(caught.value))) == []
    assert leaks({"log": log.text}) == []


@pytest.mark.usefixtures("transport")
@pytest.mark.parametrize("wire", WIRES)
async def test_no_result_or_file_holds_a_key(server, wire, log, tmp_path, home):
    server.say(leaking(f"{wire}/status_503"), f"{wire}/tool_call", f"{wire}/answer")
    store = SQLiteStore(tmp_path / "chats.sqlite")
    agent = agent_on(server, wire, add)
    agent.memory = store.session(user_id="ada")
    result = await agent.run("Hi")
    for ending in ("md", "ipynb", "json"):
        result.export(tmp_path / f"run.{ending}")
    shown = {
        "result": f"{result!r} {result.to_dict()}",
        "pickled": pickled(result),
        "frame": result.to_frame().to_csv(),
        "log": log.text,
    }
    files = [path for folder in (tmp_path, home) for path in folder.rglob("*")]
    for path in filter(lambda path: path.is_file(), files):
        shown[path.name] = path.read_bytes().decode("latin-1")
    assert {"chats.sqlite", "run.md", "run.ipynb", "run.json"} <= shown.keys()
    assert leaks(shown) == []


@pytest.mark.usefixtures("transport")
async def test_no_error_shows_the_password_of_a_proxy(log, monkeypatch):
    with wire_server(*[[b"HTTP/1.1 407 No\r\ncontent-length: 0\r\n\r\n"]] * 2) as proxy:
        monkeypatch.setenv(
            "HTTP_PROXY", f"http://ada:{PROXY_PASSWORD}@127.0.0.1:{proxy.port}"
        )
        provider = provider_for("chat", "http://model.invalid/v1", max_retries=0)
        with pytest.raises(NotebookAgentsError) as caught:
            await Agent(provider).run("Hi")
    shown = {**dict(all_that_is_shown(caught.value)), "log": log.text}
    assert [where for where, text in shown.items() if PROXY_PASSWORD in text] == []


# ---------------------------------------------------------- a key within the base URL

GATEWAY_KEY = "a/key+of-a-gateway"
IN_URL = quote(GATEWAY_KEY, safe="")
"""As it stands in a path."""


def behind_gateway(server, wire, **options):
    options = {
        "max_retries": 0,
        "extra_headers": {"X-Api-Secret": GATEWAY_KEY},
    } | options
    return provider_for(wire, f"{server.url}/{KEY}/{IN_URL}", **options)


def keys_in(*shown: object) -> list[str]:
    texts = [text for each in shown for text in (str(each), repr(each))]
    secrets = (KEY, GATEWAY_KEY, IN_URL)
    return [text for text in texts if any(each in text for each in secrets)]


@pytest.mark.parametrize("wire", WIRES)
async def test_a_key_within_the_base_url_is_shown_nowhere(server, wire, log, tmp_path):
    provider = behind_gateway(server, wire, requests_per_minute=60)
    both = FallbackProvider([provider, "ollama:unused"])
    server.say(f"{wire}/tool_call", f"{wire}/answer")
    store = SQLiteStore(tmp_path / "chats.sqlite")
    written = []

    def add(a: int, b: int) -> int:
        """Add, and look at what is written down meanwhile."""
        written.extend(each.read_bytes() for each in tmp_path.iterdir())
        return a + b

    agent = Agent(both, [add], memory=store.session(user_id="ada"))
    result = await agent.run("Hi")
    assert KEY in server.requests[0].path
    run = agent.last_run
    shown = [provider, both, agent, run, result, run.recorded, result.to_dict()]
    shown += [provider.shown_url, provider._limits, *vars(run).values()]
    shown += [agent.ledger, result.to_frame().to_csv()]
    assert keys_in(*shown) == []
    assert written
    assert keys_in(*(each.decode("latin-1") for each in written), log.text) == []
    assert "[redacted]" in provider.shown_url


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("status", [404, 302, 500])
async def test_no_error_shows_a_key_within_the_base_url(server, wire, status, log):
    provider = behind_gateway(server, wire)
    server.say(*[whole(status, {"error": {"message": "no"}})] * 2)
    agent = Agent(provider)
    with pytest.raises(NotebookAgentsError) as caught:
        await agent.run("Hi")
    with pytest.raises(NotebookAgentsError) as listed:
        await provider.models()
    events = [each.to_dict() for each in agent.last_run.recorded]
    assert keys_in(caught.value, listed.value, events, log.text) == []


async def test_a_service_without_a_model_to_chat_with_is_named_without_a_key(server):
    server.say(whole(200, {"data": []}))
    provider = OpenAICompatibleProvider(f"{server.url}/{KEY}", api_key=KEY)
    with pytest.raises(NotebookAgentsError, match="no model that can chat") as caught:
        await Agent(provider).run("Hi")
    assert keys_in(caught.value) == []


def test_a_base_url_that_is_none_is_told_without_a_key():
    with pytest.raises(NotebookAgentsError, match="is no base URL") as caught:
        OpenAICompatibleProvider(f"gateway.example/{KEY}/v1", api_key=KEY)
    assert keys_in(caught.value) == []


def test_a_key_of_the_environment_within_the_base_url_is_not_shown(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    provider = OpenAIProvider(base_url=f"https://gateway.example/{KEY}/v1")
    assert keys_in(provider, Agent(provider)) == []
