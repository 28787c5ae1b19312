"""The mark that makes a function a tool whose results are kept."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any, ParamSpec, Protocol, TypeVar, Unpack, overload

from notebook_agents.errors import AgentConfigurationError
from notebook_agents.tools.cache_key import NoKeyError, key_of
from notebook_agents.tools.caching import CacheInfo, ResultCache
from notebook_agents.tools.definition import ToolDefinition, ToolOptions, is_any
from notebook_agents.tools.derivation import MARK, attach, check_callable, derive

__all__ = ["CachedTool", "cached_tool"]

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)


class CachedTool(Protocol[P, R_co]):
    """A function whose results are kept."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Give the result, computed now or before."""

    def __get__(
        self, instance: object, owner: type | None = None
    ) -> Callable[..., R_co]:
        """Bind a method to its object."""

    def cache_clear(self) -> None:
        """Forget every result."""

    def cache_info(self) -> CacheInfo:
        """Tell how the cache has done."""


@overload
def cached_tool(
    func: Callable[P, R_co],
    /,
    *,
    maxsize: int | None = None,
    **options: Unpack[ToolOptions],
) -> CachedTool[P, R_co]: ...


@overload
def cached_tool(
    *, maxsize: int | None = None, **options: Unpack[ToolOptions]
) -> Callable[[Callable[P, R_co]], CachedTool[P, R_co]]: ...


def cached_tool(
    func: Any = None,
    /,
    *,
    maxsize: int | None = None,
    **options: Unpack[ToolOptions],
) -> Any:
    """Mark a function as a tool that computes each result once.

    The results live as long as the process. Equal calls at the same time share
    one execution, also from several threads and event loops. An error is not
    kept. Everybody gets the same object, so do not change what you got.

    Parameters
    ----------
    func : callable
        The function, sync or async, when used as ``@cached_tool`` without
        parentheses.
    maxsize : int, optional
        Most results that are kept; those that were not asked for the longest go
        first. By default all are kept.
    **options
        The keywords of `tool`.

    Returns
    -------
    callable
        A function with the same signature, for you to call as well. It has
        ``cache_clear()`` and ``cache_info()``, as with `functools.lru_cache`.

    Raises
    ------
    AgentConfigurationError
        If the results cannot be shared: of a generator, which can be read once,
        or of a function that takes a `RunContext`, which belongs to one user.

    Warns
    -----
    UserWarning
        Once, if a call is not cached because an argument can be neither hashed
        nor pickled.

    Notes
    -----
    Calls are equal if the function would see equal arguments of the same types:
    ``f(1)``, ``f(x=1)``, and ``f()`` where 1 is the default, but not ``f(True)``.
    Lists, dicts, dataclasses and models count by what is in them, a DataFrame by
    its content.

    Examples
    --------
    >>> from notebook_agents import cached_tool
    >>> @cached_tool(maxsize=100, risk="network")
    ... def rate(currency: str) -> float:
    ...     "Tell the exchange rate of a currency."
    ...     return {"EUR": 1.0, "NOK": 11.5}[currency]
    >>> rate("NOK"), rate(currency="NOK")
    (11.5, 11.5)
    >>> rate.cache_info()
    CacheInfo(hits=1, misses=1, maxsize=100, currsize=1)
    """
    if maxsize is not None and (isinstance(maxsize, bool) or not _is_size(maxsize)):
        message = (
            f"maxsize={maxsize!r}: use a whole number, 1 or more, or None for all."
        )
        raise AgentConfigurationError(message)
    if func is None:
        return lambda given: _marked(given, maxsize, options)
    return _marked(func, maxsize, options)


def _is_size(maxsize: Any) -> bool:
    return isinstance(maxsize, int) and maxsize >= 1


def _marked(func: Any, maxsize: int | None, options: ToolOptions) -> Any:
    if isinstance(func, staticmethod | classmethod):
        return type(func)(_marked(func.__func__, maxsize, options))
    if isinstance(func, ToolDefinition):
        func, options = func.func, {**func.options(), **options}
    check_callable(func)
    mark = getattr(func, MARK, None)
    if mark is not None:
        options = {**mark.options(), **options}
    definition = derive(func, options)
    _check_shareable(definition)
    cache = ResultCache(maxsize, is_kept=_is_kept)
    wrapped = (_wrapped_async if definition.is_async else _wrapped)(definition, cache)
    attach(wrapped, replace(definition, func=wrapped))
    return wrapped


def _check_shareable(definition: ToolDefinition) -> None:
    name = definition.name
    if is_any(definition.func, inspect.isgeneratorfunction, inspect.isasyncgenfunction):
        message = f"{name!r} is a generator, which can be read once; return a list."
        raise AgentConfigurationError(message)
    if any(parameter.is_context for parameter in definition.arguments.layout):
        message = (
            f"{name!r} takes a RunContext, which belongs to one run, but a cached "
            "result is given to everybody. Use @tool, and cache a function that it "
            "calls with what it needs."
        )
        raise AgentConfigurationError(message)


def _wrapped(definition: ToolDefinition, cache: ResultCache) -> Any:
    func, key = definition.func, _Keys(definition)

    @functools.wraps(func)
    def cached(*args: Any, **kwargs: Any) -> Any:
        found = key.of(args, kwargs)
        if found is None:
            return func(*args, **kwargs)
        return cache.call(found, lambda: func(*args, **kwargs))

    return _with_controls(cached, cache)


def _wrapped_async(definition: ToolDefinition, cache: ResultCache) -> Any:
    func, key = definition.func, _Keys(definition)

    @functools.wraps(func)
    async def cached(*args: Any, **kwargs: Any) -> Any:
        found = key.of(args, kwargs)
        if found is None:
            return await func(*args, **kwargs)
        return await cache.call_async(found, lambda: func(*args, **kwargs))

    return _with_controls(cached, cache)


def _with_controls(cached: Any, cache: ResultCache) -> Any:
    cached.cache_clear, cached.cache_info = cache.clear, cache.info
    return cached


def _is_kept(value: Any) -> bool:
    """Tell whether a result can be read more than once."""
    return not (inspect.isawaitable(value) or hasattr(value, "__next__"))


class _Keys:
    """Makes the keys of one function's calls, and warns once where it cannot."""

    def __init__(self, definition: ToolDefinition) -> None:
        self._signature = inspect.signature(definition.func)
        self._name = definition.name
        self._has_warned = False

    def of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Hashable | None:
        try:
            return key_of(self._signature, args, kwargs)
        except NoKeyError as error:
            if not self._has_warned:
                self._has_warned = True
                message = f"A call of {self._name!r} is not cached: {error}."
                warnings.warn(message, UserWarning, stacklevel=3)
        return None
