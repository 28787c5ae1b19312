"""What an agent and its runs are given, looked at where it is given."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from notebook_agents import checks
from notebook_agents.errors import AgentConfigurationError
from notebook_agents.spelling import closest

__all__ = [
    "TOOL_CALLING",
    "check_approver",
    "check_memory",
    "checked_namespace",
    "checked_params",
    "checked_retries",
    "checked_steps",
    "checked_temperature",
    "checked_tokens",
    "checked_tool_calling",
]

TOOL_CALLING = {"parallel_tool_calls", "tool_choice"}
"""What counts as ``tool_calling`` also when it comes with a run's params."""
NOT_FOR_PARAMS = ("messages", "model", "stream", "stream_options", "tools")
"""What belongs to the run itself."""
_SENT = (
    "temperature",
    "max_tokens",
    "frequency_penalty",
    "presence_penalty",
    "reasoning_effort",
    "response_format",
    *sorted(TOOL_CALLING),
)
"""Long names that are known everywhere, so that what is nearly one is misspelt."""
NEARLY = 0.85
"""How alike a misspelt one is, from 0 to 1."""


def checked_steps(steps: int | None) -> int | None:
    """Give a number of steps back, if an agent can work with it."""
    if steps is not None:
        checks.whole("max_steps", steps, least=1)
    return steps


def check_memory(name: str, memory: object) -> None:
    """Refuse what is no conversation, such as the store of many."""
    needed = ("add", "reset")
    is_one = all(callable(getattr(memory, method, None)) for method in needed)
    if isinstance(memory, type) or not is_one:
        message = (
            f"{name} is one conversation, not {checks.shown(memory)}: pass "
            "store.session(), or open_session(name)."
        )
        raise AgentConfigurationError(message)


def check_approver(name: str, approver: object) -> None:
    """Refuse what cannot ask anybody."""
    if isinstance(approver, type) or not callable(getattr(approver, "ask", None)):
        message = (
            f"{name} is an object with an async method ask(pending), not "
            f"{checks.shown(approver)}; a function goes into approval_callback=."
        )
        raise AgentConfigurationError(message)


def checked_tokens(tokens: Any) -> int:
    """Give a token limit back, if there can be an answer within it."""
    if not isinstance(tokens, int) or isinstance(tokens, bool) or tokens < 1:
        message = f"max_tokens is {tokens!r}; an answer needs at least 1."
        raise AgentConfigurationError(message)
    return int(tokens)


def checked_namespace(namespace: object) -> Mapping[str, Any]:
    """Give the variables that calls may name back, if they have names."""
    if not isinstance(namespace, Mapping):
        kind = type(namespace).__name__
        message = f'namespace={kind}: pass names, as in namespace={{"sales": sales}}.'
        raise AgentConfigurationError(message)
    return namespace


def checked_tool_calling(given: object) -> dict[str, Any]:
    """Give a copy of overrides, if they do something."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        message = (
            'tool_calling is a dict such as {"tool_choice": "required"}, '
            f"not {checks.shown(given)}."
        )
        raise AgentConfigurationError(message)
    check_spelling("tool_calling", given)
    parallel = given.get("parallel_tool_calls")
    if parallel is not None:
        checks.flag("tool_calling: parallel_tool_calls", parallel)
    return dict(given)


def checked_temperature(temperature: Any) -> float | None:
    """Give a sampling temperature back, if it is one."""
    if temperature is not None:
        checks.number("temperature", temperature, least=0)
    return temperature  # type: ignore[no-any-return]  # a number by now


def check_spelling(what: str, given: Mapping[Any, Any]) -> None:
    """Refuse a key that is nearly one a service knows; others may be its own."""
    for name in given:
        if name in _SENT:
            continue
        meant = closest(str(name), _SENT, alike=NEARLY)
        if meant is not None:
            message = f"{what} has {name!r}. Did you mean {meant!r}?"
            raise AgentConfigurationError(message)


def checked_params(params: object) -> dict[str, Any]:
    """Give a copy of sampling parameters, if they can be sent as such."""
    if params is None:
        return {}
    if not isinstance(params, Mapping) or not all(isinstance(k, str) for k in params):
        message = f'Pass params as a dict, {{"temperature": 0}}, not {params!r}.'
        raise AgentConfigurationError(message)
    taken = [name for name in NOT_FOR_PARAMS if name in params]
    if taken:
        message = f"params cannot set {taken[0]!r}: the run itself says what that is."
        raise AgentConfigurationError(message)
    check_spelling("params", params)
    if "max_tokens" in params:
        checked_tokens(params["max_tokens"])
    checked_temperature(params.get("temperature"))
    try:
        json.dumps(dict(params), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        message = f"params cannot be written as JSON: {error}."
        raise AgentConfigurationError(message) from error
    return dict(params)


def checked_retries(retries: int) -> int:
    """Give a number of further tries back, if there can be so many."""
    checks.whole("output_retries", retries, least=0)
    return retries
