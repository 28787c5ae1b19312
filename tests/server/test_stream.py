"""Following what a served agent does, as server-sent events."""

from __future__ import annotations

import pytest

from notebook_agents import call
from notebook_agents.server import serve
from notebook_agents.server.schemas import ChatResponse
from tests.server.support import Gate, add, agent_of, holding, kinds


def test_a_tool_turn_streams_what_happens_and_then_the_answer(served):
    """Requirements, D4 and check 32."""
    agent = agent_of(["Let me add.", call("add", a=1, b=2)], "It is 3.", tools=[add])
    frames = served(agent).stream()
    assert kinds(frames) == ["thought", "tool_call", "tool_result", "done"]
    thought, called, result, done = (frame.data for frame in frames)
    assert thought["data"] == {"step": 1, "kind": "plan", "content": "Let me add."}
    assert called["label"] == "add"
    assert called["data"] == {
        "step": 1,
        "tool": "add",
        "args": {"a": 1, "b": 2},
        "call_id": "call_1",
    }
    assert (result["data"]["content"], result["data"]["failed"]) == ("3", False)
    assert ChatResponse(**done).response == "It is 3."
    assert set(done) == set(ChatResponse.model_fields)


def test_the_response_is_an_event_stream_that_no_proxy_holds_back(served):
    caller = served(agent_of("Hello!"))
    caller.stream()
    headers = caller.last.headers
    assert headers["content-type"].startswith("text/event-stream")
    assert headers["cache-control"] == "no-cache"
    assert headers["x-accel-buffering"] == "no"
    assert headers["x-run-id"]


def test_tokens_come_only_when_asked_for(served):
    caller = served(agent_of("Hello there", "Hello there"))
    assert kinds(caller.stream()) == ["done"]
    frames = caller.stream(stream_tokens=True)
    assert kinds(frames) == ["token", "token", "done"]
    assert [frame.data["data"]["text"] for frame in frames[:-1]] == ["Hello th", "ere"]


def test_a_tool_call_is_seen_before_the_tool_ends(served):
    gate = Gate()
    with served(holding(gate)).streaming() as frames:
        assert next(frames).data["type"] == "tool_call"
        assert not gate.left.is_set()
        gate.opened.set()
        assert kinds(list(frames)) == ["tool_result", "done"]


def test_text_with_line_ends_arrives_as_it_was(served):
    text = "a\r\nevent: done\rb\n\nid: 3\u2028c\0"
    frames = served(agent_of(text)).stream(stream_tokens=True)
    assert frames[-1].data["response"] == text
    tokens = [frame.data["data"]["text"] for frame in frames[:-1]]
    assert "".join(tokens) == text


def test_a_slow_agent_ends_in_one_timeout_error(served):
    gate = Gate()
    frames = served(holding(gate), request_timeout=0.5).stream()
    assert kinds(frames)[-1] == "error"
    assert kinds(frames).count("error") == 1
    assert frames[-1].data["error"] == "TimeoutError"
    assert frames[-1].data["detail"] == "Agent did not respond within 0.5s."
    gate.leaving()


def test_silence_is_filled_with_comments(served):
    gate = Gate()
    caller = served(holding(gate), sse_heartbeat_seconds=0.02)
    with caller.streaming() as frames:
        assert next(frames).data["type"] == "tool_call"
        assert [next(frames).data for _ in range(2)] == [": keepalive"] * 2
        gate.opened.set()
        assert kinds(list(frames)) == ["tool_result", "done"]


def test_a_client_that_goes_away_cancels_the_turn(served):
    gate = Gate()
    with served(holding(gate)).streaming() as frames:
        next(frames)
    gate.leaving()
    assert not gate.opened.is_set()


def test_a_client_that_goes_away_may_ask_that_the_run_goes_on(caller_of):
    gate = Gate()
    caller = caller_of(serve(holding(gate)))
    with caller.streaming(query="?on_disconnect=continue") as frames:
        next(frames)
        run_id = caller.last.headers["x-run-id"]
    gate.opened.set()
    with caller.http.stream("GET", f"/runs/{run_id}/events") as response:
        assert '"response":"Held."' in response.read().decode()


def test_a_client_that_stops_waiting_for_the_whole_answer_cancels_it_too(served):
    gate = Gate()
    caller = served(holding(gate))
    with pytest.raises(Exception, match="timed out"):
        caller.http.post("/chat", json={"message": "Hi"}, timeout=0.5)
    gate.leaving()
    assert not gate.opened.is_set()


def test_a_stream_whose_turn_does_not_come_is_a_504(served):
    gate = Gate()
    caller = served(holding(gate), request_timeout=0.5)
    with caller.streaming(conversation_id="c") as frames:
        next(frames)
        body = {"message": "Me too", "conversation_id": "c"}
        # The first is stopped at the same moment, so the second may just begin.
        assert caller.http.post("/chat/stream", json=body).status_code in {200, 504}
        assert kinds(list(frames))[-1] == "error"
