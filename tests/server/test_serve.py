"""`serve` and the handle that it gives."""

from __future__ import annotations

import logging

import httpx
import pytest

from notebook_agents import InMemoryStore
from notebook_agents.server import ServerConfig, serve
from tests.server.support import Gate, agent_of, holding, kinds


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
        assert "$TOKEN" in shown
        assert "server.token" in shown
    assert "<b>sales</b>" not in bundle["text/html"].replace("<b>&lt;", "")
    assert server.token not in repr(server.config)
    server.stop()
    assert "not being served" in server._repr_mimebundle_()["text/plain"]
    assert "not being served" in server._repr_mimebundle_()["text/html"]


def test_the_token_is_in_no_log(caller_of, caplog):
    caplog.set_level(logging.DEBUG)
    server = serve(agent_of("Hello!"))
    caller_of(server).chat()
    logging.getLogger("notebook_agents.server").warning("it is %s", server.token)
    server.stop()
    assert server.token not in caplog.text
    assert "it is [redacted]" in caplog.text


def test_a_key_of_the_settings_is_the_token(caller_of):
    server = serve(agent_of("Hello!"), config=ServerConfig(port=0, api_key="k-7f3a"))
    assert server.token == "k-7f3a"
    assert caller_of(server).chat().status_code == 200


def test_the_network_is_let_in_with_the_token():
    server = serve(agent_of(), host="0.0.0.0")  # noqa: S104 - what is tested
    assert httpx.get(f"{server.url}/approvals").status_code == 401
