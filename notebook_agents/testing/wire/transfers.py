"""One answer in all the ways in which its bytes may come."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Sequence

from notebook_agents.testing.wire.replies import (
    CUT,
    HOLD,
    LAST_CHUNK,
    STREAM_HEAD,
    Reply,
    Wait,
    chunk,
    event,
    head,
    streamed,
    whole,
)
from notebook_agents.testing.wire.scenarios import (
    TEXT,
    Scenario,
    Talk,
    broken_replies,
    refusals,
)

__all__ = ["common"]

ANY = "Gr\xfc\xdfe,\u2028\U0001f600\x85."
"""Characters of several bytes, and some that some take for the end of a line."""

Told = Iterator[tuple[str, str, Reply]]
"""Names, what they are about, and the replies."""


def common(talk: Talk) -> Iterator[Scenario]:
    """Give what may happen with any wire format.

    Parameters
    ----------
    talk : Talk
        How this one speaks.

    Yields
    ------
    Scenario
        Named after it.
    """
    for is_well_formed, replies in (
        (True, _usual(talk)),
        (False, _odd_events(talk)),
        (False, _odd_http(talk)),
        (False, _whole(talk)),
    ):
        for name, about, reply in replies:
            yield Scenario(
                name=f"{talk.wire}/{name}",
                about=about,
                reply=reply,
                text=TEXT,
                is_well_formed=is_well_formed,
            )
    yield Scenario(
        name=f"{talk.wire}/whole",
        about="A plain answer as one object, for who did not ask for a stream.",
        reply=whole(200, dict(talk.whole)),
        text=TEXT,
        is_well_formed=True,
    )
    yield from _characters(talk)
    yield from broken_replies(talk)
    yield from refusals(talk)


def _usual(talk: Talk) -> Told:
    events, at_once = talk.answer, b"".join(talk.answer)
    middle = len(events) // 2
    yield "answer", "A plain answer in two pieces.", streamed(*events)
    yield "one_chunk", "All events in one write.", streamed(at_once)
    yield (
        "byte_by_byte",
        "A write for each byte, so that everything is cut in two.",
        streamed(*_bytes(at_once)),
    )
    yield (
        "unknown_event",
        "An event that is newer than the client.",
        streamed(*events[:middle], talk.unknown, *events[middle:]),
    )
    yield "closed_at_the_end", "The end is where the connection ends.", _unframed(talk)
    yield (
        "early_hints",
        "Something is said before the reply.",
        [b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n", *streamed(*events)],
    )


def _odd_events(talk: Talk) -> Told:
    events, at_once = talk.answer, b"".join(talk.answer)
    yield (
        "comments",
        "Comments that keep the line open (OpenRouter, proxies).",
        streamed(b": keepalive\n\n", *_between(events, b": PROCESSING\n\n")),
    )
    yield (
        "crlf",
        "Lines end with CR LF, as some proxies have them.",
        streamed(*_bytes(at_once.replace(b"\n", b"\r\n"))),
    )
    yield "cr", "Lines end with CR.", streamed(*_bytes(at_once.replace(b"\n", b"\r")))
    yield (
        "mixed_line_ends",
        "Each event has line ends of its own kind.",
        streamed(
            *(
                each.replace(b"\n", (b"\n", b"\r\n", b"\r")[number % 3])
                for number, each in enumerate(events)
            )
        ),
    )
    yield (
        "no_space",
        "No blank after `data:`.",
        streamed(*(each.replace(b"data: ", b"data:") for each in events)),
    )
    yield (
        "many_data_lines",
        "An object is laid out over several lines.",
        streamed(*map(_laid_out, events)),
    )
    yield (
        "numbered_events",
        "Events with identifiers, and a time to reconnect after.",
        streamed(*(b"id: 7\nretry: 3000\n" + each for each in events)),
    )
    yield (
        "byte_order_mark",
        "A mark of the byte order at the beginning.",
        streamed(b"\xef\xbb\xbf" + events[0], *events[1:]),
    )
    yield (
        "no_last_blank_line",
        "The last event has no blank line behind it.",
        streamed(*events[:-1], events[-1].rstrip(b"\n")),
    )
    yield (
        "done_too",
        "A [DONE] at the end, whether the format has it or not (gateways).",
        streamed(*events, event("[DONE]")),
    )
    yield (
        "slow",
        "For a while comments are the only sign of life.",
        streamed(*_between([b": alive\n\n"] * 10, Wait(0.1)), *events),
    )
    yield (
        "open_at_the_end",
        "The reply is complete, but its connection says nothing of an end.",
        streamed(*events, HOLD),
    )
    yield (
        "broken_at_the_end",
        "The reply is complete, and the connection breaks instead of ending.",
        streamed(*events, CUT),
    )


def _odd_http(talk: Talk) -> Told:
    events = talk.answer
    said = streamed(*events)
    chunks = said[1:]
    yield (
        "http_1_0",
        "The reply of an old server, or an old proxy.",
        [
            step.replace(b"HTTP/1.1", b"HTTP/1.0") if isinstance(step, bytes) else step
            for step in _unframed(talk)
        ],
    )
    for name, about, kind in (
        ("no_content_type", "A stream that does not say that it is one.", ""),
        ("json_content_type", "A stream that calls itself JSON.", "application/json"),
        ("plain_content_type", "A stream that calls itself text.", "text/plain"),
    ):
        typed = {"content-type": kind} if kind else {}
        yield (
            name,
            about,
            [head(200, {**typed, "transfer-encoding": "chunked"}), *chunks],
        )
    yield (
        "trailers",
        "Headers behind the body.",
        [*said[:-1], LAST_CHUNK[:-2] + b"x-seconds: 1\r\n\r\n"],
    )
    yield "packed", "Packed, though that was not asked for.", _packed(events)


def _whole(talk: Talk) -> Told:
    said = dict(talk.whole)
    raw = json.dumps(said, indent=2).encode()
    length = {"content-length": str(len(raw) + 2)}
    yield (
        "whole_instead",
        "A whole object where a stream was asked for (gateways).",
        whole(200, said),
    )
    for name, about, kind in (
        (
            "whole_as_stream",
            "An object that calls itself a stream.",
            "text/event-stream",
        ),
        ("whole_of_no_type", "An object that does not say what it is.", ""),
    ):
        typed = {"content-type": kind} if kind else {}
        yield name, about, [head(200, {**typed, **length}) + b"\r\n" + raw]
    yield (
        "whole_after_blanks",
        "Blank lines keep the line open until the object is there.",
        [STREAM_HEAD.replace(b"text/event-stream", b"application/json"),
         *_between([chunk(b"\n")] * 3, Wait(0.01)), chunk(raw), LAST_CHUNK],
    )  # fmt: skip


def _characters(talk: Talk) -> Iterator[Scenario]:
    yield Scenario(
        name=f"{talk.wire}/any_character",
        about="Characters of several bytes, and line ends of Unicode, cut anywhere.",
        reply=streamed(*_bytes(b"".join(talk.says(ANY)))),
        text=ANY,
        is_well_formed=True,
    )
    said = b"".join(talk.says("Hel", "@lo."))
    yield Scenario(
        name=f"{talk.wire}/broken_character",
        about="Half of a character (servers that cut between tokens).",
        reply=streamed(said.replace(b"@", b"\xf0\x9f")),
        text="Hel\ufffdlo.",
    )
    yield Scenario(
        name=f"{talk.wire}/half_a_pair",
        about="Half of a character, escaped (JavaScript cuts them so).",
        reply=streamed(said.replace(b"@", rb"\ud83d")),
        text="Hel\ufffdlo.",
    )


# How bytes come.


def _bytes(raw: bytes) -> list[bytes]:
    return [raw[place : place + 1] for place in range(len(raw))]


def _unframed(talk: Talk) -> Reply:
    begun = STREAM_HEAD.replace(b"transfer-encoding: chunked\r\n", b"")
    return [begun, b"".join(talk.answer), CUT]


def _packed(events: Sequence[bytes]) -> Reply:
    packing = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    pieces = [packing.compress(e) + packing.flush(zlib.Z_SYNC_FLUSH) for e in events]
    chunks = streamed(*pieces, packing.flush())[1:]
    return [STREAM_HEAD[:-2] + b"content-encoding: gzip\r\n\r\n", *chunks]


def _laid_out(raw: bytes) -> bytes:
    """Write the data of an event over several lines."""
    lines = []
    for line in raw.decode().strip().split("\n"):
        name, _, data = line.partition(": ")
        if name == "data" and data.startswith("{"):
            laid_out = json.dumps(json.loads(data), indent=1, ensure_ascii=False)
            lines += [f"data: {each}" for each in laid_out.split("\n")]
        else:
            lines.append(line)
    return ("\n".join(lines) + "\n\n").encode()


def _between(events: Sequence[bytes], between: bytes | Wait) -> list[bytes | Wait]:
    return [each for event in events for each in (event, between)]
