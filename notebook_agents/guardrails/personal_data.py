"""What personal data look like: expressions, and checks for what they find."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["KINDS", "Form", "Kind"]

Measure = Callable[[str], int]
"""Tells how many characters of what was found are what it looks like."""


class Form(NamedTuple):
    """How one kind of data is written, and how much of what is found counts."""

    expression: re.Pattern[str]
    measure: Measure = len


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of data that is put out of sight.

    Parameters
    ----------
    label : str
        What stands in its place, in brackets.
    forms : tuple of Form
        How it is written.
    """

    label: str
    forms: tuple[Form, ...]

    def hidden(self, text: str) -> str:
        """Give a text with labels instead."""
        for form in self.forms:
            text = self._hidden(text, form)
        return text

    def _hidden(self, text: str, form: Form) -> str:
        parts, end, start = [], 0, 0
        while found := form.expression.search(text, start):
            size = form.measure(found.group())
            # What does not count may overlap with something that does.
            start = found.start() + (size or 1)
            if start > len(text):
                break  # an empty find at the very end, which would come again
            if size:
                parts += [text[end : found.start()], f"[{self.label}]"]
                end = start
        return "".join([*parts, text[end:]])


def _digits(text: str) -> list[int]:
    return [int(each) for each in text if each.isdecimal()]


def _telephone(found: str) -> int:
    fewest, most = 9, 15
    is_one = fewest <= len(_digits(found)) <= most
    return len(found) if is_one else 0


def _national_telephone(found: str) -> int:
    """Tell a telephone from a date and a time, which change their separators."""
    fewest, most = 9, 12
    separators = re.findall(r"[^\d()]", found)
    is_one = fewest <= len(_digits(found)) <= most and len(set(separators[1:])) <= 1
    return len(found) if is_one else 0


def _card(found: str) -> int:
    return _longest(found, _has_check_digit)


def _has_check_digit(number: str) -> bool:
    digits = _digits(number)
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    fewest = 13
    return len(digits) >= fewest and (sum(doubled) + sum(digits[-1::-2])) % 10 == 0


def _account(found: str) -> int:
    return _longest(found, _has_check_digits)


def _has_check_digits(account: str) -> bool:
    shortest, longest = 15, 34
    plain = account.replace(" ", "")
    if not shortest <= len(plain) <= longest:
        return False
    turned = plain[4:] + plain[:4]
    return int("".join(str(int(each, 36)) for each in turned)) % 97 == 1


def _longest(found: str, is_right: Callable[[str], bool]) -> int:
    """Measure what is right of it: a word that follows may look like a part."""
    ends = [len(found), *(gap.start() for gap in re.finditer(r"[ -]", found))]
    return next((end for end in sorted(ends, reverse=True) if is_right(found[:end])), 0)


def _machine(found: str) -> int:
    try:
        ipaddress.ip_address(found)
    except ValueError:
        return 0
    return len(found) if found.strip(":") else 0


_GAP = r"[ \u00a0.\-\u2010-\u2013]"
_LOCAL = r"[\w.+%-]"
_EMAIL = re.compile(
    rf"(?<!{_LOCAL}){_LOCAL}++(?:'{_LOCAL}++){{0,3}}+[@\uff20]"
    r"(?:[\w-]+\.)+(?:xn--[\w-]+|[^\W\d_]{2,})"
)
_INTERNATIONAL = re.compile(
    r"(?<![\w+])\+\d{1,3}(?:[ \u00a0.\-\u2010-\u2013/()]{0,3}\d){6,14}(?!\d)"
)
_NORTH_AMERICAN = re.compile(
    rf"(?<![\w.+-])(?:1{_GAP})?(?:\(\d{{3}}\){_GAP}?|\d{{3}}{_GAP})"
    rf"\d{{3}}{_GAP}\d{{4}}(?![\w-]|\.\d)"
)
_NATIONAL = re.compile(
    r"(?<![\w.+/-])(?:\(0[1-9]\d{0,4}\)|0[1-9]\d{0,4})"
    r"(?:[ \u00a0/\-\u2010-\u2013]\d{2,8}){1,4}(?![\w-])"
)
_CARD = re.compile(
    r"(?<!\d)(?<!\d\.)(?:\d{4}([ -])\d{4}\1\d{4}\1\d{4}(?:\1\d{1,3})?"
    r"|\d{4}([ -])\d{6}\2\d{4,5}|\d{13,19})(?!\d)"
)
_ACCOUNT = re.compile(
    r"(?<!\w)[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?(?!\w)"
)
_MACHINE_4 = re.compile(r"(?<![\w.])(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?!\w|\.\d)")
_MACHINE_6 = re.compile(
    r"(?<![\w:.])(?:[0-9A-Fa-f]{0,4}:){2,7}"
    r"(?:(?:[0-9]{1,3}\.){3}[0-9]{1,3}|[0-9A-Fa-f]{1,4})?(?![\w:])"
)

KINDS = {
    "email": Kind("EMAIL", (Form(_EMAIL),)),
    "iban": Kind("IBAN", (Form(_ACCOUNT, _account),)),
    "card": Kind("CARD", (Form(_CARD, _card),)),
    "ip": Kind("IP", (Form(_MACHINE_6, _machine), Form(_MACHINE_4, _machine))),
    "phone": Kind(
        "PHONE",
        (
            Form(_INTERNATIONAL, _telephone),
            Form(_NORTH_AMERICAN),
            Form(_NATIONAL, _national_telephone),
        ),
    ),
}
"""What can be looked for by name, in the order in which it is."""
