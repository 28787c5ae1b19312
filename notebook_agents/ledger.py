"""`Ledger`: what the runs of an agent took, for as long as the process lives."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from notebook_agents.events import (
    ActionEvent,
    ApprovalResultEvent,
    Event,
    ObservationEvent,
    RetryEvent,
    TokenEvent,
)
from notebook_agents.question import shown

if TYPE_CHECKING:
    from notebook_agents.results import AgentResult

__all__ = ["CallFacts", "Ledger", "RunFacts", "StepFacts", "Totals", "process_totals"]

MOST_RUNS = 500
"""Runs of which the single calls are remembered; the sums are of all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Sums over runs.

    Parameters
    ----------
    runs : int
        How many there were.
    model_calls, tool_calls : int
        How often a model and a tool were called.
    prompt_tokens, completion_tokens, reasoning_tokens : int
        Tokens read, written, and the part of them spent on reasoning.
    cost : float or None
        US dollars, of the runs whose price is known; None if that is none.
    seconds : float
        Time from the beginning of each run to its end.
    """

    runs: int = 0
    model_calls: int = 0
    tool_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    cost: float | None = None
    seconds: float = 0.0

    def plus(self, other: Totals, *, times: int = 1) -> Totals:
        """Add others, or take them away (``times=-1``)."""
        costs = [each for each in (self.cost, other.cost) if each is not None]
        return Totals(
            runs=self.runs + times * other.runs,
            model_calls=self.model_calls + times * other.model_calls,
            tool_calls=self.tool_calls + times * other.tool_calls,
            prompt_tokens=self.prompt_tokens + times * other.prompt_tokens,
            completion_tokens=self.completion_tokens + times * other.completion_tokens,
            reasoning_tokens=self.reasoning_tokens + times * other.reasoning_tokens,
            cost=(self.cost or 0.0) + times * (other.cost or 0.0) if costs else None,
            seconds=self.seconds + times * other.seconds,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFacts:
    """What one model call took: tokens read and written, and seconds."""

    prompt_tokens: int
    completion_tokens: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFacts:
    """What one tool call took, and who decided about it."""

    seconds: float = 0.0
    status: str = ""
    decision: str = ""
    decided_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """What is remembered of one run.

    Parameters
    ----------
    run_id, model : str
        Identifier, and what answered.
    began_at : float
        Seconds since the epoch.
    prompt, answer : str
        First and last text, by which its turn is known in a conversation.
    steps : tuple of StepFacts
        One for each model call.
    calls : mapping of str to CallFacts
        By identifier of the call.
    """

    run_id: str
    model: str
    began_at: float
    prompt: str
    answer: str
    steps: tuple[StepFacts, ...]
    calls: Mapping[str, CallFacts]

    @classmethod
    def of(cls, result: AgentResult[Any]) -> RunFacts:
        """Gather the facts of a run from its events."""
        # Most events are tokens, and none of them says anything here.
        events = [each for each in result.events if not isinstance(each, TokenEvent)]
        new = result.new_messages
        return cls(
            run_id=result.run_id,
            model=result.model,
            began_at=events[0].ts if events else 0.0,
            prompt=shown(new[0]["content"]) if new else "",
            answer=result.answer,
            steps=tuple(_steps(events)),
            calls=_calls(events),
        )


class Ledger:
    """What runs took; callable from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sums: dict[str, dict[str, Any]] = {}
        """The fields of `Totals`, by model; a value for each run takes longer."""
        self._runs: deque[RunFacts] = deque(maxlen=MOST_RUNS)

    def add(self, result: AgentResult[Any], *, requests: int) -> None:
        """Write down one run.

        Parameters
        ----------
        result : AgentResult
            Its outcome, good or not.
        requests : int
            The model calls that were sent; a run without any took nothing.
        """
        if not requests:
            return
        counts, facts = _counts(result, requests), RunFacts.of(result)
        for ledger in (self, _PROCESS):
            ledger._add(result.model, counts)  # noqa: SLF001 - of the same class
        with self._lock:
            self._runs.append(facts)

    def totals(self) -> dict[str, Totals]:
        """Give the sums by model, in the order of first use.

        Returns
        -------
        dict of str to Totals
            The keys are ``provider:model``.
        """
        with self._lock:
            return {model: Totals(**sums) for model, sums in self._sums.items()}

    def runs(self) -> list[RunFacts]:
        """Give the latest runs, oldest first."""
        with self._lock:
            return list(self._runs)

    def _add(self, model: str, counts: Mapping[str, float]) -> None:
        with self._lock:
            sums = self._sums.setdefault(model, {})
            for name, count in counts.items():
                sums[name] = sums.get(name, 0) + count


_PROCESS = Ledger()


def process_totals() -> dict[str, Totals]:
    """Give the sums over all agents of this process, also those that are gone.

    Returns
    -------
    dict of str to Totals
        The keys are ``provider:model``.
    """
    return _PROCESS.totals()


def _counts(result: AgentResult[Any], requests: int) -> dict[str, float]:
    """Count one run; its cost only where that is known."""
    counts = {
        "runs": 1,
        "model_calls": requests,
        "tool_calls": len(result.tool_calls),
        "prompt_tokens": result.prompt_tokens,
        "completion_tokens": result.completion_tokens,
        "reasoning_tokens": result.reasoning_tokens,
        "seconds": result.latency_ms / 1000,
    }
    return counts if result.cost is None else counts | {"cost": result.cost}


def _steps(events: Sequence[Event]) -> Iterator[StepFacts]:
    """Tell model calls apart by what follows their text, which is left out."""
    step, began_at = 0, events[0].ts if events else 0.0
    read = written = 0
    for event in events:
        if event.step > step and not isinstance(event, RetryEvent):
            step, usage = event.step, event.usage
            yield StepFacts(
                prompt_tokens=usage.prompt_tokens - read,
                completion_tokens=usage.completion_tokens - written,
                seconds=event.ts - began_at,
            )
            read, written = usage.prompt_tokens, usage.completion_tokens
        if event.step == step:
            began_at = event.ts


def _calls(events: Iterable[Event]) -> dict[str, CallFacts]:
    calls: dict[str, CallFacts] = {}
    for event in events:
        if isinstance(event, ActionEvent):
            calls[event.call_id] = CallFacts()
        elif isinstance(event, ApprovalResultEvent) and event.call_id in calls:
            calls[event.call_id] = replace(
                calls[event.call_id], decision=event.decision, decided_by=event.by
            )
        elif isinstance(event, ObservationEvent) and event.call_id in calls:
            calls[event.call_id] = replace(
                calls[event.call_id], seconds=event.seconds, status=event.status
            )
    return calls
