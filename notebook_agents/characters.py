"""Whole characters: what a model sends may hold halves, which nobody can send on.

A half of a surrogate pair cannot be written as UTF-8: not to a store, not to
a client, not back to the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from notebook_agents.messages import ToolCall
from notebook_agents.providers.base import (
    Delta,
    ModelReply,
    ReasoningDelta,
    TextDelta,
)

__all__ = ["mended", "whole"]


def whole(text: str) -> str:
    r"""Join the halves of characters, and replace those that stand alone.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    str
        The same, where it was right.

    Examples
    --------
    >>> whole("half \ud83d, two halves \ud83d\ude00")
    'half �, two halves 😀'
    """
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def mended(delta: Delta) -> Delta:
    """Give what a model sent with whole characters only.

    Parameters
    ----------
    delta : TextDelta, ReasoningDelta, RetryDelta or ModelReply
        As it came.

    Returns
    -------
    TextDelta, ReasoningDelta, RetryDelta or ModelReply
        Of the same kind.
    """
    if isinstance(delta, TextDelta | ReasoningDelta):
        text = whole(delta.text)
        return delta if text is delta.text else type(delta)(text)
    if isinstance(delta, ModelReply):
        if all(map(str.isascii, _texts_of(delta))):
            return delta
        return replace(
            delta,
            text=whole(delta.text),
            reasoning=whole(delta.reasoning),
            tool_calls=tuple(map(_mended_call, delta.tool_calls)),
        )
    return replace(delta, reason=whole(delta.reason))


def _texts_of(reply: ModelReply) -> Iterator[str]:
    yield reply.text
    yield reply.reasoning
    for call in reply.tool_calls:
        yield from (call.id, call.name, call.arguments)


def _mended_call(call: ToolCall) -> ToolCall:
    return replace(
        call,
        id=whole(call.id),
        name=whole(call.name),
        arguments=whole(call.arguments),
    )
