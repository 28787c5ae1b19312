"""What is sent to Anthropic's Messages: wire.md, sections 3.1 and 3.2."""

from __future__ import annotations

import itertools
import json
import logging

import pytest
from hypothesis import given

from notebook_agents.errors import AgentConfigurationError, AgentProviderError
from notebook_agents.history.repair import repaired
from notebook_agents.messages import Message, ToolCall
from notebook_agents.providers import AnthropicProvider, ModelRequest
from notebook_agents.providers._anthropic_messages import Conversation
from notebook_agents.providers.anthropic_profile import anthropic_profile
from tests.history.fitness import any_messages, conversations
from tests.providers.anthropic_wire import answer, failed

KEY = "sk-ant-very-secret-0123456789"
PNG = "iVBORw0KGgo="
MARK = {"type": "ephemeral"}
ADD = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "D",
        "strict": True,
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "integer"}},
            "required": ["a"],
            "additionalProperties": False,
        },
    },
}
SENT_ADD = {
    "name": "add",
    "description": "D",
    "input_schema": ADD["function"]["parameters"],
}


def made(server, model="claude-sonnet-5-5", **options) -> AnthropicProvider:
    return AnthropicProvider(
        model, KEY, base_url=server.url, max_retries=0, cache=None, **options
    )


def request(*messages: Message, **fields) -> ModelRequest:
    return ModelRequest(messages=messages or [Message("user", "hi")], **fields)


async def body_of(server, provider, asked: ModelRequest) -> dict:
    server.say(answer("ok"))
    _ = [delta async for delta in provider.respond(asked)]
    return server.requests[-1].body


async def messages_of(server, *messages: Message) -> list:
    return (await body_of(server, made(server), request(*messages)))["messages"]


def said(text: str) -> dict:
    return {"type": "text", "text": text}


def some(body: dict, *names: str) -> dict:
    return {name: body[name] for name in names if name in body}


# --------------------------------------------------------------- the conversation


async def test_a_request_has_the_shape_of_the_wire(server):
    """Wire, section 3.1."""
    asked = request(
        Message("system", "S"), Message("user", "T"), tools=[ADD], max_tokens=100
    )
    body = await body_of(server, made(server), asked)
    assert body == {
        "model": "claude-sonnet-5-5",
        "max_tokens": 100 + 16_384,
        "stream": True,
        "system": [said("S")],
        "messages": [{"role": "user", "content": [said("T")]}],
        "tools": [SENT_ADD],
        "thinking": {"type": "adaptive", "display": "summarized"},
    }
    sent = server.requests[-1]
    assert (sent.method, sent.path) == ("POST", "/v1/messages")
    assert sent.headers["x-api-key"] == KEY
    assert sent.headers["anthropic-version"] == "2023-06-01"
    assert "authorization" not in sent.headers


async def test_results_come_together_and_in_the_order_of_the_calls(server):
    """Wire, section 3.2."""
    calls = (ToolCall("toolu_a", "add", '{"a":1}'), ToolCall("toolu_b", "mul", "{}"))
    messages = await messages_of(
        server,
        Message("user", "go"),
        Message("assistant", "I add.", calls),
        Message("tool", "3", tool_call_id="toolu_a"),
        Message("tool", "12", tool_call_id="toolu_b"),
        Message("user", "and?"),
    )
    assert messages == [
        {"role": "user", "content": [said("go")]},
        {
            "role": "assistant",
            "content": [
                said("I add."),
                {"type": "tool_use", "id": "toolu_a", "name": "add", "input": {"a": 1}},
                {"type": "tool_use", "id": "toolu_b", "name": "mul", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_a",
                    "content": [said("3")],
                },
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_b",
                    "content": [said("12")],
                },
                said("and?"),
            ],
        },
    ]


async def test_results_come_first_wherever_they_were(server):
    messages = await messages_of(
        server,
        Message("user", "go"),
        Message("assistant", "", (ToolCall("a", "f"),)),
        Message("user", "hurry"),
        Message("tool", "3", tool_call_id="a"),
    )
    kinds = [block["type"] for block in messages[-1]["content"]]
    assert kinds == ["tool_result", "text"]


