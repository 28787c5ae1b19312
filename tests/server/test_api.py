"""`AgentAPI`: routes whose handlers answer with an agent."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Annotated

import httpx
import pytest
import uvicorn
from fastapi import BackgroundTasks, Depends, FastAPI, HTTPException
from fastapi.responses import JSONResponse, PlainTextResponse
from pydantic import BaseModel

from notebook_agents import (
    Agent,
    AgentAPI,
    AgentConfigurationError,
    AgentProviderError,
    AgentResult,
    AgentStream,
    InMemoryStore,
    ScriptedProvider,
    call,
    create_conversation_id,
)
from notebook_agents.errors import ProviderTimeoutError
from notebook_agents.server import sse_response
from tests.server.support import TIMEOUT, add, agent_of

if TYPE_CHECKING:
    from decimal import Decimal

DONE = ("message", "[DONE]")
OPENED: list[list[str]] = []


class Question(BaseModel):
    """What a client asks."""

    text: str


def parse(body: str) -> list[tuple[str, str]]:
    """Read events as a browser does (WHATWG, section 9.2.6)."""
    events, name, data = [], "", []
    for line in body.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        if not line:
            if data:
                events.append((name or "message", "\n".join(data)))
            name, data = "", []
        elif not line.startswith(":"):
            field, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if field == "data":
                data.append(value)
            elif field == "event":
                name = value
    assert not data, "the stream ended within an event"
    return events


def text_of(body: str) -> str:
    """Give the text of a stream that came to its end."""
    events = parse(body)
    assert events[-1] == DONE
    assert {name for name, _ in events} == {"message"}
    return "".join(data for _, data in events[:-1])


async def post(app: FastAPI, path: str = "/ask", **options) -> httpx.Response:
    """Ask an application without a socket."""
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as http:
        return await http.post(path, **options)


async def get(app: FastAPI, path: str) -> httpx.Response:
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as http:
        return await http.get(path)


@contextlib.contextmanager
def listening(app: FastAPI) -> Iterator[httpx.Client]:
    """Serve an application on a real socket and give a client of it."""
    with socket.create_server(("127.0.0.1", 0)) as bound:
        server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
        thread = threading.Thread(target=_serve, args=(server, bound))
        thread.start()
        url = f"http://127.0.0.1:{bound.getsockname()[1]}"
        try:
            with httpx.Client(base_url=url, timeout=TIMEOUT) as http:
                yield http
        finally:
            server.should_exit = True
            thread.join(TIMEOUT)
            assert not thread.is_alive()


def _serve(server: uvicorn.Server, bound: socket.socket) -> None:
    with asyncio.Runner() as runner:
        runner.run(server.serve([bound]))


def streaming(*tokens: object, **settings) -> AgentAPI:
    """Make an application that streams these, or raises where one is an error."""
    app = AgentAPI(**settings)

    @app.stream("/ask")
    async def ask():
        for token in tokens:
            if isinstance(token, Exception):
                raise token
            yield token

    return app


# What a handler may return (check 19).


async def test_a_handler_of_chat_may_return_json():
    app = AgentAPI()

    @app.chat("/ask")
    async def ask(question: Question, shout: bool = False) -> dict[str, str]:  # noqa: FBT001, FBT002 - a query parameter
        return {"heard": question.text.upper() if shout else question.text}

    answer = await post(app, "/ask?shout=true", json={"text": "hi"})
    assert answer.json() == {"heard": "HI"}
    assert (await post(app, json={})).status_code == 422


async def test_a_handler_of_chat_may_return_a_response():
    app = AgentAPI()

    @app.chat("/ask")
    def ask() -> JSONResponse:
        return JSONResponse({"a": 1}, status_code=202, headers={"X-Mine": "yes"})

    answer = await post(app)
    assert (answer.status_code, answer.json()) == (202, {"a": 1})
    assert answer.headers["x-mine"] == "yes"


async def test_a_handler_of_chat_may_be_an_async_generator():
    app = AgentAPI()

    @app.chat("/ask")
    async def ask(question: Question) -> AsyncIterator[str]:
        yield "You said "
        yield question.text

    answer = await post(app, json={"text": "hi"})
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert parse(answer.text) == [("message", "You said "), ("message", "hi"), DONE]


@pytest.mark.parametrize("kind", ["chat", "stream"])
@pytest.mark.parametrize("is_async", [True, False])
async def test_a_handler_may_return_the_stream_of_an_agent(kind, is_async):
    """Trap W4: the first thing that anybody tries."""
    app, agent = AgentAPI(), agent_of("Hello there")

    def ask(question: Question) -> AgentStream:
        return agent.stream(question.text)

    async def ask_async(question: Question) -> AgentStream:
        return agent.stream(question.text)

    getattr(app, kind)("/ask")(ask_async if is_async else ask)
    answer = await post(app, json={"text": "hi"})
    assert parse(answer.text) == [("message", "Hello th"), ("message", "ere"), DONE]


async def test_the_result_of_an_agent_is_answered_with_its_text():
    app, agent = AgentAPI(), agent_of("One", "Two", "Three")

    @app.chat("/bare")
    async def bare() -> AgentResult:
        return await agent.run("Hi")

    @app.chat("/nested")
    async def nested():
        return {"response": await agent.run("Hi"), "all": [1]}

    @app.chat("/sync")
    def sync() -> str:
        return agent.run_sync("Hi")

    assert (await post(app, "/bare")).json() == "One"
    assert (await post(app, "/nested")).json() == {"response": "Two", "all": [1]}
    assert (await post(app, "/sync")).json() == "Three"


@pytest.mark.parametrize("kind", ["chat", "stream"])
def test_the_decorator_gives_the_handler_back(kind):
    app = AgentAPI()

    async def ask(question: Question):
        """Ask it."""

    assert getattr(app, kind)("/ask")(ask) is ask
    endpoint = app.routes[-1].endpoint
    assert endpoint.__name__ == "ask"
    assert inspect.signature(endpoint).parameters.keys() == {"question"}


@pytest.mark.parametrize("kind", ["chat", "stream"])
def test_the_description_shows_the_handlers_own_parameters(kind):
    app = AgentAPI()

    @getattr(app, kind)("/ask/{room}", tags=["mine"], responses={418: {}})
    async def ask(room: int, question: Question, limit: int = 3):
        """Ask it."""

    shown = app.openapi()["paths"]["/ask/{room}"]["post"]
    assert [each["name"] for each in shown["parameters"]] == ["room", "limit"]
    schema = shown["requestBody"]["content"]["application/json"]["schema"]
    assert schema["$ref"].endswith("/Question")
    assert shown["description"] == "Ask it."
    assert shown["tags"] == ["mine"]
    assert {"200", "418"} <= set(shown["responses"])
    kinds = {"chat": "application/json", "stream": "text/event-stream"}
    assert kinds[kind] in shown["responses"]["200"]["content"]


async def test_a_type_that_only_a_checker_imports_is_no_obstacle():
    app = AgentAPI()

    @app.chat("/ask")
    async def ask(question: Question) -> Decimal:
        return question.text

    assert (await post(app, json={"text": "hi"})).json() == "hi"


async def opened() -> AsyncIterator[list[str]]:
    """Give something that is closed when the response has been sent."""
    OPENED.append(["open"])
    yield OPENED[-1]
    OPENED[-1].append("closed")


async def test_dependencies_and_background_tasks_work_as_in_fastapi():
    app = AgentAPI()

    @app.stream("/ask")
    async def ask(state: Annotated[list, Depends(opened)], tasks: BackgroundTasks):
        tasks.add_task(state.append, "told")
        for text in state:
            yield text

    assert text_of((await post(app)).text) == "open"
    assert sorted(OPENED.pop()) == ["closed", "open", "told"]


# What fails, and when (checks 20 and 21).


@pytest.mark.parametrize("result", [{"a": 1}, "text", None, PlainTextResponse("x")])
async def test_a_handler_of_stream_that_returns_no_stream_is_a_500(result):
    app = AgentAPI()

    @app.stream("/ask")
    async def ask():
        return result

    answer = await post(app)
    assert (answer.status_code, answer.text) == (500, "Internal Server Error")
    with pytest.raises(TypeError, match=r"agent\.stream.*" + type(result).__name__):
        app._to_stream(result)


@pytest.mark.parametrize("kind", ["chat", "stream"])
@pytest.mark.parametrize(
    ("error", "status"),
    [
        (AgentConfigurationError("No key: set NICE_KEY."), 500),
        (AgentProviderError("The service is down."), 502),
        (ProviderTimeoutError("The service is slow."), 504),
    ],
)
async def test_a_failure_of_the_handler_is_json_with_its_status(kind, error, status):
    app = AgentAPI()

    @getattr(app, kind)("/ask")
    def ask():
        raise error

    answer = await post(app)
    assert (answer.status_code, answer.json()) == (status, {"error": str(error)})


@pytest.mark.parametrize("heartbeat", [None, 30])
async def test_a_provider_that_fails_at_once_is_a_502_and_no_empty_stream(heartbeat):
    """Trap W2."""
    app = AgentAPI(sse_heartbeat_seconds=heartbeat)
    agent = agent_of(AgentProviderError("Down."))
    app.stream("/ask")(lambda: agent.stream("Hi"))
    answer = await post(app)
    assert (answer.status_code, answer.json()) == (502, {"error": "Down."})


async def test_a_key_that_is_missing_is_a_500_and_no_empty_stream(monkeypatch):
    """Trap W2."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    app, agent = AgentAPI(), Agent("openai:gpt-5")
    app.stream("/ask")(lambda: agent.stream("Hi"))
    answer = await post(app)
    assert answer.status_code == 500
    assert "OPENAI_API_KEY" in answer.json()["error"]


