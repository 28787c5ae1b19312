"""What goes back after any calls is what the service accepts, and what an SDK sends.

Wire, sections 1.1, 2.2, 3.2 and 4.2.
"""

from __future__ import annotations

import json
import re

import pytest

from notebook_agents import Agent
from notebook_agents.testing import scenario, scenario_names
from notebook_agents.testing.wire import wire_server
from tests.providers.services import WIRES, provider_for

NOT_RUN = re.compile("(cut|broken)_(arguments|input)")
CALLING = [
    name
    for wire in WIRES
    for name in scenario_names(f"{wire}/")
    if scenario(name).calls or NOT_RUN.search(name)
]


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def mul(a: int, b: int) -> int:
    """Multiply."""
    return a * b


def now() -> str:
    """Tell the time."""
    return "noon"


async def second_request(server, name: str) -> dict:
    wire = name.partition("/")[0]
    server.say(name, f"{wire}/answer")
    await Agent(provider_for(wire, server.url, max_retries=0), [add, mul, now]).run(
        "go"
    )
    return server.requests[1].body


def chat_pairs(body: dict) -> list[tuple]:
    user, said, *results = body["messages"]
    assert user == {"role": "user", "content": "go"}
    assert said["role"] == "assistant"
    assert said["content"] is None or said["content"]
    calls = said["tool_calls"]
    assert [call["type"] for call in calls] == ["function"] * len(calls)
    assert [each["role"] for each in results] == ["tool"] * len(calls)
    ids = [call["id"] for call in calls]
    assert [each["tool_call_id"] for each in results] == ids
    assert all(ids)
    assert len({*ids}) == len(ids)
    return [
        (
            call["function"]["name"],
            json.loads(call["function"]["arguments"]),
            result["content"],
        )
        for call, result in zip(calls, results, strict=True)
    ]


def responses_pairs(body: dict) -> list[tuple]:
    kinds = [item.get("type", item.get("role")) for item in body["input"]]
    calls = [each for each in body["input"] if each.get("type") == "function_call"]
    results = [
        each for each in body["input"] if each.get("type") == "function_call_output"
    ]
    assert kinds[0] == "user"
    assert kinds[-len(results) :] == ["function_call_output"] * len(calls)
    ids = [call["call_id"] for call in calls]
    assert [each["call_id"] for each in results] == ids
    assert len({*ids}) == len(ids)
    return [
        (call["name"], json.loads(call["arguments"]), result["output"])
        for call, result in zip(calls, results, strict=True)
    ]


def anthropic_pairs(body: dict) -> list[tuple]:
    roles = [message["role"] for message in body["messages"]]
    assert roles == ["user", "assistant", "user"]
    said, told = (message["content"] for message in body["messages"][1:])
    assert all(block["text"].strip() for block in said if block["type"] == "text")
    calls = [block for block in said if block["type"] == "tool_use"]
    assert said[-len(calls) :] == calls
    assert [block["type"] for block in told] == ["tool_result"] * len(calls)
    ids = [call["id"] for call in calls]
    assert [each["tool_use_id"] for each in told] == ids
    assert len({*ids}) == len(ids)
    return [
        (call["name"], call["input"], "".join(p["text"] for p in result["content"]))
        for call, result in zip(calls, told, strict=True)
    ]


def gemini_pairs(body: dict) -> list[tuple]:
    roles = [content["role"] for content in body["contents"]]
    assert roles == ["user", "model", "user"]
    said, told = (content["parts"] for content in body["contents"][1:])
    calls = [part["functionCall"] for part in said if "functionCall" in part]
    results = [part["functionResponse"] for part in told]
    assert [each.get("id") for each in results] == [call.get("id") for call in calls]
    assert [each["name"] for each in results] == [call["name"] for call in calls]
    assert all(isinstance(each["response"], dict) for each in results)
    return [
        (call["name"], call.get("args", {}), str(each["response"].get("result")))
        for call, each in zip(calls, results, strict=True)
    ]


PAIRS = {
    "anthropic": anthropic_pairs,
    "chat": chat_pairs,
    "gemini": gemini_pairs,
    "responses": responses_pairs,
}
RESULTS = {"add": lambda a, b: str(a + b), "mul": lambda a, b: str(a * b)}


@pytest.mark.parametrize("name", CALLING)
async def test_each_call_goes_back_with_its_result_in_order(server, name):
    body = await second_request(server, name)
    pairs = PAIRS[name.partition("/")[0]](body)
    calls = scenario(name).calls
    if not calls:
        ((tool, arguments, result),) = pairs
        assert tool == "add"
        assert isinstance(arguments, dict)
        assert result != "3"
        return
    made = [(tool, {k: int(v) for k, v in args.items()}) for tool, args, _ in pairs]
    assert sorted(made, key=str) == sorted(map(tuple, calls), key=str)
    for tool, arguments, result in pairs:
        known = RESULTS.get(tool)
        wanted = known(**{k: int(v) for k, v in arguments.items()}) if known else "noon"
        assert result == wanted


@pytest.mark.parametrize(
    ("streamed", "whole"),
    [
        ("chat/tool_call", "chat/whole_call"),
        ("responses/thinking_tool", "responses/whole_thinking_tool"),
        ("anthropic/thinking_tool", "anthropic/whole_thinking_tool"),
        ("gemini/thinking_tool", "gemini/whole_thinking_tool"),
        ("gemini/parallel_calls", "gemini/whole_calls"),
    ],
)
async def test_what_came_as_a_whole_goes_back_as_what_came_in_pieces(streamed, whole):
    bodies = []
    for name in (streamed, whole):
        with wire_server() as server:
            bodies.append(await second_request(server, name))
    texts = [re.sub(r"toolu_\d|call_\d", "id", json.dumps(body)) for body in bodies]
    assert texts[0] == texts[1]


async def test_a_signed_thought_goes_back_before_its_call(server):
    body = await second_request(server, "anthropic/thinking_tool")
    assert body["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "SIG123"},
        {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 1, "b": 2}},
    ]


async def test_a_redacted_thought_goes_back_before_its_call(server):
    body = await second_request(server, "anthropic/redacted_thinking")
    assert body["messages"][1]["content"][0] == {
        "type": "redacted_thinking",
        "data": "RED",
    }


async def test_a_sealed_thought_goes_back_directly_before_its_call(server):
    body = await second_request(server, "responses/thinking_tool")
    assert body["store"] is False
    assert body["include"] == ["reasoning.encrypted_content"]
    assert body["input"][1:3] == [
        {
            "type": "reasoning",
            "id": "rs_0",
            "summary": [{"type": "summary_text", "text": "hm"}],
            "encrypted_content": "ENC",
        },
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "call_1",
            "name": "add",
            "arguments": '{"a": 1, "b": 2}',
        },
    ]


async def test_a_signature_goes_back_on_its_own_part(server):
    body = await second_request(server, "gemini/parallel_calls")
    assert body["contents"][1]["parts"] == [
        {
            "functionCall": {"name": "add", "args": {"a": 1, "b": 2}},
            "thoughtSignature": "U0lHMQ==",
        },
        {"functionCall": {"name": "mul", "args": {"a": 3, "b": 4}}},
    ]
