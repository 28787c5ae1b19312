"""The objects that OpenAI Responses is made of."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TypeAlias

from notebook_agents.testing.wire.scenarios import TEXT

__all__ = ["Item", "call_item", "message_item", "response", "thought_item"]

Item: TypeAlias = dict[str, Any]

USAGE = {
    "input_tokens": 10,
    "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
    "output_tokens": 20,
    "output_tokens_details": {"reasoning_tokens": 5},
    "total_tokens": 30,
}


def message_item(text: str = TEXT, **facts: object) -> Item:
    """Give a text.

    Parameters
    ----------
    text : str
        The text.
    **facts : object
        More keys.

    Returns
    -------
    dict
        The item.
    """
    part = {"type": "output_text", "text": text, "annotations": []}
    return {
        "type": "message",
        "id": "msg_0",
        "role": "assistant",
        "status": "completed",
        "content": [part],
        **facts,
    }


def call_item(index: int, call: tuple[str, Any], *, done: bool = True) -> Item:
    """Give a call.

    Parameters
    ----------
    index : int
        Its place.
    call : tuple of (str, dict)
        The tool, and its arguments.
    done : bool, default True
        Whether the arguments are there.

    Returns
    -------
    dict
        The item.
    """
    name, arguments = call
    return {
        "type": "function_call",
        "id": f"fc_{index}",
        "call_id": f"call_{index}",
        "name": name,
        "arguments": json.dumps(arguments) if done else "",
        "status": "completed" if done else "in_progress",
    }


def thought_item() -> Item:
    """Give a sealed thought, and what may be seen of it."""
    return {
        "type": "reasoning",
        "id": "rs_0",
        "summary": [{"type": "summary_text", "text": "hm"}],
        "encrypted_content": "ENC",
    }


def response(status: str, output: Sequence[Item], **facts: object) -> Item:
    """Give a whole reply.

    Parameters
    ----------
    status : str
        Such as ``"completed"``.
    output : sequence of dict
        Its items.
    **facts : object
        More keys.

    Returns
    -------
    dict
        The object.
    """
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1_780_000_000,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": "m",
        "output": list(output),
        "parallel_tool_calls": True,
        "temperature": None,
        "tool_choice": "auto",
        "tools": [],
        "top_p": None,
        "usage": USAGE,
        **facts,
    }
