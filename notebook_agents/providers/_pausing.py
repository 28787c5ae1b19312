"""Replies that a service breaks off on purpose, and goes on with when asked again."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass

from notebook_agents.errors import AgentProviderError
from notebook_agents.providers.base import Delta, ModelReply, ModelRequest

__all__ = ["PausedReply", "until_complete"]

MOST_PAUSES = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class PausedReply(ModelReply):
    """The beginning of a reply.

    Parameters
    ----------
    then : ModelRequest
        What to ask for the rest.
    """

    then: ModelRequest


async def until_complete(
    ask: Callable[[ModelRequest], AsyncGenerator[Delta, None]],
    request: ModelRequest,
    *,
    name: str,
) -> AsyncGenerator[Delta, None]:
    """Ask, and go on asking while the service pauses.

    Parameters
    ----------
    ask : callable
        Sends one request.
    request : ModelRequest
        The first one.
    name : str
        Of the service, for an error.

    Yields
    ------
    TextDelta, ReasoningDelta, RetryDelta or ModelReply
        As of one reply.

    Raises
    ------
    AgentProviderError
        If the reply does not come to its end.
    """
    begun: ModelReply | None = None
    for _ in range(MOST_PAUSES):
        deltas = ask(request)
        try:
            async for delta in deltas:
                if isinstance(delta, ModelReply):
                    reply = delta
                    break
                yield delta
            else:
                return
        finally:
            await deltas.aclose()
        begun = reply if begun is None else _together(begun, reply)
        if not isinstance(reply, PausedReply):
            yield begun
            return
        request = reply.then
    message = (
        f"{name} paused its reply {MOST_PAUSES} times without an end. Ask for less."
    )
    raise AgentProviderError(message, provider=name)


def _together(first: ModelReply, then: ModelReply) -> ModelReply:
    """Put two parts of a reply together."""
    return ModelReply(
        text=first.text + then.text,
        tool_calls=then.tool_calls,
        reasoning="\n\n".join(filter(None, (first.reasoning, then.reasoning))),
        usage=first.usage.plus(then.usage),
        stop_reason=then.stop_reason,
        cached_tokens=first.cached_tokens + then.cached_tokens,
        cache_write_tokens=first.cache_write_tokens + then.cache_write_tokens,
        replay=then.replay,
    )
