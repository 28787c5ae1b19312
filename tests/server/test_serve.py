"""`serve` and the handle that it gives."""

from __future__ import annotations

import io
import json
import logging
import shutil
import subprocess

import httpx
import pytest

from notebook_agents import InMemoryStore
from notebook_agents.errors import ServerStartError
from notebook_agents.server import ServerConfig, serve
from tests.server.support import Gate, agent_of, erasing, holding, kinds


def test_serving_again_swaps_the_agent_and_keeps_address_and_token(caller_of):
    first = serve(agent_of("I am the old one."))
    url, token = first.url, first.token
    again = serve(agent_of("I am the new one."))
    assert again is first
    assert (again.url, again.token) == (url, token)
    assert caller_of(again).chat().json()["response"] == "I am the new one."


def test_a_turn_that_goes_on_keeps_the_agent_it_began_with(caller_of):
    gate = Gate()
    caller = caller_of(serve(holding(gate, "From the old one.")))
    with caller.streaming() as frames:
        next(frames)
        serve(agent_of("From the new one."))
        gate.opened.set()
        rest = list(frames)
    assert kinds(rest)[-1] == "done"
    assert rest[-1].data["response"] == "From the old one."
    assert caller.chat().json()["response"] == "From the new one."


def test_a_conversation_goes_on_after_a_swap(caller_of):
    caller = caller_of(serve(agent_of("One.")))
    caller.chat(conversation_id="c")
    serve(agent_of("Two."))
    assert caller.chat(conversation_id="c").json()["turn_number"] == 2


def test_another_port_moves_the_server():
    server = serve(agent_of())
    old, token = server.port, server.token
    other = serve(agent_of(name="scout"))
    free = other.port
    other.stop()
    assert serve(agent_of(), port=free) is server
    assert (server.port, server.token) == (free, token)
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"http://127.0.0.1:{old}/health")


def test_a_move_to_a_taken_port_leaves_the_server_where_it_was():
    server, other = serve(agent_of()), serve(agent_of(name="other"))
    url = server.url
    with pytest.raises(OSError, match="cannot listen"):
        serve(agent_of(), port=other.port)
    assert server.url == url
    assert httpx.get(f"{url}/health").status_code == 200


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])  # noqa: S104 - with a key
def test_settings_that_do_not_work_leave_the_server_as_it_was(caller_of, host):
    gate = Gate()
    server = serve(holding(gate))
    caller, url = caller_of(server), server.url
    with caller.streaming() as frames:
        next(frames)
        config = ServerConfig(
            port=server.port, host=host, api_key="k-1", ssl_certfile="no.pem"
        )
        with pytest.raises(ServerStartError, match="FileNotFoundError"):
            serve(agent_of(), config=config)
        assert server.url == url
        assert server.is_running
        gate.opened.set()
        assert kinds(list(frames))[-1] == "done"


def test_another_address_takes_the_port_along_or_leaves_the_server_there():
    server = serve(agent_of())
    port = server.port
    with pytest.raises(OSError, match=r"cannot listen on 192\.0\.2\.1"):
        serve(agent_of(), host="192.0.2.1")
    assert httpx.get(f"{server.url}/health").status_code == 200
    serve(agent_of(), host="0.0.0.0")  # noqa: S104 - what is tested
    assert (server.port, server.config.host) == (port, "0.0.0.0")  # noqa: S104


def test_a_port_that_was_left_open_stays_so_in_the_settings():
    server = serve(agent_of())
    serve(agent_of(), config=ServerConfig(port=0, title="Sales desk"))
    assert server.config.port == 0


def test_other_settings_restart_the_server_on_its_port():
    server = serve(agent_of())
    url, token = server.url, server.token
    serve(agent_of(), config=ServerConfig(port=0, title="Sales desk"))
    assert (server.url, server.token) == (url, token)
    assert httpx.get(f"{url}/openapi.json").json()["info"]["title"] == "Sales desk"


