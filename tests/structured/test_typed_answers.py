"""What a user gets who asks for an answer of a type."""

from __future__ import annotations

import asyncio
import enum
import json
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Literal, Optional

import pandas as pd
import pytest
import typing_extensions
from pydantic import BaseModel, Field, RootModel, field_validator

from notebook_agents import (
    Agent,
    AgentConfigurationError,
    Budget,
    OutputValidationError,
    ScriptedProvider,
    block_keywords,
    call,
    strip_pii,
    tool,
)
from notebook_agents.errors import (
    AgentProviderError,
    GuardrailBlockedError,
    RunCancelledError,
)
from notebook_agents.events import RetryEvent, TaskEvent


class Item(BaseModel):
    """Something on sale."""

    name: str
    price: float = Field(gt=0)


class Invoice(BaseModel):
    """What somebody has to pay."""

    vendor: str
    items: list[Item] = []
    due: date | None = None


@dataclass
class Point:
    """A place."""

    x: int
    y: int = 7


class Person(typing_extensions.TypedDict):
    """Somebody."""

    name: str
    age: typing_extensions.NotRequired[int]


class Color(enum.Enum):
    """A colour."""

    RED = "red"
    BLUE = "blue"


class Node(BaseModel):
    """A tree."""

    value: int
    children: list[Node] = []


class Prices(RootModel[list[float]]):
    """Prices in euros."""


ACME = '{"vendor": "Acme", "items": [{"name": "Tea", "price": 2.5}], "due": null}'
WRAPPED = [
    (int, "42", 42),
    (bool, "true", True),
    (float, "2", 2.0),
    (date, '"2026-11-30"', date(2026, 11, 30)),
    (Color, '"blue"', Color.BLUE),
    (Literal["yes", "no"], '"no"', "no"),
    (Optional[int], "null", None),  # noqa: UP045 - as people write it
    (int | None, "3", 3),
    (list[Point], '[{"x": 1, "y": null}]', [Point(1, 7)]),
    (set[str], '["a", "a"]', {"a"}),
    (tuple[int, str], '[1, "a"]', (1, "a")),
    (Prices, "[1, 2.5]", Prices([1.0, 2.5])),
    (Node, '{"value": 1, "children": []}', Node(value=1)),
    (Point | Item, '{"name": "Tea", "price": 1}', Item(name="Tea", price=1)),
    (Annotated[int, Field(le=9)], "9", 9),
    (Any, '{"a": [1]}', {"a": [1]}),
]
OBJECTS = [
    (Invoice, ACME, Invoice(vendor="Acme", items=[Item(name="Tea", price=2.5)])),
    (Point, '{"x": 1, "y": 2}', Point(1, 2)),
    (Person, '{"name": "Ada"}', {"name": "Ada"}),
    (dict[str, int], '{"a": 1}', {"a": 1}),
]


def agent(*script, output_type=Invoice, tools=(), **options) -> Agent:
    return Agent(ScriptedProvider(script), tools, output_type=output_type, **options)


def requests_of(agent: Agent) -> list:
    return agent._model.get().requests


def named(kind: object) -> str:
    return str(kind).rpartition(".")[2]


# ------------------------------------------------------------------------ types


@pytest.mark.parametrize(("kind", "text", "value"), OBJECTS, ids=named)
async def test_an_object_is_asked_for_as_it_is(kind, text, value):
    typed = agent(text, output_type=kind)
    result = await typed.run("x")
    assert (result.output, result.answer) == (value, text)
    assert type(result.output) is type(value)
    assert requests_of(typed)[0].output.schema["type"] == "object"


@pytest.mark.parametrize(("kind", "text", "value"), WRAPPED, ids=named)
async def test_all_else_is_asked_for_within_an_object(kind, text, value):
    typed = agent(f'{{"answer": {text}}}', output_type=kind)
    result = await typed.run("x")
    assert result.output == value
    assert type(result.output) is type(value)
    schema = requests_of(typed)[0].output.schema
    assert (schema["type"], list(schema["properties"])) == ("object", ["answer"])


@pytest.mark.parametrize(("kind", "text", "value"), WRAPPED, ids=named)
async def test_the_object_around_it_may_be_left_out(kind, text, value):
    assert (await agent(text, output_type=kind).run("x")).output == value


