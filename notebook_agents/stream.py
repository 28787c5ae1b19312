"""`AgentStream`: a run that is read as it goes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from typing import Any

from notebook_agents.events import ErrorEvent, Event, TokenEvent
from notebook_agents.loop import EXHAUSTED
from notebook_agents.results import AgentResult
from notebook_agents.run import Run
from notebook_agents.waiting import Waiter

__all__ = ["AgentStream"]


class AgentStream:
    """The answer as it arrives; iterate over it for text.

    Made by ``agent.stream(...)``. The run begins with the first look at it;
    leaving the iteration early stops the run.

    Parameters
    ----------
    start : callable
        Starts the run.
    waiter : Waiter
        Who reads.

    Examples
    --------
    >>> import asyncio
    >>> from notebook_agents import Agent, ScriptedProvider
    >>> async def read():
    ...     stream = Agent(ScriptedProvider(["Hello there"])).stream("Hi")
    ...     return [text async for text in stream]
    >>> asyncio.run(read())
    ['Hello th', 'ere']
    """

    def __init__(self, start: Callable[[], Run], waiter: Waiter) -> None:
        self._start = start
        self._waiter = waiter
        self._run: Run | None = None
        self._is_taken = False

    @property
    def run(self) -> Run:
        """The run behind the stream, started now if it was not."""
        if self._run is None:
            self._run = self._start()
        return self._run

    def __aiter__(self) -> AsyncIterator[str]:
        return self._texts(self.events())

    def __iter__(self) -> Iterator[str]:
        message = "A stream is read with `async for`, in a cell or a coroutine."
        raise TypeError(message)

    def __repr__(self) -> str:
        return f"<AgentStream: {'not started' if self._run is None else self._run!r}>"

    def events(self) -> AsyncGenerator[Event, None]:
        """Read typed events instead of text.

        Returns
        -------
        async generator of Event
            In order, until the run has ended.

        Raises
        ------
        RuntimeError
            If somebody reads the stream already.
        """
        if self._is_taken:
            message = (
                "This stream is being read already. A stream has one reader; "
                "`stream.run.events()` gives more."
            )
            raise RuntimeError(message)
        self._is_taken = True
        return self._events()

    async def result(self) -> AgentResult[Any]:
        """Await the end of the run.

        Returns
        -------
        AgentResult
            As from ``agent.run(...)``.

        Raises
        ------
        CancelledError
            If this is cancelled, which stops the run.
        """
        self._waiter.attend()
        try:
            return await self.run.result(waiter=self._waiter)
        except asyncio.CancelledError:
            self.run.cancel()
            raise

    def cancel(self) -> None:
        """Stop the run."""
        self.run.cancel()

    async def _events(self) -> AsyncGenerator[Event, None]:
        self._waiter.attend()
        run = self.run
        events = run.events(waiter=self._waiter)
        try:
            async for event in events:
                yield event
            await self.result()  # raises what ended the run, if it failed
        finally:
            await events.aclose()
            self._waiter.close()  # nobody is here to run a tool any more
            if not run.is_done:
                run.cancel()

    async def _texts(
        self, events: AsyncGenerator[Event, None]
    ) -> AsyncGenerator[str, None]:
        try:
            async for event in events:
                if isinstance(event, TokenEvent) and event.channel == "answer":
                    yield event.text
                elif isinstance(event, ErrorEvent) and event.reason == LIMIT:
                    yield EXHAUSTED
        finally:
            await events.aclose()


LIMIT = "max_steps_reached"
