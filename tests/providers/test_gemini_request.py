"""What is sent to Gemini's generateContent: wire.md, sections 4.1 and 4.2."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given

from notebook_agents.errors import AgentConfigurationError, AgentProviderError
from notebook_agents.history.repair import repaired
from notebook_agents.messages import Message, ToolCall
from notebook_agents.providers import GeminiProvider, ModelRequest
from notebook_agents.providers._gemini_contents import contents_of
from notebook_agents.providers.gemini_profile import GeminiProfile, gemini_profile
from tests.history.fitness import any_messages, conversations
from tests.providers.gemini_wire import answer, failed

KEY = "AIza-very-secret-0123456789"
PNG = "iVBORw0KGgo="
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
PARAMETERS = {
    "type": "object",
    "properties": {"a": {"type": "integer"}},
    "required": ["a"],
}
SENT_ADD = {"name": "add", "description": "D", "parametersJsonSchema": PARAMETERS}
SKIP = "skip_thought_signature_validator"


def made(server, model="gemini-3.8-flash", **options) -> GeminiProvider:
    return GeminiProvider(model, KEY, base_url=server.url, max_retries=0, **options)


def request(*messages: Message, **fields) -> ModelRequest:
    return ModelRequest(messages=messages or [Message("user", "hi")], **fields)


async def body_of(server, provider, asked: ModelRequest) -> dict:
    server.say(answer("ok"))
    _ = [delta async for delta in provider.respond(asked)]
    return server.requests[-1].body


async def contents(server, *messages: Message, model="gemini-3.8-flash") -> list:
    return (await body_of(server, made(server, model), request(*messages)))["contents"]


async def config_of(server, model="gemini-3.8-flash", **fields) -> dict:
    body = await body_of(server, made(server, model), request(**fields))
    return body["generationConfig"]


def said(text: str) -> dict:
    return {"text": text}


def called(name: str, args: dict, **facts) -> dict:
    return {"functionCall": {"name": name, "args": args, **facts}}


def result(name: str, value: object, **facts) -> dict:
    response = {"name": name, "response": {"result": value}, **facts}
    return {"functionResponse": response}


# --------------------------------------------------------------- the conversation


async def test_a_request_has_the_shape_of_the_wire(server):
    """Wire, section 4.1."""
    asked = request(
        Message("system", "S"), Message("user", "T"), tools=[ADD], max_tokens=100
    )
    body = await body_of(server, made(server), asked)
    assert body == {
        "contents": [{"role": "user", "parts": [said("T")]}],
        "systemInstruction": {"parts": [said("S")]},
        "tools": [{"functionDeclarations": [SENT_ADD]}],
        "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
        "generationConfig": {
            "maxOutputTokens": 100 + 16_384,
            "thinkingConfig": {"includeThoughts": True},
        },
    }
    sent = server.requests[-1]
    path = "/v1/models/gemini-3.8-flash:streamGenerateContent?alt=sse"
    assert (sent.method, sent.path) == ("POST", path)
    assert sent.headers["x-goog-api-key"] == KEY
    assert "authorization" not in sent.headers


async def test_a_whole_reply_may_be_asked_for(server):
    await body_of(server, made(server, streaming=False), request())
    assert server.requests[0].path == "/v1/models/gemini-3.8-flash:generateContent"


async def test_results_come_together_and_in_the_order_of_the_calls(server):
    """Wire, section 4.2: one content, the same order, nothing else in it."""
    calls = (ToolCall("a", "add", '{"a":1}'), ToolCall("b", "add", '{"a":2}'))
    assert await contents(
        server,
        Message("user", "go"),
        Message("assistant", "I add.", calls),
        Message("tool", "4", tool_call_id="b"),
        Message("tool", "3", tool_call_id="a"),
        Message("user", "and?"),
    ) == [
        {"role": "user", "parts": [said("go")]},
        {
            "role": "model",
            "parts": [
                said("I add."),
                called("add", {"a": 1}, id="a"),
                called("add", {"a": 2}, id="b"),
            ],
        },
        {"role": "user", "parts": [result("add", 3, id="a"), result("add", 4, id="b")]},
        {"role": "user", "parts": [said("and?")]},
    ]


@pytest.mark.parametrize("blank", ["", "  ", "\n\n"])
async def test_a_text_that_says_nothing_is_not_sent(server, blank):
    sent = await contents(
        server,
        Message("user", "go"),
        Message("assistant", blank, (ToolCall("a", "f"),)),
        Message("tool", blank, tool_call_id="a"),
        Message("assistant", blank),
        Message(
            "user", [{"type": "text", "text": blank}, {"type": "text", "text": "on"}]
        ),
    )
    assert [each["parts"] for each in sent] == [
        [said("go")],
        [called("f", {}, id="a")],
        [result("f", blank, id="a")],
        [said("on")],
    ]


async def test_messages_of_the_same_speaker_become_one(server):
    assert await contents(
        server,
        Message("user", "a"),
        Message("user", "b"),
        Message("assistant", "c"),
        Message("assistant", "d", (ToolCall("x", "f"),)),
        Message("tool", "1", tool_call_id="x"),
        Message("assistant", "e"),
        Message("user", "f"),
    ) == [
        {"role": "user", "parts": [said("a"), said("b")]},
        {"role": "model", "parts": [said("c"), said("d"), called("f", {}, id="x")]},
        {"role": "user", "parts": [result("f", 1, id="x")]},
        {"role": "model", "parts": [said("e")]},
        {"role": "user", "parts": [said("f")]},
    ]


async def test_system_messages_go_to_the_top(server):
    asked = request(
        Message("system", "a"),
        Message("user", "u"),
        Message("system", [{"type": "text", "text": "b"}]),
        Message("system", " "),
    )
    body = await body_of(server, made(server), asked)
    assert body["systemInstruction"] == {"parts": [said("a\n\nb")]}
    assert body["contents"] == [{"role": "user", "parts": [said("u")]}]
    assert "systemInstruction" not in await body_of(server, made(server), request())


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        ("", {}),
        ("null", {}),
        ("[1]", {}),
        ("{broken", {}),
        ('{"a": 1}', {"a": 1}),
        ('{"a": 1e999}', {"a": None}),
    ],
)
async def test_arguments_are_an_object_whatever_was_stored(server, arguments, sent):
    messages = await contents(
        server,
        Message("user", "go"),
        Message("assistant", "", (ToolCall("a", "f", arguments),)),
        Message("user", "on"),
    )
    assert messages[1]["parts"][0]["functionCall"]["args"] == sent


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ('{"a": [1.50]}', {"a": [1.5]}),
        ("[]", []),
        ("true", True),
        ("null", None),
        ('"a"', "a"),
        ("plain", "plain"),
        ("1.10", "1.10"),
        ("007", "007"),
        ("1e999", "1e999"),
        ("NaN", "NaN"),
        ('{"a": 1} and more', '{"a": 1} and more'),
    ],
)
async def test_a_result_that_is_json_goes_as_the_value_it_is(server, text, value):
    """Wire, section 4.2; a version such as 1.10 stays the text it is."""
    messages = await contents(
        server,
        Message("user", "go"),
        Message("assistant", "", (ToolCall("a", "f"),)),
        Message("tool", text, tool_call_id="a"),
    )
    assert messages[2]["parts"] == [result("f", value, id="a")]


async def test_calls_of_other_services_can_be_sent(server):
    """Names hold letters, digits, ``_`` and ``-`` only; identifiers may be any."""
    calls = (ToolCall("functions.add:0", "do it.now"), ToolCall("functions.add.0", "f"))
    messages = await contents(
        server,
        Message("user", "go"),
        Message("assistant", "", calls),
        Message("tool", "1", tool_call_id="functions.add:0"),
        Message("tool", "2", tool_call_id="functions.add.0"),
        Message("user", "on"),
    )
    assert messages[1]["parts"] == [
        called("do_it_now", {}, id="functions.add:0"),
        called("f", {}, id="functions.add.0"),
    ]
    assert messages[2]["parts"] == [
        result("do_it_now", 1, id="functions.add:0"),
        result("f", 2, id="functions.add.0"),
    ]


@pytest.mark.parametrize(
    ("model", "signatures"),
    [
        ("gemini-3.8-flash", [[None], [SKIP, None], [SKIP]]),
        ("gemini-2.5-flash", [[None], [None, None], [None]]),
    ],
)
async def test_calls_of_this_turn_that_never_had_a_signature_say_so(
    server, model, signatures
):
    """Wire, section 4.2: without, the first call of each step is refused."""
    two = (ToolCall("b", "f"), ToolCall("c", "f"))
    sent = await contents(
        server,
        Message("user", "go"),
        Message("assistant", "", (ToolCall("a", "f"),)),
        Message("tool", "1", tool_call_id="a"),
        Message("assistant", "done"),
        Message("user", "on"),
        Message("assistant", "hm", two),
        Message("tool", "1", tool_call_id="b"),
        Message("tool", "2", tool_call_id="c"),
        Message("assistant", "", (ToolCall("d", "f"),)),
        Message("tool", "3", tool_call_id="d"),
        model=model,
    )
    replies = [each["parts"] for each in sent if each["role"] == "model"]
    found = [
        [part.get("thoughtSignature") for part in parts if "functionCall" in part]
        for parts in replies
    ]
    assert [each for each in found if each] == signatures


async def test_half_a_surrogate_pair_does_not_break_the_request(server):
    sent = await contents(server, Message("user", "a\ud800é"))
    assert sent[0]["parts"] == [said("a?é")]


def assert_accepted(sent: list[dict]) -> None:
    """Fail where the service would refuse the contents."""
    waiting: list[tuple[str, str | None]] = []
    for content in sent:
        parts = content["parts"]
        assert parts
        assert content["role"] in {"user", "model"}
        results = [p["functionResponse"] for p in parts if "functionResponse" in p]
        assert [(each["name"], each.get("id")) for each in results] == waiting
        assert not results or len(results) == len(parts)
        assert all(each.get("text", "x").strip() for each in parts)
        calls = [part["functionCall"] for part in parts if "functionCall" in part]
        assert not calls or content["role"] == "model"
        waiting = [(each["name"], each.get("id")) for each in calls]


@given(conversations())
def test_a_conversation_in_order_is_accepted(messages):
    assert_accepted(contents_of(messages, {}))


@given(any_messages)
def test_a_conversation_that_was_repaired_is_accepted(messages):
    sent = contents_of(repaired(messages), {}, needs_signatures=True)
    assert_accepted(sent)
    assert not sent or sent[0]["role"] == "user"


# ------------------------------------------------------------- images and files


def image(url: str) -> dict:
    return {"type": "image_url", "image_url": {"url": url}}


def file(data: str, name: str = "a.pdf") -> dict:
    return {"type": "file", "file": {"filename": name, "file_data": data}}


def inline(kind: str, data: str) -> dict:
    return {"inlineData": {"mimeType": kind, "data": data}}


@pytest.mark.parametrize(
    ("part", "sent"),
    [
        ({"type": "text", "text": "T"}, said("T")),
        (image(f"data:image/png;base64,{PNG}"), inline("image/png", PNG)),
        (image(f"data:image/JPG;base64,{PNG}"), inline("image/jpeg", PNG)),
        (image(f"data:image/heic;base64,{PNG}"), inline("image/heic", PNG)),
        (
            image("https://x.example/a.png?b=c"),
            {
                "fileData": {
                    "fileUri": "https://x.example/a.png?b=c",
                    "mimeType": "image/png",
                }
            },
        ),
        (
            image("https://x.example/a"),
            {"fileData": {"fileUri": "https://x.example/a"}},
        ),
        (
            file("data:application/pdf;base64,AAAA"),
            inline("application/pdf", "AAAA"),
        ),
        (file("AAAA"), inline("application/pdf", "AAAA")),
        (file("data:text/csv;base64,AAAA", "a.csv"), inline("text/plain", "AAAA")),
        (file("data:audio/mp3;base64,AAAA", "a.mp3"), inline("audio/mp3", "AAAA")),
    ],
)
async def test_parts_are_sent_as_the_wire_has_them(server, part, sent):
    """Wire, section 4.1."""
    assert await contents(server, Message("user", [part])) == [
        {"role": "user", "parts": [sent]}
    ]


@pytest.mark.parametrize(
    "content",
    [
        [image(f"data:image/gif;base64,{PNG}")],
        [file("data:application/zip;base64,AAAA", "a.zip")],
        [{"type": "input_audio", "input_audio": {}}],
        [image("file:///etc/passwd")],
    ],
)
async def test_a_part_that_cannot_be_sent_is_told_before_anything_is(server, content):
    with pytest.raises(AgentConfigurationError):
        await contents(server, Message("user", content))
    assert server.connections == 0


# -------------------------------------------------------------------------- tools


@pytest.mark.parametrize("parameters", [None, True, {}, {"type": "object"}])
async def test_a_function_without_arguments_has_no_schema(server, parameters):
    """Wire, section 4.1: an object without properties may be refused."""
    function = {"name": "now", "parameters": parameters}
    asked = request(tools=[{"type": "function", "function": function}])
    body = await body_of(server, made(server), asked)
    assert body["tools"] == [{"functionDeclarations": [{"name": "now"}]}]


async def test_arguments_may_be_told_by_a_reference(server):
    schema = {"$defs": {"A": PARAMETERS}, "$ref": "#/$defs/A"}
    function = {"name": "add", "description": "D", "parameters": schema}
    asked = request(tools=[{"type": "function", "function": function}])
    body = await body_of(server, made(server), asked)
    assert body["tools"] == [{"functionDeclarations": [SENT_ADD]}]


async def test_all_functions_are_one_tool(server):
    other = {"type": "function", "function": {"name": "now", "parameters": {}}}
    empty = {"type": "object", "properties": {}, "additionalProperties": False}
    third = {"type": "function", "function": {"name": "today", "parameters": empty}}
    asked = request(tools=[ADD, other, third])
    body = await body_of(server, made(server), asked)
    assert body["tools"] == [
        {"functionDeclarations": [SENT_ADD, {"name": "now"}, {"name": "today"}]}
    ]


@pytest.mark.parametrize(
    ("calling", "choice"),
    [
        ({}, {"mode": "AUTO"}),
        ({"tool_choice": "auto"}, {"mode": "AUTO"}),
        ({"tool_choice": "none"}, {"mode": "NONE"}),
        ({"tool_choice": "required"}, {"mode": "ANY"}),
        ({"tool_choice": "any"}, {"mode": "ANY"}),
        ({"tool_choice": "validated"}, {"mode": "VALIDATED"}),
        ({"tool_choice": "add"}, {"mode": "ANY", "allowedFunctionNames": ["add"]}),
        (
            {"tool_choice": {"type": "function", "function": {"name": "add"}}},
            {"mode": "ANY", "allowedFunctionNames": ["add"]},
        ),
        ({"tool_choice": {"type": "any"}}, {"mode": "ANY"}),
        ({"mode": "AUTO"}, {"mode": "AUTO"}),
        (
            {"mode": "ANY", "allowed_function_names": ["add"]},
            {"mode": "ANY", "allowedFunctionNames": ["add"]},
        ),
        ({"mode": "AUTO", "allowed_function_names": ["add"]}, {"mode": "AUTO"}),
        ({"tool_choice": "auto", "parallel_tool_calls": False}, {"mode": "AUTO"}),
    ],
)
async def test_a_choice_of_tools_is_told_in_the_words_of_the_wire(
    server, calling, choice
):
    """Requirements A35 and A51; wire, section 4.1."""
    asked = request(tools=[ADD], tool_calling=calling)
    body = await body_of(server, made(server), asked)
    assert body["toolConfig"] == {"functionCallingConfig": choice}
    without_tools = request(tool_calling=calling)
    assert "toolConfig" not in await body_of(server, made(server), without_tools)


async def test_a_call_of_an_earlier_turn_does_not_count_as_forced(server):
    asked = request(
        Message("user", "go"),
        Message("assistant", "", (ToolCall("a", "add", '{"a": 1}'),)),
        Message("tool", "1", tool_call_id="a"),
        Message("assistant", "done"),
        Message("user", "on"),
        tools=[ADD],
        tool_calling={"mode": "ANY"},
    )
    body = await body_of(server, made(server), asked)
    assert body["toolConfig"]["functionCallingConfig"] == {"mode": "ANY"}


async def test_a_call_that_was_forced_is_not_forced_again(server):
    """Else the run would never end."""
    asked = request(
        Message("user", "go"),
        Message("assistant", "", (ToolCall("a", "add", '{"a": 1}'),)),
        Message("tool", "1", tool_call_id="a"),
        tools=[ADD],
        tool_calling={"mode": "ANY"},
    )
    body = await body_of(server, made(server), asked)
    assert body["toolConfig"]["functionCallingConfig"] == {"mode": "AUTO"}


async def test_tools_that_the_service_runs_stand_beside_those_of_the_agent(server):
    search = {"googleSearch": {}}
    provider = made(server, extra_body={"tools": [search]})
    body = await body_of(server, provider, request(tools=[ADD]))
    assert body["tools"] == [{"functionDeclarations": [SENT_ADD]}, search]
    assert (await body_of(server, provider, request()))["tools"] == [search]


# ----------------------------------------------------------- thoughts and sampling


THOUGHTS = {"includeThoughts": True}


@pytest.mark.parametrize(
    ("model", "params", "thinking", "room"),
    [
        ("gemini-3.8-flash", {}, THOUGHTS, 16_384),
        ("gemini-2.5-flash", {}, THOUGHTS, 16_384),
        ("gemini-2.0-flash", {}, None, 0),
        ("gemma-3-27b-it", {}, None, 0),
        (
            "gemini-3.8-flash",
            {"thinkingConfig": {"thinkingLevel": "LOW"}},
            {**THOUGHTS, "thinkingLevel": "LOW"},
            16_384,
        ),
        (
            "gemini-2.5-flash",
            {"thinking_config": {"thinking_budget": 2048, "include_thoughts": False}},
            {"includeThoughts": False, "thinkingBudget": 2048},
            2048,
        ),
        (
            "gemini-2.5-flash",
            {"thinking_budget": 0},
            {**THOUGHTS, "thinkingBudget": 0},
            0,
        ),
        (
            "gemini-2.5-flash",
            {"thinkingBudget": -1},
            {**THOUGHTS, "thinkingBudget": -1},
            16_384,
        ),
    ],
)
async def test_a_model_that_thinks_gets_room_for_it(
    server, model, params, thinking, room
):
    """Design, section 17: ``max_tokens`` means visible output."""
    config = await config_of(server, model, params=params, max_tokens=100)
    assert config == {"maxOutputTokens": 100 + room} | (
        {"thinkingConfig": thinking} if thinking else {}
    )


@pytest.mark.parametrize(
    ("model", "effort", "sent"),
    [
        ("gemini-3.8-flash", "none", {"thinkingLevel": "LOW"}),
        ("gemini-3.8-flash", "low", {"thinkingLevel": "LOW"}),
        ("gemini-3.8-flash", "medium", {"thinkingLevel": "MEDIUM"}),
        ("gemini-3.8-flash", "xhigh", {"thinkingLevel": "HIGH"}),
        ("gemini-3.5-flash-lite", "minimal", {"thinkingLevel": "MINIMAL"}),
        ("gemini-3.1-pro-preview", "minimal", {"thinkingLevel": "LOW"}),
        ("gemini-4-argon", "none", {"thinkingLevel": "LOW"}),
        ("gemini-2.5-flash", "none", {"thinkingBudget": 0}),
        ("gemini-2.5-pro", "none", {"thinkingBudget": 128}),
        ("gemini-2.5-flash", "medium", {"thinkingBudget": 8192}),
        ("gemini-2.5-flash", "max", {"thinkingBudget": 24_576}),
    ],
)
async def test_an_effort_is_told_in_the_words_of_the_wire(server, model, effort, sent):
    config = await config_of(server, model, params={"reasoning_effort": effort})
    assert config["thinkingConfig"] == {**THOUGHTS, **sent}


async def test_level_and_budget_are_not_sent_together(server):
    """Wire, section 4.1."""
    params = {"reasoning_effort": "high", "thinking_budget": 512}
    config = await config_of(server, "gemini-2.5-flash", params=params)
    assert config["thinkingConfig"] == {**THOUGHTS, "thinkingBudget": 512}


async def test_params_are_sent_where_they_belong(server):
    params = {
        "top_p": 0.9,
        "top_k": 4,
        "presence_penalty": 0.1,
        "seed": 7,
        "stop": "X",
        "safety_settings": [{"category": "C", "threshold": "BLOCK_NONE"}],
        "max_tokens": 50,
        "contents": "mine",
        "tools": "mine",
        "system_instruction": "mine",
    }
    asked = request(params=params, temperature=0.2, tool_calling={"seed": 1})
    body = await body_of(server, made(server, "gemini-2.0-flash"), asked)
    assert body == {
        "contents": [{"role": "user", "parts": [said("hi")]}],
        "generationConfig": {
            "maxOutputTokens": 50,
            "temperature": 0.2,
            "topP": 0.9,
            "topK": 4,
            "presencePenalty": 0.1,
            "seed": 7,
            "stopSequences": ["X"],
        },
        "safetySettings": params["safety_settings"],
    }


async def test_the_limit_may_be_told_as_the_wire_has_it(server):
    config = await config_of(server, params={"max_output_tokens": 77})
    assert config["maxOutputTokens"] == 77


@pytest.mark.parametrize(
    ("model", "sent"),
    [
        ("gemini-2.5-flash", {"temperature": 0.2, "topP": 0.9}),
        ("gemini-3.5-flash", {"temperature": 0.2, "topP": 0.9}),
        ("gemini-3.8-flash", {}),
        ("gemini-4-argon", {}),
        ("gemini-flash-latest", {}),
    ],
)
async def test_sampling_parameters_go_to_who_heeds_them(server, model, sent, caplog):
    provider = made(server, model)
    asked = request(temperature=0.2, params={"top_p": 0.9})
    for _ in range(2):
        body = await body_of(server, provider, asked)
        config = body["generationConfig"]
        assert {k: v for k, v in config.items() if k in {"temperature", "topP"}} == sent
    assert len(caplog.records) == (0 if sent else 2)  # each once


async def test_what_the_user_did_not_set_is_left_out_silently(server, caplog):
    with caplog.at_level(logging.DEBUG):
        await body_of(server, made(server), request())
    assert caplog.records == []


async def test_more_keys_may_be_added(server):
    extra = {
        "generationConfig": {"responseModalities": ["TEXT"]},
        "cached_content": "cachedContents/1",
        "toolConfig": {"retrievalConfig": {"languageCode": "no"}},
    }
    asked = request(tools=[ADD], max_tokens=9)
    body = await body_of(server, made(server, extra_body=extra), asked)
    assert body["generationConfig"]["maxOutputTokens"] == 9 + 16_384
    assert body["generationConfig"]["responseModalities"] == ["TEXT"]
    assert body["cachedContent"] == "cachedContents/1"
    assert body["toolConfig"] == {
        "functionCallingConfig": {"mode": "AUTO"},
        "retrievalConfig": {"languageCode": "no"},
    }


async def test_a_profile_may_be_given(server):
    profile = GeminiProfile(thinks_by="budget", thinking_tokens=7, json_schemas=False)
    provider = made(server, "tuned", profile=profile)
    body = await body_of(server, provider, request(tools=[ADD], max_tokens=1))
    assert body["generationConfig"]["maxOutputTokens"] == 8
    [declared] = body["tools"][0]["functionDeclarations"]
    assert declared == {"name": "add", "description": "D", "parameters": PARAMETERS}


# ---------------------------------------------------------- what the service refuses


@pytest.mark.parametrize(
    ("refusal", "model_and_params", "gone"),
    [
        (
            "Thinking level MINIMAL is not supported for this model.",
            ("gemini-3.5-flash", {"reasoning_effort": "minimal"}),
            "thinkingLevel",
        ),
        (
            "Thinking is not enabled for models/gemini-3.8-flash",
            ("gemini-3.8-flash", {}),
            "thinkingConfig",
        ),
        (
            "Budget 0 is invalid. This model only works in thinking mode.",
            ("gemini-2.5-flash", {"thinking_budget": 0}),
            "thinkingBudget",
        ),
        (
            'Invalid JSON payload received. Unknown name "seed" at '
            "'generation_config': Cannot find field.",
            ("gemini-2.5-flash", {"seed": 3}),
            "seed",
        ),
        (
            "temperature is not supported for this model.",
            ("gemini-3.0-flash", {"temperature": 0.5}),
            "temperature",
        ),
    ],
)
async def test_what_the_service_refuses_is_left_out(
    server, refusal, model_and_params, gone, caplog
):
    model, params = model_and_params
    server.say(failed(400, "INVALID_ARGUMENT", refusal))
    provider = made(server, model)
    temperature = params.get("temperature")
    asked = request(params=params, temperature=temperature)
    body = await body_of(server, provider, asked)
    assert gone in str(server.requests[0].body)
    assert gone not in str(body)
    assert gone not in str(await body_of(server, provider, asked))
    assert len(server.requests) == 3
    assert [gone in record.message for record in caplog.records] == [True]


UNKNOWN_SCHEMA = (
    'Invalid JSON payload received. Unknown name "parametersJsonSchema" at '
    "'tools[0].function_declarations[0]': Cannot find field."
)


async def test_a_gateway_that_knows_no_json_schema_gets_the_older_form(server, caplog):
    server.say(failed(400, "INVALID_ARGUMENT", UNKNOWN_SCHEMA))
    body = await body_of(server, made(server), request(tools=[ADD]))
    [declared] = body["tools"][0]["functionDeclarations"]
    assert declared == {"name": "add", "description": "D", "parameters": PARAMETERS}
    assert caplog.records == []


async def test_a_service_without_identifiers_gets_none(server):
    said_so = "Unknown name \"id\" at 'contents[1].parts[0].function_call': Cannot find"
    server.say(failed(400, "INVALID_ARGUMENT", said_so))
    sent = await contents(
        server,
        Message("user", "go"),
        Message("assistant", "", (ToolCall("a", "f"),)),
        Message("tool", "1", tool_call_id="a"),
        model="gemini-2.5-flash",
    )
    assert sent[1:] == [
        {"role": "model", "parts": [called("f", {})]},
        {"role": "user", "parts": [result("f", 1)]},
    ]


async def test_a_model_without_a_system_message_is_told_in_the_first_text(server):
    server.say(
        failed(
            400,
            "INVALID_ARGUMENT",
            "Developer instruction is not enabled for models/gemma-3-27b-it",
        )
    )
    asked = request(Message("system", "S"), Message("user", "T"))
    body = await body_of(server, made(server, "gemma-3-27b-it"), asked)
    assert body["contents"] == [{"role": "user", "parts": [said("S"), said("T")]}]
    assert "systemInstruction" not in body


async def test_such_a_text_is_a_content_of_its_own_before_a_model_speaks(server):
    refusal = "Developer instruction is not enabled for models/gemma-3-27b-it"
    server.say(failed(400, "INVALID_ARGUMENT", refusal))
    asked = request(Message("system", "S"), Message("assistant", "Hi"))
    body = await body_of(server, made(server, "gemma-3-27b-it"), asked)
    assert body["contents"] == [
        {"role": "user", "parts": [said("S")]},
        {"role": "model", "parts": [said("Hi")]},
    ]


async def test_a_model_that_turns_out_to_need_signatures_gets_them(server):
    missing = (
        "Function call `f` in the 2. content block is missing a `thought_signature`."
    )
    server.say(failed(400, "INVALID_ARGUMENT", missing))
    sent = await contents(
        server,
        Message("user", "go"),
        Message("assistant", "", (ToolCall("a", "f"),)),
        Message("tool", "1", tool_call_id="a"),
        model="tunedModels/mine",
    )
    assert sent[1]["parts"][0]["thoughtSignature"] == SKIP


async def test_the_limit_is_what_the_service_says_it_can_be(server):
    refusal = (
        "Unable to submit request because it has a maxOutputTokens value of 76384 but "
        "the supported range is from 1 (inclusive) to 65537 (exclusive). Update the "
        "value and try again."
    )
    server.say(failed(400, "INVALID_ARGUMENT", refusal))
    provider = made(server)
    body = await body_of(server, provider, request(max_tokens=60_000))
    assert body["generationConfig"]["maxOutputTokens"] == 65_536
    body = await body_of(server, provider, request(max_tokens=70_000))
    assert body["generationConfig"]["maxOutputTokens"] == 65_536


@pytest.mark.parametrize(
    "refusal",
    [
        "Request contains an invalid argument.",
        "Thought signature is not valid.",
        "is missing a `thought_signature`",
        "Thinking level is not supported for this model.",
        UNKNOWN_SCHEMA,
        "it has a maxOutputTokens value of 5 but the range is 1 to 99 (exclusive)",
    ],
)
async def test_a_refusal_that_does_not_end_is_an_error(server, refusal):
    server.say(*[failed(400, "INVALID_ARGUMENT", refusal)] * 5)
    with pytest.raises(AgentProviderError, match="did not accept"):
        await body_of(server, made(server), request(tools=[ADD]))
    assert len(server.requests) <= 2


async def test_a_choice_of_a_tool_that_there_is_not_is_an_error(server):
    server.say(failed(400, "INVALID_ARGUMENT", "allowed_function_names: nope"))
    asked = request(tools=[ADD], tool_calling={"tool_choice": "nope"})
    with pytest.raises(AgentProviderError, match="nope"):
        await body_of(server, made(server), asked)


# ----------------------------------------------------------------------- profiles


@pytest.mark.parametrize(
    ("model", "facts"),
    [
        ("gemini-2.0-flash", (None, False, True, "tool")),
        ("gemini-2.5-pro", ("budget", False, True, "tool")),
        ("gemini-3-pro-preview", ("level", True, True, "native")),
        ("gemini-3.1-flash-lite", ("level", True, True, "native")),
        ("gemini-3.8-flash", ("level", True, False, "native")),
        ("google/gemini-3.8-flash", ("level", True, False, "native")),
        ("gemini-flash-latest", ("level", True, False, "native")),
        ("gemini-4-argon", ("level", True, False, "native")),
        ("gemini-12-xenon", ("level", True, False, "native")),
        ("gemma-3-27b-it", (None, False, True, "tool")),
    ],
)
def test_models_differ(model, facts):
    profile = gemini_profile(model)
    assert facts == (
        profile.thinks_by,
        profile.needs_signatures,
        profile.sends_sampling,
        profile.output_with_tools,
    )
