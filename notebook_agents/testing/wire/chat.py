"""Chat completions, as OpenAI and everybody who is compatible sends them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from notebook_agents.errors import AgentProviderError, ContentFilteredError
from notebook_agents.testing.wire.replies import event, streamed, whole
from notebook_agents.testing.wire.scenarios import TEXT, Scenario, Talk, common

__all__ = ["DONE", "STOP", "delta", "scenarios"]

ADD, MUL = ("add", {"a": 1, "b": 2}), ("mul", {"a": 3, "b": 4})
ADD_TEXT, MUL_TEXT = '{"a": 1, "b": 2}', '{"a": 3, "b": 4}'
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
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


DONE = event("[DONE]")
STOP = event(delta("stop"))
USED: Event = {"choices": [], "usage": COUNTS}
SAID = (delta(role="assistant", content="Hel"), delta(content="lo."))


def scenarios() -> Iterator[Scenario]:
    """Give all of them."""
    yield from common(
        Talk(
            wire="chat",
            answer=[*map(event, (*SAID, delta("stop"), USED)), DONE],
            whole=_whole({"content": TEXT}),
            error=lambda status, said: {"error": {"message": said, "code": status}},
            said_error=lambda status, said: event(
                {"error": {"message": said, "code": status}}
            ),
            unknown=event({"object": "something.new", "choices": [], "extra": 1}),
        )
    )
    yield from _calls()
    yield from _odd_calls()
    yield from _odd_arguments()
    yield from _texts()
    yield from _thoughts()
    yield from _ends()


def _stream(name: str, about: str, *events: Event, **means: Any) -> Scenario:
    reply = streamed(*map(event, events), DONE)
    return Scenario(name=f"chat/{name}", about=about, reply=reply, **means)


def _call(name: str | None, arguments: object = None, **fields: object) -> Event:
    """Give a piece of a tool call."""
    function = {"name": name, "arguments": arguments}
    known = {key: value for key, value in function.items() if value is not None}
    return delta(tool_calls=[{**fields, "function": known}])


def _called(name: str, about: str, *pieces: Event, **means: Any) -> Scenario:
    means.setdefault("calls", (ADD,))
    return _stream(name, about, *pieces, delta("tool_calls"), **means)


def _whole(message: Event, finish: str = "stop") -> dict[str, Any]:
    choice = {
        "index": 0,
        "message": {"role": "assistant", **message},
        "finish_reason": finish,
    }
    return {"object": "chat.completion", "choices": [choice], "usage": COUNTS}


def _calls() -> Iterator[Scenario]:
    yield _called(
        "tool_call",
        "A call, its arguments in pieces, as OpenAI sends it.",
        _call("add", "", index=0, id="call_1", type="function"),
        _call(None, '{"a": 1', index=0),
        _call(None, ', "b": 2}', index=0),
    )
    yield _called(
        "parallel_calls",
        "Two calls at once.",
        _call("add", ADD_TEXT, index=0, id="call_1"),
        _call("mul", MUL_TEXT, index=1, id="call_2"),
        calls=(ADD, MUL),
    )
    yield _called(
        "text_and_call",
        "A text before the call.",
        *SAID,
        _call("add", ADD_TEXT, index=0, id="call_1"),
        text=TEXT,
    )
    function = {"name": "add", "arguments": ADD_TEXT}
    call = {"id": "call_1", "type": "function", "function": function}
    yield Scenario(
        name="chat/whole_call",
        about="A call in a whole object where a stream was asked for.",
        reply=whole(200, _whole({"content": None, "tool_calls": [call]}, "tool_calls")),
        calls=(ADD,),
    )


def _odd_calls() -> Iterator[Scenario]:
    both = (ADD, MUL)
    yield _called(
        "no_index",
        "Calls without an index (Gemini's compatible endpoint, old Ollama).",
        _call("add", ADD_TEXT, id="call_1"),
        _call("mul", MUL_TEXT, id="call_2"),
        calls=both,
    )
    yield _called(
        "same_index",
        "Index 0 for all calls, with different ids (Ollama, lmdeploy, vLLM 0.x).",
        _call("add", ADD_TEXT, index=0, id="call_1"),
        _call("mul", MUL_TEXT, index=0, id="call_2"),
        calls=both,
    )
    yield _called(
        "index_from_one",
        "The index starts at 1 and skips (Claude behind proxies).",
        _call("add", ADD_TEXT, index=1, id="call_1"),
        _call("mul", MUL_TEXT, index=3, id="call_2"),
        calls=both,
    )
    yield _called(
        "id_repeated",
        "Id and name again on every piece (SGLang).",
        _call("add", '{"a": 1', index=0, id="call_1"),
        _call("add", ', "b": 2}', index=0, id="call_1"),
    )
    yield _called(
        "id_empty_later",
        "Id and name are empty on later pieces (Qwen).",
        _call("add", '{"a": 1', index=0, id="call_1"),
        _call("", ', "b": 2}', index=0, id=""),
    )
    yield _called(
        "no_id",
        "No id at all (small servers).",
        _call("add", '{"a": 1', index=0),
        _call(None, ', "b": 2}', index=0),
    )
    yield _called(
        "same_id",
        "The same id for two calls (llama.cpp).",
        _call("add", ADD_TEXT, index=0, id="call_1"),
        _call("mul", MUL_TEXT, index=1, id="call_1"),
        calls=both,
    )
    yield _called(
        "late_name",
        "The name comes after the arguments.",
        _call(None, ADD_TEXT, index=0, id="call_1"),
        _call("add", None, index=0),
    )
    yield _stream(
        "stop_with_call",
        "A call, though the model is said to have stopped.",
        _call("add", ADD_TEXT, index=0, id="call_1"),
        delta("stop"),
        calls=(ADD,),
    )


def _odd_arguments() -> Iterator[Scenario]:
    def odd(name: str, about: str, arguments: object) -> Scenario:
        return _called(name, about, _call("add", arguments, index=0, id="call_1"))

    yield odd("object_arguments", "Arguments are an object (Ollama).", dict(ADD[1]))
    yield odd(
        "arguments_twice_encoded",
        "Arguments are JSON in a JSON string (GLM).",
        '"{\\"a\\": 1, \\"b\\": 2}"',
    )
    yield odd("values_as_text", "Numbers come as text.", '{"a": "1", "b": "2"}')
    yield _called(
        "no_arguments",
        "The arguments of a tool that takes none are empty.",
        _call("now", "", index=0, id="call_1"),
        calls=(("now", {}),),
    )
    yield _called(
        "null_arguments",
        "They are missing.",
        _call("now", None, index=0, id="call_1"),
        calls=(("now", {}),),
    )
    yield _stream(
        "cut_arguments",
        "The limit of tokens cuts the arguments; the call must not run.",
        _call("add", '{"a": 1, "b":', index=0, id="call_1"),
        delta("length"),
    )


def _texts() -> Iterator[Scenario]:
    yield _stream(
        "no_choices_first",
        "An event without choices comes first (Azure).",
        {"choices": [], "prompt_filter_results": [{}]},
        *SAID,
        delta("stop"),
        text=TEXT,
    )
    yield _stream(
        "null_choices",
        "Choices and deltas that are null (Azure, LiteLLM).",
        {"choices": None},
        {"choices": [{"index": 0, "delta": None, "finish_reason": None}]},
        *SAID,
        delta("stop"),
        text=TEXT,
    )
    yield _stream(
        "usage_in_every_event",
        "Token counts in every event (OpenRouter).",
        *({**each, "usage": COUNTS} for each in (*SAID, delta("stop"))),
        text=TEXT,
    )
    yield _stream(
        "content_parts",
        "The content is a list of parts (Mistral).",
        delta(content=[{"type": "text", "text": TEXT}]),
        delta("stop"),
        text=TEXT,
    )
    yield _stream(
        "line_separators",
        "Characters that some take for the end of a line.",
        delta(content="Hel\u2028lo\x85."),
        delta("stop"),
        text="Hel\u2028lo\x85.",
    )
    yield Scenario(
        name="chat/no_done",
        about="No [DONE], but a reason to end.",
        reply=streamed(*map(event, (*SAID, delta("stop")))),
        text=TEXT,
    )
    yield _stream("no_finish", "A [DONE], but no reason to end.", *SAID, text=TEXT)
    yield _stream(
        "refusal",
        "The model refuses, in words.",
        delta(refusal="I cannot do that."),
        delta("stop"),
        text="I cannot do that.",
    )
    yield _stream(
        "length",
        "The limit of tokens cuts the text.",
        *SAID,
        delta("length"),
        text=TEXT,
    )


def _thoughts() -> Iterator[Scenario]:
    details = [{"type": "reasoning.text", "text": "hm"}]
    for name, about, fields in (
        ("reasoning_content", "DeepSeek", {"reasoning_content": "hm"}),
        ("reasoning", "Groq, OpenRouter", {"reasoning": "hm"}),
        ("reasoning_details", "OpenRouter", {"reasoning_details": details}),
    ):
        yield _stream(
            name,
            f"A thought before the answer ({about}).",
            delta(content=None, **fields),
            *SAID,
            delta("stop"),
            text=TEXT,
        )
    yield _stream(
        "think_tags",
        "A thought in tags, in the text (Hugging Face, Ollama).",
        delta(content="<thi"),
        delta(content="nk>hm</think>\n\n"),
        *SAID,
        delta("stop"),
        text=TEXT,
    )


def _ends() -> Iterator[Scenario]:
    yield _stream(
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
