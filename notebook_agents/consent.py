"""Which calls of a run need consent, and how it is sought."""

from __future__ import annotations

import contextvars
import copy
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from notebook_agents.approval import (
    Allow,
    Always,
    ApprovalRequest,
    Approvals,
    Approver,
    Decision,
    Deny,
    PendingApproval,
    settle,
)
from notebook_agents.decisions import written
from notebook_agents.policy import ApprovalPolicy, Ruling, failed, mode_beneath
from notebook_agents.settings import get_settings
from notebook_agents.waiting import in_thread

if TYPE_CHECKING:
    from notebook_agents.tools.definition import ToolDefinition

__all__ = [
    "Consent",
    "Granted",
    "ask_like",
    "enclosing_consent",
    "may_need_consent",
    "person_of",
]

_HARMLESS = "read"


@dataclass(frozen=True, slots=True)
class _Grant:
    """What one `Always` allows."""

    definition: ToolDefinition
    args: str | None
    until: float

    def covers(self, definition: ToolDefinition, args: Mapping[str, Any]) -> bool:
        """Tell whether it allows a call; another tool of that name is not meant."""
        if definition is not self.definition or time.time() >= self.until:
            return False
        return self.args is None or self.args == written(args)


class Granted:
    """What people have allowed for as long as this process lives."""

    def __init__(self) -> None:
        self._grants: dict[tuple[str, str], list[_Grant]] = {}

    def add(
        self,
        person: str,
        definition: ToolDefinition,
        always: Always,
        args: Mapping[str, Any],
    ) -> None:
        """Allow later calls of a tool, in the runs of one person."""
        until = float("inf") if always.until is None else always.until
        exactly = written(args) if always.scope == "call" else None
        grant = _Grant(definition, exactly, until)
        now = time.time()
        others = [
            each
            for each in self._grants.get((person, definition.name), ())
            if each.definition is definition and each.until > now
        ]
        self._grants[person, definition.name] = [*others, grant]

    def has(
        self, person: str, definition: ToolDefinition, args: Mapping[str, Any]
    ) -> bool:
        """Tell whether a call is allowed."""
        grants = self._grants.get((person, definition.name), ())
        return any(grant.covers(definition, args) for grant in grants)


