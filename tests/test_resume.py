"""A run whose process was killed goes on in another one, and does nothing twice."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from notebook_agents import (
    Agent,
    AgentResult,
    Allow,
    Budget,
    Deny,
    ScriptedProvider,
    SQLiteStore,
    call,
    taking_over,
    tool,
)
from notebook_agents.calls import CUT_OFF
from notebook_agents.errors import (
    AgentConfigurationError,
    AgentProviderError,
    MemoryStoreError,
    RunCancelledError,
)
from notebook_agents.journal import RunJournal
from notebook_agents.memory.sqlite_journal import SQLiteJournal
from notebook_agents.past_run import STOPPED

KILLED = """
import os, sys, threading
from pathlib import Path
from notebook_agents import Agent, ScriptedProvider, SQLiteStore, call, tool
from notebook_agents.memory.sqlite_journal import SQLiteJournal

done = Path("done.txt")
memory = SQLiteStore("chats.sqlite").session(conversation_id=CONVERSATION)

def note(text):
    with done.open("a") as file:
        file.write(text)

def block(*_):
    Path("here.txt").touch()
    threading.Event().wait(60)
    os._exit(1)

@tool
def first() -> str:
    note("first;")
    return "first is done"

@tool
def second(n: int = 2) -> str:
    note(f"second {n};")
    return f"second is done with {n}"

@tool
def stuck() -> str:
    note("stuck;")
    block()

@tool(approval=True)
def risky(n: int) -> str:
    note(f"risky {n};")

class Asks:
    async def ask(self, pending):
        block()

class Silent(ScriptedProvider):
    asked = 0

    async def respond(self, request):
        self.asked += 1
        if self.asked == 2:
            block()
        async for delta in super().respond(request):
            yield delta
