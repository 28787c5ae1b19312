"""`RunJournal`: what one run writes down, so that another process can go on.

Written before the run goes on: the reply of the model before its calls begin, a
call before its tool runs, a result before anybody reads it. So what has begun
is never run again, and what has a result keeps it.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from notebook_agents.errors import AgentConfigurationError, NotebookAgentsError
from notebook_agents.identifiers import new_id
from notebook_agents.memory.journal import Journal, Record, UnfinishedRun
from notebook_agents.memory.listing import now_ms
from notebook_agents.memory.scope import MemoryScope
from notebook_agents.memory.session import MemoryBackend, MemorySession
from notebook_agents.messages import ToolCall
from notebook_agents.past_run import PastStep, read_past
from notebook_agents.processes import is_running, this_process
from notebook_agents.providers.base import ModelReply
from notebook_agents.question import Question, Said

__all__ = [
    "OpenedRun",
    "Prompt",
    "Resumed",
    "RunJournal",
    "cut_off_runs",
    "going_on",
    "open_run",
    "take_over",
    "unfinished_runs",
]

_here: set[str] = set()
"""Runs that go on in this process."""
_taking = threading.Lock()


class RunJournal:
    """The journal of one run; nothing is written before its first tool call.

    Parameters
    ----------
    journal : Journal
        Where it is kept.
    scope : MemoryScope
        The conversation of the run.
    run : UnfinishedRun
        What is known of it.
    settings : mapping
        What it was begun with, as JSON values.
    turn : str
        Key of the turn that it writes.
    has_begun : bool, default False
        Whether it is there already, and is gone on with.
    """

    def __init__(
        self,
        journal: Journal,
        scope: MemoryScope,
        run: UnfinishedRun,
        *,
        settings: Mapping[str, Any],
        turn: str,
        has_begun: bool = False,
    ) -> None:
        self._journal = journal
        self._scope = scope
        self._run = run
        self._begun: dict[str, Any] = {
            "kind": "begun",
            "settings": dict(settings),
            "turn": turn,
        }
        self._has_begun = has_begun
        self.is_lost = False
        """Whether it cannot be written any more: the run may be somebody else's."""

    def asked(self, question: Question) -> None:
        """Say what the run was asked, where that is not what it was opened with."""
        self._run = {**self._run, "prompt": question.text}
        self._begun["parts"] = [*question.parts]

    async def replied(self, reply: ModelReply, calls: Sequence[ToolCall]) -> None:
        """Write down a reply, before its calls begin.

        Parameters
        ----------
        reply : ModelReply
            What the model said.
        calls : sequence of ToolCall
            Its calls, each with an identifier of its own.
        """
        said = asdict(replace(reply, tool_calls=(), replay=None))
        del said["replay"]  # only this process could read it
        record = {
            "kind": "reply",
            "reply": said,
            "calls": [call.to_dict() for call in calls],
        }
        if self._has_begun:
            await self._write(record)
        else:
            await self._begin(record)

    async def began(self, call_id: str) -> None:
        """Write down that a tool is about to run: it never will again."""
        await self._write({"kind": "began", "call_id": call_id})

    async def ended(
        self, call_id: str, content: str, *, status: str, seconds: float
    ) -> None:
        """Write down the result of a call."""
        result = {"content": content, "status": status, "seconds": seconds}
        await self._write({"kind": "ended", "call_id": call_id, **result})

    async def close(self) -> None:
        """Forget the run: its turn has been stored, or is worth nothing."""
        if self._has_begun:
            run_id, owner = self._run["run_id"], self._run["owner"]
            _here.discard(run_id)
            await asyncio.to_thread(self._journal.forget, run_id, owner)

    async def _begin(self, first: Record) -> None:
        run_id = self._run["run_id"]
        records = [self._begun, first]

        def begin() -> None:
            self._journal.begin(self._scope, self._run)
            self._journal.write(run_id, self._run["owner"], records)

        _here.add(run_id)
        self._has_begun = True
        await asyncio.to_thread(begin)

    async def _write(self, record: Record) -> None:
        run = self._run
        try:
            await asyncio.to_thread(
                self._journal.write, run["run_id"], run["owner"], [record]
            )
        except NotebookAgentsError:
            self.is_lost = True
            raise


@dataclass(frozen=True, slots=True)
class Resumed:
    """An unfinished run that is this process's now; taken where a message is.

    Parameters
    ----------
    journal : Journal
        Where it is kept.
    run : UnfinishedRun
        What is known of it.
    settings : mapping
        What it was begun with, as JSON values.
    turn : str
        Key of the turn that it writes.
    parts : sequence of mapping
        The images and files of its question, and its text among them.
    steps : sequence of PastStep
        Its replies, oldest first; the last may have calls without results.
    """

    journal: Journal
    run: UnfinishedRun
    settings: Mapping[str, Any]
    turn: str
    parts: Sequence[Mapping[str, Any]]
    steps: Sequence[PastStep]


Prompt = Said | Resumed


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedRun:
    """A run that is about to begin, or to go on."""

    run_id: str
    asked: Question
    memory: MemoryBackend
    journal: RunJournal | None = None
    steps: Sequence[PastStep] = ()


