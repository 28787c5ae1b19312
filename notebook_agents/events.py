"""What happens: one frozen class for each event of a run.

A run is the list of its events. The cell, the web and the terminal are equal
readers of that list, and everything they show can be made again from
`Event.to_dict` and `event_from_dict` alone.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from notebook_agents.checks import fail, shown
from notebook_agents.messages import Usage

__all__ = [
    "ActionEvent",
    "AnswerEvent",
    "ApprovalRequestedEvent",
    "ApprovalResultEvent",
    "ErrorEvent",
    "Event",
    "GuardrailEvent",
    "ObservationEvent",
    "Origin",
    "ProgressEvent",
    "RetryEvent",
    "TaskEvent",
    "ThoughtEvent",
    "TokenEvent",
    "ToolErrorEvent",
    "event_from_dict",
]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an event comes from; one value is shared by all events of a run.

    Parameters
    ----------
    run_id : str
        The run.
    agent : str
        Name of the agent.
    """

    run_id: str
    agent: str


@dataclass(frozen=True, slots=True)
class Event:
    """What every event has.

    Parameters
    ----------
    origin : Origin
        The run and the agent.
    seq : int
        Position in the run, from 1, without gaps.
    ts : float
        Seconds since the epoch.
    step : int
        Model call the event belongs to, from 1; 0 before the first.
    usage : Usage
        Token counts of the run so far.
    """

    event: ClassVar[str] = ""
    """The kind, as it stands in the serialised form."""
    counts_tokens: ClassVar[bool] = True
    """Whether the serialised form carries the token counts."""

    origin: Origin
    seq: int
    ts: float
    step: int
    usage: Usage

    @property
    def run_id(self) -> str:
        """The run that the event belongs to."""
        return self.origin.run_id

    @property
    def agent(self) -> str:
        """Name of the agent that ran."""
        return self.origin.agent

    def to_dict(self) -> dict[str, Any]:
        """Give the event as plain JSON values, which share nothing with it."""
        data: dict[str, Any] = {
            "event": self.event,
            "run_id": self.run_id,
            "seq": self.seq,
            "ts": self.ts,
            "agent": self.agent,
            "step": self.step,
        }
        for name in _OWN[type(self)]:
            value = getattr(self, name)
            # A listener that hides a key in it must not change what people are asked.
            data[name] = copy.deepcopy(value) if isinstance(value, Mapping) else value
        if self.counts_tokens:
            for name in _COUNTS:
                data[name] = getattr(self.usage, name)
        return data


@dataclass(frozen=True, slots=True)
class TaskEvent(Event):
    """The run began with this prompt.

    ``output`` names the type that its answer shall have, as JSON; empty for text.
    """

    event: ClassVar[str] = "task"
    counts_tokens: ClassVar[bool] = False
    prompt: str = ""
    output: str = ""


@dataclass(frozen=True, slots=True)
class TokenEvent(Event):
    """A piece of text arrived; ``channel`` is ``answer`` or ``reasoning``."""

    event: ClassVar[str] = "token"
    text: str = ""
    channel: str = "answer"


@dataclass(frozen=True, slots=True)
class ThoughtEvent(Event):
    """The whole text of one thought; ``kind`` is ``reasoning`` or ``plan``."""

    event: ClassVar[str] = "thought"
    kind: str = "plan"
    content: str = ""


@dataclass(frozen=True, slots=True)
class ActionEvent(Event):
    """The model asked for a tool, which has not run yet."""

    event: ClassVar[str] = "action"
    tool: str = ""
    args: Mapping[str, Any] = field(default_factory=dict)
    call_id: str = ""
    label: str = ""


@dataclass(frozen=True, slots=True)
class ProgressEvent(Event):
    """A running tool says how far it is; ``total`` is None if unknown."""

    event: ClassVar[str] = "progress"
    tool: str = ""
    call_id: str = ""
    done: float = 0.0
    total: float | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class ApprovalRequestedEvent(Event):
    """A call waits for a decision; ``request`` has its id, risk and expiry."""

    event: ClassVar[str] = "waiting_for_approval"
    tool: str = ""
    args: Mapping[str, Any] = field(default_factory=dict)
    call_id: str = ""
    request: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ApprovalResultEvent(Event):
    """A call was decided; ``by`` names who or what decided.

    ``reason`` is why it was denied, or the answer in place of the tool; ``scope``
    and ``until`` say what ``always`` allows from now on, and how long.
    """

    event: ClassVar[str] = "approval_result"
    request_id: str = ""
    tool: str = ""
    call_id: str = ""
    decision: str = ""
    args: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""
    by: str = ""
    scope: str = ""
    until: float | None = None


