"""`ApprovalPolicy`: which calls need no question, because a rule answers it.

A rule names tools, by name or by pattern, and may look at the arguments. The
first one that fits decides; where none does, the tool itself and the mode do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Literal

from notebook_agents.errors import AgentConfigurationError
from notebook_agents.settings import APPROVE_MODES as MODES

__all__ = ["MODES", "ApprovalPolicy", "Mode", "Policy", "Rule", "Ruling"]

Mode = Literal["ask", "policy", "allow", "deny"]
"""How calls are decided that no rule decides: ask a person, deny what needs
consent (the rules alone), allow all, or deny what needs consent."""

Ruling = Literal["allow", "ask", "deny"]
RULINGS: tuple[str, ...] = ("allow", "ask", "deny")
Rule = Ruling | Callable[[dict[str, Any]], Ruling]
"""What is to be done, or a function of the arguments that says so."""


@dataclass(frozen=True, slots=True)
class ApprovalPolicy:
    """Rules about tools, and a mode for what they leave open.

    Wherever a policy is expected, a word stands for its mode and a mapping for
    its rules.

    Parameters
    ----------
    rules : mapping of str to str or callable
        By tool name or pattern (``*``, ``?``, ``[a-z]``), the first that fits
        counts: ``"allow"``, ``"ask"``, ``"deny"``, or a function of the
        arguments that returns one of them. A function that fails, or returns
        anything else, asks.
    mode : {"ask", "policy", "allow", "deny"}, optional
        How calls are decided that need consent and have no rule. Left out, the
        environment variable ``NOTEBOOK_AGENTS_APPROVE`` says so, else a person
        is asked. ``"allow"`` also answers the rules that ask; what a rule
        denies stays denied.

    Raises
    ------
    AgentConfigurationError
        If a word is none of those.

    Examples
    --------
    >>> policy = ApprovalPolicy({
    ...     "read_*": "allow",
    ...     "pay": lambda args: "ask" if args["euros"] < 100 else "deny",
    ... })
    >>> policy.ruling("read_file", {})
    'allow'
    >>> policy.ruling("pay", {"euros": 250})
    'deny'
    >>> policy.ruling("delete_rows", {}) is None
    True
    """

    rules: Mapping[str, Rule] = field(default_factory=dict)
    mode: Mode | None = None

    def __post_init__(self) -> None:
        if self.mode is not None and self.mode not in MODES:
            message = f"policy is {self.mode!r}; it must be one of {', '.join(MODES)}, "
            message += 'or rules such as {"read_*": "allow"}.'
            raise AgentConfigurationError(message)
        given: Mapping[Any, Any] = self.rules
        for pattern, rule in given.items():
            if not isinstance(pattern, str) or not (callable(rule) or rule in RULINGS):
                message = (
                    f"The rule {pattern!r}: {rule!r} needs the name of a tool and one "
                    f"of {', '.join(RULINGS)}, or a function that returns one."
                )
                raise AgentConfigurationError(message)
        object.__setattr__(self, "rules", dict(self.rules))

    @classmethod
    def of(cls, policy: Policy | None) -> ApprovalPolicy:
        """Give the policy that a word or a mapping stands for.

        Parameters
        ----------
        policy : str, mapping, ApprovalPolicy or None
            None leaves everything open.

        Returns
        -------
        ApprovalPolicy
            Checked.
        """
        if isinstance(policy, cls):
            return policy
        if policy is None:
            return _OPEN
        if isinstance(policy, Mapping):
            return cls(policy)
        # Anything that is no word is refused with the words there are.
        return cls(mode=policy)  # type: ignore[arg-type]

    def over(self, other: ApprovalPolicy) -> ApprovalPolicy:
        """Give this policy, with what it leaves open taken from another.

        Parameters
        ----------
        other : ApprovalPolicy
            Whose rules count where this one has none at all, and whose mode
            where this one has none.

        Returns
        -------
        ApprovalPolicy
            Both, this one first.
        """
        if self is _OPEN:
            return other
        return ApprovalPolicy(self.rules or other.rules, self.mode or other.mode)

    def ruling(self, tool: str, args: Mapping[str, Any]) -> Ruling | None:
        """Give what the rules say about a call.

        Parameters
        ----------
        tool : str
            Its name.
        args : mapping
            The arguments, as JSON values.

        Returns
        -------
        {"allow", "ask", "deny"} or None
            None where no rule fits.
        """
        for pattern, rule in self.rules.items():
            if fnmatchcase(tool, pattern):
                return _applied(rule, args)
        return None


Policy = Mode | Mapping[str, Rule] | ApprovalPolicy

_OPEN = ApprovalPolicy()


def _applied(rule: Rule, args: Mapping[str, Any]) -> Ruling:
    if not callable(rule):
        return rule
    try:
        said = rule(dict(args))
    except Exception:  # noqa: BLE001 - a rule that fails never allows
        return "ask"
    return said if said in RULINGS else "ask"
