"""`Scenario`: one reply of a model service, and what it means."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from notebook_agents.errors import (
    AgentProviderError,
    ContextLengthError,
    ModelNotFoundError,
    NotebookAgentsError,
    ProviderAuthError,
    ProviderRateLimitError,
    ProviderReplyError,
    ProviderTimeoutError,
    StreamInterruptedError,
)
from notebook_agents.testing.wire.replies import (
    CUT,
    HOLD,
    LAST_CHUNK,
    STREAM_HEAD,
    Reply,
    chunk,
    streamed,
    whole,
)

__all__ = ["TEXT", "Scenario", "Talk", "common"]

TEXT = "Hello."
"""What a model says in most scenarios."""
STATUSES: tuple[tuple[int, str, type[NotebookAgentsError]], ...] = (
    (400, "The request is odd.", AgentProviderError),
    (401, "The key is wrong.", ProviderAuthError),
    (402, "There is no credit left.", AgentProviderError),
    (403, "The key may not do that.", ProviderAuthError),
    (404, "The model was not found.", ModelNotFoundError),
    (408, "It took too long.", ProviderTimeoutError),
    (409, "Something else was going on.", AgentProviderError),
    (413, "The request is too large.", ContextLengthError),
    (422, "The request has a field that is wrong.", AgentProviderError),
    (429, "Slow down.", ProviderRateLimitError),
    (500, "It broke.", AgentProviderError),
    (503, "Come back later.", AgentProviderError),
    (529, "Overloaded", AgentProviderError),
)
"""What services refuse with, and what that has to become."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One reply of a model service, and what a good client makes of it.

    Parameters
    ----------
    name : str
        Such as ``"chat/cut_stream"``: the wire format, and the variant.
    about : str
        What is particular about it, and who sends it, in a sentence.
    reply : list of bytes and Step
        What is said.
    text : str
        The visible text of the reply.
    calls : tuple of (str, dict)
        The tools that may run, with their arguments; a call that was cut off is
        not among them.
    error : type of NotebookAgentsError or None
        What is raised, once trying again is over.
    """

    name: str
    about: str
    reply: Reply
    text: str = ""
    calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    error: type[NotebookAgentsError] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """How a wire format says the things that each of them can say.

    Parameters
    ----------
    wire : str
        Its name.
    answer : sequence of bytes
        The events of a stream that says `TEXT`, the first piece of it in the
        first half of them.
    whole : dict
        The same as one object.
    error : callable
        Takes a status and a message, and gives the body of a refusal.
    said_error : callable
        Takes the same, and gives the event of a stream that breaks off so.
    unknown : bytes
        An event that no client knows yet.
    """

    wire: str
    answer: Sequence[bytes]
    whole: Mapping[str, Any]
    error: Callable[[int, str], Any]
    said_error: Callable[[int, str], bytes]
    unknown: bytes


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

    def good(name: str, about: str, reply: Reply) -> Scenario:
        return Scenario(name=f"{talk.wire}/{name}", about=about, reply=reply, text=TEXT)

    yield from _good_replies(talk, good)
    yield from _broken_replies(talk)
    for status, said, error in STATUSES:
        yield Scenario(
            name=f"{talk.wire}/status_{status}",
            about=f"Refused with {status}: {said}",
            reply=whole(status, talk.error(status, said)),
            error=error,
        )


def _good_replies(
    talk: Talk, good: Callable[[str, str, Reply], Scenario]
) -> Iterator[Scenario]:
    events = list(talk.answer)
    at_once = b"".join(events)
    middle = len(events) // 2
    yield good("answer", "A plain answer in two pieces.", streamed(*events))
    yield good("one_chunk", "All events in one write.", streamed(at_once))
    yield good(
        "byte_by_byte",
        "A write for each byte, so that everything is cut in two.",
        streamed(*(at_once[place : place + 1] for place in range(len(at_once)))),
    )
    yield good(
        "crlf",
        "Lines end with CR LF, as some proxies have them.",
        streamed(*(each.replace(b"\n", b"\r\n") for each in events)),
    )
    yield good(
        "no_space",
        "No blank after `data:`.",
        streamed(*(each.replace(b"data: ", b"data:") for each in events)),
    )
    yield good(
        "comments",
        "Comments that keep the line open (OpenRouter, proxies).",
        streamed(b": keepalive\n\n", *_between(events, b": PROCESSING\n\n")),
    )
    yield good(
        "unknown_event",
        "An event that is newer than the client.",
        streamed(*events[:middle], talk.unknown, *events[middle:]),
    )
    yield good(
        "no_last_blank_line",
        "The last event has no blank line behind it.",
        streamed(*events[:-1], events[-1].rstrip(b"\n")),
    )
    yield good(
        "whole_instead",
        "A whole object where a stream was asked for (gateways).",
        whole(200, dict(talk.whole)),
    )
    yield good(
        "closed_at_the_end",
        "No length and no chunks: the end is where the connection ends.",
        [STREAM_HEAD.replace(b"transfer-encoding: chunked\r\n", b""), at_once, CUT],
    )


def _broken_replies(talk: Talk) -> Iterator[Scenario]:
    events = list(talk.answer)
    middle = len(events) // 2

    def broken(
        name: str, about: str, reply: Reply, error: type[NotebookAgentsError]
    ) -> Scenario:
        return Scenario(
            name=f"{talk.wire}/{name}", about=about, reply=reply, error=error
        )

    yield broken(
        "cut_stream",
        "The connection breaks in the middle.",
        streamed(*events[:middle], CUT),
        StreamInterruptedError,
    )
    yield broken(
        "no_end",
        "The stream ends in good order, without the mark that it is complete.",
        streamed(*events[:middle]),
        StreamInterruptedError,
    )
    yield broken(
        "no_reply", "The connection breaks before a byte.", [CUT], AgentProviderError
    )
    yield broken(
        "silence",
        "Nothing comes, and the connection stays; for a short stall_timeout.",
        [HOLD],
        ProviderTimeoutError,
    )
    yield broken(
        "stall",
        "Half of the answer, then nothing more; for a short stall_timeout.",
        streamed(*events[:middle], HOLD),
        ProviderTimeoutError,
    )
    yield broken(
        "error_in_stream",
        "An error in the middle of a stream that began with 200.",
        streamed(*events[:middle], talk.said_error(503, "Overloaded")),
        AgentProviderError,
    )
    yield broken(
        "error_first",
        "An error as the first event of a stream.",
        streamed(talk.said_error(503, "Overloaded")),
        AgentProviderError,
    )
    yield broken(
        "error_with_200",
        "An error as a whole object, with the status 200.",
        whole(200, talk.error(503, "Overloaded")),
        AgentProviderError,
    )
    yield broken(
        "web_page",
        "A web page: the sign-in of a network, or another server.",
        whole(200, b"<html><body>Please sign in</body></html>"),
        ProviderReplyError,
    )
    yield broken(
        "not_json",
        "Events that are no JSON.",
        streamed(b"data: {not json\n\n"),
        ProviderReplyError,
    )
    yield broken(
        "bad_chunk",
        "A body that breaks the rules of HTTP.",
        [STREAM_HEAD, chunk(events[0]), b"nonsense\r\n", LAST_CHUNK, CUT],
        AgentProviderError,
    )


def _between(events: Sequence[bytes], comment: bytes) -> list[bytes]:
    return [each for event in events for each in (event, comment)]
