"""Code that hangs, will not stop, or tries to end the process: the server goes on."""

from __future__ import annotations

import asyncio
import json
import time

import pytest

from notebook_agents import Agent, InMemoryStore, call
from notebook_agents.providers.base import ModelReply, Provider, TextDelta
from notebook_agents.server import serve
from tests.server.support import agent_of, kinds, requests_of

STOPS = 5.0  # seconds; anything that has to be given up is, within them


async def _for_ever() -> None:
    await asyncio.Event().wait()


async def _whatever_happens(release: asyncio.Event) -> None:
    while not release.is_set():
        try:
            await release.wait()
        except asyncio.CancelledError:
            continue


class Stubborn(Provider):
    """Says nothing and does not stop when told."""

    async def respond(self, request):
        await _whatever_happens(asyncio.Event())
        yield ModelReply(text="never")


class Hanging(InMemoryStore):
    """A store that never has written."""

    async def save(self, scope, messages, **facts):
        await _for_ever()


def _hangs_at_errors():
    async def on_event(event):
        if event["event"] == "error":
            await _for_ever()

    return agent_of(*[RuntimeError("down")] * 2, on_event=on_event)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch):
    monkeypatch.setattr("notebook_agents.run.GIVE_UP_SECONDS", 0.2)
    monkeypatch.setattr("notebook_agents.run.TELL_SECONDS", 0.1)
    monkeypatch.setattr("notebook_agents.run.KEEP_STOPPED_SECONDS", 0.1)
    monkeypatch.setattr("notebook_agents.server.own_loop.LAST_SECONDS", 0.1)


@pytest.mark.parametrize(
    ("make", "store", "statuses"),
    [
        (lambda: Agent(Stubborn(), name="bot"), None, [504, 504]),
        (_hangs_at_errors, None, [500, 500]),
        (lambda: agent_of("Hello!", "Hello!"), Hanging(), [200, 200]),
    ],
    ids=["the model does not stop", "on_event hangs at the end", "the store hangs"],
)
def test_a_run_that_does_not_end_gives_its_place_and_its_conversation_back(
    caller_of, make, store, statuses
):
    from notebook_agents.server import ServerConfig

    config = ServerConfig(port=0, request_timeout=0.5, max_concurrent_runs=1)
    server = serve(make(), config=config, store=store)
    caller = caller_of(server)
    answers = [caller.chat(conversation_id="c") for _ in statuses]
    assert [each.status_code for each in answers] == statuses
    if store is not None:
        assert answers[0].json()["errors"] == ["The turn could not be stored."]
    assert server._server.service.runs._count == 0
    began = time.monotonic()
    server.stop()
    assert time.monotonic() - began < STOPS


def test_a_stream_of_a_run_that_does_not_end_has_a_last_event(served):
    caller = served(Agent(Stubborn(), name="bot"), request_timeout=0.5)
    assert kinds(caller.stream()) == ["error"]


def test_a_run_that_does_not_stop_is_stopped_by_its_identifier_too(served):
    caller = served(Agent(Stubborn(), name="bot"))
    with caller.streaming() as frames:
        caller.http.post(f"/runs/{caller.last.headers['x-run-id']}/cancel")
        assert list(frames)[-1].data["error"] == "RunCancelledError"


def test_stopping_does_not_wait_for_what_will_not_stop(caller_of):
    server = serve(Agent(Stubborn(), name="bot"))
    caller = caller_of(server)
    with caller.streaming() as frames:
        began = time.monotonic()
        server.stop()
        assert time.monotonic() - began < STOPS
        assert list(frames)[-1].data["error"] == "ServerShutdown"


SECRET = "sk-secret-0123456789"
ENDERS = [SystemExit, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError]


@pytest.mark.parametrize("kind", ENDERS)
def test_a_model_that_tries_to_end_the_process_fails_its_run_alone(served, kind):
    class Ender(Provider):
        async def respond(self, request):
            raise kind(SECRET)
            yield TextDelta("never")

    caller = served(Agent(Ender(), name="bot"))
    for response in (caller.chat(), caller.chat()):
        assert response.status_code == 500
        assert response.json()["error"] == "InternalServerError"
        assert "secret" not in response.text
    assert caller.http.get("/health").status_code == 200


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, GeneratorExit])
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_on_event_that_tries_to_end_the_process_fails_its_run_alone(
    served, kind, is_async
):
    def now(event):
        raise kind

    async def later(event):
        await asyncio.sleep(0)
        raise kind

    agent = agent_of("Hello!", on_event=later if is_async else now)
    caller = served(agent)
    assert caller.chat().status_code == 500
    assert caller.http.get("/health").status_code == 200


def test_a_task_that_tries_to_end_the_process_ends_alone(served):
    async def leave_soon() -> str:
        """Start something that exits."""

        async def leave() -> None:
            raise SystemExit

        asyncio.get_running_loop().create_task(leave()).add_done_callback(
            lambda task: task.exception()
        )
        await asyncio.sleep(0.01)
        return "started"

    caller = served(agent_of(call("leave_soon"), "Done.", tools=[leave_soon]))
    assert caller.chat().json()["response"] == "Done."
    assert caller.http.get("/health").status_code == 200


# ------------------------------------------------------ half characters

HALF = "bad \ud83d text"


def test_half_characters_of_a_model_are_replaced(served):
    agent = agent_of(HALF, HALF, [HALF, call("we\ud800")], "\ud83d\ude00")
    caller = served(agent)
    assert caller.chat().json()["response"] == "bad \ufffd text"
    frames = caller.stream(stream_tokens=True)
    assert frames[-1].data["response"] == "bad \ufffd text"
    frames = caller.stream()
    assert kinds(frames) == [
        "thought",
        "tool_call",
        "tool_error",
        "tool_result",
        "done",
    ]
    assert frames[-1].data["response"] == "\U0001f600"
    for request in requests_of(agent):
        json.dumps([m.to_dict() for m in request.messages], ensure_ascii=False).encode()


def test_what_cannot_be_encoded_still_ends_the_stream_with_an_error(
    served, monkeypatch
):
    from notebook_agents.server import chat

    def broken(event, **_):
        return {"type": event.event, "data": HALF}

    monkeypatch.setattr(chat, "intermediate", broken)
    frames = served(agent_of("Hello!")).stream()
    assert kinds(frames) == ["error"]
    assert frames[0].data["error"] == "InternalServerError"
