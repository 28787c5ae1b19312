"""generateContent, as Gemini sends it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from notebook_agents.errors import AgentProviderError, ContentFilteredError
from notebook_agents.testing.wire.replies import event, streamed, whole
from notebook_agents.testing.wire.scenarios import TEXT, Scenario, Talk, common

__all__ = ["scenarios"]

ADD, MUL = ("add", {"a": 1, "b": 2}), ("mul", {"a": 3, "b": 4})
COUNTS = {
    "promptTokenCount": 5,
    "candidatesTokenCount": 3,
    "thoughtsTokenCount": 2,
    "totalTokenCount": 10,
}
STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}

Part = Mapping[str, Any]


def scenarios() -> Iterator[Scenario]:
    """Give all of them."""
    answer = [_said({"text": "Hel"}), _said({"text": "lo."}), _said(finish="STOP")]
    yield from common(
        Talk(
            wire="gemini",
            answer=[event(each) for each in answer],
            whole=_said({"text": TEXT}, finish="STOP"),
            error=_error,
            said_error=lambda status, said: event(_error(status, said)),
            unknown=event({"somethingNew": {}, "usageMetadata": COUNTS}),
        )
    )
    yield from _calls()
    yield from _texts()
    yield from _ends()


def _said(*parts: Part, finish: str = "", **facts: object) -> dict[str, Any]:
    candidate: dict[str, Any] = {"index": 0}
    if parts:
        candidate["content"] = {"role": "model", "parts": list(parts)}
    if finish:
        candidate["finishReason"] = finish
    return {
        "candidates": [candidate],
        "usageMetadata": COUNTS,
        "modelVersion": "m",
        "responseId": "r",
        **facts,
    }


def _call(call: tuple[str, Mapping[str, Any]], **facts: object) -> Part:
    return {"functionCall": {"name": call[0], "args": dict(call[1])}, **facts}


def _error(status: int, said: str) -> dict[str, Any]:
    word = STATUSES.get(status, "UNKNOWN")
    return {"error": {"code": status, "message": said, "status": word}}


def _stream(name: str, about: str, *said: Mapping[str, Any], **means: Any) -> Scenario:
    reply = streamed(*(event(each) for each in said))
    return Scenario(name=f"gemini/{name}", about=about, reply=reply, **means)


def _calls() -> Iterator[Scenario]:
    yield _stream(
        "tool_call",
        "A signed call; the signature has to go back on its own part.",
        _said(_call(ADD, thoughtSignature="U0lHMQ=="), finish="STOP"),
        calls=(ADD,),
    )
    yield _stream(
        "parallel_calls",
        "Two calls at once, of which the first is signed.",
        _said(_call(ADD, thoughtSignature="U0lHMQ=="), _call(MUL), finish="STOP"),
        calls=(ADD, MUL),
    )
    yield _stream(
        "same_function_twice",
        "Two calls of one function, without ids: only their order tells them apart.",
        _said(_call(ADD), _call(("add", {"a": 3, "b": 4})), finish="STOP"),
        calls=(ADD, ("add", {"a": 3, "b": 4})),
    )
    yield _stream(
        "thinking_tool",
        "A thought, then a signed call.",
        _said({"text": "hm", "thought": True}),
        _said(_call(ADD, thoughtSignature="U0lHMQ=="), finish="STOP"),
        calls=(ADD,),
    )
    yield _stream(
        "no_arguments",
        "The arguments of a tool that takes none are missing.",
        _said({"functionCall": {"name": "now"}}, finish="STOP"),
        calls=(("now", {}),),
    )
    yield _stream(
        "call_id",
        "A call with an id, which has to be sent back.",
        _said({"functionCall": {"id": "x1", "name": "add", "args": ADD[1]}}),
        _said(finish="STOP"),
        calls=(ADD,),
    )


def _texts() -> Iterator[Scenario]:
    yield _stream(
        "thinking",
        "A thought before the answer, and a signature on an empty text behind it.",
        _said({"text": "hm", "thought": True}),
        _said({"text": TEXT}),
        _said({"text": "", "thoughtSignature": "U0lHMQ=="}, finish="STOP"),
        text=TEXT,
    )
    yield _stream(
        "repeated_text",
        "Pieces that begin alike: they add up, they do not replace each other.",
        _said({"text": "ha"}),
        _said({"text": "haha"}),
        _said(finish="STOP"),
        text="hahaha",
    )
    yield _stream(
        "no_parts",
        "The last piece has a content without parts.",
        _said({"text": TEXT}),
        {"candidates": [{"content": {"role": "model"}, "finishReason": "STOP"}]},
        text=TEXT,
    )
    yield _stream(
        "usage_alone",
        "The last piece has token counts only.",
        _said({"text": TEXT}, finish="STOP"),
        {"usageMetadata": COUNTS},
        text=TEXT,
    )
    yield _stream(
        "max_tokens",
        "The limit of tokens cuts the text.",
        _said({"text": TEXT}, finish="MAX_TOKENS"),
        text=TEXT,
    )


def _ends() -> Iterator[Scenario]:
    yield _stream(
        "blocked_prompt",
        "The service blocks the question.",
        {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": COUNTS},
        error=ContentFilteredError,
    )
    yield _stream(
        "blocked_answer",
        "The service blocks the answer.",
        _said(finish="SAFETY"),
        error=ContentFilteredError,
    )
    yield _stream(
        "malformed_call",
        "A call that the service could not read; worth one more try.",
        _said(finish="MALFORMED_FUNCTION_CALL"),
        error=AgentProviderError,
    )
    yield Scenario(
        name="gemini/error_list",
        about="A refusal in a list, and laid out over several lines.",
        reply=whole(503, [_error(503, "Come back later.")]),
        error=AgentProviderError,
    )
