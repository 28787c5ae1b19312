"""Tool calls of chat completions, as OpenAI and everybody else writes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from notebook_agents.testing.wire.chat import SAID, delta, stream
from notebook_agents.testing.wire.scenarios import TEXT, Scenario

__all__ = ["ADD", "ADD_TEXT", "MUL", "MUL_TEXT", "scenarios"]

ADD, MUL = ("add", {"a": 1, "b": 2}), ("mul", {"a": 3, "b": 4})
ADD_TEXT, MUL_TEXT = '{"a": 1, "b": 2}', '{"a": 3, "b": 4}'

Event = Mapping[str, Any]


def scenarios() -> Iterator[Scenario]:
    """Give all of them."""
    yield from _usual()
    yield from _odd_calls()
    yield from _odd_arguments()


def _call(name: str | None, arguments: object = None, **fields: object) -> Event:
    """Give a piece of a tool call."""
    return delta(tool_calls=[_piece(name, arguments, **fields)])


def _piece(name: str | None, arguments: object = None, **fields: object) -> Event:
    function = {"name": name, "arguments": arguments}
    known = {key: value for key, value in function.items() if value is not None}
    return {**fields, "function": known}


def _called(name: str, about: str, *pieces: Event, **means: Any) -> Scenario:
    means.setdefault("calls", (ADD,))
    return stream(name, about, *pieces, delta("tool_calls"), **means)


def _usual() -> Iterator[Scenario]:
    yield _called(
        "tool_call",
        "A call, its arguments in pieces, as OpenAI sends it.",
        _call("add", "", index=0, id="call_1", type="function"),
        _call(None, '{"a": 1', index=0),
        _call(None, ', "b": 2}', index=0),
        is_well_formed=True,
    )
    yield _called(
        "parallel_calls",
        "Two calls at once.",
        _call("add", ADD_TEXT, index=0, id="call_1"),
        _call("mul", MUL_TEXT, index=1, id="call_2"),
        calls=(ADD, MUL),
        is_well_formed=True,
    )
    yield _called(
        "text_and_call",
        "A text before the call.",
        *SAID,
        _call("add", ADD_TEXT, index=0, id="call_1"),
        text=TEXT,
        is_well_formed=True,
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
        "empty_id",
        "An empty id on every piece (small servers).",
        _call("add", '{"a": 1', index=0, id=""),
        _call(None, ', "b": 2}', index=0, id=""),
    )
    yield _called(
        "null_later",
        "Id and name are null on later pieces (SGLang).",
        _call("add", '{"a": 1', index=0, id="call_1"),
        delta(
            tool_calls=[
                {
                    "index": 0,
                    "id": None,
                    "function": {"name": None, "arguments": ', "b": 2}'},
                }
            ]
        ),
    )
    yield _called(
        "woven_calls",
        "The pieces of two calls alternate.",
        _call("add", "", index=0, id="call_1"),
        _call("mul", "", index=1, id="call_2"),
        _call(None, ADD_TEXT, index=0),
        _call(None, MUL_TEXT, index=1),
        calls=both,
    )
    yield _called(
        "out_of_order",
        "The second call comes first.",
        _call("mul", MUL_TEXT, index=1, id="call_2"),
        _call("add", ADD_TEXT, index=0, id="call_1"),
        calls=both,
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
    yield _called(
        "old_function_call",
        "A call as it was before there were several (old servers).",
        delta(function_call={"name": "add", "arguments": '{"a": 1'}),
        delta(function_call={"arguments": ', "b": 2}'}),
    )
    yield stream(
        "call_with_finish",
        "The whole call, and the end, in one event.",
        {
            "choices": [
                {
                    "index": 0,
                    "delta": {"tool_calls": [_piece("add", ADD_TEXT, index=0, id="c")]},
                    "finish_reason": "tool_calls",
                }
            ]
        },
        calls=(ADD,),
    )
    yield stream(
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
        is_well_formed=True,
    )
    yield _called(
        "null_arguments",
        "They are missing.",
        _call("now", None, index=0, id="call_1"),
        calls=(("now", {}),),
    )
    yield _called(
        "broken_arguments",
        "Arguments that are no JSON; the call must not run.",
        _call("add", '{"a": 1, b: 2', index=0, id="call_1"),
        calls=(),
    )
    yield stream(
        "cut_arguments",
        "The limit of tokens cuts the arguments; the call must not run.",
        _call("add", '{"a": 1, "b":', index=0, id="call_1"),
        delta("length"),
        is_well_formed=True,
    )