def test_the_same_cell_run_twice_changes_nothing():
    def cell():
        config = ServerConfig(port=0, title="Sales desk")
        return serve(agent_of(), config=config, approvals="wait")

    server = cell()
    thread = server._server._thread
    assert cell()._server._thread is thread


def test_another_store_is_taken_over(caller_of):
    caller = caller_of(serve(agent_of("One.")))
    caller.chat(conversation_id="c")
    serve(agent_of("Anew."), store=InMemoryStore())
    assert caller.chat(conversation_id="c").json()["turn_number"] == 1


def test_the_store_of_the_memory_of_the_new_agent_is_taken_over(caller_of):
    server = serve(agent_of("One."))
    caller_of(server).chat(conversation_id="c")
    url, store = server.url, InMemoryStore()
    agent = agent_of("Two.", memory=store.session(user_id="ada"))
    assert serve(agent).url == url
    assert caller_of(server).chat(conversation_id="c").json()["turn_number"] == 1
    assert len(store.list_conversations()) == 1
    serve(agent_of("Three."))  # chose none, so the conversation goes on
    assert caller_of(server).chat(conversation_id="c").json()["turn_number"] == 2
    server.stop()
    serve(agent_of("Four."))
    assert caller_of(server).chat(conversation_id="c").json()["turn_number"] == 3


def test_a_turn_that_goes_on_is_kept_where_it_began(caller_of):
    gate, before, after = Gate(), InMemoryStore(), InMemoryStore()
    caller = caller_of(serve(holding(gate), store=before))
    with caller.streaming() as frames:
        next(frames)
        serve(agent_of("New."), store=after)
        gate.opened.set()
        assert kinds(list(frames))[-1] == "done"
    assert (len(before.list_conversations()), after.list_conversations()) == (1, [])


def test_a_store_may_be_what_python_cannot_hash_or_takes_for_false(caller_of):
    class Store(InMemoryStore):
        __hash__ = None

        def __len__(self):
            return 0

    store = Store()
    for answer in ("One.", "Two."):
        caller = caller_of(serve(agent_of(answer), store=store))
        assert caller.chat(conversation_id="c").json()["response"] == answer
    assert len(store.list_conversations()) == 1


def test_a_stopped_server_is_served_again_with_its_token(caller_of):
    server = serve(agent_of())
    token = server.token
    server.stop()
    assert "stopped" in repr(server)
    assert serve(agent_of("Hello!")) is server
    assert server.token == token
    assert caller_of(server).chat().json()["response"] == "Hello!"


def test_two_agents_have_a_server_each(caller_of):
    left, right = (serve(agent_of(name, name=name)) for name in ("left", "right"))
    assert left is not right
    assert left.token != right.token
    assert caller_of(left).chat().json()["response"] == "left"
    assert caller_of(right).chat().json()["response"] == "right"
    assert caller_of(left, right.token).chat().status_code == 403


def test_a_server_is_left_at_the_end_of_a_block():
    with serve(agent_of()) as server:
        assert httpx.get(f"{server.url}/health").json()["status"] == "ok"
    assert not server.is_running


def test_the_panel_tells_how_to_call_and_hides_the_token():
    server = serve(agent_of(name="<b>sales</b>"), config=ServerConfig(port=0))
    bundle = server._repr_mimebundle_()
    for shown in (*bundle.values(), repr(server)):
        assert server.url in shown
        assert server.token not in shown
    for shown in bundle.values():
        assert f"{server.url}/docs" in shown
        assert "export TOKEN=..." in shown
        assert "print(server.token)" in shown
        assert "approvals" not in shown
    assert "<b>sales</b>" not in bundle["text/html"].replace("<b>&lt;", "")
    assert server.token not in repr(server.config)
    server.stop()
    for shown in server._repr_mimebundle_().values():
        assert "not being served" in shown
        assert "server = serve(agent)" in shown