def open_run(
    message: Prompt, memory: MemoryBackend, *, agent: str, settings: Mapping[str, Any]
) -> OpenedRun:
    """Get a run ready: its identifier, its journal, and what it had done before.

    Parameters
    ----------
    message : str, parts or Resumed
        What is asked, or what is gone on with.
    memory : MemoryBackend
        Its conversation.
    agent : str
        Name of the agent.
    settings : mapping
        What it is begun with.

    Returns
    -------
    OpenedRun
        Without a journal where the conversation does not outlive the process.
    """
    if isinstance(message, Resumed):
        run, kept, steps = message.run, message.settings, message.steps
        asked = Question(run["prompt"], message.parts)
        journal: Journal | None = message.journal
        turn = message.turn
    else:
        asked = Question.of(message)
        run, kept, steps = _new_entry(agent, asked.text), settings, ()
        journal, turn = journal_of(memory), run["run_id"]
    run_id = run["run_id"]
    if journal is None or not isinstance(memory, MemorySession):
        return OpenedRun(run_id=run_id, asked=asked, memory=memory)
    if memory.turn_key is None:
        # Should the process be killed between storing the turn and forgetting
        # the run, the turn is stored again, in its place.
        memory = memory.turn(turn)
    has_begun = isinstance(message, Resumed)
    return OpenedRun(
        run_id=run_id,
        asked=asked,
        memory=memory,
        journal=RunJournal(
            journal,
            memory.scope,
            run,
            settings=kept,
            turn=memory.turn_key or turn,
            has_begun=has_begun,
        ),
        steps=steps,
    )


def journal_of(memory: object) -> Journal | None:
    """Give the journal of a conversation, if its store keeps one."""
    return memory.store.journal() if isinstance(memory, MemorySession) else None


def unfinished_runs(memory: object) -> list[UnfinishedRun]:
    """List the unfinished runs of a conversation, the oldest first."""
    journal = journal_of(memory)
    if journal is None or not isinstance(memory, MemorySession):
        return []
    return journal.unfinished(memory.scope)


def cut_off_runs(memory: object) -> list[UnfinishedRun]:
    """List those of the unfinished runs that nobody goes on with, the oldest first."""
    return [run for run in unfinished_runs(memory) if not _goes_on(run)]


def _goes_on(run: UnfinishedRun) -> bool:
    owner = run["owner"]
    return run["run_id"] in _here if owner == this_process() else is_running(owner)


def take_over(memory: object, run_id: str | None, *, force: bool = False) -> Resumed:
    """Take an unfinished run over from the process that ran it.

    Parameters
    ----------
    memory : MemoryBackend
        Its conversation.
    run_id : str or None
        Which one; None is the only one there is.
    force : bool, default False
        Whether to take it even if its process seems to be at work.

    Returns
    -------
    Resumed
        The run, now this process's.

    Raises
    ------
    AgentConfigurationError
        If there is no such run, or it goes on elsewhere.
    """
    journal = journal_of(memory)
    if journal is None or not isinstance(memory, MemorySession):
        message = (
            "Only a run in a conversation that is kept can be resumed: one of "
            "SQLiteStore(...).session(), or of %%agent -S NAME."
        )
        raise AgentConfigurationError(message)
    run = _chosen(journal.unfinished(memory.scope), run_id)
    _check_owner(run, force=force)
    number, owner = run["run_id"], this_process()
    if not journal.claim(number, owner=owner, instead_of=run["owner"]):
        message = f"The run {number} has just been resumed elsewhere."
        raise AgentConfigurationError(message)
    begun, steps = read_past(number, journal.read(number))
    return Resumed(
        journal,
        {**run, "owner": owner},
        begun["settings"],
        begun["turn"] or number,
        begun["parts"],
        steps,
    )


@contextlib.contextmanager
def going_on(resumed: Resumed) -> Iterator[None]:
    """Keep a run that was taken over from everybody else in this process.

    Parameters
    ----------
    resumed : Resumed
        The run; two who take it over at once may both have it.

    Yields
    ------
    None
        As long as it goes on.

    Raises
    ------
    AgentConfigurationError
        If somebody else goes on with it.
    """
    number = resumed.run["run_id"]
    with _taking:
        _check_here(number)
        _here.add(number)
    try:
        yield
    finally:
        _here.discard(number)


def _check_here(number: str) -> None:
    if number in _here:
        message = f"The run {number} still goes on."
        raise AgentConfigurationError(message)


def _check_owner(run: UnfinishedRun, *, force: bool) -> None:
    number, owner = run["run_id"], run["owner"]
    if owner == this_process():
        _check_here(number)
    elif is_running(owner) and not force:
        message = (
            f"The run {number} still goes on in {owner.partition('@')[0]}. If that "
            "process is gone, or must not go on with it, pass force=True."
        )
        raise AgentConfigurationError(message)


def _new_entry(agent: str, prompt: str) -> UnfinishedRun:
    return {
        "run_id": new_id(),
        "agent": agent,
        "prompt": prompt,
        "began_at": now_ms(),
        "owner": this_process(),
    }


def _chosen(runs: Sequence[UnfinishedRun], run_id: str | None) -> UnfinishedRun:
    found = [run for run in runs if run_id in {None, run["run_id"]}]
    if len(found) == 1:
        return found[0]
    known = ", ".join(run["run_id"] for run in runs) or "none"
    what = "one of them by its identifier" if run_id is None else "another one"
    message = f"Unfinished runs of this conversation: {known}."
    if runs:
        message += f" Name {what}."
    raise AgentConfigurationError(message)
