"""How much may be asked of a service: at a time, and a minute.

What is asked is counted by service, key and model, in the whole process: all
objects that ask the same share what there is, and a cell that makes its provider
again does not begin at zero. Nobody overtakes.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import math
import os
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from notebook_agents.messages import CHARACTERS_A_FILE, CHARACTERS_A_TOKEN
from notebook_agents.providers._failures import Failure
from notebook_agents.providers.deltas import Delta, ModelReply, ModelRequest, RetryDelta

__all__ = ["Limits", "Place", "estimated_tokens", "limited", "tokens_in"]

MINUTE = 60.0
TELL_SECONDS = 1.0
"""How long to wait before saying so."""
LOOK_SECONDS = 1.0
"""How often to look whether those in front are still there."""

_lock = threading.Lock()
_accounts: dict[tuple[str, ...], _Account] = {}


def _forget_after_fork() -> None:
    # What the parent asks is not under way here, and its lock may be held.
    global _lock  # noqa: PLW0603 - the one lock of the process
    _lock = threading.Lock()
    _accounts.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one provider may ask.

    Parameters
    ----------
    url, model : str
        Whom.
    concurrency : int or None
        Most requests at the same time.
    requests, tokens : int or None
        Most requests, and tokens read and written, within any minute.
    """

    url: str = field(repr=False)  # a key may stand in it
    model: str
    concurrency: int | None = None
    requests: int | None = None
    tokens: int | None = None

    @property
    def has_any(self) -> bool:
        """Whether there is any limit at all."""
        return not (self.concurrency is self.requests is self.tokens is None)

    def place(self, key: str, *, tokens: int) -> Place:
        """Stand in line with a request.

        Parameters
        ----------
        key : str
            With which the service is asked.
        tokens : int
            What it may come to, as far as can be known.

        Returns
        -------
        Place
            To be left again, also if it was never admitted.
        """
        # Not the key itself, which nothing shall show.
        account = (self.url, hashlib.blake2b(key.encode()).hexdigest(), self.model)
        with _lock:
            if account not in _accounts:
                for idle in [a for a, used in _accounts.items() if used.is_idle()]:
                    del _accounts[idle]
                _accounts[account] = _Account()
            return Place(_accounts[account], self, tokens)


class _Account:
    """What was asked of one service with one key; only touched under the lock."""

    def __init__(self) -> None:
        self.line: deque[Place] = deque()
        """Who waits, in the order of coming."""
        self.under_way: set[Place] = set()
        self.lately: deque[Place] = deque()
        """What began within the last minute, in that order."""
        self.tokens = 0
        """Of those."""

    def is_idle(self) -> bool:
        self.forget()
        return not (self.line or self.under_way or self.lately)

    def forget(self) -> None:
        """Leave out what began more than a minute ago."""
        past = time.monotonic() - MINUTE
        while self.lately and self.lately[0].began <= past:
            self.tokens -= self.lately.popleft().tokens

    def seconds_until(self, place: Place) -> float:
        """Say when a request may begin; infinity for when another one ends."""
        limits = place.limits
        if limits.concurrency is not None:
            self.under_way = {each for each in self.under_way if each.is_there()}
            if len(self.under_way) >= limits.concurrency:
                return math.inf
        self.forget()
        began = -math.inf  # of the last one that has to be a minute old
        if limits.requests is not None and len(self.lately) >= limits.requests:
            began = self.lately[-limits.requests].began
        if limits.tokens is not None:
            # One that is larger than a minute's worth waits for all, and goes alone.
            over = self.tokens + place.tokens - limits.tokens
            for each in self.lately:
                if over <= 0:
                    break
                over -= each.tokens
                began = max(began, each.began)
        return max(0.0, began + MINUTE - time.monotonic())

    def first(self) -> Place | None:
        """Give whose turn it is; who has gone without a word is left out."""
        while self.line and not self.line[0].is_there():
            self.line.popleft().is_in_line = False
        return self.line[0] if self.line else None

    def wake(self) -> None:
        """Let the first in line look again."""
        place = self.first()
        if place is not None:
            place.wake()


