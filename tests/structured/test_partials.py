"""A stream of values that grow, the last one whole."""

from __future__ import annotations

import asyncio
import json
import time

import pytest
from pydantic import BaseModel

from notebook_agents import (
    Agent,
    AgentConfigurationError,
    OutputValidationError,
    ScriptedProvider,
    call,
    tool,
)
from notebook_agents.structured import OutputType


class Item(BaseModel):
    """Something on sale."""

    name: str
    price: float


class Invoice(BaseModel):
    """What somebody has to pay."""

    vendor: str
    items: list[Item]


ACME = '{"vendor": "Acme", "items": [{"name": "Tea", "price": 2.5}]}'


def agent(*script, delay=0.01, tools=(), output_type=Invoice) -> Agent:
    provider = ScriptedProvider(script, delay=delay)
    return Agent(provider, tools, output_type=output_type)


async def values_of(agent: Agent, **options) -> list:
    async with asyncio.timeout(20):
        return [value async for value in agent.stream("x").partials(**options)]


async def test_the_values_grow_to_the_whole():
    values = await values_of(agent(ACME), every=0)
    assert len(values) > 2
    assert all(isinstance(value, Invoice) for value in values)
    names = [value.vendor for value in values]
    assert names[0] is None
    assert names[-1] == "Acme"
    assert values[-1] == Invoice(vendor="Acme", items=[Item(name="Tea", price=2.5)])


async def test_the_last_value_is_that_of_the_result():
    stream = agent(ACME).stream("x")
    values = [value async for value in stream.partials(every=0)]
    assert values[-1] is (await stream.result()).output


async def test_a_list_grows():
    values = await values_of(agent('{"answer": [1, 20, 300]}', output_type=list[int]))
    assert values[-1] == [1, 20, 300]
    assert all(value == [1, 20, 300][: len(value)] for value in values)


async def test_text_grows_too():
    values = await values_of(agent("Hello there!", output_type=str), every=0)
    assert values[-1] == "Hello there!"
    assert all("Hello there!".startswith(value) for value in values)


async def test_a_run_may_have_a_type_of_its_own():
    stream = Agent(ScriptedProvider(["[1]"])).stream("x", output_type=list[int])
    assert [value async for value in stream.partials()][-1] == [1]


async def test_the_values_begin_anew_where_an_answer_is_corrected():
    values = await values_of(agent('{"vendor": "Wrong", "items": 3}', ACME), every=0)
    vendors = [value.vendor or "" for value in values]
    wrong = [number for number, vendor in enumerate(vendors) if vendor[:1] == "W"]
    assert wrong
    assert vendors[-1] == "Acme"
    assert all("Acme".startswith(vendor) for vendor in vendors[wrong[-1] + 1 :])


async def test_words_before_a_call_are_no_value():
    @tool
    def look_up() -> str:
        """Look something up."""
        return "Acme"

    script = ['Perhaps {"vendor": "Wrong"', call("look_up")], ACME
    values = await values_of(agent(*script, tools=[look_up]), every=0)
    assert values[-1].vendor == "Acme"
    vendors = [value.vendor or "" for value in values]
    later = next(n for n, vendor in enumerate(vendors) if vendor[:1] == "A")
    assert not any(vendor[:1] == "W" for vendor in vendors[later:])


async def test_what_never_fits_ends_in_an_error():
    with pytest.raises(OutputValidationError):
        await values_of(agent("no", "no", "no"), every=0)


async def test_a_stream_without_a_type_says_so():
    with pytest.raises(AgentConfigurationError, match="pass output_type= to stream"):
        await values_of(Agent(ScriptedProvider(["x"])))


async def test_a_stream_has_one_reader():
    stream = agent(ACME).stream("x")
    async for _ in stream:
        pass
    with pytest.raises(RuntimeError, match="being read already"):
        stream.partials()


async def test_leaving_early_stops_the_run():
    stream = agent(ACME, delay=0.05).stream("x")
    values = stream.partials(every=0)
    async for _ in values:
        break
    await values.aclose()
    async with asyncio.timeout(5):
        await stream.run.ended()
    assert stream.run.recorded[-1].event == "error"


async def test_no_more_values_than_asked_for():
    values = await values_of(agent(ACME, delay=0.01), every=60)
    assert len(values) <= 3


async def test_a_long_answer_is_not_read_at_each_of_its_tokens(monkeypatch):
    """Else it would cost the square of its length."""
    readings = []
    read = OutputType.read_beginning

    def counted(self, text):
        began = time.thread_time()
        try:
            return read(self, text)
        finally:
            readings.append(time.thread_time() - began)

    monkeypatch.setattr(OutputType, "read_beginning", counted)
    items = [
        {"name": f"Item {number}", "price": number + 0.5} for number in range(4000)
    ]
    text = json.dumps({"vendor": "Acme", "items": items})
    asked = Agent(ScriptedProvider([text], chunk=8), output_type=Invoice)
    began = time.thread_time()
    values = await values_of(asked, every=0)
    took = time.thread_time() - began
    assert len(values[-1].items) == 4000
    assert len(readings) < len(text) / 8 / 20
    assert sum(readings) < took / 2
