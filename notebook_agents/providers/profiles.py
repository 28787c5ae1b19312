"""What is known of models and services that do not take every request: plain data.

As of 2026-11-29.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, replace
from typing import Any

from notebook_agents.providers.output_format import OutputMode

__all__ = ["ChatProfile", "chat_profile"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatProfile:
    """How to speak chat completions, or OpenAI Responses, to one model.

    Parameters
    ----------
    max_tokens_key : str
        ``"max_tokens"`` or ``"max_completion_tokens"``.
    thinking_tokens : int
        Tokens added to the limit, because the model thinks before it answers
        and the limit covers both.
    sends_temperature : bool
        Whether the model takes a temperature while it thinks.
    sends_stream_options : bool
        Whether to ask for the token counts of a stream.
    sends_parallel_tool_calls : bool
        Whether the service takes ``parallel_tool_calls``.
    sends_strict : bool
        Whether tools are marked ``strict``.
    sends_phase : bool
        Whether Responses is told which earlier texts of the model were answers.
    effort_with_tools : str or None
        ``reasoning_effort`` without which the model takes no tools in chat
        completions.
    splits_think_tags : bool
        Whether a leading ``<think>`` part of the text is reasoning.
    replays : {"reasoning_content", "reasoning_details"}, optional
        The part of a reply with tool calls that has to be sent back with them,
        within the same turn.
    reports_cost : bool
        Whether ``usage.cost`` of a reply is what was charged, in US dollars.
    output : {"native", "tool", "prompted"}
        How an answer of a given shape is asked for.
    output_with_tools : {"native", "tool", "prompted"}
        The same, for an agent with tools: where a service makes the model write
        JSON from its first token on, it could not call any.

    Examples
    --------
    >>> from dataclasses import replace
    >>> replace(chat_profile("ollama", "gemma4"), sends_temperature=False).max_tokens_key
    'max_tokens'
    """

    max_tokens_key: str = "max_tokens"
    thinking_tokens: int = 0
    sends_temperature: bool = True
    sends_stream_options: bool = True
    sends_parallel_tool_calls: bool = True
    sends_strict: bool = False
    sends_phase: bool = False
    effort_with_tools: str | None = None
    splits_think_tags: bool = True
    replays: str | None = None
    reports_cost: bool = False
    output: OutputMode = "native"
    output_with_tools: OutputMode = "tool"


_THINKS: dict[str, Any] = {
    "sends_temperature": False,
    "thinking_tokens": 8192,
}
_NO_SCHEMA: dict[str, Any] = {"output": "tool", "output_with_tools": "tool"}
_KNOWN: tuple[tuple[str, str, dict[str, Any]], ...] = (
    # provider, model, what is different; all that match count, later ones win
    (
        r"openai",
        r"",
        {
            "max_tokens_key": "max_completion_tokens",
            "sends_strict": True,
            "splits_think_tags": False,
            "output_with_tools": "native",
        },
    ),
    (r"openai", r"^gpt-(3\.5|4(-turbo|-\d{4}|$))", _NO_SCHEMA),
    (r"openai", r"^(o\d|gpt-([5-9]|\d\d)|computer-use)|codex", _THINKS),
    (r"openai", r"^gpt-(5\.[3-9]|[6-9]|\d\d)", {"sends_phase": True}),
    # They refuse tools on this endpoint while they reason.
    (r"openai", r"^gpt-(5\.[6-9]|[6-9]|\d\d)", {"effort_with_tools": "none"}),
    (
        r"openrouter",
        r"",
        {
            "sends_strict": True,
            "splits_think_tags": False,
            "replays": "reasoning_details",
            "reports_cost": True,
        },
    ),
    (
        r"openai-compatible",
        r"(?i)deepseek|kimi-k",
        {"replays": "reasoning_content"},
    ),
    (r"openai-compatible", r"(?i)^deepseek-(chat|reasoner)$", _NO_SCHEMA),
    (
        r"openrouter|huggingface|ollama|lmstudio|llamacpp|openai-compatible",
        r"(?i)deepseek-?r\d|qwq|qwen-?3|gpt-oss|magistral|thinking|reason|glm-[45]|kimi-k",
        {"thinking_tokens": 4096},
    ),
)


@functools.lru_cache(maxsize=256)  # asked for at each request, and its reply
def chat_profile(provider: str, model: str) -> ChatProfile:
    """Find what is known of a model.

    Parameters
    ----------
    provider : str
        Name of the provider.
    model : str
        Name of the model.

    Returns
    -------
    ChatProfile
        What is usual, but for what is known to be different.
    """
    profile = ChatProfile()
    for provider_pattern, model_pattern, changes in _KNOWN:
        if re.fullmatch(provider_pattern, provider) and re.search(model_pattern, model):
            profile = replace(profile, **changes)
    return profile
