"""``%agent``: one line for what is not a question."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from IPython.core.error import UsageError

from notebook_agents.agent import Agent
from notebook_agents.approval import waiting_approvals
from notebook_agents.jupyter import history, usage
from notebook_agents.jupyter.elsewhere import APPROVAL_COMMANDS
from notebook_agents.jupyter.finding import AgentFinder
from notebook_agents.jupyter.line import split_words
from notebook_agents.jupyter.rows import whole_frame_of
from notebook_agents.memory.named import list_sessions

__all__ = ["AgentCommands"]

FRAME = "--df"
"""Asks for a DataFrame instead of text."""
_WITH_FRAME = ("history", "usage")
_WITH_AGENT = ("history", "reset", "usage", "use")
_WITH_REQUEST = ("approve", "deny", "respond")


class AgentCommands:
    """The sub-commands of ``%agent``.

    Parameters
    ----------
    agents : AgentFinder
        The agents of the notebook.
    """

    def __init__(self, agents: AgentFinder) -> None:
        self._agents = agents
        self._commands: dict[str, Callable[[Sequence[str]], Any]] = {
            **APPROVAL_COMMANDS,
            "help": self._help,
            "history": self._history,
            "list": self._list,
            "reset": self._reset,
            "sessions": self._sessions,
            "stop": self._stop,
            "usage": self._usage,
            "use": self._use,
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
                f"%agent has no {words[0]!r}; it has {', '.join(self._commands)}. "
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
        if command in _WITH_FRAME and word.startswith("-"):
            return [FRAME]
        if command in _WITH_AGENT and not set(rest) - {FRAME}:
            return sorted(self._agents.here())
        if command in _WITH_REQUEST and not rest:
            return [pending.request.id for pending in waiting_approvals()]
        return ()

    def _help(self, _: Sequence[str]) -> str:
        """List these."""
        lines = [
            f"%agent {name:<10}{command.__doc__}"
            for name, command in self._commands.items()
        ]
        return "\n".join(
            [*lines, "%%agent, on top of a cell, asks; %%agent? tells how."]
        )

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
        """[NAME] [--df]: show the conversation so far, or give it as a DataFrame."""
        name, is_frame = _named(words)
        rows = history.history_rows(self._agent(name))
        if is_frame:
            return whole_frame_of(rows, history.COLUMNS)
        return history.history_text(rows)

    def _reset(self, words: Sequence[str]) -> str:
        """[NAME]: forget the conversation."""
        agent = self._agent(_optional(words))
        agent.reset_memory()
        return f"{agent.name} has forgotten the conversation."

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

    def _stop(self, _: Sequence[str]) -> str:
        """Stop what runs in the background."""
        runs = [agent.last_run for agent in self._agents.here().values()]
        running = {run.id: run for run in runs if run is not None and not run.is_done}
        for run in running.values():
            run.cancel()
        return f"Stopped {len(running)}." if running else "Nothing is running."

    def _usage(self, words: Sequence[str]) -> Any:
        """[NAME] [--df]: sum up calls, tokens and costs of this kernel."""
        name, is_frame = _named(words)
        here = self._agents.here()
        if name is not None:
            here = {name: self._agent(name)}
        rows = usage.usage_rows(here, name)
        return (
            whole_frame_of(rows, usage.COLUMNS) if is_frame else usage.usage_text(rows)
        )


def _optional(words: Sequence[str]) -> str | None:
    return words[0] if words else None


def _named(words: Sequence[str]) -> tuple[str | None, bool]:
    """Read the name of an agent, and whether a DataFrame is wanted."""
    left = [word for word in words if word != FRAME]
    unknown = [word for word in left if word.startswith("-")] or left[1:]
    if unknown:
        message = f"Only a name and {FRAME} may stand there, not {unknown[0]!r}."
        raise UsageError(message)
    return _optional(left), len(left) < len(words)
