"""`Resumable`: what goes on with a run whose process was killed."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, Unpack, cast

from notebook_agents.memory.store import MemoryBackend
from notebook_agents.options import AskOptions
from notebook_agents.results import AgentResult, T
from notebook_agents.runnable import Runnable

if TYPE_CHECKING:
    from notebook_agents.journal import Resumed
    from notebook_agents.memory.journal import UnfinishedRun
    from notebook_agents.run import Run

__all__ = ["Resumable"]


class Resumable(Runnable[T]):
    """What can be asked, in a conversation that may outlive the process."""

    memory: MemoryBackend

    def unfinished(self) -> list[UnfinishedRun]:
        """List the runs of the agent's conversation that were cut off.

        Returns
        -------
        list of UnfinishedRun
            Dicts with ``run_id``, ``prompt`` and ``began_at`` (ms since 1970,
            UTC), the oldest first. Runs that go on are among them; none where
            the conversation is kept in this process only.
        """
        from notebook_agents.taking_over import unfinished_runs

        return unfinished_runs(self.memory)

    async def resume(
        self,
        run_id: str | None = None,
        *,
        force: bool = False,
        **options: Unpack[AskOptions],
    ) -> AgentResult[Any]:
        """Go on with a run whose process was killed.

        Results that there were are kept, questions are asked again, and a tool
        that was at work is not run again: the model is told that nobody knows
        whether it took effect.

        Parameters
        ----------
        run_id : str, optional
            Which of `unfinished`; may be left out if there is one.
        force : bool, default False
            Whether to take it even if its process seems to be at work.
        **options
            As in `RunOptions`; prompt, history and rounds are those of the run.

        Returns
        -------
        AgentResult
            The outcome of the whole run, with everything that happened.

        Raises
        ------
        AgentConfigurationError
            If there is no such run, or it goes on elsewhere.
        """
        from notebook_agents.taking_over import going_on

        resumed, kept = await self._taken_over(run_id, options, force=force)
        with going_on(resumed):
            return await self._ask(resumed, kept)

    async def start_resumed(
        self,
        run_id: str | None = None,
        *,
        force: bool = False,
        **options: Unpack[AskOptions],
    ) -> Run[Any]:
        """Go on with a run as `resume` does, and return at once.

        Parameters
        ----------
        run_id : str, optional
            Which of `unfinished`; may be left out if there is one.
        force : bool, default False
            Whether to take it even if its process seems to be at work.
        **options
            As for `resume`.

        Returns
        -------
        Run
            To follow, to await, or to cancel.

        Raises
        ------
        AgentConfigurationError
            If there is no such run, or it goes on elsewhere.
        """
        from notebook_agents.taking_over import going_on

        resumed, kept = await self._taken_over(run_id, options, force=force)
        with contextlib.ExitStack() as held:
            held.enter_context(going_on(resumed))
            run = self._start(resumed, kept)
            task = asyncio.create_task(_hold(held.pop_all(), run))
        _holders.add(task)
        task.add_done_callback(_holders.discard)
        return run

    def forget_run(self, run_id: str | None = None, *, force: bool = False) -> None:
        """Drop a run that was cut off and that nobody shall go on with.

        The conversation stays as it is; what only the run knows is lost, such as
        the results of its calls.

        Parameters
        ----------
        run_id : str, optional
            Which of `unfinished`; may be left out if there is one.
        force : bool, default False
            Whether to drop it even if its process seems to be at work, which
            then ends it before its next call.

        Raises
        ------
        AgentConfigurationError
            If there is no such run, or it goes on elsewhere.
        """
        from notebook_agents.taking_over import forget_run

        forget_run(self.memory, run_id, force=force)

    async def _taken_over(
        self, run_id: str | None, options: AskOptions, *, force: bool
    ) -> tuple[Resumed, AskOptions]:
        from notebook_agents.taking_over import take_over

        memory = options.get("memory")
        memory = self.memory if memory is None else memory
        resumed = await asyncio.to_thread(take_over, memory, run_id, force=force)
        return resumed, cast("AskOptions", {**resumed.settings, **options})


_holders: set[asyncio.Task[None]] = set()
"""So that none of them is lost while its run goes on."""


async def _hold(held: contextlib.ExitStack, run: Run[Any]) -> None:
    with held:
        await run.ended()
