"""``%agent``: one line for what is not a question."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from IPython.core.error import UsageError

from notebook_agents.agent import Agent
from notebook_agents.approval import waiting_approvals
from notebook_agents.jupyter import history, usage
from notebook_agents.jupyter.cell_runs import asked, runs_at_work
from notebook_agents.jupyter.conversation import kept_session, session_names
from notebook_agents.jupyter.elsewhere import APPROVAL_COMMANDS
from notebook_agents.jupyter.finding import AgentFinder
from notebook_agents.jupyter.line import split_words
from notebook_agents.jupyter.rows import whole_frame_of
from notebook_agents.memory.named import list_sessions
from notebook_agents.spelling import did_you_mean

__all__ = ["AgentCommands", "help_text"]

FRAME = "--df"
"""Asks for a DataFrame instead of text."""
SESSION = "-S"
"""Names a conversation that is kept."""
_WITH_FRAME = ("history", "usage")
_WITH_SESSION = ("history", "reset", "resume")
_WITH_AGENT = ("history", "reset", "resume", "stop", "usage", "use")
_WITH_REQUEST = ("approve", "deny", "respond")
_OWN = (
    "help",
    "history",
    "list",
    "reset",
    "resume",
    "sessions",
    "stop",
    "usage",
    "use",
)

Command = Callable[[Sequence[str]], Any]
"""Takes the words behind its name and gives what to print, or a value."""


class AgentCommands:
    """The sub-commands of ``%agent``.

    Parameters
    ----------
    agents : AgentFinder
        The agents of the notebook.
    resume : callable
        Goes on with a run, in the cell that calls it.
    """

    def __init__(self, agents: AgentFinder, *, resume: Command) -> None:
        self._agents = agents
        self._go_on = resume
        self._commands: dict[str, Command] = {
            **APPROVAL_COMMANDS,
            **{name: getattr(self, f"_{name}") for name in _OWN},
        }

    def run(self, line: str) -> Any:
        """Carry out one line.

        Parameters
        ----------
        line : str
            A sub-command and what belongs to it.

        Returns
        -------
        str or pandas.DataFrame
            What to print, or the value of the line.

        Raises
        ------
        UsageError
            If there is no such sub-command.
        """
        words = split_words(line)
        command = self._commands.get(words[0] if words else "help")
        if command is None:
            message = (
                f"%agent has no {words[0]!r}.{did_you_mean(words[0], self._commands)} It has "
                f"{', '.join(self._commands)}. "
                "To ask, write %%agent on the first line of a cell."
            )
            raise UsageError(message)
        return command(words[1:])

    def candidates(self, words: list[str], word: str) -> Iterable[str]:
        """Give what could stand at the end of a line, for the Tab key.

        Parameters
        ----------
        words : list of str
            The words before.
        word : str
            The beginning of the last one.

        Returns
        -------
        iterable of str
            Whole words.
        """
        if not words:
            return self._commands
        command, *rest = words
        if rest and rest[-1] == SESSION and command in _WITH_SESSION:
            return session_names()
        if word.startswith("-"):
            options = {FRAME: _WITH_FRAME, SESSION: _WITH_SESSION}
            return [name for name, having in options.items() if command in having]
        if command in _WITH_AGENT and not set(rest) - {FRAME}:
            return sorted(self._agents.here())
        if command in _WITH_REQUEST and not rest:
            return [pending.request.id for pending in waiting_approvals()]
        return ()

    def _help(self, _: Sequence[str]) -> str:
        """List these."""
        return help_text()

    def _list(self, _: Sequence[str]) -> str:
        """List the agents of this notebook."""
        here = self._agents.here()
        return "\n".join(f"{name}: {agent!r}" for name, agent in here.items()) or (
            'No agents yet. Make one in a cell: agent = Agent("local")'
        )

    def _use(self, words: Sequence[str]) -> str:
        """NAME: ask this agent from now on."""
        if len(words) != 1:
            message = "%agent use needs one name, as in: %agent use analyst"
            raise UsageError(message)
        return f"%%agent asks {self._agents.find(words[0])!r} from now on."

    def _history(self, words: Sequence[str]) -> Any:
        """[NAME] [-S SESSION] [--df]: show the conversation, or give it as a table."""
        said = _read(words, FRAME, SESSION)
        if said.session is None:
            agent = self._agent(said.name)
            rows = history.history_rows(agent.memory, agent.ledger)
        else:
            named = said.name is not None
            owner = self._agent(said.name) if named else self._agents.peek(None)
            ledger = None if owner is None else owner.ledger
            rows = history.history_rows(kept_session(said.session), ledger)
        if said.is_frame:
            return whole_frame_of(rows, history.COLUMNS)
        return history.history_text(rows)

    def _reset(self, words: Sequence[str]) -> str:
        """[NAME] [-S SESSION]: forget the conversation."""
        said = _read(words, SESSION)
        if said.session is not None:
            if said.name is not None:
                self._agent(said.name)  # refused where there is none
            kept_session(said.session).reset()
            return f"The session {said.session} is forgotten."
        agent = self._agent(said.name)
        agent.reset_memory()
        return f"{agent.name} has forgotten the conversation."

    def _resume(self, words: Sequence[str]) -> Any:
        """[NAME] [ID] [-S SESSION]: go on with a run that was cut off."""
        return self._go_on(words)

    def _agent(self, name: str | None) -> Agent:
        """Find an agent to look at, which is not to use it."""
        return self._agents.peek(name) or self._agents.find(name)

    def _sessions(self, _: Sequence[str]) -> str:
        """List the conversations that were kept by name (-S)."""
        found = [
            f"{info['title']}: {info['message_count']} messages"
            for info in list_sessions()
        ]
        return "\n".join(found) or "No conversation has been kept by name yet."

    def _stop(self, words: Sequence[str]) -> str:
        """[NAME]: stop what runs in the background, all of it or of one agent."""
        name = _read(words).name
        agent = None if name is None else self._agent(name)
        agents = self._agents.here().values() if agent is None else (agent,)
        last = [each.last_run for each in agents if each.last_run is not None]
        runs = {run.id: run for run in (*runs_at_work(agent), *last) if not run.is_done}
        for run in runs.values():
            run.cancel()
        said = [f"Stopped {run.agent}: {asked(run)}" for run in runs.values()]
        return "\n".join(said) or "Nothing is running."

    def _usage(self, words: Sequence[str]) -> Any:
        """[NAME] [--df]: sum up calls, tokens and costs of this kernel."""
        said = _read(words, FRAME)
        name, is_frame = said.name, said.is_frame
        here = self._agents.here()
        if name is not None:
            here = {name: self._agent(name)}
        rows = usage.usage_rows(here, name)
        return (
            whole_frame_of(rows, usage.COLUMNS) if is_frame else usage.usage_text(rows)
        )


def help_text() -> str:
    """Give a line for each sub-command."""
    own = {name: getattr(AgentCommands, f"_{name}") for name in _OWN}
    lines = [
        f"%agent {name:<10}{command.__doc__}"
        for name, command in {**APPROVAL_COMMANDS, **own}.items()
    ]
    return "\n".join([*lines, "%%agent, on top of a cell, asks; %%agent? tells how."])


@dataclass(frozen=True, slots=True)
class _Said:
    """What stands behind a sub-command."""

    name: str | None = None
    session: str | None = None
    is_frame: bool = False


def _read(words: Sequence[str], *options: str) -> _Said:
    """Read the name of an agent, and the options that a sub-command has."""
    said, left = _Said(), list(words)
    while left:
        word = left.pop(0)
        if word in options and word == FRAME:
            said = replace(said, is_frame=True)
        elif word in options and left:
            said = replace(said, session=left.pop(0))
        elif word == SESSION and word in options:
            message = f"{SESSION} needs the name of a session."
            raise UsageError(message)
        elif word.startswith("-") or said.name is not None:
            known = {FRAME: FRAME, SESSION: f"{SESSION} SESSION"}
            *others, last = ["the name of an agent", *(known[o] for o in options)]
            kinds = f"{', '.join(others)} and {last}" if others else last
            message = f"Only {kinds} may stand there, not {word!r}."
            raise UsageError(message)
        else:
            said = replace(said, name=word)
    return said
