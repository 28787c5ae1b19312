"""What OpenAI Responses is sent, and sent back; what is done when it refuses.

The shapes are those that wire.md 2.1 and 2.2 captured.
"""

from __future__ import annotations

import pytest

from notebook_agents import Agent, tool
from notebook_agents.errors import AgentConfigurationError, AgentProviderError
from notebook_agents.messages import Message, ToolCall
from notebook_agents.providers import ModelRequest, OpenAIProvider
from notebook_agents.providers.output_format import OutputFormat
from notebook_agents.providers.profiles import ChatProfile, chat_profile
from tests.providers.responses_wire import (
    answer,
    completed,
    done,
    function_call,
    message,
    reasoning,
    reply,
    reply_of,
    response,
)
from tests.providers.wire import whole

KEY = "sk-very-secret-0123456789"
PARAMETERS = {
    "type": "object",
    "properties": {"a": {"type": "integer"}},
    "required": ["a"],
    "additionalProperties": False,
}
ADD = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "D",
        "strict": True,
        "parameters": PARAMETERS,
    },
}
FLAT_ADD = {
    "type": "function",
    "name": "add",
    "description": "D",
    "strict": True,
    "parameters": PARAMETERS,
}
PNG = "data:image/png;base64,AAAA"
PDF = "data:application/pdf;base64,AAAA"


def made(server, model: str = "gpt-6-luna", **options) -> OpenAIProvider:
    return OpenAIProvider(
        model, KEY, api="responses", base_url=server.url, max_retries=0, **options
    )


def request(*messages: Message, **fields) -> ModelRequest:
    return ModelRequest(messages=messages or [Message("user", "hi")], **fields)


async def ask(provider, asked: ModelRequest | None = None):
    return [item async for item in provider.respond(asked or request())][-1]


async def body_of(server, asked: ModelRequest | None = None, **options) -> dict:
    server.say(answer("ok"))
    await ask(made(server, **options), asked)
    return server.requests[-1].body


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@tool
def mul(a: int, b: int) -> int:
    """Multiply."""
    return a * b


# ------------------------------------------------------------------- the whole body


async def test_a_request_has_the_captured_shape(server):
    """Wire, section 2.1."""
    content = [
        {"type": "text", "text": "T"},
        {"type": "image_url", "image_url": {"url": PNG}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": PDF}},
    ]
    asked = request(
        Message("system", "S"),
        Message("user", content),
        tools=[ADD],
        tool_calling={"tool_choice": "auto", "parallel_tool_calls": True},
        params={"reasoning_effort": "low"},
        output=OutputFormat(name="N", strict=True, schema=PARAMETERS),
    )
    assert await body_of(server, asked) == {
        "model": "gpt-6-luna",
        "stream": True,
        "instructions": "S",
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "input": [
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "T"},
                    {"type": "input_image", "image_url": PNG, "detail": "auto"},
                    {"type": "input_file", "filename": "a.pdf", "file_data": PDF},
                ],
            }
        ],
        "tools": [FLAT_ADD],
        "tool_choice": "auto",
        "parallel_tool_calls": True,
        "max_output_tokens": 1024 + 8192,
        "reasoning": {"effort": "low", "summary": "auto"},
        "text": {
            "format": {
                "type": "json_schema",
                "name": "N",
                "strict": True,
                "schema": PARAMETERS,
            }
        },
    }
    sent = server.requests[-1]
    assert sent.path == "/v1/responses"
    assert sent.headers["authorization"] == f"Bearer {KEY}"


async def test_a_model_that_does_not_think_is_asked_for_no_thoughts(server):
    body = await body_of(server, request(temperature=0.5), model="gpt-4.1")
    assert body == {
        "model": "gpt-4.1",
        "stream": True,
        "store": False,
        "input": [{"role": "user", "content": "hi"}],
        "max_output_tokens": 1024,
        "temperature": 0.5,
    }


# --------------------------------------------------------------- the second round

