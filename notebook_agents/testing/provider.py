"""What every provider promises, as numbered checks that anybody can run.

Not promised, and not checked: what a model says; whether it calls a tool when it
might; how long anything takes.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing
from typing import Any, TypeAlias
from urllib.parse import quote

from notebook_agents import checks
from notebook_agents.agent import Agent
from notebook_agents.messages import Message
from notebook_agents.providers.base import (
    BaseProvider,
    ModelReply,
    ModelRequest,
    Provider,
    ProviderResponse,
    TextDelta,
)
from notebook_agents.testing._checks import check_equal, check_that, run
from notebook_agents.testing.promises import Promise, check_promises

__all__ = ["PROVIDER_PROMISES", "check_provider"]

MakeProvider: TypeAlias = Callable[[], BaseProvider]
ProviderPromise: TypeAlias = Promise[BaseProvider]

CANCEL_SECONDS = 2.0
QUESTION = {"role": "user", "content": "Say hello."}
ADD = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "Add two numbers.",
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "required": ["a", "b"],
            "additionalProperties": False,
        },
    },
}
OPTIONAL = frozenset({7, 8})
"""What needs a model that calls tools, or typed deltas."""


def check_provider(
    make_provider: MakeProvider,
    *,
    promises: Sequence[int] | None = None,
    secret: str | None = None,
) -> list[ProviderPromise]:
    """Check that a provider keeps its promises.

    Needs no test framework. It asks the model about a dozen short questions:
    give it a local server or a stand-in rather than a service that costs money.

    Parameters
    ----------
    make_provider : callable
        Gives a provider each time it is called; it should answer anything with
        text, and call the tool ``add`` where it must.
    promises : sequence of int, optional
        Numbers of the promises to check; all when left out.
    secret : str, optional
        The key that the providers are made with, for the promise not to show
        it. Left out, only keys in attributes that are named so are known.

    Returns
    -------
    list of Promise
        What could not be checked: that tools are called, where the model called
        none, and that deltas are typed, where it has none.

    Raises
    ------
    AssertionError
        At the first broken promise; the message begins with its number.
    AgentConfigurationError
        If the secret is blank, or no text.

    Examples
    --------
    >>> from notebook_agents.testing import EchoProvider
    >>> [str(promise) for promise in check_provider(EchoProvider)]
    ['7. A model that must call a tool gives arguments that are a JSON object.']
    """

    @contextlib.contextmanager
    def make() -> Iterator[BaseProvider]:
        provider = make_provider()
        try:
            yield provider
        finally:
            if isinstance(provider, Provider):
                run(provider.aclose())

    if secret is not None:
        checks.not_blank("secret", secret)
    kept = (*PROVIDER_PROMISES[:-1], _no_key_is_shown(secret))
    return check_promises(make, kept, optional=OPTIONAL, numbers=promises)


def _promise(
    number: int, text: str
) -> Callable[[Callable[[BaseProvider], None]], ProviderPromise]:
    return lambda check: Promise(number, text, check)


async def _ask(provider: BaseProvider, **options: Any) -> ProviderResponse:
    return await provider.chat([dict(QUESTION)], **options)


def _check_text(text: object) -> None:
    holds = isinstance(text, str) and bool(text.strip())
    check_that(what="there is text", holds=holds)


# The promises, in the order of their numbers.


@_promise(1, "A reply has text and a list of calls, and neither is None.")
def _a_reply_is_whole(provider: BaseProvider) -> None:
    response = run(_ask(provider))
    check_equal(type(response), ProviderResponse)
    _check_text(response.content)
    check_equal(list(response.tool_calls), [])


@_promise(2, "A stream gives text, piece by piece, until the reply is complete.")
def _a_stream_gives_text(provider: BaseProvider) -> None:
    async def read() -> list[str]:
        return [piece async for piece in provider.stream([dict(QUESTION)])]

    _check_text("".join(run(read())))


@_promise(3, "Agents can use it, and it has a name for people.")
def _agents_can_use_it(provider: BaseProvider) -> None:
    agent = Agent(provider)
    result = run(agent.run("Say hello."))
    _check_text(str(result))
    _check_text(agent.model_label)


@_promise(4, "It works on one loop after the other.")
def _several_loops_may_use_it(provider: BaseProvider) -> None:
    for _ in range(2):
        _check_text(run(_ask(provider)).content)


@_promise(5, "Several requests may be under way at once.")
def _several_requests_at_once(provider: BaseProvider) -> None:
    async def ask() -> list[ProviderResponse]:
        return await asyncio.gather(*(_ask(provider) for _ in range(3)))

    for response in run(ask()):
        _check_text(response.content)


@_promise(6, "A request that is cancelled ends, and the next one works.")
def _a_request_can_be_cancelled(provider: BaseProvider) -> None:
    async def cancel() -> str:
        task = asyncio.create_task(_ask(provider))
        await asyncio.sleep(0)
        task.cancel()
        done, _ = await asyncio.wait([task], timeout=CANCEL_SECONDS)
        check_that(what="it ends within 2 s", holds=bool(done))
        return (await _ask(provider)).content

    _check_text(run(cancel()))


@_promise(7, "A model that must call a tool gives arguments that are a JSON object.")
def _arguments_are_objects(provider: BaseProvider) -> None:
    options = {"tools": [ADD], "tool_calling": {"tool_choice": "required"}}
    response = run(_ask(provider, **options))
    if not response.tool_calls:
        message = "the model called no tool"
        raise NotImplementedError(message)
    check_equal({call.name for call in response.tool_calls}, {"add"})
    values = [json.loads(call.arguments) for call in response.tool_calls]
    check_equal([value for value in values if not isinstance(value, dict)], [])
    identifiers = [call.id for call in response.tool_calls]
    check_equal(len(set(identifiers)), len(identifiers))


@_promise(8, "Typed deltas add up to the reply, which comes last and once.")
def _deltas_add_up(provider: BaseProvider) -> None:
    if not isinstance(provider, Provider):
        message = "it has no typed deltas"
        raise NotImplementedError(message)

    async def read() -> list[Any]:
        request = ModelRequest(messages=[Message("user", "Say hello.")])
        async with aclosing(provider.respond(request)) as deltas:
            return [delta async for delta in deltas]

    deltas = run(read())
    replies = [delta for delta in deltas if isinstance(delta, ModelReply)]
    check_equal(replies, deltas[-1:])
    told = "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))
    check_equal(told, replies[0].text)


def _no_key_is_shown(secret: str | None = None) -> ProviderPromise:
    @_promise(9, "What it shows of itself has no key in it.")
    def check(provider: BaseProvider) -> None:
        shown = f"{provider!r} {provider} {Agent(provider)!r}"
        secrets = [
            value
            for name, value in getattr(provider, "__dict__", {}).items()
            if re.search("key|token|secret", name) and isinstance(value, str) and value
        ]
        if secret is not None:
            secrets += {secret, quote(secret, safe="")}  # as in a URL
        # Only how many: the complaint would show them.
        check_equal(sum(each in shown for each in secrets), 0)

    return check


PROVIDER_PROMISES: tuple[ProviderPromise, ...] = (
    _a_reply_is_whole,
    _a_stream_gives_text,
    _agents_can_use_it,
    _several_loops_may_use_it,
    _several_requests_at_once,
    _a_request_can_be_cancelled,
    _arguments_are_objects,
    _deltas_add_up,
    _no_key_is_shown(),
)
"""What every provider promises, by number."""
