"""Approval where no click can arrive: the input box asks instead."""

from __future__ import annotations

import pytest

from tests.jupyter.cells import attended_kernel

pytestmark = pytest.mark.notebook


@pytest.fixture(scope="module")
def front_end():
    """Give one kernel for all of these tests."""
    with attended_kernel() as client:
        yield client


ASK = "agent = bot(call('delete', n=1), 'the answer'); log.clear()"
WAYS = ["%%agent agent\ndelete", "agent.run_sync('x')", "await agent.run('x')"]


@pytest.mark.parametrize("way", WAYS)
def test_yes_in_the_input_box_runs_the_tool(front_end, way):
    front_end.run(ASK)
    reply = front_end.run(way, "y")
    choices = "[y]es, [a]lways, [N]o, [q]uit the run: "
    assert reply.prompts == [f"Run delete(n=1)? {choices}"]
    assert "the answer" in reply.text
    assert "deleted 1" in front_end.run("print(log)").text


def test_always_in_the_input_box_asks_no_second_time(front_end):
    twice = ASK.replace("'the answer'", "call('delete', n=2), 'the answer'")
    front_end.run(twice)
    reply = front_end.run("agent.run_sync('x')", "a")
    assert len(reply.prompts) == 1
    said = front_end.run("print(log)").text
    assert "deleted 1" in said
    assert "deleted 2" in said


def test_anything_else_denies_and_is_told_to_the_model(front_end):
    front_end.run(ASK)
    front_end.run("agent.run_sync('x')", "use the test table")
    request = front_end.run("print((await agent.last_run.result()).tool_calls)").text
    assert "use the test table" in request
    assert front_end.run("print(log)").text.strip() == "[]"


def test_quit_ends_the_run(front_end):
    front_end.run(ASK)
    reply = front_end.run("%%agent agent\ndelete", "q")
    assert reply.status == "error"
    assert "RunCancelledError" in reply.text
    assert front_end.run("print(log)").text.strip() == "[]"
