"""Replies that come as one object, for who asked for no stream; all wire formats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from notebook_agents.errors import AgentProviderError, ContentFilteredError
from notebook_agents.testing.wire import anthropic, chat, gemini
from notebook_agents.testing.wire.chat_calls import ADD, ADD_TEXT, MUL, MUL_TEXT
from notebook_agents.testing.wire.replies import whole
from notebook_agents.testing.wire.responses_items import (
    call_item,
    message_item,
    response,
    thought_item,
)
from notebook_agents.testing.wire.scenarios import TEXT, Scenario

__all__ = ["scenarios"]

CUT_TEXT = '{"a": 1, "b":'
REFUSAL = "I cannot do that."


def scenarios() -> Iterator[Scenario]:
    """Give all of them."""
    yield from _chat()
    yield from _odd_chat()
    yield from _responses()
    yield from _anthropic()
    yield from _gemini()


def _whole(name: str, about: str, said: Mapping[str, Any], **means: Any) -> Scenario:
    means.setdefault("is_well_formed", True)
    wire, _, variant = name.partition("/")
    reply = whole(200, dict(said))
    return Scenario(name=f"{wire}/whole_{variant}", about=about, reply=reply, **means)


def _calling(*arguments: object, **facts: object) -> dict[str, Any]:
    """Give a message of chat completions that calls tools."""
    named = zip(("add", "mul"), arguments, strict=False)
    calls = [
        {
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": name, "arguments": each},
            **facts,
        }
        for number, (name, each) in enumerate(named)
    ]
    return {"content": None, "tool_calls": calls}


def _chat() -> Iterator[Scenario]:
    yield _whole(
        "chat/call",
        "A call.",
        chat.completion(_calling(ADD_TEXT), "tool_calls"),
        calls=(ADD,),
    )
    yield _whole(
        "chat/calls",
        "Two calls at once.",
        chat.completion(_calling(ADD_TEXT, MUL_TEXT), "tool_calls"),
        calls=(ADD, MUL),
    )
    yield _whole(
        "chat/text_and_call",
        "A text before the call.",
        chat.completion({**_calling(ADD_TEXT), "content": TEXT}, "tool_calls"),
        text=TEXT,
        calls=(ADD,),
    )
    yield _whole(
        "chat/length",
        "The limit of tokens cuts the text.",
        chat.completion({"content": TEXT}, "length"),
        text=TEXT,
    )
    yield _whole(
        "chat/cut_arguments",
        "The limit of tokens cuts the arguments; the call must not run.",
        chat.completion(_calling(CUT_TEXT), "length"),
    )
    yield _whole(
        "chat/refusal",
        "The model refuses, in words.",
        chat.completion({"content": None, "refusal": REFUSAL}),
        text=REFUSAL,
    )
    yield _whole(
        "chat/content_filter",
        "The service blocks all of it.",
        chat.completion({"content": None}, "content_filter"),
        error=ContentFilteredError,
    )


def _odd_chat() -> Iterator[Scenario]:
    def odd(
        name: str, about: str, message: Mapping[str, Any], **means: Any
    ) -> Scenario:
        said = chat.completion(message, means.pop("finish", "tool_calls"))
        return _whole(f"chat/{name}", about, said, is_well_formed=False, **means)

    yield odd(
        "no_id", "A call without an id.", _calling(ADD_TEXT, id=None), calls=(ADD,)
    )
    yield odd(
        "same_id",
        "The same id for two calls (llama.cpp).",
        _calling(ADD_TEXT, MUL_TEXT, id="call_1"),
        calls=(ADD, MUL),
    )
    yield odd(
        "object_arguments",
        "Arguments are an object (Ollama).",
        _calling(dict(ADD[1])),
        calls=(ADD,),
    )
    yield odd(
        "stop_with_call",
        "A call, though the model is said to have stopped.",
        _calling(ADD_TEXT),
        calls=(ADD,),
        finish="stop",
    )
    call = {"id": "call_1", "function": {"name": "now", "arguments": ""}}
    yield odd(
        "no_arguments",
        "The arguments of a tool that takes none are empty.",
        {"content": "", "tool_calls": [call]},
        calls=(("now", {}),),
    )
    parts = [{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo."}]
    for name, about, message in (
        ("content_parts", "The content is a list (Mistral).", {"content": parts}),
        (
            "reasoning_content",
            "A thought beside the answer (DeepSeek).",
            {"content": TEXT, "reasoning_content": "hm", "tool_calls": None},
        ),
        ("think_tags", "A thought in tags.", {"content": f"<think>hm</think>{TEXT}"}),
    ):
        yield odd(name, about, message, text=TEXT, finish="stop")


def _responses() -> Iterator[Scenario]:
    def done(*output: dict[str, Any]) -> Mapping[str, Any]:
        return response("completed", output)

    def incomplete(why: str, *output: dict[str, Any]) -> Mapping[str, Any]:
        details = {"reason": why}
        return response("incomplete", output, incomplete_details=details)

    add, thought = call_item(1, ADD), thought_item()
    yield _whole("responses/call", "A call.", done(add), calls=(ADD,))
    yield _whole(
        "responses/calls",
        "Two calls at once.",
        done(add, call_item(2, MUL)),
        calls=(ADD, MUL),
    )
    yield _whole(
        "responses/thinking",
        "A thought before the answer.",
        done(thought, message_item()),
        text=TEXT,
    )
    yield _whole(
        "responses/thinking_tool",
        "A sealed thought before a call, which has to go back with it.",
        done(thought, add),
        calls=(ADD,),
    )
    refused = [{"type": "refusal", "refusal": REFUSAL}]
    yield _whole(
        "responses/refusal",
        "The model refuses, in words.",
        done(message_item(content=refused)),
        text=REFUSAL,
    )
    yield _whole(
        "responses/incomplete",
        "The limit of tokens cuts the text.",
        incomplete("max_output_tokens", message_item(status="incomplete")),
        text=TEXT,
    )
    yield _whole(
        "responses/cut_arguments",
        "The limit of tokens cuts the arguments; the call must not run.",
        incomplete("max_output_tokens", {**add, "arguments": CUT_TEXT}),
    )
    yield _whole(
        "responses/content_filter",
        "The service blocks all of it.",
        incomplete("content_filter"),
        error=ContentFilteredError,
    )
    broke = {"code": "server_error", "message": "It broke."}
    yield _whole(
        "responses/failed",
        "The service fails.",
        response("failed", [], error=broke),
        error=AgentProviderError,
    )


def _anthropic() -> Iterator[Scenario]:
    def use(number: int, call: tuple[str, Mapping[str, Any]]) -> dict[str, Any]:
        facts = {"id": f"toolu_{number}", "name": call[0], "input": dict(call[1])}
        return {"type": "tool_use", **facts}

    text = {"type": "text", "text": TEXT}
    thought = {"type": "thinking", "thinking": "hm", "signature": "SIG123"}
    for name, about, content, means in (
        ("call", "A call.", [use(0, ADD)], {"calls": (ADD,)}),
        (
            "calls",
            "Two calls at once, after a text.",
            [text, use(0, ADD), use(1, MUL)],
            {"text": TEXT, "calls": (ADD, MUL)},
        ),
        (
            "thinking_tool",
            "A signed thought before a call, which has to go back with it.",
            [thought, use(0, ADD)],
            {"calls": (ADD,)},
        ),
    ):
        said = anthropic.message(*content, stop="tool_use")
        yield _whole(f"anthropic/{name}", about, said, **means)
    for name, about, content, stop in (
        ("thinking", "A thought before the answer.", [thought, text], "end_turn"),
        ("refusal", "The model refuses, in words.", [text], "refusal"),
        ("max_tokens", "The limit of tokens cuts the text.", [text], "max_tokens"),
    ):
        said = anthropic.message(*content, stop=stop)
        yield _whole(f"anthropic/{name}", about, said, text=TEXT)
    yield _whole(
        "anthropic/cut_input",
        "The limit of tokens cuts the input; the call must not run.",
        anthropic.message(use(0, ("add", {"a": 1})), stop="max_tokens"),
    )
    yield _whole(
        "anthropic/silent_refusal",
        "The model refuses without a word.",
        anthropic.message(stop="refusal"),
        error=ContentFilteredError,
    )


def _gemini() -> Iterator[Scenario]:
    def call(name: str, args: Mapping[str, Any], **facts: object) -> dict[str, Any]:
        return {"functionCall": {"name": name, "args": dict(args)}, **facts}

    add, thought = (
        call(*ADD, thoughtSignature="U0lHMQ=="),
        {"text": "hm", "thought": True},
    )
    text = {"text": TEXT}
    for name, about, parts, finish, means in (
        ("call", "A signed call.", [add], "STOP", {"calls": (ADD,)}),
        (
            "calls",
            "Two calls at once, of which the first is signed.",
            [add, call(*MUL)],
            "STOP",
            {"calls": (ADD, MUL)},
        ),
        (
            "thinking_tool",
            "A thought, then a signed call.",
            [thought, add],
            "STOP",
            {"calls": (ADD,)},
        ),
        (
            "thinking",
            "A thought before the answer.",
            [thought, text],
            "STOP",
            {"text": TEXT},
        ),
        (
            "max_tokens",
            "The limit of tokens cuts the text.",
            [text],
            "MAX_TOKENS",
            {"text": TEXT},
        ),
        (
            "blocked_answer",
            "The service blocks the answer.",
            [],
            "SAFETY",
            {"error": ContentFilteredError},
        ),
        (
            "malformed_call",
            "A call that the service could not read; worth one more try.",
            [],
            "MALFORMED_FUNCTION_CALL",
            {"error": AgentProviderError},
        ),
    ):
        said = gemini.said(*parts, finish=finish)
        yield _whole(f"gemini/{name}", about, said, **means)
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {}}
    yield _whole(
        "gemini/blocked_prompt",
        "The service blocks the question.",
        blocked,
        error=ContentFilteredError,
    )
    pieces = [gemini.said({"text": "Hel"}), gemini.said({"text": "lo."}, finish="STOP")]
    yield Scenario(
        name="gemini/whole_list",
        about="All objects of the stream in a list (gateways that forget `alt=sse`).",
        reply=whole(200, pieces),
        text=TEXT,
    )
