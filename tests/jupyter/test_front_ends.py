"""Who hears a click, on each kernel, and that nothing hangs where nobody does.

One front end sends clicks as JupyterLab does, the other as the sources of VS Code
and Colab say that they do: to the main shell, behind the cell.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import psutil
import pytest
from jupyter_client.manager import KernelManager

from tests.jupyter.cells import SETUP
from tests.jupyter.front_end import FrontEnd, front_end_of, running_kernel
from tests.jupyter.kernels import NEWEST, OLDER

# The first of them installs the older kernels.
pytestmark = [pytest.mark.notebook, pytest.mark.timeout(400)]

MORE = '''
from IPython.utils.capture import capture_output
import notebook_agents.jupyter.waiting_calls as asking

@tool
def slow(seconds: float) -> str:
    """Sleep in the cell."""
    time.sleep(seconds)
    return "slept"

@tool
async def stuck(seconds: float) -> str:
    """Block the loop that it runs on."""
    print("started", flush=True)
    time.sleep(seconds)
    return "slept"

@tool
def delegate(n: int) -> str:
    """Ask another agent, in the same cell."""
    return bot(call("delete", n=n), "the other's answer").run_sync("x").answer

def team(*calls):
    return Agent(ScriptedProvider([list(calls), "the answer"]), [slow, stuck, delegate, delete])

def told(result):
    return result.tool_calls[-1]["content"]
'''
WAYS = {
    "magic": "%%agent agent\ndelete",
    "await": "await agent.run('x')",
    "stream": "async for text in agent.stream('x'): print(text)",
    "run_sync": "agent.run_sync('x')",
    "time": "%%time\n%%agent agent\ndelete",
    "nested": "get_ipython().run_cell_magic('agent', 'agent', 'delete')",
}
BLOCKING = {"run_sync", "time", "nested"}
TOLD = {
    "await": "print(told(await agent.run('x')))",
    "run_sync": "print(told(agent.run_sync('x')))",
}
PUMPED = {"ipykernel-6.17.1", "ipykernel-6.29.5"}


def hears_behind_the_cell(kernel: str, way: str) -> bool:
    """Tell whether a kernel hears what is sent to its main shell meanwhile."""
    return kernel in PUMPED or (kernel == NEWEST and way not in BLOCKING)


@dataclass
class Notebooks:
    """One kernel in two front ends."""

    name: str
    manager: KernelManager
    lab: FrontEnd
    code: FrontEnd

    def ask(
        self, *, timeout: float = 20, hurried: bool = False, patient: bool = False
    ) -> None:
        """Make an agent that asks once; its card has the usual time, little or a lot."""
        ready, late = (0.1, 0.1) if hurried else (60, 60) if patient else (3.0, 1.0)
        self.lab.run(
            f"asking.READY_SECONDS, asking.LATE_SECONDS = {ready}, {late}\n"
            f"script = call('delete', n=1), 'the answer'; log.clear()\n"
            f"agent = bot(*script, approval_timeout={timeout})"
        )

    @property
    def log(self) -> str:
        """What the tools have done; it also shows that the next cell works."""
        return self.lab.run("print(log)").text.strip()


@pytest.fixture(scope="module", params=[*OLDER, NEWEST])
def kernel_name(request: pytest.FixtureRequest) -> str:
    """Give the name of a kernel that is installed."""
    name: str = request.param
    if name in OLDER:
        request.getfixturevalue("older_kernels")
    return name


@pytest.fixture(scope="module")
def kernel(kernel_name: str) -> Iterator[Notebooks]:
    """Open two front ends on a kernel."""
    with (
        running_kernel(kernel_name) as manager,
        front_end_of(manager, has_subshells=True) as lab,
        front_end_of(manager) as code,
    ):
        assert lab.run(SETUP + MORE).status == "ok"
        yield Notebooks(kernel_name, manager, lab, code)


# ------------------------------------------------------------ like JupyterLab


@pytest.mark.parametrize("way", WAYS)
def test_a_click_past_the_cell_runs_the_tool(kernel, way):
    kernel.ask()
    reply = kernel.lab.run(WAYS[way], click="allow")
    assert (reply.status, reply.prompts) == ("ok", [])
    assert "Approved by you" in reply.text
    assert reply.seconds["end"] - reply.seconds["click"] < 10
    assert kernel.log == "['deleted 1']"


@pytest.mark.parametrize("way", ["magic", "run_sync"])
def test_a_click_on_deny_keeps_the_tool_from_running(kernel, way):
    kernel.ask()
    reply = kernel.lab.run(WAYS[way], click="deny")
    assert reply.status == "ok"
    assert "Denied by you" in reply.text
    assert kernel.log == "[]"


@pytest.mark.parametrize("way", ["magic", "run_sync"])
def test_a_click_on_stop_run_ends_the_cell(kernel, way):
    kernel.ask()
    reply = kernel.lab.run(WAYS[way], click="stop")
    assert reply.status == "error"
    assert "RunCancelledError" in reply.text
    assert kernel.log == "[]"


# ------------------------------------------------------- like VS Code and Colab


@pytest.mark.parametrize("way", ["magic", "await", "stream", "run_sync"])
def test_a_click_behind_the_cell_is_heard_or_the_input_box_asks(kernel, way):
    hears = hears_behind_the_cell(kernel.name, way)
    # The true waiting time once for each kind of cell.
    kernel.ask(hurried=not hears and way in {"await", "stream"})
    reply = kernel.code.run(WAYS[way], "y", click="allow")
    assert reply.status == "ok"
    assert len(reply.prompts) == (0 if hears else 1)
    assert reply.seconds.get("prompt", 0) < 15
    assert kernel.log == "['deleted 1']"


@pytest.mark.parametrize("way", ["await", "run_sync"])
def test_an_input_box_asks_where_nothing_shows_a_card(kernel, way):
    kernel.ask(hurried=True)
    reply = kernel.code.run(TOLD[way], "not today")
    assert reply.prompts[0].startswith("Run delete(n=1)? [y]es")
    assert "Denied: not today." in reply.text
    assert kernel.log == "[]"


def test_a_captured_cell_asks_in_the_input_box_at_once(kernel):
    kernel.ask(patient=True)
    reply = kernel.lab.run("%%capture\n%%agent agent\ndelete", "y", click="allow")
    assert reply.status == "ok"
    assert reply.seconds["prompt"] < 15
    assert kernel.log == "['deleted 1']"


def test_an_awaiting_cell_that_captures_asks_in_the_input_box_at_once(kernel):
    kernel.ask(patient=True)
    code = "with capture_output():\n    result = await agent.run('x')\nprint(result)"
    reply = kernel.lab.run(code, "y", click="allow")
    assert "the answer" in reply.text
    assert reply.seconds["prompt"] < 15
    assert kernel.log == "['deleted 1']"


# ------------------------------------------------------------- nobody is there


@pytest.mark.parametrize("way", TOLD)
def test_a_front_end_without_an_input_box_is_denied_at_once(kernel, way):
    kernel.ask(patient=True)
    with front_end_of(kernel.manager, has_person=False) as front_end:
        reply = front_end.run(TOLD[way])
    assert reply.seconds["end"] < 15
    assert 'nobody is there to ask; to allow it, pass policy="allow"' in reply.text
    assert kernel.log == "[]"


@pytest.mark.parametrize("way", TOLD)
def test_a_card_that_nobody_answers_ends_as_no(kernel, way):
    kernel.ask(timeout=0.5)
    reply = kernel.lab.run(TOLD[way], has_card=True)
    assert reply.seconds["end"] < 15
    assert "Denied: nobody answered within 0.5 s" in reply.text
    assert kernel.log == "[]"


@pytest.mark.parametrize("way", TOLD)
def test_an_input_box_that_nobody_answers_ends_as_no(kernel, way):
    kernel.ask(timeout=0.7, hurried=True)
    reply = kernel.code.run(TOLD[way], None)
    assert len(reply.prompts) == 1
    assert reply.seconds["end"] < 15
    assert "Denied: nobody answered" in reply.text
    assert kernel.log == "[]"


@pytest.mark.parametrize("way", TOLD)
@pytest.mark.parametrize("what", ["[card]", "Run delete"])
def test_a_tab_that_is_closed_holds_the_kernel_no_longer_than_the_question(
    kernel, way, what
):
    kernel.ask(timeout=0.7, hurried="card" not in what)
    with front_end_of(kernel.manager) as tab:
        cell = tab.start(TOLD[way], None, has_card="card" in what)
        tab.follow(lambda: cell.shows(what))
    with front_end_of(kernel.manager) as other:
        reply = other.run("print('here I am', log)")
    assert reply.printed.strip() == "here I am []"
    assert reply.seconds["end"] < 15


def test_a_run_that_outlived_its_cell_asks_on_its_card_only(kernel):
    """input() would block the kernel with a question that no front end shows."""
    kernel.ask(hurried=True)
    kernel.code.run(
        "task = asyncio.create_task(agent.run('x'))\n"
        "while not (agent.last_run and agent.last_run.approvals):\n"
        "    await asyncio.sleep(0.01)"
    )
    reply = kernel.code.run("await asyncio.sleep(0.5); print(task.done())")
    assert reply.prompts == []
    assert reply.text.strip().endswith("False")
    kernel.code.run(
        "from notebook_agents import Allow\n"
        "agent.last_run.approvals[0].decide(Allow(), by='another cell')\n"
        "print(await task)"
    )
    assert kernel.log == "['deleted 1']"


LATE = """
reply = ["word " * 10, call("delete", n=1)]
agent = Agent(ScriptedProvider([reply, "."], delay=0.1), [delete], name="bot")
log.clear(); run = agent.start("x")
"""


def test_a_question_of_the_background_stands_in_the_cell_that_began_it(kernel):
    front_end = kernel.lab
    began, other = (front_end.start(c, click="allow") for c in (LATE, "print('other')"))
    for cell in (began, other):
        front_end.finish(cell)
    front_end._cells = [began, other]  # as a page listens on
    front_end.follow(lambda: began.shows("[card]"))
    front_end._cells = [began, other]
    front_end.follow(lambda: all(card.is_over for card in began._cards.values()))
    assert "[card]" not in other.reply.text
    front_end.run("await run.result()")
    assert kernel.log == "['deleted 1']"


# --------------------------------------------------------------------- Stop


@pytest.mark.parametrize("way", ["magic", "run_sync", "stream"])
def test_stop_ends_an_open_input_box(kernel, way):
    kernel.ask(hurried=True)
    reply = kernel.code.run(WAYS[way], kernel.code.interrupt)
    assert reply.status == "error"
    assert reply.seconds["end"] - reply.seconds["prompt"] < 15
    assert "KeyboardInterrupt: the run was stopped." in reply.text
    assert kernel.log == "[]"


@pytest.mark.parametrize("way", ["magic", "run_sync", "stream"])
def test_stop_ends_an_open_card(kernel, way):
    kernel.ask()
    reply = kernel.lab.run(WAYS[way], has_card=True, stop_at="[card]")
    assert reply.status == "error"
    assert reply.seconds["end"] < 15
    assert "KeyboardInterrupt: the run was stopped." in reply.text
    assert kernel.log == "[]"


def test_stop_ends_two_agents_of_which_one_asks_in_the_input_box(kernel):
    kernel.ask(hurried=True)
    both = "await asyncio.gather(agent.run('x'), bot(*script).run('x'))"
    reply = kernel.code.run(both, kernel.code.interrupt)
    assert reply.status == "error"
    assert kernel.log == "[]"


def test_stop_ends_an_async_tool_that_blocks_the_kernels_loop(kernel):
    code = "await team(call('stuck', seconds=20)).run('x')"
    reply = kernel.lab.run(code, stop_at="started")
    assert reply.seconds["end"] < 15
    assert "KeyboardInterrupt: the run was stopped." in reply.text
    assert kernel.lab.run("print(6 * 7)").printed.strip() == "42"


# ------------------------------------------------------------- several at once


def test_two_agents_of_one_cell_ask_side_by_side(kernel):
    kernel.ask()
    both = "print(*await asyncio.gather(agent.run('x'), bot(*script).run('x')))"
    reply = kernel.lab.run(both, click="allow")
    assert "the answer the answer" in reply.text
    assert kernel.log == "['deleted 1', 'deleted 1']"


def test_two_agents_of_one_cell_ask_in_the_input_box_in_turn(kernel):
    kernel.ask(hurried=True)
    both = "print(*await asyncio.gather(agent.run('x'), bot(*script).run('x')))"
    reply = kernel.code.run(both, "y", "n")
    assert "the answer the answer" in reply.text
    assert len(reply.prompts) == 2
    assert kernel.log == "['deleted 1']"


@pytest.mark.parametrize("way", TOLD)
def test_an_agent_in_a_tool_of_another_asks_in_the_same_cell(kernel, way):
    kernel.ask(hurried=True)
    kernel.lab.run("agent = team(call('delegate', n=5))")
    reply = kernel.lab.run(TOLD[way], click="allow")
    assert "the other's answer" in reply.text
    reply = kernel.code.run(
        TOLD[way].replace("agent", "team(call('delegate', n=6))"), "y"
    )
    assert "the other's answer" in reply.text
    assert kernel.log == "['deleted 5', 'deleted 6']"


@pytest.mark.parametrize("way", TOLD)
@pytest.mark.parametrize("tool", ["slow", "stuck"])
def test_a_question_is_answered_after_a_tool_that_blocks_the_thread(kernel, way, tool):
    kernel.ask()
    kernel.lab.run(f"agent = team(call({tool!r}, seconds=0.5), call('delete', n=1))")
    reply = kernel.lab.run(TOLD[way], click="allow")
    assert (reply.status, reply.prompts) == ("ok", [])
    assert kernel.log == "['deleted 1']"


@pytest.mark.parametrize("way", ["magic", "run_sync"])
def test_cells_behind_a_question_wait_and_keep_their_order(kernel, way):
    kernel.ask()
    front_end = kernel.code if hears_behind_the_cell(kernel.name, way) else kernel.lab
    asking = front_end.start(WAYS[way], has_card=True)
    behind = [front_end.start(f"log.append({n}); print(log)") for n in (1, 2)]
    front_end.follow(lambda: asking.shows("[card]"))
    assert not any(cell.is_done for cell in (asking, *behind))
    asking.click("allow")
    replies = [front_end.finish(cell) for cell in (asking, *behind)]
    assert replies[1].printed.strip() == "['deleted 1', 1]"
    assert replies[2].printed.strip() == "['deleted 1', 1, 2]"


# -------------------------------------------------------------------- the end


@pytest.mark.parametrize(("way", "is_killed"), [("await", False), ("run_sync", True)])
def test_a_kernel_that_ends_at_a_question_leaves_nothing_behind(
    kernel_name, way, is_killed
):
    with running_kernel(kernel_name) as manager, front_end_of(manager) as front_end:
        assert front_end.run(SETUP + MORE).status == "ok"
        front_end.run("agent = bot(call('delete', n=1), 'the answer')")
        kernel = psutil.Process(manager.provisioner.pid)
        asking = front_end.start(TOLD[way], has_card=True)
        front_end.follow(lambda: asking.shows("[card]"))
        others = kernel.children(recursive=True)
        manager.shutdown_kernel(now=is_killed)
        gone, alive = psutil.wait_procs([kernel, *others], timeout=10)
        assert (kernel in gone, alive) == (True, [])