@pytest.mark.parametrize("blank", ["", "  ", "\n\n"])
async def test_a_text_that_says_nothing_is_not_sent(server, blank):
    """Wire, section 3.1: the service refuses blank texts."""
    messages = await messages_of(
        server,
        Message("user", "go"),
        Message("assistant", blank, (ToolCall("a", "f"),)),
        Message("tool", blank, tool_call_id="a"),
        Message("assistant", blank),
        Message("user", [said(blank), said("on")]),
    )
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert messages[1]["content"] == [
        {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    ]
    assert messages[2]["content"] == [
        {"type": "tool_result", "tool_use_id": "a"},
        said("on"),
    ]


async def test_messages_of_the_same_speaker_become_one(server):
    messages = await messages_of(
        server,
        Message("user", "a"),
        Message("user", "b"),
        Message("assistant", "c"),
        Message("assistant", "d"),
        Message("user", "e"),
    )
    assert messages == [
        {"role": "user", "content": [said("a"), said("b")]},
        {"role": "assistant", "content": [said("c"), said("d")]},
        {"role": "user", "content": [said("e")]},
    ]


async def test_system_messages_go_to_the_top(server):
    asked = request(
        Message("system", "a"),
        Message("user", "u"),
        Message("system", [said("b")]),
        Message("system", " "),
    )
    body = await body_of(server, made(server), asked)
    assert body["system"] == [said("a\n\nb")]
    assert body["messages"] == [{"role": "user", "content": [said("u")]}]
    assert "system" not in await body_of(server, made(server), request())


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [("", {}), ("null", {}), ("[1]", {}), ("{broken", {}), ('{"a": 1}', {"a": 1})],
)
async def test_arguments_are_an_object_whatever_was_stored(server, arguments, sent):
    call = ToolCall("a", "f", arguments)
    messages = await messages_of(
        server, Message("user", "go"), Message("assistant", "", (call,))
    )
    assert messages[1]["content"][0]["input"] == sent


async def test_calls_of_other_services_can_be_sent(server):
    """Identifiers and names hold letters, digits, ``_`` and ``-`` only."""
    calls = (ToolCall("functions.add:0", "do it.now"), ToolCall("functions.add.0", "f"))
    messages = await messages_of(
        server,
        Message("user", "go"),
        Message("assistant", "", calls),
        Message("tool", "1", tool_call_id="functions.add:0"),
        Message("tool", "2", tool_call_id="functions.add.0"),
    )
    uses, results = messages[1]["content"], messages[2]["content"]
    assert [use["name"] for use in uses] == ["do_it_now", "f"]
    assert [use["id"] for use in uses] == [each["tool_use_id"] for each in results]
    assert len({use["id"] for use in uses}) == 2
    assert all(use["id"].replace("_", "").isalnum() for use in uses)


async def test_half_a_surrogate_pair_does_not_break_the_request(server):
    messages = await messages_of(server, Message("user", "a\ud800é"))
    assert messages[0]["content"] == [said("a?é")]


def assert_accepted(messages: list[dict]) -> None:
    """Fail where the service would refuse the messages."""
    roles = [message["role"] for message in messages]
    assert all(one != other for one, other in itertools.pairwise(roles))
    for number, message in enumerate(messages):
        content = message["content"]
        assert content
        kinds = [block["type"] for block in content]
        assert kinds == sorted(kinds, key=lambda kind: kind != "tool_result")
        for block in content:
            assert block["type"] != "text" or block["text"].strip()
        asked = [block["id"] for block in content if block["type"] == "tool_use"]
        then = messages[number + 1]["content"] if number + 1 < len(messages) else []
        if asked:
            assert [
                each["tool_use_id"] for each in then if each["type"] == "tool_result"
            ] == asked


@given(conversations())
def test_a_conversation_in_order_is_accepted(messages):
    assert_accepted(Conversation(messages, {}, {}).messages)


