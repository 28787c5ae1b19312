"""Several models: who is asked, when the next one is, and what is told of it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest

from notebook_agents import (
    Agent,
    AgentConfigurationError,
    AgentProviderError,
    BaseProvider,
    Budget,
    FallbackProvider,
    ProviderResponse,
    ScriptedProvider,
    call,
)
from notebook_agents import budget as budget_module
from notebook_agents.errors import (
    ContentFilteredError,
    ContextLengthError,
    NoModelAnsweredError,
    ProviderAuthError,
    ProviderRateLimitError,
    ProviderTimeoutError,
    StreamInterruptedError,
)
from notebook_agents.messages import Message, ToolCall
from notebook_agents.providers import (
    AnthropicProvider,
    ModelReply,
    ModelRequest,
    OpenAICompatibleProvider,
    Provider,
    ReasoningDelta,
    RetryDelta,
    TextDelta,
    fallback,
)
from tests.providers import anthropic_wire
from tests.providers.wire import (
    CUT,
    DONE,
    STOP,
    answer,
    delta,
    event,
    streamed,
    whole,
    wire_server,
)

REQUEST = ModelRequest(messages=[Message("user", "hi")])
KEY = "sk-a-key-of-the-tests"


class Named(ScriptedProvider):
    """A script with a name of its own."""

    def __init__(self, name, script):
        super().__init__(script)
        self.name = name
        self.model = "m"


class Breaks(Provider):
    """Says something and breaks off, once; then it answers."""

    name = "breaks"
    model = "m"

    def __init__(self, *said, error=None):
        self.said = said
        self.error = error
        self.asked = 0

    async def respond(self, request):
        self.asked += 1
        for each in self.said:
            yield each
        if self.error is not None:
            raise self.error


def chat(server, **options):
    return OpenAICompatibleProvider(server.url, "chat", **{"max_retries": 0, **options})


def down(**facts):
    return AgentProviderError(
        "It is out of order. Wait.", **{"retryable": True} | facts
    )


async def all_of(provider, request=REQUEST):
    return [each async for each in provider.respond(request)]


async def read_into(read, stream):
    async for text in stream:
        read.append(text)


def retries(result):
    return [each for each in result.events if each.event == "retry"]


# --------------------------------------------------------------- who answers


async def test_the_first_that_can_answers_and_no_other_is_asked():
    first, second = Named("a", ["Hello."]), Named("b", [])
    result = await Agent(FallbackProvider([first, second])).run("Hi")
    assert (str(result), result.model) == ("Hello.", "a:m")
    assert second.requests == []
    assert retries(result) == []


async def test_the_next_one_answers_and_is_named():
    both = [Named("a", [down()]), Named("b", ["Hello."])]
    result = await Agent(both).run("Hi")
    assert (str(result), result.model) == ("Hello.", "b:m")
    [told] = retries(result)
    assert (told.model, told.reason) == ("b:m", "a:m: It is out of order")
    assert (told.attempt, told.discard_partial) == (1, False)


@pytest.mark.parametrize(
    "reply",
    [
        whole(401, {"error": {"message": "no"}}),
        whole(402, {"error": {"message": "no"}}),
        whole(403, {"error": {"message": "no"}}),
        whole(404, {"error": {"message": "no such model"}}),
        whole(404, {"error": {"message": "what?"}}),
        whole(408, {"error": {"message": "no"}}),
        whole(429, {"error": {"message": "no"}}),
        whole(429, {"error": {"code": "insufficient_quota", "message": "no"}}),
        whole(500, {"error": {"message": "no"}}),
        whole(529, {"error": {"message": "overloaded"}}),
        whole(301, b"<html>moved</html>"),
        whole(200, b"<html>Sign in to the network</html>"),
        whole(400, {"error": {"message": "Your credit balance is too low"}}),
        whole(400, {"error": {"code": "tool_use_failed", "message": "no"}}),
        [CUT],
        streamed(CUT),
        streamed(event({"error": {"code": 503, "message": "no"}})),
    ],
    ids=str,
)
async def test_what_another_one_could_answer_goes_on_to_it(server, reply):
    server.say(reply, reply)
    result = await Agent([chat(server), Named("b", ["Hello."])]).run("Hi")
    assert (str(result), result.model) == ("Hello.", "b:m")


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (whole(400, {"error": {"message": "odd"}}), AgentProviderError),
        (whole(413, {"error": {"message": "big"}}), ContextLengthError),
        (whole(422, {"error": {"message": "odd"}}), AgentProviderError),
        (whole(400, {"error": {"message": "maximum context"}}), ContextLengthError),
        (whole(400, {"error": {"code": "content_filter"}}), ContentFilteredError),
    ],
    ids=str,
)
async def test_a_request_that_is_at_fault_is_not_sent_to_others(server, reply, error):
    server.say(reply)
    second = Named("b", ["Hello."])
    with pytest.raises(error) as caught:
        await Agent([chat(server), second]).run("Hi")
    assert not isinstance(caught.value, NoModelAnsweredError)
    assert second.requests == []


async def test_a_model_that_is_not_set_up_is_passed_over():
    agent = Agent(["anthropic:claude-sonnet-5-5", "openai", Named("c", ["Hello."])])
    result = await agent.run("Hi")
    assert (str(result), result.model) == ("Hello.", "c:m")
    first, second = retries(result)
    assert first.model == "openai"
    assert "Missing API key for provider 'anthropic'" in first.reason
    assert second.model == "c:m"


async def test_a_key_that_cannot_be_one_is_as_good_as_none(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "<your key>")
    result = await Agent(["openai", Named("b", ["Hello."])]).run("Hi")
    assert result.model == "b:m"


async def test_a_key_that_is_set_meanwhile_is_used_at_once(server, monkeypatch):
    anthropic = AnthropicProvider("claude-haiku-5-5", base_url=server.url)
    agent = Agent([anthropic, Named("b", ["From b."])])
    assert str(await agent.run("Hi")) == "From b."
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    server.say(anthropic_wire.answer("From a."))
    result = await agent.run("Hi")
    assert (str(result), result.model) == ("From a.", "anthropic:claude-haiku-5-5")


async def test_nobody_listens_and_the_next_one_answers():
    lost = OpenAICompatibleProvider("http://127.0.0.1:1/v1", "m", max_retries=0)
    assert str(await Agent([lost, Named("b", ["Hello."])]).run("Hi")) == "Hello."


async def test_a_model_that_is_too_slow_is_left(server):
    server.say([*streamed(event(delta(content=""))), CUT])
    slow = Breaks(error=ProviderTimeoutError("It took too long."))
    assert str(await Agent([slow, Named("b", ["Hello."])]).run("Hi")) == "Hello."


class Foreign(BaseProvider):
    """Somebody else's provider."""

    name = "foreign"

    def __init__(self, error=None):
        self._error = error

    async def chat(self, messages, *, tools=None, tool_calling=None):
        if self._error:
            raise self._error
        return ProviderResponse("From afar.")

    async def stream(self, messages, *, tools=None, tool_calling=None):
        yield "From afar."


