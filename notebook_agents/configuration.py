"""What an agent is made of, looked at when it is made and not at its first run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from notebook_agents import checks
from notebook_agents.agent_checks import check_memory

__all__ = ["check_optional", "check_parts"]


def check_parts(*, name: object, parallel_tools: object, **parts: Any) -> None:
    """Refuse parts of an agent that its first run would stumble over.

    Parameters
    ----------
    name, parallel_tools : object
        As for `Agent`.
    **parts : object
        As there; None where they are left out.

    Raises
    ------
    AgentConfigurationError
        At the first that is of another kind.
    """
    _check_name("name", name)
    checks.flag("parallel_tools", parallel_tools)
    check_optional(**parts)


def check_optional(**parts: Any) -> None:
    """Refuse what may be left out, and is of another kind than it should be."""
    for part, value in parts.items():
        if value is not None:
            _CHECKS[part](part, value)


def _check_name(part: str, name: object) -> None:
    checks.not_blank(part, name)
    if len(str(name).splitlines()) > 1:
        checks.fail(f"{part} is {name!r}; it must be on one line.")


def _check_prompt(part: str, prompt: object) -> None:
    hint = " Call it: its text is what the agent takes." if callable(prompt) else ""
    if hasattr(prompt, "read_text"):
        hint = " Read the file: path.read_text()."
    checks.text(part, prompt, hint)


def _check_budget(part: str, budget: object) -> None:
    from notebook_agents.budget import Budget

    if not isinstance(budget, Budget):
        given = checks.shown(budget)
        checks.fail(f"{part} is a Budget, such as Budget(tokens=20_000), not {given}.")


_CHECKS: dict[str, Callable[[str, Any], None]] = {
    "agent_id": checks.not_blank,
    "system_prompt": _check_prompt,
    "memory": check_memory,
    "budget": _check_budget,
    "max_retries": lambda part, value: checks.whole(part, value, least=0),
    "on_event": lambda part, value: checks.function(part, value, "an event"),
}
