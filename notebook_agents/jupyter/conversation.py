"""Which conversation a cell goes on with, and what is said about it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from IPython.core.error import UsageError

from notebook_agents.agent import Agent
from notebook_agents.jupyter import kernel
from notebook_agents.jupyter._words import clean, moment, quoted, shortened
from notebook_agents.memory.journal import UnfinishedRun
from notebook_agents.memory.named import list_sessions, open_session
from notebook_agents.memory.session import MemorySession, load_history
from notebook_agents.memory.sqlite import default_path
from notebook_agents.memory.store import MemoryBackend
from notebook_agents.spelling import did_you_mean
from notebook_agents.taking_over import cut_off_runs

__all__ = [
    "conversation_of_cell",
    "described",
    "kept_session",
    "listed",
    "session_names",
    "unfinished_line",
]

_LONGEST_PROMPT = 60  # characters


def conversation_of_cell(
    agent: Agent, session: str | None, *, is_new: bool
) -> MemoryBackend | None:
    """Choose the conversation, so that a cell that runs again writes its own turn.

    Parameters
    ----------
    agent : Agent
        The agent of the notebook.
    session : str or None
        What the conversation is called; None is the agent's own.
    is_new : bool
        Whether to begin it anew.

    Returns
    -------
    MemoryBackend or None
        None if the agent's own will do as it is.
    """
    memory = agent.memory if session is None else _opened(session)
    if is_new:
        memory.reset()
    key = kernel.cell_key()
    if key is not None and isinstance(memory, MemorySession):
        return memory.turn(key)
    return None if session is None else memory


def kept_session(name: str) -> MemorySession:
    """Open a conversation that is there already.

    Parameters
    ----------
    name : str
        What it is called.

    Returns
    -------
    MemorySession
        The conversation.

    Raises
    ------
    UsageError
        If there is none of that name.
    """
    titles = session_names()
    if default_path().exists():  # else a look would make it
        session = _opened(name)
        if session.title in titles or cut_off_runs(session):
            return session
    meant = did_you_mean(name, titles) or " %agent sessions lists those there are."
    message = f"There is no session {name!r}.{meant}"
    raise UsageError(message)


def session_names() -> list[str]:
    """Give the names of the conversations that are kept."""
    return [info["title"] or "" for info in list_sessions()]


async def described(memory: MemoryBackend | None, session: str | None) -> str:
    """Say whether a named conversation is continued, for the line over a run.

    Parameters
    ----------
    memory : MemoryBackend or None
        The conversation, as the run will see it.
    session : str or None
        What it is called; of one that has no name nothing is said.

    Returns
    -------
    str
        Such as ``"session thesis, continued after 2 turns"``.
    """
    if session is None or memory is None:
        return ""
    earlier = await load_history(memory)
    turns = sum(message.role == "user" for message in earlier)
    if turns:
        return f"session {session}, continued after {turns} turn{'s' * (turns > 1)}"
    # Nothing comes before its first turn, which this cell may be writing again.
    is_again = isinstance(memory, MemorySession) and await memory.store.load(
        memory.scope
    )
    return f"session {session}, {'its first turn again' if is_again else 'new'}"


async def unfinished_line(
    memory: MemoryBackend, agent: str | None, session: str | None
) -> str:
    """Say that a run of the conversation was cut off, and how to go on with it.

    Parameters
    ----------
    memory : MemoryBackend
        The conversation.
    agent, session : str or None
        As they stand on the line of the cell.

    Returns
    -------
    str
        One line; empty if there is nothing to say.
    """
    runs = await asyncio.to_thread(cut_off_runs, memory)
    if not runs:
        return ""
    named = f" -S {quoted(session)}" if session else ""
    line = f"%agent resume{f' {quoted(agent)}' if agent else ''}{named}"
    if len(runs) == 1:
        said = f"A run of this conversation was cut off ({_prompt(runs[0])})."
        return f"{said} {line} goes on with it."
    # Without an identifier the line lists them: nobody said which.
    return f"{len(runs)} runs of this conversation were cut off. {line} lists them."


def listed(runs: Sequence[UnfinishedRun]) -> str:
    """List unfinished runs, one a line: identifier, when and what was asked."""
    return "\n".join(
        f"  {run['run_id']}  {moment(run['began_at'] / 1000)}  {_prompt(run)}"
        for run in runs
    )


def _prompt(run: UnfinishedRun) -> str:
    text = " ".join(clean(run["prompt"]).split())
    return f"\N{LEFT DOUBLE QUOTATION MARK}{shortened(text, _LONGEST_PROMPT)}\N{RIGHT DOUBLE QUOTATION MARK}"


def _opened(name: str) -> MemorySession:
    if not name.strip():
        message = "-S needs a name that is not blank."
        raise UsageError(message)
    return open_session(name)
