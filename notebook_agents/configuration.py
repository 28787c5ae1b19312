"""What an agent is made of, looked at when it is made and not at its first run."""

from __future__ import annotations

from notebook_agents.errors import AgentConfigurationError

__all__ = ["check_parts"]


def check_parts(
    *,
    name: object,
    system_prompt: object,
    memory: object,
    budget: object,
    approval_timeout: object,
    on_event: object,
) -> None:
    """Refuse parts of an agent that its first run would stumble over.

    Parameters
    ----------
    name, system_prompt, memory, budget, approval_timeout, on_event : object
        As for `Agent`.

    Raises
    ------
    AgentConfigurationError
        At the first that is of another kind.
    """
    is_memory = memory is None or all(
        callable(getattr(memory, method, None)) for method in ("add", "reset")
    )
    problems = {
        f"name is text, not {name!r}.": isinstance(name, str),
        f"system_prompt is text, not {system_prompt!r}.": system_prompt is None
        or isinstance(system_prompt, str),
        f"memory is one conversation, not {memory!r}: pass store.session(), or "
        "open_session(name).": is_memory,
        f"budget is a Budget, such as Budget(tokens=20_000), not {budget!r}.": budget
        is None
        or _is_budget(budget),
        f"approval_timeout is a number of seconds above 0, not {approval_timeout!r}.": (
            _is_positive(approval_timeout)
        ),
        f"on_event is a function that takes an event, not {on_event!r}.": on_event
        is None
        or callable(on_event),
    }
    for message, holds in problems.items():
        if not holds:
            raise AgentConfigurationError(message)


def _is_budget(value: object) -> bool:
    from notebook_agents.budget import Budget

    return isinstance(value, Budget)


def _is_positive(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0
