"""Messages, as Anthropic and everybody who speaks like it sends them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from notebook_agents.errors import AgentProviderError, ContentFilteredError
from notebook_agents.testing.wire.replies import event, streamed
from notebook_agents.testing.wire.scenarios import TEXT, Scenario, Talk
from notebook_agents.testing.wire.transfers import common

__all__ = ["ADD", "MUL", "message", "scenarios"]

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
    yield from common(
        Talk(
            wire="anthropic",
            says=lambda *pieces: [*_started(), *_text(0, *pieces), *_ended("end_turn")],
            whole=message({"type": "text", "text": TEXT}),
            call=[*_started(), *_use(0, ADD), _ended("tool_use")[0]],
            half_a_call=[*_started(), *_use(0, ADD, '{"a": 1,')[:2]],
            error=_error,
            said_error=lambda status, said: event(_error(status, said), "error"),
            unknown=_say("something_new", extra=1),
        )
    )
    yield from _calls()
    yield from _thoughts()
    yield from _oddities()
    yield from _ends()


def message(
    *content: dict[str, Any], stop: str = "end_turn", **facts: object
) -> dict[str, Any]:
    """Give a whole reply.

    Parameters
    ----------
    *content : dict
        Its blocks.
    stop : str, default "end_turn"
        Why the model ended.
    **facts : object
        More keys.

    Returns
    -------
    dict
        The object.
    """
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": list(content),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 20},
        **facts,
    }


def _say(kind: str, **facts: object) -> bytes:
    return event({"type": kind, **facts}, kind)


def _started() -> list[bytes]:
    counts = {
        "input_tokens": 10,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 4,
        "output_tokens": 1,
    }
    begun = message(stop_reason=None, usage=counts)
    return [_say("message_start", message=begun)]


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
        is_well_formed=True,
    )
    yield _called(
        "parallel_calls",
        "Two calls at once, after a text.",
        _text(0),
        _use(1, ADD),
        _use(2, MUL),
        text=TEXT,
        calls=(ADD, MUL),
        is_well_formed=True,
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
        is_well_formed=True,
    )
    yield _called(
        "broken_input",
        "Input that is no JSON; the call must not run.",
        _use(0, ADD, '{"a": 1, b: 2'),
        calls=(),
    )
    uses = [_use(0, ADD), _use(1, MUL)]
    yield _called(
        "woven_blocks",
        "The events of two blocks alternate (proxies).",
        [each for pair in zip(*uses, strict=True) for each in pair],
        calls=(ADD, MUL),
    )
    yield _called(
        "same_id",
        "The same id for two calls (proxies).",
        *([e.replace(b"toolu_1", b"toolu_0") for e in use] for use in uses),
        calls=(ADD, MUL),
    )
    yield _stream(
        "stop_with_call",
        "A call, though the turn is said to have ended (proxies).",
        _use(0, ADD),
        calls=(ADD,),
    )
    yield _stream(
        "cut_input",
        "The limit of tokens cuts the input; the call must not run.",
        _use(0, ADD, '{"a": 1, "b":'),
        stop="max_tokens",
        is_well_formed=True,
    )


def _thoughts() -> Iterator[Scenario]:
    yield _stream(
        "thinking",
        "A thought before the answer.",
        _thought(0),
        _text(1),
        text=TEXT,
        is_well_formed=True,
    )
    yield _called(
        "thinking_tool",
        "A signed thought before a call, which has to go back with it.",
        _thought(0),
        _use(1, ADD),
        is_well_formed=True,
    )
    yield _called(
        "redacted_thinking",
        "A thought that only the service can read, which has to go back as well.",
        _block(0, {"type": "redacted_thinking", "data": "RED"}),
        _use(1, ADD),
        is_well_formed=True,
    )


def _oddities() -> Iterator[Scenario]:
    yield _stream(
        "ping",
        "Pings between the events.",
        [_say("ping")],
        _text(0),
        text=TEXT,
        is_well_formed=True,
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
        is_well_formed=True,
    )
    yield _stream(
        "unknown_block",
        "A kind of block that is newer than the client.",
        _block(0, {"type": "something", "data": {}}),
        _text(1),
        text=TEXT,
        is_well_formed=True,
    )
    search = {"id": "srvtoolu_1", "name": "web_search", "input": {}}
    found = {"tool_use_id": "srvtoolu_1", "content": []}
    yield _stream(
        "server_tool",
        "A tool that the service runs itself, and what it found.",
        _block(0, {"type": "server_tool_use", **search}),
        _block(1, {"type": "web_search_tool_result", **found}),
        _text(2),
        text=TEXT,
        is_well_formed=True,
    )
    yield _stream(
        "text_at_once",
        "The text comes with the beginning of its block (proxies).",
        _block(0, {"type": "text", "text": TEXT}),
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
        is_well_formed=True,
    )
    yield _stream(
        "refusal",
        "The model refuses, in words.",
        _text(0),
        stop="refusal",
        text=TEXT,
        is_well_formed=True,
    )
    yield _stream(
        "silent_refusal",
        "The model refuses without a word.",
        stop="refusal",
        error=ContentFilteredError,
        is_well_formed=True,
    )
    yield _stream(
        "max_tokens",
        "The limit of tokens cuts the text.",
        _text(0),
        stop="max_tokens",
        text=TEXT,
        is_well_formed=True,
    )
    yield _stream(
        "context_window_exceeded",
        "The context is full before the answer is.",
        _text(0),
        stop="model_context_window_exceeded",
        text=TEXT,
        is_well_formed=True,
    )
    yield _stream(
        "stop_sequence",
        "A text at which the model was told to stop.",
        _text(0),
        stop="stop_sequence",
        text=TEXT,
        is_well_formed=True,
    )
    yield _stream(
        "refused_call",
        "The model refuses after a call, which must not run.",
        _text(0),
        _use(1, ADD),
        stop="refusal",
        text=TEXT,
        is_well_formed=True,
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
