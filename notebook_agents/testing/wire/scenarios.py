"""`Scenario`: one reply of a model service, and what it means."""

from __future__ import annotations

import json
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
    event,
    head,
    streamed,
    whole,
)

__all__ = ["TEXT", "Scenario", "Talk", "broken_replies", "refusals"]

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
    (504, "It took too long.", ProviderTimeoutError),
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
    reply : list of bytes, Step and Wait
        What is said.
    text : str
        The visible text of the reply.
    calls : tuple of (str, dict)
        The tools that may run, with their arguments; a call that was cut off is
        not among them.
    error : type of NotebookAgentsError or None
        What is raised, once trying again is over.
    is_well_formed : bool, default False
        Whether it keeps to what the service itself documents, so that the
        service's own SDK reads it, too.
    """

    name: str
    about: str
    reply: Reply
    text: str = ""
    calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    error: type[NotebookAgentsError] | None = None
    is_well_formed: bool = False

    @property
    def is_streamed(self) -> bool:
        """Whether the reply comes as a stream of events."""
        return any(
            isinstance(step, bytes) and b"text/event-stream" in step
            for step in self.reply[:2]  # something may come before the head
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """How a wire format says the things that each of them can say.

    Parameters
    ----------
    wire : str
        Its name.
    says : callable
        Takes a text in pieces, and gives the events of a stream that says it;
        half of them with the first of two pieces.
    whole : dict
        `TEXT` as one object.
    call : sequence of bytes
        The events of a stream that calls ``add``, but for the mark that the
        reply is complete.
    half_a_call : sequence of bytes
        The same, up to the middle of the arguments.
    error : callable
        Takes a status and a message, and gives the body of a refusal.
    said_error : callable
        Takes the same, and gives the event of a stream that breaks off so.
    unknown : bytes
        An event that no client knows yet.
    """

    wire: str
    says: Callable[..., Sequence[bytes]]
    whole: Mapping[str, Any]
    call: Sequence[bytes]
    half_a_call: Sequence[bytes]
    error: Callable[[int, str], Any]
    said_error: Callable[[int, str], bytes]
    unknown: bytes

    @property
    def answer(self) -> list[bytes]:
        """The events that say `TEXT` in two pieces."""
        return list(self.says("Hel", "lo."))


def refusals(talk: Talk) -> Iterator[Scenario]:
    """Give what a service of any wire format may refuse with.

    Parameters
    ----------
    talk : Talk
        How this one speaks.

    Yields
    ------
    Scenario
        Named after it.
    """
    for status, said, error in STATUSES:
        yield Scenario(
            name=f"{talk.wire}/status_{status}",
            about=f"Refused with {status}: {said}",
            reply=whole(status, talk.error(status, said)),
            error=error,
            is_well_formed=True,
        )
    said = "You exceeded your current quota, please check your plan and billing."
    yield Scenario(
        name=f"{talk.wire}/quota_used_up",
        about="Refused with 429, and waiting does not help.",
        reply=whole(429, talk.error(429, said)),
        error=ProviderRateLimitError,
        is_well_formed=True,
    )
    yield Scenario(
        name=f"{talk.wire}/too_long",
        about="The conversation is longer than the model can read.",
        reply=whole(400, talk.error(400, "prompt is too long: 9 tokens > 8 maximum")),
        error=ContextLengthError,
        is_well_formed=True,
    )
    for name, about, reply in _by_others():
        yield Scenario(
            name=f"{talk.wire}/{name}",
            about=about,
            reply=reply,
            error=AgentProviderError,
        )


def broken_replies(talk: Talk) -> Iterator[Scenario]:
    """Give how a reply of any wire format may break.

    Parameters
    ----------
    talk : Talk
        How this one speaks.

    Yields
    ------
    Scenario
        Named after it.
    """
    broken = {
        StreamInterruptedError: _cut(talk),
        ProviderTimeoutError: _silent(talk),
        AgentProviderError: _failed(talk),
        ProviderReplyError: _no_replies(),
    }
    for error, replies in broken.items():
        for name, about, reply in replies:
            yield Scenario(
                name=f"{talk.wire}/{name}", about=about, reply=reply, error=error
            )


Told = Iterator[tuple[str, str, Reply]]
"""Names, what they are about, and the replies."""


def _cut(talk: Talk) -> Told:
    events = talk.answer
    half = streamed(*events[: len(events) // 2])
    yield "cut_stream", "The connection breaks in the middle.", [*half[:-1], CUT]
    yield (
        "no_end",
        "The stream ends in good order, without the mark that it is complete.",
        half,
    )
    yield (
        "cut_call",
        "The connection breaks behind a call, which must not run.",
        streamed(*talk.call, CUT),
    )
    yield (
        "no_end_of_call",
        "The stream ends in the middle of a call, which must not run.",
        streamed(*talk.half_a_call),
    )
    yield "empty_stream", "A stream without an event.", streamed(b": nothing\n\n")
    yield (
        "cut_whole",
        "The connection breaks within an object.",
        [
            head(200, {"content-type": "application/json", "content-length": "99"}),
            json.dumps(talk.whole).encode()[:90],
            CUT,
        ],
    )


def _silent(talk: Talk) -> Told:
    events = talk.answer
    yield (
        "silence",
        "Nothing comes, and the connection stays; for a short stall_timeout.",
        [HOLD],
    )
    yield (
        "stall",
        "Half of the answer, then nothing more; for a short stall_timeout.",
        streamed(*events[: len(events) // 2], HOLD),
    )
    yield (
        "stalled_call",
        "Half of a call, then nothing more; for a short stall_timeout.",
        streamed(*talk.half_a_call, HOLD),
    )


def _failed(talk: Talk) -> Told:
    events, overloaded = talk.answer, talk.said_error(503, "Overloaded")
    yield "no_reply", "The connection breaks before a byte.", [CUT]
    yield "cut_head", "It breaks within the head.", [STREAM_HEAD[:20], CUT]
    yield (
        "error_in_stream",
        "An error in the middle of a stream that began with 200.",
        streamed(*events[: len(events) // 2], overloaded),
    )
    yield (
        "error_after_call",
        "An error behind a call, which must not run.",
        streamed(*talk.call, overloaded),
    )
    yield "error_first", "An error as the first event.", streamed(overloaded)
    yield (
        "error_with_200",
        "An error as a whole object, with the status 200.",
        whole(200, talk.error(503, "Overloaded")),
    )
    yield "error_text", "An error in so many words.", whole(200, {"error": "No."})
    yield (
        "bad_chunk",
        "A body that breaks the rules of HTTP.",
        [STREAM_HEAD, chunk(events[0]), b"nonsense\r\n", LAST_CHUNK, CUT],
    )
    yield "no_http", "Something else answers.", [b"SSH-2.0-OpenSSH_9.2\r\n\r\n", CUT]


def _no_replies() -> Told:
    page = b"<html><body>Please sign in</body></html>"
    yield (
        "web_page",
        "A web page: the sign-in of a network, or another server.",
        whole(200, page),
    )
    yield "not_json", "Events that are no JSON.", streamed(b"data: {not json\n\n")
    yield "half_an_object", "JSON that ends too early.", whole(200, b'{"id": "1", ')
    yield "no_object", "JSON, but no object.", streamed(event(7))
    yield "another_object", "An object of something else.", whole(200, {"a": 1})
    yield "no_body", "An answer of no bytes.", whole(200, b"")


def _by_others() -> Told:
    yield (
        "proxy_page",
        "A web page of the proxy in front of the service.",
        whole(502, b"<html><h1>502 Bad Gateway</h1><hr>nginx</html>"),
    )
    yield (
        "redirect",
        "The service has moved; the key must not go to where it points.",
        whole(307, {}, location="https://elsewhere.invalid/v1"),
    )
    yield "no_content", "Accepted, with nothing in it.", [head(204)]
