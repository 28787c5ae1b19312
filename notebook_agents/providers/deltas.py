"""What a model is asked, and the deltas of what it replies: plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from notebook_agents.messages import Message, ToolCall, Usage
from notebook_agents.providers.output_format import OutputFormat

__all__ = [
    "Delta",
    "ModelReply",
    "ModelRequest",
    "ReasoningDelta",
    "RetryDelta",
    "TextDelta",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """Everything one model call needs.

    Parameters
    ----------
    messages : sequence of Message
        The conversation, the system message first.
    tools : sequence of dict
        OpenAI function-tool objects; empty when the model may call nothing.
    tool_calling : mapping
        Overrides such as ``{"tool_choice": "required"}``.
    max_tokens : int
        Most tokens of visible output.
    temperature : float or None
        Sampling temperature, no unit; None leaves it to the provider.
    params : mapping
        More sampling parameters, as the service spells them.
    output : OutputFormat or None
        The shape of the answer; None for plain text.
    max_retries : int or None
        Further tries after one that failed; None leaves it to the provider.
    replays : mapping of str to object
        `ModelReply.replay` of the replies of this turn that had one, each by the
        identifier of the first call of its reply in `messages`.
    """

    messages: Sequence[Message]
    tools: Sequence[Mapping[str, Any]] = ()
    tool_calling: Mapping[str, Any] = field(default_factory=dict)
    max_tokens: int = 1024
    temperature: float | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    output: OutputFormat | None = None
    max_retries: int | None = None
    replays: Mapping[str, object] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A piece of what the model thinks before it answers."""

    text: str


@dataclass(frozen=True, slots=True)
class RetryDelta:
    """The request failed and is sent again after a wait.

    Parameters
    ----------
    attempt : int
        Which retry it is, from 1; 0 where nothing has failed and the first try
        has to wait.
    wait_s : float
        Seconds until it is sent.
    reason : str
        A few words for people.
    discard_partial : bool
        Whether the text so far is void.
    model : str
        Who is asked instead, as ``provider:model``; empty for the same one.
    """

    attempt: int
    wait_s: float
    reason: str
    discard_partial: bool = False
    model: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """One complete reply of a model, always the last delta.

    Parameters
    ----------
    text : str
        The whole visible text.
    tool_calls : tuple of ToolCall
        What the model asks for, in its order.
    reasoning : str
        The whole reasoning text, if the service shows it.
    usage : Usage
        Token counts of this call.
    stop_reason : str
        ``"stop"``, ``"tool_calls"``, ``"length"``, ``"refusal"`` or
        ``"content_filter"``.
    cached_tokens, cache_write_tokens : int
        Of the prompt, the tokens that came from the cache of the service, and
        those that were put there; 0 if it does not say.
    charged : float or None
        US dollars, if the service says what it charged.
    model, url : str
        What replied, as ``provider:model``, and where it is; empty where it is
        what was asked.
    replay : object
        What the provider wants to be given again, in `ModelRequest.replays`, when
        the results of the calls go to it; nobody else reads it, and it is stored
        nowhere.
    """

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    usage: Usage = field(default_factory=Usage)
    stop_reason: str = "stop"
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    charged: float | None = None
    model: str = ""
    url: str = ""
    replay: object = field(default=None, repr=False, compare=False)


Delta = TextDelta | ReasoningDelta | RetryDelta | ModelReply
