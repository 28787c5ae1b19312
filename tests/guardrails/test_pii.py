"""`strip_pii` takes out what has the form of personal data, and nothing else."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notebook_agents import AgentConfigurationError
from notebook_agents.guardrails import strip_pii

ALL = ("email", "phone", "card", "iban", "ip")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("ada@example.org", "[EMAIL]"),
        ("Write to ada@example.org.", "Write to [EMAIL]."),
        ("<ada.l+x@mail.example.co.uk>", "<[EMAIL]>"),
        ("name=O'Brien@example.com", "name=[EMAIL]"),
        ("'ada@example.org'", "'[EMAIL]'"),
        ("jürgen@bücher.example", "[EMAIL]"),
        ("ada@xn--bcher-kva.xn--p1ai", "[EMAIL]"),
        ("a@b.de, c@d.de", "[EMAIL], [EMAIL]"),
        ("(555) 123-4567", "[PHONE]"),
        ("call (555)123-4567 now", "call [PHONE] now"),
        ("555-123-4567 or 555.123.4567", "[PHONE] or [PHONE]"),
        ("1-800-555-0199", "[PHONE]"),
        ("+1 (555) 123-4567", "[PHONE]"),
        ("+44 20 7946 0958", "[PHONE]"),
        ("+44 (0)20 7946 0958", "[PHONE]"),
        ("+447700900123", "[PHONE]"),
        ("tel:+49-151-2345-6789", "tel:[PHONE]"),
        ("020 7946 0958", "[PHONE]"),
        ("(020) 7946 0958", "[PHONE]"),
        ("07700 900123", "[PHONE]"),
        ("030/123 45 67", "[PHONE]"),
        ("01 23 45 67 89", "[PHONE]"),
    ],
)
def test_addresses_and_telephones_are_taken_out(text, left):
    """Requirements, L34 and W41."""
    assert strip_pii()(text) == left


@pytest.mark.parametrize(
    "text",
    [
        "order 5551234567",
        "id 0123456789",
        "0.5551234567",
        "2024-01-15 10:30",
        "01-02-2024 10:30",
        "01/02/2024 1030",
        "a profit of +1500000",
        "192.168.100.200",
        "react@18.2.0",
        "root@localhost",
        "@property",
        "1 2 3 4 5 6 7 8 9 10",
        "4111 1111 1111 1111",  # asked for by name only
    ],
)
def test_what_only_resembles_them_stays(text):
    """Requirements, W41."""
    assert strip_pii()(text) == text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("4111 1111 1111 1111", "[CARD]"),
        ("4111-1111-1111-1111.", "[CARD]."),
        ("4111111111111111", "[CARD]"),
        ("3782 822463 10005", "[CARD]"),
        ("in 2024 4111 1111 1111 1111 123", "in 2024 [CARD] 123"),
        ("4111 1111 1111 1111 5500 0000 0000 0004", "[CARD] [CARD]"),
        ("4111 1111 1111 1112", "4111 1111 1111 1112"),
        ("0.4111111111111111", "0.4111111111111111"),
        ("DE89 3704 0044 0532 0130 00", "[IBAN]"),
        ("DE89370400440532013000 EUR", "[IBAN] EUR"),
        ("GB29 NWBK 6016 1331 9268 19 SWIFT", "[IBAN] SWIFT"),
        ("GB29 NWBK 6016 1331 9268 18", "GB29 NWBK 6016 1331 9268 18"),
        ("at 192.168.1.1:80", "at [IP]:80"),
        ("::1 and [2001:db8::7334]", "[IP] and [[IP]]"),
        ("::ffff:192.0.2.1", "[IP]"),
        ("10.0.0.300, 12:30:45, std::vector, v1.2.3, ::", None),
    ],
)
def test_more_is_taken_out_where_it_is_asked_for(text, left):
    assert strip_pii(ALL)(text) == (text if left is None else left)


def test_only_what_is_asked_for_is_taken_out():
    assert strip_pii("phone")("a@b.de (555) 123-4567") == "a@b.de [PHONE]"
    assert strip_pii([])("a@b.de") == "a@b.de"


def test_patterns_of_your_own_come_first():
    extra = {"TICKET": r"T-\d+", "HOST": re.compile("[a-z]+@host", re.IGNORECASE)}
    guard = strip_pii(extra=extra)
    assert guard("T-7: ada@HOST, ada@host.de") == "[TICKET]: [HOST], [HOST].de"


def test_a_pattern_that_finds_nothing_takes_nothing_out():
    assert strip_pii(extra={"X": "x*"})("axxb") == "a[X]b"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"patterns": ["email", "name"]}, "no pattern 'name'; it knows email, iban"),
        ({"extra": {"X": "("}}, "pattern of 'X' is no regular expression"),
        ({"extra": {"X": 7}}, "pattern of 'X' is no regular expression"),
    ],
)
def test_a_pattern_that_cannot_be_is_refused(arguments, said):
    with pytest.raises(AgentConfigurationError, match=said):
        strip_pii(**arguments)


@given(st.text(alphabet="a1@.+-() 0:'\n", max_size=200))
def test_nothing_is_found_in_what_it_left(text):
    once = strip_pii(ALL)(text)
    assert strip_pii(ALL)(once) == once


@pytest.mark.parametrize(
    "piece", ["a", "1", "x@", "a.", "a'", "+1 ", "1 2 ", "01 23 45 67 89 ", "ab:", "1."]
)
def test_no_text_makes_it_slow(piece):
    began = time.thread_time()
    strip_pii(ALL)(piece * (200_000 // len(piece)))
    assert time.thread_time() - began < 2.0