CALLS = (
    function_call("add", '{"a":1,"b":2}', "call_a", 1),
    function_call("mul", '{"a":3,"b":4}', "call_b", 2),
)
THOUGHT = reasoning("thinking")
SENT_THOUGHT = {
    "type": "reasoning",
    "id": "rs_0",
    "summary": [{"type": "summary_text", "text": "thinking"}],
    "encrypted_content": "ENC",
}
SENT_CALLS = [
    {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_a",
        "name": "add",
        "arguments": '{"a":1,"b":2}',
    },
    {
        "type": "function_call",
        "id": "fc_2",
        "call_id": "call_b",
        "name": "mul",
        "arguments": '{"a":3,"b":4}',
    },
]
RESULTS = [
    {"type": "function_call_output", "call_id": "call_a", "output": "3"},
    {"type": "function_call_output", "call_id": "call_b", "output": "12"},
]
BARE_CALLS = [
    {name: value for name, value in call.items() if name != "id"} for call in SENT_CALLS
]


async def second_input(server, *first: dict, **options) -> list[dict]:
    """Run a turn of two rounds; what the second one sends."""
    server.say(reply_of(*first), answer("done"))
    result = await Agent(made(server, **options), [add, mul]).run("go")
    assert result.answer == "done"
    return server.requests[1].body["input"]


async def test_a_second_round_has_the_captured_shape(server):
    """Wire, section 2.2: the items as they came, then the results in call order."""
    sent = await second_input(server, THOUGHT, *CALLS)
    assert sent == [
        {"role": "user", "content": "go"},
        SENT_THOUGHT,
        *SENT_CALLS,
        *RESULTS,
    ]


async def test_a_whole_reply_goes_back_in_the_same_way(server):
    server.say(whole(200, response(output=(THOUGHT, *CALLS))), answer("done"))
    await Agent(made(server), [add, mul]).run("go")
    assert server.requests[1].body["input"][1:4] == [SENT_THOUGHT, *SENT_CALLS]


async def test_what_was_said_before_the_calls_keeps_its_place_and_its_phase(server):
    said = message("I add.", 3, phase="commentary")
    more = reasoning("and", n=4)
    sent = await second_input(server, THOUGHT, said, more, *CALLS)
    assert sent[1:4] == [SENT_THOUGHT, said, {**SENT_THOUGHT, **more}]
    assert sent[4:] == [*SENT_CALLS, *RESULTS]


async def test_tools_that_the_service_ran_itself_go_back_as_they_came(server):
    search = {
        "type": "web_search_call",
        "id": "ws_1",
        "status": "completed",
        "action": {"type": "search", "query": "q"},
    }
    sent = await second_input(server, THOUGHT, search, *CALLS)
    assert sent[1:3] == [SENT_THOUGHT, search]


async def test_every_round_of_a_turn_goes_back(server):
    one, two = (
        (reasoning("hm", n=n), function_call("add", '{"a":1,"b":2}', f"c{n}", n))
        for n in (1, 2)
    )
    server.say(reply_of(*one), reply_of(*two), answer("done"))
    await Agent(made(server), [add]).run("go")
    sent = server.requests[2].body["input"]
    kinds = ["reasoning", "function_call", "function_call_output"]
    assert [item.get("type") for item in sent] == [None, *kinds, *kinds]
    assert [item["id"] for item in sent if "id" in item] == [
        "rs_1", "fc_1", "rs_2", "fc_2",
    ]  # fmt: skip


async def test_calls_that_are_named_alike_in_every_reply_keep_their_thoughts(server):
    one, two = (
        (reasoning("hm", n=n), function_call("add", '{"a":1,"b":2}', "call_0", n))
        for n in (1, 2)
    )
    server.say(reply_of(*one), reply_of(*two), answer("done"))
    await Agent(made(server), [add]).run("go")
    sent = server.requests[2].body["input"]
    kept = [item["id"] for item in sent if "id" in item]
    assert kept == ["rs_1", "fc_1", "rs_2", "fc_2"]


async def test_thoughts_of_an_earlier_turn_do_not_go_back(server):
    """Design, section 17; the identifiers of items would want them."""
    server.say(reply_of(THOUGHT, *CALLS), answer("one"), answer("two"))
    agent = Agent(made(server), [add, mul])
    await agent.run("go")
    await agent.run("on")
    assert server.requests[2].body["input"] == [
        {"role": "user", "content": "go"},
        *BARE_CALLS,
        *RESULTS,
        {"role": "assistant", "content": "one", "phase": "final_answer"},
        {"role": "user", "content": "on"},
    ]


