"""Answers of a shape from Anthropic: natively, by a hidden tool, and in words."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from notebook_agents import Agent, tool
from notebook_agents.events import TokenEvent
from notebook_agents.providers import AnthropicProvider
from notebook_agents.providers._anthropic_schema import fit_schema
from notebook_agents.providers.anthropic_profile import anthropic_profile
from tests.providers.anthropic_wire import answer, failed, stream, thought, use

KEY = "sk-ant-very-secret-0123456789"
OSLO = '{"name": "Oslo", "people": 709}'


class City(BaseModel):
    """Where people live."""

    name: str
    people: Annotated[int, Field(ge=0)]


class Anything(BaseModel):
    """What has no strict form."""

    facts: dict[str, Any]


@tool
def look_up(name: str) -> int:
    """Look a city up."""
    return 709


def agent(server, *tools, model="claude-sonnet-5-5", output_type=City) -> Agent:
    provider = AnthropicProvider(model, KEY, base_url=server.url, max_retries=0)
    return Agent(provider, tools, output_type=output_type)


async def test_a_model_that_can_is_held_to_the_schema(server):
    """Wire, section 3.1."""
    server.say(answer(OSLO))
    result = await agent(server).run("Where?", params={"reasoning_effort": "low"})
    assert result.output == City(name="Oslo", people=709)
    body = server.requests[0].body
    assert body["output_config"] == {
        "effort": "low",
        "format": {
            "type": "json_schema",
            "schema": {
                "type": "object",
                "description": "Where people live.",
                "properties": {
                    "name": {"type": "string"},
                    "people": {"type": "integer", "description": "(minimum: 0)"},
                },
                "required": ["name", "people"],
                "additionalProperties": False,
            },
        },
    }
    assert not {"tools", "system"} & body.keys()


async def test_tools_may_be_called_on_the_way(server):
    called = use(1, "x", "look_up", '{"name": "Oslo"}')
    server.say(stream(thought(0, "hm"), called, stop="tool_use"), answer(OSLO))
    assert (await agent(server, look_up).run("Where?")).output.people == 709
    for request in server.requests:
        assert "format" in request.body["output_config"]
        assert [each["name"] for each in request.body["tools"]] == ["look_up"]


async def test_what_has_no_strict_form_is_told_in_words(server):
    server.say(answer('{"facts": {"a": 1}}'))
    result = await agent(server, output_type=Anything).run("What?")
    assert result.output == Anything(facts={"a": 1})
    body = server.requests[0].body
    assert "output_config" not in body
    assert '"facts"' in body["system"][0]["text"]


@pytest.mark.parametrize(
    "said",
    [
        "output_config.format: Extra inputs are not permitted",
        "output_config.format.schema: Schema is too complex for compilation.",
        "This model does not support structured outputs.",
        "The compiled grammar is too large.",
    ],
)
async def test_a_schema_that_is_refused_is_told_in_words(server, said):
    server.say(failed(400, "invalid_request_error", said), answer(OSLO), answer(OSLO))
    asked = agent(server)
    for _ in range(2):
        assert (await asked.run("Where?")).output.name == "Oslo"
    bodies = [request.body for request in server.requests]
    assert ["output_config" in body for body in bodies] == [True, False, False]
    assert '"people"' in bodies[1]["system"][0]["text"]


async def test_an_older_model_answers_by_a_tool_that_nobody_sees(server):
    pieces = ('{"name": "Os', 'lo", "people": 709}')
    server.say(stream(use(0, "x", "final_answer", *pieces), stop="tool_use"))
    result = await agent(server, model="claude-opus-4-20250514").run("Where?")
    assert result.output == City(name="Oslo", people=709)
    body = server.requests[0].body
    assert body["tool_choice"] == {"type": "any"}
    assert [each["name"] for each in body["tools"]] == ["final_answer"]
    assert result.tool_calls == []
    told = [e.text for e in result.events if isinstance(e, TokenEvent)]
    assert "".join(told) == OSLO


@pytest.mark.parametrize(
    ("model", "mode"),
    [
        ("claude-sonnet-5-5", "native"),
        ("claude-haiku-4-5", "native"),
        ("claude-opus-4-1", "native"),
        ("claude-sonnet-4-20250514", "tool"),
        ("qwen3", "tool"),
    ],
)
def test_the_way_is_chosen_by_the_model(model, mode):
    provider = AnthropicProvider(model)
    assert provider.output_mode(has_tools=True) == mode
    assert provider.output_mode(has_tools=False) == mode


def test_who_cannot_be_made_to_call_a_tool_is_not_asked_for_one():
    profile = replace(anthropic_profile("claude-opus-5-5"), output="tool")
    provider = AnthropicProvider(profile=profile)
    assert provider.output_mode(has_tools=False) == "prompted"


@pytest.mark.parametrize(
    ("schema", "fit"),
    [
        (
            {"type": "string", "minLength": 2, "pattern": "^a"},
            {"type": "string", "description": "(minLength: 2, pattern: ^a)"},
        ),
        (
            {"type": "array", "items": {"type": "number", "multipleOf": 5}},
            {
                "type": "array",
                "items": {"type": "number", "description": "(multipleOf: 5)"},
            },
        ),
        (
            {"type": "array", "items": {}, "minItems": 1, "maxItems": 3},
            {
                "type": "array",
                "items": {},
                "minItems": 1,
                "description": "(maxItems: 3)",
            },
        ),
        ({"type": "string", "format": "uuid"}, {"type": "string", "format": "uuid"}),
        (
            {"type": "string", "format": "color"},
            {"type": "string", "description": "(format: color)"},
        ),
        (
            {"$defs": {"A": {"type": "integer", "minimum": 1}}, "$ref": "#/$defs/A"},
            {
                "$defs": {"A": {"type": "integer", "description": "(minimum: 1)"}},
                "$ref": "#/$defs/A",
            },
        ),
        (
            {"anyOf": [{"type": "integer", "maximum": 9}, {"type": "null"}]},
            {
                "anyOf": [
                    {"type": "integer", "description": "(maximum: 9)"},
                    {"type": "null"},
                ]
            },
        ),
        (
            {"type": "object", "properties": {"minimum": {"enum": [1, 2]}}},
            {"type": "object", "properties": {"minimum": {"enum": [1, 2]}}},
        ),
    ],
)
def test_what_a_schema_may_not_hold_goes_into_words(schema, fit):
    assert fit_schema(schema) == fit
