"""generateContent, as Gemini sends it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from notebook_agents.errors import AgentProviderError, ContentFilteredError
from notebook_agents.testing.wire.replies import event, streamed, whole
from notebook_agents.testing.wire.scenarios import TEXT, Scenario, Talk
from notebook_agents.testing.wire.transfers import common

__all__ = ["ADD", "MUL", "said", "scenarios"]

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
    yield from common(
        Talk(
            wire="gemini",
            says=_says,
            whole=said({"text": TEXT}, finish="STOP"),
            call=[event(said(_call(ADD)))],
            half_a_call=[event(said(_call(ADD)))[:-20]],
            error=_error,
            said_error=lambda status, words: event(_error(status, words)),
            unknown=event({"somethingNew": {}, "usageMetadata": COUNTS}),
        )
    )
    yield from _calls()
    yield from _texts()
    yield from _ends()


def said(*parts: Part, finish: str = "", **facts: object) -> dict[str, Any]:
    """Give a piece of a reply, or a whole one.

    Parameters
    ----------
    *parts : mapping
        Texts, thoughts and calls.
    finish : str, optional
        Why the model ended.
    **facts : object
        More keys.

    Returns
    -------
    dict
        The object of one event.
    """
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


def _says(*pieces: str) -> list[bytes]:
    return [event(said({"text": piece})) for piece in pieces] + [
        event(said(finish="STOP"))
    ]


def _call(call: tuple[str, Mapping[str, Any]], **facts: object) -> Part:
    return {"functionCall": {"name": call[0], "args": dict(call[1])}, **facts}


def _error(status: int, words: str) -> dict[str, Any]:
    word = STATUSES.get(status, "UNKNOWN")
    return {"error": {"code": status, "message": words, "status": word}}


def _stream(
    name: str, about: str, *chunks: Mapping[str, Any], **means: Any
) -> Scenario:
    reply = streamed(*(event(each) for each in chunks))
    return Scenario(name=f"gemini/{name}", about=about, reply=reply, **means)


def _calls() -> Iterator[Scenario]:
    yield _stream(
        "tool_call",
        "A signed call; the signature has to go back on its own part.",
        said(_call(ADD, thoughtSignature="U0lHMQ=="), finish="STOP"),
        calls=(ADD,),
        is_well_formed=True,
    )
    yield _stream(
        "parallel_calls",
        "Two calls at once, of which the first is signed.",
        said(_call(ADD, thoughtSignature="U0lHMQ=="), _call(MUL), finish="STOP"),
        calls=(ADD, MUL),
        is_well_formed=True,
    )
    yield _stream(
        "same_function_twice",
        "Two calls of one function, without ids: only their order tells them apart.",
        said(_call(ADD), _call(("add", {"a": 3, "b": 4})), finish="STOP"),
        calls=(ADD, ("add", {"a": 3, "b": 4})),
        is_well_formed=True,
    )
    yield _stream(
        "thinking_tool",
        "A thought, then a signed call.",
        said({"text": "hm", "thought": True}),
        said(_call(ADD, thoughtSignature="U0lHMQ=="), finish="STOP"),
        calls=(ADD,),
        is_well_formed=True,
    )
    yield _stream(
        "no_arguments",
        "The arguments of a tool that takes none are missing.",
        said({"functionCall": {"name": "now"}}, finish="STOP"),
        calls=(("now", {}),),
        is_well_formed=True,
    )
    yield _stream(
        "call_id",
        "A call with an id, which has to be sent back.",
        said({"functionCall": {"id": "x1", "name": "add", "args": ADD[1]}}),
        said(finish="STOP"),
        calls=(ADD,),
        is_well_formed=True,
    )


def _texts() -> Iterator[Scenario]:
    yield _stream(
        "thinking",
        "A thought before the answer, and a signature on an empty text behind it.",
        said({"text": "hm", "thought": True}),
        said({"text": TEXT}),
        said({"text": "", "thoughtSignature": "U0lHMQ=="}, finish="STOP"),
        text=TEXT,
        is_well_formed=True,
    )
    yield _stream(
        "repeated_text",
        "Pieces that begin alike: they add up, they do not replace each other.",
        said({"text": "ha"}),
        said({"text": "haha"}),
        said(finish="STOP"),
        text="hahaha",
        is_well_formed=True,
    )
    yield _stream(
        "no_parts",
        "The last piece has a content without parts.",
        said({"text": TEXT}),
        {"candidates": [{"content": {"role": "model"}, "finishReason": "STOP"}]},
        text=TEXT,
        is_well_formed=True,
    )
    yield _stream(
        "empty_text_last",
        "The last piece is an empty text.",
        said({"text": TEXT}),
        said({"text": ""}, finish="STOP"),
        text=TEXT,
        is_well_formed=True,
    )
    yield _stream(
        "finish_in_every_piece",
        "Each piece says that it is the last one (older models, gateways).",
        said({"text": "Hel"}, finish="STOP"),
        said({"text": "lo."}, finish="STOP"),
        text=TEXT,
        is_well_formed=True,
    )
    yield _stream(
        "unspecified_finish",
        "The reason to end is not specified until there is one.",
        said({"text": "Hel"}, finish="FINISH_REASON_UNSPECIFIED"),
        said({"text": "lo."}, finish="STOP"),
        text=TEXT,
        is_well_formed=True,
    )
    yield _stream(
        "signed_text",
        "Signatures on the pieces of a text.",
        said({"text": "Hel", "thoughtSignature": "U0lHMQ=="}),
        said({"text": "lo.", "thoughtSignature": "U0lHMg=="}, finish="STOP"),
        text=TEXT,
        is_well_formed=True,
    )
    yield _stream(
        "usage_first",
        "Token counts that are missing later.",
        said({"text": TEXT}),
        {"candidates": [{"index": 0, "finishReason": "STOP"}]},
        text=TEXT,
        is_well_formed=True,
    )
    code = {"language": "PYTHON", "code": "print(1)"}
    yield _stream(
        "code",
        "Code that the service ran itself, and what came of it.",
        said({"executableCode": code}),
        said({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}),
        said({"text": TEXT}, finish="STOP"),
        text=TEXT,
        is_well_formed=True,
    )
    yield _stream(
        "usage_alone",
        "The last piece has token counts only.",
        said({"text": TEXT}, finish="STOP"),
        {"usageMetadata": COUNTS},
        text=TEXT,
        is_well_formed=True,
    )
    yield _stream(
        "max_tokens",
        "The limit of tokens cuts the text.",
        said({"text": TEXT}, finish="MAX_TOKENS"),
        text=TEXT,
        is_well_formed=True,
    )


def _ends() -> Iterator[Scenario]:
    yield _stream(
        "blocked_prompt",
        "The service blocks the question.",
        {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": COUNTS},
        error=ContentFilteredError,
        is_well_formed=True,
    )
    yield _stream(
        "blocked_answer",
        "The service blocks the answer.",
        said(finish="SAFETY"),
        error=ContentFilteredError,
        is_well_formed=True,
    )
    for reason in ("RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"):
        yield _stream(
            f"blocked_{reason.lower()}",
            f"The service blocks the answer ({reason}).",
            said(finish=reason),
            error=ContentFilteredError,
            is_well_formed=True,
        )
    for reason in (
        "LANGUAGE",
        "MISSING_THOUGHT_SIGNATURE",
        "OTHER",
        "TOO_MANY_TOOL_CALLS",
        "UNEXPECTED_TOOL_CALL",
        "MALFORMED_RESPONSE",
    ):
        yield _stream(
            f"gave_up_{reason.lower()}",
            f"The service gives up ({reason}).",
            said(finish=reason),
            error=AgentProviderError,
            is_well_formed=True,
        )
    yield _stream(
        "cut_arguments",
        "The limit of tokens ends a reply with a call; it must not run.",
        said(_call(("add", {"a": 1})), finish="MAX_TOKENS"),
        is_well_formed=True,
    )
    yield _stream(
        "continuation",
        "A long reply comes in parts; the service goes on when asked with the token.",
        said({"text": "One moment. "}),
        {
            "candidates": [
                {
                    "index": 0,
                    "finishReason": "CONTINUATION",
                    "continuationToken": "T1",
                }
            ]
        },
        text="One moment. ",
    )
    yield _stream(
        "malformed_call",
        "A call that the service could not read; worth one more try.",
        said(finish="MALFORMED_FUNCTION_CALL"),
        error=AgentProviderError,
        is_well_formed=True,
    )
    yield Scenario(
        name="gemini/error_list",
        about="A refusal in a list, and laid out over several lines.",
        reply=whole(503, [_error(503, "Come back later.")]),
        error=AgentProviderError,
    )
