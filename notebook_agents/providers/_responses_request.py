"""The body of a request to OpenAI Responses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from notebook_agents.providers._json_values import mapping
from notebook_agents.providers._responses_items import (
    KeptItems,
    input_items,
    instructions,
)
from notebook_agents.providers.base import ModelRequest
from notebook_agents.providers.output_format import response_format
from notebook_agents.providers.profiles import ChatProfile

__all__ = ["Written", "written"]

ENCRYPTED = "reasoning.encrypted_content"
LEAST_TOKENS = 16
"""A smaller limit is refused."""
_FROM_CALLING = (
    "parallel_tool_calls",
    "reasoning_effort",
    "response_format",
    "seed",
    "stop",
    "tool_choice",
    "top_p",
)
"""What ``tool_calling`` may say; ``params`` win."""
_CHAT_ONLY = (
    "frequency_penalty",
    "logit_bias",
    "logprobs",
    "n",
    "presence_penalty",
    "seed",
    "stop",
)
_SAMPLING = ("temperature", "top_p", "top_logprobs")
_LIMIT = "max_output_tokens"
_OTHER_LIMITS = ("max_completion_tokens", "max_tokens")
_INSIDE = {
    "reasoning_effort": ("reasoning", "effort"),
    "response_format": ("text", "format"),
    "verbosity": ("text", "verbosity"),
}
"""Where this wire has what chat completions call so."""
_ADDED = frozenset({"reasoning", "tools"})
"""Keys of ``extra_body`` that add to what is there anyway."""
THINKING_TOKENS = 8192
_HIGH_EFFORTS = frozenset({"high", "xhigh", "max"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A request as Responses wants it.

    Parameters
    ----------
    body : dict
        JSON values.
    dropped : tuple of str
        What the user asked for, and this model or service does not take.
    """

    body: dict[str, Any]
    dropped: tuple[str, ...] = ()


def written(
    request: ModelRequest,
    *,
    model: str,
    profile: ChatProfile,
    extra: Mapping[str, Any],
    without: Iterable[str] = (),
    kept: Mapping[str, KeptItems] | None = None,
) -> Written:
    """Write a request as Responses wants it.

    Parameters
    ----------
    request : ModelRequest
        What to ask.
    model : str
        Whom.
    profile : ChatProfile
        What the model takes.
    extra : mapping
        More keys for the body; they win. Its ``tools`` and ``reasoning`` are
        added to those of the request.
    without : iterable of str
        Paths of keys that the service has refused, such as
        ``"reasoning.summary"``.
    kept : mapping of str to KeptItems, optional
        Items of replies, by the identifier of their first call.

    Returns
    -------
    Written
        The body, and what is missing in it.

    Raises
    ------
    AgentConfigurationError
        If a part of a message cannot be sent.
    """
    without = frozenset(without)
    asked = _asked(request)
    dropped = [name for name in _CHAT_ONLY if asked.pop(name, None) is not None]
    dropped += [path for path in without if path == _LIMIT or _holds(asked, path)]
    reasoning = _reasoning(asked, extra, profile)
    effort = reasoning.get("effort")
    thinks = effort != "none" and (profile.thinking_tokens > 0 or effort is not None)
    if thinks:
        asked["include"] = [ENCRYPTED, *(asked.get("include") or ())]
        if not profile.sends_temperature:
            dropped += [name for name in _SAMPLING if asked.pop(name, None) is not None]
    body = {"store": False, **asked, "model": model, "stream": True}
    body |= _tools(request.tools, body, extra)
    if reasoning:
        body["reasoning"] = reasoning
    if said := instructions(request.messages):
        body["instructions"] = said
    if (output := request.output) is not None and not output.tool:
        shape = _format(response_format(output))
        body["text"] = {**mapping(body.get("text")), "format": shape}
    has_phases = profile.sends_phase and "phase" not in without
    body["input"] = input_items(
        request.messages, kept=kept or {}, has_phases=has_phases
    )
    body |= {name: value for name, value in extra.items() if name not in _ADDED}
    if _LIMIT not in body:
        room = _room(profile, effort) if thinks else 0
        body[_LIMIT] = max(request.max_tokens + room, LEAST_TOKENS)
    return Written(body=_cut(body, without), dropped=tuple(dropped))