async def test_a_provider_of_somebody_else_may_be_among_them():
    broken = Foreign(ConnectionRefusedError(111, "Connection refused", "10.0.0.5"))
    result = await Agent([broken, Foreign()]).run("Hi")
    assert (str(result), result.model) == ("From afar.", "foreign")
    assert retries(result)[0].reason == "foreign: Connection refused"


async def test_a_fault_in_the_code_of_a_provider_is_not_hidden():
    with pytest.raises(TypeError, match="a fault"):
        await Agent([Foreign(TypeError("a fault")), Foreign()]).run("Hi")


# ------------------------------------------------------------- nobody answers


async def test_the_errors_of_all_are_told_in_one():
    both = FallbackProvider(
        ["openai:gpt-6-luna", Breaks(error=down(status_code=504)), Foreign(OSError())]
    )
    with pytest.raises(NoModelAnsweredError) as caught:
        await Agent(both).run("Hi")
    assert str(caught.value).splitlines() == [
        "None of 3 models answered.",
        "- openai:gpt-6-luna: Missing API key for provider 'openai'. Set "
        "OPENAI_API_KEY in your environment or .env file.",
        "- breaks:m: It is out of order. Wait.",
        "- foreign: OSError",
    ]
    assert len(caught.value.errors) == 3
    assert (caught.value.status_code, caught.value.retryable) == (502, True)