class Place:
    """The place of one request in the line, and among those under way.

    Parameters
    ----------
    account : _Account
        Where it is counted.
    limits : Limits
        What it has to keep.
    tokens : int
        What it may come to.
    """

    def __init__(self, account: _Account, limits: Limits, tokens: int) -> None:
        self.limits = limits
        self.tokens = tokens
        self.began = math.inf
        """When, by the monotonic clock."""
        self.is_in_line = False
        self._account = account
        self._loop = asyncio.get_running_loop()
        self._awake = asyncio.Event()
        self._stand_in_line()

    async def __aenter__(self) -> Self:
        try:
            await self.admitted()
        except BaseException:  # what was never entered is not left either
            self.leave()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.leave()

    def is_there(self) -> bool:
        """Tell whether its loop still turns; else nobody would ever leave for it."""
        return self._loop.is_running()

    async def admitted(self, *, within: float = math.inf) -> bool:
        """Wait until the request may begin.

        Parameters
        ----------
        within : float
            Seconds to wait at most.

        Returns
        -------
        bool
            Whether it may begin now.
        """
        end = time.monotonic() + within
        while (wait := self._begin()) > 0:
            left = end - time.monotonic()
            if left <= 0:
                return False
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(wait, left, LOOK_SECONDS)):
                    await self._awake.wait()
        return True

    def notice(self) -> RetryDelta:
        """Say what is waited for."""
        with _lock:
            wait = self._account.seconds_until(self)
            is_next = self._account.first() is self
        why = "other requests to end" if wait == math.inf else "the rate limit"
        wait_s = round(wait, 1) if is_next and wait < math.inf else 0.0
        return RetryDelta(0, wait_s, f"waiting for {why}")

    def count(self, tokens: int) -> None:
        """Say how many tokens it was in the end."""
        with _lock:
            if self in self._account.lately:
                self._account.tokens += tokens - self.tokens
            self.tokens = tokens
            self._account.wake()

    def count_in(self, reply: object) -> None:
        """Count what a whole reply says that it was."""
        usage = reply.get("usage") if isinstance(reply, Mapping) else None
        total = usage.get("total_tokens") if isinstance(usage, Mapping) else None
        if isinstance(total, int):
            self.count(total)

    def leave(self) -> None:
        """Give the place back: the request has ended, or nobody waits for it."""
        with _lock:
            self._account.under_way.discard(self)
            if self.is_in_line:
                self._account.line.remove(self)
                self.is_in_line = False
            self._account.wake()

    def wake(self) -> None:
        """Let it look again whether it may begin; from any thread."""
        with contextlib.suppress(RuntimeError):  # its loop has been closed just now
            self._loop.call_soon_threadsafe(self._awake.set)

    def _begin(self) -> float:
        """Begin if it may; else give the seconds to wait."""
        account = self._account
        with _lock:
            self._awake.clear()
            if not self.is_in_line:  # its loop had stopped, and goes on again
                self._stand_in_line()
            if account.first() is not self:
                return math.inf
            wait = account.seconds_until(self)
            if wait > 0:
                return wait
            account.line.popleft().is_in_line = False
            self.began = time.monotonic()
            account.under_way.add(self)
            account.lately.append(self)
            account.tokens += self.tokens
            account.wake()
            return 0.0

    def _stand_in_line(self) -> None:
        self._account.line.append(self)
        self.is_in_line = True


async def limited(
    deltas: AsyncGenerator[Delta, None], stand_in_line: Callable[[], Place]
) -> AsyncGenerator[Delta, None]:
    """Ask as soon as it may be.

    Parameters
    ----------
    deltas : async generator of Delta
        The reply; asking begins with the first look at it.
    stand_in_line : callable
        Gives a place, which is left at the end.

    Yields
    ------
    TextDelta, ReasoningDelta, RetryDelta or ModelReply
        A `RetryDelta` first if it has to wait for more than a second.

    Raises
    ------
    Failure
        Whatever the reply raises.
    """
    place = stand_in_line()
    try:
        if not await place.admitted(within=TELL_SECONDS):
            yield place.notice()
            await place.admitted()
        async for delta in deltas:
            if isinstance(delta, ModelReply):
                usage = delta.usage
                if usage.prompt_tokens:  # else the service does not count
                    place.count(usage.prompt_tokens + usage.completion_tokens)
            yield delta
    except Failure as failure:
        if getattr(failure.error, "provider_status", None) is not None:
            place.count(0)  # refused, so nothing was read or written
        raise
    finally:
        place.leave()
        await deltas.aclose()


def estimated_tokens(request: ModelRequest) -> int:
    """Say how many tokens a request may come to: its own, and what may be written."""
    calls = [call for message in request.messages for call in message.tool_calls]
    said = [message.content for message in request.messages]
    written = [(call.name, call.arguments) for call in calls]
    return tokens_in(said, written, request.tools) + request.max_tokens


def tokens_in(*values: object) -> int:
    """Estimate the tokens of JSON values; a file is not read as text."""
    return math.ceil(_characters_in(values) / CHARACTERS_A_TOKEN)


def _characters_in(value: object) -> int:
    if isinstance(value, str):
        return CHARACTERS_A_FILE if value.startswith("data:") else len(value)
    if isinstance(value, Mapping):
        return sum(map(_characters_in, value.values()))
    if isinstance(value, Iterable):
        return sum(map(_characters_in, value))
    return 0
