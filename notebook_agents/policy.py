"""`ApprovalPolicy`: which calls need no question, because a rule answers it.

A rule names tools, by name or by pattern, and may look at the arguments. The
first one that fits decides; where none does, the tool itself and the mode do.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from inspect import iscoroutinefunction
from textwrap import shorten
from typing import Any, Literal

from notebook_agents.checks import shown
from notebook_agents.errors import AgentConfigurationError
from notebook_agents.settings import APPROVE_MODES as MODES
from notebook_agents.spelling import by_name

__all__ = ["MODES", "ApprovalPolicy", "Mode", "Policy", "Rule", "Ruling"]

Mode = Literal["ask", "policy", "allow", "deny"]
"""How calls are decided that no rule decides: ask a person, deny what needs
consent (the rules alone), allow all, or deny what needs consent."""

Ruling = Literal["allow", "ask", "deny"]
RULINGS: tuple[str, ...] = ("allow", "ask", "deny")
Rule = Ruling | Callable[[dict[str, Any]], Ruling]
"""What is to be done, or a function of the arguments that says so."""
LONGEST_WORDS = 300
"""How much of the words of an error a question repeats, in characters."""


@by_name
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
        arguments that returns one of them. In a run it is called in a thread of
        its own. A function that fails, or returns anything else, asks, whatever
        the mode and `Always` allow, and the question says so; where nobody is to be
        asked, the call is denied. A name without a pattern
        has to be that of a tool, else no run begins.
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
        given: object = self.rules
        if not isinstance(given, Mapping):
            message = (
                'The rules of a policy are a dict such as {"read_*": "allow"}, '
                f"not {shown(given)}; a word alone is ApprovalPolicy(mode=...)."
            )
            raise AgentConfigurationError(message)
        for pattern, rule in given.items():
            _check_rule(pattern, rule)
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
        return self.ruled(tool, args)[0]

    def ruled(self, tool: str, args: Mapping[str, Any]) -> tuple[Ruling | None, str]:
        """Give what the rules say about a call, and what is wrong with the rule.

        Parameters
        ----------
        tool : str
            Its name.
        args : mapping
            The arguments, as JSON values.

        Returns
        -------
        tuple of ({"allow", "ask", "deny"} or None) and str
            The text is for the person who is asked; empty where all is well.
        """
        pattern = self._pattern_for(tool)
        if pattern is None:
            return None, ""
        return _applied(pattern, self.rules[pattern], args)

    def rule_for(self, tool: str) -> Rule | None:
        """Give the rule that decides about the calls of a tool, if one does."""
        pattern = self._pattern_for(tool)
        return None if pattern is None else self.rules[pattern]

    def _pattern_for(self, tool: str) -> str | None:
        return next((each for each in self.rules if fnmatchcase(tool, each)), None)

    @property
    def names(self) -> frozenset[str]:
        """The tools that rules name without a pattern."""
        return frozenset(name for name in self.rules if not _WILD & set(name))


Policy = Mode | Mapping[str, Rule] | ApprovalPolicy

_OPEN = ApprovalPolicy()


_WILD = frozenset("*?[")


def _check_rule(pattern: object, rule: object) -> None:
    is_one = callable(rule) or (isinstance(rule, str) and rule in RULINGS)
    if not isinstance(pattern, str) or not is_one or iscoroutinefunction(rule):
        message = (
            f"The rule {pattern!r}: {rule!r} needs the name of a tool and one of "
            f"{', '.join(RULINGS)}, or a plain function that returns one."
        )
        raise AgentConfigurationError(message)


def _applied(pattern: str, rule: Rule, args: Mapping[str, Any]) -> tuple[Ruling, str]:
    if not callable(rule):
        return rule, ""
    try:
        said: object = rule(copy.deepcopy(dict(args)))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a rule that fails never allows
        return "ask", failed(f"The rule {pattern!r} of the policy", error)
    if isinstance(said, str) and said in RULINGS:
        ruling: Any = said
        return ruling, ""
    known = ", ".join(RULINGS)
    return "ask", f"The rule {pattern!r} returned {shown(said)}, none of {known}."


def mode_beneath(outer: Mode | None, mode: Mode | None) -> Mode | None:
    """Give the mode of a run that a tool of another run has started.

    Parameters
    ----------
    outer : {"ask", "policy", "allow", "deny"} or None
        What was said for the other run.
    mode : {"ask", "policy", "allow", "deny"} or None
        That of the run itself.

    Returns
    -------
    {"ask", "policy", "allow", "deny"} or None
        The outer one, but where the other denies what that would not.
    """
    is_stricter = mode == "deny" or (mode == "policy" and outer != "deny")
    return mode if is_stricter else outer or mode


def failed(rule: str, error: BaseException) -> str:
    """Say that a rule failed, to the person who is asked in its place."""
    words = shorten(f"{type(error).__name__}: {error}", LONGEST_WORDS)
    return f"{rule} failed: {words}."