async def test_a_key_in_the_words_of_a_failure_does_not_leave():
    answer = await post(streaming(AgentProviderError("Wrong: sk-abcdefghijkl")))
    assert answer.json() == {"error": "Wrong: [redacted]"}


async def test_an_http_error_before_the_first_text_keeps_its_status():
    answer = await post(streaming(HTTPException(403, "Not you.")))
    assert (answer.status_code, answer.json()) == (403, {"detail": "Not you."})


async def test_your_own_handler_of_failures_wins():
    app = streaming(AgentProviderError("Down."))

    @app.exception_handler(AgentProviderError)
    async def mine(_request, _error):
        return PlainTextResponse("Later.", status_code=503)

    assert (await post(app)).status_code == 503


@pytest.mark.parametrize(
    "error", [AgentProviderError("secret"), RuntimeError("secret\n\nmore")]
)
@pytest.mark.parametrize("heartbeat", [None, 30])
async def test_a_failure_after_the_first_text_is_an_event_that_tells_no_secret(
    error, heartbeat, caplog
):
    """Traps W5 and W6."""
    app = streaming("Hello", error, sse_heartbeat_seconds=heartbeat)
    with caplog.at_level(logging.WARNING, "notebook_agents.server"):
        answer = await post(app)
    first, (name, told), last = parse(answer.text)
    assert (first, last) == (("message", "Hello"), DONE)
    assert name == "error"
    assert "secret" not in answer.text
    trace = told.rsplit(" ", 1)[-1].rstrip(".")
    assert trace in caplog.text
    assert "secret" in caplog.text


