"""Sync code gets its result from async code, wherever it runs."""

from __future__ import annotations

import _thread
import asyncio
import contextvars
import os
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from notebook_agents import Agent, ScriptedProvider, call, tool
from notebook_agents.sync import (
    Call,
    Waiter,
    agent_loop,
    current_waiter,
    on_agent_loop,
    run_sync,
)


def hello():
    return Agent(ScriptedProvider(["hello"]))


def python(code: str) -> str:
    """Run a program of its own, for at most ten seconds, and give its output."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=10,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout


# ------------------------------------------------------------ from anywhere


def test_run_sync_works_in_plain_code_any_number_of_times():
    assert [hello().run_sync("hi").answer for _ in range(3)] == ["hello"] * 3


async def test_run_sync_works_inside_a_running_loop():
    assert hello().run_sync("hi").answer == "hello"


def test_run_sync_works_in_many_threads_at_once():
    answers = []

    def ask():
        answers.append(hello().run_sync("hi").answer)

    threads = [threading.Thread(target=ask) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    assert answers == ["hello"] * 20


def test_run_sync_works_inside_a_tool():
    def ask_another() -> str:
        return hello().run_sync("hi").answer

    agent = Agent(ScriptedProvider([call("ask_another"), "done"]), [ask_another])
    assert agent.run_sync("go").tool_calls[0]["content"] == "hello"


def test_run_sync_works_inside_a_tool_that_runs_in_the_cell():
    def ask_another() -> str:
        return hello().run_sync("hi").answer

    agent = Agent(ScriptedProvider([call("ask_another"), "done"]), [ask_another])
    result = Call(agent.run("go"), Waiter(runs_tools=True)).wait()
    assert result.tool_calls[0]["content"] == "hello"


async def test_run_sync_works_inside_an_async_tool_of_an_awaiting_cell():
    async def ask_another() -> str:
        return hello().run_sync("hi").answer

    agent = Agent(ScriptedProvider([call("ask_another"), "done"]), [ask_another])
    result = await Call(agent.run("go"), Waiter(runs_tools=True)).wait_async()
    assert result.tool_calls[0]["content"] == "hello"


def test_waiting_on_the_agent_loop_itself_is_refused_at_once():
    async def ask_another() -> str:
        return hello().run_sync("hi").answer

    agent = Agent(ScriptedProvider([call("ask_another"), "done"]), [ask_another])
    content = agent.run_sync("go").tool_calls[0]["content"]
    assert "RuntimeError: This code already runs on the agent loop" in content
    assert "await agent.run" in content


async def test_an_agent_may_await_another_inside_an_async_tool():
    async def ask_another() -> str:
        return (await hello().run("hi")).answer

    agent = Agent(ScriptedProvider([call("ask_another"), "done"]), [ask_another])
    assert (await agent.run("go")).tool_calls[0]["content"] == "hello"


def test_one_agent_works_on_one_loop_after_the_other():
    agent = Agent(ScriptedProvider(["a", "b", "c"]))
    answers = [agent.run_sync("hi").answer]
    for _ in range(2):
        with asyncio.Runner() as runner:
            answers.append(runner.run(agent.run("hi")).answer)
    assert answers == ["a", "b", "c"]


def test_what_the_coroutine_raises_is_raised_here():
    async def fail():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_sync(fail())


def test_the_coroutine_sees_the_context_of_the_caller():
    who = contextvars.ContextVar("who")
    who.set("ada")

    async def ask():
        return who.get()

    assert run_sync(ask()) == "ada"


# ------------------------------------------------------------ the loop survives


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt])
def test_a_coroutine_that_exits_does_not_end_the_agent_loop(kind):
    async def leave():
        raise kind

    with pytest.raises(kind):
        run_sync(leave())
    assert hello().run_sync("hi").answer == "hello"


def test_a_coroutine_that_stops_the_agent_loop_does_not_end_it():
    async def stop():
        asyncio.get_running_loop().stop()
        await asyncio.sleep(0)
        return "still here"

    assert run_sync(stop()) == "still here"


def test_an_on_event_that_exits_does_not_end_the_agent_loop():
    def on_event(event):
        raise SystemExit

    with pytest.raises(RuntimeError, match="SystemExit"):
        Agent(ScriptedProvider(["a"]), on_event=on_event).run_sync("hi")
    assert hello().run_sync("hi").answer == "hello"


def test_the_agent_loop_is_one_for_all_threads():
    loops = []
    threads = [
        threading.Thread(target=lambda: loops.append(agent_loop())) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    assert set(loops) == {agent_loop()}


# ------------------------------------------------------------ interrupts


def interrupting(began: threading.Event) -> threading.Thread:
    """Press Ctrl-C once something has begun."""

    def press():
        began.wait(5)
        _thread.interrupt_main()

    thread = threading.Thread(target=press)
    thread.start()
    return thread


def test_an_interrupt_stops_the_run_and_the_next_one_works():
    began, cleaned_up = threading.Event(), []

    async def wait() -> None:
        try:
            began.set()
            await asyncio.Event().wait()
        finally:
            cleaned_up.append(True)

    agent = Agent(ScriptedProvider([call("wait")]), [wait])
    thread = interrupting(began)
    with pytest.raises(KeyboardInterrupt):
        agent.run_sync("go")
    thread.join()
    assert cleaned_up == [True]
    assert agent.last_run.is_done
    assert hello().run_sync("hi").answer == "hello"


def test_an_interrupt_reaches_a_tool_that_runs_in_the_cell():
    began = threading.Event()

    @tool
    def wait() -> None:
        began.set()
        end = time.monotonic() + 5
        while time.monotonic() < end:
            threading.Event().wait(0.01)

    agent = Agent(ScriptedProvider([call("wait")]), [wait])
    thread = interrupting(began)
    with pytest.raises(KeyboardInterrupt):
        Call(agent.run("go"), Waiter(runs_tools=True)).wait()
    thread.join()
    assert agent.last_run.is_done
    assert len(agent.memory.all_messages) == 4


def test_waiting_ends_although_the_coroutine_does_not(monkeypatch):
    monkeypatch.setattr("notebook_agents.sync.CLEANUP_SECONDS", 0.1)
    began, release = threading.Event(), threading.Event()

    async def stubborn():
        began.set()
        while not release.is_set():
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                continue

    thread = interrupting(began)
    with pytest.raises(KeyboardInterrupt):
        run_sync(stubborn())
    thread.join()
    release.set()


# ------------------------------------------------------------ processes


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_run_sync_works_in_a_forked_child():
    code = """
        import os, signal, warnings
        warnings.simplefilter("ignore", DeprecationWarning)  # of fork with threads
        from notebook_agents import Agent, ScriptedProvider
        def ask():
            print(Agent(ScriptedProvider(["hello"])).run_sync("hi"), flush=True)
        ask()
        child = os.fork()
        if child == 0:
            signal.alarm(5)
            ask()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        ask()
    """
    assert python(code) == "hello\n" * 3


def test_a_program_ends_although_a_run_and_a_thread_go_on():
    code = """
        import threading
        from notebook_agents import Agent, ScriptedProvider, call
        began = threading.Event()
        def work() -> None:
            began.set()
            threading.Event().wait()
        Agent(ScriptedProvider([call("work")]), [work]).start("go")
        assert began.wait(5)
        print("end")
    """
    assert python(code) == "end\n"


# ------------------------------------------------------------ calls


def test_a_call_makes_its_waiter_known_to_what_it_runs():
    waiter = Waiter()

    async def ask():
        return current_waiter()

    assert Call(ask(), waiter).wait() is waiter
    assert current_waiter() is None


async def test_a_call_can_be_awaited():
    async def ask():
        return asyncio.get_running_loop()

    assert await Call(ask(), Waiter()).wait_async() is agent_loop()


async def test_what_is_awaited_knows_the_loop_from_its_first_step_on():
    began = threading.Event()

    class Late(Waiter):
        async def wait_async(self, ready):
            await asyncio.to_thread(began.wait, 5)
            await super().wait_async(ready)

    async def ask():
        loop = waiter.loop
        began.set()
        return loop

    waiter = Late()
    assert await Call(ask(), waiter).wait_async() is asyncio.get_running_loop()


async def test_cancelling_the_wait_cancels_the_call_and_lets_it_clean_up():
    began, order = threading.Event(), []

    async def work():
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            order.append("cleaned up")

    call_ = Call(work(), Waiter())
    task = asyncio.create_task(call_.wait_async())
    await asyncio.to_thread(began.wait, 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert order == ["cleaned up"]
    assert call_.is_done


def test_a_function_can_be_called_on_the_agent_loop():
    assert on_agent_loop(asyncio.get_running_loop) is agent_loop()


@pytest.mark.parametrize("kind", [ValueError, SystemExit])
def test_what_a_function_raises_on_the_agent_loop_is_raised_here(kind):
    def fail():
        raise kind

    with pytest.raises(kind):
        on_agent_loop(fail)