async def test_thoughts_go_to_nobody_else(server):
    """A run that was resumed, or the history of another provider."""
    server.say(reply_of(THOUGHT, *CALLS), answer("ok"))
    first = await ask(made(server))
    asked = request(
        Message("user", "go"),
        Message("assistant", "", first.tool_calls),
        Message("tool", "3", tool_call_id="call_a"),
        Message("tool", "12", tool_call_id="call_b"),
        replays={"call_a": first.replay},
    )
    await ask(made(server), asked)
    assert server.requests[1].body["input"][1:] == [*BARE_CALLS, *RESULTS]


@pytest.mark.parametrize(
    "thought",
    [{**THOUGHT, "encrypted_content": None}, {**THOUGHT, "encrypted_content": ""}],
    ids=["null", "empty"],
)
async def test_thoughts_that_nobody_keeps_do_not_go_back(server, thought):
    """Nothing is stored: by its identifier alone the service would not find them."""
    sent = await second_input(server, thought, *CALLS)
    assert sent[1:] == [*BARE_CALLS, *RESULTS]


async def test_thoughts_in_the_open_go_back_where_that_is_all_there_is(server):
    """As gpt-oss has them on servers of one's own."""
    content = [{"type": "reasoning_text", "text": "hm"}]
    thought = {**reasoning(encrypted=None), "content": content}
    sent = await second_input(server, thought, *CALLS)
    assert sent[1] == {
        "type": "reasoning",
        "id": "rs_0",
        "summary": [],
        "content": content,
    }
    sent = await second_input_again(server, {**thought, "encrypted_content": "ENC"})
    assert "content" not in sent[1]


async def second_input_again(server, thought: dict) -> list[dict]:
    server.requests.clear()
    return await second_input(server, thought, *CALLS)


async def test_what_was_changed_on_the_way_goes_back_without_its_thoughts(server):
    """A guard may have taken something out of the text, or a call away."""
    server.say(reply_of(THOUGHT, message("my key is x", 1), *CALLS), answer("ok"))
    provider = made(server)
    first = await ask(provider)
    for text, calls in (
        ("my key is [redacted]", first.tool_calls),
        (first.text, first.tool_calls[:1]),
    ):
        asked = request(
            Message("user", "go"),
            Message("assistant", text, calls),
            replays={calls[0].id: first.replay},
        )
        server.say(answer("ok"))
        await ask(provider, asked)
        said, *rest = server.requests[-1].body["input"][1:]
        assert said == {"role": "assistant", "content": text, "phase": "commentary"}
        assert rest == BARE_CALLS[: len(calls)]


async def test_calls_that_were_cut_go_back_without_thoughts(server):
    cut = response("incomplete", (THOUGHT, *CALLS))
    server.say(whole(200, cut), answer("done"))
    await Agent(made(server), [add, mul]).run("go")
    sent = server.requests[1].body["input"]
    assert [item.get("type") for item in sent[1:]] == [
        *["function_call"] * 2, *["function_call_output"] * 2,
    ]  # fmt: skip
    assert all("id" not in item for item in sent)


async def test_a_thought_that_did_not_end_does_not_go_back(server):
    """Wire, section 2.2: take the content from the end of the item."""
    begun = {"type": "response.output_item.added", "item": THOUGHT, "output_index": 0}
    server.say(
        reply(begun, done(CALLS[0], 1), done(CALLS[1], 2), completed()), answer("done")
    )
    await Agent(made(server), [add, mul]).run("go")
    assert server.requests[1].body["input"][1:] == [*BARE_CALLS, *RESULTS]


REFUSED_THOUGHTS = [
    ("invalid_encrypted_content", "The encrypted content gAAA could not be verified."),
    (None, "Item 'fc_1' of type 'function_call' was provided without its required "
           "'reasoning' item: 'rs_0'."),
    (None, "Item 'rs_0' of type 'reasoning' was provided without its required "
           "following item."),
    (None, "Duplicate item found with id rs_0."),
]  # fmt: skip