async def test_text_is_a_type_too():
    typed = agent("Just words, no { JSON.", output_type=str)
    result = await typed.run("x")
    assert result.output == result.answer == "Just words, no { JSON."
    assert requests_of(typed)[0].output is None


async def test_without_a_type_there_is_no_output():
    assert (await Agent(ScriptedProvider(["1"])).run("x")).output is None


async def test_types_that_are_made_inside_a_function_are_known():
    @dataclass
    class Part:
        number: int

    @dataclass
    class Whole:
        parts: list[Part]

    typed = agent('{"parts": [{"number": 1}]}', output_type=Whole)
    assert (await typed.run("x")).output == Whole([Part(1)])


async def test_a_run_may_ask_for_another_type():
    typed = agent('{"answer": 3}', ACME)
    assert (await typed.run("x", output_type=int)).output == 3
    assert (await typed.run("x")).output.vendor == "Acme"


async def test_an_agent_without_a_type_may_be_asked_for_one():
    plain = Agent(ScriptedProvider(['{"answer": [1, 2]}', "words"]))
    assert (await plain.run("x", output_type=list[int])).output == [1, 2]
    assert (await plain.run("x")).output is None


async def test_every_way_to_run_takes_a_type():
    typed = agent('{"answer": 1}', '{"answer": 2}', '{"answer": 3}')
    assert (await typed.run("x", output_type=int)).output == 1
    assert (await typed.stream("x", output_type=int).result()).output == 2
    assert (await typed.start("x", output_type=int).result()).output == 3


def test_a_run_that_is_waited_for_takes_a_type():
    assert agent('{"answer": 1}').run_sync("x", output_type=int).output == 1


@pytest.mark.parametrize(
    "kind",
    [5, "Invoice", print, lambda: 3, {"type": "object"}, [int], object().__init__],
)
def test_what_json_cannot_carry_is_refused_at_once(kind):
    with pytest.raises(AgentConfigurationError, match="cannot be read from JSON"):
        agent(output_type=kind)


def test_the_part_that_json_cannot_carry_is_named():
    class Odd:
        pass

    with pytest.raises(AgentConfigurationError, match="Odd"):
        agent(output_type=list[Odd])


def test_an_answer_is_a_value_and_not_the_name_of_one():
    """A tool takes a DataFrame by its name; a model cannot give one."""
    for kind in (pd.DataFrame, list[pd.DataFrame], pd.DataFrame | None):
        with pytest.raises(AgentConfigurationError, match="DataFrame"):
            agent(output_type=kind)


async def test_a_run_refuses_such_a_type_before_anything_is_sent():
    typed = agent(ACME)
    with pytest.raises(AgentConfigurationError, match="cannot be read"):
        await typed.run("x", output_type=5)
    assert requests_of(typed) == []


def test_a_negative_number_of_retries_is_refused():
    with pytest.raises(AgentConfigurationError, match="output_retries is -1"):
        agent(output_retries=-1)


# ------------------------------------------------------------- what is asked for


def test_the_schema_is_strict_where_that_keeps_its_meaning():
    typed = agent(ACME)
    typed.run_sync("x")
    output = requests_of(typed)[0].output
    assert (output.name, output.strict) == ("Invoice", True)
    assert output.schema["description"] == "What somebody has to pay."
    assert output.schema["required"] == ["vendor", "items", "due"]
    assert output.schema["$defs"]["Item"]["additionalProperties"] is False


def test_the_schema_is_not_strict_where_keys_are_free():
    typed = agent('{"a": 1}', output_type=dict[str, int])
    typed.run_sync("x")
    assert requests_of(typed)[0].output.strict is False


def test_the_run_says_what_it_asks_for():
    result = agent(ACME).run_sync("x")
    assert isinstance(result.events[0], TaskEvent)
    assert result.events[0].output == "Invoice"


def test_the_result_can_be_written_as_json():
    result = agent(ACME).run_sync("x")
    written = json.loads(json.dumps(result.to_dict()))
    assert written["output"]["items"] == [{"name": "Tea", "price": 2.5}]


def test_the_result_is_shown_as_laid_out_json():
    bundle = agent(ACME).run_sync("x")._repr_mimebundle_()
    assert bundle["text/plain"] == ACME
    assert bundle["text/markdown"].startswith('```json\n{\n  "vendor": "Acme",')


# ------------------------------------------------------------------- lenient reading


