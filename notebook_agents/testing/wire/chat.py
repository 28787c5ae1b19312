"""Chat completions, as OpenAI and everybody who is compatible sends them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from notebook_agents.errors import AgentProviderError, ContentFilteredError
from notebook_agents.testing.wire.replies import event, streamed
from notebook_agents.testing.wire.scenarios import TEXT, Scenario, Talk
from notebook_agents.testing.wire.transfers import common

__all__ = [
    "COUNTS",
    "DONE",
    "SAID",
    "STOP",
    "completion",
    "delta",
    "scenarios",
    "stream",
]

NAMED = {"id": "chatcmpl-1", "created": 1_780_000_000, "model": "m"}
COUNTS = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}

Event = Mapping[str, Any]


def delta(finish: str | None = None, **fields: object) -> dict[str, Any]:
    """Give a piece of a reply.

    Parameters
    ----------
    finish : str, optional
        Why the model ended.
    **fields : object
        The piece, such as ``content="Hel"``.

    Returns
    -------
    dict
        The object of one event.
    """
    return {
        **NAMED,
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": fields, "finish_reason": finish}],
    }


def completion(message: Event, finish: str = "stop") -> dict[str, Any]:
    """Give a whole reply.

    Parameters
    ----------
    message : mapping
        What the model says.
    finish : str, default "stop"
        Why it ended.

    Returns
    -------
    dict
        The object.
    """
    choice = {
        "index": 0,
        "message": {"role": "assistant", **message},
        "finish_reason": finish,
    }
    said = {"object": "chat.completion", "choices": [choice], "usage": COUNTS}
    return {**NAMED, **said}


DONE = event("[DONE]")
STOP = event(delta("stop"))
USED: Event = {
    **NAMED,
    "object": "chat.completion.chunk",
    "choices": [],
    "usage": COUNTS,
}
SAID = (delta(role="assistant", content="Hel"), delta(content="lo."))


def scenarios() -> Iterator[Scenario]:
    """Give all of them."""
    yield from common(
        Talk(
            wire="chat",
            says=_says,
            whole=completion({"content": TEXT}),
            call=_calls('{"a": 1, "b": 2}'),
            half_a_call=_calls('{"a": 1,'),
            error=lambda status, said: {"error": {"message": said, "code": status}},
            said_error=lambda status, said: event(
                {"error": {"message": said, "code": status}}
            ),
            unknown=event({"object": "something.new", "choices": [], "extra": 1}),
        )
    )
    yield from _texts()
    yield from _thoughts()
    yield from _ends()


def _says(*pieces: str) -> list[bytes]:
    said = [delta(role="assistant", content=pieces[0])]
    said += [delta(content=piece) for piece in pieces[1:]]
    return [*map(event, (*said, delta("stop"), USED)), DONE]


def _calls(arguments: str) -> list[bytes]:
    function = {"name": "add", "arguments": arguments}
    call = {"index": 0, "id": "call_1", "type": "function", "function": function}
    return [event(delta(role="assistant", content=None, tool_calls=[call]))]


def stream(name: str, about: str, *events: Event, **means: Any) -> Scenario:
    """Give a scenario of a stream.

    Parameters
    ----------
    name, about : str
        As in `Scenario`.
    *events : mapping
        The objects, but for the mark at the end.
    **means : object
        What it means, as in `Scenario`.

    Returns
    -------
    Scenario
        The scenario.
    """
    reply = streamed(*map(event, events), DONE)
    return Scenario(name=f"chat/{name}", about=about, reply=reply, **means)


def _texts() -> Iterator[Scenario]:
    yield stream(
        "no_choices_first",
        "An event without choices comes first (Azure).",
        {**USED, "usage": None, "prompt_filter_results": [{}]},
        *SAID,
        delta("stop"),
        text=TEXT,
        is_well_formed=True,
    )
    yield stream(
        "null_choices",
        "Choices and deltas that are null (Azure, LiteLLM).",
        {"choices": None},
        {"choices": [{"index": 0, "delta": None, "finish_reason": None}]},
        *SAID,
        delta("stop"),
        text=TEXT,
    )
    yield stream(
        "usage_in_every_event",
        "Token counts in every event (OpenRouter).",
        *({**each, "usage": COUNTS} for each in (*SAID, delta("stop"))),
        text=TEXT,
    )
    yield stream(
        "usage_with_finish",
        "Token counts beside the reason to end (DeepSeek, Together).",
        *SAID,
        {**delta("stop"), "usage": COUNTS},
        text=TEXT,
    )
    yield stream(
        "null_usage",
        "Token counts that are null until the end (OpenAI).",
        *({**each, "usage": None} for each in (*SAID, delta("stop"))),
        USED,
        text=TEXT,
        is_well_formed=True,
    )
    yield stream(
        "negative_usage",
        "Token counts that cannot be.",
        *SAID,
        delta("stop"),
        {"choices": [], "usage": {"prompt_tokens": -1, "completion_tokens": "7"}},
        text=TEXT,
    )
    yield stream(
        "more_keys",
        "Keys of one service (OpenRouter) and padding (OpenAI).",
        *({**each, "provider": "P", "obfuscation": "xyz"} for each in SAID),
        {**delta("stop"), "native_finish_reason": "end_turn"},
        text=TEXT,
        is_well_formed=True,
    )
    yield stream(
        "content_parts",
        "The content is a list of parts (Mistral).",
        delta(content=[{"type": "text", "text": TEXT}]),
        delta("stop"),
        text=TEXT,
    )
    yield Scenario(
        name="chat/no_done",
        about="No [DONE], but a reason to end.",
        reply=streamed(*map(event, (*SAID, delta("stop")))),
        text=TEXT,
    )
    yield stream("no_finish", "A [DONE], but no reason to end.", *SAID, text=TEXT)
    for name, finish in (("empty_finish", ""), ("vendor_finish", "eos_token")):
        yield stream(
            name,
            f"The reason to end is {finish!r}.",
            *SAID,
            delta(finish),
            text=TEXT,
        )
    yield stream(
        "finish_in_every_event",
        "Each event says that it is the last one (old servers).",
        *({**each, "choices": [_ended(each)]} for each in SAID),
        text=TEXT,
    )
    yield stream(
        "null_in_words",
        "The reason to end is the word null until there is one.",
        *({**each, "choices": [_ended(each, "null")]} for each in SAID),
        delta("stop"),
        text=TEXT,
    )
    yield stream(
        "refusal",
        "The model refuses, in words.",
        delta(refusal="I cannot do that."),
        delta("stop"),
        text="I cannot do that.",
        is_well_formed=True,
    )
    yield stream(
        "length",
        "The limit of tokens cuts the text.",
        *SAID,
        delta("length"),
        text=TEXT,
        is_well_formed=True,
    )


def _ended(piece: Event, finish: str = "stop") -> Event:
    return {**piece["choices"][0], "finish_reason": finish}


def _thoughts() -> Iterator[Scenario]:
    details = [{"type": "reasoning.text", "text": "hm"}]
    for name, about, fields in (
        ("reasoning_content", "DeepSeek", {"reasoning_content": "hm"}),
        ("reasoning", "Groq, OpenRouter", {"reasoning": "hm"}),
        ("reasoning_details", "OpenRouter", {"reasoning_details": details}),
    ):
        yield stream(
            name,
            f"A thought before the answer ({about}).",
            delta(content=None, **fields),
            *SAID,
            delta("stop"),
            text=TEXT,
        )
    yield stream(
        "think_tags",
        "A thought in tags, in the text (Hugging Face, Ollama).",
        delta(content="<thi"),
        delta(content="nk>hm</think>\n\n"),
        *SAID,
        delta("stop"),
        text=TEXT,
    )


def _ends() -> Iterator[Scenario]:
    yield stream(
        "content_filter",
        "The service blocks all of it.",
        delta("content_filter"),
        error=ContentFilteredError,
    )
    failed = {"code": "tool_use_failed", "message": "no", "failed_generation": "{"}
    for name, about, said in (
        (
            "openrouter_error",
            "An error beside the choices (OpenRouter).",
            event({**delta("error"), "error": {"code": 502, "message": "no"}}),
        ),
        (
            "groq_error",
            "A call that the service could not read (Groq).",
            event({"error": failed}, "error"),
        ),
        (
            "typed_error",
            "An error in the words of Anthropic (proxies).",
            event({"type": "error", "error": {"type": "api_error", "message": "no"}}),
        ),
        (
            "vllm_error",
            "An error without the usual object around it (vLLM).",
            event({"object": "error", "message": "no", "code": 500}),
        ),
    ):
        yield Scenario(
            name=f"chat/{name}",
            about=about,
            reply=streamed(event(SAID[0]), said),
            error=AgentProviderError,
        )
