"""What can be decided about a call that needs consent, and by which policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from notebook_agents.errors import AgentConfigurationError

__all__ = [
    "POLICIES",
    "Allow",
    "Always",
    "Decision",
    "Deny",
    "Policy",
    "Stop",
    "checked_policy",
]

Policy = Literal["ask", "policy", "allow", "deny"]
"""How calls that need consent are decided: ask a person, apply the rules
alone, allow all, or deny all."""
POLICIES: tuple[str, ...] = ("ask", "policy", "allow", "deny")


def checked_policy(policy: Policy | None) -> Policy | None:
    """Give a policy back, if it is one or None."""
    if policy is not None and policy not in POLICIES:
        message = f"policy is {policy!r}; it must be one of {', '.join(POLICIES)}."
        raise AgentConfigurationError(message)
    return policy


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
    """Run the call, and later calls of its tool without asking.

    The agent object remembers it, apart for each user of a served one. It ends
    with the process and is never stored.

    Parameters
    ----------
    scope : {"tool"}
        What is allowed from now on: all calls of this tool by this agent.
    """

    kind = "always"
    scope: Literal["tool"] = "tool"


@dataclass(frozen=True, slots=True)
class Deny:
    """Do not run the call; the model is told the reason and may go on."""

    kind = "deny"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Stop:
    """Do not run the call, and end the whole run."""

    kind = "stop"


Decision = Allow | Always | Deny | Stop