async def test_that_none_is_set_up_is_a_matter_of_the_set_up():
    with pytest.raises(NoModelAnsweredError) as caught:
        await Agent(["openai", "anthropic"]).run("Hi")
    assert caught.value.status_code == 500


async def test_the_only_one_fails_with_its_own_error():
    with pytest.raises(ProviderAuthError, match=r"^no$"):
        await Agent([Breaks(error=ProviderAuthError("no"))]).run("Hi")


async def test_no_key_is_in_what_is_told(server, caplog):
    echo = {"error": {"message": f"bad key {KEY}"}}
    server.say(whole(401, echo), whole(500, echo))
    both = [chat(server, api_key=KEY), chat(server, api_key=KEY)]
    agent = Agent(both, on_event=lambda event: told.append(str(event)))
    told: list[str] = []
    with pytest.raises(NoModelAnsweredError) as caught:
        await agent.run("Hi")
    assert KEY not in f"{caught.value}{caught.value.errors!r}{told}{caplog.text}{agent}"


# ------------------------------------------------------- text that was shown


async def test_text_that_was_shown_is_taken_back(server):
    server.say(streamed(event(delta(content="Half")), CUT))
    result = await Agent([chat(server), Named("b", ["Hello."])]).run("Hi")
    [told] = retries(result)
    assert told.discard_partial
    assert "broke before the reply was complete" in told.reason
    assert (str(result), result.model) == ("Hello.", "b:m")
    assert result.new_messages[-1]["content"] == "Hello."


async def test_a_thought_that_was_shown_is_taken_back():
    broken = Breaks(ReasoningDelta("hm"), error=down())
    assert (await all_of(FallbackProvider([broken, Named("b", ["Hi"])])))[1] == (
        RetryDelta(1, 0.0, "breaks:m: It is out of order", True, "b:m")  # noqa: FBT003
    )


async def test_what_is_read_as_text_cannot_be_taken_back():
    broken = Breaks(TextDelta("Half"), error=down())
    stream = Agent([broken, Named("b", ["Hello."])]).stream("Hi")
    read: list[str] = []
    with pytest.raises(StreamInterruptedError, match="cannot be taken back"):
        await read_into(read, stream)
    assert read == ["Half"]


async def test_text_of_the_next_one_is_read_where_there_was_none_before():
    stream = Agent([Breaks(error=down()), Named("b", ["Hello."])]).stream("Hi")
    assert "".join([text async for text in stream]) == "Hello."


async def test_a_plain_stream_breaks_off_rather_than_say_it_twice():
    broken = Breaks(TextDelta("Half"), error=down())
    both = FallbackProvider([broken, Named("b", ["Hello."])])
    read: list[str] = []
    with pytest.raises(StreamInterruptedError):
        await read_into(read, both.stream([{"role": "user", "content": "Hi"}]))
    assert read == ["Half"]


async def test_a_stream_without_an_end_is_no_answer():
    cut = Breaks(TextDelta("Half"))
    result = await Agent([cut, Named("b", ["Hello."])]).run("Hi")
    assert str(result) == "Hello."
    assert "ended before it was complete" in retries(result)[0].reason
    with pytest.raises(StreamInterruptedError):
        await all_of(FallbackProvider([cut]))