@given(any_messages)
def test_a_conversation_that_was_repaired_is_accepted(messages):
    fit = repaired(messages)
    assert_accepted(Conversation(fit, {}, {}).messages)


# ------------------------------------------------------------- images and files


@pytest.mark.parametrize(
    ("part", "block"),
    [
        (said("T"), said("T")),
        (
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": PNG},
            },
        ),
        (
            {
                "type": "image_url",
                "image_url": {"url": f"data:image/JPG;base64,{PNG[:4]}\n{PNG[4:]}"},
            },
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/jpeg", "data": PNG},
            },
        ),
        (
            {"type": "image_url", "image_url": "https://x.example/a.png"},
            {
                "type": "image",
                "source": {"type": "url", "url": "https://x.example/a.png"},
            },
        ),
        (
            {
                "type": "file",
                "file": {
                    "filename": "a.pdf",
                    "file_data": f"data:application/pdf;base64,{PNG}",
                },
            },
            {
                "type": "document",
                "source": {
                    "type": "base64",
                    "media_type": "application/pdf",
                    "data": PNG,
                },
                "title": "a.pdf",
            },
        ),
        (
            {"type": "file", "file": {"file_data": PNG}},
            {
                "type": "document",
                "source": {
                    "type": "base64",
                    "media_type": "application/pdf",
                    "data": PNG,
                },
            },
        ),
        (
            {"type": "file", "file": {"file_data": "https://x.example/a.pdf"}},
            {
                "type": "document",
                "source": {"type": "url", "url": "https://x.example/a.pdf"},
            },
        ),
        (
            {
                "type": "file",
                "file": {"filename": "a.csv", "file_data": "data:text/csv,a%2Cb"},
            },
            {
                "type": "document",
                "source": {"type": "text", "media_type": "text/plain", "data": "a,b"},
                "title": "a.csv",
            },
        ),
        (
            {
                "type": "file",
                "file": {"file_data": f"data:image/png;base64,{PNG}"},
            },
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": PNG},
            },
        ),
    ],
    ids=[
        *("text", "image", "image in lines", "image by URL", "PDF"),
        *("bare PDF", "PDF by URL", "table", "image as a file"),
    ],
)
async def test_parts_are_sent_as_blocks(server, part, block):
    messages = await messages_of(server, Message("user", [part]))
    assert messages == [{"role": "user", "content": [block]}]
    call = Message("assistant", "", (ToolCall("a", "f"),))
    result = Message("tool", [part], tool_call_id="a")
    messages = await messages_of(server, Message("user", "go"), call, result)
    assert messages[2]["content"][0]["content"] == [block]


@pytest.mark.parametrize(
    ("role", "part", "told"),
    [
        (
            "user",
            {"type": "image_url", "image_url": {"url": "data:image/svg+xml,<svg/>"}},
            "PNG, JPEG, GIF or WebP",
        ),
        (
            "user",
            {"type": "file", "file": {"filename": "a.docx", "file_data": PNG}},
            "a PDF or plain text",
        ),
        (
            "user",
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,é"}},
            "no base64",
        ),
        ("user", {"type": "image_url", "image_url": {"url": "cat.png"}}, "data: URL"),
        ("user", {"type": "image_url", "image_url": {"url": "http://x/a"}}, "https:"),
        ("user", {"type": "image_url", "image_url": None}, "data: URL"),
        ("user", {"type": "file", "file": {"file_id": "file_1"}}, "data: URL"),
        ("user", {"type": "input_audio", "input_audio": {}}, "input_audio"),
        ("user", 7, "int"),
        (
            "assistant",
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
            "assistant message can hold text only",
        ),
        (
            "system",
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
            "system message can hold text only",
        ),
    ],
)
async def test_a_part_that_cannot_be_sent_is_told_before_anything_is(
    server, role, part, told
):
    asked = request(Message("user", "go"), Message(role, [part]))
    with pytest.raises(AgentConfigurationError, match=told):
        await anext(made(server).respond(asked))
    assert server.requests == []


