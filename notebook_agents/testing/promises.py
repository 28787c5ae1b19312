"""Numbered promises of a part that anybody may write, and how to check them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Generic, TypeVar

__all__ = ["Promise", "check_promises"]

S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Promise(Generic[S]):
    """One promise, and how to check it.

    Parameters
    ----------
    number : int
        Its number, which stays the same for good.
    text : str
        The promise, one sentence.
    check : callable
        Takes a fresh subject, and raises AssertionError if it breaks the
        promise.
    """

    number: int
    text: str
    check: Callable[[S], None]

    def __str__(self) -> str:
        return f"{self.number}. {self.text}"


def check_promises(
    make: Callable[[], AbstractContextManager[S]],
    promises: Sequence[Promise[S]],
    *,
    optional: Collection[int],
    numbers: Collection[int] | None = None,
) -> list[Promise[S]]:
    """Check promises, each on a fresh subject.

    Parameters
    ----------
    make : callable
        Gives a subject in a context that closes it.
    promises : sequence of Promise
        What to check, in this order.
    optional : collection of int
        Those for which a NotImplementedError is allowed.
    numbers : collection of int, optional
        The ones to check; all when left out.

    Returns
    -------
    list of Promise
        What the subject says that it does not offer.

    Raises
    ------
    AssertionError
        At the first broken promise; the message begins with its number.
    """
    skipped = []
    for promise in promises:
        if numbers is not None and promise.number not in numbers:
            continue
        with make() as subject:
            try:
                promise.check(subject)
            except NotImplementedError as error:
                if promise.number not in optional:
                    raise AssertionError(_complaint(promise, error)) from error
                skipped.append(promise)
            except Exception as error:
                raise AssertionError(_complaint(promise, error)) from error
    return skipped


def _complaint(promise: Promise[S], error: Exception) -> str:
    return f"Promise {promise} Broken: {str(error) or type(error).__name__}"
