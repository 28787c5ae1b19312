"""`Budget`: what a run may spend, and `Meter`, which looks before it spends."""

from __future__ import annotations

import contextvars
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from notebook_agents import checks
from notebook_agents.errors import AgentConfigurationError
from notebook_agents.history.groups import estimate_tokens
from notebook_agents.messages import CHARACTERS_A_TOKEN
from notebook_agents.pricing import ModelCall, cost_of
from notebook_agents.providers.base import BaseProvider, ModelRequest
from notebook_agents.spelling import by_name

__all__ = ["Budget", "Crossing", "Meter", "enclosing_meter", "meter_for", "spend_like"]


@by_name
@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What one run may spend, the runs of agents that it asks included.

    Parameters
    ----------
    usd : float, optional
        US dollars; needs the extra ``cost`` and a model whose price is known.
        A model on this machine costs nothing.
    tokens : int, optional
        Tokens read and written, of all model calls together.
    seconds : float, optional
        Wall-clock time, that of questions to a person included.
    tool_calls : int, optional
        Tool calls.

    Raises
    ------
    AgentConfigurationError
        If a limit is no number above 0.

    Notes
    -----
    A run stops *before* the call that would cross a limit. How long a prompt is
    gets estimated from its characters, and the reply is cut to what is left; so
    a limit in tokens or dollars is met as well as a token is four characters.

    Examples
    --------
    >>> from notebook_agents import Agent, Budget, ScriptedProvider, call
    >>> def look() -> str:
    ...     return "nothing"
    >>> script = [call("look"), call("look"), call("look"), "never said"]
    >>> budget = Budget(tool_calls=2)
    >>> agent = Agent(ScriptedProvider(script), [look], budget=budget)
    >>> result = agent.run_sync("Look around")
    >>> result.stop_reason, len(result.tool_calls)
    ('budget', 2)
    """

    usd: float | None = None
    tokens: int | None = None
    seconds: float | None = None
    tool_calls: int | None = None

    def __post_init__(self) -> None:
        for name, limit in self.limits():
            checks.number(name, limit)
            if limit <= 0:
                message = f"{name} is {limit}; a budget must be more than 0."
                raise AgentConfigurationError(message)

    def limits(self) -> Iterator[tuple[str, float]]:
        """Give the limits that are set, by name."""
        for each in fields(self):
            limit = getattr(self, each.name)
            if limit is not None:
                yield each.name, limit


@dataclass(frozen=True, slots=True)
class Crossing:
    """What the next call would cross.

    Parameters
    ----------
    name : str
        ``usd``, ``tokens``, ``seconds`` or ``tool_calls``.
    spent, limit : float
        What was spent of it, and how much may be.
    meter : Meter
        Whose limit it is.
    needed : int, default 0
        Tokens that the next request takes at the least, where these are the limit.
    """

    name: str
    spent: float
    limit: float
    meter: Meter
    needed: int = 0

    @property
    def least(self) -> float:
        """What a new limit has to exceed, as another answer may have raised it."""
        present: float = getattr(self.meter.budget, self.name)
        return max(self.spent, present)

    def said(self) -> str:
        """Say it, as the answer of the run that it ends."""
        needs = f"; the next request needs {self.needed:,}" if self.needed else ""
        return f"The budget is used up: {self}{needs}"

    def __str__(self) -> str:
        unit = self.name.replace("_", " ")
        if self.name == "usd":
            return f"${self.spent:.4f} of ${self.limit:g}"
        return f"{self.spent:,.10g} of {self.limit:,.10g} {unit}"


class Meter:
    """What one run has spent, of its own budget and of that around it.

    Parameters
    ----------
    budget : Budget
        What it may spend.
    around : Meter, optional
        That of the run whose tool asks.
    """

    def __init__(self, budget: Budget, around: Meter | None = None) -> None:
        self.budget = budget
        self.around = around
        self.spent = {"usd": 0.0, "tokens": 0.0, "tool_calls": 0.0}
        self.reserved: dict[Meter, dict[str, float]] = {}
        """What requests under way may come to, each of one run."""
        self._began = time.monotonic()

    def chain(self) -> Iterator[Meter]:
        """Give this one and those around it."""
        meter: Meter | None = self
        while meter is not None:
            yield meter
            meter = meter.around

    def time_left(self) -> tuple[float, Crossing] | None:
        """Give how long the run may go on, in seconds, and what it then crosses."""
        ends = [
            (limit - meter.used("seconds"), Crossing("seconds", limit, limit, meter))
            for meter in self.chain()
            if (limit := meter.budget.seconds) is not None
        ]
        return min(ends, key=lambda end: end[0], default=None)

    def used(self, name: str) -> float:
        """Give what is spent of something, requests under way included."""
        if name == "seconds":
            return time.monotonic() - self._began
        return self.spent[name] + sum(each[name] for each in self.reserved.values())

    async def fit(
        self, request: ModelRequest, provider: BaseProvider
    ) -> ModelRequest | Crossing:
        """Cut a request to what is left, and reserve that.

        Parameters
        ----------
        request : ModelRequest
            What is about to be asked.
        provider : BaseProvider
            Of whom.

        Returns
        -------
        ModelRequest or Crossing
            With as many tokens to write as may be, or what it would cross.
        """
        self.release()
        prompt = estimate_tokens(request.messages) + _tokens_of(request.tools)
        most = request.max_tokens
        for meter in self.chain():
            for name, limit in meter.budget.limits():
                spent = meter.used(name)
                if name == "tokens":
                    most = min(most, int(limit - spent - prompt))
                elif name == "usd":
                    most = await _affordable(limit - spent, prompt, most, provider)
                elif name == "seconds" and spent >= limit:
                    most = 0
                if most < 1:
                    needed = prompt + 1 if name == "tokens" else 0
                    return Crossing(name, spent, limit, meter, needed)
        await self._reserve(prompt, most, provider)
        return replace(request, max_tokens=most)

    def refuses(self, calls: int) -> Crossing | None:
        """Tell what some more tool calls would cross."""
        for meter in self.chain():
            most, made = meter.budget.tool_calls, meter.spent["tool_calls"]
            if most is not None and made + calls > most:
                return Crossing("tool_calls", made, most, meter)
        return None

    async def charge(self, call: ModelCall) -> None:
        """Add a model call to what was spent, and release what was reserved."""
        self.release()
        usd = await _cost(call) if self._counts_money else 0.0
        for meter in self.chain():
            meter.spent["tokens"] += call.prompt_tokens + call.completion_tokens
            meter.spent["usd"] += usd

    def charge_tools(self, calls: int) -> None:
        """Add tool calls to what was spent."""
        for meter in self.chain():
            meter.spent["tool_calls"] += calls

    def release(self) -> None:
        """Take back what was reserved for a request that is not under way."""
        for meter in self.chain():
            meter.reserved.pop(self, None)

    def raise_limit(self, name: str, limit: float) -> None:
        """Let more of something be spent, as a person has said; never less."""
        change: dict[str, Any] = {name: max(limit, getattr(self.budget, name))}
        self.budget = replace(self.budget, **change)

    @property
    def _counts_money(self) -> bool:
        return any(meter.budget.usd is not None for meter in self.chain())

    async def _reserve(self, prompt: int, most: int, provider: BaseProvider) -> None:
        usd = 0.0
        if self._counts_money:
            for each in _repliers(provider):
                usd = max(usd, await _cost(_call(each, prompt, most)))
        amount = {"usd": usd, "tokens": float(prompt + most), "tool_calls": 0.0}
        for meter in self.chain():
            meter.reserved[self] = amount


async def _affordable(
    usd: float, prompt: int, most: int, provider: BaseProvider
) -> int:
    """Give how many tokens may be written for some money, whoever replies."""
    for each in _repliers(provider):
        both = await _cost(_call(each, prompt, most))
        if both > usd and most > 0:
            reading = await _cost(_call(each, prompt, 0))
            most = math.floor(most * max(0.0, usd - reading) / (both - reading))
    return most


def _repliers(provider: BaseProvider) -> Sequence[BaseProvider]:
    from notebook_agents.providers.fallback import repliers  # few budgets are in usd

    return repliers(provider)


def _call(provider: BaseProvider, prompt: int, completion: int) -> ModelCall:
    return ModelCall(
        model=provider.model,
        url=getattr(provider, "base_url", ""),
        prompt_tokens=prompt,
        completion_tokens=completion,
    )


async def _cost(call: ModelCall) -> float:
    """Give the price of a call; one that is not known cannot be kept within."""
    cost = await cost_of([call])
    if cost is None and call.url.startswith("https://"):
        message = (
            f"What {call.model} costs is not known, so a budget in dollars cannot be "
            "kept. Run: pip install 'notebook-agents[cost]', or use "
            "Budget(tokens=...)."
        )
        raise AgentConfigurationError(message)
    return cost or 0.0


def _tokens_of(tools: Sequence[object]) -> int:
    return sum(len(str(tool)) for tool in tools) // CHARACTERS_A_TOKEN


_enclosing: contextvars.ContextVar[Meter | None] = contextvars.ContextVar(
    "notebook_agents_meter", default=None
)


def spend_like(meter: Meter) -> contextvars.Token[Meter | None]:
    """Let agents that run within this context spend what this one may."""
    return _enclosing.set(meter)


def enclosing_meter() -> Meter | None:
    """Give the meter of the run whose tool runs here, if it has one."""
    return _enclosing.get()


def meter_for(budget: Budget | None) -> Meter | None:
    """Make the meter of a run; None where nothing limits it."""
    around = enclosing_meter()
    if budget is None:
        return around
    return Meter(budget, around)
