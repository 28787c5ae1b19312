"""The runs that cells of this kernel have begun, and who asks for each."""

from __future__ import annotations

import time
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from notebook_agents.events import TaskEvent
from notebook_agents.jupyter._words import clean, shortened
from notebook_agents.ledger import Ledger
from notebook_agents.run import Run

if TYPE_CHECKING:
    from notebook_agents.jupyter.approval import CellApprover

__all__ = ["approver_of", "asked", "elapsed", "note_begun", "runs_at_work"]

_LONGEST_PROMPT = 60  # characters


@dataclass(frozen=True, slots=True)
class _Begun:
    ledger: Ledger | None
    """That of its agent, which variants of an agent share."""
    approver: CellApprover | None


# Of the kernel and not of a host: there is one before the extension is loaded, too.
_begun: weakref.WeakKeyDictionary[Run[Any], _Begun] = weakref.WeakKeyDictionary()


def note_begun(run: Run[Any], agent: Any, approver: CellApprover | None) -> None:
    """Remember a run for as long as it is there.

    Parameters
    ----------
    run : Run
        What a cell has begun.
    agent : Agent
        Whose run it is.
    approver : CellApprover or None
        Who asks for it; None if that is no cell.
    """
    _begun[run] = _Begun(getattr(agent, "ledger", None), approver)


def approver_of(run: Run[Any]) -> CellApprover | None:
    """Give who asks for a run in its cell, if somebody does."""
    begun = _begun.get(run)
    return None if begun is None else begun.approver


def runs_at_work(agent: Any = None) -> list[Run[Any]]:
    """List the runs that have not ended.

    Parameters
    ----------
    agent : Agent, optional
        Whose; all when left out.

    Returns
    -------
    list of Run
        In the order in which they were begun.
    """
    return [
        run
        for run, begun in list(_begun.items())
        if not run.is_done and (agent is None or begun.ledger is agent.ledger)
    ]


def elapsed(run: Run[Any]) -> float:
    """Give how long a run has been at work, or was, in seconds."""
    events = run.recorded
    if not events:
        return 0.0
    return (events[-1].ts if run.is_done else time.time()) - events[0].ts


def asked(run: Run[Any]) -> str:
    """Say what a run was asked, in a few words."""
    task = next((each for each in run.recorded if isinstance(each, TaskEvent)), None)
    text = " ".join(clean(task.prompt).split()) if task is not None else ""
    return shortened(text, _LONGEST_PROMPT) or f"run {run.id}"
