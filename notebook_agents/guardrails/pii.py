"""`strip_pii`: a guard that puts labels in the place of personal data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from notebook_agents import checks
from notebook_agents.checks import shown
from notebook_agents.errors import AgentConfigurationError
from notebook_agents.guardrails.guard import Guard
from notebook_agents.guardrails.personal_data import KINDS, Form, Kind
from notebook_agents.spelling import by_name, did_you_mean

__all__ = ["strip_pii"]


@by_name
def strip_pii(
    patterns: str | Iterable[str] = ("email", "phone"),
    *,
    extra: Mapping[str, str | re.Pattern[str]] | None = None,
) -> Guard:
    r"""Make a guard that puts a label such as ``[EMAIL]`` for personal data.

    Parameters
    ----------
    patterns : str or iterable of str, default ("email", "phone")
        What to look for:

        * ``"email"``: addresses.
        * ``"phone"``: numbers as people write them: international
          (``+44 20 7946 0958``), North American (``(555) 123-4567``), or with
          a leading zero and spaces (``020 7946 0958``). Digits in a row are
          taken for an identifier, not for a telephone.
        * ``"card"``: card numbers of 13 to 19 digits with a right check digit
          [1]_.
        * ``"iban"``: bank accounts with right check digits [2]_.
        * ``"ip"``: addresses of machines, IPv4 and IPv6.
    extra : mapping of str to str or re.Pattern, optional
        Regular expressions of your own by label, which come first. One that
        backtracks without an end holds up the whole process.

    Returns
    -------
    Guard
        It blocks nothing.

    Raises
    ------
    AgentConfigurationError
        If a pattern is not known, or not a regular expression.

    Notes
    -----
    A pattern finds what is written in a usual form. It is no proof that nothing
    personal is left: names and postal addresses have no form at all.

    References
    ----------
    .. [1] ISO/IEC 7812-1, annex B (the Luhn formula).
    .. [2] ISO 13616-1 (a remainder of 1 modulo 97).

    Examples
    --------
    >>> strip_pii()("Ask ada@example.org or call (555) 123-4567, order 5551234567.")
    'Ask [EMAIL] or call [PHONE], order 5551234567.'
    >>> strip_pii("card", extra={"TICKET": r"T-\d+"})("T-17: 4111 1111 1111 1111")
    '[TICKET]: [CARD]'
    """
    kinds = [*_own(extra or {}), *_known(patterns)]

    def strip_pii(text: str) -> str:
        for kind in kinds:
            text = kind.hidden(text)
        return text

    return Guard(strip_pii)


def _known(patterns: Any) -> list[Kind]:
    several = [patterns] if isinstance(patterns, str) else patterns
    wanted = checks.each("patterns", several, "names")
    for name in wanted:
        if name not in KINDS:
            meant = did_you_mean(str(name), KINDS)
            message = (
                f"strip_pii knows no pattern {name!r}; it knows {', '.join(KINDS)}."
                f"{meant} One of your own goes into extra={{label: expression}}."
            )
            raise AgentConfigurationError(message)
    # Always in this order: an account number has parts that look like telephones.
    return [kind for name, kind in KINDS.items() if name in wanted]


def _own(extra: Any) -> list[Kind]:
    if not isinstance(extra, Mapping):
        checks.fail(
            f"extra is {shown(extra)}; it must be a dict: {{label: expression}}."
        )
    return [Kind(label, (Form(_compiled(label, extra[label])),)) for label in extra]


def _compiled(label: str, expression: str | re.Pattern[str]) -> re.Pattern[str]:
    try:
        return re.compile(expression)
    except (re.error, TypeError) as error:
        message = f"The pattern of {label!r} is no regular expression: {error}."
        raise AgentConfigurationError(message) from error
