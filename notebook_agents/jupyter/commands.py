"""``%agent``: one line for what is not a question."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from IPython.core.error import UsageError

from notebook_agents.approval import Allow, Decision, Deny, PendingApproval
from notebook_agents.jupyter.finding import AgentFinder
from notebook_agents.memory.named import list_sessions

__all__ = ["AgentCommands"]

_LONGEST = 100
"""Characters of a message in a list."""


class AgentCommands:
    """The sub-commands of ``%agent``.

    Parameters
    ----------
    agents : AgentFinder
        The agents of the notebook.
    """

    def __init__(self, agents: AgentFinder) -> None:
        self._agents = agents
        self._commands: dict[str, Callable[[Sequence[str]], str]] = {
            "approve": self._approve,
            "deny": self._deny,
            "help": self._help,
            "history": self._history,
            "list": self._list,
            "reset": self._reset,
            "sessions": self._sessions,
            "stop": self._stop,
            "use": self._use,
        }

    def run(self, line: str) -> str:
        """Carry out one line.

        Parameters
        ----------
        line : str
            A sub-command and what belongs to it.

        Returns
        -------
        str
            What to print.

        Raises
        ------
        UsageError
            If there is no such sub-command.
        """
        words = line.split()
        command = self._commands.get(words[0] if words else "help")
        if command is None:
            message = (
                f"%agent has no {words[0]!r}; it has {', '.join(self._commands)}. "
                "To ask, write %%agent on the first line of a cell."
            )
            raise UsageError(message)
        return command(words[1:])

    def _help(self, _: Sequence[str]) -> str:
        """List these."""
        lines = [
            f"%agent {name:<9}{command.__doc__}"
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

    def _history(self, words: Sequence[str]) -> str:
        """[NAME]: show the conversation so far."""
        messages = self._agents.find(_optional(words)).memory.messages
        lines = [
            f"{message['role']}: {_short(message['content'])}" for message in messages
        ]
        return "\n".join(lines) or "Nothing has been said yet."

    def _reset(self, words: Sequence[str]) -> str:
        """[NAME]: forget the conversation."""
        agent = self._agents.find(_optional(words))
        agent.reset_memory()
        return f"{agent.name} has forgotten the conversation."

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

    def _approve(self, words: Sequence[str]) -> str:
        """[ID]: allow the call that waits."""
        return self._decide(_optional(words), Allow(), "Approved")

    def _deny(self, words: Sequence[str]) -> str:
        """[ID] [REASON]: deny the call that waits."""
        waiting = {pending.request.id for pending in self._waiting()}
        first = words[0] if words and words[0] in waiting else None
        reason = " ".join(words[1:] if first else words)
        return self._decide(first, Deny(reason), "Denied")

    def _waiting(self) -> list[PendingApproval]:
        runs = [agent.last_run for agent in self._agents.here().values()]
        distinct = {run.id: run for run in runs if run is not None}
        return [pending for run in distinct.values() for pending in run.approvals]

    def _decide(self, request_id: str | None, decision: Decision, word: str) -> str:
        waiting = {pending.request.id: pending for pending in self._waiting()}
        if request_id is None and len(waiting) == 1:
            request_id = next(iter(waiting))
        if request_id not in waiting:
            known = [f"{key} ({item.request.tool})" for key, item in waiting.items()]
            message = (
                f"Nothing waits under that name; waiting: {', '.join(known) or 'none'}."
            )
            raise UsageError(message)
        pending = waiting[request_id]
        pending.decide(decision, by="person")
        return f"{word}: {pending.request.tool}."


def _optional(words: Sequence[str]) -> str | None:
    return words[0] if words else None


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
