"""`PastStep`: what a run had done before its process was killed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from notebook_agents.errors import MemoryStoreError
from notebook_agents.memory.journal import Record
from notebook_agents.messages import ToolCall, Usage
from notebook_agents.providers.base import ModelReply

__all__ = ["PastCall", "PastStep", "read_past"]

STOPPED = (
    "Cancelled: the user stopped the run before this call began, so it was not run. "
    "Ask before you do it again."
)


@dataclass(frozen=True, slots=True)
class PastCall:
    """A call that had begun; without a result it was cut off."""

    content: str | None = None
    status: str = "done"
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class PastStep:
    """A reply of the model, and the calls of it that had begun, by identifier."""

    reply: ModelReply
    calls: Mapping[str, PastCall]


def read_past(run_id: str, records: Sequence[Record]) -> tuple[Record, list[PastStep]]:
    """Read what a run has written down.

    Parameters
    ----------
    run_id : str
        The run.
    records : sequence of mapping
        Its entries, oldest first.

    Returns
    -------
    tuple of (mapping, list of PastStep)
        What it was begun with, and its replies, oldest first.

    Raises
    ------
    MemoryStoreError
        If an entry cannot be read, or what it was begun with is not there; going
        on without it might do a thing twice, or something else.
    """
    begun: list[Record] = []
    steps: list[PastStep] = []
    calls: dict[str, PastCall] = {}
    try:
        for record in records:
            kind = record["kind"]
            if kind == "begun":
                settings, turn = dict(record["settings"]), record["turn"]
                parts = record.get("parts", [])
                begun.append({"settings": settings, "turn": turn, "parts": parts})
            elif kind == "reply":
                calls = {}
                steps.append(PastStep(_reply(record), calls))
            elif kind == "began":
                calls[record["call_id"]] = PastCall()
            elif kind == "stopped":
                for call in steps[-1].reply.tool_calls if steps else ():
                    calls.setdefault(call.id, PastCall(STOPPED, "cancelled"))
            else:
                facts = (record["content"], record["status"], record["seconds"])
                calls[record["call_id"]] = PastCall(*facts)
        (begun_with,) = begun
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        message = (
            f"What the run {run_id} has written down cannot be read: it is damaged, or "
            "another version wrote it. Nothing was run; ask anew."
        )
        raise MemoryStoreError(message) from error
    return begun_with, steps


def _reply(record: Record) -> ModelReply:
    calls = tuple(ToolCall.from_dict(call) for call in record["calls"])
    said = record["reply"]
    return ModelReply(**{**said, "usage": Usage(**said["usage"]), "tool_calls": calls})