async def test_only_what_was_shown_is_void():
    broken = Breaks(TextDelta("Half"), error=down())
    result = await Agent([broken, Breaks(error=down()), Named("c", ["Hi."])]).run("Hi")
    assert [each.discard_partial for each in retries(result)] == [True, False]


async def test_a_run_is_stopped_in_whatever_it_waits_for(server, wait_until):
    server.say(whole(500, {}), streamed(event(delta(content="a")), CUT))
    both = [chat(server), chat(server)]
    stream = Agent(both).stream("Hi")
    events = stream.events()
    async for each in events:
        if each.event == "retry":
            break
    await events.aclose()
    await asyncio.to_thread(wait_until, lambda: server.open_connections == 0)


# -------------------------------------------------------------- in what order


async def test_one_that_was_out_of_order_rests(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(fallback.time, "monotonic", lambda: now[0])
    first = Named("a", [down(), "From a."])
    both = FallbackProvider([first, Named("b", ["From b.", "Again b."])], rest=30)
    agent = Agent(both)
    assert str(await agent.run("Hi")) == "From b."
    now[0] += 29
    result = await agent.run("Hi")
    assert str(result) == "Again b."
    [told] = retries(result)
    assert (told.model, told.reason) == ("b:m", "a:m: It is out of order")
    assert (told.attempt, told.discard_partial) == (0, False)
    now[0] += 2
    result = await agent.run("Hi")
    assert (str(result), result.model) == ("From a.", "a:m")


async def test_one_that_rests_is_still_asked_if_no_other_answers():
    first = Named("a", [down(), "From a."])
    both = FallbackProvider([first, Named("b", ["From b.", down()])])
    assert str(await Agent(both).run("Hi")) == "From b."
    assert str(await Agent(both).run("Hi")) == "From a."


async def test_one_that_asks_to_wait_long_is_left_for_the_next(server):
    slow = whole(429, {"error": {"message": "no"}}, retry_after="60")
    server.say(slow)
    both = FallbackProvider([chat(server, max_retries=3), Named("b", ["Hello."])])
    async with asyncio.timeout(5):
        result = await Agent(both).run("Hi")
    assert str(result) == "Hello."
    assert "asks to wait 60 s" in retries(result)[0].reason
    assert len(server.requests) == 1


async def test_one_that_keeps_its_own_limits_is_waited_for():
    """Nothing is wrong with it."""
    waits = RetryDelta(0, 60.0, "waiting for the rate limit")
    limited = Breaks(waits, ModelReply(text="Hello."))
    result = await Agent([limited, Named("b", ["From b."])]).run("Hi")
    assert (str(result), result.model) == ("Hello.", "breaks:m")


async def test_the_last_one_is_waited_for(server):
    server.say(
        whole(429, {"error": {"message": "no"}}, retry_after_ms="6000"), answer("Hi")
    )
    both = FallbackProvider([Named("a", [down()]), chat(server, max_retries=3)])
    deltas = both.respond(REQUEST)
    try:
        assert (await anext(deltas)).model
        assert (await anext(deltas)).wait_s == 6.0
    finally:
        await deltas.aclose()


async def test_a_turn_stays_with_the_model_that_began_it(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(fallback.time, "monotonic", lambda: now[0])

    def look():
        now[0] += 1000  # the first one is well again
        return "seen"

    first = Named("a", [down(), "From a."])
    second = Named("b", [call("look"), "From b."])
    agent = Agent([first, second], [look])
    result = await agent.run("Hi")
    assert (str(result), result.model) == ("From b.", "b:m")
    assert len(retries(result)) == 1
    assert str(await agent.run("Hi")) == "From a."


# ---------------------------------------------------- what goes to which model


def called(call_id: str, thought: str):
    """Say a call with a thought that has to be sent back."""
    function = {"name": "look", "arguments": "{}"}
    details = [{"type": "reasoning.text", "text": thought}]
    return streamed(
        event(delta(reasoning_details=details)),
        event(delta(tool_calls=[{"index": 0, "id": call_id, "function": function}])),
        event(delta("tool_calls")),
        DONE,
    )


def replaying(server):
    from notebook_agents.providers.profiles import ChatProfile

    return chat(server, profile=ChatProfile(replays="reasoning_details"))


async def test_thoughts_go_back_to_nobody_but_their_own_model():
    """Both services number their calls alike, and the first one thinks again."""
    with wire_server() as one, wire_server() as other:
        first, second = replaying(one), replaying(other)
        # A turn of the first alone: it has a thought for its call_1.
        one.say(called("call_1", "mine"), answer("Done."))
        await Agent(first, [look]).run("Hi")
        # Now the second one makes the call, and fails; the first goes on.
        one.say(whole(500, {}), answer("From the first."))
        other.say(called("call_1", "theirs"), whole(500, {}))
        result = await Agent([first, second], [look]).run("Hi")
    assert str(result) == "From the first."
    assert one.requests[1].body["messages"][1]["reasoning_details"]
    said = one.requests[-1].body["messages"]
    assert "reasoning_details" not in said[1]
    assert said[1]["tool_calls"][0]["id"] == said[2]["tool_call_id"] == "call_1"


async def test_another_conversation_with_calls_of_the_same_name_moves_no_turn():
    """Services that begin anew with each reply: all calls here are call_0."""
    is_down = False

    class Counting(Provider):
        def __init__(self, name: str) -> None:
            self.name = name

        async def respond(self, request):
            if is_down and self.name == "a":
                raise down()
            if request.messages[-1].role == "tool":
                yield ModelReply(text=f"From {self.name}.")
            else:
                yield ModelReply(tool_calls=(ToolCall("call_0", "look"),))

    both = FallbackProvider([Counting("a"), Counting("b")], rest=0)
    answers = []

    async def look() -> str:
        """Let another conversation go to the second model meanwhile."""
        nonlocal is_down
        if not is_down:
            is_down = True
            answers.append(str(await Agent(both, [look]).run("Hi")))
            is_down = False
        return "seen"

    answers.append(str(await Agent(both, [look]).run("Hi")))
    assert answers == ["From b.", "From a."]


def look() -> str:
    """Look around."""
    return "seen"


async def test_each_model_is_asked_for_a_shape_in_its_own_way(server):
    @dataclass
    class Point:
        x: int

    server.say(whole(500, {}), streamed(event(delta(content='{"x": 1}')), STOP, DONE))
    agent = Agent([chat(server), chat(server)], output_type=Point)
    result = await agent.run("Hi")
    assert result.output == Point(1)
    assert all("response_format" in each.body for each in server.requests)
    plain = Agent([Breaks(error=down()), Told()], output_type=Point)
    assert (await plain.run("Hi")).output == Point(2)


class Told(Foreign):
    """Writes JSON if it is told to."""

    async def chat(self, messages, *, tools=None, tool_calling=None):
        assert "JSON schema" in messages[0]["content"]
        return ProviderResponse('{"x": 2}')


async def test_a_call_of_one_and_an_answer_of_another_are_one_turn():
    first = Named("a", [call("look"), down()])
    result = await Agent([first, Named("b", ["Done."])], [look]).run("Hi")
    assert (str(result), result.model, result.steps) == ("Done.", "b:m", 2)


# -------------------------------------------------------------------- the price


async def test_the_price_is_that_of_the_model_that_answered(monkeypatch):
    asked = []

    async def cost(calls):
        asked.extend(calls)
        return 1.0

    monkeypatch.setattr("notebook_agents.run.cost_of", cost)
    with wire_server() as server:
        server.say(answer("Hi", usage={"prompt_tokens": 3, "completion_tokens": 4}))
        await Agent([Named("a", [down()]), chat(server)]).run("Hi")
        [made] = asked
        assert (made.model, made.url, made.prompt_tokens) == ("chat", server.url, 3)


async def test_a_budget_holds_whoever_answers(monkeypatch):
    """The dear one of the two decides how much may be written."""

    async def cost(calls):
        dear = calls[0].model == "dear"
        return sum(call.completion_tokens for call in calls) * (0.01 if dear else 0.0)

    monkeypatch.setattr(budget_module, "cost_of", cost)
    cheap, dear = Named("a", [down()]), Named("b", ["Hello."])
    dear.model = "dear"
    agent = Agent([cheap, dear], budget=Budget(usd=1.0))
    result = await agent.run("Hi")
    assert dear.requests[0].max_tokens == 100
    assert result.model == "b:dear"


async def test_a_budget_that_is_too_small_for_any_sends_nothing(monkeypatch):
    async def cost(calls):
        return sum(call.prompt_tokens + call.completion_tokens for call in calls)

    monkeypatch.setattr(budget_module, "cost_of", cost)
    both = [Named("a", []), Named("b", [])]
    result = await Agent(both, budget=Budget(usd=0.5)).run("Hello there")
    assert result.stop_reason == "budget"
    assert both[0].requests == both[1].requests == []


# ----------------------------------------------------------------- how it is made


@pytest.mark.parametrize("wrong", [[], "openai", [None], [3], [[]], None])
def test_it_takes_a_list_of_models(wrong):
    with pytest.raises(AgentConfigurationError, match="list of models"):
        FallbackProvider(wrong)


@pytest.mark.parametrize("wrong", ["60", None, -1, float("nan"), True])
def test_a_rest_that_is_no_number_of_seconds_is_refused_at_once(wrong):
    with pytest.raises(AgentConfigurationError, match=r"^rest is "):
        FallbackProvider([Named("a", ["Hello."])], rest=wrong)


def test_several_have_no_model_in_common():
    with pytest.raises(AgentConfigurationError, match="cannot be that of several"):
        Agent(["openai", "anthropic"], model="gpt-6-luna")


def test_making_one_needs_no_key_and_no_network():
    agent = Agent(["anthropic:claude-sonnet-5-5", "openai", "local"])
    assert agent.model_label == "anthropic:claude-sonnet-5-5 (else openai, local)"
    assert "anthropic" in repr(FallbackProvider(["anthropic"]))


async def test_a_name_that_is_wrong_is_told_before_it_is_needed():
    first = Named("a", ["Hello."])
    with pytest.raises(AgentConfigurationError, match="no provider named 'opnai'"):
        await Agent([first, "opnai:x"]).run("Hi")
    assert first.requests == []


async def test_one_may_stand_within_another():
    inner = FallbackProvider([Named("a", [down()]), Named("b", [down()])])
    result = await Agent([inner, Named("c", ["Hello."])]).run("Hi")
    assert (str(result), result.model) == ("Hello.", "c:m")


async def test_runs_at_the_same_time_do_not_mix():
    first = Named("a", [down()] + ["From a."] * 20)
    both = FallbackProvider([first, Named("b", ["From b."] * 20)])
    results = await asyncio.gather(
        *(Agent(both, name=str(number)).run("Hi") for number in range(20))
    )
    assert all(str(r) == f"From {r.model[0]}." for r in results)


async def test_a_rate_limit_says_how_long_to_rest(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(fallback.time, "monotonic", lambda: now[0])
    limit = ProviderRateLimitError("slow down", retryable=True, retry_after=5.0)
    both = FallbackProvider([Named("a", [limit, "From a."]), Named("b", ["b", "b"])])
    await all_of(both)
    now[0] += 6
    assert isinstance((await all_of(both))[-1], ModelReply)
    assert both._members[0].get().requests[1:]
