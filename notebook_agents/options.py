"""`RunOptions`: what may differ from one run of an agent to the next."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, TypedDict, TypeVar

from notebook_agents import checks
from notebook_agents.agent_checks import (
    TOOL_CALLING,
    check_approver,
    check_memory,
    checked_namespace,
    checked_params,
)
from notebook_agents.approval import Approver
from notebook_agents.errors import AgentConfigurationError, UnknownOptionError
from notebook_agents.memory.store import MemoryBackend
from notebook_agents.policy import Policy
from notebook_agents.spelling import refuse_option

if TYPE_CHECKING:
    from notebook_agents.structured import OutputType, TypedAnswer

__all__ = [
    "AskOptions",
    "RunOptions",
    "check_options",
    "checked_output",
    "rounds_of",
    "spelled_out",
    "split_params",
    "typed_answer",
]

DEFAULT_ROUNDS = 3
F = TypeVar("F", bound=Callable[..., Any])


class RunOptions(TypedDict, total=False):
    """What may differ from run to run.

    Parameters
    ----------
    system_prompt : str
        Instead of the agent's own.
    prior_messages : iterable of mapping
        What came before, instead of what the memory holds; the turn is still
        stored. Messages of a result, of another kit in the OpenAI chat shape,
        or a `HistoryBuffer`; system messages are left out.
    max_tool_rounds : int
        Most rounds of tool calls, 3 by default; one more model call may
        follow.
    max_steps : int
        Most model calls instead, as for `Agent`: one more than rounds.
    memory : MemoryBackend
        A conversation other than the agent's own.
    policy : str, mapping or ApprovalPolicy
        How calls that need consent are decided; a word leaves the rules of the
        agent in force. It holds for agents that its tools ask, too: a word but
        where they deny more by themselves, and rules as far as they ask or deny.
    approver : Approver
        Whom to ask instead of the front end, unless the agent has an approver
        or a callback of its own.
    params : mapping
        Sampling parameters such as ``{"temperature": 0, "top_p": 0.9}``, which
        win over the agent's own. What is not known here goes to the model
        service as it is, unless it is nearly a name that is known, which is
        refused as misspelt; the ``extra_body`` of a provider wins over it.
    deps : object
        What tools find in their `RunContext`, instead of the agent's.
    namespace : mapping of str to object
        Variables that a call may name, instead of the notebook's, unless the
        agent has a namespace of its own.
    """

    system_prompt: str
    prior_messages: Iterable[Mapping[str, Any]]
    max_tool_rounds: int
    max_steps: int
    memory: MemoryBackend
    policy: Policy
    approver: Approver
    params: Mapping[str, Any]
    deps: Any
    namespace: Mapping[str, Any]


class AskOptions(RunOptions, total=False):
    """All that may differ from run to run, with what decides the type of its result.

    Parameters
    ----------
    output_type : type
        The type of the answer, instead of the agent's own.
    """

    output_type: Any


def check_options(options: AskOptions) -> None:
    """Refuse what a run would ignore, or stumble over.

    Parameters
    ----------
    options : AskOptions
        What was passed; None stands for what is left out.

    Raises
    ------
    UnknownOptionError
        If there is no option of that name.
    AgentConfigurationError
        If one is of another kind than it should be.
    """
    for name, value in options.items():
        if name not in AskOptions.__annotations__:
            _refuse(name)
        if value is not None and name in _CHECKS:
            _CHECKS[name](name, value)
    if options.get("max_steps") and options.get("max_tool_rounds") is not None:
        message = "max_steps and max_tool_rounds are two words for one limit; pass one."
        raise AgentConfigurationError(message)


def _refuse(name: str) -> NoReturn:
    hint = _ELSEWHERE.get(name)
    if hint is None:
        refuse_option("A run", name, list(AskOptions.__annotations__))
    message = f"A run has no option {name!r}: {hint}."
    raise UnknownOptionError(message)


def rounds_of(options: AskOptions, max_steps: int | None) -> int:
    """Give the most rounds of tool calls of a run.

    Parameters
    ----------
    options : AskOptions
        What differs in this run.
    max_steps : int or None
        The most model calls of the agent.

    Returns
    -------
    int
        One less than there may be model calls.
    """
    rounds = options.get("max_tool_rounds")
    if rounds is not None:
        return rounds
    steps = options.get("max_steps") or max_steps
    return DEFAULT_ROUNDS if steps is None else steps - 1


def split_params(
    params: object, tool_calling: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Give the parameters of a run, and apart from them how tools are called.

    Parameters
    ----------
    params : mapping or None
        Those of the run.
    tool_calling : mapping
        That of the agent.

    Returns
    -------
    tuple of dict
        Sampling parameters, and tool calling.
    """
    rest = checked_params(params)
    taken = {name: rest.pop(name) for name in TOOL_CALLING & rest.keys()}
    return rest, {**tool_calling, **taken}


def checked_output(annotation: Any) -> OutputType | None:
    """Find out how to read answers of a type; None asks for none."""
    if annotation is None:
        return None
    # Imported here: it brings pydantic, which nobody needs for plain text.
    from notebook_agents.structured import OutputType

    return OutputType.of(annotation)


def typed_answer(
    annotation: Any, usual: OutputType | None, *, retries: int
) -> TypedAnswer | None:
    """Begin an answer of a type: the one asked for, else the usual one."""
    kind = checked_output(annotation) or usual
    if kind is None:
        return None
    from notebook_agents.structured import TypedAnswer

    return TypedAnswer(kind, retries=retries)


_CHECKS: dict[str, Callable[[str, Any], object]] = {
    "system_prompt": checks.text,
    "max_tool_rounds": partial(checks.whole, least=0),
    "max_steps": partial(checks.whole, least=1),
    "memory": check_memory,
    "approver": check_approver,
    "namespace": lambda _, value: checked_namespace(value),
}
"""How options are looked at; the others are where they are used."""
_ELSEWHERE = {
    "session": "pass memory=open_session(name)",
    "session_id": "pass memory=open_session(name)",
    "timeout": "pass Agent(budget=Budget(seconds=...)), or use asyncio.timeout",
    "stream": "call agent.stream(message)",
    **dict.fromkeys(
        ("temperature", "max_tokens", "top_p", "seed", "stop"),
        'pass params={"temperature": 0}, and so on',
    ),
    **dict.fromkeys(
        ("tools", "budget", "history", "approval_timeout", "approval_tools", "model"),
        "it belongs to the agent, Agent(...)",
    ),
}
"""What people look for among the options of a run, and where it is."""


def spelled_out(method: F) -> F:
    """Let a method's signature name the options of a run, for people and tools."""
    signature = inspect.signature(method)
    *own, _ = signature.parameters.values()
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None)
        for name in AskOptions.__annotations__
    ]
    method.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*own, *options]
    )
    return method
