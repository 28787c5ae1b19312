"""Which calls of a run need consent, and how it is sought."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from notebook_agents.approval import (
    Allow,
    Always,
    ApprovalRequest,
    Approvals,
    Approver,
    Decision,
    Deny,
    PendingApproval,
    Policy,
    settle,
)
from notebook_agents.settings import get_settings
from notebook_agents.tools.definition import ToolDefinition

__all__ = ["Consent", "Granted", "names_of", "person_of"]

_HARMLESS = "read"


class Granted:
    """The tools that people have allowed for as long as this process lives."""

    def __init__(self) -> None:
        self._tools: dict[tuple[str, str], ToolDefinition] = {}

    def add(self, person: str, definition: ToolDefinition) -> None:
        """Allow later calls of a tool, in the runs of one person."""
        self._tools[person, definition.name] = definition

    def has(self, person: str, definition: ToolDefinition) -> bool:
        """Tell whether a tool is allowed; another one of its name is not."""
        return self._tools.get((person, definition.name)) is definition


@dataclass(frozen=True, slots=True, kw_only=True)
class Consent:
    """How one run decides about calls that need consent.

    Parameters
    ----------
    approver : Approver
        Whom to ask.
    policy : {"ask", "policy", "allow", "deny"} or None
        Whether to ask at all; None leaves it to ``NOTEBOOK_AGENTS_APPROVE``.
    flag : str
        What to pass to allow such calls, for the message of a denial.
    timeout : float
        Seconds until silence counts as no.
    tools : frozenset of str or None
        Names that need consent, whatever the tools themselves say.
    asks_all : bool
        Whether every tool needs consent.
    open : Approvals
        The questions that wait.
    granted : Granted
        What was allowed before, by `Always`.
    person : str
        Whose run it is; what one person allowed is asked of another.
    """

    approver: Approver
    policy: Policy | None = None
    flag: str = 'policy="allow"'
    timeout: float = 300.0
    tools: frozenset[str] | None = None
    asks_all: bool = False
    open: Approvals = field(default_factory=Approvals)
    granted: Granted = field(default_factory=Granted)
    person: str = ""

    def is_needed(self, definition: ToolDefinition, args: Mapping[str, Any]) -> bool:
        """Tell whether a call with these arguments needs consent.

        Parameters
        ----------
        definition : ToolDefinition
            The tool.
        args : mapping
            The arguments, as JSON values.

        Returns
        -------
        bool
            True also when the tool's own rule fails.
        """
        if self.asks_all or definition.name in (self.tools or ()):
            return True
        rule = definition.approval
        if rule == "risky":
            return definition.risk != _HARMLESS
        if callable(rule):
            try:
                return bool(rule(dict(args)))
            except Exception:  # noqa: BLE001 - a rule that fails never allows
                return True
        return bool(rule)

    def without_asking(self, definition: ToolDefinition) -> tuple[Decision, str] | None:
        """Decide, and say who did; None when a person must be asked.

        Parameters
        ----------
        definition : ToolDefinition
            The tool.

        Returns
        -------
        tuple of Decision and str, or None
            By ``"policy"``, or by ``"session"`` where `Always` was said before.
        """
        # Looked up only where a call needs consent: most runs never do.
        policy = self.policy or get_settings().approve or "ask"
        if policy == "allow":
            return Allow(), "policy"
        if policy == "ask":
            is_granted = self.granted.has(self.person, definition)
            return (Allow(), "session") if is_granted else None
        if policy == "deny":
            return Deny("the policy is to deny"), "policy"
        reason = f"no rule of the policy allows it; to allow it, pass {self.flag}"
        return Deny(reason), "policy"

    async def ask(
        self, pending: PendingApproval, definition: ToolDefinition
    ) -> Decision:
        """Put a question, wait for its answer, and remember `Always`."""
        decision = await settle(pending, self.approver, timeout=self.timeout)
        if isinstance(decision, Always):
            self.granted.add(self.person, definition)
        return decision

    def request(self, definition: ToolDefinition, **facts: Any) -> ApprovalRequest:
        """Write the question about one call.

        Parameters
        ----------
        definition : ToolDefinition
            The tool.
        **facts : object
            ``run_id``, ``call_id``, ``agent`` and ``args``.

        Returns
        -------
        ApprovalRequest
            The question, with its expiry.
        """
        now = time.time()
        return ApprovalRequest(
            tool=definition.name,
            description=definition.description,
            risk=definition.risk,
            schema=definition.schema["function"]["parameters"],
            requested_at=now,
            expires_at=now + self.timeout,
            **facts,
        )


def names_of(tools: str | Iterable[str] | None) -> frozenset[str] | None:
    """Give the names in ``approval_tools``; one text is one name."""
    if tools is None:
        return None
    return frozenset([tools] if isinstance(tools, str) else tools)


def person_of(memory: object) -> str:
    """Give whose conversation a run belongs to; empty where it names nobody."""
    user_id: str | None = getattr(getattr(memory, "scope", None), "user_id", None)
    return user_id or ""
