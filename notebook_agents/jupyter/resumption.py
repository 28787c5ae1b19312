"""``%agent resume``: goes on with a run that was cut off, as a cell would show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic_arguments import MagicArgumentParser

from notebook_agents.agent import Agent
from notebook_agents.jupyter.approval import CellApprover
from notebook_agents.jupyter.cell import show_run
from notebook_agents.jupyter.conversation import kept_session, listed
from notebook_agents.jupyter.finding import AgentFinder
from notebook_agents.jupyter.formats import AnswerFormat
from notebook_agents.jupyter.look import Look
from notebook_agents.jupyter.variables import NotebookVariables
from notebook_agents.memory.journal import UnfinishedRun
from notebook_agents.memory.store import MemoryBackend
from notebook_agents.results import AgentResult
from notebook_agents.run import Run
from notebook_agents.taking_over import cut_off_runs, unfinished_runs

__all__ = ["Resumption"]

_ARGUMENTS = MagicArgumentParser("%agent resume", add_help=False)
_ARGUMENTS.add_argument("words", nargs="*")
_ARGUMENTS.add_argument("-S", "--session")
_ARGUMENTS.add_argument("--force", action="store_true")

_SHORTEST_ID = 4  # characters that must be given of an identifier


@dataclass(frozen=True, slots=True)
class Resumption:
    """A run that is about to go on.

    Parameters
    ----------
    agent : Agent
        Who goes on.
    memory : MemoryBackend
        The conversation.
    run : UnfinishedRun
        What was cut off.
    session : str or None
        What the conversation is called.
    force : bool
        Whether to take the run from a process that seems to be at work.
    namespace : mapping
        The variables of the notebook.
    """

    agent: Agent
    memory: MemoryBackend
    run: UnfinishedRun
    session: str | None
    force: bool
    namespace: NotebookVariables

    @classmethod
    def of(cls, words: Sequence[str], *, shell: Any, agents: AgentFinder) -> Resumption:
        """Read a line.

        Parameters
        ----------
        words : sequence of str
            What follows ``%agent resume``.
        shell : InteractiveShell
            Whose variables calls may name.
        agents : AgentFinder
            The agents of the notebook.

        Returns
        -------
        Resumption
            What it means.

        Raises
        ------
        UsageError
            If there is nothing to go on with, or it is not clear with what.
        """
        args = _ARGUMENTS.parse_args(list(words))
        named = args.session is not None
        session = kept_session(args.session) if named else None
        names = list(args.words)
        agent_name = names.pop(0) if names and agents.peek(names[0]) else None
        if len(names) > 1:
            message = f"%agent resume takes [AGENT] [ID] [-S NAME], not {names[1]!r}."
            raise UsageError(message)
        agent = agents.find(agent_name)
        memory = agent.memory if session is None else session
        run = _chosen(memory, names, force=args.force)
        variables = NotebookVariables(shell)
        return cls(agent, memory, run, args.session, args.force, variables)

    async def go_on(self, approver: CellApprover) -> AgentResult[Any]:
        """Go on, and show what happens.

        Parameters
        ----------
        approver : CellApprover
            Asks in the same cell.

        Returns
        -------
        AgentResult
            The outcome of the whole run.
        """

        async def begin() -> Run[Any]:
            return await self.agent.start_resumed(
                self.run["run_id"],
                force=self.force,
                memory=self.memory,
                approver=approver,
                namespace=self.namespace,
            )

        answer = await show_run(
            begin,
            asked=self.agent,
            owner=self.agent,
            approver=approver,
            look=Look(),
            form=AnswerFormat(name="markdown"),
            note=", ".join(filter(None, (self._session, "resumed"))),
        )
        return answer.result

    @property
    def _session(self) -> str:
        return f"session {self.session}" if self.session else ""


def _chosen(memory: MemoryBackend, names: list[str], *, force: bool) -> UnfinishedRun:
    unfinished = unfinished_runs(memory)
    runs = unfinished if force else cut_off_runs(memory)
    found = runs
    if names:
        name = names[0] if len(names[0]) >= _SHORTEST_ID else None
        found = [run for run in runs if name and run["run_id"].startswith(name)]
    if len(found) == 1:
        return found[0]
    if runs:
        message = (
            f"Runs that were cut off; {_how_to_name(names, found)}:\n{listed(runs)}"
        )
    elif unfinished:
        message = (
            "The unfinished run of this conversation seems to go on in another "
            "process. If that process is not at work on it any more, add --force:\n"
            f"{listed(unfinished)}"
        )
    else:
        message = (
            "No run of this conversation was cut off. Only conversations that are "
            "kept can have one: %%agent -S NAME, or an agent with such a memory."
        )
    raise UsageError(message)


def _how_to_name(names: list[str], found: Sequence[UnfinishedRun]) -> str:
    if not names:
        return "name one by its identifier"
    if len(names[0]) < _SHORTEST_ID:
        return f"give {_SHORTEST_ID} characters of an identifier, or more"
    return f"{names[0]!r} is {'the beginning of several' if found else 'none of them'}"
