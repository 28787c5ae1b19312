"""The body of a request for Anthropic's Messages."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from notebook_agents.providers._anthropic_messages import (
    Block,
    Conversation,
    KeptBlocks,
)
from notebook_agents.providers._anthropic_schema import fit_schema
from notebook_agents.providers._parts import system_text
from notebook_agents.providers.anthropic_profile import AnthropicProfile
from notebook_agents.providers.base import ModelRequest

__all__ = ["Continuation", "Written", "written"]

_TAKEN = ("parallel_tool_calls", "reasoning_effort", "stop", "tool_choice", "top_p")
"""Keys of ``tool_calling`` that mean something here; ``params`` win."""
_SAMPLING = ("temperature", "top_p", "top_k")
_OURS = ("messages", "model", "stream", "system", "tools")
"""What no parameter takes the place of."""
_CHOICES = {"required": "any", "any": "any", "auto": "auto", "none": "none"}
_EFFORTS = {"none": "low", "minimal": "low"}
"""Efforts that other services know, as the nearest one here."""
_CACHED_TURNS = 2
"""Turns of the user, the latest, after which a service may keep what it read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Continuation(ModelRequest):
    """A request that is sent again because the service paused its reply.

    Parameters
    ----------
    said : tuple of mapping
        The blocks of the reply so far.
    """

    said: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Written:
    """A request in the shape of the wire.

    Parameters
    ----------
    body : dict
        JSON values.
    conversation : Conversation
        What its messages were made from.
    dropped : tuple of str
        What was asked for and the model does not take.
    """

    body: dict[str, Any]
    conversation: Conversation
    dropped: tuple[str, ...]


def written(
    request: ModelRequest,
    *,
    model: str,
    profile: AnthropicProfile,
    extra: Mapping[str, Any],
    cache: str | None = None,
    without: Collection[str] = (),
    most_tokens: int | None = None,
    kept: Mapping[str, KeptBlocks] | None = None,
) -> Written:
    """Write a request as Anthropic wants it.

    Parameters
    ----------
    request : ModelRequest
        What to ask.
    model : str
        Whom.
    profile : AnthropicProfile
        What the model takes.
    extra : mapping
        More keys for the body; they win, but ``tools`` are added to the others.
    cache : {"5m", "1h"}, optional
        How long the service may keep what it has read; not at all when left out.
    without : collection of str
        Keys that the service has refused.
    most_tokens : int, optional
        The most it lets the model write, if it has said so.
    kept : mapping, optional
        Blocks of replies of this turn, by the identifier of their first call.

    Returns
    -------
    Written
        The body, and what it was made from.
    """
    asked = _Asked(request, without)
    tools = [*map(_tool, request.tools), *(extra.get("tools") or ())]
    choice = _choice(asked, profile, has_tools=bool(tools))
    thinking = _thinking(asked, profile, extra, is_forced=_is_forced(choice))
    if "thinking" in without:
        thinking = {}
    system = system_text(request.messages)
    head = {"system": system, "tools": tools}
    is_off = thinking.get("type") == "disabled"
    conversation = Conversation(request.messages, head, {} if is_off else kept or {})
    if thinking.get("type") == "enabled" and conversation.has_lost_thoughts():
        # With a budget, a turn has to begin with its thoughts.
        thinking = {}
    if not profile.sends_sampling or (thinking and not is_off):
        asked.drop(*_SAMPLING)
    limit = asked.limit + _room(thinking, profile)
    body: dict[str, Any] = {
        "model": model,
        "max_tokens": limit if most_tokens is None else min(limit, most_tokens),
        "stream": True,
        "system": [{"type": "text", "text": system}] if system else None,
        "messages": conversation.messages,
        "tools": tools,
        "tool_choice": choice,
        "thinking": thinking,
        "output_config": _output_config(asked, request, profile, without),
    }
    body = {
        name: value for name, value in body.items() if value and name not in without
    } | asked
    body |= {name: value for name, value in extra.items() if name != "tools"}
    if cache is not None and "cache_control" not in without:
        _mark(body, cache, is_growing=bool(tools) or conversation.is_answered())
    if isinstance(request, Continuation):
        said = {"role": "assistant", "content": list(request.said)}
        body["messages"] = [*body["messages"], said]
    return Written(body, conversation, tuple(asked.dropped))


class _Asked(dict[str, Any]):
    """The parameters of a request, as long as nobody has taken them."""

    def __init__(self, request: ModelRequest, without: Collection[str]) -> None:
        calling = request.tool_calling
        asked = {name: calling[name] for name in _TAKEN if name in calling}
        asked |= {"temperature": request.temperature, **request.params}
        super().__init__(
            {name: value for name, value in asked.items() if value is not None}
        )
        self.dropped: list[str] = []
        limits = (self.pop("max_tokens", None), self.pop("max_completion_tokens", None))
        self.limit: int = next(filter(None, limits), request.max_tokens)
        stop = self.pop("stop", None)
        if stop:
            self["stop_sequences"] = [stop] if isinstance(stop, str) else stop
        for name in (*_OURS, *without):
            self.pop(name, None)

    def drop(self, *names: str) -> None:
        """Leave out what the model does not take."""
        self.dropped += [name for name in names if self.pop(name, None) is not None]