def _asked(request: ModelRequest) -> dict[str, Any]:
    """Gather what the user asks for, in the words of this wire where it has some."""
    calling = request.tool_calling
    asked = {name: calling[name] for name in _FROM_CALLING if name in calling}
    asked |= request.params
    if request.temperature is not None:
        asked["temperature"] = request.temperature
    for name in _OTHER_LIMITS:
        if (limit := asked.pop(name, None)) is not None:
            asked.setdefault(_LIMIT, limit)
    for name, (place, inner) in _INSIDE.items():
        if (value := asked.pop(name, None)) is not None:
            asked[place] = {inner: value, **mapping(asked.get(place))}
    if shape := mapping(asked.get("text")).get("format"):
        asked["text"] = {**asked["text"], "format": _format(shape)}
    return asked


def _reasoning(
    asked: dict[str, Any], extra: Mapping[str, Any], profile: ChatProfile
) -> dict[str, Any]:
    """Say how to think; empty where nothing is to be said about it."""
    reasoning = {
        **mapping(asked.pop("reasoning", None)),
        **mapping(extra.get("reasoning")),
    }
    if profile.thinking_tokens and reasoning.get("effort") != "none":
        reasoning.setdefault("summary", "auto")
    return reasoning


def _room(profile: ChatProfile, effort: Any) -> int:
    """Give the tokens that thoughts may take, beside the answer."""
    usual = profile.thinking_tokens or THINKING_TOKENS
    return usual * (4 if effort in _HIGH_EFFORTS else 1)


def _format(shape: Any) -> Any:
    """Give the shape of an answer; chat completions wrap it once more."""
    named = shape.get("json_schema") if isinstance(shape, Mapping) else None
    return {"type": "json_schema", **named} if isinstance(named, Mapping) else shape


def _tools(
    tools: Sequence[Mapping[str, Any]],
    body: dict[str, Any],
    extra: Mapping[str, Any],
) -> dict[str, Any]:
    choice = body.pop("tool_choice", None)
    is_parallel = body.pop("parallel_tool_calls", None)
    flat = [*map(_tool, tools), *extra.get("tools", ())]
    if not flat:
        return {}
    part: dict[str, Any] = {"tools": flat}
    if choice is not None:
        part["tool_choice"] = _choice(choice)
    if is_parallel is not None:
        part["parallel_tool_calls"] = is_parallel
    return part


def _tool(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    function = tool.get("function")
    if not isinstance(function, Mapping):
        return tool
    # What is not said to be loose is strict here.
    return {
        "type": "function",
        "strict": False,
        "parameters": {"type": "object", "properties": {}},
        **function,
    }


def _choice(choice: Any) -> Any:
    """Give a choice in the shape of the wire; a bare name is that tool."""
    if isinstance(choice, Mapping):
        function = choice.get("function")
        named = function if isinstance(function, Mapping) else choice
        if choice.get("type", "function") != "function" or "name" not in named:
            return choice
        choice = named["name"]
    if choice in {"auto", "none", "required"}:
        return choice
    return {"type": "function", "name": choice}


def _holds(body: Mapping[str, Any], path: str) -> bool:
    name, _, inner = path.partition(".")
    return name in body and (not inner or inner in mapping(body[name]))


def _cut(body: dict[str, Any], without: frozenset[str]) -> dict[str, Any]:
    """Take out what the service has refused."""
    for path in without:
        name, _, inner = path.partition(".")
        if not inner:
            body.pop(name, None)
        elif isinstance(found := body.get(name), Mapping):
            rest = {key: value for key, value in found.items() if key != inner}
            body[name] = rest
            if not rest:
                del body[name]
    return body
