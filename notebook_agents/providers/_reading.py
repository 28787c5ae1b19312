"""From the bytes of a reply to deltas, with the rule that a reply needs its end."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import re
from collections.abc import AsyncGenerator, Sequence
from typing import Any, Protocol

from pydantic_core import from_json

from notebook_agents.errors import ProviderReplyError
from notebook_agents.providers._failures import Failure, ServiceFacts, unreadable
from notebook_agents.providers._http import MOST_WHOLE_BYTES, Exchange
from notebook_agents.providers._sse import SseDecoder, SseRecord
from notebook_agents.providers._think import Piece
from notebook_agents.providers._transport import TransportError, Trouble
from notebook_agents.providers.base import Delta, ModelReply

__all__ = ["Reply", "joined", "parsed", "read_reply"]

TAIL_SECONDS = 5.0
"""How long to wait, once a reply is complete, for token counts and the end."""


class Reply(Protocol):
    """How one reply is read; each wire format has its own."""

    def read(self, records: Sequence[SseRecord]) -> list[Piece]:
        """Take the next records of a stream.

        Parameters
        ----------
        records : sequence of SseRecord
            In their order.

        Returns
        -------
        list of TextDelta and ReasoningDelta
            What they add, neighbours of a kind put together.

        Raises
        ------
        Failure
            If one of them is an error, or cannot be read.
        """

    def read_whole(self, body: bytes) -> list[Piece]:
        """Take a reply that came as one JSON object.

        Parameters
        ----------
        body : bytes
            The body.

        Returns
        -------
        list of TextDelta and ReasoningDelta
            What it says.

        Raises
        ------
        Failure
            If it is an error, or no reply.
        """

    def has_finished(self) -> bool:
        """Tell whether the service said that the reply is complete."""

    def close(self) -> list[Piece]:
        """Take the end; give what was held back."""

    def reply(self) -> ModelReply:
        """Give the whole reply."""


async def read_reply(exchange: Exchange, reply: Reply) -> AsyncGenerator[Delta, None]:
    """Read one reply.

    Parameters
    ----------
    exchange : Exchange
        Where its bytes come from.
    reply : Reply
        What they mean.

    Yields
    ------
    TextDelta, ReasoningDelta or ModelReply
        As they arrive; the `ModelReply` last.

    Raises
    ------
    TransportError
        If the reply breaks off before the service said that it is complete.
    """
    decoder = SseDecoder()
    chunks = exchange.chunks()
    try:
        head = await _beginning(chunks)
        if _is_stream(exchange, head):
            for piece in reply.read(decoder.feed(head)):
                yield piece
            while not reply.has_finished():
                if decoder.pending > MOST_WHOLE_BYTES:
                    raise TransportError(Trouble.OVERSIZED)
                chunk = await anext(chunks, None)
                if chunk is None:
                    break
                for piece in reply.read(decoder.feed(chunk)):
                    yield piece
            tail = _tail(chunks, decoder, reply)
            try:
                async for piece in tail:
                    yield piece
            finally:
                await tail.aclose()
        else:
            for piece in reply.read_whole(head + await _rest(chunks)):
                yield piece
        for piece in reply.close():
            yield piece
    finally:
        await chunks.aclose()
    yield reply.reply()


async def _tail(
    chunks: AsyncGenerator[bytes, None], decoder: SseDecoder, reply: Reply
) -> AsyncGenerator[Piece, None]:
    """Read what follows the reply, so that its connection can be used again."""
    now = asyncio.get_running_loop().time
    until = now() + TAIL_SECONDS
    while decoder.pending <= MOST_WHOLE_BYTES:
        chunk = await _soon(chunks, until)
        records = decoder.close() if chunk is None else decoder.feed(chunk)
        pieces = _last(records, reply) if chunk is None else reply.read(records)
        for piece in pieces:
            yield piece
        if chunk is None:
            break
        if pieces:  # some say in each event that it is the last one
            until = now() + TAIL_SECONDS
    if not reply.has_finished():
        raise TransportError(Trouble.CUT)


async def _soon(chunks: AsyncGenerator[bytes, None], until: float) -> bytes | None:
    """Give the next bytes, if they come in time and nothing goes wrong any more."""
    with contextlib.suppress(TimeoutError, TransportError):
        async with asyncio.timeout_at(until):
            return await anext(chunks, None)
    return None


def _last(records: Sequence[SseRecord], reply: Reply) -> list[Piece]:
    """Read a record that no blank line ended, if it is whole."""
    try:
        return reply.read(records)
    except Failure as failure:
        if isinstance(failure.error, ProviderReplyError):
            return []  # the beginning of one
        raise


async def _beginning(chunks: AsyncGenerator[bytes, None]) -> bytes:
    """Read until there is something to see."""
    head = b""
    async for chunk in chunks:
        head += chunk
        if head.strip():
            break
    return head


async def _rest(chunks: AsyncGenerator[bytes, None]) -> bytes:
    rest = bytearray()
    async for chunk in chunks:
        rest += chunk
        if len(rest) > MOST_WHOLE_BYTES:
            raise TransportError(Trouble.OVERSIZED)
    return bytes(rest)


def _is_stream(exchange: Exchange, head: bytes) -> bool:
    """Tell a stream from a whole object, or a web page, that came instead."""
    kind = exchange.headers.get("content-type", "").partition(";")[0].strip().lower()
    begins = head.lstrip()[:1]
    if kind == "text/event-stream":
        return begins not in {b"{", b"["}
    if kind == "text/html":
        return False
    if kind == "application/json":  # what some call a stream as well
        return begins in _FIELDS
    return begins not in {b"{", b"[", b"<"}


_FIELDS = {b"d", b"e", b"i", b"r", b":"}
"""How the lines of a stream begin, and no object does: data, event, ..."""


def parsed(data: bytes, service: ServiceFacts) -> dict[str, Any]:
    """Read one object of a reply.

    Parameters
    ----------
    data : bytes
        JSON.
    service : ServiceFacts
        Whom an error is about.

    Returns
    -------
    dict
        The object; also where it came alone in a list.

    Raises
    ------
    Failure
        If it is none.
    """
    try:
        found = from_json(data)
    except ValueError as error:
        found = _with_broken_characters(data)
        if found is None:
            failure = unreadable(data, service)
            raise failure from error
    if isinstance(found, list) and len(found) == 1:  # Gemini's way of refusing
        found = found[0]
    if not isinstance(found, dict):
        failure = unreadable(data, service)
        raise failure
    return found


def _with_broken_characters(data: bytes) -> object:
    """Read JSON whose characters were cut in two; None if that is not what is wrong."""
    try:
        # The standard of event streams, too, replaces what is left of a character.
        found = json.loads(data.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return None
    text = json.dumps(found, ensure_ascii=False)
    return json.loads(_HALF_OF_A_PAIR.sub("\N{REPLACEMENT CHARACTER}", text))


_HALF_OF_A_PAIR = re.compile("[\ud800-\udfff]")


def joined(pieces: list[Piece]) -> list[Piece]:
    """Put neighbours of a kind together.

    Parameters
    ----------
    pieces : list of TextDelta and ReasoningDelta
        In their order.

    Returns
    -------
    list of TextDelta and ReasoningDelta
        No two of a kind side by side.

    Examples
    --------
    >>> from notebook_agents.providers import ReasoningDelta, TextDelta
    >>> joined([TextDelta("a"), TextDelta("b"), ReasoningDelta("c")])
    [TextDelta(text='ab'), ReasoningDelta(text='c')]
    """
    if len(pieces) < 2:  # noqa: PLR2004 - nothing to put together
        return pieces
    return [
        kind("".join(piece.text for piece in group))
        for kind, group in itertools.groupby(pieces, type)
    ]
