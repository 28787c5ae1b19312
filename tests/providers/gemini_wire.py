"""What Gemini's generateContent says, as events and as whole replies."""

from __future__ import annotations

from typing import Any

from tests.providers.wire import Reply, Step, event, streamed, whole

COUNTS = {"promptTokenCount": 5, "candidatesTokenCount": 3, "totalTokenCount": 8}


def said(text: str, **facts: Any) -> dict[str, Any]:
    return {"text": text, **facts}


def thought(text: str, **facts: Any) -> dict[str, Any]:
    return {"text": text, "thought": True, **facts}


def call(
    name: str,
    args: Any = None,
    *,
    call_id: str | None = None,
    signature: str | None = None,
) -> dict[str, Any]:
    function = {"name": name} | ({} if args is None else {"args": args})
    if call_id is not None:
        function["id"] = call_id
    part = {"functionCall": function}
    return {**part, "thoughtSignature": signature} if signature else part


def chunk(
    *parts: dict[str, Any], finish: str | None = None, **facts: Any
) -> dict[str, Any]:
    """Give one object of a stream."""
    candidate: dict[str, Any] = {"index": 0}
    if parts:
        candidate["content"] = {"role": "model", "parts": list(parts)}
    if finish:
        candidate["finishReason"] = finish
    counts = facts.pop("usage", COUNTS)
    return {
        "candidates": [{**candidate, **facts}],
        "usageMetadata": counts,
        "modelVersion": "gemini-3.8-flash",
        "responseId": "r1",
    }


def events(*chunks: dict[str, Any]) -> list[bytes]:
    return [event(each) for each in chunks]


def stream(
    *parts: dict[str, Any] | bytes | Step, finish: str = "STOP", **facts: Any
) -> Reply:
    """Give a complete streamed reply, one part an event."""
    pieces = [event(chunk(each)) if isinstance(each, dict) else each for each in parts]
    return streamed(*pieces, event(chunk(finish=finish, **facts)))


def answer(text: str) -> Reply:
    return streamed(event(chunk(said(text), finish="STOP")))


def at_once(*parts: dict[str, Any], finish: str | None = "STOP", **facts: Any) -> Reply:
    return whole(200, chunk(*parts, finish=finish, **facts))


def error(
    code: int, status: str, message: str = "no", *details: dict[str, Any]
) -> dict[str, Any]:
    inner: dict[str, Any] = {"code": code, "message": message, "status": status}
    if details:
        inner["details"] = list(details)
    return {"error": inner}


def failed(
    code: int, status: str, message: str = "no", *details: dict[str, Any]
) -> Reply:
    return whole(code, error(code, status, message, *details))


def quota(*names: str, delay: str | None = None) -> list[dict[str, Any]]:
    """Give the details of a quota that is used up."""
    google = "type.googleapis.com/google.rpc."
    violations = [{"quotaMetric": "m", "quotaId": name} for name in names]
    details = [{"@type": f"{google}QuotaFailure", "violations": violations}]
    if delay:
        details.append({"@type": f"{google}RetryInfo", "retryDelay": delay})
    return details
