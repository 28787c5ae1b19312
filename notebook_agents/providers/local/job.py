"""One piece of work for an engine, and the way its results take between threads."""

from __future__ import annotations

import asyncio
import http.client
import json
import urllib.parse
from collections import deque
from collections.abc import Callable
from typing import Any

__all__ = ["Chunk", "Job", "Work", "tokens_of"]

Chunk = dict[str, Any]
"""One message of the engine, in OpenAI's shape."""

Work = Callable[[Any, "Job"], None]
"""Does the job on the loaded server, in the engine's thread."""


class Job:
    """One piece of work, made on the event loop that waits for it.

    The engine's thread puts results in, the loop takes all that are there at
    once: a busy loop is woken once for many tokens.

    Parameters
    ----------
    work : callable
        Called with the loaded server and the job.
    """

    def __init__(self, work: Work) -> None:
        self.work = work
        self.is_stopped = False
        self._loop = asyncio.get_running_loop()
        self._arrived = asyncio.Event()
        self._chunks: deque[Chunk] = deque()
        self._is_done = False
        self._is_abandoned = False
        self._error: BaseException | None = None
        self._wake_is_pending = False

    def receive(self, chunk: Chunk) -> bool:
        """Take one result, in the engine's thread; true means stop."""
        if not self.is_stopped:
            self._chunks.append(chunk)
            self._wake()
        return self.is_stopped

    def finish(self) -> None:
        """Say that nothing more will come."""
        self._is_done = True
        self._wake()

    def fail(self, error: BaseException) -> None:
        """Say that the work failed; a stopped job takes no notice."""
        self._error = self._error or error
        self.is_stopped = True
        self.finish()

    def stop(self) -> None:
        """Ask the work to end; it is not waited for."""
        self.is_stopped = True

    def abandon(self) -> None:
        """End the work and tell nobody: the process ends."""
        self.is_stopped = True
        self._is_abandoned = True

    async def next_batch(self) -> list[Chunk]:
        """Wait for what has come since the last time; empty when all is done."""
        while True:
            # Read before the queue is emptied, so that nothing is missed.
            is_done = self._is_done
            batch = []
            while self._chunks:
                batch.append(self._chunks.popleft())
            if batch:
                return batch
            if is_done:
                break
            await self._arrived.wait()
            self._arrived.clear()
        if self._error is not None:
            raise self._error
        return []

    def _wake(self) -> None:
        if self._is_abandoned or (self._wake_is_pending and not self._is_done):
            return
        self._wake_is_pending = True
        try:
            self._loop.call_soon_threadsafe(self._on_wake)
        except RuntimeError:  # the loop was closed: nobody waits any more
            self.is_stopped = True

    def _on_wake(self) -> None:
        self._wake_is_pending = False
        self._arrived.set()


def tokens_of(address: str, api_key: str, text: str) -> list[int] | None:
    """Ask the engine's own loopback port for the tokens of a text.

    Parameters
    ----------
    address : str
        Where the engine listens.
    api_key : str
        Its key.
    text : str
        What to split.

    Returns
    -------
    list of int or None
        The tokens; None if the port does not answer as expected.

    Notes
    -----
    The binding has no call for it. `http.client` takes no notice of proxies,
    and 5 s is far more than a local answer needs.
    """
    place = urllib.parse.urlsplit(address)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=5)
    headers = {"Authorization": f"Bearer {api_key}", "Content-Type": "application/json"}
    try:
        connection.request("POST", "/tokenize", json.dumps({"content": text}), headers)
        tokens = json.loads(connection.getresponse().read())["tokens"]
    except (OSError, http.client.HTTPException, ValueError, KeyError):
        return None
    finally:
        connection.close()
    return list(tokens)
