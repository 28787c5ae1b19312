"""What is written down for another process to go on with has passed the guards."""

from __future__ import annotations

import asyncio

import pytest

from notebook_agents import Agent, Guard, ScriptedProvider, SQLiteStore, call
from notebook_agents import journal as journal_module
from tests.guardrails.support import SECRET, hide, refuse


@pytest.fixture
def memory(tmp_path):
    with SQLiteStore(tmp_path / "chats.sqlite") as store:
        yield store.session()


class Stuck:
    """A run that stands still where the process could be killed."""

    def __init__(self, monkeypatch, step):
        self.reached = asyncio.Event()

        async def stand_still(*_, **__):
            self.reached.set()
            await asyncio.Event().wait()

        monkeypatch.setattr(journal_module.RunJournal, step, stand_still)
        self._monkeypatch = monkeypatch

    def forget(self):
        """Leave the run behind as if its process were gone."""
        self._monkeypatch.undo()
        journal_module.runs_here.clear()


def agent_of(script, tools, memory, **guards):
    return Agent(ScriptedProvider(script), tools, memory=memory, **guards)


def look(name: str = "all") -> str:
    """Look up."""
    return f"{name} is {SECRET}"


async def test_nothing_that_was_taken_out_is_in_the_file(memory, tmp_path, monkeypatch):
    guards = {"input_guards": hide, "output_guards": hide, "tool_guards": hide}
    said = {"reasoning": SECRET, "text": f"I look for {SECRET}"}
    script = [{**said, "tool_calls": [call("look", name=SECRET)]}]
    stuck = Stuck(monkeypatch, "ended")
    run = agent_of(script, [look], memory, **guards).start(f"What is {SECRET}?")
    await asyncio.wait_for(stuck.reached.wait(), 5)
    kept = b"".join(path.read_bytes() for path in tmp_path.glob("chats.sqlite*"))
    assert b"I look for [hidden]" in kept
    assert b"What is [hidden]?" in kept
    for secret in (b"hunter2", b"swordfish"):
        assert secret not in kept
    run.cancel()
    await run.ended()


async def test_a_run_that_is_gone_on_with_has_passed_the_guards_already(
    memory, monkeypatch
):
    def number(text: str) -> str:
        return f"{text} (checked)"

    guards = {"input_guards": number, "tool_guards": Guard(number, scope="input")}
    stuck = Stuck(monkeypatch, "began")
    first = agent_of([call("look", name="a")], [look], memory, **guards)
    run = first.start("What?")
    await asyncio.wait_for(stuck.reached.wait(), 5)
    stuck.forget()
    second = agent_of(["It is known."], [look], memory, **guards)
    result = await second.resume()
    assert result.messages[0]["content"] == "What? (checked)"
    assert result.tool_calls[0]["args"] == {"name": "a (checked)"}
    run.cancel()
    await run.ended()


async def test_a_call_that_was_blocked_is_not_run_by_another_process(
    memory, monkeypatch
):
    ran = []

    def wipe(what: str = "everything") -> str:
        """Wipe."""
        ran.append(what)
        return "wiped"

    stuck = Stuck(monkeypatch, "ended")
    script = [call("wipe", what=SECRET)]
    run = agent_of(script, [wipe], memory, tool_guards=refuse).start("go")
    await asyncio.wait_for(stuck.reached.wait(), 5)
    stuck.forget()
    second = agent_of(["Well."], [wipe], memory, tool_guards=refuse)
    result = await second.resume()
    assert ran == []
    assert result.tool_calls[0]["failed"]
    run.cancel()
    await run.ended()
