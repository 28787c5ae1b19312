"""`Runnable`: the four ways to run something that answers, one execution."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar, Unpack, overload

from notebook_agents.hosts import Host, current_host
from notebook_agents.options import AskOptions, RunOptions, spelled_out
from notebook_agents.question import Said, names_files, with_files
from notebook_agents.results import AgentResult, T
from notebook_agents.sync import (
    current_waiter,
    on_agent_loop,
    run_sync,
    waited_for_by,
)
from notebook_agents.waiting import Waiter, in_thread, running_loop

if TYPE_CHECKING:  # what runs comes with the first run
    from typing_extensions import TypeForm

    from notebook_agents.journal import Prompt
    from notebook_agents.run import Run
    from notebook_agents.stream import AgentStream

__all__ = ["Runnable"]

U = TypeVar("U")


class Runnable(ABC, Generic[T]):
    """What can be asked: awaited, blocked on, streamed, or left to run."""

    @overload
    async def run(
        self, message: Said, *, output_type: TypeForm[U], **options: Unpack[RunOptions]
    ) -> AgentResult[U]: ...
    @overload
    async def run(
        self, message: Said, **options: Unpack[RunOptions]
    ) -> AgentResult[T]: ...
    @spelled_out
    async def run(
        self, message: Said, **options: Unpack[AskOptions]
    ) -> AgentResult[Any]:
        """Ask and await the result.

        In a notebook cell everything goes on as usual meanwhile: Stop works,
        questions show up, tools run in the cell.

        Parameters
        ----------
        message : str or list
            What the agent should do: a text, or parts - texts, the paths of images
            and files, and parts in the OpenAI chat shape.
        output_type : type, optional
            The type of the answer, instead of the agent's own.
        system_prompt, prior_messages, max_tool_rounds, max_steps, memory
            As in `RunOptions`.
        policy, approver, params, deps, namespace
            As there.

        Returns
        -------
        AgentResult
            The outcome.

        Raises
        ------
        NotebookAgentsError
            If there is no usable model, the service failed, a guard blocked a
            text, or the run was stopped.

        Examples
        --------
        >>> import asyncio
        >>> from notebook_agents import Agent, ScriptedProvider
        >>> str(asyncio.run(Agent(ScriptedProvider(["Hi!"])).run("Hello")))
        'Hi!'
        """
        return await self._ask(message, options)

    @overload
    def run_sync(
        self, message: Said, *, output_type: TypeForm[U], **options: Unpack[RunOptions]
    ) -> AgentResult[U]: ...
    @overload
    def run_sync(
        self, message: Said, **options: Unpack[RunOptions]
    ) -> AgentResult[T]: ...
    @spelled_out
    def run_sync(
        self, message: Said, **options: Unpack[AskOptions]
    ) -> AgentResult[Any]:
        """Ask and wait for the result, from sync code anywhere.

        Works in a running kernel, in threads, after an interrupt, and twice.

        Parameters
        ----------
        message : str or list
            What the agent should do: a text, or parts - texts, the paths of images
            and files, and parts in the OpenAI chat shape.
        output_type : type, optional
            The type of the answer, instead of the agent's own.
        system_prompt, prior_messages, max_tool_rounds, max_steps, memory
            As in `RunOptions`.
        policy, approver, params, deps, namespace
            As there.

        Returns
        -------
        AgentResult
            As from `run`.

        Examples
        --------
        >>> from notebook_agents import Agent, ScriptedProvider
        >>> Agent(ScriptedProvider(["Hi!"])).run_sync("Hello").steps
        1
        """
        host = current_host()
        if host is None:
            return run_sync(self._run(message, options))
        _settle_in(host, options)
        return host.wait(self._run(message, options, host))

    @overload
    def stream(
        self, message: Said, *, output_type: TypeForm[U], **options: Unpack[RunOptions]
    ) -> AgentStream[U]: ...
    @overload
    def stream(
        self, message: Said, **options: Unpack[RunOptions]
    ) -> AgentStream[T]: ...
    @spelled_out
    def stream(self, message: Said, **options: Unpack[AskOptions]) -> AgentStream[Any]:
        """Ask and read the answer as it arrives.

        Parameters
        ----------
        message : str or list
            What the agent should do: a text, or parts - texts, the paths of images
            and files, and parts in the OpenAI chat shape.
        output_type : type, optional
            The type of the answer, instead of the agent's own.
        system_prompt, prior_messages, max_tool_rounds, max_steps, memory
            As in `RunOptions`.
        policy, approver, params, deps, namespace
            As there.

        Returns
        -------
        AgentStream
            Iterate over it for text, or over its ``events()``.
        """
        from notebook_agents.stream import AgentStream

        host = current_host()
        if host is None:
            return AgentStream(lambda: self._begin(message, options), Waiter())
        _settle_in(host, options)
        waiter = host.waiter()
        return AgentStream(
            lambda: host.wait(self._begun(message, options, host, waiter)), waiter
        )

    @overload
    def start(
        self, message: Said, *, output_type: TypeForm[U], **options: Unpack[RunOptions]
    ) -> Run[U]: ...
    @overload
    def start(self, message: Said, **options: Unpack[RunOptions]) -> Run[T]: ...
    @spelled_out
    def start(self, message: Said, **options: Unpack[AskOptions]) -> Run[Any]:
        """Ask and return at once; the run goes on in the background.

        Parameters
        ----------
        message : str or list
            What the agent should do: a text, or parts - texts, the paths of images
            and files, and parts in the OpenAI chat shape.
        output_type : type, optional
            The type of the answer, instead of the agent's own.
        system_prompt, prior_messages, max_tool_rounds, max_steps, memory
            As in `RunOptions`.
        policy, approver, params, deps, namespace
            As there.

        Returns
        -------
        Run
            To follow, to await, or to cancel.
        """
        return self._start(message, options)

    def start_inside(self, message: Said, **options: Unpack[AskOptions]) -> Run[Any]:
        """Ask on behalf of the tool that runs here, and return at once.

        What the new run asks and runs in the cell goes where that of the tool's
        own run goes.

        Parameters
        ----------
        message : str or list
            What the agent should do: a text, or parts - texts, the paths of images
            and files, and parts in the OpenAI chat shape.
        **options
            As in `RunOptions`.

        Returns
        -------
        Run
            Whoever starts it has to cancel it when the tool is cancelled.
        """
        waiter = current_waiter()
        if waiter is None:
            return self._begin(message, options)
        # An async tool may run on the loop of the cell; runs stay where the
        # cell's own run is.
        return on_agent_loop(lambda: self._begin(message, options), waiter)

    def _start(self, message: Prompt, options: AskOptions) -> Run[Any]:
        host = current_host()
        if host is None and running_loop() is not None:
            return self._begin(message, options)
        if host is None:
            return run_sync(self._begun(message, options))
        _settle_in(host, options)
        return host.wait(self._begun(message, options, host))

    async def _ask(self, message: Prompt, options: AskOptions) -> AgentResult[Any]:
        host = current_host()
        if host is None:
            return await self._run(message, options)
        _settle_in(host, options)
        return await host.wait_async(self._run(message, options, host))

    async def _run(
        self, message: Prompt, options: AskOptions, host: Host | None = None
    ) -> AgentResult[Any]:
        run = self._begin_in(host, await _read(message), options)
        try:
            return await run.result()
        except asyncio.CancelledError:
            if not run.is_done:
                run.cancel()
                await run.ended()
            raise

    async def _begun(
        self,
        message: Prompt,
        options: AskOptions,
        host: Host | None = None,
        waiter: Waiter | None = None,
    ) -> Run[Any]:
        """Start a run, for which ``waiter`` waits and not whoever awaits this."""
        message = await _read(message)
        waited_for_by(waiter)
        return self._begin_in(host, message, options)

    def _begin_in(
        self, host: Host | None, message: Prompt, options: AskOptions
    ) -> Run[Any]:
        run = self._begin(message, options)
        if host is not None:
            host.began(run, self, options.get("approver"))
        return run

    @abstractmethod
    def _begin(self, message: Prompt, options: AskOptions) -> Run[Any]:
        """Start a run on the running loop."""


async def _read(message: Prompt) -> Prompt:
    """Read the files of a message where that cannot block the loop."""
    if not names_files(message):
        return message
    return await in_thread(lambda: with_files(message), name="files of a message")


def _settle_in(host: Host, options: RunOptions) -> None:
    """Ask where the cell is, and let calls name its variables."""
    if options.get("approver") is None:
        options["approver"] = host.approver()
    if options.get("namespace") is None:
        options["namespace"] = host.namespace()