@pytest.mark.parametrize(("code", "said"), REFUSED_THOUGHTS)
async def test_thoughts_that_are_refused_are_left_out(server, code, said):
    """Another key, or a service that cannot read them again."""
    refusal = whole(400, {"error": {"code": code, "message": said, "param": "input"}})
    server.say(reply_of(THOUGHT, *CALLS), refusal, answer("done"))
    result = await Agent(made(server), [add, mul]).run("go")
    assert result.answer == "done"
    assert server.requests[1].body["input"][1] == SENT_THOUGHT
    assert server.requests[2].body["input"][1:] == [*BARE_CALLS, *RESULTS]


async def test_without_thoughts_the_same_refusal_is_an_error(server):
    said = "The encrypted content gAAA could not be verified."
    server.say(whole(400, {"error": {"message": said}}))
    with pytest.raises(AgentProviderError, match="could not be verified"):
        await ask(made(server))
    assert len(server.requests) == 1


# --------------------------------------------------------------------- messages


async def test_an_identifier_that_is_too_long_is_cut_the_same_on_both_sides(server):
    """OpenAI takes 64 characters, and gateways make longer ones."""
    names = ["mcp_" + "x" * 90 + end for end in "ab"]
    calls = tuple(ToolCall(name, "do it.now", "{}") for name in names)
    asked = request(
        Message("user", "u"),
        Message("assistant", "", calls),
        *[Message("tool", "r", tool_call_id=name) for name in names],
    )
    sent = (await body_of(server, asked))["input"][1:]
    ids = [item["call_id"] for item in sent]
    assert ids[:2] == ids[2:]
    assert len(set(ids)) == 2
    assert max(map(len, ids)) <= 64
    assert [item["name"] for item in sent[:2]] == ["do_it_now"] * 2


async def test_system_messages_are_the_instructions(server):
    messages = [Message("system", "a"), Message("user", "u"), Message("system", "b")]
    body = await body_of(server, request(*messages))
    assert body["instructions"] == "a\n\nb"
    assert body["input"] == [{"role": "user", "content": "u"}]


async def test_an_empty_answer_in_the_history_keeps_its_place(server):
    messages = [Message("user", "a"), Message("assistant", ""), Message("user", "b")]
    body = await body_of(server, request(*messages), model="gpt-4.1")
    assert body["input"][1] == {"role": "assistant", "content": ""}


async def test_a_call_may_answer_nobody(server):
    """`BaseProvider.chat` takes any list of messages."""
    server.say(reply_of(THOUGHT, *CALLS))
    response = await made(server).chat([{"role": "system", "content": "S"}])
    assert len(response.tool_calls) == 2


async def test_half_a_surrogate_pair_does_not_break_the_request(server):
    body = await body_of(server, request(Message("user", "a\ud800é")))
    assert body["input"][0]["content"] == "a?é"


