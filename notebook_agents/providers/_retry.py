"""When to try again: what the service asks for, else a growing, random wait."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

from notebook_agents.providers._failures import Failure
from notebook_agents.providers.deltas import RetryDelta

__all__ = ["Retries", "asked_wait", "may_retry", "retried", "wait_before"]

logger = logging.getLogger(__name__)

T = TypeVar("T")

FIRST_SECONDS = 0.5
MOST_SECONDS = 8.0
MOST_ASKED_SECONDS = 120.0


def wait_before(retry: int, asked_s: float | None = None) -> float:
    """Say how long to wait.

    Parameters
    ----------
    retry : int
        Which retry it is, from 1.
    asked_s : float, optional
        Seconds that the service asks for.

    Returns
    -------
    float
        Seconds: what was asked for, up to 120; else anything between zero and
        0.5, 1, 2, 4, 8, 8, ... [1]_.

    References
    ----------
    .. [1] M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog,
       2015: "full jitter".
    """
    if asked_s is not None:
        return min(asked_s, MOST_ASKED_SECONDS)
    most = min(FIRST_SECONDS * 2 ** min(retry - 1, 16), MOST_SECONDS)
    return random.uniform(0, most)  # noqa: S311 - no secret


class Retries:
    """Counts how often one request was tried again, and says whether it will be.

    Parameters
    ----------
    most : int
        Further tries after the first that the user allows.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._made = 0

    def after(self, failure: Failure, *, is_last: bool = False) -> RetryDelta:
        """Give what is told before the next try; its ``wait_s`` is to be waited.

        Parameters
        ----------
        failure : Failure
            How the latest try ended.
        is_last : bool, default False
            Whether another try makes no sense any more.

        Returns
        -------
        RetryDelta
            The number of the next try, why, and how long to wait for it.

        Raises
        ------
        NotebookAgentsError
            What the failure is about, if it is not tried again.
        """
        if is_last or self._made >= failure.retries(self._most):
            raise failure.error from failure.__cause__
        self._made += 1
        wait_s = wait_before(self._made, failure.wait_s)
        logger.info("%s; trying again in %.1f s", failure.reason, wait_s)
        return RetryDelta(self._made, wait_s, failure.reason)


async def retried(attempt: Callable[[], Awaitable[T]], *, most: int) -> T:
    """Try until it succeeds, or trying again makes no sense any more.

    Parameters
    ----------
    attempt : callable
        Tries once, and raises a `Failure`.
    most : int
        Further tries after the first.

    Returns
    -------
    T
        What the attempt gave.

    Raises
    ------
    NotebookAgentsError
        What the last failure is about.
    """
    retries = Retries(most)
    while True:
        try:
            return await attempt()
        except Failure as caught:
            failure = caught
        await asyncio.sleep(retries.after(failure).wait_s)


def asked_wait(
    headers: Mapping[str, str], *, now: datetime | None = None
) -> float | None:
    """Read how long a service asks to wait.

    Parameters
    ----------
    headers : mapping of str to str
        Of the reply; names in lower case.
    now : datetime, optional
        The time, for a header that names a date.

    Returns
    -------
    float or None
        Seconds, not negative; None if it does not say.

    Examples
    --------
    >>> asked_wait({"retry-after-ms": "1500", "retry-after": "7"})
    1.5
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None or not value:
        return seconds
    try:
        date = parsedate_to_datetime(value)
    except ValueError:
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return max(0.0, (date - (now or datetime.now(UTC))).total_seconds())


def may_retry(headers: Mapping[str, str]) -> bool | None:
    """Read whether a service wants the request again; None if it does not say."""
    return {"true": True, "false": False}.get(headers.get("x-should-retry", ""))


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    # "nan" and "inf" are numbers to float, but no time to wait.
    return number if 0 <= number < float("inf") else None
