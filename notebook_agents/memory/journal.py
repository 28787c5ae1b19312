"""The contract of a journal: what unfinished runs have done so far.

A run writes down what cannot be asked for again, before it goes on: the reply
of the model, each call that begins, each result. After its process was killed
another one reads that and goes on where it ended.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from notebook_agents.memory.scope import MemoryScope

__all__ = ["Journal", "Record", "UnfinishedRun"]

Record = Mapping[str, Any]
"""One entry: JSON values by name."""


class UnfinishedRun(TypedDict):
    """A run that has begun and not ended.

    Parameters
    ----------
    run_id : str
        Its identifier.
    agent : str
        Name of the agent.
    prompt : str
        What it was asked.
    began_at : int
        When, in ms since 1970, UTC.
    owner : str
        The process that runs it, or ran it when it was killed.
    """

    run_id: str
    agent: str
    prompt: str
    began_at: int
    owner: str


class Journal(ABC):
    """The entries of unfinished runs, each run in one conversation."""

    @abstractmethod
    def begin(
        self, scope: MemoryScope, run: UnfinishedRun, records: Sequence[Record]
    ) -> None:
        """Open a run with its first entries, whole or not at all.

        Parameters
        ----------
        scope : MemoryScope
            Its conversation; forgotten together with it.
        run : UnfinishedRun
            What is known of it.
        records : sequence of mapping
            What it was begun with, and whatever else there is by then.
        """

    @abstractmethod
    def write(self, run_id: str, owner: str, records: Sequence[Record]) -> bool:
        """Add entries, whole or not at all.

        Parameters
        ----------
        run_id : str
            The run.
        owner : str
            Who writes.
        records : sequence of mapping
            What to add.

        Returns
        -------
        bool
            False if another process has taken the run over, or has even ended
            it: then nothing is added, ever.
        """

    @abstractmethod
    def read(self, run_id: str) -> list[dict[str, Any]]:
        """Give the entries of a run, oldest first; none where there is no such run."""

    @abstractmethod
    def forget(self, run_id: str, owner: str) -> None:
        """Remove a run that has ended, unless another process has taken it over."""

    @abstractmethod
    def unfinished(self, scope: MemoryScope) -> list[UnfinishedRun]:
        """List the runs of a conversation, the oldest first."""

    @abstractmethod
    def claim(self, run_id: str, *, owner: str, instead_of: str) -> bool:
        """Take a run over from another process.

        Parameters
        ----------
        run_id : str
            The run.
        owner : str
            Who goes on with it.
        instead_of : str
            Who had it.

        Returns
        -------
        bool
            False if somebody else was faster.
        """