@pytest.mark.parametrize(
    ("part", "sent"),
    [
        (
            {"type": "image_url", "image_url": {"url": PNG, "detail": "low"}},
            {"type": "input_image", "image_url": PNG, "detail": "low"},
        ),
        (
            {"type": "image_url", "image_url": "https://a.example/b"},
            {
                "type": "input_image",
                "image_url": "https://a.example/b",
                "detail": "auto",
            },
        ),
        (
            {"type": "file", "file": {"file_data": "https://a.example/b.pdf"}},
            {"type": "input_file", "file_url": "https://a.example/b.pdf"},
        ),
        (
            {"type": "file", "file": {"file_data": PDF}},
            {"type": "input_file", "filename": "file.pdf", "file_data": PDF},
        ),
        (
            {"type": "file", "file": {"filename": "a.pdf", "file_data": "AAAA"}},
            {"type": "input_file", "filename": "a.pdf", "file_data": PDF},
        ),
        (
            {"type": "image_url", "image_url": {"url": PDF}},
            {"type": "input_file", "filename": "file.pdf", "file_data": PDF},
        ),
        (
            {"type": "file", "file": {"filename": "a.png", "file_data": PNG}},
            {"type": "input_image", "image_url": PNG, "detail": "auto"},
        ),
    ],
    ids=["detail", "URL", "URL of a file", "no name", "no media type", "PDF as an image",
         "image as a file"],
)  # fmt: skip
async def test_a_part_is_sent_in_the_words_of_the_wire(server, part, sent):
    asked = request(
        Message("user", [part]),
        Message("assistant", "", (ToolCall("c", "look", "{}"),)),
        Message("tool", [{"type": "text", "text": "so"}, part], tool_call_id="c"),
    )
    body = await body_of(server, asked)
    assert body["input"][0]["content"] == [sent]
    assert body["input"][2]["output"] == [{"type": "input_text", "text": "so"}, sent]


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (
            Message(
                "user",
                [{"type": "image_url", "image_url": {"url": "data:image/tiff;base64,AAAA"}}],
            ),
            "PNG, JPEG",
        ),
        (Message("user", [{"type": "input_audio", "input_audio": {}}]), "input_audio"),
        (Message("user", [{"type": "image_url", "image_url": {"url": "a.png"}}]), "data:"),
        (
            Message("assistant", [{"type": "image_url", "image_url": {"url": PNG}}]),
            "text only",
        ),
    ],
    ids=["TIFF", "sound", "a path", "an image of the assistant"],
)  # fmt: skip
async def test_a_part_that_cannot_be_sent_is_an_error_before_anything_is(
    server, message, words
):
    with pytest.raises(AgentConfigurationError, match=words):
        await ask(made(server), request(message))
    assert server.connections == 0


# ------------------------------------------------------------------------ tools


async def test_without_tools_nothing_is_said_about_them(server):
    asked = request(tool_calling={"tool_choice": "auto", "parallel_tool_calls": True})
    body = await body_of(server, asked)
    assert not {"tools", "tool_choice", "parallel_tool_calls"} & body.keys()


async def test_a_tool_that_is_not_strict_says_so(server):
    """What does not say so is strict here."""
    loose = {"type": "function", "function": {"name": "f"}}
    body = await body_of(server, request(tools=[loose]))
    assert body["tools"] == [
        {
            "type": "function",
            "name": "f",
            "strict": False,
            "parameters": {"type": "object", "properties": {}},
        }
    ]


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("required", "required"),
        ("add", {"type": "function", "name": "add"}),
        ({"name": "add"}, {"type": "function", "name": "add"}),
        ({"type": "function", "name": "add"}, {"type": "function", "name": "add"}),
        (
            {"type": "function", "function": {"name": "add"}},
            {"type": "function", "name": "add"},
        ),
        ({"type": "image_generation"}, {"type": "image_generation"}),
    ],
)
async def test_a_choice_of_tools_is_passed_on(server, choice, sent):
    calling = {"tool_choice": choice, "parallel_tool_calls": False, "mode": "AUTO"}
    body = await body_of(server, request(tools=[ADD], tool_calling=calling))
    assert (body["tool_choice"], body["parallel_tool_calls"]) == (sent, False)
    assert "mode" not in body


async def test_tools_of_the_service_are_added_to_ours(server):
    extra = {"tools": [{"type": "web_search"}], "reasoning": {"effort": "high"}}
    body = await body_of(server, request(tools=[ADD]), extra_body=extra)
    assert body["tools"] == [FLAT_ADD, {"type": "web_search"}]
    assert body["reasoning"] == {"effort": "high", "summary": "auto"}


# ------------------------------------------------------------------- parameters


@pytest.mark.parametrize(
    ("model", "params", "limit"),
    [
        ("gpt-4.1", {}, 100),
        ("gpt-6-luna", {}, 100 + 8192),
        ("gpt-6-luna", {"reasoning_effort": "none"}, 100),
        ("gpt-6-luna", {"reasoning_effort": "low"}, 100 + 8192),
        ("gpt-6-luna", {"reasoning_effort": "high"}, 100 + 4 * 8192),
        ("gpt-6-luna", {"reasoning": {"effort": "max"}}, 100 + 4 * 8192),
        ("a-new-one", {"reasoning_effort": "low"}, 100 + 8192),
        ("gpt-6-luna", {"max_output_tokens": 50}, 50),
        ("gpt-6-luna", {"max_completion_tokens": 50}, 50),
    ],
)
async def test_there_is_room_for_thoughts(server, model, params, limit):
    """Design, section 17: max_tokens means visible output."""
    asked = request(max_tokens=100, params=params)
    body = await body_of(server, asked, model=model)
    assert body["max_output_tokens"] == limit
    assert not {"max_tokens", "max_completion_tokens"} & body.keys()


