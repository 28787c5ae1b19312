"""Handlers as FastAPI sees them: its own parameters, and any kind of result."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterable, Awaitable, Callable
from typing import Any, cast, get_args

from fastapi.concurrency import run_in_threadpool
from fastapi.dependencies.utils import get_typed_signature
from starlette.responses import Response

from notebook_agents.results import AgentResult

__all__ = ["endpoint_of", "is_json", "said"]

Handler = Callable[..., Any]


def endpoint_of(
    handler: Handler, adapt: Callable[[Any], Any]
) -> Callable[..., Awaitable[Any]]:
    """Make an endpoint that asks a handler and adapts its result.

    Parameters
    ----------
    handler : callable
        An ordinary, a coroutine or an async generator function.
    adapt : callable
        Turns the result into what FastAPI answers with.

    Returns
    -------
    coroutine function
        Has the handler's name, docstring and parameters.
    """

    @functools.wraps(handler)
    async def endpoint(*args: Any, **kwargs: Any) -> Any:
        return adapt(await invoke(handler, *args, **kwargs))

    # FastAPI would look behind the wrapper and take a generator for its own.
    made = cast("Any", endpoint)
    del made.__wrapped__
    made.__signature__ = signature_of(handler)
    return endpoint


async def invoke(handler: Handler, *args: Any, **kwargs: Any) -> Any:
    """Call a handler of whatever kind; an ordinary one in a thread.

    Parameters
    ----------
    handler : callable
        What to call.
    *args, **kwargs : Any
        Its arguments.

    Returns
    -------
    Any
        Its result.
    """
    if inspect.iscoroutinefunction(handler) or inspect.isasyncgenfunction(handler):
        result = handler(*args, **kwargs)
    else:
        result = await run_in_threadpool(handler, *args, **kwargs)
    return await result if inspect.isawaitable(result) else result


def signature_of(handler: Handler) -> inspect.Signature:
    """Give a handler's signature with annotations that are no strings.

    Parameters
    ----------
    handler : callable
        Any handler.

    Returns
    -------
    Signature
        Without the type of the result where that cannot be found.
    """
    try:
        return inspect.signature(handler, eval_str=True)
    except NameError:  # imported for type checkers only
        return get_typed_signature(handler)


def is_json(annotation: Any) -> bool:
    """Tell whether a result of this type is described by a JSON schema.

    Parameters
    ----------
    annotation : Any
        The declared type of a result.

    Returns
    -------
    bool
        False if it is, or may be, a stream, a response or an `AgentResult`.

    Examples
    --------
    >>> is_json(dict[str, int]), is_json(AgentResult | None)
    (True, False)
    """
    arguments = get_args(annotation)
    if not all(is_json(argument) for argument in arguments):
        return False
    of = getattr(annotation, "__origin__", annotation)
    no_json = (AsyncIterable, AgentResult, Response)
    return not (isinstance(of, type) and issubclass(of, no_json))


def said(value: Any) -> Any:
    """Put the text in the place of every `AgentResult`.

    Parameters
    ----------
    value : Any
        A result, maybe in a dict or a list.

    Returns
    -------
    Any
        The same without them.
    """
    if isinstance(value, AgentResult):
        return value.answer
    if type(value) is dict:
        return {key: said(each) for key, each in value.items()}
    if type(value) in {list, tuple}:
        return [said(each) for each in value]
    return value
