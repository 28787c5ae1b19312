"""Runs that were cut off: which there are, and who takes one over."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence

from notebook_agents.errors import AgentConfigurationError
from notebook_agents.journal import Resumed, journal_of, runs_here, stopped_here
from notebook_agents.memory.journal import Journal, UnfinishedRun
from notebook_agents.memory.session import MemorySession
from notebook_agents.past_run import read_past
from notebook_agents.processes import is_running, this_process

__all__ = ["cut_off_runs", "forget_run", "going_on", "take_over", "unfinished_runs"]

_taking = threading.Lock()


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
    return run["run_id"] in runs_here if owner == this_process() else is_running(owner)


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
    journal, run = _found(memory, run_id, force=force)
    number, owner = run["run_id"], this_process()
    if not journal.claim(number, owner=owner, instead_of=run["owner"]):
        message = f"The run {number} has just been resumed elsewhere."
        raise AgentConfigurationError(message)
    records = journal.read(number)
    if number in stopped_here:
        records.append({"kind": "stopped"})
    begun, steps = read_past(number, records)
    return Resumed(
        journal,
        {**run, "owner": owner},
        begun["settings"],
        begun["turn"],
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
        runs_here.add(number)
    try:
        yield
    finally:
        runs_here.discard(number)


def forget_run(memory: object, run_id: str | None, *, force: bool = False) -> None:
    """Drop an unfinished run: nobody will go on with it.

    Parameters
    ----------
    memory : MemoryBackend
        Its conversation.
    run_id : str or None
        Which one; None is the only one there is.
    force : bool, default False
        Whether to drop it even if its process seems to be at work.

    Raises
    ------
    AgentConfigurationError
        If there is no such run, or it goes on elsewhere.
    """
    journal, run = _found(memory, run_id, force=force)
    journal.forget(run["run_id"], run["owner"])


def _found(
    memory: object, run_id: str | None, *, force: bool
) -> tuple[Journal, UnfinishedRun]:
    journal = journal_of(memory)
    if journal is None or not isinstance(memory, MemorySession):
        message = (
            "Only a run in a conversation that is kept can be resumed: one of "
            "SQLiteStore(...).session(), or of %%agent -S NAME."
        )
        raise AgentConfigurationError(message)
    run = _chosen(journal.unfinished(memory.scope), run_id)
    _check_owner(run, force=force)
    return journal, run


def _check_here(number: str) -> None:
    if number in runs_here:
        message = f"The run {number} still goes on, or is being stored."
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
