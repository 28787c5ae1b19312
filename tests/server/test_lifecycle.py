"""Starting and stopping: ports, threads, loops, signals and open streams."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import pytest

from notebook_agents import AgentConfigurationError, call, tool
from notebook_agents.errors import MissingExtraError, ServerStartError
from notebook_agents.server import AgentServer, ServerConfig, lifecycle, serve
from notebook_agents.server.listener import Listener
from tests.server.support import TIMEOUT, Gate, agent_of, holding, kinds


@contextmanager
def _taken_port() -> Iterator[int]:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        yield taken.getsockname()[1]


def _bind_again(port: int) -> None:
    with socket.socket() as again:
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind(("127.0.0.1", port))
        again.listen()


async def test_a_server_says_whether_it_runs_and_where():
    """Requirements, check 34."""
    server = AgentServer(agent_of(), ServerConfig(port=0))
    assert (server.is_running, server.effective_port) == (False, 0)
    with pytest.raises(RuntimeError, match="before the server"):
        server.app  # noqa: B018 - the access is the test
    await server.start()
    try:
        assert server.is_running
        async with httpx.AsyncClient(base_url=server.url) as client:
            info = (await client.get("/info")).json()
        assert f":{server.effective_port}/chat" in info["endpoints"]["chat"]
        assert server.app.title == "Agent API"
        with pytest.raises(RuntimeError, match="already running"):
            await server.start()
    finally:
        await server.stop()
    assert not server.is_running
    await server.stop()


async def test_a_bare_server_needs_a_user_but_no_key():
    """Requirements, D12 and B6."""
    server = AgentServer(agent_of("Hello!"), ServerConfig(port=0))
    await server.start()
    try:
        async with httpx.AsyncClient(base_url=server.url) as client:
            missing = await client.post("/chat", json={"message": "Hi"})
            body = {"message": "Hi", "user_id": "ada"}
            given = await client.post("/chat", json=body)
    finally:
        await server.stop()
    assert missing.status_code == 422
    assert missing.json()["detail"] == "user_id: Field required"
    assert given.json()["response"] == "Hello!"


async def test_a_server_starts_again_after_a_stop_and_keeps_its_conversations():
    server = AgentServer(agent_of("One.", "Two."), ServerConfig(port=0))
    turns = []
    for _ in range(2):
        await server.start()
        async with httpx.AsyncClient(base_url=server.url) as client:
            body = {"message": "Hi", "user_id": "ada", "conversation_id": "c"}
            turns.append((await client.post("/chat", json=body)).json()["turn_number"])
        await server.stop()
    assert turns == [1, 2]


def test_a_server_is_started_and_stopped_from_different_loops():
    server = AgentServer(agent_of(), ServerConfig(port=0))
    for step in (server.start(), server.stop()):
        with asyncio.Runner() as runner:
            runner.run(step)
    assert not server.is_running


def test_a_taken_port_is_an_error_of_the_caller_and_nothing_stays():
    with _taken_port() as port:
        threads = threading.active_count()
        with pytest.raises(OSError, match=f"cannot listen on 127.0.0.1:{port}"):
            serve(agent_of(), port=port)
        assert threading.active_count() == threads
    assert serve(agent_of(), port=port).port == port


def test_a_stop_frees_the_port_and_may_be_repeated():
    server = serve(agent_of())
    port = server.port
    server.stop()
    server.stop()
    assert not server.is_running
    _bind_again(port)
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"http://127.0.0.1:{port}/health")


def test_only_this_machine_is_let_in_unless_there_is_a_key():
    with pytest.raises(AgentConfigurationError, match="api_key"):
        AgentServer(agent_of(), ServerConfig(host="0.0.0.0"))  # noqa: S104 - refused
    assert ServerConfig(host="0.0.0.0", api_key="k-1").has_auth  # noqa: S104 - not bound


def test_a_certificate_that_is_not_there_is_told_and_frees_the_port():
    config = ServerConfig(port=0, ssl_certfile="no.pem", ssl_keyfile="no.key")
    server = AgentServer(agent_of(), config)
    with pytest.raises(ServerStartError, match="FileNotFoundError"):
        server.launch()
    assert not server.is_running


def test_without_the_extra_the_error_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(MissingExtraError, match=r"notebook-agents\[server\]"):
        serve(agent_of())


def test_importing_the_package_does_not_load_the_web_framework():
    code = (
        "import sys, notebook_agents.server as s; s.ServerConfig(); "
        "print(sorted({'fastapi', 'uvicorn', 'starlette'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, timeout=30
    )
    assert done.stdout.strip() == b"[]"


def test_the_signal_handlers_stay_as_they_were():
    before = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
    server = serve(agent_of())
    httpx.get(f"{server.url}/health")
    server.stop()
    after = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
    assert before == after


def test_a_busy_caller_does_not_slow_the_server_down():
    """The caller's loop and thread stand still while another thread asks."""
    server = serve(agent_of())

    async def busy() -> int:
        with ThreadPoolExecutor(1) as pool:  # leaving it blocks this very loop
            asked = pool.submit(httpx.get, f"{server.url}/health", timeout=20)
            return asked.result().status_code

    with asyncio.Runner() as runner:
        assert runner.run(busy()) == 200


