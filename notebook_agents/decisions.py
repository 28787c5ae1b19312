"""A call that needs consent: what is asked, and what can be decided."""

from __future__ import annotations

import contextvars
import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from notebook_agents import checks
from notebook_agents.errors import AgentConfigurationError
from notebook_agents.identifiers import new_id
from notebook_agents.spelling import by_name

__all__ = [
    "Allow",
    "Always",
    "ApprovalRequest",
    "Decided",
    "Decision",
    "Deny",
    "Respond",
    "Stop",
    "StopRequested",
    "enclosing_decisions",
    "said_with",
    "scope_of",
    "tell_like",
    "written",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequest:
    """One call that needs consent.

    Parameters
    ----------
    id : str
        Identifier of the request.
    run_id, call_id : str
        The run, and the call within it.
    agent : str
        Name of the agent that wants to call.
    tool : str
        Name of the tool.
    args : mapping
        The arguments, as JSON values.
    description : str
        What the tool says it does.
    risk : str or None
        ``read``, ``write``, ``network``, ``code`` or ``money``, if known.
    schema : mapping
        JSON Schema of the arguments.
    note : str
        Why a person has to be asked, where a rule failed that should decide.
    requested_at, expires_at : float
        Seconds since the epoch.
    """

    id: str = field(default_factory=lambda: new_id()[:12])
    run_id: str
    call_id: str
    agent: str
    tool: str
    args: Mapping[str, Any]
    description: str = ""
    risk: str | None = None
    schema: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    requested_at: float = field(default_factory=time.time)
    expires_at: float = float("inf")

    def explained(self, text: str) -> str:
        """Put the note, if there is one, before what is said about the call."""
        return f"{self.note} {text}" if self.note else text

    def to_dict(self) -> dict[str, Any]:
        """Give the parts that a reader of events needs."""
        return {
            "id": self.id,
            "risk": self.risk,
            "description": self.description,
            "expires": self.expires_at,
            "note": self.note,
        }


@by_name
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

    def __post_init__(self) -> None:
        given: object = self.args
        if not isinstance(given, Mapping | None):
            checks.fail(f"Allow takes all the arguments as a dict, not {given!r}.")


@by_name
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
        checks.choice("scope", self.scope, ("tool", "call"))
        if self.until is not None and self.until != math.inf:
            checks.number("until", self.until)


@by_name
@dataclass(frozen=True, slots=True)
class Deny:
    """Do not run the call; the model is told the reason and may go on."""

    kind = "deny"
    reason: str = ""

    def __post_init__(self) -> None:
        checks.text("reason", self.reason)


@by_name
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
        checks.text("text", self.text)
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


def written(args: Mapping[str, Any]) -> str:
    """Write arguments down to compare them: to Python, 1, 1.0 and True are equal."""
    return json.dumps(dict(args), sort_keys=True)


Decided = list[dict[str, Any]]
"""Rows as in ``AgentResult.approvals``."""

_around: contextvars.ContextVar[Decided | None] = contextvars.ContextVar(
    "notebook_agents_decided", default=None
)


def tell_like(decided: Decided) -> contextvars.Token[Decided | None]:
    """Let agents that a tool asks tell the run of that tool what was decided in theirs.

    Parameters
    ----------
    decided : list of dict
        Of the run whose tool is about to start; rows are added to it.

    Returns
    -------
    contextvars.Token
        What takes that back.
    """
    return _around.set(decided)


def enclosing_decisions() -> Decided | None:
    """Give where the run whose tool runs here gathers that; None outside of one."""
    return _around.get()
