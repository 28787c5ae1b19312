"""`AgentStream`: a run that is read as it goes."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic

from notebook_agents.errors import (
    AgentConfigurationError,
    RunCancelledError,
    StreamInterruptedError,
)
from notebook_agents.events import ErrorEvent, Event, RetryEvent, TokenEvent
from notebook_agents.loop import EXHAUSTED
from notebook_agents.results import AgentResult, T
from notebook_agents.run import Run
from notebook_agents.waiting import Waiter

if TYPE_CHECKING:
    from notebook_agents.structured import OutputType

__all__ = ["AgentStream"]


READING_SHARE = 10.0
"""How many times longer to wait than it took to read what had come of an answer."""


class AgentStream(Generic[T]):
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

    def __init__(self, start: Callable[[], Run[T]], waiter: Waiter) -> None:
        self._start = start
        self._waiter = waiter
        self._run: Run[T] | None = None
        self._is_taken = False

    @property
    def run(self) -> Run[T]:
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
        self._take()
        return self._events()

    def partials(self, *, every: float = 0.1) -> AsyncGenerator[T, None]:
        """Read the answer as a value that grows, where it has a type.

        What has not arrived yet is None in a model or a dataclass, or has its
        default, and is left out of a list or a dict. Where the model has to
        correct its answer, the values begin anew.

        Parameters
        ----------
        every : float, default 0.1
            Seconds between two values, at least; more where reading a long
            answer takes long.

        Returns
        -------
        async generator of T
            The last one is the whole answer, validated; those before are checked
            field by field, and no rule of yours is asked.

        Raises
        ------
        RuntimeError
            If somebody reads the stream already.

        Examples
        --------
        >>> import asyncio
        >>> from notebook_agents import Agent, ScriptedProvider
        >>> agent = Agent(ScriptedProvider(['["tea", "milk"]']), output_type=list[str])
        >>> async def read():
        ...     async for value in agent.stream("What to buy?").partials():
        ...         last = value
        ...     return last
        >>> asyncio.run(read())
        ['tea', 'milk']
        """
        self._take()
        return self._partials(every)

    async def result(self) -> AgentResult[T]:
        """Await the end of the run.

        Returns
        -------
        AgentResult
            As from ``agent.run(...)``.

        Raises
        ------
        CancelledError
            If this is cancelled, which stops the run.
        RunCancelledError
            If the run was stopped by others.
        """
        self._waiter.attend()
        try:
            return await self.run.result(waiter=self._waiter)
        except asyncio.CancelledError:
            self.run.cancel()
            raise
        except RunCancelledError:
            # An interrupted tool may have ended the run before the cell was.
            self._waiter.raise_if_stopped()
            raise

    def cancel(self) -> None:
        """Stop the run."""
        self.run.cancel()

    def _take(self) -> None:
        if self._is_taken:
            message = (
                "This stream is being read already. A stream has one reader; "
                "`stream.run.events()` gives more."
            )
            raise RuntimeError(message)
        self._is_taken = True

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

    async def _partials(self, every: float) -> AsyncGenerator[T, None]:
        kind = self.run.output_type
        if kind is None:
            self.run.cancel()
            message = "Values that grow need a type: pass output_type= to stream()."
            raise AgentConfigurationError(message)
        answer, due, last = _AnswerText(), 0.0, None
        answer.read(kind)  # the first time takes longer: what reads is made
        events = self._events()
        try:
            async for event in events:
                began = time.monotonic()
                if not answer.take(event):
                    continue
                if began < due and not self._has_more(event):
                    await self._pause(due - began)
                    began = time.monotonic()
                # What came meanwhile is read as well, unless there is no end of it.
                if self._has_more(event) and began < due + every:
                    continue
                value = answer.read(kind)
                now = time.monotonic()
                due = now + max(every, READING_SHARE * (now - began))
                if value is not None and value != last:
                    last = value
                    yield value
        finally:
            await events.aclose()
        yield (await self.result()).output

    async def _pause(self, seconds: float) -> None:
        """Wait a while, or for the end of the run if that comes first."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.run.ended()

    def _has_more(self, event: Event) -> bool:
        return event.seq < len(self.run.recorded)

    async def _texts(
        self, events: AsyncGenerator[Event, None]
    ) -> AsyncGenerator[str, None]:
        step = 0  # of the text that has been given away
        try:
            async for event in events:
                if isinstance(event, TokenEvent) and event.channel == "answer":
                    step = event.step
                    yield event.text
                elif isinstance(event, ErrorEvent) and event.reason == LIMIT:
                    yield EXHAUSTED
                elif isinstance(event, RetryEvent) and event.step == step:
                    _check_text(event)
        finally:
            await events.aclose()


def _check_text(event: RetryEvent) -> None:
    """Refuse to go on with the words of another model after those that are read."""
    if event.model and event.discard_partial:
        message = (
            f"The reply broke off ({event.reason}), and what has been read as text "
            "cannot be taken back. Run it again, or read stream.events(), which says "
            "when another model begins anew."
        )
        raise StreamInterruptedError(message, retryable=True)


class _AnswerText:
    """The text of the answer so far."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._step = 0

    def take(self, event: Event) -> bool:
        """Take in an event; whether it has added to the text."""
        if isinstance(event, RetryEvent) and event.discard_partial:
            self._pieces.clear()
        if not isinstance(event, TokenEvent) or event.channel != "answer":
            return False
        if event.step != self._step:
            self._step = event.step
            self._pieces.clear()
        self._pieces.append(event.text)
        return True

    def read(self, kind: OutputType) -> Any:
        """Read what there is as a value; None if it is none yet."""
        self._pieces = ["".join(self._pieces)]
        try:
            return kind.read_beginning(self._pieces[0])
        except Exception:  # noqa: BLE001 - a type of the user's may raise anything
            return None


LIMIT = "max_steps_reached"
