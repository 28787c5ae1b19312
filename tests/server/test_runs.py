"""Runs belong to no request: they are found, followed and stopped later."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor

from notebook_agents import call
from notebook_agents.server import past
from tests.server.support import Caller, Gate, agent_of, holding, kinds, read_frames


def _follow(caller, run_id: str, after: int | None = None, query: str = ""):
    headers = {} if after is None else {"Last-Event-ID": str(after)}
    path = f"/runs/{run_id}/events{query}"
    with caller.http.stream("GET", path, headers=headers) as response:
        assert response.status_code == 200
        return list(read_frames(response.iter_lines()))


def test_a_run_tells_how_it_is(served):
    gate = Gate()
    caller = served(holding(gate))
    with caller.streaming(conversation_id="c", user_id="ada") as frames:
        next(frames)
        path = f"/runs/{caller.last.headers['x-run-id']}"
        running = caller.http.get(path).json()
        gate.opened.set()
        done = list(frames)[-1].data
    assert (running["status"], running["conversation_id"]) == ("running", "c")
    assert running["user_id"] == "ada"
    finished = caller.http.get(path).json()
    assert finished["status"] == "done"
    assert finished["response"] == done


def test_a_reader_goes_on_after_the_last_event_that_it_has(served):
    caller = served(agent_of("Hello there"))
    frames = caller.stream(stream_tokens=True)
    run_id = caller.last.headers["x-run-id"]
    again = _follow(caller, run_id, int(frames[0].id), "?stream_tokens=true")
    assert again == frames[1:]
    assert kinds(_follow(caller, run_id)) == ["done"]


def test_a_last_event_that_is_no_number_is_refused(served):
    caller = served(agent_of("Hello there"))
    caller.stream()
    path = f"/runs/{caller.last.headers['x-run-id']}/events"
    response = caller.http.get(path, headers={"Last-Event-ID": "x"})
    assert response.status_code == 422


def test_two_readers_see_the_same(served):
    gate = Gate()
    caller = served(holding(gate))
    with caller.streaming() as frames, ThreadPoolExecutor(1) as pool:
        first = next(frames)
        other = pool.submit(_follow, caller, caller.last.headers["x-run-id"])
        gate.opened.set()
        assert other.result() == [first, *frames]


def test_a_run_is_stopped_by_its_identifier(served):
    gate = Gate()
    caller = served(holding(gate))
    with caller.streaming() as frames:
        next(frames)
        path = f"/runs/{caller.last.headers['x-run-id']}"
        assert caller.http.post(f"{path}/cancel").status_code == 202
        rest = list(frames)
    assert kinds(rest)[-1] == "error"
    assert rest[-1].data["error"] == "RunCancelledError"
    gate.leaving()
    assert caller.http.get(path).json()["status"] == "failed"
    assert caller.http.post(f"{path}/cancel").status_code == 202


def test_an_unknown_run_is_not_found(served):
    caller = served(agent_of())
    assert caller.http.get("/runs/nope").status_code == 404
    assert caller.http.get("/runs/nope/events").json()["error"] == "NotFound"


def test_only_so_many_finished_runs_are_kept(served, monkeypatch):
    monkeypatch.setattr(past, "MOST_FINISHED", 1)
    caller = served(agent_of("One.", "Two."))
    paths = []
    for _ in range(2):
        caller.stream()
        paths.append(f"/runs/{caller.last.headers['x-run-id']}")
    assert [caller.http.get(path).status_code for path in paths] == [404, 200]


def _run_ids(caller, times: int) -> list[str]:
    ids = []
    for _ in range(times):
        caller.stream()
        ids.append(caller.last.headers["x-run-id"])
    return ids


def _kept(caller, run_ids: list[str]) -> list[bool]:
    return [caller.http.get(f"/runs/{run_id}").status_code == 200 for run_id in run_ids]


def test_the_runs_of_one_user_do_not_push_out_those_of_another(served, monkeypatch):
    monkeypatch.setattr(past, "MOST_FINISHED", 3)
    owner = served(
        agent_of(*["Hello!"] * 6), api_keys={"key-of-ada": "ada", "key-of-bob": "bob"}
    )
    url = str(owner.http.base_url)
    ada, bob = Caller(url, "key-of-ada"), Caller(url, "key-of-bob")
    of_ada, of_bob = _run_ids(ada, 1), _run_ids(bob, 5)
    assert _kept(ada, of_ada) == [True]
    assert _kept(bob, of_bob) == [False, False, False, True, True]
    ada.http.close()
    bob.http.close()


def test_finished_runs_are_kept_up_to_a_size_and_an_age(served, monkeypatch):
    monkeypatch.setattr(past, "MOST_BYTES", 250_000)
    caller = served(agent_of(*["x" * 50_000] * 4, chunk=50_000))
    ids = _run_ids(caller, 4)
    assert _kept(caller, ids) == [False, False, True, True]
    monkeypatch.setattr(past, "MOST_SECONDS", 0.0)
    assert _kept(caller, ids) == [False] * 4


def test_a_finished_run_holds_nothing_that_a_tool_returned(served):
    class Big:
        """Something that is watched."""

    alive: list[weakref.ref] = []

    def make() -> Big:
        """Make it."""
        made = Big()
        alive.append(weakref.ref(made))
        return made

    caller = served(agent_of(call("make"), "Made.", tools=[make]))
    (run_id,) = _run_ids(caller, 1)
    caller.http.get(f"/runs/{run_id}")
    gc.collect()
    assert [each() for each in alive] == [None]
    assert kinds(_follow(caller, run_id)) == ["tool_call", "tool_result", "done"]
