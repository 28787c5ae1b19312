"""`RunOptions`: what may differ from one run of an agent to the next."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from notebook_agents.approval import Approver
from notebook_agents.errors import AgentConfigurationError
from notebook_agents.memory.store import MemoryBackend
from notebook_agents.policy import Policy

if TYPE_CHECKING:
    from notebook_agents.structured import OutputType, TypedAnswer

__all__ = [
    "AskOptions",
    "RunOptions",
    "check_options",
    "checked_params",
]

NOT_FOR_PARAMS = ("messages", "model", "stream", "stream_options", "tools")
"""What belongs to the run itself."""

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
    memory : MemoryBackend
        A conversation other than the agent's own.
    policy : str, mapping or ApprovalPolicy
        How calls that need consent are decided; a word leaves the rules of the
        agent in force.
    approver : Approver
        Whom to ask instead of the front end, unless the agent has an approver
        or a callback of its own.
    params : mapping
        Sampling parameters such as ``{"temperature": 0, "top_p": 0.9}``, which
        win over the agent's own. What is not known here goes to the model
        service as it is; the ``extra_body`` of a provider wins over it.
    deps : object
        What tools find in their `RunContext`, instead of the agent's.
    namespace : mapping of str to object
        Variables that a call may name, instead of the notebook's, unless the
        agent has a namespace of its own.
    """

    system_prompt: str
    prior_messages: Iterable[Mapping[str, Any]]
    max_tool_rounds: int
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
    """Refuse a misspelt option, which would be ignored otherwise.

    Parameters
    ----------
    options : AskOptions
        What was passed.

    Raises
    ------
    TypeError
        If there is no option of that name, as for any function.
    """
    unknown = sorted(options.keys() - AskOptions.__annotations__.keys())
    if unknown:
        known = ", ".join(AskOptions.__annotations__)
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


_TOOL_CALLING = {"parallel_tool_calls", "tool_choice"}
"""What counts as ``tool_calling`` also when it comes with a run's params."""


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
    taken = {name: rest.pop(name) for name in _TOOL_CALLING & rest.keys()}
    return rest, {**tool_calling, **taken}


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
    if "max_tokens" in params:
        checked_tokens(params["max_tokens"])
    temperature = params.get("temperature")
    if not (temperature is None or _is_number(temperature)):
        message = f"temperature is {temperature!r}; it must be a number."
        raise AgentConfigurationError(message)
    try:
        json.dumps(dict(params), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        message = f"params cannot be written as JSON: {error}."
        raise AgentConfigurationError(message) from error
    return dict(params)


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value)


def checked_retries(retries: int) -> int:
    """Give a number of further tries back, if there can be so many."""
    if retries < 0:
        message = f"output_retries is {retries}; it must be 0 or more."
        raise AgentConfigurationError(message)
    return retries


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


def checked_tools(tools: Iterable[Any]) -> Iterable[Any]:
    """Give tools back, if they are several or none."""
    if callable(tools) or isinstance(tools, str):
        message = f"The tools of an agent are a list: Agent(..., [{_name(tools)}])."
        raise AgentConfigurationError(message)
    return tools


def _name(tool: object) -> str:
    return str(getattr(tool, "__name__", tool))


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
