"""Server-sent events mean the same however their bytes are cut."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from notebook_agents.providers._sse import SseDecoder, SseRecord

LINES = st.lists(
    st.sampled_from(
        [
            b"data: a",
            b"data:b",
            b"data",
            b"data: ",
            b"data:  two",
            b"event: error",
            b"id: 7",
            b"retry: 3",
            b": comment",
            b":",
            b"unknown: x",
            b"",
            b"",
            "data: \u2028 \x85 \u00e9".encode(),
        ]
    ),
    max_size=12,
)
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])


def decoded(*chunks: bytes) -> list[SseRecord]:
    decoder = SseDecoder()
    records = [record for chunk in chunks for record in decoder.feed(chunk)]
    return records + decoder.close()


def by_the_book(stream: bytes) -> list[SseRecord]:
    """Decode as the standard words it, line by line."""
    records, data, facts = [], [], {}
    for line in [*re.split(rb"\r\n|\n|\r", stream), b""]:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if not line:
            if data:
                records.append(SseRecord(b"\n".join(data), **facts))
            data, facts = [], {}
        elif name == b"data":
            data.append(value)
        elif name in {b"event", b"id", b"retry"}:
            facts[name.decode()] = value.decode()
    return records


@st.composite
def streams(draw) -> bytes:
    return b"".join(line + draw(ENDS) for line in draw(LINES))


@given(streams())
@example(b"data: a\r\r\ndata: b\n")
@example(b"\n\n\ndata: a\n\n\n\ndata: b")
def test_a_stream_means_what_the_standard_says(stream):
    assert decoded(stream) == by_the_book(stream)


@given(streams(), st.lists(st.integers(0, 200), max_size=8))
def test_any_cut_gives_the_same_records(stream, cuts):
    """Wire, section 0, rule 1."""
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    pieces = [stream[a:b] for a, b in itertools.pairwise(edges)]
    assert decoded(*pieces) == decoded(stream)


@given(streams())
def test_single_bytes_give_the_same_records(stream):
    assert decoded(*(bytes([byte]) for byte in stream)) == decoded(stream)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_each_kind_of_line_end_is_one(end):
    stream = f"event: x{end}data: a{end}data: b{end}{end}".encode()
    assert decoded(stream) == [SseRecord(b"a\nb", "x")]


@pytest.mark.parametrize("character", ["\u2028", "\x85", "\x0b", "\x0c"])
def test_no_other_character_ends_a_line(character):
    """Wire, section 0: httpx and str.splitlines break here."""
    stream = f'data: {{"a":"{character}"}}\n\n'.encode()
    assert decoded(stream)[0].data.decode() == f'{{"a":"{character}"}}'


def test_a_comment_is_no_record():
    assert decoded(b": OPENROUTER PROCESSING\n\n", b": keepalive\n") == []


def test_a_last_record_needs_no_blank_line():
    """Wire, section 0, rule 5."""
    assert decoded(b"data: a\n\ndata: b") == [SseRecord(b"a"), SseRecord(b"b")]


def test_an_event_without_data_is_no_record():
    assert decoded(b"event: ping\n\ndata: a\n\n") == [SseRecord(b"a")]


def test_a_mark_of_the_byte_order_is_skipped():
    assert decoded(b"\xef\xbb\xbfdata: a\n\n") == [SseRecord(b"a")]


def test_several_records_of_one_read_come_together():
    assert len(SseDecoder().feed(b"data: a\n\ndata: b\n\ndata: c")) == 2


def test_a_large_record_in_small_pieces_is_read_in_linear_time():
    """Counted in bytes searched, not on a clock: the buffer is searched once."""
    decoder = SseDecoder()
    decoder.feed(b"data: ")
    for _ in range(20_000):
        assert decoder.feed(b"x" * 50) == []
    assert decoder.pending == 1_000_006
    assert len(decoder.feed(b"\n\n")[0].data) == 1_000_000