# What goes over the wire (checks 21 and 22).


async def test_text_in_small_pieces_arrives_as_it_was():
    """Trap W5."""
    answer = await post(streaming("a\nb", "c\n\nd", " e", "", sse_chunk_size=4))
    assert text_of(answer.text) == "a\nbc\n\nd e"


@pytest.mark.parametrize("size", [1, 2, 3, 4, 64])
@pytest.mark.parametrize(
    "tokens",
    [
        ["\n", "\n\n", "data: x", ": no comment", "event: done\n"],
        ["[DONE]", "[DO", "NE]"],
        ["It ends with\n[DONE]\nand a blank.", "[DONE] [DONE]\u2028 [DONE]\n"],
        ["  two spaces ", "ö\u2028\x85\0é"],
    ],
)
async def test_no_text_is_lost_or_taken_for_something_else(tokens, size):
    answer = await post(streaming(*tokens, sse_chunk_size=size))
    events = parse(answer.text)
    assert events.count(DONE) == 1
    # Some readers look at lines, not at events, and some at a part of them.
    assert answer.text.count("[DONE]") == 1
    assert text_of(answer.text) == "".join(tokens)
    assert all(len(data) <= size for _, data in events[:-1])


async def test_the_ends_of_lines_are_what_readers_know():
    answer = await post(streaming("a\r", "\nb\rc", "\r", sse_chunk_size=2))
    assert text_of(answer.text) == "a\nb\nc\n"


async def test_half_a_character_does_not_end_a_stream():
    assert text_of((await post(streaming("a\ud83d", "b"))).text) == "a?b"


async def test_what_is_no_text_is_sent_as_json():
    assert parse((await post(streaming({"a": 1}, 2))).text)[:2] == [
        ("message", '{"a":1}'),
        ("message", "2"),
    ]


async def test_no_proxy_holds_a_stream_back():
    headers = (await post(streaming("a"))).headers
    assert headers["cache-control"] == "no-cache"
    assert headers["connection"] == "keep-alive"
    assert headers["x-accel-buffering"] == "no"


