"""Stop, wherever it meets a cell: the kernel lives, and the next cell works."""

from __future__ import annotations

import time

import pytest

from tests.jupyter.cells import attended_kernel

pytestmark = pytest.mark.notebook

SETUP = """
import contextlib

@tool
def slow(seconds: float) -> str:
    'Sleep in the cell.'
    try:
        print("started", flush=True)
        time.sleep(seconds)
    finally:
        log.append("cleaned up")
    return "slept"

@tool
async def stuck(seconds: float) -> str:
    'Block the loop that it runs on.'
    print("started", flush=True)
    time.sleep(seconds)
    return "slept"

def sleeper(seconds=30):
    return Agent(ScriptedProvider([call("slow", seconds=seconds), "woke"]), [slow])
"""


@pytest.fixture(scope="module")
def front_end():
    """Give one kernel for all of these tests."""
    with attended_kernel() as client:
        assert client.run(SETUP).status == "ok"
        yield client


WAYS = {
    "top": "await sleeper().run('x')",
    "magic": "%%agent agent\nsleep",
    "sync": "sleeper().run_sync('x')",
    "gather": "await asyncio.gather(sleeper().run('x'))",
    "wait_for": "await asyncio.wait_for(sleeper().run('x'), 20)",
    "task": "task = asyncio.create_task(sleeper().run('x')); await task",
    "stream": "async for text in sleeper().stream('x'): print(text)",
}


@pytest.mark.parametrize("way", WAYS)
def test_stop_while_a_tool_runs_in_the_cell(front_end, way):
    front_end.run("agent = sleeper(); log.clear()")
    began = time.monotonic()
    reply = front_end.run(WAYS[way], stop_at="started")
    assert reply.status == "error"
    assert time.monotonic() - began < 10
    assert front_end.is_alive()
    assert "cleaned up" in front_end.run("print(log)").text


@pytest.mark.parametrize("way", ["top", "magic", "sync", "stream"])
def test_stop_reads_as_an_interrupt(front_end, way):
    front_end.run("agent = sleeper()")
    reply = front_end.run(WAYS[way], stop_at="started")
    assert "KeyboardInterrupt: the run was stopped." in reply.text
    assert "Traceback" not in reply.text


def test_a_time_limit_of_the_users_is_a_time_out_and_no_interrupt(front_end):
    code = """
slow_model = Agent(ScriptedProvider(["word " * 500], delay=0.1))
try:
    async with asyncio.timeout(0.3):
        await slow_model.run("x")
except TimeoutError:
    print("timed out")
"""
    reply = front_end.run(code)
    assert (reply.status, reply.text.strip()) == ("ok", "timed out")


def test_a_tool_that_blocks_the_agents_loop_does_not_hold_the_next_cell(front_end):
    front_end.run(
        "agent = Agent(ScriptedProvider([call('stuck', seconds=20), 'x']), [stuck])"
    )
    began = time.monotonic()
    assert front_end.run("agent.run_sync('x')", stop_at="started").status == "error"
    assert front_end.run("print(bot('the next').run_sync('x'))").printed.strip() == (
        "the next"
    )
    assert time.monotonic() - began < 15


def test_an_input_box_ends_when_the_question_is_answered_elsewhere(front_end):
    code = """
from notebook_agents import Allow
agent = bot(call("delete", n=7), "the answer")
def answer_when_asked():
    while "input box" not in [thread.name for thread in threading.enumerate()]:
        pause.wait(0.01)
    for pending in agent.last_run.approvals:
        pending.decide(Allow(), by="another cell")
pause = threading.Event()
threading.Thread(target=answer_when_asked, daemon=True).start()
print(agent.run_sync("x"))
"""
    reply = front_end.run(code, None)
    assert reply.prompts
    assert "the answer" in reply.text


WAITS = {
    "stream": "print([text async for text in bot('hi').stream('x')])",
    "stream in a task": """
async def read():
    return [text async for text in bot("hi").stream("x")]
await asyncio.create_task(read())
""",
    "start": "await asyncio.sleep(0); run = bot('hi').start('x')",
    "sync": "await asyncio.sleep(0); bot('hi').run_sync('x')",
    "shown": "await asyncio.sleep(0); going_on",
}


@pytest.mark.parametrize("way", WAITS)
def test_stop_ends_every_wait_for_a_loop_that_is_busy(front_end, way):
    front_end.run(
        "agent = Agent(ScriptedProvider([call('stuck', seconds=20), 'x']), [stuck])\n"
        "going_on = agent.start('x'); None"
    )
    cell = front_end.start(f"print('waits', flush=True)\n{WAITS[way]}")
    front_end.follow(lambda: cell.shows("waits") and cell.age > 1)
    began = time.monotonic()
    front_end.interrupt()
    assert front_end.finish(cell, 10).status == "error"
    assert time.monotonic() - began < 6
    assert front_end.run("print(bot('the next').run_sync('x'))").printed.strip() == (
        "the next"
    )
