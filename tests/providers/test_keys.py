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

import pytest

from notebook_agents import Agent, SQLiteStore
from notebook_agents.errors import NotebookAgentsError
from notebook_agents.testing import scenario, scenario_names
from notebook_agents.testing.wire import Reply, chunk, wire_server
from tests.providers.services import KEY, WIRES, provider_for

SECRET = "another-secret-2718"
PROXY_PASSWORD = "a-password-2818"
SECRETS = (KEY, SECRET)
BROKEN = [name for name in scenario_names() if scenario(name).error]
SHORT = 0.1
"""Seconds between two bytes."""


@pytest.fixture
def server():
    with wire_server() as running:
        yield running


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
async def test_no_error_event_or_log_shows_a_key(server, name, log, monkeypatch):
    """Requirement W23."""
    monkeypatch.setattr("notebook_agents.providers._retry.FIRST_SECONDS", 0.001)
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