@pytest.mark.parametrize("before", [[], ["first"]])
@pytest.mark.parametrize("after", ["last", AgentProviderError("secret")])
def test_silence_is_filled_with_comments(before, after):
    app, released = AgentAPI(sse_heartbeat_seconds=0.05), threading.Event()

    @app.stream("/ask")
    async def ask():
        for token in before:
            yield token
        await asyncio.to_thread(released.wait, TIMEOUT)
        if isinstance(after, Exception):
            raise after
        yield after

    with listening(app) as http, http.stream("POST", "/ask") as response:
        lines = response.iter_lines()
        seen = []
        while seen.count(": keepalive") < 2:
            seen.append(next(lines))
        released.set()
        body = "\n".join([*seen, *lines, ""])
    *texts, (name, told), last = parse(body)
    assert response.status_code == 200
    assert texts == [("message", token) for token in before]
    assert last == DONE
    is_failure = isinstance(after, Exception)
    assert (name, told == "last") == (
        "error" if is_failure else "message",
        not is_failure,
    )
    assert "secret" not in told


@pytest.mark.parametrize("heartbeat", [None, 0.05])
@pytest.mark.parametrize("begins", [True, False])
def test_a_client_that_goes_away_stops_whoever_makes_the_text(heartbeat, begins):
    app, entered, left = (
        AgentAPI(sse_heartbeat_seconds=heartbeat),
        threading.Event(),
        threading.Event(),
    )

    @app.stream("/ask")
    async def ask():
        entered.set()
        try:
            if begins:
                yield "first"
            await asyncio.Event().wait()
        finally:
            left.set()

    with listening(app) as http:
        if begins or heartbeat:
            with http.stream("POST", "/ask") as response:
                assert next(response.iter_lines())
        else:
            with pytest.raises(httpx.ReadTimeout):
                http.post("/ask", timeout=0.5)
        assert entered.wait(20)
        assert left.wait(20)


def test_a_client_that_goes_away_is_noticed_behind_a_middleware_too():
    app, left = AgentAPI(), threading.Event()

    @app.middleware("http")
    async def marked(request, call_next):
        response = await call_next(request)
        response.headers["X-Marked"] = "yes"
        return response

    @app.stream("/ask")
    async def ask(question: Question):
        if question.text == "fail":
            error = AgentProviderError("Down.")
            raise error
        try:
            yield "first"
            await asyncio.Event().wait()
        finally:
            left.set()

    with listening(app) as http:
        with http.stream("POST", "/ask", json={"text": "hi"}) as response:
            assert next(response.iter_lines()) == "data: first"
            assert response.headers["x-marked"] == "yes"
        assert left.wait(20)
        failed = http.post("/ask", json={"text": "fail"})
    assert (failed.status_code, failed.json()) == (502, {"error": "Down."})


def test_a_client_that_goes_away_stops_a_source_that_never_waits():
    app, left = AgentAPI(), threading.Event()

    @app.stream("/ask")
    async def ask():
        try:
            while True:
                yield "more"
        finally:
            left.set()

    with listening(app) as http:
        with http.stream("POST", "/ask") as response:
            assert next(response.iter_lines()) == "data: more"
        assert left.wait(20)


def test_a_client_that_goes_away_stops_the_run_of_the_agent():
    app, agent = AgentAPI(), agent_of("Hello there, " * 1000, delay=0.05)
    streams = []

    @app.stream("/ask")
    async def ask():
        streams.append(agent.stream("Hi"))
        return streams[0]

    with listening(app) as http:
        with http.stream("POST", "/ask") as response:
            assert next(response.iter_lines()) == "data: Hello th"
        ended = threading.Event()
        run = streams[0].run
        run._loop.call_soon_threadsafe(
            lambda: run._task.add_done_callback(lambda _: ended.set())
        )
        assert ended.wait(20)
    assert run.is_done


async def test_a_server_that_tells_of_a_closed_socket_by_an_error_is_understood():
    """ASGI 2.4 has `send` raise OSError."""
    left, sent = [], []

    async def texts():
        try:
            yield "first"
            yield "second"
        finally:
            left.append("left")

    async def receive():
        await asyncio.Event().wait()

    async def send(message):
        if len(sent) == 2:
            raise OSError
        sent.append(message)

    scope = {"type": "http", "http_version": "2"}
    await sse_response(texts())(scope, receive, send)
    assert left == ["left"]
    assert [message["type"] for message in sent] == [
        "http.response.start",
        "http.response.body",
    ]
    assert b"connection" not in dict(sent[0]["headers"])  # not allowed in HTTP/2


