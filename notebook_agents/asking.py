"""`Asking`: whom an agent asks for consent, and about which tools."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any

from notebook_agents import checks
from notebook_agents.agent_checks import check_approver
from notebook_agents.approval import (
    Approvals,
    Approver,
    NobodyApprover,
)
from notebook_agents.callback_approver import Callback, CallbackApprover
from notebook_agents.consent import (
    Consent,
    Granted,
    enclosing_consent,
    may_need_consent,
    person_of,
)
from notebook_agents.errors import AgentConfigurationError
from notebook_agents.options import RunOptions
from notebook_agents.policy import ApprovalPolicy, Policy
from notebook_agents.spelling import did_you_mean

if TYPE_CHECKING:
    from notebook_agents.tools.definition import ToolDefinition

__all__ = ["Asking", "ToolNames"]

NAME = "approval_tools"
ToolNames = str | Callable[..., Any] | Iterable[str | Callable[..., Any]]


class Asking:
    """Whom an agent asks, and about which tools.

    Parameters
    ----------
    approver : Approver or None
        A surface of the user's own.
    callback : callable or None
        Asked instead of a person.
    tools : str, callable, iterable of these, or None
        Tools that need consent, whatever they say themselves; a single one will
        do.
    timeout : float
        Seconds until a question without an answer counts as no.

    Raises
    ------
    AgentConfigurationError
        If one of them is of another kind.
    """

    def __init__(
        self,
        *,
        approver: Approver | None,
        callback: Callback | None,
        tools: ToolNames | None,
        timeout: float,
    ) -> None:
        if approver is not None:
            check_approver("approver", approver)
        if callback is not None:
            checks.function("approval_callback", callback, "a name and arguments")
        if timeout != math.inf:
            checks.seconds("approval_timeout", timeout)
        self.approver = approver
        self._callback = callback
        self._tools = _names(tools)
        self._timeout = timeout
        self._granted = Granted()
        self._others: frozenset[str] = frozenset()

    @property
    def _asks_all(self) -> bool:
        return self._callback is not None and self._tools is None

    def within(self, names: Iterable[str]) -> Asking:
        """Give the same for an agent that has only some tools of those names."""
        other = copy.copy(self)
        other._others = frozenset(names)  # noqa: SLF001 - of the same class
        return other

    def of_run(
        self,
        options: RunOptions,
        policy: Policy | None,
        *,
        agent: str,
        names: Collection[str],
    ) -> Consent:
        """Give how one run decides about calls that need consent.

        Parameters
        ----------
        options : RunOptions
            What differs in this run.
        policy : str, mapping, ApprovalPolicy or None
            That of the agent.
        agent : str
            Name of the agent.
        names : collection of str
            Its tools.

        Returns
        -------
        Consent
            What people allowed before is common to all runs. Where a tool of
            another run starts this one, that gives whom to ask, whose run it is,
            and the policies it was begun with.

        Raises
        ------
        AgentConfigurationError
            If something names a tool that there is not: its call would run
            without a question.
        """
        approver = self.approver or options.get("approver")
        if self._callback is not None:
            approver = CallbackApprover(self._callback)
        said = ApprovalPolicy.of(options.get("policy"))
        in_force = said.over(ApprovalPolicy.of(policy))
        known = self._others.union(names)
        _refuse(f"approval_tools of {agent}", self._tools or frozenset(), known)
        _refuse(f"policy of {agent}", in_force.names, known)
        outer = enclosing_consent() or Consent(approver=NobodyApprover())
        return Consent(
            approver=approver or outer.approver,
            policy=in_force,
            above=outer.handed_on,
            handed_on=(*outer.handed_on, said),
            timeout=self._timeout,
            tools=self._tools,
            asks_all=self._asks_all,
            open=Approvals(outer.open),
            granted=self._granted,
            person=outer.person or person_of(options.get("memory")),
        )

    def may_ask(self, tools: Iterable[ToolDefinition], policy: Policy | None) -> bool:
        """Tell whether a call of some tool may need consent.

        Parameters
        ----------
        tools : iterable of ToolDefinition
            The tools there are.
        policy : str, mapping, ApprovalPolicy or None
            That of the agent.

        Returns
        -------
        bool
            False only where nobody will ever be asked.
        """
        own = ApprovalPolicy.of(policy)
        if own.mode == "allow":  # which does not stand for a rule that fails
            rules = [*own.rules.values(), *(tool.approval for tool in tools)]
            return any(map(callable, rules))
        if any(rule not in {"allow", "deny"} for rule in own.rules.values()):
            return True
        return any(
            self._asks_all or tool.name in (self._tools or ()) or may_need_consent(tool)
            for tool in tools
        )


def _refuse(what: str, named: frozenset[str], known: frozenset[str]) -> None:
    """Refuse a name that is no tool: what is said about it would have no effect."""
    unknown = sorted(named - known)
    if unknown:
        name = unknown[0]
        tools = ", ".join(sorted(known)) or "none"
        message = (
            f"The {what} names {name!r}, which is none of its tools: {tools}."
            f"{did_you_mean(name, known)}"
        )
        raise AgentConfigurationError(message)


def _names(tools: ToolNames | None) -> frozenset[str] | None:
    if tools is None:
        return None
    is_one = isinstance(tools, str) or callable(tools)
    given: list[Any] = [tools] if is_one else checks.each(NAME, tools, "tools")
    return frozenset(
        each if isinstance(each, str) else _name_of(each) for each in given
    )


def _name_of(function: Callable[..., Any]) -> str:
    from notebook_agents.tools.derivation import to_tool_definition

    return to_tool_definition(function).name