# ------------------------------------------------------------------------- tools


async def test_a_tool_without_parameters_has_an_empty_schema(server):
    bare = {"type": "function", "function": {"name": "now"}}
    body = await body_of(server, made(server), request(tools=[bare]))
    assert body["tools"] == [
        {"name": "now", "input_schema": {"type": "object", "properties": {}}}
    ]


@pytest.mark.parametrize(
    ("calling", "sent"),
    [
        ({}, None),
        ({"tool_choice": "auto"}, {"type": "auto"}),
        ({"tool_choice": "none"}, {"type": "none"}),
        ({"tool_choice": "required"}, {"type": "any"}),
        ({"tool_choice": "any"}, {"type": "any"}),
        ({"tool_choice": {"type": "any"}}, {"type": "any"}),
        ({"tool_choice": "add"}, {"type": "tool", "name": "add"}),
        ({"tool_choice": {"name": "add"}}, {"type": "tool", "name": "add"}),
        (
            {"tool_choice": {"type": "function", "function": {"name": "add"}}},
            {"type": "tool", "name": "add"},
        ),
        (
            {"tool_choice": {"type": "tool", "name": "add"}},
            {"type": "tool", "name": "add"},
        ),
        (
            {"parallel_tool_calls": False},
            {"type": "auto", "disable_parallel_tool_use": True},
        ),
        (
            {"parallel_tool_calls": False, "tool_choice": "required"},
            {"type": "any", "disable_parallel_tool_use": True},
        ),
        ({"parallel_tool_calls": False, "tool_choice": "none"}, {"type": "none"}),
        ({"parallel_tool_calls": True}, None),
        ({"mode": "AUTO"}, None),
        ({"tool_choice": ["add"]}, None),
    ],
    ids=str,
)
async def test_a_choice_of_tools_is_told_in_the_words_of_the_wire(
    server, calling, sent
):
    provider = made(server, "claude-haiku-4-5")
    body = await body_of(server, provider, request(tools=[ADD], tool_calling=calling))
    assert body.get("tool_choice") == sent
    body = await body_of(server, provider, request(tool_calling=calling))
    assert not {"tools", "tool_choice"} & body.keys()


@pytest.mark.parametrize(
    "model", ["claude-sonnet-5-5", "claude-opus-5-5", "claude-fable-5-1"]
)
async def test_who_cannot_be_made_to_call_a_tool_is_not(server, model, caplog):
    """Wire, section 3.1."""
    provider = made(server, model)
    calling = {"tool_choice": "required", "parallel_tool_calls": False}
    for _ in range(2):
        asked = request(tools=[ADD], tool_calling=calling)
        body = await body_of(server, provider, asked)
        assert body["tool_choice"] == {
            "type": "auto",
            "disable_parallel_tool_use": True,
        }
    assert [record.getMessage() for record in caplog.records] == [
        f"{model} takes no forced tool_choice; it is left out"
    ]
    asked = request(tools=[ADD], tool_calling={"tool_choice": "none"})
    assert (await body_of(server, provider, asked))["tool_choice"] == {"type": "none"}


async def test_tools_that_the_service_runs_stand_beside_those_of_the_agent(server):
    search = {"type": "web_search_20250305", "name": "web_search", "max_uses": 5}
    provider = made(server, extra_body={"tools": [search]})
    body = await body_of(server, provider, request(tools=[ADD]))
    assert body["tools"] == [SENT_ADD, search]
    body = await body_of(server, provider, request())
    assert body["tools"] == [search]


# ---------------------------------------------------------------- thinking, limits

ADAPTIVE = {"type": "adaptive", "display": "summarized"}
ROOM = 16_384


