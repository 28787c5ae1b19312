"""Reading what was clicked in the card as a decision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from notebook_agents.approval import (
    Allow,
    Always,
    ApprovalRequest,
    Decision,
    Deny,
    Respond,
    Stop,
)
from notebook_agents.decisions import written
from notebook_agents.errors import ToolArgumentsError
from notebook_agents.jupyter.fields import changed_args, fields_of
from notebook_agents.tools.observation import MODEL_CHARACTERS

__all__ = ["decision_of"]

LONGEST_REASON = 2000
"""How many characters of a reason the model is told."""


def decision_of(said: Mapping[str, Any], request: ApprovalRequest) -> Decision | None:
    """Read a click.

    Parameters
    ----------
    said : mapping
        The card's message.
    request : ApprovalRequest
        What was asked.

    Returns
    -------
    Decision or None
        None if it is nothing that can be decided.

    Raises
    ------
    ToolArgumentsError
        If what was written cannot be used, in words for the person.
    """
    word = said.get("decision")
    if word == "allow":
        fields = fields_of(request.schema, request.args)
        args = changed_args(fields, request.args, said.get("changes"))
        return Allow(None if written(args) == written(request.args) else args)
    if word == "deny":
        return Deny(_text(said, "reason").strip()[:LONGEST_REASON])
    if word == "always":
        return Always("call" if said.get("scope") == "call" else "tool")
    if word == "respond":
        return Respond(_answer(said, request))
    return Stop() if word == "stop" else None


def _answer(said: Mapping[str, Any], request: ApprovalRequest) -> str:
    text = _text(said, "text")
    if not text.strip():
        message = "Write what the model should read as the result."
    elif len(text) > MODEL_CHARACTERS:
        message = f"The answer has {len(text):,} characters; {MODEL_CHARACTERS:,} fit."
    else:
        return text
    raise ToolArgumentsError(message, tool=request.tool)


def _text(said: Mapping[str, Any], name: str) -> str:
    text = said.get(name)
    return text if isinstance(text, str) else ""