def test_an_open_stream_ends_with_a_last_event_when_the_server_stops(served):
    gate = Gate()
    caller = served(holding(gate))
    server = lifecycle_of(caller)
    with caller.streaming() as frames, ThreadPoolExecutor(1) as pool:
        assert next(frames).data["type"] == "tool_call"
        stopping = pool.submit(server.stop)
        rest = list(frames)
        stopping.result(timeout=5)
    assert kinds(rest)[-1] == "error"
    assert kinds(rest).count("error") == 1
    assert rest[-1].data["error"] == "ServerShutdown"
    assert gate.left.is_set()
    assert not server.is_running


def test_a_client_that_waits_hears_of_the_stop_too(served):
    gate = Gate()
    caller = served(holding(gate))
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(caller.chat)
        gate.entering()
        lifecycle_of(caller).stop()
        response = waiting.result()
    assert response.status_code == 503
    assert response.json()["error"] == "ServerShutdown"


def test_whoever_waits_for_their_turn_hears_of_the_stop_too(served, wait_until):
    gate = Gate()
    caller = served(holding(gate))
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(caller.chat, conversation_id="c")
        gate.entering()
        second = pool.submit(caller.chat, conversation_id="c")
        runs = lifecycle_of(caller)._server.service.runs
        wait_until(lambda: runs._count == 2)
        lifecycle_of(caller).stop()
        responses = [first.result(), second.result()]
    assert {each.status_code for each in responses} == {503}


def test_a_tool_may_stop_its_own_server(caller_of):
    server = None

    async def stop_serving() -> str:
        """Stop serving."""
        server.stop()
        return "stopping"

    server = serve(agent_of(call("stop_serving"), "Bye.", tools=[stop_serving]))
    assert caller_of(server).chat().status_code in {200, 503}
    server.stop()
    assert not server.is_running


SCRIPT = """
import sys
{prelude}
import httpx
from notebook_agents import Agent, ScriptedProvider
from notebook_agents.server import serve
server = serve(Agent(ScriptedProvider(["Hello!"])))
headers = {{"Authorization": f"Bearer {{server.token}}"}}
answer = httpx.post(f"{{server.url}}/chat", json={{"message": "Hi"}}, headers=headers)
print(answer.json()["response"])
"""


@pytest.mark.parametrize(
    "prelude",
    ["", "import nest_asyncio2; nest_asyncio2.apply()"],
    ids=["plain", "nested loops allowed"],
)
def test_a_process_that_ends_stops_its_server_without_a_word(prelude):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(prelude=prelude)],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "Hello!\n", "")