async def test_a_limit_that_is_too_small_for_the_service_is_raised(server):
    body = await body_of(server, request(max_tokens=1), model="gpt-4.1")
    assert body["max_output_tokens"] == 16


@pytest.mark.parametrize(
    ("params", "sent"),
    [
        ({}, {"summary": "auto"}),
        ({"reasoning_effort": "high"}, {"effort": "high", "summary": "auto"}),
        ({"reasoning_effort": "none"}, {"effort": "none"}),
        ({"reasoning": {"summary": "detailed"}}, {"summary": "detailed"}),
        (
            {"reasoning": {"summary": "concise"}, "reasoning_effort": "low"},
            {"effort": "low", "summary": "concise"},
        ),
    ],
)
async def test_how_to_think_may_be_said(server, params, sent):
    assert (await body_of(server, request(params=params)))["reasoning"] == sent


async def test_an_effort_may_be_a_matter_of_the_agent(server):
    server.say(answer("ok"))
    await Agent(made(server)).run("hi", params={"reasoning_effort": "low"})
    assert server.requests[0].body["reasoning"]["effort"] == "low"


async def test_params_are_sent_as_they_are_but_never_instead_of_the_run(server):
    params = {
        "prompt_cache_key": "k",
        "verbosity": "low",
        "include": ["message.output_text.logprobs"],
        "store": True,
        "input": [],
        "stream": False,
        "model": "other",
    }
    body = await body_of(server, request(params=params), extra_body={"user": "u"})
    assert (body["prompt_cache_key"], body["user"]) == ("k", "u")
    assert body["text"] == {"verbosity": "low"}
    assert body["include"] == [
        "reasoning.encrypted_content", "message.output_text.logprobs",
    ]  # fmt: skip
    assert body["store"] is True
    assert (body["model"], body["stream"]) == ("gpt-6-luna", True)
    assert body["input"] == [{"role": "user", "content": "hi"}]


@pytest.mark.parametrize("place", ["params", "tool_calling"])
async def test_a_shape_of_chat_completions_is_unwrapped(server, place):
    named = {"name": "N", "strict": True, "schema": PARAMETERS}
    shape = {"type": "json_schema", "json_schema": named}
    body = await body_of(server, request(**{place: {"response_format": shape}}))
    assert body["text"] == {"format": {"type": "json_schema", **named}}


async def test_json_without_a_schema_is_asked_for_as_it_is(server):
    shape = {"type": "json_object"}
    body = await body_of(server, request(params={"response_format": shape}))
    assert body["text"] == {"format": shape}


async def test_a_typed_answer_is_enforced_by_the_service(server):
    server.say(answer('{"answer": [1, 2]}'))
    agent = Agent(made(server), output_type=list[int])
    result = await agent.run("hi", params={"verbosity": "low"})
    assert result.output == [1, 2]
    text = server.requests[0].body["text"]
    shape = text["format"]
    assert (shape["type"], shape["strict"]) == ("json_schema", True)
    assert text["verbosity"] == "low"


async def test_a_typed_answer_of_an_old_model_is_streamed_from_a_tool(server):
    """It takes no schema, so the answer is the arguments of a tool."""
    final = function_call("final_answer", '{"answer": [1, 2]}', "c")
    server.say(reply_of(*CALLS), reply_of(final))
    agent = Agent(made(server, "gpt-4"), [add, mul], output_type=list[int])
    stream = agent.stream("hi")
    texts = [text async for text in stream]
    assert "".join(texts) == '{"answer": [1, 2]}'
    assert (await stream.result()).output == [1, 2]
    body = server.requests[0].body
    assert (body["tool_choice"], body["tools"][-1]["name"]) == (
        "required",
        "final_answer",
    )