@pytest.mark.parametrize(
    "text",
    [
        f"Here it is:\n\n```json\n{ACME}\n```\nAnything else?",
        f"```\n{ACME}\n```",
        f"The set {{a, b}} and the list [1] come before it. {ACME} That is all.",
        f"First try: {{}}\n\nNow: {ACME}",
        f"\n\n{ACME}\n",
        ACME.replace("null", '"null"').replace('"null"', "null"),
        ACME.replace("[{", '"[{')
        .replace("}]", '}]"')
        .replace(
            '{"name": "Tea", "price": 2.5}', r"{\"name\": \"Tea\", \"price\": 2.5}"
        ),
    ],
)
async def test_words_around_the_json_do_no_harm(text):
    result = await agent(text).run("x")
    assert result.output.items == [Item(name="Tea", price=2.5)]
    assert result.steps == 1
    assert result.answer == text


@pytest.mark.parametrize("text", ["blue", "Blue".lower() + ".", "**blue**", "`blue`"])
async def test_one_word_may_come_without_quotes(text):
    assert (await agent(text, output_type=Color).run("x")).output is Color.BLUE


async def test_null_for_a_field_with_a_default_is_the_default():
    text = '{"vendor": "Acme", "items": null, "due": null}'
    assert (await agent(text).run("x")).output == Invoice(vendor="Acme")


# ---------------------------------------------------------------- trying again


async def test_an_answer_that_does_not_fit_goes_back_to_the_model():
    typed = agent('{"items": []}', ACME)
    result = await typed.run("Read this.")
    assert result.output.vendor == "Acme"
    asked = [(m.role, m.content) for m in requests_of(typed)[1].messages]
    assert asked[:2] == [("user", "Read this."), ("assistant", '{"items": []}')]
    assert asked[2][0] == "user"
    assert "'answer.vendor': field required" in asked[2][1]


async def test_a_correction_is_an_event_that_voids_the_text_so_far():
    result = await agent("Hm.", ACME).run("x")
    [retry] = [e for e in result.events if isinstance(e, RetryEvent)]
    assert (retry.attempt, retry.wait_s, retry.discard_partial) == (1, 0.0, True)
    assert retry.reason == "the answer is no Invoice: there is no JSON in it"


async def test_a_model_that_was_not_told_the_shape_is_told_it():
    typed = agent("Hm.", ACME)
    await typed.run("x")
    assert '"vendor"' in requests_of(typed)[1].messages[-1].content


async def test_an_answer_without_a_word_can_be_corrected():
    typed = agent("", ACME)
    assert (await typed.run("x")).output.vendor == "Acme"
    assert all(message.content for message in requests_of(typed)[1].messages)


async def test_what_was_corrected_is_not_remembered():
    typed = agent("Hm.", ACME, "Fine.")
    await typed.run("x")
    stored = [message["content"] for message in typed.memory.all_messages]
    assert stored == ["x", ACME]


async def test_after_the_last_try_there_is_an_error_that_has_everything():
    typed = agent("Hm.", '{"vendor": 1}', '{"vendor": "A", "items": [{}]}')
    with pytest.raises(
        OutputValidationError, match="no Invoice after 3 tries"
    ) as caught:
        await typed.run("x")
    assert caught.value.text == '{"vendor": "A", "items": [{}]}'
    assert len(caught.value.problems) == 3
    assert "answer.items[0].name" in caught.value.problems[2]
    assert isinstance(caught.value, AgentProviderError)
    assert caught.value.result.steps == 3
    assert caught.value.result.output is None
    said = "".join(e.text for e in typed.last_run.recorded if e.event == "token")
    assert said.endswith(caught.value.text)


async def test_a_failed_turn_leaves_the_conversation_as_it_was():
    typed = agent("Hm.", output_retries=0)
    with pytest.raises(OutputValidationError, match="after 1 try"):
        await typed.run("x")
    assert typed.memory.all_messages == []


async def test_corrections_do_not_count_as_rounds_of_tools():
    @tool
    def look_up() -> str:
        """Look something up."""
        return "Acme"

    typed = agent("Hm.", call("look_up"), "Hm.", ACME, tools=[look_up], max_steps=2)
    result = await typed.run("x")
    assert (result.output.vendor, result.steps) == ("Acme", 4)