@pytest.mark.parametrize(
    ("model", "params", "thinking", "limit"),
    [
        ("claude-haiku-4-5", {}, None, 10),
        ("claude-opus-4-8", {}, None, 10),
        ("claude-sonnet-5-5", {}, ADAPTIVE, 10 + ROOM),
        ("claude-haiku-5-5", {}, ADAPTIVE, 10 + ROOM),
        ("qwen3", {}, None, 10),
        (
            "claude-haiku-4-5",
            {"thinking": {"type": "enabled", "budget_tokens": 2048}},
            {"type": "enabled", "budget_tokens": 2048},
            10 + 2048,
        ),
        ("claude-opus-4-8", {"reasoning_effort": "low"}, ADAPTIVE, 10 + ROOM),
        (
            "claude-sonnet-5-5",
            {"thinking": {"type": "between_tools"}},
            {"type": "between_tools"},
            10 + ROOM,
        ),
        (
            "claude-sonnet-5-5",
            {"reasoning_effort": "none"},
            {"type": "between_tools"},
            10 + ROOM,
        ),
        ("claude-opus-5", {"reasoning_effort": "none"}, {"type": "disabled"}, 10),
        ("claude-opus-5-5", {"reasoning_effort": "none"}, ADAPTIVE, 10 + ROOM),
        ("claude-haiku-4-5", {"reasoning_effort": "none"}, None, 10),
        ("claude-opus-5", {"max_completion_tokens": 5}, ADAPTIVE, 5 + ROOM),
    ],
)
async def test_a_model_that_thinks_gets_room_for_it(
    server, model, params, thinking, limit
):
    """Design, section 17: max_tokens means visible output."""
    body = await body_of(
        server, made(server, model), request(params=params, max_tokens=10)
    )
    assert body.get("thinking") == thinking
    assert body["max_tokens"] == limit
    assert "max_completion_tokens" not in body


@pytest.mark.parametrize(
    ("model", "effort", "sent"),
    [
        ("claude-sonnet-5-5", "high", "high"),
        ("claude-sonnet-5-5", "minimal", "low"),
        ("claude-sonnet-5-5", "none", None),
        ("claude-opus-5-5", "none", "low"),
        ("claude-opus-4-6", "medium", "medium"),
        ("claude-haiku-4-5", "high", None),
    ],
)
async def test_an_effort_is_told_in_the_words_of_the_wire(server, model, effort, sent):
    asked = request(tool_calling={"reasoning_effort": effort})
    body = await body_of(server, made(server, model), asked)
    assert body.get("output_config", {}).get("effort") == sent
    assert "reasoning_effort" not in body


async def test_who_must_call_a_tool_at_once_does_not_think(server):
    """The service takes no forced choice while a model thinks."""
    asked = request(tools=[ADD], tool_calling={"tool_choice": "required"}, max_tokens=9)
    body = await body_of(server, made(server, "claude-haiku-5-5"), asked)
    assert body["tool_choice"] == {"type": "any"}
    assert (body["thinking"], body["max_tokens"]) == ({"type": "disabled"}, 9)


async def test_a_choice_without_tools_stops_nobody_from_thinking(server):
    asked = request(tool_calling={"tool_choice": "required"})
    body = await body_of(server, made(server, "claude-haiku-5-5"), asked)
    assert body["thinking"] == ADAPTIVE


async def test_a_profile_may_be_given(server):
    profile = anthropic_profile("claude-haiku-4-5")
    provider = made(server, "my-own", profile=profile)
    assert provider.profile == profile
    body = await body_of(server, provider, request(max_tokens=10))
    assert body["max_tokens"] == 10


# ------------------------------------------------------------------- parameters

SAMPLING = {"top_p": 0.5, "top_k": 9}


@pytest.mark.parametrize(
    ("model", "options", "params", "sent"),
    [
        ("claude-haiku-4-5", {}, SAMPLING, {"temperature": 0.7, **SAMPLING}),
        ("claude-haiku-4-5", {"version": "2026-10-21"}, SAMPLING, {}),
        ("claude-opus-4-7", {}, SAMPLING, {}),
        ("claude-sonnet-5-5", {}, SAMPLING, {}),
        (
            "claude-haiku-4-5",
            {},
            {"thinking": {"type": "enabled", "budget_tokens": 1024}, "top_k": 3},
            {},
        ),
        ("qwen3", {}, SAMPLING, {"temperature": 0.7, **SAMPLING}),
        ("claude-sonnet-5-5", {"extra_body": {"top_k": 1}}, SAMPLING, {"top_k": 1}),
    ],
)
async def test_sampling_parameters_go_to_who_takes_them(
    server, model, options, params, sent
):
    """Wire, section 3."""
    asked = request(temperature=0.7, params=params)
    body = await body_of(server, made(server, model, **options), asked)
    assert some(body, "temperature", "top_p", "top_k") == sent


