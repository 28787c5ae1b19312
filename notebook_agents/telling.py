"""`Teller`: calls the user's ``on_event``, which must not hold a run up."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

from notebook_agents.events import Event, ProgressEvent, TokenEvent
from notebook_agents.patience import dismiss, guarded
from notebook_agents.waiting import fit_for_a_future

__all__ = ["OnEvent", "Teller"]

logger = logging.getLogger(__name__)

EVENT_SECONDS = 30.0
"""How long an async ``on_event`` may take over one event."""
DISMISS_SECONDS = 0.2
"""How long it may clean up when the run is stopped meanwhile."""

OnEvent = Callable[[dict[str, Any]], Any]


class Teller:
    """Tell somebody what happens in a run, but for tokens and progress.

    Parameters
    ----------
    on_event : callable or None
        Called with each event as a dict, sync or async.
    """

    def __init__(self, on_event: OnEvent | None) -> None:
        self._on_event = on_event

    async def tell_all(self, events: Sequence[Event]) -> None:
        """Tell several events, one after the other."""
        for event in events:
            await self.tell(event)

    async def tell(self, event: Event) -> None:
        """Tell one event; a failure is logged, and the run goes on.

        Parameters
        ----------
        event : Event
            What happened.

        Raises
        ------
        RuntimeError
            For ``SystemExit`` and the like, which must not end a loop.
        """
        if self._on_event is None or isinstance(event, TokenEvent | ProgressEvent):
            return
        try:
            returned = self._on_event(event.to_dict())
        except (Exception, asyncio.CancelledError):
            logger.exception("on_event failed; the run goes on")
            return
        except BaseException as error:
            wrapped = fit_for_a_future(error)
            raise wrapped from error
        if inspect.isawaitable(returned):
            await _heard(returned)


async def _heard(returned: Awaitable[Any]) -> None:
    task = asyncio.create_task(guarded(lambda: _logged(returned)), name="on_event")
    is_heard = False
    try:
        done, _ = await asyncio.wait([task], timeout=EVENT_SECONDS)
        is_heard = bool(done)
    finally:
        if not is_heard:
            await dismiss(task, seconds=DISMISS_SECONDS)
        if inspect.iscoroutine(returned) and _is_fresh(returned):
            returned.close()  # stopped before it began
    if is_heard:
        task.result()
    else:
        logger.warning("on_event took more than %g s; the run goes on", EVENT_SECONDS)


def _is_fresh(coroutine: Coroutine[Any, Any, Any]) -> bool:
    return inspect.getcoroutinestate(coroutine) == inspect.CORO_CREATED


async def _logged(returned: Awaitable[Any]) -> None:
    try:
        await returned
    except Exception:
        logger.exception("on_event failed; the run goes on")
