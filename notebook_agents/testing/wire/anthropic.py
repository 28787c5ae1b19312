"""Messages, as Anthropic and everybody who speaks like it sends them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from notebook_agents.errors import AgentProviderError, ContentFilteredError
from notebook_agents.testing.wire.replies import event, streamed
from notebook_agents.testing.wire.scenarios import TEXT, Scenario, Talk, common

__all__ = ["scenarios"]

ADD, MUL = ("add", {"a": 1, "b": 2}), ("mul", {"a": 3, "b": 4})
KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    503: "overloaded_error",
    529: "overloaded_error",
}


def scenarios() -> Iterator[Scenario]:
    """Give all of them."""
    usage = {"input_tokens": 10, "output_tokens": 20}
    yield from common(
        Talk(
            wire="anthropic",
            answer=[*_started(), *_text(0), *_ended("end_turn")],
            whole={
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "content": [{"type": "text", "text": TEXT}],
                "stop_reason": "end_turn",
                "usage": usage,
            },
            error=_error,
            said_error=lambda status, said: event(_error(status, said), "error"),
            unknown=_say("something_new", extra=1),
        )
    )
    yield from _calls()
    yield from _thoughts()
    yield from _oddities()
    yield from _ends()


def _say(kind: str, **facts: object) -> bytes:
    return event({"type": kind, **facts}, kind)


def _started() -> list[bytes]:
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": [],
        "stop_reason": None,
        "usage": {
            "input_tokens": 10,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 4,
            "output_tokens": 1,
        },
    }
    return [_say("message_start", message=message)]


def _block(index: int, begun: dict[str, Any], *deltas: dict[str, Any]) -> list[bytes]:
    """Give all events of one block."""
    return [
        _say("content_block_start", index=index, content_block=begun),
        *(_say("content_block_delta", index=index, delta=each) for each in deltas),
        _say("content_block_stop", index=index),
    ]


def _text(index: int, *pieces: str) -> list[bytes]:
    deltas = [
        {"type": "text_delta", "text": piece} for piece in pieces or ("Hel", "lo.")
    ]
    return _block(index, {"type": "text", "text": ""}, *deltas)


def _thought(index: int) -> list[bytes]:
    return _block(
        index,
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": "hm"},
        {"type": "signature_delta", "signature": "SIG123"},
    )


def _use(index: int, call: tuple[str, dict[str, int]], *pieces: str) -> list[bytes]:
    name, arguments = call
    begun = {"type": "tool_use", "id": f"toolu_{index}", "name": name, "input": {}}
    deltas = [
        {"type": "input_json_delta", "partial_json": piece}
        for piece in pieces or ("", json.dumps(arguments))
    ]
    return _block(index, begun, *deltas)


def _ended(reason: str) -> list[bytes]:
    delta = {"stop_reason": reason, "stop_sequence": None}
    return [
        _say("message_delta", delta=delta, usage={"output_tokens": 20}),
        _say("message_stop"),
    ]


def _error(status: int, said: str) -> dict[str, Any]:
    said = f"model: {said}" if status == 404 else said  # noqa: PLR2004
    error = {"type": KINDS.get(status, "api_error"), "message": said}
    return {"type": "error", "error": error, "request_id": "req_1"}


def _stream(
    name: str, about: str, *blocks: list[bytes], stop: str = "end_turn", **means: Any
) -> Scenario:
    events = [*_started(), *(each for block in blocks for each in block)]
    reply = streamed(*events, *_ended(stop))
    return Scenario(name=f"anthropic/{name}", about=about, reply=reply, **means)


def _called(name: str, about: str, *blocks: list[bytes], **means: Any) -> Scenario:
    means.setdefault("calls", (ADD,))
    return _stream(name, about, *blocks, stop="tool_use", **means)


def _calls() -> Iterator[Scenario]:
    yield _called(
        "tool_call",
        "A call, its input in pieces.",
        _use(0, ADD, "", '{"a": 1', ', "b": 2}'),
    )
    yield _called(
        "parallel_calls",
        "Two calls at once, after a text.",
        _text(0),
        _use(1, ADD),
        _use(2, MUL),
        text=TEXT,
        calls=(ADD, MUL),
    )
    begun = {"type": "tool_use", "id": "toolu_0", "name": "add", "input": dict(ADD[1])}
    yield _called(
        "input_at_once",
        "The whole input with the beginning of the block (proxies).",
        _block(0, begun),
    )
    yield _called(
        "no_input",
        "A tool that takes nothing: no deltas, or empty ones.",
        _use(0, ("now", {}), ""),
        calls=(("now", {}),),
    )
    yield _stream(
        "cut_input",
        "The limit of tokens cuts the input; the call must not run.",
        _use(0, ADD, '{"a": 1, "b":'),
        stop="max_tokens",
    )


def _thoughts() -> Iterator[Scenario]:
    yield _stream(
        "thinking", "A thought before the answer.", _thought(0), _text(1), text=TEXT
    )
    yield _called(
        "thinking_tool",
        "A signed thought before a call, which has to go back with it.",
        _thought(0),
        _use(1, ADD),
    )
    yield _called(
        "redacted_thinking",
        "A thought that only the service can read, which has to go back as well.",
        _block(0, {"type": "redacted_thinking", "data": "RED"}),
        _use(1, ADD),
    )


def _oddities() -> Iterator[Scenario]:
    yield _stream(
        "ping", "Pings between the events.", [_say("ping")], _text(0), text=TEXT
    )
    yield _stream(
        "unknown_delta",
        "A kind of delta that is newer than the client.",
        _block(
            0,
            {"type": "text", "text": ""},
            {"type": "something_delta", "something": 1},
            {"type": "text_delta", "text": TEXT},
        ),
        text=TEXT,
    )
    yield _stream(
        "unknown_block",
        "A kind of block that is newer than the client.",
        _block(0, {"type": "something", "data": {}}),
        _text(1),
        text=TEXT,
    )
    yield _stream(
        "citations",
        "Where a text is from comes beside it.",
        _block(
            0,
            {"type": "text", "text": ""},
            {"type": "citations_delta", "citation": {"type": "char_location"}},
            {"type": "text_delta", "text": TEXT},
        ),
        text=TEXT,
    )


def _ends() -> Iterator[Scenario]:
    yield _stream(
        "pause_turn",
        "The service pauses a long turn, and goes on with it when asked again.",
        _text(0, "One moment. "),
        stop="pause_turn",
        text="One moment. ",
    )
    yield _stream(
        "refusal", "The model refuses, in words.", _text(0), stop="refusal", text=TEXT
    )
    yield _stream(
        "silent_refusal",
        "The model refuses without a word.",
        stop="refusal",
        error=ContentFilteredError,
    )
    yield _stream(
        "max_tokens",
        "The limit of tokens cuts the text.",
        _text(0),
        stop="max_tokens",
        text=TEXT,
    )
    yield _stream(
        "context_window_exceeded",
        "The context is full before the answer is.",
        _text(0),
        stop="model_context_window_exceeded",
        text=TEXT,
    )
    yield Scenario(
        name="anthropic/overloaded",
        about="Overloaded in the middle of an answer.",
        reply=streamed(
            *_started(),
            *_text(0)[:2],
            event(_error(529, "Overloaded"), "error"),
        ),
        error=AgentProviderError,
    )