FORKING = """
import os, signal, socket
from notebook_agents import Agent, ScriptedProvider
from notebook_agents.server import serve
server = serve(Agent(ScriptedProvider([])))
port = server.port
child = os.fork()
if not child:
    signal.pause()
server.stop()
try:
    serve(Agent(ScriptedProvider([])), port=port).stop()
finally:
    os.kill(child, signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not fork")
def test_a_forked_child_does_not_hold_the_port():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKING],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_stop_frees_the_port_although_a_tool_blocks_the_server(
    caller_of, monkeypatch, caplog
):
    monkeypatch.setattr(lifecycle, "STOP_SECONDS", 0.1)
    entered, release = threading.Event(), threading.Event()

    async def block() -> str:
        """Block the whole loop."""
        entered.set()
        release.wait(10)
        return "blocked"

    server = serve(agent_of(call("block"), "Done.", tools=[block]))
    caller, port, thread = caller_of(server), server.port, server._server._thread
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(caller.http.post, "/chat", json={"message": "Hi"})
        assert entered.wait(5)
        server.stop()
        assert not server.is_running
        assert "its thread goes on" in caplog.text
        assert "block" in caplog.text
        assert serve(agent_of(name="other"), port=port).port == port
        release.set()
        thread.join(10)
        asked.result(10)


def test_serving_again_while_the_old_server_ends_gets_its_port(caller_of):
    gate = Gate()

    @tool
    async def slow_to_leave() -> str:
        """Take a while to clean up."""
        gate.entered.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.3)
            gate.left.set()

    server = serve(agent_of(call("slow_to_leave"), tools=[slow_to_leave]))
    caller, port = caller_of(server), server.port
    with ThreadPoolExecutor(2) as pool:
        asked = pool.submit(caller.chat)
        gate.entering()
        stopping = pool.submit(server.stop)
        while server.is_running:  # set at once, long before the tool has left
            pass
        assert not gate.left.is_set()
        again = serve(agent_of("Hello!"), port=port)
        assert (again is server, again.port) == (True, port)
        stopping.result(10)
        assert asked.result(10).status_code == 503
    assert caller_of(again).chat().json()["response"] == "Hello!"


def test_a_tool_may_give_its_own_server_other_settings(caller_of):
    async def rename() -> str:
        """Serve anew."""
        config = ServerConfig(port=0, title="Renamed")
        return serve(agent_of("Hello!"), config=config).url

    server = serve(agent_of(call("rename"), "Done.", tools=[rename]))
    url = server.url
    old = server._server._thread
    assert caller_of(server).chat().status_code in {200, 503}
    old.join(10)
    assert server.url == url
    assert caller_of(server).chat().json()["response"] == "Hello!"
    title = httpx.get(f"{url}/openapi.json").json()["info"]["title"]
    assert title == "Renamed"


def test_a_start_that_takes_too_long_is_given_up(monkeypatch):
    async def listen(self) -> None:
        while not self.should_exit:  # noqa: ASYNC110 - set by a thread
            await asyncio.sleep(0.005)

    monkeypatch.setattr("notebook_agents.server.listener.Listener.listen", listen)
    monkeypatch.setattr(lifecycle, "START_SECONDS", 0.0)
    server = AgentServer(agent_of(), ServerConfig(port=0))
    with pytest.raises(ServerStartError, match="too long"):
        server.launch()
    server.halt()
    assert not server.is_running


@contextmanager
def _a_stop_while_it_starts() -> Iterator[list[threading.Thread]]:
    """Press Stop while the next server comes up."""
    started: list[threading.Thread] = []
    goes_on = threading.Event()
    startup = Listener.startup

    async def interrupted(self, sockets=None):
        Listener.startup = startup
        started.append(threading.current_thread())
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        goes_on.wait(TIMEOUT)
        await startup(self, sockets)

    Listener.startup = interrupted
    try:
        with pytest.raises(KeyboardInterrupt):
            yield started
    finally:
        Listener.startup = startup
        goes_on.set()


posix = pytest.mark.skipif(sys.platform == "win32", reason="no signals for threads")


@posix
def test_a_start_that_is_stopped_leaves_no_server_that_nobody_knows(caller_of):
    with _a_stop_while_it_starts() as started:
        serve(agent_of())
    for thread in started:
        thread.join(TIMEOUT)
        assert not thread.is_alive()
    assert len(started) == 1
    assert caller_of(serve(agent_of("Hello!"))).chat().json()["response"] == "Hello!"


@posix
@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])  # noqa: S104 - with a key
def test_a_change_that_is_stopped_leaves_the_server_as_it_was(caller_of, host):
    server = serve(agent_of("Hello!"))
    url = server.url
    with _a_stop_while_it_starts() as started:
        serve(agent_of(), host=host, config=ServerConfig(port=0, title="Renamed"))
    for thread in started:
        thread.join(TIMEOUT)
        assert not thread.is_alive()
    assert (server.is_running, server.url) == (True, url)
    assert caller_of(server).chat().json()["response"] == "Hello!"


def lifecycle_of(caller):
    """Find the handle that a client talks to."""
    from notebook_agents.server import handle

    url = str(caller.http.base_url).rstrip("/")
    return next(each for each in handle._handles.values() if each.url == url)