@pytest.mark.parametrize(
    ("model", "params", "is_sent"),
    [
        ("gpt-6-luna", {}, False),
        ("o3", {"reasoning_effort": "low"}, False),
        ("gpt-6-luna", {"reasoning_effort": "none"}, True),
        ("gpt-4.1", {}, True),
        ("somebody-elses", {"reasoning_effort": "low"}, True),
    ],
)
async def test_a_temperature_goes_to_those_who_take_one(
    server, caplog, model, params, is_sent
):
    """Wire, section 2.1: only when reasoning is none."""
    provider = made(server, model)
    for _ in range(2):
        server.say(answer("ok"))
        await ask(provider, request(temperature=0, params={**params, "top_p": 0.5}))
    sent = server.requests[-1].body
    assert {"temperature", "top_p"} <= sent.keys() if is_sent else True
    assert is_sent or not {"temperature", "top_p"} & sent.keys()
    told = [record.getMessage() for record in caplog.records]
    assert told == [
        f"{model} takes no {name}; it is left out"
        for name in ("temperature", "top_p")
        if not is_sent
    ]


async def test_what_only_chat_completions_know_is_told_once_and_left_out(
    server, caplog
):
    provider = made(server)
    asked = request(params={"seed": 1, "stop": ["END"], "frequency_penalty": 0.5})
    for _ in range(2):
        server.say(answer("ok"))
        await ask(provider, asked)
    assert not {"seed", "stop", "frequency_penalty"} & server.requests[-1].body.keys()
    assert len(caplog.records) == 3


@pytest.mark.parametrize(
    ("model", "thinks", "has_phases"),
    [
        ("gpt-6-luna", True, True),
        ("gpt-6.1-sol-2026-11-01", True, True),
        ("gpt-10", True, True),
        ("gpt-5.3-codex", True, True),
        ("gpt-5.1", True, False),
        ("o3-mini", True, False),
        ("codex-mini-latest", True, False),
        ("gpt-4.1", False, False),
        ("gpt-4o-mini", False, False),
        ("llama3.2", False, False),
    ],
)
def test_what_is_known_of_models(model, thinks, has_phases):
    profile = chat_profile("openai", model)
    assert (profile.thinking_tokens > 0, profile.sends_phase) == (thinks, has_phases)


async def test_a_profile_may_be_given(server):
    profile = ChatProfile(thinking_tokens=5)
    body = await body_of(
        server, request(temperature=0.5), model="gpt-oss-20b", profile=profile
    )
    assert (body["max_output_tokens"], body["temperature"]) == (1029, 0.5)
    assert body["include"] == ["reasoning.encrypted_content"]


# ---------------------------------------------------------------- what is refused

SUMMARY = {
    "message": "Your organization must be verified to generate reasoning summaries.",
    "type": "invalid_request_error",
    "param": "reasoning.summary",
    "code": "unsupported_value",
}
REFUSALS = {
    "reasoning.summary": SUMMARY,
    "include": {
        "message": "Encrypted content is not supported with this model.",
        "param": "include",
        "code": None,
    },
    "temperature": {
        "message": "Unsupported parameter: 'temperature' is not supported with this model.",
        "param": "temperature",
        "code": "unsupported_parameter",
    },
    "reasoning.effort": {
        "message": "Unsupported parameter: 'reasoning.effort' is not supported.",
        "param": "reasoning.effort",
        "code": "unsupported_parameter",
    },
    "phase": {"message": "Unknown parameter: 'input[1].phase'.", "param": "input[1].phase"},
    "reasoning": {"message": "Unrecognized request argument supplied: reasoning"},
    "max_output_tokens": {"message": "Unsupported parameter: max_output_tokens"},
    "parallel_tool_calls": {"message": "'parallel_tool_calls' is not supported"},
    "store": {"message": "Extra inputs are not permitted: 'store'"},
}  # fmt: skip


def _has(body: dict, path: str) -> bool:
    if path == "phase":
        return any("phase" in item for item in body["input"])
    name, _, inner = path.partition(".")
    return name in body and (not inner or inner in body[name])