async def test_what_is_left_out_is_told_once(server, caplog):
    provider = made(server)
    for _ in range(2):
        await body_of(server, provider, request(temperature=0))
    assert [record.getMessage() for record in caplog.records] == [
        "claude-sonnet-5-5 takes no temperature; it is left out"
    ]


async def test_what_the_service_refuses_is_told_once(server, caplog):
    provider = made(server, "qwen3")
    refusal = "temperature: Extra inputs are not permitted"
    server.say(failed(400, "invalid_request_error", refusal))
    for _ in range(2):
        await body_of(server, provider, request(temperature=0))
    assert [record.getMessage() for record in caplog.records] == [
        "qwen3 takes no temperature; it is left out"
    ]


async def test_what_the_user_did_not_set_is_left_out_silently(server, caplog):
    with caplog.at_level(logging.DEBUG):
        await body_of(server, made(server), request())
    assert caplog.records == []


async def test_params_are_sent_but_never_instead_of_the_run(server):
    params = {"metadata": {"user_id": "7"}, "service_tier": "auto"}
    params |= {"stop": "END", "messages": [], "stream": False, "model": "other"}
    params |= {"system": "other", "tools": []}
    asked = request(params=params, tool_calling={"stop": ["X"], "seed": 1})
    body = await body_of(server, made(server), asked)
    assert body["metadata"] == {"user_id": "7"}
    assert body["service_tier"] == "auto"
    assert body["stop_sequences"] == ["END"]
    assert (body["stream"], body["model"]) == (True, "claude-sonnet-5-5")
    assert body["messages"] == [{"role": "user", "content": [said("hi")]}]
    assert not {"system", "tools", "stop", "seed"} & body.keys()


async def test_more_keys_may_be_added(server):
    extra = {"thinking": {"type": "disabled"}, "speed": "fast", "max_tokens": 7}
    body = await body_of(server, made(server, extra_body=extra), request())
    assert some(body, *extra) == extra


@pytest.mark.parametrize(
    ("refusal", "model", "asked", "key"),
    [
        ("temperature: Extra inputs are not permitted", "qwen3", {}, "temperature"),
        ("`temperature` is deprecated for this model.", "qwen3", {}, "temperature"),
        (
            "`temperature` and `top_p` cannot both be specified for this model.",
            "qwen3",
            {"params": {"top_p": 0.5}},
            "top_p",
        ),
        ("seed: Extra inputs are not permitted", "qwen3", {"params": {"seed": 1}}, "seed"),
        (
            "thinking: Input tag 'adaptive' found using 'type' does not match any",
            "claude-sonnet-5-5",
            {},
            "thinking",
        ),
        (
            '"thinking.type.disabled" is not supported for this model. '
            'Use "thinking.type.adaptive" and "output_config.effort".',
            "claude-nova-6",
            {"params": {"thinking": {"type": "disabled"}}},
            "thinking",
        ),
        (
            "This model does not support the effort parameter.",
            "claude-opus-4-6",
            {"params": {"reasoning_effort": "low"}},
            "output_config",
        ),
    ],
)  # fmt: skip
async def test_what_the_service_refuses_is_left_out(server, refusal, model, asked, key):
    provider = made(server, model)
    request_ = request(temperature=0.7, **asked)
    server.say(failed(400, "invalid_request_error", refusal))
    server.say(answer("ok"), answer("ok"))
    for _ in range(2):
        _ = [delta async for delta in provider.respond(request_)]
    bodies = [sent.body for sent in server.requests]
    assert [key in body for body in bodies] == [True, False, False]
    others = bodies[0].keys() - {key, "max_tokens"}
    assert others <= bodies[1].keys()