@pytest.mark.parametrize("size", [0, -1, True, 1.5, "64", None])
def test_a_size_that_cannot_be_right_is_refused(size):
    with pytest.raises(ValueError, match="sse_chunk_size"):
        AgentAPI(sse_chunk_size=size)


@pytest.mark.parametrize("seconds", [0, -1, True, float("inf"), float("nan"), "1"])
def test_a_heartbeat_that_cannot_be_right_is_refused(seconds):
    with pytest.raises(ValueError, match="sse_heartbeat_seconds"):
        AgentAPI(sse_heartbeat_seconds=seconds)


# A turn with tools (check 23).


def _streaming_the(agent: Agent) -> AgentAPI:
    app = AgentAPI()
    app.stream("/ask")(lambda: agent.stream("Add"))
    return app


async def test_a_streamed_turn_runs_tools_and_is_remembered_as_any_other():
    """Trap W3."""
    said = {}
    for kind in ("run", "stream"):
        store = InMemoryStore()
        session = store.session(conversation_id=create_conversation_id())
        agent = Agent(
            ScriptedProvider([call("add", a=1, b=2), "The sum of both is 3."]),
            [add],
            memory=session,
        )
        if kind == "run":
            await agent.run("Add")
        else:
            answer = await post(_streaming_the(agent))
            assert len(parse(answer.text)) > 3
            assert text_of(answer.text) == "The sum of both is 3."
        said[kind] = [(m["role"], m["content"]) for m in store.read(session.scope)]
    assert said["stream"] == said["run"]
    assert len(said["run"]) >= 2


# In a plain application, and without the extra.


async def test_a_plain_application_streams_an_agent_too():
    app, agent = FastAPI(), agent_of("Hello there", AgentProviderError("Down."))

    @app.post("/ask")
    async def ask():
        return sse_response(agent.stream("Hi"), chunk_size=4)

    assert text_of((await post(app)).text) == "Hello there"
    answer = await post(app)
    assert (answer.status_code, answer.json()) == (502, {"error": "Down."})


def test_what_is_no_stream_is_refused():
    with pytest.raises(TypeError, match="dict"):
        sse_response({})


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("chunk_size", 0),
        ("chunk_size", -1),
        ("chunk_size", True),
        ("heartbeat_seconds", 0),
        ("heartbeat_seconds", -1),
        ("heartbeat_seconds", float("nan")),
    ],
)
async def test_a_setting_that_cannot_be_right_is_refused_before_a_byte(setting, value):
    """No pause between heartbeats would be a flood of them."""

    async def texts():
        yield "a"

    with pytest.raises(ValueError, match=setting):
        sse_response(texts(), **{setting: value})


def test_without_the_extra_its_name_is_told():
    code = (
        "import sys; sys.modules['fastapi'] = None\n"
        "try: from notebook_agents import AgentAPI\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    assert done.stdout.startswith("MissingExtraError")
    assert "'notebook-agents[server]'" in done.stdout


# The pages (check 24).


async def test_the_pages_bear_the_name_of_the_application():
    app = AgentAPI(title="Sales")
    docs, redoc = await get(app, "/docs"), await get(app, "/redoc")
    assert "<title>Sales - Docs</title>" in docs.text
    assert "<title>Sales - ReDoc</title>" in redoc.text
    assert (await get(app, "/docs/oauth2-redirect")).status_code == 200
    described = (await get(app, "/openapi.json")).json()
    logo = described["info"]["x-logo"]
    assert logo["altText"] == "AgentAPI"
    assert described["paths"] == {}
    for path in (logo["url"], "/agentapi-favicon.svg"):
        picture = await get(app, path)
        assert picture.headers["content-type"] == "image/svg+xml"
        assert picture.text.startswith("<svg")


async def test_a_page_that_is_switched_off_is_not_there():
    app = AgentAPI(docs_url=None, redoc_url=None)
    for path in ("/docs", "/redoc", "/docs/oauth2-redirect"):
        assert (await get(app, path)).status_code == 404
    closed = AgentAPI(openapi_url=None)
    for path in ("/docs", "/redoc", "/openapi.json"):
        assert (await get(closed, path)).status_code == 404


def test_an_application_has_a_name_of_its_own_by_default():
    app = AgentAPI()
    assert (app.title, app.version) == ("AgentAPI", "0.1.0")
    assert app.description == "AgentAPI application"