async def test_a_round_of_tools_comes_after_what_it_was_asked_in():
    """A correction that led to a call is not told a second time."""

    @tool
    def look_up() -> str:
        """Look something up."""
        return "Acme"

    typed = agent("Hm.", call("look_up"), ACME, tools=[look_up])
    await typed.run("x")
    assert [m.role for m in requests_of(typed)[2].messages] == [
        "user",
        "assistant",
        "tool",
    ]


async def test_a_rule_of_the_users_is_told_to_the_model():
    class Even(BaseModel):
        number: int

        @field_validator("number")
        @classmethod
        def check(cls, value: int) -> int:
            if value % 2:
                message = "must be even"
                raise ValueError(message)
            return value

    typed = agent('{"number": 3}', '{"number": 4}', output_type=Even)
    assert (await typed.run("x")).output.number == 4
    assert "must be even" in requests_of(typed)[1].messages[-1].content


async def test_a_rule_that_fails_itself_is_a_misfit_like_any_other():
    class Odd(BaseModel):
        number: int

        @field_validator("number")
        @classmethod
        def check(cls, value: int) -> int:
            return value // 0

    with pytest.raises(OutputValidationError, match="modulo by zero"):
        await agent('{"number": 3}', output_type=Odd, output_retries=0).run("x")


# --------------------------------------------------- where trying again is no use


@pytest.mark.parametrize(
    ("stop_reason", "said"),
    [
        ("length", "cut off at the token limit; raise max_tokens"),
        ("refusal", r"the model refused to answer \(I will not\.\)"),
        ("content_filter", "the service cut the answer off"),
    ],
)
async def test_what_would_only_happen_again_is_an_error_at_once(stop_reason, said):
    typed = agent({"text": "I will not.", "stop_reason": stop_reason}, ACME)
    with pytest.raises(OutputValidationError, match=said):
        await typed.run("x")
    assert len(requests_of(typed)) == 1


async def test_an_answer_that_is_whole_at_the_limit_is_taken():
    result = await agent({"text": ACME, "stop_reason": "length"}).run("x")
    assert result.output.vendor == "Acme"


async def test_a_run_that_a_limit_ends_has_no_output():
    """Nothing is raised at a limit, with a type or without."""

    @tool
    def look_up() -> str:
        """Look something up."""
        return "Acme"

    script = [call("look_up"), call("look_up")]
    result = await agent(*script, tools=[look_up], max_steps=2).run("x")
    assert (result.output, result.stop_reason) == (None, "max_tool_rounds")
    text = agent(*script, tools=[look_up], max_steps=2, output_type=str)
    assert "max rounds" in (await text.run("x")).output


async def test_a_budget_is_kept_while_an_answer_is_corrected():
    used = {"text": "Hm.", "usage": {"prompt": 10, "completion": 10}}
    typed = agent(used, used, used, budget=Budget(tokens=25))
    result = await typed.run("x")
    assert (result.output, result.stop_reason) == (None, "budget")
    assert len(requests_of(typed)) < 3


async def test_a_run_that_is_stopped_while_it_corrects_says_so():
    typed = Agent(ScriptedProvider(["Hm.", ACME], delay=0.05), output_type=Invoice)
    run = typed.start("x")
    async for event in run.events():
        if isinstance(event, RetryEvent):
            run.cancel()
    with pytest.raises(RunCancelledError) as caught:
        await run.result()
    assert caught.value.result.output is None


async def test_what_the_guards_leave_is_what_is_read():
    typed = agent('{"vendor": "ada@acme.example"}', output_guards=[strip_pii()])
    result = await typed.run("x")
    assert result.output.vendor == "[EMAIL]"
    assert "ada@" not in str([event.to_dict() for event in result.events])


async def test_a_guard_that_blocks_an_answer_comes_first():
    typed = agent("A secret.", ACME, output_guards=[block_keywords(["secret"])])
    with pytest.raises(GuardrailBlockedError):
        await typed.run("x")
    assert len(requests_of(typed)) == 1


async def test_two_runs_at_once_do_not_share_their_answers():
    typed = agent(*[f'{{"answer": {number}}}' for number in range(8)], output_type=int)
    runs = [typed.run("x", memory=Agent(ScriptedProvider([])).memory) for _ in range(8)]
    outputs = [result.output for result in await asyncio.gather(*runs)]
    assert sorted(outputs) == list(range(8))
