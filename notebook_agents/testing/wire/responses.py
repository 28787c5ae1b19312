"""Responses, as OpenAI sends them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from notebook_agents.errors import AgentProviderError, ContentFilteredError
from notebook_agents.testing.wire.replies import event, streamed
from notebook_agents.testing.wire.scenarios import TEXT, Scenario, Talk, common

__all__ = ["scenarios"]

ADD, MUL = ("add", {"a": 1, "b": 2}), ("mul", {"a": 3, "b": 4})
USAGE = {
    "input_tokens": 10,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 20,
    "output_tokens_details": {"reasoning_tokens": 5},
    "total_tokens": 30,
}

Item = dict[str, Any]
Said = tuple[str, dict[str, Any]]
"""The kind of an event, and what else it says."""


def scenarios() -> Iterator[Scenario]:
    """Give all of them."""
    answer = [*_message(0)]
    output = [_message_item()]
    yield from common(
        Talk(
            wire="responses",
            answer=_events(answer, output),
            whole=_response("completed", output),
            error=lambda status, said: {
                "error": {
                    "message": said,
                    "type": "server_error" if status >= 500 else "invalid_request",  # noqa: PLR2004
                    "code": status if status >= 500 else None,  # noqa: PLR2004
                }
            },
            said_error=lambda status, said: event(
                {"type": "error", "code": "server_error", "message": said}, "error"
            ),
            unknown=_numbered([("response.something.new", {"extra": 1})])[0],
        )
    )
    yield from _calls()
    yield from _oddities()
    yield from _ends()


# What is said, as kinds and facts; numbers are put in at the end.


def _message_item(text: str = TEXT, **facts: object) -> Item:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {
        "type": "message",
        "id": "msg_0",
        "role": "assistant",
        "status": "completed",
        "content": [part],
        **facts,
    }


def _message(index: int, *pieces: str) -> list[Said]:
    pieces = pieces or ("Hel", "lo.")
    begun = {"type": "message", "id": "msg_0", "role": "assistant", "content": []}
    place = {"item_id": "msg_0", "output_index": index, "content_index": 0}
    empty = {"type": "output_text", "text": "", "annotations": []}
    text = "".join(pieces)
    return [
        ("output_item.added", {"output_index": index, "item": begun}),
        ("content_part.added", {**place, "part": empty}),
        *(
            ("output_text.delta", {**place, "delta": piece, "logprobs": []})
            for piece in pieces
        ),
        ("output_text.done", {**place, "text": text}),
        ("output_item.done", {"output_index": index, "item": _message_item(text)}),
    ]


def _call_item(index: int, call: tuple[str, Any], *, done: bool = True) -> Item:
    name, arguments = call
    return {
        "type": "function_call",
        "id": f"fc_{index}",
        "call_id": f"call_{index}",
        "name": name,
        "arguments": json.dumps(arguments) if done else "",
        "status": "completed" if done else "in_progress",
    }


def _call(index: int, call: tuple[str, Any]) -> list[Said]:
    text = json.dumps(call[1])
    place = {"item_id": f"fc_{index}", "output_index": index}
    begun = _call_item(index, call, done=False)
    return [
        ("output_item.added", {"output_index": index, "item": begun}),
        ("function_call_arguments.delta", {**place, "delta": text[:5]}),
        ("function_call_arguments.delta", {**place, "delta": text[5:]}),
        ("function_call_arguments.done", {**place, "arguments": text}),
        (
            "output_item.done",
            {"output_index": index, "item": _call_item(index, call)},
        ),
    ]


def _thought_item() -> Item:
    return {
        "type": "reasoning",
        "id": "rs_0",
        "summary": [{"type": "summary_text", "text": "hm"}],
        "encrypted_content": "ENC",
    }


def _thought() -> list[Said]:
    place = {"item_id": "rs_0", "output_index": 0, "summary_index": 0}
    begun = {"type": "reasoning", "id": "rs_0", "summary": []}
    return [
        ("output_item.added", {"output_index": 0, "item": begun}),
        ("reasoning_summary_part.added", place),
        ("reasoning_summary_text.delta", {**place, "delta": "hm"}),
        ("reasoning_summary_text.done", {**place, "text": "hm"}),
        ("output_item.done", {"output_index": 0, "item": _thought_item()}),
    ]


def _response(status: str, output: Sequence[Item], **facts: object) -> Item:
    return {
        "id": "resp_1",
        "object": "response",
        "status": status,
        "output": list(output),
        "usage": USAGE,
        **facts,
    }


def _events(
    said: Iterable[Said],
    output: Sequence[Item],
    status: str = "completed",
    **facts: object,
) -> list[bytes]:
    begun = {"id": "resp_1", "status": "in_progress", "output": []}
    last = {"response": _response(status, output, **facts)}
    return _numbered(
        [
            ("response.created", {"response": begun}),
            ("response.in_progress", {"response": begun}),
            *((f"response.{kind}", facts) for kind, facts in said),
            (f"response.{status}", last),
        ]
    )


def _numbered(said: Iterable[Said]) -> list[bytes]:
    return [
        event({"type": kind, "sequence_number": number, **facts}, kind)
        for number, (kind, facts) in enumerate(said)
    ]


def _stream(
    name: str,
    about: str,
    said: Iterable[Said],
    output: Sequence[Item],
    *,
    status: str = "completed",
    facts: dict[str, Any] | None = None,
    **means: Any,
) -> Scenario:
    reply = streamed(*_events(said, output, status, **(facts or {})))
    return Scenario(name=f"responses/{name}", about=about, reply=reply, **means)


def _calls() -> Iterator[Scenario]:
    yield _stream(
        "tool_call", "A call.", _call(0, ADD), [_call_item(0, ADD)], calls=(ADD,)
    )
    yield _stream(
        "parallel_calls",
        "Two calls at once.",
        [*_call(0, ADD), *_call(1, MUL)],
        [_call_item(0, ADD), _call_item(1, MUL)],
        calls=(ADD, MUL),
    )
    yield _stream(
        "thinking_tool",
        "A sealed thought before a call, which has to go back with it.",
        [*_thought(), *_call(1, ADD)],
        [_thought_item(), _call_item(1, ADD)],
        calls=(ADD,),
    )
    woven = itertools.chain(*zip(_call(0, ADD), _call(1, MUL), strict=True))
    yield _stream(
        "interleaved_items",
        "Two calls whose events alternate (DeepSeek).",
        woven,
        [_call_item(0, ADD), _call_item(1, MUL)],
        calls=(ADD, MUL),
    )
    now: tuple[str, dict[str, int]] = ("now", {})
    yield _stream(
        "no_arguments",
        "A tool that takes nothing.",
        _call(0, now),
        [_call_item(0, now)],
        calls=(now,),
    )


def _oddities() -> Iterator[Scenario]:
    yield _stream(
        "thinking",
        "A thought before the answer.",
        [*_thought(), *_message(1)],
        [_thought_item(), _message_item()],
        text=TEXT,
    )
    yield _stream(
        "no_deltas",
        "Items that come as a whole only.",
        [("output_item.done", {"output_index": 0, "item": _message_item()})],
        [_message_item()],
        text=TEXT,
    )
    yield Scenario(
        name="responses/keepalive",
        about="Events that keep the line open.",
        reply=streamed(
            event({"type": "keepalive", "sequence_number": 0}, "keepalive"),
            *_events(_message(0), [_message_item()]),
        ),
        text=TEXT,
    )
    said = "I cannot do that."
    place = {"item_id": "msg_0", "output_index": 0, "content_index": 0}
    refused = _message_item(content=[{"type": "refusal", "refusal": said}])
    yield _stream(
        "refusal",
        "The model refuses, in words.",
        [
            _message(0)[0],
            ("refusal.delta", {**place, "delta": said}),
            ("refusal.done", {**place, "refusal": said}),
            ("output_item.done", {"output_index": 0, "item": refused}),
        ],
        [refused],
        text=said,
    )


def _ends() -> Iterator[Scenario]:
    yield _stream(
        "incomplete",
        "The limit of tokens cuts the text.",
        _message(0),
        [_message_item(status="incomplete")],
        status="incomplete",
        facts={"incomplete_details": {"reason": "max_output_tokens"}},
        text=TEXT,
    )
    yield _stream(
        "content_filter",
        "The service blocks all of it.",
        [],
        [],
        status="incomplete",
        facts={"incomplete_details": {"reason": "content_filter"}},
        error=ContentFilteredError,
    )
    cut = {**_call_item(0, ADD, done=False), "arguments": '{"a": 1, "b":'}
    place = {"item_id": "fc_0", "output_index": 0}
    yield _stream(
        "cut_arguments",
        "The limit of tokens cuts the arguments; the call must not run.",
        [
            _call(0, ADD)[0],
            ("function_call_arguments.delta", {**place, "delta": cut["arguments"]}),
        ],
        [cut],
        status="incomplete",
        facts={"incomplete_details": {"reason": "max_output_tokens"}},
    )
    yield _stream(
        "failed",
        "The service fails in the middle.",
        _message(0)[:3],
        [],
        status="failed",
        facts={"error": {"code": "server_error", "message": "It broke."}},
        error=AgentProviderError,
    )