@dataclass(frozen=True, slots=True, kw_only=True)
class Consent:
    """How one run decides about calls that need consent.

    Parameters
    ----------
    approver : Approver
        Whom to ask.
    policy : ApprovalPolicy
        The rules, and whether to ask at all where they decide nothing.
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
    above : tuple of ApprovalPolicy
        Those that the runs around this one were begun with, outermost first.
    handed_on : tuple of ApprovalPolicy
        Those that runs beneath this one have above them.
    """

    approver: Approver
    policy: ApprovalPolicy = field(default_factory=ApprovalPolicy)
    timeout: float = 300.0
    tools: frozenset[str] | None = None
    asks_all: bool = False
    open: Approvals = field(default_factory=Approvals)
    granted: Granted = field(default_factory=Granted)
    person: str = ""
    above: tuple[ApprovalPolicy, ...] = ()
    handed_on: tuple[ApprovalPolicy, ...] = ()

    @property
    def mode(self) -> str:
        """How calls are decided that no rule decides."""
        mode = self.policy.mode
        for outer in reversed(self.above):
            mode = mode_beneath(outer.mode, mode)
        return mode or get_settings().approve or "ask"

    async def ruling(
        self, definition: ToolDefinition, args: Mapping[str, Any]
    ) -> tuple[Ruling | None, str]:
        """Tell whether a call with these arguments needs consent.

        Rules that are functions are called in a thread: they may be slow, and the
        loop is that of other runs as well.

        Parameters
        ----------
        definition : ToolDefinition
            The tool.
        args : mapping
            The arguments, as JSON values.

        Returns
        -------
        tuple of ({"allow", "ask", "deny"} or None) and str
            What a rule says, ``"ask"`` where consent is needed and no rule
            says more, None where none is needed. Then, where a rule failed,
            what to tell whoever is asked.
        """
        rules = [each.rule_for(definition.name) for each in (self.policy, *self.above)]
        if not any(map(callable, (*rules, definition.approval))):
            return self._ruling(definition, args)
        return await in_thread(
            lambda: self._ruling(definition, args), name=f"rule for {definition.name}"
        )

    def _ruling(
        self, definition: ToolDefinition, args: Mapping[str, Any]
    ) -> tuple[Ruling | None, str]:
        rule, note = self._ruled(definition.name, args)
        if rule in {"ask", "deny"}:
            return rule, note
        is_needed, note = self._is_needed(definition, args)
        return (rule or "ask", note) if is_needed else (None, "")

    def denies(self, definition: ToolDefinition, args: Mapping[str, Any]) -> bool:
        """Tell whether a rule denies a call, whoever wants it."""
        return self._ruled(definition.name, args)[0] == "deny"

    def _ruled(self, tool: str, args: Mapping[str, Any]) -> tuple[Ruling | None, str]:
        """Give what the rules say; those above only make it stricter."""
        policies = (self.policy, *self.above)
        # Of equals the first, so what a rule above allows has no effect: it was
        # said about the tools of another agent.
        return max((each.ruled(tool, args) for each in policies), key=_strictness)

    def _is_needed(
        self, definition: ToolDefinition, args: Mapping[str, Any]
    ) -> tuple[bool, str]:
        """Tell what tool and agent say, without the rules; yes if that fails."""
        if self.asks_all or definition.name in (self.tools or ()):
            return True, ""
        rule = definition.approval
        if not callable(rule):
            return may_need_consent(definition), ""
        try:
            return bool(rule(copy.deepcopy(dict(args)))), ""
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a rule that fails never allows
            return True, failed(f"The approval rule of {definition.name}", error)

    def without_asking(
        self, definition: ToolDefinition, request: ApprovalRequest, ruling: Ruling
    ) -> tuple[Decision, str] | None:
        """Decide, and say who did; None when a person must be asked.

        Parameters
        ----------
        definition : ToolDefinition
            The tool.
        request : ApprovalRequest
            What a person would be asked.
        ruling : {"allow", "ask", "deny"}
            As `ruling` gave it.

        Returns
        -------
        tuple of Decision and str, or None
            By ``"policy"``, or by ``"session"`` where `Always` was said before.
        """
        if ruling == "deny":
            return Deny(f"a rule of the policy denies {definition.name}"), "policy"
        # Looked up only where a call needs consent: most runs never do.
        mode = self.mode
        # What was allowed beforehand was not allowed for a rule that fails.
        has_failed = bool(request.note)
        if "allow" in {ruling, mode} and not has_failed:
            return Allow(), "policy"
        if mode in {"ask", "allow"}:
            is_granted = not has_failed and self._is_granted(definition, request)
            return (Allow(), "session") if is_granted else None
        reason = "the policy is to deny"
        if mode == "policy":
            rule = f'policy={{"{definition.name}": "allow"}}'
            reason = f"no rule of the policy allows it, as {rule} would"
        return Deny(request.explained(reason)), "policy"

    async def ask(
        self, pending: PendingApproval, definition: ToolDefinition
    ) -> Decision:
        """Put a question, wait for its answer, and remember `Always`."""
        decision = await self.answer(pending)
        if isinstance(decision, Always):
            args = pending.request.args
            self.granted.add(self.person, definition, decision, args)
            self._answer_others(definition)
        return decision

    async def answer(self, pending: PendingApproval) -> Decision:
        """Put a question and wait for its answer."""
        return await settle(pending, self.approver, timeout=self.timeout)

    @property
    def can_ask(self) -> bool:
        """Whether a person is there, and is to be asked."""
        return self.mode == "ask" and getattr(self.approver, "can_ask", True)

    def _answer_others(self, definition: ToolDefinition) -> None:
        """Answer the questions that are open and need not be, after an `Always`."""
        for other in self.open.own:
            request = other.request
            is_alike = request.tool == definition.name and not request.note
            if is_alike and self._is_granted(definition, request):
                other.decide(Allow(), by="session")

    def _is_granted(self, definition: ToolDefinition, request: ApprovalRequest) -> bool:
        return self.granted.has(self.person, definition, request.args)

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
        return self.question(
            tool=definition.name,
            description=definition.description,
            risk=definition.risk,
            schema=definition.schema["function"]["parameters"],
            **facts,
        )

    def question(self, **facts: Any) -> ApprovalRequest:
        """Write a question about anything, with its expiry.

        Parameters
        ----------
        **facts : object
            The other fields of the request.

        Returns
        -------
        ApprovalRequest
            The question.
        """
        now = time.time()
        return ApprovalRequest(requested_at=now, expires_at=now + self.timeout, **facts)


_enclosing: contextvars.ContextVar[Consent | None] = contextvars.ContextVar(
    "notebook_agents_consent", default=None
)


def ask_like(consent: Consent) -> contextvars.Token[Consent | None]:
    """Let runs that begin within this context ask where this one asks.

    Parameters
    ----------
    consent : Consent
        Of the run whose tool is about to start. Its person, and the policies it
        hands on, hold for them as well.

    Returns
    -------
    contextvars.Token
        What takes that back.
    """
    return _enclosing.set(consent)


def enclosing_consent() -> Consent | None:
    """Give how the run decides whose tool runs here, if one does."""
    return _enclosing.get()


def _strictness(said: tuple[Ruling | None, str]) -> tuple[bool, bool, bool]:
    ruling, note = said
    return ruling == "deny", bool(note), ruling == "ask"


def may_need_consent(definition: ToolDefinition) -> bool:
    """Tell whether a tool itself asks about some of its calls."""
    if definition.approval == "risky":
        return definition.risk != _HARMLESS
    return bool(definition.approval)


def person_of(memory: object) -> str:
    """Give whose conversation a run belongs to; empty where it names nobody."""
    user_id: str | None = getattr(getattr(memory, "scope", None), "user_id", None)
    return user_id or ""