@pytest.mark.parametrize("path", REFUSALS)
@pytest.mark.parametrize("shape", ["error", "detail"])
async def test_what_a_service_refuses_is_left_out(server, caplog, path, shape):
    """Only who asked for it is told, and once."""
    refusal = REFUSALS[path]
    body = {"error": refusal} if shape == "error" else {"detail": refusal["message"]}
    if shape == "detail" and path in {"reasoning.summary", "include"}:
        body = {"detail": f"{refusal['message']} ('{path}')"}
    asked = request(
        Message("user", "hi"),
        Message("assistant", "yes"),
        Message("user", "so"),
        tools=[ADD],
        tool_calling={"parallel_tool_calls": True},
        temperature=0.5 if path == "temperature" else None,
        params={"reasoning_effort": "none" if path == "temperature" else "low"},
    )
    provider = made(server)
    server.say(whole(400, body), answer("ok"), answer("ok"))
    assert (await ask(provider, asked)).text == "ok"
    await ask(provider, asked)
    assert [_has(each.body, path) for each in server.requests] == [True, False, False]
    told = [record.getMessage() for record in caplog.records]
    is_wanted = path not in {"reasoning.summary", "include", "phase", "store"}
    assert told == [f"gpt-6-luna takes no {path}; it is left out"] * is_wanted


async def test_a_model_that_may_not_be_streamed_is_asked_for_the_whole(server):
    """OpenAI wants organizations to be verified for that."""
    refusal = {
        "message": "Your organization must be verified to stream this model.",
        "param": "stream",
        "code": "unsupported_value",
    }
    server.say(
        whole(400, {"error": refusal}), whole(200, response(output=(message("ok"),)))
    )
    assert (await ask(made(server))).text == "ok"
    assert "stream" not in server.requests[1].body


async def test_a_shape_that_is_refused_is_asked_for_in_words(server, caplog):
    refusal = {
        "message": "Invalid parameter: 'text.format' of type 'json_schema' is not "
        "supported with this model.",
        "param": "text.format",
    }
    server.say(whole(400, {"error": refusal}), answer('{"answer": [1]}'))
    result = await Agent(made(server), output_type=list[int]).run("hi")
    assert result.output == [1]
    second = server.requests[1].body
    assert "text" not in second
    assert "JSON schema" in second["instructions"]
    assert caplog.records == []


@pytest.mark.parametrize(
    ("refusal", "options"),
    [
        (
            {
                "message": "Unsupported value: 'minimal' is not supported with the "
                "'gpt-6-luna' model. Supported values are: 'none', 'low'.",
                "param": "reasoning.effort",
                "code": "unsupported_value",
            },
            {"params": {"reasoning_effort": "minimal"}},
        ),
        (
            {
                "message": "Invalid 'temperature': decimal above maximum value.",
                "param": "temperature",
                "code": "decimal_above_max_value",
            },
            {"temperature": 9.0},
        ),
        (
            {"message": "Unknown parameter: 'top_secret'.", "param": "top_secret"},
            {"params": {"top_secret": 1}},
        ),
        (
            {
                "message": "Invalid schema for function 'add'.",
                "param": "tools[0].parameters",
                "code": "invalid_function_parameters",
            },
            {"tools": [ADD]},
        ),
    ],
    ids=["a value", "a limit", "unknown", "a schema"],
)
async def test_a_mistake_of_the_user_is_told(server, refusal, options):
    server.say(whole(400, {"error": refusal}))
    with pytest.raises(AgentProviderError) as caught:
        await ask(made(server), request(**options))
    assert refusal["message"] in str(caught.value)
    assert len(server.requests) == 1


async def test_what_was_added_by_hand_is_never_left_out(server):
    server.say(whole(400, {"error": REFUSALS["temperature"]}))
    with pytest.raises(AgentProviderError, match="temperature"):
        await ask(made(server, extra_body={"temperature": 0.1}))


async def test_a_refusal_that_does_not_end_is_an_error(server):
    refusal = whole(400, {"error": SUMMARY})
    server.say(refusal, refusal)
    with pytest.raises(AgentProviderError, match="must be verified"):
        await ask(made(server))
    assert len(server.requests) == 2
