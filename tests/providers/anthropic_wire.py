"""What Anthropic's Messages say, as events and as whole replies."""

from __future__ import annotations

import json
from typing import Any

from tests.providers.wire import Reply, Step, streamed, whole

USAGE = {"input_tokens": 10, "output_tokens": 1}


def say(kind: str, **facts: object) -> bytes:
    """Give one event, named in its head and in its data as the service does."""
    data = json.dumps({"type": kind, **facts}, ensure_ascii=False)
    return f"event: {kind}\ndata: {data}\n\n".encode()


def started(**usage: object) -> bytes:
    return say(
        "message_start",
        message={
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-5-5",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage or USAGE,
        },
    )


def grown(index: int, kind: str, **facts: object) -> bytes:
    return say("content_block_delta", index=index, delta={"type": kind, **facts})


def block(index: int, begin: dict[str, Any], *deltas: dict[str, Any]) -> bytes:
    """Give all events of one block."""
    events = [say("content_block_start", index=index, content_block=begin)]
    events += [
        grown(index, each["type"], **{k: v for k, v in each.items() if k != "type"})
        for each in deltas
    ]
    return b"".join([*events, say("content_block_stop", index=index)])


def text(index: int, *pieces: str) -> bytes:
    deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
    return block(index, {"type": "text", "text": ""}, *deltas)


def thought(index: int, *pieces: str, signature: str = "SIG") -> bytes:
    return block(
        index,
        {"type": "thinking", "thinking": "", "signature": ""},
        *[{"type": "thinking_delta", "thinking": piece} for piece in pieces],
        {"type": "signature_delta", "signature": signature},
    )


def use(index: int, call_id: str, name: str, *pieces: str) -> bytes:
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    begin = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
    return block(index, begin, *deltas)


def stopped(reason: str | None, **facts: Any) -> bytes:
    usage = facts.pop("usage", {"output_tokens": 20})
    delta = {"stop_reason": reason, "stop_sequence": None, **facts}
    return say("message_delta", delta=delta, usage=usage)


END = say("message_stop")
PING = say("ping")


def stream(*pieces: bytes | Step, stop: str = "end_turn") -> Reply:
    """Give a complete streamed reply with these blocks."""
    return streamed(started(), *pieces, stopped(stop), END)


def answer(said: str) -> Reply:
    return stream(text(0, said))


def message(*content: dict[str, Any], stop: str = "end_turn", **facts: Any) -> dict:
    """Give a reply that comes as one object."""
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": list(content),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 20},
        **facts,
    }


def at_once(*content: dict[str, Any], **facts: Any) -> Reply:
    return whole(200, message(*content, **facts))


def failed(status: int, kind: str, said: str = "no", **headers: str) -> Reply:
    error = {"type": kind, "message": said}
    body = {"type": "error", "error": error, "request_id": "req_1"}
    return whole(status, body, **headers)


def error_event(kind: str, said: str = "no") -> bytes:
    return say("error", error={"type": kind, "message": said}, request_id="req_1")
