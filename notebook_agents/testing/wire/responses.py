"""Responses, as OpenAI sends them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from notebook_agents.errors import AgentProviderError, ContentFilteredError
from notebook_agents.testing.wire.replies import event, streamed
from notebook_agents.testing.wire.responses_items import (
    Item,
    call_item,
    message_item,
    response,
    thought_item,
)
from notebook_agents.testing.wire.scenarios import TEXT, Scenario, Talk
from notebook_agents.testing.wire.transfers import common

__all__ = ["scenarios"]

ADD, MUL = ("add", {"a": 1, "b": 2}), ("mul", {"a": 3, "b": 4})
Said = tuple[str, dict[str, Any]]
"""The kind of an event, and what else it says."""


def scenarios() -> Iterator[Scenario]:
    """Give all of them."""
    yield from common(
        Talk(
            wire="responses",
            says=lambda *pieces: _events(
                _message(0, *pieces), [message_item("".join(pieces))]
            ),
            whole=response("completed", [message_item()]),
            call=_events(_call(0, ADD), [])[:-1],
            half_a_call=_events(_call(0, ADD)[:2], [])[:-1],
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


def _message(index: int, *pieces: str) -> list[Said]:
    pieces = pieces or ("Hel", "lo.")
    begun = message_item(status="in_progress", content=[])
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
        ("output_text.done", {**place, "text": text, "logprobs": []}),
        ("content_part.done", {**place, "part": {**empty, "text": text}}),
        ("output_item.done", {"output_index": index, "item": message_item(text)}),
    ]


def _call(index: int, call: tuple[str, Any]) -> list[Said]:
    text = json.dumps(call[1])
    place = {"item_id": f"fc_{index}", "output_index": index}
    begun = call_item(index, call, done=False)
    return [
        ("output_item.added", {"output_index": index, "item": begun}),
        ("function_call_arguments.delta", {**place, "delta": text[:5]}),
        ("function_call_arguments.delta", {**place, "delta": text[5:]}),
        (
            "function_call_arguments.done",
            {**place, "name": call[0], "arguments": text},
        ),
        (
            "output_item.done",
            {"output_index": index, "item": call_item(index, call)},
        ),
    ]


def _thought() -> list[Said]:
    place = {"item_id": "rs_0", "output_index": 0, "summary_index": 0}
    begun = {"type": "reasoning", "id": "rs_0", "summary": []}
    part = {"type": "summary_text", "text": "hm"}
    return [
        ("output_item.added", {"output_index": 0, "item": begun}),
        ("reasoning_summary_part.added", {**place, "part": {**part, "text": ""}}),
        ("reasoning_summary_text.delta", {**place, "delta": "hm"}),
        ("reasoning_summary_text.done", {**place, "text": "hm"}),
        ("reasoning_summary_part.done", {**place, "part": part}),
        ("output_item.done", {"output_index": 0, "item": thought_item()}),
    ]


def _events(
    said: Iterable[Said],
    output: Sequence[Item],
    status: str = "completed",
    **facts: object,
) -> list[bytes]:
    begun = response("in_progress", [], usage=None)
    last = {"response": response(status, output, **facts)}
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
        "tool_call",
        "A call.",
        _call(0, ADD),
        [call_item(0, ADD)],
        calls=(ADD,),
        is_well_formed=True,
    )
    yield _stream(
        "parallel_calls",
        "Two calls at once.",
        [*_call(0, ADD), *_call(1, MUL)],
        [call_item(0, ADD), call_item(1, MUL)],
        calls=(ADD, MUL),
        is_well_formed=True,
    )
    yield _stream(
        "thinking_tool",
        "A sealed thought before a call, which has to go back with it.",
        [*_thought(), *_call(1, ADD)],
        [thought_item(), call_item(1, ADD)],
        calls=(ADD,),
        is_well_formed=True,
    )
    woven = itertools.chain(*zip(_call(0, ADD), _call(1, MUL), strict=True))
    yield _stream(
        "interleaved_items",
        "Two calls whose events alternate (DeepSeek).",
        woven,
        [call_item(0, ADD), call_item(1, MUL)],
        calls=(ADD, MUL),
    )
    yield _stream(
        "text_and_call",
        "A text before the call.",
        [*_message(0), *_call(1, ADD)],
        [message_item(), call_item(1, ADD)],
        text=TEXT,
        calls=(ADD,),
        is_well_formed=True,
    )
    nameless = [
        (kind, {name: fact for name, fact in facts.items() if name != "item_id"})
        for kind, facts in [*_call(0, ADD), *_call(1, MUL)]
    ]
    yield _stream(
        "no_item_ids",
        "Events that name no item but its place (clones).",
        nameless,
        [call_item(0, ADD), call_item(1, MUL)],
        calls=(ADD, MUL),
    )
    broken = {**call_item(0, ADD), "arguments": '{"a": 1, b: 2'}
    yield _stream(
        "broken_arguments",
        "Arguments that are no JSON; the call must not run.",
        [("output_item.done", {"output_index": 0, "item": broken})],
        [broken],
    )
    now: tuple[str, dict[str, int]] = ("now", {})
    yield _stream(
        "no_arguments",
        "A tool that takes nothing.",
        _call(0, now),
        [call_item(0, now)],
        calls=(now,),
        is_well_formed=True,
    )


def _oddities() -> Iterator[Scenario]:
    yield _stream(
        "thinking",
        "A thought before the answer.",
        [*_thought(), *_message(1)],
        [thought_item(), message_item()],
        text=TEXT,
        is_well_formed=True,
    )
    yield _stream(
        "no_deltas",
        "Items that come as a whole only.",
        [("output_item.done", {"output_index": 0, "item": message_item()})],
        [message_item()],
        text=TEXT,
    )
    yield Scenario(
        name="responses/keepalive",
        about="Events that keep the line open.",
        reply=streamed(
            event({"type": "keepalive", "sequence_number": 0}, "keepalive"),
            *_events(_message(0), [message_item()]),
        ),
        text=TEXT,
    )
    place = {"item_id": "rs_0", "output_index": 0, "content_index": 0}
    begun = {"type": "reasoning", "id": "rs_0", "summary": []}
    thought = {**begun, "content": [{"type": "reasoning_text", "text": "hm"}]}
    yield _stream(
        "thinking_aloud",
        "A thought in the open (models whose weights are).",
        [
            ("output_item.added", {"output_index": 0, "item": begun}),
            ("reasoning_text.delta", {**place, "delta": "hm"}),
            ("reasoning_text.done", {**place, "text": "hm"}),
            ("output_item.done", {"output_index": 0, "item": thought}),
            *_message(1),
        ],
        [thought, message_item()],
        text=TEXT,
        is_well_formed=True,
    )
    queued = {"response": response("queued", [], usage=None)}
    yield _stream(
        "queued",
        "The service is busy, and says so first.",
        [("queued", queued), *_message(0)],
        [message_item()],
        text=TEXT,
        is_well_formed=True,
    )
    found = {
        "type": "web_search_call",
        "id": "ws_0",
        "status": "completed",
        "action": {"type": "search", "query": "Hi"},
    }
    yield _stream(
        "server_tool",
        "A tool that the service runs itself.",
        [
            ("output_item.added", {"output_index": 0, "item": found}),
            ("web_search_call.searching", {"item_id": "ws_0", "output_index": 0}),
            ("output_item.done", {"output_index": 0, "item": found}),
            *_message(1),
        ],
        [found, message_item()],
        text=TEXT,
        is_well_formed=True,
    )
    said = "I cannot do that."
    place = {"item_id": "msg_0", "output_index": 0, "content_index": 0}
    refused = message_item(content=[{"type": "refusal", "refusal": said}])
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
        is_well_formed=True,
    )


def _ends() -> Iterator[Scenario]:
    yield _stream(
        "incomplete",
        "The limit of tokens cuts the text.",
        _message(0),
        [message_item(status="incomplete")],
        status="incomplete",
        facts={"incomplete_details": {"reason": "max_output_tokens"}},
        text=TEXT,
        is_well_formed=True,
    )
    yield _stream(
        "content_filter",
        "The service blocks all of it.",
        [],
        [],
        status="incomplete",
        facts={"incomplete_details": {"reason": "content_filter"}},
        error=ContentFilteredError,
        is_well_formed=True,
    )
    cut = {**call_item(0, ADD, done=False), "arguments": '{"a": 1, "b":'}
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
        is_well_formed=True,
    )
    yield _stream(
        "failed",
        "The service fails in the middle.",
        _message(0)[:3],
        [],
        status="failed",
        facts={"error": {"code": "server_error", "message": "It broke."}},
        error=AgentProviderError,
        is_well_formed=True,
    )
