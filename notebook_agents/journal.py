"""`RunJournal`: what one run writes down, so that another process can go on.

Written before the run goes on: the reply of the model before its calls begin, a
call before its tool runs, a result before anybody reads it. So what has begun
is never run again, and what has a result keeps it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from notebook_agents.errors import MemoryStoreError, NotebookAgentsError
from notebook_agents.identifiers import new_id
from notebook_agents.memory.journal import Journal, Record, UnfinishedRun
from notebook_agents.memory.listing import now_ms
from notebook_agents.memory.scope import MemoryScope
from notebook_agents.memory.session import MemoryBackend, MemorySession
from notebook_agents.messages import ToolCall
from notebook_agents.past_run import PastStep
from notebook_agents.processes import this_process
from notebook_agents.providers.base import ModelReply
from notebook_agents.question import Question, Said

__all__ = [
    "OpenedRun",
    "Prompt",
    "Resumed",
    "RunJournal",
    "journal_of",
    "open_run",
    "runs_here",
    "stopped_here",
]

logger = logging.getLogger(__name__)

runs_here: set[str] = set()
"""Runs that go on in this process, or whose turn is being stored."""
stopped_here: set[str] = set()
"""Those that somebody ended, as long as that may not be in the journal."""


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
        self._beginning: asyncio.Task[None] | None = None
        self._owed: list[Record] = []
        """Results that could not be written yet."""
        self.is_lost = False
        """Whether the run is somebody else's by now, or nobody's."""

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
        """Write down the result of a call, now or with what is written next."""
        result = {"content": content, "status": status, "seconds": seconds}
        record = {"kind": "ended", "call_id": call_id, **result}
        try:
            await self._write(record)
        except NotebookAgentsError as error:
            if self.is_lost:
                raise
            # The tool has run: a store that fails for a while must not end the run.
            # Killed by now, it leaves a call of which nobody knows the effect.
            logger.warning("a result is not in the journal yet: %s", error)
            self._owed.append(record)

    async def stopped(self) -> None:
        """Write down that somebody ended the run: what had not begun never will."""
        stopped_here.add(self._run["run_id"])
        if await self._is_there():
            await self._write({"kind": "stopped"})
        stopped_here.discard(self._run["run_id"])

    async def close(self) -> None:
        """Forget the run: its turn has been stored, or is worth nothing."""
        if await self._is_there():
            run_id, owner = self._run["run_id"], self._run["owner"]
            await asyncio.to_thread(self._journal.forget, run_id, owner)
            stopped_here.discard(run_id)

    def leave(self) -> None:
        """Let others go on with the run, if it could not be closed."""
        runs_here.discard(self._run["run_id"])

    async def _begin(self, first: Record) -> None:
        records = [self._begun, first]

        def begin() -> None:
            # All in one: a run without its settings would be resumed as another.
            self._journal.begin(self._scope, self._run, records)
            self._has_begun = True

        runs_here.add(self._run["run_id"])
        self._beginning = asyncio.create_task(asyncio.to_thread(begin))
        # A thread goes on when this is stopped, so its end must be known later.
        await asyncio.shield(self._beginning)

    async def _is_there(self) -> bool:
        if self._beginning is not None:
            with contextlib.suppress(NotebookAgentsError):
                await self._beginning
        return self._has_begun

    async def _write(self, record: Record) -> None:
        owed = list(self._owed)
        await asyncio.to_thread(self._add, [*owed, record])
        self._owed = [each for each in self._owed if each not in owed]

    def _add(self, records: Sequence[Record]) -> None:
        run_id, owner = self._run["run_id"], self._run["owner"]
        if not self._journal.write(run_id, owner, records):
            self.is_lost = True
            message = (
                f"The run {run_id} ends here: it was resumed in another process, or "
                "its conversation was forgotten meanwhile."
            )
            raise MemoryStoreError(message)


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


def _new_entry(agent: str, prompt: str) -> UnfinishedRun:
    return {
        "run_id": new_id(),
        "agent": agent,
        "prompt": prompt,
        "began_at": now_ms(),
        "owner": this_process(),
    }