def test_the_python_lines_of_the_panel_run_as_they_are_shown():
    server = serve(agent_of("Hello!"))
    *lines, last = server._panel().python.split("\n")
    names = {"server": server}
    code = "\n".join([*lines, last]).replace("httpx.post(", "answer = httpx.post(")
    exec(code, names)  # noqa: S102 - what a person would run
    assert names["answer"]["response"] == "Hello!"


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl")
def test_the_shell_lines_of_the_panel_run_as_they_are_shown():
    server = serve(agent_of("Hello!"))
    lines = server._panel().shell.replace("TOKEN=...", f"TOKEN={server.token}")
    done = subprocess.run(
        ["/bin/sh", "-c", lines], capture_output=True, check=True, timeout=30
    )
    assert json.loads(done.stdout)["response"] == "Hello!"


@pytest.mark.parametrize(
    ("approvals", "told"),
    [("wait", "decide(Allow()"), ("deny", "serve(agent, approvals='wait')")],
)
def test_the_panel_says_how_to_answer_where_a_tool_needs_consent(approvals, told):
    server = serve(agent_of(tools=[erasing([])]), approvals=approvals)
    assert told in server._repr_mimebundle_()["text/plain"]


def test_the_rows_of_the_panel_stand_under_each_other():
    lines = serve(agent_of())._panel().text().split("\n")[1:]
    assert {line[:13].strip() for line in lines} == {
        "docs",
        "token",
        "shell",
        "Python",
        "",
    }
    assert {line[12] for line in lines} == {" "}


def test_the_token_is_in_no_log(caller_of, caplog):
    caplog.set_level(logging.DEBUG)
    server = serve(agent_of("Hello!"))
    caller_of(server).chat()
    logging.getLogger("notebook_agents.server").warning("it is %s", server.token)
    server.stop()
    assert server.token not in caplog.text
    assert "it is [redacted]" in caplog.text


def test_the_token_is_in_no_log_of_any_part_of_the_package(caplog, capsys):
    server = serve(agent_of())
    logging.getLogger("notebook_agents.memory.somewhere").error(
        "it is %s", server.token
    )
    root = logging.getLogger()
    before, root.handlers = root.handlers, []
    try:  # without any handler, logging prints warnings itself, and still does
        logging.getLogger("notebook_agents.far.off").warning("now %s", server.token)
    finally:
        root.handlers = before
    assert server.token not in caplog.text
    assert "it is [redacted]" in caplog.text
    assert capsys.readouterr().err == "now [redacted]\n"
    server.stop()
    assert logging.getLogger("notebook_agents").handlers == []


@pytest.mark.parametrize("name", ["notebook_agents.server", "notebook_agents.run"])
def test_the_token_is_in_no_log_that_somebody_keeps_of_a_single_part(name):
    kept, own = io.StringIO(), logging.getLogger(name)
    handler = logging.StreamHandler(kept)
    own.addHandler(handler)
    try:
        server = serve(agent_of())
        own.error("it is %s", server.token)
        server.stop()
    finally:
        own.removeHandler(handler)
    assert server.token not in kept.getvalue()
    assert "it is [redacted]" in kept.getvalue()
    assert own.filters == []


def test_the_web_server_says_nothing_that_the_process_does_not_want_to_hear(caplog):
    root = logging.getLogger()
    level = root.level
    root.setLevel(logging.WARNING)
    try:
        serve(agent_of()).stop()
    finally:
        root.setLevel(level)
    assert [r.name for r in caplog.records] == []


def test_a_key_of_the_settings_is_the_token(caller_of):
    server = serve(agent_of("Hello!"), config=ServerConfig(port=0, api_key="k-7f3a"))
    assert server.token == "k-7f3a"
    assert caller_of(server).chat().status_code == 200


def test_the_network_is_let_in_with_the_token():
    server = serve(agent_of(), host="0.0.0.0")  # noqa: S104 - what is tested
    assert httpx.get(f"{server.url}/approvals").status_code == 401
