"""What a service says that it does not take, and what of a request is kept all the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notebook_agents import AgentProviderError
from notebook_agents.errors import ContextLengthError
from notebook_agents.messages import Message
from notebook_agents.providers import (
    AnthropicProvider,
    GeminiProvider,
    ModelRequest,
    OpenAICompatibleProvider,
    OpenAIProvider,
)
from notebook_agents.providers._error_words import words_of
from tests.providers.wire import answer, whole

TOOL = {
    "type": "function",
    "function": {"name": "f", "strict": True, "parameters": {"type": "object"}},
}
LIMIT, OTHER_LIMIT = "max_tokens", "max_completion_tokens"


def asking(text="hi") -> ModelRequest:
    calling = {"parallel_tool_calls": False, "reasoning_effort": "low"}
    return ModelRequest(
        messages=[Message("user", text)],
        tools=[TOOL],
        tool_calling=calling,
        temperature=0.2,
        max_tokens=100,
    )


@pytest.fixture
def provider(server):
    return OpenAICompatibleProvider(server.url, "m", max_retries=0)


async def ask(provider, text="hi") -> str:
    return [each async for each in provider.respond(asking(text))][-1].text


async def lost_after(server, provider, said: object, status: int = 400) -> set[str]:
    """Name the keys that are sent no more once the service has refused."""
    server.say(whole(status, said), answer("ok"))
    assert await ask(provider) == "ok"
    return set(server.requests[0].body) - set(server.requests[-1].body)


def told(caplog) -> list[str]:
    return [each.getMessage() for each in caplog.records]


def detail(*complaints: tuple[list, str, object]) -> list[dict]:
    """List complaints as FastAPI does, which repeats what it was sent."""
    return [
        {"type": "t", "loc": loc, "msg": said, "input": sent}
        for loc, said, sent in complaints
    ]


EXTRA = detail((["body", "stream_options"], "Extra inputs are not permitted", {}))


@pytest.mark.parametrize(
    ("said", "lost"),
    [
        ({"error": {"message": "'temperature' is deprecated here"}}, "temperature"),
        (
            {"error": {"message": "invalid temperature: only 1 is allowed"}},
            "temperature",
        ),
        (
            {
                "error": {
                    "message": "No.",
                    "code": "unsupported",
                    "param": "temperature",
                }
            },
            "temperature",
        ),
        (
            {"error": {"message": "The model doesn't take parallel_tool_calls."}},
            "parallel_tool_calls",
        ),
        (
            {"error": {"message": 'json: unknown field "reasoning_effort"'}},
            "reasoning_effort",
        ),
        (
            {"error": "unknown field `stream_options`, expected one of `temperature`"},
            "stream_options",
        ),
        ({"detail": EXTRA}, "stream_options"),
        ({"object": "error", "message": {"detail": EXTRA}}, "stream_options"),
        (
            b"1 validation error\nstream_options\n  Extra inputs are not permitted",
            "stream_options",
        ),
    ],
    ids=str,
)
async def test_what_is_refused_in_whatever_words_is_left_out(
    server, provider, said, lost
):
    assert await lost_after(server, provider, said, 422) == {lost}


async def test_only_the_complaints_that_refuse_something_count(server, provider):
    said = detail(
        (["body", "temperature"], "Input should be at least 1", 0.2),
        (["body", "stream_options"], "Extra inputs are not permitted", {}),
    )
    assert await lost_after(server, provider, {"detail": said}) == {"stream_options"}


@pytest.mark.parametrize("name", ["temperature", "reasoning_effort"])
async def test_what_was_asked_for_and_is_left_out_is_told_once(
    server, provider, caplog, name
):
    said = {"error": {"message": f"{name} is not supported"}}
    await lost_after(server, provider, said)
    server.say(answer("ok"))
    await ask(provider)
    assert told(caplog) == [f"m takes no {name}; it is left out"]


async def test_what_nobody_asked_for_is_left_out_without_a_word(
    server, provider, caplog
):
    said = {"error": {"message": "unknown: strict, stream_options"}}
    assert await lost_after(server, provider, said) == {"stream_options"}
    assert told(caplog) == []


async def test_a_limit_is_missed_only_when_it_has_no_name_that_will_do(
    server, provider, caplog
):
    refusals = [
        {"error": {"message": f"Unsupported parameter: '{name}'"}}
        for name in (LIMIT, OTHER_LIMIT)
    ]
    server.say(whole(400, refusals[0]), answer("ok"))
    await ask(provider)
    assert server.requests[-1].body[OTHER_LIMIT] == 100
    assert told(caplog) == []
    server.say(whole(400, refusals[1]), answer("ok"))
    await ask(provider)
    assert not {LIMIT, OTHER_LIMIT} & set(server.requests[-1].body)
    assert told(caplog) == [f"m takes no {OTHER_LIMIT}; it is left out"]


@pytest.mark.parametrize(
    "said",
    [
        "max_tokens is too large: 100. This model supports at most 50 tokens.",
        "max_tokens: 100 is not allowed, the maximum is 50",
        "max_tokens must be less than or equal to 50",
        "Invalid max_tokens value, the valid range of max_tokens is [1, 50]",
    ],
)
async def test_a_limit_that_is_too_high_is_an_error_and_not_left_out(
    server, provider, said
):
    """A run without it may cost what nobody wanted to pay."""
    server.say(whole(400, {"error": {"message": said}}), answer("ok"))
    with pytest.raises(AgentProviderError, match="max_tokens"):
        await ask(provider)
    await ask(provider)
    assert [each.body[LIMIT] for each in server.requests] == [100, 100]


@pytest.mark.parametrize(
    "said",
    [
        "'max_tokens' or 'max_completion_tokens' is too large: 100. This model's "
        "maximum context length is 100 tokens and your request has 900 input tokens.",
        "context_length_exceeded: max_tokens and messages are not supported at once",
    ],
)
async def test_a_conversation_that_is_too_long_costs_no_limit(server, provider, said):
    server.say(whole(400, {"error": {"message": said}}), answer("ok"))
    with pytest.raises(ContextLengthError):
        await ask(provider)
    await ask(provider)
    assert [each.body[LIMIT] for each in server.requests] == [100, 100]


@pytest.mark.parametrize(
    "said",
    [
        "'max_tokens' or 'max_completion_tokens' is too large: 4196. This model's "
        "maximum context length is 4000 tokens and your request has 9 input tokens.",
        "This model's maximum context length is 4000 tokens. However, you requested "
        "4205 tokens (9 in the messages, 4196 in the completion).",
    ],
)
async def test_room_for_thoughts_is_cut_to_a_small_context(server, said):
    """It was added to what the user allows, who would be told to say less."""
    provider = OpenAICompatibleProvider(server.url, "qwen3", max_retries=0)
    too_long = whole(400, {"error": {"message": said}})
    server.say(too_long, answer("ok"), answer("ok"), too_long)
    await ask(provider)
    await ask(provider)
    with pytest.raises(ContextLengthError):
        await ask(provider)
    limits = [each.body[LIMIT] for each in server.requests]
    assert limits == [100 + 4096, *[100 + 1000] * 3]


@pytest.mark.parametrize("shape", ["detail", "message", "error"])
async def test_what_the_service_repeats_of_a_question_is_no_refusal(
    server, provider, shape
):
    said = {shape: detail((["body", "messages", 0], "Should be a string", "QUOTED"))}
    question = "Is a temperature unsupported? What is the maximum context?"
    said[shape][0]["input"] = question
    server.say(whole(422, said), answer("ok"))
    with pytest.raises(AgentProviderError) as caught:
        await ask(provider, question)
    assert "body.messages.0: Should be a string" in str(caught.value)
    assert question not in str(caught.value)
    await ask(provider)
    first, last = (set(each.body) for each in server.requests)
    assert first == last


@pytest.mark.parametrize(
    ("kind", "model"),
    [
        (AnthropicProvider, "claude-haiku-4-5"),
        (GeminiProvider, "gemini-2.5-flash"),
        (OpenAIProvider, "gpt-4.1"),
    ],
)
async def test_in_no_wire_format_is_what_is_repeated_a_refusal(server, kind, model):
    question = (
        "Are the 'temperature', 'max_output_tokens' and output_format not supported, "
        'deprecated, unsupported? max_tokens: 100 > 1; Unknown name "topP":'
    )
    options = {"api": "responses"} if kind is OpenAIProvider else {}
    provider = kind(
        model, "a-key-of-the-tests", base_url=server.url, max_retries=0, **options
    )
    said = {"detail": detail((["body"], "Input should be a string", question))}
    server.say(*[whole(422, said)] * 3)
    for _ in range(2):
        with pytest.raises(AgentProviderError, match="should be a string"):
            await ask(provider, question)
    first, again = (each.body for each in server.requests)
    assert first == again


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["error", "message", "detail", "msg", "loc", "param", "code"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(json_values)
def test_an_error_of_any_shape_can_be_read(body):
    words = words_of(body)
    assert {type(words.message), type(words.param), type(words.code)} == {str}
