"""`RunOptions`: what may differ from one run of an agent to the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from notebook_agents.approval import Approver, Policy
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
        Whom to ask, instead of the front end.
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
