"""What OpenAI Responses sends, event by event, for the stand-in of `wire`."""

from __future__ import annotations

import itertools
import json

from tests.providers.wire import Reply, Step, streamed

USAGE = {
    "input_tokens": 5,
    "input_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 1},
    "output_tokens": 7,
    "output_tokens_details": {"reasoning_tokens": 2},
    "total_tokens": 12,
}


def said(kind: str, **fields: object) -> dict:
    return {"type": f"response.{kind}", **fields}


def response(status: str = "completed", output: tuple = (), **fields: object) -> dict:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1796000000,
        "model": "gpt-6-luna",
        "status": status,
        "tools": [],
        "tool_choice": "auto",
        "parallel_tool_calls": True,
        "error": None,
        "incomplete_details": None,
        "output": list(output),
        "usage": USAGE,
        **fields,
    }


CREATED = said("created", response=response("in_progress", usage=None))


def completed(*output: dict, **fields: object) -> dict:
    return said("completed", response=response(output=output, **fields))


def incomplete(reason: str | None, *output: dict) -> dict:
    details = {"reason": reason} if reason else None
    whole = response("incomplete", output, incomplete_details=details)
    return said("incomplete", response=whole)


def failed(code: str, message: str) -> dict:
    error = {"code": code, "message": message}
    return said("failed", response=response("failed", error=error, usage=None))


# ------------------------------------------------------------------------ items


def message(text: str, n: int = 0, **fields: object) -> dict:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {
        "type": "message",
        "id": f"msg_{n}",
        "role": "assistant",
        "status": "completed",
        "content": [part],
        **fields,
    }


def reasoning(*summaries: str, n: int = 0, encrypted: str | None = "ENC") -> dict:
    return {
        "type": "reasoning",
        "id": f"rs_{n}",
        "summary": [{"type": "summary_text", "text": text} for text in summaries],
        "encrypted_content": encrypted,
    }


def function_call(name: str, arguments: object, call_id: str, n: int = 0) -> dict:
    return {
        "type": "function_call",
        "id": f"fc_{n}",
        "call_id": call_id,
        "name": name,
        "arguments": arguments,
        "status": "completed",
    }


# ----------------------------------------------------------------------- events


def added(item: dict, index: int = 0) -> dict:
    """Begin an item, of which nothing is known but what it is."""
    empty = {"content": [], "summary": [], "arguments": "", "encrypted_content": None}
    begun = {**item, **{name: empty[name] for name in empty.keys() & item.keys()}}
    return said("output_item.added", output_index=index, item=begun)


def done(item: dict, index: int = 0) -> dict:
    return said("output_item.done", output_index=index, item=item)


def text_delta(text: str, item_id: str = "msg_0", index: int = 0) -> dict:
    return said(
        "output_text.delta",
        item_id=item_id,
        output_index=index,
        content_index=0,
        delta=text,
        logprobs=[],
    )


def thought_delta(text: str, part: int = 0, item_id: str = "rs_0") -> dict:
    return said(
        "reasoning_summary_text.delta",
        item_id=item_id,
        output_index=0,
        summary_index=part,
        delta=text,
    )


def arguments_delta(text: str, item_id: str, index: int) -> dict:
    kind = "function_call_arguments.delta"
    return said(kind, item_id=item_id, output_index=index, delta=text)


def events_of(*items: dict) -> list[dict]:
    """Give a whole stream as OpenAI would send it."""
    events = [CREATED, said("in_progress", response=response("in_progress"))]
    for index, item in enumerate(items):
        here = {"item_id": item["id"], "output_index": index}
        events.append(added(item, index))
        if item["type"] == "message":
            empty = {"type": "output_text", "text": "", "annotations": []}
            [part] = item["content"]
            text = part["text"]
            events += [
                said("content_part.added", **here, content_index=0, part=empty),
                *(text_delta(piece, item["id"], index) for piece in text),
                said(
                    "output_text.done",
                    **here,
                    content_index=0,
                    text=text,
                    logprobs=[],
                ),
                said("content_part.done", **here, content_index=0, part=part),
            ]
        elif item["type"] == "reasoning":
            for number, part in enumerate(item["summary"]):
                at = {**here, "summary_index": number}
                kind, text = "reasoning_summary", part["text"]
                events += [
                    said(f"{kind}_part.added", **at, part={**part, "text": ""}),
                    said(f"{kind}_text.delta", **at, delta=text),
                    said(f"{kind}_text.done", **at, text=text),
                    said(f"{kind}_part.done", **at, part=part),
                ]
        elif item["type"] == "function_call":
            kind, text = "function_call_arguments", item["arguments"]
            middle = len(text) // 2
            events += [
                said(f"{kind}.delta", **here, delta=text[:middle]),
                said(f"{kind}.delta", **here, delta=text[middle:]),
                said(f"{kind}.done", **here, name=item["name"], arguments=text),
            ]
        events.append(done(item, index))
    return [*events, completed(*items)]


def to_bytes(events: list[dict | bytes]) -> list[bytes]:
    """Write events as OpenAI does, with their names and numbers."""
    written, numbers = [], itertools.count()
    for event in events:
        if isinstance(event, dict):
            data = {**event, "sequence_number": next(numbers)}
            name = f"event: {event['type']}\n" if "type" in event else ""
            text = json.dumps(data, ensure_ascii=False)
            written.append(f"{name}data: {text}\n\n".encode())
        else:
            written.append(event)
    return written


def reply(*events: dict | bytes | Step) -> Reply:
    return streamed(*to_bytes(list(events)))


def reply_of(*items: dict) -> Reply:
    return reply(*events_of(*items))


def answer(text: str) -> Reply:
    return reply_of(message(text))
