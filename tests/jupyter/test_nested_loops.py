"""Tools that call ``asyncio.run`` in a cell, and that all else still works."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.jupyter.cells import SETUP
from tests.jupyter.front_end import FrontEnd, Reply, front_end_of, running_kernel
from tests.jupyter.kernels import NEWEST, OLDER

# The first of them installs the older kernels.
pytestmark = [pytest.mark.notebook, pytest.mark.timeout(400)]

MORE = '''
import time

async def work(x):
    await asyncio.sleep(0.01)
    return x + 1

@tool
def runs(x: int) -> int:
    """Run a loop."""
    return asyncio.run(work(x))

@tool
def runs_until(x: int) -> int:
    """Run the loop that runs already."""
    return asyncio.get_event_loop().run_until_complete(work(x))

@tool
async def runs_async(x: int) -> int:
    """Run a loop in a coroutine."""
    y = asyncio.run(work(x))
    await asyncio.sleep(0)
    return y

async def sleep(seconds):
    print("started", flush=True)
    await asyncio.sleep(seconds)

@tool
def sleeps(seconds: float) -> str:
    """Sleep in a loop."""
    asyncio.run(sleep(seconds))
    return "slept"

async def tick():
    while True:
        end = time.perf_counter() + 0.002
        while time.perf_counter() < end:
            pass
        await asyncio.sleep(0.0002)

RUN = [call("runs", x=1), call("runs_until", x=2), call("runs_async", x=3)]

def looping(*script, **options):
    tools = [runs, runs_until, runs_async, sleeps, delete]
    return Agent(ScriptedProvider(script), tools, name="looping", **options)

def told(result):
    return [call["content"] for call in result.tool_calls]
'''
OWN = "from notebook_agents import allow_nested_loops\nprint(allow_nested_loops())\n"
FIRST = {
    "ours": "",
    "nest_asyncio2 first": "import nest_asyncio2\nnest_asyncio2.apply()\n",
    "nest_asyncio first": "import nest_asyncio\nnest_asyncio.apply()\n",
}
TOLD = {
    "await": "print(told(await agent.run('x')))",
    "run_sync": "print(told(agent.run_sync('x')))",
}
STOPPED = "KeyboardInterrupt: the run was stopped."


@dataclass
class Notebook:
    """A kernel in which loops may be nested."""

    first: str
    said: str
    front_end: FrontEnd

    def ends_as_stopped(self, reply: Reply) -> bool:
        """Tell whether a cell was stopped, as its person reads it."""
        if self.first == "nest_asyncio first":  # it may forget which task runs
            return reply.status == "error"
        return STOPPED in reply.text


@pytest.fixture(scope="module", params=["ipykernel-6.29.5", "ipykernel-7.3.0", NEWEST])
def kernel_name(request: pytest.FixtureRequest) -> str:
    """Give the name of a kernel that is installed."""
    name: str = request.param
    if name in OLDER:
        request.getfixturevalue("older_kernels")
    return name


@pytest.fixture(scope="module", params=FIRST)
def notebook(kernel_name: str, request: pytest.FixtureRequest) -> Iterator[Notebook]:
    """Allow it in a new kernel, perhaps where the user has done so before."""
    with (
        running_kernel(kernel_name) as manager,
        front_end_of(manager, has_subshells=True) as front_end,
    ):
        assert front_end.run(SETUP + MORE).status == "ok"
        said = front_end.run(FIRST[request.param] + OWN).text
        yield Notebook(request.param, said, front_end)


def test_it_says_whether_it_has_patched(notebook):
    assert ("True" in notebook.said) is (notebook.first == "ours")
    assert notebook.front_end.run(OWN).text.startswith("False\n")


def test_it_warns_of_what_loses_messages(notebook):
    is_told = (
        "Restart the kernel and call allow_nested_loops() instead" in notebook.said
    )
    assert is_told is (notebook.first == "nest_asyncio first")


@pytest.mark.parametrize("way", TOLD)
def test_tools_that_run_a_loop_give_their_results(notebook, way):
    notebook.front_end.run("agent = looping(RUN, 'the answer')")
    reply = notebook.front_end.run(TOLD[way])
    assert reply.printed == "['2', '3', '4']\n"


@pytest.mark.parametrize("way", TOLD)
def test_a_click_is_heard(notebook, way):
    notebook.front_end.run("agent = looping([*RUN, call('delete', n=1)], 'the answer')")
    reply = notebook.front_end.run(TOLD[way], click="allow")
    assert reply.prompts == []
    assert "['2', '3', '4', 'deleted 1']" in reply.printed


@pytest.mark.parametrize("way", TOLD)
def test_stop_ends_a_nested_loop(notebook, way):
    notebook.front_end.run("agent = looping(call('sleeps', seconds=20), 'the answer')")
    reply = notebook.front_end.run(TOLD[way], stop_at="started")
    assert notebook.ends_as_stopped(reply)
    assert reply.seconds["end"] < 10
    assert notebook.front_end.run("print(6 * 7)").printed == "42\n"


@pytest.mark.parametrize("way", TOLD)
def test_stop_in_a_nested_loop_leaves_the_tasks_of_others_alone(notebook, way):
    """Which are busy in it nearly all the time, when Stop comes."""
    begun = "agent = looping(call('sleeps', seconds=20), '.')\n"
    notebook.front_end.run(begun + "others = asyncio.create_task(tick())")
    reply = notebook.front_end.run(TOLD[way], stop_at="started")
    assert notebook.ends_as_stopped(reply)
    assert notebook.front_end.run("print(others.cancel())").printed == "True\n"


def test_an_answer_streams(notebook):
    notebook.front_end.run("agent = looping(RUN, 'the answer')")
    code = "async for text in agent.stream('x'): print(text, end='', flush=True)"
    assert notebook.front_end.run(code).printed == "the answer"


def test_an_agent_can_be_served(notebook):
    """On a loop of its own, where a tool may run another."""
    code = """
