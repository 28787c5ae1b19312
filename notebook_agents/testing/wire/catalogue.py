"""All scenarios, by name."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterator, Mapping

from notebook_agents.errors import AgentConfigurationError
from notebook_agents.testing.wire.scenarios import Scenario

__all__ = ["scenario", "scenario_names", "scenarios"]


@functools.cache
def _all() -> Mapping[str, Scenario]:
    return {each.name: each for each in scenarios()}


def scenarios() -> Iterator[Scenario]:
    """Make all scenarios, one wire format after the other."""
    from notebook_agents.testing.wire import (
        anthropic,
        chat,
        chat_calls,
        gemini,
        objects,
        responses,
    )

    for part in (chat, chat_calls, responses, anthropic, gemini, objects):
        yield from part.scenarios()


def scenario_names(start: str = "") -> list[str]:
    """List the scenarios that `wire_server` can serve.

    Parameters
    ----------
    start : str, optional
        What the names begin with, such as ``"chat/"``, ``"responses/"``,
        ``"anthropic/"`` or ``"gemini/"``.

    Returns
    -------
    list of str
        Their names.

    Examples
    --------
    >>> scenario_names("chat/status_5")
    ['chat/status_500', 'chat/status_503', 'chat/status_504', 'chat/status_529']
    """
    return [name for name in _all() if name.startswith(start)]


def scenario(name: str) -> Scenario:
    """Look up a scenario, to see what it is about and what it means.

    Parameters
    ----------
    name : str
        One of `scenario_names`.

    Returns
    -------
    Scenario
        The reply, and what a good client makes of it.

    Raises
    ------
    AgentConfigurationError
        If there is none of that name.

    Examples
    --------
    >>> scenario("anthropic/pause_turn").about
    'The service pauses a long turn, and goes on with it when asked again.'
    """
    try:
        return _all()[name]
    except KeyError:
        close = difflib.get_close_matches(name, _all(), n=3) or ["chat/answer"]
        message = (
            f"There is no scenario {name!r}; similar: {', '.join(close)}. "
            "scenario_names() lists them all."
        )
        raise AgentConfigurationError(message) from None