# ------------------------------------------------------------------------- tools


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    function = tool.get("function")
    if not isinstance(function, Mapping):
        return dict(tool)  # one that the service runs itself
    schema = function.get("parameters") or {"type": "object", "properties": {}}
    told = {"name": function["name"], "description": function.get("description")}
    return {name: value for name, value in told.items() if value} | {
        "input_schema": schema
    }


def _choice(
    asked: _Asked, profile: AnthropicProfile, *, has_tools: bool
) -> dict[str, Any] | None:
    """Give the choice of tools; a bare name is that tool."""
    given = asked.pop("tool_choice", None)
    is_single = asked.pop("parallel_tool_calls", None) is False
    if not has_tools:
        return None
    if isinstance(given, Mapping):
        function = given.get("function")
        name = function.get("name") if isinstance(function, Mapping) else None
        given = name or given.get("name") or given.get("type")
    choice: dict[str, Any] | None = None
    if isinstance(given, str):
        kind = _CHOICES.get(given)
        choice = {"type": kind} if kind else {"type": "tool", "name": given}
    if _is_forced(choice) and not profile.forces_tools:
        asked.dropped.append("forced tool_choice")
        choice = None
    if is_single and (choice is None or choice["type"] != "none"):
        choice = {**(choice or {"type": "auto"}), "disable_parallel_tool_use": True}
    return choice


def _is_forced(choice: Mapping[str, Any] | None) -> bool:
    return choice is not None and choice["type"] in {"any", "tool"}


# ---------------------------------------------------------------------- thinking


def _thinking(
    asked: _Asked,
    profile: AnthropicProfile,
    extra: Mapping[str, Any],
    *,
    is_forced: bool,
) -> Mapping[str, Any]:
    """Say how to think; empty where nothing is to be said about it."""
    given = asked.pop("thinking", None)
    if given := extra.get("thinking", given):
        return dict(given)
    effort = asked.get("reasoning_effort")
    kind = profile.thinking
    if profile.is_adaptive and effort not in {None, "none"}:
        kind = "adaptive"
    if kind and (is_forced or effort == "none"):
        # Who must call a tool at once has no time to think.
        kind = profile.no_thinking or kind
    if kind == "adaptive":
        return {"type": kind, "display": "summarized"}
    return {"type": kind} if kind else {}


def _room(thinking: Mapping[str, Any], profile: AnthropicProfile) -> int:
    """Give the tokens that thoughts may take, beside the answer."""
    thinks = thinking.get("type", profile.thinking)  # some do unless told otherwise
    if thinks in {None, "disabled"}:
        return 0
    budget = thinking.get("budget_tokens")
    return budget if isinstance(budget, int) else profile.thinking_tokens


def _output_config(
    asked: _Asked,
    request: ModelRequest,
    profile: AnthropicProfile,
    without: Collection[str],
) -> dict[str, Any]:
    config = dict(asked.pop("output_config", {}))
    if not profile.is_adaptive:
        asked.drop("reasoning_effort")
    effort = asked.pop("reasoning_effort", None)
    if effort is not None and (effort != "none" or profile.no_thinking is None):
        config.setdefault("effort", _EFFORTS.get(effort, effort))
    if "effort" in without:
        config.pop("effort", None)
    if request.output is not None and not request.output.tool:
        schema = fit_schema(request.output.schema)
        config["format"] = {"type": "json_schema", "schema": schema}
    return config


# -------------------------------------------------------------------- the prompt


def _mark(body: dict[str, Any], cache: str, *, is_growing: bool) -> None:
    """Say up to where the next request will begin in the same way."""
    mark = {"type": "ephemeral"} | ({"ttl": cache} if cache != "5m" else {})
    for name in ("system", "tools"):  # a mark covers what comes before it, too
        if isinstance(body.get(name), list):
            body[name] = _marked(body[name], mark)
            break
    if not is_growing:
        return  # a question alone is not asked again, and keeping it costs
    messages = list(body["messages"])
    turns = [n for n, message in enumerate(messages) if message["role"] == "user"]
    # The last but one is where the request before this one ended: a service looks
    # for it only a few blocks back.
    for number in turns[-_CACHED_TURNS:]:
        message = messages[number]
        messages[number] = {**message, "content": _marked(message["content"], mark)}
    body["messages"] = messages


def _marked(blocks: Sequence[Block], mark: Block) -> list[Block]:
    return [*blocks[:-1], {**blocks[-1], "cache_control": mark}]
