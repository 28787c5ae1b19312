"""`CellRenderer`: the transcript of a run, kept up to date in the cell.

Every segment has a display of its own. Text is on screen within a tenth of a
second, and there are at most ten rounds of updates a second however fast the
model is; the last update is what the notebook saves.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from typing import Any, Literal

from IPython.display import DisplayHandle

from notebook_agents.events import (
    AnswerEvent,
    ApprovalRequestedEvent,
    ApprovalResultEvent,
    ErrorEvent,
    Event,
    ObservationEvent,
)
from notebook_agents.jupyter.html import header
from notebook_agents.jupyter.transcript import Transcript
from notebook_agents.messages import Usage
from notebook_agents.run import Run

__all__ = ["CellRenderer"]

logger = logging.getLogger(__name__)

SECONDS_BETWEEN_UPDATES = 0.1
SECONDS_BETWEEN_CLOCKS = 1.0

_State = Literal["running", "waiting", "done", "failed", "cancelled"]


class CellRenderer:
    """Show one run in the calling cell.

    Parameters
    ----------
    agent, model : str
        Names for the line above.
    note : str
        Anything else to say there.
    """

    def __init__(self, *, agent: str, model: str, note: str = "") -> None:
        self._names = {"agent": agent, "model": model, "note": note}
        self._transcript = Transcript()
        self._displays: dict[str, DisplayHandle] = {}
        self._stale: dict[str, None] = {}
        self._shown_elsewhere: set[str] = set()
        self._asked: set[str] = set()
        self._state: _State = "running"
        self._told_state: _State = "running"
        self._usage = Usage()
        self._run: Run | None = None
        self._seen = 0
        self._began = time.monotonic()
        self._updated = float("-inf")
        self._timer: asyncio.TimerHandle | None = None
        self._header = DisplayHandle()
        self._header.display(self._header_bundle(), raw=True)

    async def follow(self, run: Run) -> None:
        """Show a run until it ends.

        Parameters
        ----------
        run : Run
            What to show.
        """
        self._run = run
        clock = asyncio.create_task(self._keep_time())
        try:
            async for _ in run.events():
                self._read()
        except Exception:
            # What cannot be shown must not end what is running.
            logger.exception("the run could not be shown to its end")
        finally:
            clock.cancel()
            self._flush()
            self._tell_state()

    def catch_up(self) -> None:
        """Show everything that has happened so far, now."""
        self._read()
        self._flush()

    def _read(self) -> None:
        events = self._run.recorded if self._run is not None else ()
        for event in events[self._seen :]:
            self._seen = event.seq
            self._apply(event)

    def _apply(self, event: Event) -> None:
        self._usage = event.usage
        changed = self._transcript.apply(event)
        if isinstance(event, ApprovalRequestedEvent):
            self._asked.add(event.request["id"])
        elif self._is_said_elsewhere(event):
            self._hide(changed)
        self._stale.update(dict.fromkeys(changed))
        self._state = self._state_after(event)
        if isinstance(event, ObservationEvent) and event.bundle:
            self._flush()
            DisplayHandle().display(_shown(event.bundle), raw=True)
        elif self._stale:
            self._flush_soon()

    def _is_said_elsewhere(self, event: Event) -> bool:
        if isinstance(event, ApprovalResultEvent):
            # Whoever asked has left a record of the answer already.
            return event.request_id in self._asked
        # What ends the cell is raised there, in a line of its own.
        return isinstance(event, ErrorEvent) and event.reason != "max_steps_reached"

    def _hide(self, changed: list[str]) -> None:
        kinds = {part.key: part.kind for part in self._transcript.segments}
        hidden = [key for key in changed if kinds[key] in {"approval", "notice"}]
        self._shown_elsewhere.update(hidden)

    def _state_after(self, event: Event) -> _State:
        if isinstance(event, AnswerEvent):
            return "done"
        if isinstance(event, ErrorEvent):
            return "cancelled" if event.reason == "cancelled" else "failed"
        if isinstance(event, ApprovalRequestedEvent):
            return "waiting"
        return "running"

    def _flush_soon(self) -> None:
        if self._timer is not None:
            return
        wait = self._updated + SECONDS_BETWEEN_UPDATES - time.monotonic()
        if wait <= 0:
            self._flush()
        else:
            self._timer = asyncio.get_running_loop().call_later(wait, self._flush)

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._state != self._told_state:
            self._tell_state()
        for key in self._stale:
            if key not in self._shown_elsewhere:
                self._show(key, self._transcript.bundle(key))
        self._stale.clear()
        self._updated = time.monotonic()

    def _show(self, key: str, bundle: dict[str, str]) -> None:
        display = self._displays.get(key)
        if display is not None:
            display.update(bundle, raw=True)
            return
        display = self._displays[key] = DisplayHandle()
        display.display(bundle, raw=True)

    async def _keep_time(self) -> None:
        while True:
            await asyncio.sleep(SECONDS_BETWEEN_CLOCKS)
            self._tell_state()

    def _tell_state(self) -> None:
        self._told_state = self._state
        self._header.update(self._header_bundle(), raw=True)

    def _header_bundle(self) -> dict[str, str]:
        return header(
            **self._names,
            state=self._state,
            seconds=time.monotonic() - self._began,
            usage=self._usage,
        )


def _shown(bundle: Mapping[str, Any]) -> dict[str, Any]:
    return {"text/plain": "", **bundle}