"""
CONVERSATION = "0a0b0c0d-0000-4000-8000-000000000001"
TOOLS = "[first, second, stuck, risky]"


def kill_at(tmp_path: Path, code: str) -> None:
    """Run code in a process, and kill it where it blocks."""
    (tmp_path / "done.txt").touch()
    source = KILLED.replace("CONVERSATION", repr(CONVERSATION))
    process = subprocess.Popen(
        [sys.executable, "-c", source + textwrap.dedent(code)],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    pause = threading.Event()
    for _ in range(600):
        if (tmp_path / "here.txt").exists() or process.poll() is not None:
            break
        pause.wait(0.05)
    assert (tmp_path / "here.txt").exists(), process.communicate()[1]
    process.send_signal(signal.SIGKILL)
    process.communicate()


class Person:
    """Gives the same answer to every question."""

    def __init__(self, decision):
        self.asked = []
        self._decision = decision

    async def ask(self, pending):
        self.asked.append(pending.request.args)
        pending.decide(self._decision, by="person")


@pytest.fixture
def later(tmp_path):
    """Give the agent of a new process, with tools that write down that they ran."""
    ran = []

    @tool
    def first() -> str:
        ran.append("first")
        return "first is done"

    @tool
    def second(n: int = 2) -> str:
        ran.append(f"second {n}")
        return f"second is done with {n}"

    @tool
    def stuck() -> str:
        ran.append("stuck")
        return "never"

    @tool(approval=True)
    def risky(n: int) -> str:
        ran.append(f"risky {n}")
        return f"risky is done with {n}"

    def make(*script, **options):
        store = SQLiteStore(tmp_path / "chats.sqlite")
        stores.append(store)
        agent = Agent(
            ScriptedProvider(script),
            [first, second, stuck, risky],
            memory=store.session(conversation_id=CONVERSATION),
            **options,
        )
        agent.ran = ran
        return agent

    stores = []
    yield make
    for store in stores:
        store.close()


def contents(agent) -> list[str]:
    """Give what the model was told of its calls in the last request."""
    messages = agent._model.get().requests[-1].messages
    return [message.content for message in messages if message.role == "tool"]


async def test_killed_during_a_tool(tmp_path, later):
    kill_at(
        tmp_path,
        f"""
        script = [[call("first"), call("stuck")]]
        agent = Agent(ScriptedProvider(script), {TOOLS}, memory=memory)
        agent.run_sync("Do it")
        """,
    )
    agent = later("All told.")
    (unfinished,) = agent.unfinished()
    assert unfinished["prompt"] == "Do it"
    result = await agent.resume(unfinished["run_id"])
    assert str(result) == "All told."
    assert result.run_id == unfinished["run_id"]
    assert agent.ran == []
    assert contents(agent) == ["first is done", f"Error: {CUT_OFF}"]
    assert sorted((tmp_path / "done.txt").read_text().split(";")) == [
        "",
        "first",
        "stuck",
    ]
    assert agent.unfinished() == []
    assert [each["status"] for each in result.tool_calls] == ["done", "failed"]


async def test_killed_during_an_approval(tmp_path, later):
    kill_at(
        tmp_path,
        f"""
        script = [[call("first"), call("risky", n=1)]]
        agent = Agent(ScriptedProvider(script), {TOOLS}, memory=memory,
                      approver=Asks(), parallel_tools=False)
        agent.run_sync("Do it")
        """,
    )
    person = Person(Allow({"n": 7}))
    agent = later("Fine.", approver=person)
    result = await agent.resume()
    assert person.asked == [{"n": 1}]
    assert agent.ran == ["risky 7"]
    assert contents(agent)[0] == "first is done"
    assert contents(agent)[1].endswith("risky is done with 7")
    assert [message["content"] for message in agent.memory.messages] == [
        "Do it",
        "Fine.",
    ]
    assert len(result.new_messages) == 5


async def test_a_picture_in_the_question_is_there_after_the_restart(tmp_path, later):
    kill_at(
        tmp_path,
        f"""
        picture = {{"type": "image_url", "image_url": {{"url": "data:image/png,x"}}}}
        model = ScriptedProvider([call("risky", n=1)])
        agent = Agent(model, {TOOLS}, memory=memory, approver=Asks())
        agent.run_sync(["Look:", picture])
        """,
    )
    agent = later("Seen.", approver=Person(Allow()))
    assert agent.unfinished()[0]["prompt"] == "Look:"
    await agent.resume()
    asked = agent._model.get().requests[0].messages[0].content
    assert [part["type"] for part in asked] == ["text", "image_url"]
    assert agent.memory.messages[0]["content"] == asked


async def test_a_denial_after_the_restart_runs_nothing(tmp_path, later):
    kill_at(
        tmp_path,
        f"""
        agent = Agent(ScriptedProvider([call("risky", n=1)]), {TOOLS}, memory=memory,
                      approver=Asks())
        agent.run_sync("Do it")
        """,
    )
    agent = later("Left alone.", approver=Person(Deny("no")))
    await agent.resume()
    assert agent.ran == []
    assert contents(agent) == ["Denied: no. The tool was not run."]


async def test_killed_between_two_tools_of_one_step(tmp_path, later):
    kill_at(
        tmp_path,
        f"""
        def on_event(event):
            if event["event"] == "observation":
                block()
        script = [[call("first"), call("second", n=3)]]
        agent = Agent(ScriptedProvider(script), {TOOLS}, memory=memory,
                      on_event=on_event, parallel_tools=False)
        agent.run_sync("Do it")
        """,
    )
    agent = later("Both.", parallel_tools=False)
    await agent.resume()
    assert (tmp_path / "done.txt").read_text() == "first;"
    assert agent.ran == ["second 3"]
    assert contents(agent) == ["first is done", "second is done with 3"]


async def test_killed_between_two_steps(tmp_path, later):
    kill_at(
        tmp_path,
        f"""
        agent = Agent(Silent([call("first")]), {TOOLS}, memory=memory)
        agent.run_sync("Do it", system_prompt="Be brief.", max_tool_rounds=5)
        """,
    )
    script = [call("second", n=n) for n in range(4)]
    agent = later(*script, "Both.")
    result = await agent.resume()
    assert str(result) == "Both."  # with the five rounds that the run had
    assert agent.ran == ["second 0", "second 1", "second 2", "second 3"]
    assert contents(agent)[0] == "first is done"
    assert agent._model.get().requests[0].messages[0].content == "Be brief."
    kinds = [event.event for event in result.events]
    assert kinds[:4] == ["task", "action", "observation", "action"]
    assert [event.seq for event in result.events] == list(range(1, len(kinds) + 1))


async def test_killed_when_the_turn_was_stored_already(tmp_path, later):
    kill_at(
        tmp_path,
        f"""
        SQLiteJournal.forget = block
        agent = Agent(ScriptedProvider([call("first"), "Done."]), {TOOLS},
                      memory=memory)
        agent.run_sync("Do it")
        """,
    )
    agent = later("Done again.")
    assert len(agent.memory.messages) == 2
    await agent.resume()
    assert [message["content"] for message in agent.memory.messages] == [
        "Do it",
        "Done again.",
    ]
    assert agent.ran == []


async def test_the_turn_of_a_cell_is_written_where_the_cell_writes_it(tmp_path, later):
    kill_at(
        tmp_path,
        f"""
        agent = Agent(Silent([call("first")]), {TOOLS})
        agent.run_sync("Do it", memory=memory.turn("cell-1"))
        """,
    )
    agent = later("Done.", "Done anew.")
    await agent.resume()
    await agent.run("Do it", memory=agent.memory.turn("cell-1"))
    contents = [message["content"] for message in agent.memory.messages]
    assert contents == ["Do it", "Done anew."]


async def test_a_run_that_was_cut_off_twice_goes_on(tmp_path, later):
    kill_at(
        tmp_path,
        f"""
        agent = Agent(Silent([call("first")]), {TOOLS}, memory=memory)
        agent.run_sync("Do it")
        """,
    )
    (tmp_path / "here.txt").unlink()
    kill_at(
        tmp_path,
        f"""
        import asyncio
        agent = Agent(Silent([call("second", n=5)]), {TOOLS}, memory=memory)
        asyncio.run(agent.resume())
        """,
    )
    assert (tmp_path / "done.txt").read_text() == "first;second 5;"
    agent = later("Both.")
    await agent.resume()
    assert agent.ran == []
    assert contents(agent) == ["first is done", "second is done with 5"]


@pytest.mark.parametrize("reason", ["length", "budget"])
async def test_killed_after_a_reply_that_was_cut_off_it_goes_on(
    reason, tmp_path, later
):
    kill_at(
        tmp_path,
        f"""
        SQLiteJournal.write = block  # where the result of the call would be written
        script = [{{"tool_calls": [call("first")], "stop_reason": "{reason}"}}]
        agent = Agent(ScriptedProvider(script), {TOOLS}, memory=memory)
        agent.run_sync("Do it")
        """,
    )
    agent = later("Shorter.")
    assert str(await agent.resume()) == "Shorter."
    assert agent.ran == []
    assert contents(agent)[0].startswith("Error: The reply was cut off at the token")
    assert agent.unfinished() == []


# ------------------------------------------------------------ what it may spend


async def test_what_was_spent_before_the_kill_counts_against_the_budget(
    tmp_path, later
):
    kill_at(
        tmp_path,
        f"""
        usage = {{"prompt": 900, "completion": 50}}
        script = [{{"tool_calls": [call("first")], "usage": usage}}]
        agent = Agent(Silent(script), {TOOLS}, memory=memory)
        agent.run_sync("Do it")
        """,
    )
    agent = later("never", budget=Budget(tokens=1000))
    result = await agent.resume()
    assert str(result).startswith("The budget is used up: 950 of 1,000 tokens;")
    assert agent._model.get().requests == []
    assert [each["content"] for each in result.tool_calls] == ["first is done"]


async def test_where_the_price_is_not_known_any_more_what_was_done_is_kept(
    tmp_path, later, monkeypatch
):
    kill_at(
        tmp_path,
        f"""
        agent = Agent(Silent([call("first")]), {TOOLS}, memory=memory)
        agent.run_sync("Do it")
        """,
    )
    url = "https://models.example"
    monkeypatch.setattr(ScriptedProvider, "base_url", url, raising=False)
    agent = later("never", budget=Budget(usd=1))
    with pytest.raises(AgentConfigurationError, match="is not known"):
        await agent.resume()
    assert "first is done" in [each["content"] for each in agent.memory.all_messages]


async def test_calls_that_a_person_had_paid_for_are_kept_and_count(tmp_path, later):
    kill_at(
        tmp_path,
        f"""
        from notebook_agents import Allow, Budget

        class Generous:
            async def ask(self, pending):
                pending.decide(Allow(), by="person")

        script = [call("first"), [call("second"), call("stuck")]]
        agent = Agent(ScriptedProvider(script), {TOOLS}, memory=memory,
                      parallel_tools=False, approver=Generous(),
                      budget=Budget(tool_calls=2))
        agent.run_sync("Do it")
        """,
    )
    agent = later(call("second"), "never", budget=Budget(tool_calls=2))
    result = await agent.resume()
    assert str(result) == "The budget is used up: 3 of 2 tool calls."
    assert agent.ran == []
    assert contents(agent) == [
        "first is done",
        "second is done with 2",
        f"Error: {CUT_OFF}",
    ]


async def test_calls_of_which_none_had_begun_must_fit_the_budget(tmp_path, later):
    kill_at(
        tmp_path,
        f"""
        script = [[call("risky", n=1), call("risky", n=2)]]
        agent = Agent(ScriptedProvider(script), {TOOLS}, memory=memory,
                      approver=Asks())
        agent.run_sync("Do it")
        """,
    )
    agent = later("never", budget=Budget(tool_calls=1))
    result = await agent.resume(policy="allow")
    assert result.stop_reason == "budget"
    assert agent.ran == []


# ------------------------------------------------------------ who may, and when


def asking(tmp_path, *, ask, ran=None):
    """Give an agent that asks in a conversation that is kept."""

    class Asks:
        async def ask(self, pending):
            await ask(pending)

    @tool(approval=True)
    def risky() -> str:
        if ran is not None:
            ran.append("risky")
        return "done"

    store = SQLiteStore(tmp_path / "chats.sqlite")
    script = [call("risky"), "Fine."]
    return Agent(
        ScriptedProvider(script), [risky], memory=store.session(), approver=Asks()
    )


async def test_a_run_that_goes_on_cannot_be_resumed(tmp_path):
    found = []

    async def ask(pending):
        (run,) = agent.unfinished()
        assert run["run_id"] == pending.request.run_id
        with pytest.raises(AgentConfigurationError, match="still goes on"):
            await agent.resume()
        found.append(run)
        pending.decide(Allow(), by="person")

    agent = asking(tmp_path, ask=ask)
    assert str(await agent.run("Go")) == "Fine."
    assert len(found) == 1
    assert agent.unfinished() == []
    agent.memory.store.close()


async def test_a_run_of_a_living_process_is_taken_over_by_force_only(
    tmp_path, monkeypatch
):
    async def ask(pending):
        monkeypatch.setattr(taking_over, "this_process", lambda: "elsewhere/1@")
        monkeypatch.setattr(taking_over, "runs_here", set())
        with pytest.raises(AgentConfigurationError, match="force=True"):
            await agent.resume()
        agent.asking.approver = Person(Allow())
        assert str(await agent.resume(force=True)) == "Fine."
        monkeypatch.undo()
        pending.decide(Allow(), by="person")

    ran = []
    agent = asking(tmp_path, ask=ask, ran=ran)
    with pytest.raises(MemoryStoreError, match="resumed in another process"):
        await agent.run("Go")
    assert ran == ["risky"]
    assert [message["content"] for message in agent.memory.messages] == ["Go", "Fine."]
    agent.memory.store.close()


def kill_while_asked(tmp_path):
    kill_at(
        tmp_path,
        f"""
        model = ScriptedProvider([call("risky", n=1)])
        Agent(model, {TOOLS}, memory=memory, approver=Asks()).run_sync("Do it")
        """,
    )


async def test_of_many_who_resume_a_run_at_once_one_has_it(tmp_path, later):
    kill_while_asked(tmp_path)
    agents = [later("Done.", approver=Person(Allow())) for _ in range(4)]
    results = await asyncio.gather(
        *(agent.resume() for agent in agents), return_exceptions=True
    )
    assert agents[0].ran == ["risky 1"]
    assert [str(result) for result in results].count("Done.") == 1
    assert {type(result) for result in results} == {
        AgentResult,
        AgentConfigurationError,
    }
    assert agents[0].unfinished() == []


def test_of_many_processes_that_resume_a_run_at_once_one_has_it(tmp_path):
    kill_while_asked(tmp_path)
    code = f"""
        import asyncio
        agent = Agent(ScriptedProvider(["Done."]), {TOOLS}, memory=memory)
        print("ready", flush=True)
        input()
        try:
            print(asyncio.run(agent.resume(policy="allow")))
        except ValueError as error:
            print("not", error)
        """
    source = KILLED.replace("CONVERSATION", repr(CONVERSATION)) + textwrap.dedent(code)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", source],
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    said = [process.communicate(timeout=30)[0] for process in processes]
    assert sum(text.startswith("Done.") for text in said) == 1, said
    assert sum(text.startswith("not ") for text in said) == 2, said
    assert (tmp_path / "done.txt").read_text() == "risky 1;"


async def test_a_run_that_could_not_begin_again_can_be_resumed_later(tmp_path, later):
    kill_while_asked(tmp_path)
    agent = later("Done.", approver=Person(Allow()))
    with pytest.raises(AgentConfigurationError, match="max_tokens"):
        await agent.resume(params={"max_tokens": 0})
    assert str(await agent.resume()) == "Done."
    assert agent.ran == ["risky 1"]


@pytest.mark.parametrize(
    "record",
    [
        "{",
        "[]",
        "null",
        '{"kind": "of a newer version"}',
        '{"kind": "began"}',
        '{"kind": "ended", "call_id": "call_1"}',
        '{"kind": "begun"}',
        '{"kind": "begun", "settings": 3, "turn": "t"}',
        '{"kind": "reply"}',
        '{"kind": "reply", "reply": {}, "calls": []}',
        '{"kind": "reply", "reply": {"new": 1, "usage": {}}, "calls": []}',
        '{"kind": "reply", "reply": {"usage": {}}, "calls": [{"id": 1}]}',
    ],
)
async def test_a_run_whose_record_is_damaged_runs_nothing(record, tmp_path, later):
    kill_while_asked(tmp_path)
    with contextlib.closing(sqlite3.connect(tmp_path / "chats.sqlite")) as file:
        statement = (
            "INSERT INTO run_records (run_id, record) SELECT run_id, ? FROM runs"
        )
        file.execute(statement, (record,))
        file.commit()
    agent = later("never", approver=Person(Allow()))
    with pytest.raises(MemoryStoreError, match=r"damaged.*Nothing was run"):
        await agent.resume()
    assert agent.ran == []


async def test_a_run_of_which_nothing_else_is_written_down_is_not_begun_anew(
    tmp_path, later
):
    """Without its first entry nobody knows what it was sent, or under what key."""
    kill_while_asked(tmp_path)
    with contextlib.closing(sqlite3.connect(tmp_path / "chats.sqlite")) as file:
        file.execute("DELETE FROM run_records")
        file.commit()
    agent = later("never", approver=Person(Allow()))
    with pytest.raises(MemoryStoreError, match=r"damaged.*Nothing was run"):
        await agent.resume()
    assert agent._model.get().requests == []
    agent.forget_run()
    assert agent.unfinished() == []


async def test_a_run_is_opened_together_with_what_it_was_begun_with(tmp_path, later):
    """The process is killed where the run would write next."""
    kill_at(
        tmp_path,
        f"""
        SQLiteJournal.write = block
        picture = {{"type": "image_url", "image_url": {{"url": "data:image/png,x"}}}}
        agent = Agent(ScriptedProvider([call("second", n=5)]), {TOOLS}, memory=memory,
                      input_guards=lambda text: "Seen: " + text)
        agent.run_sync(["Look:", picture], system_prompt="Be terse.",
                       memory=memory.turn("cell-1"))
        """,
    )
    agent = later("Fine.", "Anew.", input_guards=lambda text: "Seen: " + text)
    await agent.resume()
    sent = agent._model.get().requests[0].messages
    assert [message.role for message in sent] == ["system", "user", "assistant", "tool"]
    assert sent[0].content == "Be terse."
    assert [part["type"] for part in sent[1].content] == ["text", "image_url"]
    assert sent[1].content[0]["text"] == "Seen: Look:"
    assert agent.ran == ["second 5"]
    await agent.run("Look", memory=agent.memory.turn("cell-1"))
    assert [message["content"] for message in agent.memory.messages][1:] == ["Anew."]


async def test_a_run_without_tools_leaves_nothing_in_the_journal(tmp_path, monkeypatch):
    monkeypatch.delattr(SQLiteJournal, "begin")
    with SQLiteStore(tmp_path / "chats.sqlite") as store:
        agent = Agent(ScriptedProvider(["Hi."]), memory=store.session())
        assert str(await agent.run("Hello")) == "Hi."


async def test_a_run_that_was_stopped_is_not_unfinished(tmp_path):
    async def ask(pending):
        agent.last_run.cancel()
        await pending.wait()

    agent = asking(tmp_path, ask=ask)
    run = agent.start("Go")
    await run.ended()
    assert agent.unfinished() == []
    agent.memory.store.close()


# ------------------------------------------------- a file that others have locked


class Lock:
    """What another process does that writes for long."""

    def __init__(self, path: Path) -> None:
        self._file = sqlite3.connect(
            path, isolation_level=None, check_same_thread=False
        )

    def take(self) -> None:
        self._file.execute("BEGIN IMMEDIATE")

    def release(self) -> None:
        self._file.execute("ROLLBACK")


@pytest.fixture
def lock(tmp_path, monkeypatch):
    monkeypatch.setattr("notebook_agents.database.BUSY_SECONDS", 0.1)
    path = tmp_path / "chats.sqlite"
    SQLiteStore(path).close()
    lock = Lock(path)
    yield lock
    lock._file.close()


@pytest.fixture
def paying(tmp_path, lock):
    """Give an agent whose tool has run when the file is locked."""
    ran = []

    @tool
    def pay() -> str:
        ran.append("pay")
        lock.take()
        return "paid"

    def make(answer):
        first = ScriptedProvider([call("pay")])

        class Model(ScriptedProvider):
            async def respond(self, request):
                if request.messages[-1].role == "user":
                    replies = first.respond(request)
                else:
                    replies = ScriptedProvider([answer()]).respond(request)
                async for delta in replies:
                    yield delta

        agent = Agent(Model([]), [pay], memory=store.session())
        agent.ran = ran
        return agent

    with SQLiteStore(tmp_path / "chats.sqlite") as store:
        yield make


async def test_a_file_that_is_locked_after_a_tool_ran_costs_nothing(lock, paying):
    def answer():
        lock.release()
        return "Done."

    agent = paying(answer)
    result = await agent.run("Pay")
    assert (result.answer, result.errors) == ("Done.", [])
    contents = [message["content"] for message in agent.memory.all_messages]
    assert contents == ["Pay", "", "paid", "Done."]
    assert agent.unfinished() == []


async def test_a_model_that_fails_then_leaves_what_was_paid_for(lock, paying):
    def answer():
        lock.release()
        return AgentProviderError("down")

    agent = paying(answer)
    with pytest.raises(AgentProviderError):
        await agent.run("Pay")
    assert "paid" in [message["content"] for message in agent.memory.all_messages]
    assert agent.unfinished() == []


async def test_a_turn_that_a_locked_file_did_not_take_can_be_resumed(lock, paying):
    agent = paying(lambda: "Done.")
    result = await agent.run("Pay")
    assert result.answer == "Done."
    assert "could not be stored" in result.errors[0]
    lock.release()
    assert agent.memory.all_messages == []
    assert [run["prompt"] for run in agent.unfinished()] == ["Pay"]
    resumed = await agent.resume()
    assert agent.ran == ["pay"]
    assert resumed.tool_calls[0]["content"] == f"Error: {CUT_OFF}"
    assert agent.unfinished() == []


async def test_a_run_that_stays_in_the_journal_is_not_said_to_be_lost(
    tmp_path, monkeypatch
):
    def pay() -> str:
        return "paid"

    def forget(self, run_id, owner):
        message = "locked for 10 s"
        raise MemoryStoreError(message)

    script = ScriptedProvider([call("pay"), "Done."])
    memory = SQLiteStore(tmp_path / "runs.sqlite").session()
    agent = Agent(script, [pay], memory=memory)
    with monkeypatch.context() as patched:
        patched.setattr(SQLiteJournal, "forget", forget)
        result = await agent.run("Pay")
    assert agent.memory.messages[-1]["content"] == "Done."
    [error] = result.errors
    assert error == (
        "The run is over, but the journal still has it: locked for 10 s. "
        f"agent.forget_run({result.run_id!r}) drops it."
    )
    assert [run["run_id"] for run in agent.unfinished()] == [result.run_id]
    agent.forget_run(result.run_id)
    assert agent.unfinished() == []


async def test_a_result_that_had_to_wait_is_written_with_what_comes_next(
    lock, paying, monkeypatch
):
    def look() -> str:
        return "seen"

    def fail(_, path, *__):
        raise MemoryStoreError(path)

    def answer():
        if not agent.ran:
            return "Done."
        agent.ran.clear()
        lock.release()
        return call("look")

    agent = paying(answer)
    agent.add_tool(look)
    with monkeypatch.context() as patched:
        patched.setattr(SQLiteStore, "replace_turn", fail)
        assert (await agent.run("Pay")).errors
    resumed = await agent.resume()
    assert [each["content"] for each in resumed.tool_calls] == ["paid", "seen"]


async def test_stopped_while_its_result_is_written_a_call_has_that_result(
    tmp_path, monkeypatch
):
    reached = asyncio.Event()

    written = []

    async def third_stands_still(_, call_id, *__, **___):
        written.append(call_id)
        if len(written) == 3:
            reached.set()
            await asyncio.Event().wait()

    async def stand_still(event):  # so the next observations wait to be told
        if event["event"] == "observation":
            await asyncio.Event().wait()

    monkeypatch.setattr(RunJournal, "ended", third_stands_still)
    with SQLiteStore(tmp_path / "chats.sqlite") as store:
        agent = Agent(
            ScriptedProvider([[call("pay"), call("pay"), call("pay")]]),
            [tool(name="pay")(lambda: "paid")],
            memory=store.session(),
            on_event=stand_still,
        )
        run = agent.start("Pay")
        await asyncio.wait_for(reached.wait(), 5)
        run.cancel()
        with pytest.raises(RunCancelledError) as caught:
            await run.result()
        events = caught.value.result.events
        seen = [event for event in events if event.event == "observation"]
        assert [(each.content, each.status) for each in seen] == [("paid", "done")] * 3
        assert [event.seq for event in events] == sorted(e.seq for e in events)
        said = [message["content"] for message in agent.memory.all_messages]
        assert said[2:-1] == ["paid"] * 3


async def test_a_run_that_is_stopped_while_the_file_is_locked_is_stored_later(
    tmp_path, monkeypatch, wait_until
):
    monkeypatch.setattr("notebook_agents.run.KEEP_STOPPED_SECONDS", 0.05)
    begun = asyncio.Event()

    @tool
    async def pay() -> str:
        begun.set()
        await asyncio.Event().wait()

    with SQLiteStore(tmp_path / "chats.sqlite") as store:
        model = ScriptedProvider([call("pay"), "Never."])
        memory = store.session()
        memory.title = "Bills"  # which takes a step of its own to store
        agent = Agent(model, [pay], memory=memory)
        run = agent.start("Pay")
        await asyncio.wait_for(begun.wait(), 5)
        lock = Lock(tmp_path / "chats.sqlite")
        lock.take()
        run.cancel()
        with pytest.raises(RunCancelledError):
            await run.result()
        lock.release()
        lock._file.close()
        await asyncio.to_thread(wait_until, lambda: not agent.unfinished())
        assert agent.memory.messages[0]["content"] == "Pay"


@pytest.mark.parametrize("failing", ["replace_turn", "everything"])
async def test_what_was_stopped_is_not_run_by_who_resumes(
    failing, tmp_path, monkeypatch
):
    async def ask(pending):
        agent.last_run.cancel()
        await pending.wait()

    def fail(_, path, *__):
        raise MemoryStoreError(path)

    ran = []
    agent = asking(tmp_path, ask=ask, ran=ran)
    with monkeypatch.context() as patched:
        patched.setattr(SQLiteStore, "replace_turn", fail)
        if failing == "everything":
            replied = RunJournal.replied

            async def then_nothing(*written):
                await replied(*written)
                patched.setattr(SQLiteJournal, "write", fail)

            patched.setattr(RunJournal, "replied", then_nothing)
        await agent.start("Go").ended()
    agent.asking.approver = person = Person(Allow())
    result = await agent.resume()
    assert (ran, person.asked) == ([], [])
    assert result.answer == "Fine."
    assert contents(agent) == [STOPPED]
    agent.memory.store.close()


async def test_a_run_that_nobody_wants_is_dropped(tmp_path, later):
    kill_while_asked(tmp_path)
    agent = later("never")
    agent.forget_run()
    assert agent.unfinished() == []
    assert agent.memory.messages == []
    with pytest.raises(AgentConfigurationError, match="none"):
        agent.forget_run()


async def test_a_run_that_goes_on_is_not_dropped(tmp_path):
    async def ask(pending):
        with pytest.raises(AgentConfigurationError, match="still goes on"):
            agent.forget_run()
        pending.decide(Allow(), by="person")

    agent = asking(tmp_path, ask=ask)
    assert str(await agent.run("Go")) == "Fine."
    agent.memory.store.close()


# ------------------------------------------------------------------ what is refused


async def test_a_run_whose_conversation_is_forgotten_runs_no_more_tools(tmp_path):
    async def ask(pending):
        agent.memory.reset()
        pending.decide(Allow(), by="person")

    ran = []
    agent = asking(tmp_path, ask=ask, ran=ran)
    with pytest.raises(MemoryStoreError, match="forgotten meanwhile"):
        await agent.run("Go")
    assert ran == []
    assert agent.unfinished() == []
    agent.memory.store.close()


async def test_a_run_that_is_not_there_names_those_that_are(later):
    agent = later("x")
    with pytest.raises(AgentConfigurationError, match=r"Unfinished runs .*: none"):
        await agent.resume()


async def test_a_conversation_in_memory_cannot_be_resumed():
    agent = Agent(ScriptedProvider(["x"]))
    assert agent.unfinished() == []
    with pytest.raises(AgentConfigurationError, match="SQLiteStore"):
        await agent.resume("r1")