import httpx
from notebook_agents import serve
server = serve(looping("hello", RUN, "the answer"))
def post():
    headers = {"Authorization": "Bearer " + server.token}
    url = server.url + "/chat"
    return httpx.post(url, json={"message": "x"}, headers=headers, timeout=10).json()
print(post()["response"], post()["response"])
server.stop()
print(server.is_running)
"""
    reply = notebook.front_end.run(code)
    assert reply.printed == "hello the answer\nFalse\n"


def test_an_agent_that_a_cell_runs_in_a_nested_loop_asks_and_stops(notebook):
    """As users of nest_asyncio write it."""
    code = "await asyncio.sleep(0)\nprint(asyncio.run(agent.run('x')))"
    notebook.front_end.run("agent = bot(call('delete', n=1), 'the answer')")
    assert "the answer" in notebook.front_end.run(code, "y", click="allow").text
    notebook.front_end.run("agent = bot(call('delete', n=1), 'the answer')")
    reply = notebook.front_end.run(code, has_card=True, stop_at="[card]")
    assert reply.status == "error"
    assert reply.seconds["end"] < 10
    assert notebook.front_end.run("print(6 * 7)").printed == "42\n"


def test_nothing_is_patched_unless_it_is_asked_for(kernel_name):
    with running_kernel(kernel_name) as manager, front_end_of(manager) as front_end:
        front_end.run(SETUP + MORE)
        told = front_end.run("print(*told(looping(RUN, '.').run_sync('x')), sep='\\n')")
        modules = "print(asyncio.run.__module__, hasattr(asyncio, '_nest_patched'))"
        assert front_end.run(modules).printed.strip() == "asyncio.runners False"
    lines = told.text.splitlines()
    ways = [line.partition(" (")[2] for line in lines if "failed" in line]
    allow = "call notebook_agents.allow_nested_loops() first)"
    assert ways == [f"mark the tool @tool(thread=True), or {allow}", allow, allow]
