"""Waiting for one's turn, and what becomes of it when the client has gone."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.server.support import Gate, agent_of, holding, kinds, requests_of


def _runs(caller):
    from notebook_agents.server import handle

    url = str(caller.http.base_url).rstrip("/")
    server = next(s for s in handle._handles.values() if s.url == url)
    return server._server.service.runs


@contextlib.contextmanager
def _queued(caller, wait_until, path: str) -> Iterator[None]:
    """Wait in line behind the first run for the length of the block, then go."""
    http = httpx.Client(
        base_url=caller.http.base_url, headers=caller.http.headers, timeout=30
    )
    body = {"message": "Me too", "conversation_id": "c"}

    def ask() -> None:
        with (
            contextlib.suppress(httpx.HTTPError, OSError),
            http.stream("POST", path, json=body),
        ):
            pass

    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ask)
        wait_until(lambda: _runs(caller)._count == 2)
        yield
        # Closing the client from here hangs up on the request that waits.
        for connection in http._transport._pool.connections:
            stream = connection._connection._network_stream
            stream.get_extra_info("socket").shutdown(2)
        asked.result(10)
        http.close()


@pytest.mark.parametrize("path", ["/chat", "/chat/stream"])
def test_whoever_leaves_the_line_gives_the_place_back_and_is_not_served(
    served, wait_until, path
):
    gate = Gate()
    agent = holding(gate)
    caller = served(agent)
    with caller.streaming(conversation_id="c") as frames:
        next(frames)
        with _queued(caller, wait_until, path):
            pass
        wait_until(lambda: _runs(caller)._count == 1)
        gate.opened.set()
        assert kinds(list(frames))[-1] == "done"
    wait_until(lambda: _runs(caller)._count == 0)
    assert len(requests_of(agent)) == 2  # both of the first turn


@pytest.mark.parametrize("path", ["/chat", "/chat/stream"])
def test_whoever_leaves_the_line_may_ask_to_be_served_all_the_same(
    served, wait_until, path
):
    gate = Gate()
    agent = holding(gate, "Held.", "Served.")
    caller = served(agent)
    with caller.streaming(conversation_id="c") as frames:
        next(frames)
        with _queued(caller, wait_until, f"{path}?on_disconnect=continue"):
            pass
        gate.opened.set()
        list(frames)
    wait_until(lambda: _runs(caller)._count == 0)
    assert [m.content for m in requests_of(agent)[-1].messages][-1] == "Me too"
    assert caller.http.get("/health").status_code == 200


def test_a_full_server_says_when_to_come_back(served):
    gate = Gate()
    caller = served(holding(gate), max_concurrent_runs=1)
    with caller.streaming() as frames:
        next(frames)
        refused = caller.chat()
        gate.opened.set()
        list(frames)
    assert refused.status_code == 429
    assert refused.json()["error"] == "TooManyRuns"
    assert 1 <= int(refused.headers["retry-after"]) <= 60


def test_a_second_reader_keeps_a_run_going_that_its_starter_left(served, wait_until):
    gate = Gate()
    caller = served(holding(gate))
    with contextlib.ExitStack() as second:
        with caller.streaming() as frames:
            next(frames)
            run_id = caller.last.headers["x-run-id"]
            events = second.enter_context(
                caller.http.stream("GET", f"/runs/{run_id}/events")
            )
            assert events.status_code == 200
        served_run = _runs(caller).find(run_id)
        wait_until(lambda: served_run._readers == 1)
        gate.opened.set()
        assert "event: done" in events.read().decode()


def test_an_agent_that_answers_at_once_has_nobody_in_line(served):
    caller = served(agent_of("Hello!"), max_concurrent_runs=1)
    assert caller.chat().status_code == 200
    assert _runs(caller)._count == 0
