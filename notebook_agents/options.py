"""`RunOptions`: what may differ from one run of an agent to the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from notebook_agents.approval import Approver, Policy
from notebook_agents.errors import AgentConfigurationError
from notebook_agents.memory.store import MemoryBackend

__all__ = ["RunOptions", "check_options"]


class RunOptions(TypedDict, total=False):
    """What may differ from run to run.

    Parameters
    ----------
    system_prompt : str
        Instead of the agent's own.
    prior_messages : sequence of mapping
        What came before, instead of what the memory holds; the turn is still
        stored.
    max_tool_rounds : int
        Most rounds of tool calls, 3 by default; one more model call may
        follow.
    memory : MemoryBackend
        A conversation other than the agent's own.
    policy : {"ask", "policy", "allow", "deny"}
        How calls that need consent are decided.
    approver : Approver
        Whom to ask instead of the front end, unless the agent has an approver
        or a callback of its own.
    """

    system_prompt: str
    prior_messages: Sequence[Mapping[str, Any]]
    max_tool_rounds: int
    memory: MemoryBackend
    policy: Policy
    approver: Approver


def check_options(options: RunOptions) -> None:
    """Refuse a misspelt option, which would be ignored otherwise.

    Parameters
    ----------
    options : RunOptions
        What was passed.

    Raises
    ------
    TypeError
        If there is no option of that name, as for any function.
    """
    unknown = sorted(options.keys() - RunOptions.__annotations__.keys())
    if unknown:
        known = ", ".join(RunOptions.__annotations__)
        message = f"Unknown option {unknown[0]!r} of a run; known: {known}."
        raise TypeError(message)


def checked_steps(steps: int | None) -> int | None:
    """Give a number of steps back, if an agent can work with it."""
    if steps is not None and steps < 1:
        message = f"max_steps is {steps}; an agent needs at least 1."
        raise AgentConfigurationError(message)
    return steps


def checked_message(message: object) -> str:
    """Give a message back, if it is text that says something."""
    if not isinstance(message, str):
        text = f"The message must be text, not {type(message).__name__}."
        raise AgentConfigurationError(text)
    if not message.strip():
        text = "The message is empty. Write what the agent should do."
        raise AgentConfigurationError(text)
    return message
