"""What can be decided about a call that needs consent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from notebook_agents.errors import AgentConfigurationError

__all__ = [
    "Allow",
    "Always",
    "Decision",
    "Deny",
    "Respond",
    "Stop",
    "StopRequested",
    "said_with",
    "scope_of",
]


@dataclass(frozen=True, slots=True)
class Allow:
    """Run the call.

    Parameters
    ----------
    args : mapping, optional
        All the arguments to run it with instead; the model is told.
    """

    kind = "allow"
    args: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Always:
    """Run the call, and later ones like it without asking.

    The agent object remembers it, apart for each user of a served one. It ends
    with the process and is never stored.

    Parameters
    ----------
    scope : {"tool", "call"}
        What is allowed from now on: all calls of this tool by this agent, or
        only those with the same arguments.
    until : float, optional
        When it ends, in seconds since the epoch.

    Examples
    --------
    >>> import time
    >>> Always(scope="call")
    Always(scope='call', until=None)
    >>> for_an_hour = Always(until=time.time() + 3600)
    """

    kind = "always"
    scope: Literal["tool", "call"] = "tool"
    until: float | None = None

    def __post_init__(self) -> None:
        if self.scope not in {"tool", "call"}:
            message = f"scope is {self.scope!r}; it must be 'tool' or 'call'."
            raise AgentConfigurationError(message)


@dataclass(frozen=True, slots=True)
class Deny:
    """Do not run the call; the model is told the reason and may go on."""

    kind = "deny"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Respond:
    """Do not run the call; a person answers in its place.

    Parameters
    ----------
    text : str
        What the model reads as the result of the call.

    Examples
    --------
    >>> from notebook_agents import Agent, ScriptedProvider, call, tool
    >>> @tool(approval=True)
    ... def price_of(item: str) -> float:
    ...     return 9.5
    >>> class Ada:
    ...     async def ask(self, pending):
    ...         pending.decide(Respond("12 euros, from today"), by="Ada")
    >>> script = [call("price_of", item="tea"), "Tea is 12 euros."]
    >>> agent = Agent(ScriptedProvider(script), [price_of], approver=Ada())
    >>> agent.run_sync("What is the tea?").tool_calls[0]["content"]
    '12 euros, from today'
    """

    kind = "respond"
    text: str

    def __post_init__(self) -> None:
        if not self.text.strip():
            message = "Respond needs a text: what the model reads as the result."
            raise AgentConfigurationError(message)


@dataclass(frozen=True, slots=True)
class Stop:
    """Do not run the call, and end the whole run."""

    kind = "stop"


class StopRequested(Exception):  # noqa: N818 - a decision, not an error
    """A person chose to end the run when asked about a call."""


Decision = Allow | Always | Deny | Respond | Stop


def said_with(decision: Decision) -> str:
    """Give what was written to go with a decision: a reason, or an answer."""
    if isinstance(decision, Deny):
        return decision.reason
    return decision.text if isinstance(decision, Respond) else ""


def scope_of(decision: Decision) -> dict[str, Any]:
    """Give what else a decision allows: ``scope`` and ``until``, if anything."""
    if not isinstance(decision, Always):
        return {}
    return {"scope": decision.scope, "until": decision.until}
