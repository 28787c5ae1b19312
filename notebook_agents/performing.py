"""`Performance`: one execution of a tool's function, its progress and its result."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from notebook_agents.beneath import beneath
from notebook_agents.errors import ToolRetry, ToolTimeoutError
from notebook_agents.events import Event, ProgressEvent
from notebook_agents.flattening import Events
from notebook_agents.nested_loops import nesting_hint
from notebook_agents.patience import guarded
from notebook_agents.tools.call import BoundCall
from notebook_agents.tools.definition import ToolDefinition
from notebook_agents.tools.execution import Outcome, execute
from notebook_agents.tools.observation import bundle_of, cut, is_light, text_of
from notebook_agents.tools.progress import Progress, Reports
from notebook_agents.tools.summary import is_data
from notebook_agents.turn import Turn
from notebook_agents.waiting import in_thread

__all__ = ["Ended", "Failure", "Performance", "last_try"]

AT_ONCE = 50
"""Reports of one call that are told as they come."""
PACE_SECONDS = 0.1
"""How often the latest of the rest is told."""
FAILED = "Tool execution failed: "
TRY_AGAIN = "Try again with other arguments."


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a call gave no result, and what is said around that."""

    before: str = FAILED
    after: str = ""
    reason: str = "raised"
    detail: str = ""
    """For people: the traceback."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a call ended: in words for the model, and as a person sees it."""

    text: str
    """What came out of the tool, or what went wrong."""
    bundle: Mapping[str, Any] = field(default_factory=dict)
    value: Any = None
    status: str = "done"
    failure: Failure | None = None

    @property
    def content(self) -> str:
        """What the model reads."""
        if self.failure is None:
            return self.text
        return cut(f"{self.failure.before}{self.text}{self.failure.after}")

    def screened(self, text: str, *, is_blocked: bool) -> Ended:
        """Give the same with what the guards have left of the text."""
        status = "failed" if is_blocked else self.status
        # What a guard took out of the text stands in everything else as well.
        failure = self.failure and replace(self.failure, detail="")
        return Ended(text, status=status, failure=failure)


class Performance:
    """One execution of a tool's function.

    Parameters
    ----------
    turn : Turn
        The turn it belongs to.
    call_id : str
        The call.
    definition : ToolDefinition
        The tool.
    bound : BoundCall
        Its arguments.
    """

    def __init__(
        self, turn: Turn, call_id: str, definition: ToolDefinition, bound: BoundCall
    ) -> None:
        self.outcome = Outcome()
        """What became of it; set at the end."""
        self.seconds = 0.0
        """How long it took."""
        self._turn = turn
        self._call_id = call_id
        self._definition = definition
        self._bound = bound

    async def run(self) -> list[Event]:
        """Run the function, and give what it reported after all."""
        said: deque[Progress] = deque(maxlen=AT_ONCE)
        began = time.monotonic()
        context = self._turn.context(said.append)
        with beneath(self._turn):
            self.outcome = await execute(self._definition, self._bound, context)
        self.seconds = time.monotonic() - began
        return [self._event(progress) for progress in said]

    async def run_and_tell(self) -> Events:
        """Run the function; of many reports, tell the latest now and then."""
        reports, began, count = Reports(), time.monotonic(), 0
        context = self._turn.context(reports.put)
        work = partial(execute, self._definition, self._bound, context)
        with beneath(self._turn):  # for the task, which takes a copy of this context
            task = asyncio.create_task(guarded(work))
        task.add_done_callback(lambda _: reports.end())
        try:
            while not task.done():
                await reports.wait()
                new = reports.take()
                for progress in new if count < AT_ONCE else new[-1:]:
                    yield self._event(progress)
                count += len(new)
                if count >= AT_ONCE:
                    await asyncio.wait([task], timeout=PACE_SECONDS)
            for progress in reports.take():
                yield self._event(progress)
            self.outcome = task.result()
            self.seconds = time.monotonic() - began
        finally:
            await _stopped(task)

    async def ended(self) -> Ended:
        """Put what became of it into words; objects are kept for later calls."""
        if self.outcome.error is not None:
            return self._failed(self.outcome.error)
        value = self.outcome.value
        if is_light(value):
            return Ended(text_of(value, self._keep), value=value)

        def tell() -> Ended:
            try:
                return Ended(text_of(value, self._keep), bundle_of(value), value)
            except Exception as error:  # noqa: BLE001 - it may even refuse to say its class
                return self._failed(error)

        # To look through a large table takes its time, and the user's code any.
        return await in_thread(tell, name=f"tool {self._definition.name}")

    def _failed(self, error: BaseException) -> Ended:
        text, failure = (
            _line(self._definition, error),
            Failure(detail=self.outcome.detail),
        )
        if isinstance(error, ToolRetry):
            last = last_try(self._turn, self._definition)
            failure = replace(failure, after=last)
            if not last:
                text = _words_of(error) or TRY_AGAIN
                failure = Failure(before="", reason=type(error).__name__)
        return Ended(cut(text), status="failed", failure=failure)

    def _keep(self, value: object) -> str | None:
        """Keep a table or an array, and whatever else a tool could take."""
        turn = self._turn
        kinds = (kind for t in turn.tools.values() for kind in t.arguments.kinds)
        if not is_data(value) and not any(kind.fits(value) for kind in kinds):
            return None
        return turn.around.variables.keep(
            value, lambda: (said.content for said in (*turn.prior, *turn.said))
        )

    def _event(self, progress: Progress) -> ProgressEvent:
        # Nobody sees words of a tool that its guards have not seen.
        message = "" if self._turn.guards.results else progress.message
        return self._turn.event(
            ProgressEvent,
            tool=self._definition.name,
            call_id=self._call_id,
            done=progress.done,
            total=progress.total,
            message=message,
        )


def last_try(turn: Turn, definition: ToolDefinition) -> str:
    """Count a mistake of the model.

    Parameters
    ----------
    turn : Turn
        The turn it was made in.
    definition : ToolDefinition
        The tool, which says how many there may be.

    Returns
    -------
    str
        What to tell the model after the last one, empty before.
    """
    turn.mistakes[definition.name] += 1
    has_more = turn.mistakes[definition.name] <= definition.retries
    return "" if has_more else f" Do not call {definition.name!r} in this run again."


def _line(definition: ToolDefinition, error: BaseException) -> str:
    name, words = type(error).__name__, _words_of(error)
    if isinstance(error, ToolTimeoutError):
        return words
    hint = nesting_hint(error, is_async=definition.is_async)
    return f"{name}: {words}{hint}" if words else name


def _words_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - the error is the user's, and may do anything
        return ""


async def _stopped(task: asyncio.Task[Outcome]) -> None:
    """Stop what still runs, and wait until it has cleaned up."""
    if task.cancel():
        await asyncio.wait([task])
    if not task.cancelled():
        task.exception()  # seen: whoever stopped it does not ask