async def test_a_model_that_turns_out_not_to_be_forced_is_not(server):
    provider = made(server, "claude-nova-4-9")
    asked = request(tools=[ADD], tool_calling={"tool_choice": "required"})
    refusal = 'tool_choice: "any" is not supported for this model.'
    server.say(failed(400, "invalid_request_error", refusal), answer("ok"))
    _ = [delta async for delta in provider.respond(asked)]
    bodies = [sent.body for sent in server.requests]
    assert [body.get("tool_choice") for body in bodies] == [{"type": "any"}, None]


async def test_a_choice_of_a_tool_that_there_is_not_is_an_error(server):
    provider = made(server, "claude-haiku-4-5")
    asked = request(tools=[ADD], tool_calling={"tool_choice": "nope"})
    refusal = "tool_choice: Tool 'nope' not found in provided tools"
    server.say(failed(400, "invalid_request_error", refusal))
    with pytest.raises(AgentProviderError, match="'nope' not found"):
        _ = [delta async for delta in provider.respond(asked)]


async def test_who_thinks_unasked_keeps_the_room_for_it(server):
    provider = made(server, "claude-opus-5-5")
    refusal = '"thinking.type.disabled" is not supported for this model.'
    server.say(failed(400, "invalid_request_error", refusal), answer("ok"))
    params = {"thinking": {"type": "disabled"}}
    _ = [d async for d in provider.respond(request(params=params, max_tokens=10))]
    limits = [sent.body["max_tokens"] for sent in server.requests]
    assert limits == [10, 10 + ROOM]


async def test_the_limit_is_what_the_service_says_it_can_be(server):
    provider = made(server)
    refusal = (
        "max_tokens: 16394 > 8192, which is the maximum allowed number of output "
        "tokens for claude-sonnet-5-5"
    )
    server.say(failed(400, "invalid_request_error", refusal), answer("ok"))
    _ = [delta async for delta in provider.respond(request(max_tokens=10))]
    body = await body_of(server, provider, request(max_tokens=99_999))
    limits = [sent.body["max_tokens"] for sent in server.requests]
    assert limits == [16394, 8192, 8192]
    assert body["max_tokens"] == 8192


@pytest.mark.parametrize(
    "refusal",
    [
        "temperature: Input should be less than or equal to 1",
        "max_tokens: 8192 > 8192, which is odd",
        "thinking.enabled.budget_tokens: Input should be greater than 1024",
        "messages: at least one message is required",
        "seed: Extra inputs are not permitted",
    ],
)
async def test_a_refusal_that_does_not_end_is_an_error(server, refusal):
    provider = made(server, "qwen3")
    for _ in range(3):
        server.say(failed(400, "invalid_request_error", refusal))
    with pytest.raises(AgentProviderError, match="400"):
        _ = [delta async for delta in provider.respond(request(temperature=7))]
    assert len(server.requests) <= 2


# ------------------------------------------------------------------ what is cached


def marks_in(body: dict) -> list[str]:
    """Name the places that carry a mark."""
    places = [
        f"{name} {number}"
        for name in ("tools", "system")
        for number, block in enumerate(body.get(name, []))
        if "cache_control" in block
    ]
    return places + [
        f"message {number}"
        for number, message in enumerate(body["messages"])
        for place, block in enumerate(message["content"])
        if "cache_control" in block and place == len(message["content"]) - 1
    ]


TURNS = [
    Message("user", "a"),
    Message("assistant", "b"),
    Message("user", "c"),
    Message("assistant", "", (ToolCall("x", "add"),)),
    Message("tool", "3", tool_call_id="x"),
]


