"""The body of a chat-completions request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from notebook_agents.messages import Message, ToolCall
from notebook_agents.providers._encoding import fit_name
from notebook_agents.providers.base import ModelRequest
from notebook_agents.providers.output_format import response_format
from notebook_agents.providers.profiles import ChatProfile

__all__ = ["LIMITS", "OPTIONAL", "chat_body", "limit_key"]

OPTIONAL = (
    "stream_options",
    "max_completion_tokens",
    "max_tokens",
    "temperature",
    "parallel_tool_calls",
    "reasoning_effort",
    "strict",
)
"""What a request can do without, where a service does not know it."""
LIMITS = frozenset({"max_tokens", "max_completion_tokens"})
"""The names of the most tokens of a reply; a service knows one of them."""

_TAKEN = ("reasoning_effort", "response_format", "seed", "stop", "top_p")
"""Keys of ``tool_calling`` that are passed on as they are; ``params`` win."""


def chat_body(
    request: ModelRequest,
    *,
    model: str,
    profile: ChatProfile,
    extra: Mapping[str, Any],
    without: Iterable[str] = (),
    replays: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """Write a request as chat completions want it.

    Parameters
    ----------
    request : ModelRequest
        What to ask.
    model : str
        Whom.
    profile : ChatProfile
        What the model takes.
    extra : mapping
        More keys for the body; they win.
    without : iterable of str
        Names of `OPTIONAL` that the service has refused.
    replays : mapping, optional
        More keys for assistant messages of this turn, by the identifier of
        their first call.

    Returns
    -------
    dict
        The body, as JSON values.
    """
    without = frozenset(without)
    body: dict[str, Any] = {
        **request.params,
        "model": model,
        "stream": True,
        "messages": _messages(request.messages, replays or {}),
    }
    if profile.sends_stream_options:
        body["stream_options"] = {"include_usage": True}
    asked = {**request.tool_calling, **_some(request.params, _TAKEN)}
    body |= _some(asked, _TAKEN)
    if request.output is not None and not request.output.tool:
        body["response_format"] = response_format(request.output)
    if request.tools:
        body |= _tools(request.tools, asked, profile, without)
    if request.temperature is not None and profile.sends_temperature:
        body["temperature"] = request.temperature
    body |= extra
    if not body.keys() & LIMITS:
        thinks = body.get("reasoning_effort") != "none"
        limit = request.max_tokens + (profile.thinking_tokens if thinks else 0)
        body[limit_key(profile, without)] = limit
    return {name: value for name, value in body.items() if name not in without}


def limit_key(profile: ChatProfile, without: frozenset[str]) -> str:
    """Name the key for the most tokens, of the two that there are."""
    if profile.max_tokens_key in without and LIMITS - without:
        return next(iter(LIMITS - without))
    return profile.max_tokens_key


def _some(mapping: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: mapping[name] for name in names if name in mapping}


def _tools(
    tools: Sequence[Mapping[str, Any]],
    asked: Mapping[str, Any],
    profile: ChatProfile,
    without: frozenset[str],
) -> dict[str, Any]:
    is_strict = profile.sends_strict and "strict" not in without
    part: dict[str, Any] = {
        "tools": [tool if is_strict else _without_strict(tool) for tool in tools]
    }
    if asked.get("tool_choice") is not None:
        part["tool_choice"] = _choice(asked["tool_choice"])
    if "parallel_tool_calls" in asked and profile.sends_parallel_tool_calls:
        part["parallel_tool_calls"] = asked["parallel_tool_calls"]
    if profile.effort_with_tools and "reasoning_effort" not in asked:
        part["reasoning_effort"] = profile.effort_with_tools
    return part


def _choice(choice: Any) -> Any:
    """Give a choice in the shape of the wire; a bare name is that tool."""
    name = choice.get("name") if isinstance(choice, Mapping) else choice
    if not isinstance(name, str) or name in {"auto", "none", "required"}:
        return choice
    return {"type": "function", "function": {"name": name}}


def _without_strict(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    function = tool.get("function")
    if not isinstance(function, Mapping) or "strict" not in function:
        return tool
    rest = {name: value for name, value in function.items() if name != "strict"}
    return {**tool, "function": rest}


def _messages(
    messages: Sequence[Message], replays: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, Any]]:
    system: list[str] = []
    rest: list[dict[str, Any]] = []
    for message in messages:
        if message.role == "system":
            system.append(message.content)
        elif message.tool_calls:
            rest.append(
                {
                    "role": message.role,
                    "content": message.content or None,
                    "tool_calls": [_call(call) for call in message.tool_calls],
                }
            )
        elif message.tool_call_id is not None:
            rest.append(
                {
                    "role": message.role,
                    "tool_call_id": message.tool_call_id,
                    "content": message.content,
                }
            )
        else:
            rest.append({"role": message.role, "content": message.content})
    for said in reversed(rest if replays else ()):
        if said["role"] == "user":
            break
        if "tool_calls" in said:
            said.update(replays.get(said["tool_calls"][0]["id"], {}))
    if not system:
        return rest
    # Chat templates of local servers take one, at the start.
    return [{"role": "system", "content": "\n\n".join(system)}, *rest]


def _call(call: ToolCall) -> dict[str, Any]:
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": fit_name(call.name), "arguments": call.arguments},
    }