@dataclass(frozen=True, slots=True)
class ObservationEvent(Event):
    """The end of a tool call: what the model sees of it.

    ``status`` is ``done``, ``answered`` (by a person, in its place), ``failed``,
    ``denied`` or ``cancelled``; ``bundle`` holds, by MIME type, what a person sees
    of the returned value; ``value`` is the live object and is not serialised.
    """

    event: ClassVar[str] = "observation"
    tool: str = ""
    content: str = ""
    call_id: str = ""
    seconds: float = 0.0
    status: str = "done"
    bundle: Mapping[str, Any] = field(default_factory=dict)
    value: Any = field(default=None, compare=False)

    @property
    def failed(self) -> bool:
        """Whether the call gave no result."""
        return self.status not in {"done", "answered"}


@dataclass(frozen=True, slots=True)
class ToolErrorEvent(Event):
    """A tool call failed; ``detail`` is for people and has the traceback."""

    event: ClassVar[str] = "tool_error"
    counts_tokens: ClassVar[bool] = False
    tool: str = ""
    error: str = ""
    call_id: str = ""
    reason: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class GuardrailEvent(Event):
    """A guard changed or blocked text."""

    event: ClassVar[str] = "guardrail"
    stage: str = ""
    guard: str = ""
    action: str = ""


@dataclass(frozen=True, slots=True)
class RetryEvent(Event):
    """The model call is tried again after ``wait_s`` seconds.

    ``attempt`` is 0 where nothing has failed and the first try has to wait;
    ``model`` names, as ``provider:model``, who is asked instead of the model before.
    """

    event: ClassVar[str] = "retry"
    attempt: int = 0
    wait_s: float = 0.0
    reason: str = ""
    discard_partial: bool = False
    model: str = ""


@dataclass(frozen=True, slots=True)
class AnswerEvent(Event):
    """The last event of a run that reached an answer.

    ``stop_reason`` is why the model ended: ``stop``, ``length``, ``budget``,
    ``refusal`` or ``content_filter``.
    """

    event: ClassVar[str] = "answer"
    content: str = ""
    stop_reason: str = "stop"


@dataclass(frozen=True, slots=True)
class ErrorEvent(Event):
    """The run ended without a proper answer."""

    event: ClassVar[str] = "error"
    reason: str = ""
    detail: str = ""


_SHARED = tuple(item.name for item in fields(Event))
_COUNTS = tuple(item.name for item in fields(Usage))
_UNSERIALISED = frozenset({"value"})
_KINDS: dict[str, type[Event]] = {
    kind.event: kind
    for kind in (
        TaskEvent,
        TokenEvent,
        ThoughtEvent,
        ActionEvent,
        ProgressEvent,
        ApprovalRequestedEvent,
        ApprovalResultEvent,
        ObservationEvent,
        ToolErrorEvent,
        GuardrailEvent,
        RetryEvent,
        AnswerEvent,
        ErrorEvent,
    )
}


def _own_fields(kind: type[Event]) -> tuple[str, ...]:
    return tuple(
        item.name
        for item in fields(kind)
        if item.name not in _SHARED and item.name not in _UNSERIALISED
    )


_OWN = {kind: _own_fields(kind) for kind in _KINDS.values()}


def event_from_dict(data: Mapping[str, Any]) -> Event:
    """Make an event again from its serialised form.

    Parameters
    ----------
    data : mapping
        What `Event.to_dict` gave; unknown keys are ignored.

    Returns
    -------
    Event
        Equal to the original, but for the live value of an observation.

    Raises
    ------
    AgentConfigurationError
        If it is no event, or of an unknown kind.

    Examples
    --------
    >>> event = TokenEvent(Origin("r1", "agent"), 1, 0.0, 1, Usage(), text="hi")
    >>> event_from_dict(event.to_dict()) == event
    True
    """
    try:
        return _made(data)
    except (KeyError, TypeError, AttributeError) as error:
        fail(f"{shown(data)} is no event, such as Event.to_dict() gives.", error)


def _made(data: Mapping[str, Any]) -> Event:
    kind = _KINDS.get(data["event"])
    if kind is None:
        fail(f"Unknown event kind {data['event']!r}; known kinds: {', '.join(_KINDS)}.")
    counts = {name: data.get(name, 0) for name in _COUNTS}
    own = {name: data[name] for name in _OWN[kind] if name in data}
    origin = Origin(data["run_id"], data["agent"])
    return kind(origin, data["seq"], data["ts"], data["step"], Usage(**counts), **own)