@pytest.mark.parametrize(
    ("messages", "tools", "marks"),
    [
        ([Message("user", "a")], [], []),
        ([Message("user", "a")], [ADD], ["tools 0", "message 0"]),
        ([Message("system", "S"), Message("user", "a")], [], ["system 0"]),
        (
            [Message("system", "S"), Message("user", "a")],
            [ADD],
            ["system 0", "message 0"],
        ),
        (
            [Message("system", "S"), *TURNS[:3]],
            [],
            ["system 0", "message 0", "message 2"],
        ),
        (
            [Message("system", "S"), *TURNS],
            [ADD],
            ["system 0", "message 2", "message 4"],
        ),
    ],
    ids=["question", "tools", "system", "both", "conversation", "tool round"],
)
async def test_what_comes_again_is_marked_for_the_cache(server, messages, tools, marks):
    provider = AnthropicProvider("claude-haiku-4-5", KEY, base_url=server.url)
    body = await body_of(server, provider, request(*messages, tools=tools))
    assert marks_in(body) == marks
    unmarked = made(server, "claude-haiku-4-5")
    plain = await body_of(server, unmarked, request(*messages, tools=tools))
    assert json.loads(json.dumps(body).replace(', "cache_control": ' + json.dumps(MARK), "")) == plain  # fmt: skip


async def test_the_cache_may_last_an_hour(server):
    provider = AnthropicProvider(api_key=KEY, base_url=server.url, cache="1h")
    body = await body_of(server, provider, request(Message("system", "S"), *TURNS))
    assert body["system"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}


async def test_the_cache_can_be_switched_off(server):
    body = await body_of(
        server, made(server), request(Message("system", "S"), *TURNS, tools=[ADD])
    )
    assert "cache_control" not in json.dumps(body)


def test_a_cache_that_there_is_not_is_refused():
    with pytest.raises(AgentConfigurationError, match='"5m", "1h" or None'):
        AnthropicProvider(cache="2h")


async def test_a_service_without_a_cache_gets_no_marks(server):
    provider = AnthropicProvider(api_key=KEY, base_url=server.url)
    refusal = "system.0.cache_control: Extra inputs are not permitted"
    asked = request(Message("system", "S"), *TURNS)
    server.say(failed(400, "invalid_request_error", refusal), answer("ok"))
    _ = [delta async for delta in provider.respond(asked)]
    assert "cache_control" not in json.dumps(await body_of(server, provider, asked))
    assert len(server.requests) == 3


# ------------------------------------------------------------------- what is known


@pytest.mark.parametrize(
    ("model", "changes"),
    [
        ("claude-3-5-sonnet-20241022", {}),
        ("claude-opus-4-20250514", {}),
        ("claude-opus-4-1-20250805", {"output": "native"}),
        ("claude-haiku-4-5@20251001", {"output": "native"}),
        (
            "us.anthropic.claude-opus-4-6-v1",
            {"output": "native", "is_adaptive": True},
        ),
        (
            "claude-opus-4-8",
            {"output": "native", "is_adaptive": True, "sends_sampling": False},
        ),
        ("claude-mythos-preview", {}),
        ("gpt-6", {}),
    ],
)
def test_models_differ(model, changes):
    usual = anthropic_profile("")
    known = anthropic_profile(model)
    assert {
        name: getattr(known, name)
        for name in known.__dataclass_fields__
        if getattr(known, name) != getattr(usual, name)
    } == changes


@pytest.mark.parametrize(
    ("model", "no_thinking", "forces"),
    [
        ("claude-opus-5", "disabled", True),
        ("claude-opus-5-20260901", "disabled", True),
        ("claude-sonnet-5", "disabled", True),
        ("claude-haiku-5-5", "disabled", True),
        ("claude-fable-5", None, True),
        ("claude-fable-5-2", None, False),
        ("claude-opus-5-5", None, False),
        ("anthropic/claude-sonnet-5.5", "between_tools", False),
        ("claude-sonnet-6", "between_tools", False),
    ],
)
def test_new_models_think_and_take_no_sampling(model, no_thinking, forces):
    profile = anthropic_profile(model)
    assert profile.thinking == "adaptive"
    assert not profile.sends_sampling
    assert (profile.no_thinking, profile.forces_tools) == (no_thinking, forces)
