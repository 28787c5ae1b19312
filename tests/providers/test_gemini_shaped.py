"""Answers of a shape from Gemini, and the schemas that it can hold."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from notebook_agents import Agent, tool
from notebook_agents.events import TokenEvent
from notebook_agents.providers import GeminiProvider
from notebook_agents.providers._gemini_schema import json_form, openapi_form
from tests.providers.gemini_wire import answer, call, failed, stream

KEY = "AIza-very-secret-0123456789"
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


def agent(server, *tools, model="gemini-3.8-flash", output_type=City) -> Agent:
    provider = GeminiProvider(model, KEY, base_url=server.url, max_retries=0)
    return Agent(provider, tools, output_type=output_type)


SHAPE = {
    "type": "object",
    "description": "Where people live.",
    "properties": {
        "name": {"type": "string"},
        "people": {"type": "integer", "minimum": 0},
    },
    "required": ["name", "people"],
}


async def test_a_model_is_held_to_the_schema(server):
    """Wire, section 4.1."""
    server.say(answer(OSLO))
    result = await agent(server).run("Where?")
    assert result.output == City(name="Oslo", people=709)
    body = server.requests[0].body
    config = body["generationConfig"]
    assert config["responseMimeType"] == "application/json"
    assert config["responseJsonSchema"] == SHAPE
    assert not {"tools", "systemInstruction"} & body.keys()


async def test_tools_may_be_called_on_the_way(server):
    """Wire, section 4.1: from version 3 on."""
    server.say(stream(call("look_up", {"name": "Oslo"})), answer(OSLO))
    assert (await agent(server, look_up).run("Where?")).output.people == 709
    for request in server.requests:
        assert "responseJsonSchema" in request.body["generationConfig"]
        [declared] = request.body["tools"][0]["functionDeclarations"]
        assert declared["name"] == "look_up"


async def test_an_older_model_with_tools_answers_by_one_that_nobody_sees(server):
    final = call("final_answer", {"name": "Oslo", "people": 709})
    server.say(stream(call("look_up", {"name": "Oslo"})), stream(final))
    asked = agent(server, look_up, model="gemini-2.5-flash")
    result = await asked.run("Where?")
    assert result.output == City(name="Oslo", people=709)
    body = server.requests[0].body
    assert "responseMimeType" not in body["generationConfig"]
    assert body["toolConfig"]["functionCallingConfig"] == {"mode": "ANY"}
    assert [each["tool"] for each in result.tool_calls] == ["look_up"]
    told = [e.text for e in result.events if isinstance(e, TokenEvent)]
    assert "".join(told) == '{"name":"Oslo","people":709}'


async def test_an_object_of_any_keys_can_be_asked_for(server):
    server.say(answer('{"facts": {"a": 1}}'))
    result = await agent(server, output_type=Anything).run("What?")
    assert result.output == Anything(facts={"a": 1})
    assert "responseJsonSchema" in server.requests[0].body["generationConfig"]


@pytest.mark.parametrize(
    "said",
    [
        "Function calling with a response mime type: 'application/json' is unsupported",
        "The specified schema produces a constraint that has too many states for "
        "serving.",
        "Invalid value at 'generation_config.response_json_schema'",
        "JSON mode is not enabled for this model",
    ],
)
async def test_a_schema_that_is_refused_is_told_in_words(server, said):
    server.say(failed(400, "INVALID_ARGUMENT", said), answer(OSLO), answer(OSLO))
    asked = agent(server)
    for _ in range(2):
        assert (await asked.run("Where?")).output.name == "Oslo"
    configs = [request.body["generationConfig"] for request in server.requests]
    assert ["responseMimeType" in each for each in configs] == [True, False, False]
    assert (
        '"people"' in server.requests[1].body["systemInstruction"]["parts"][0]["text"]
    )


async def test_a_gateway_that_knows_no_json_schema_gets_the_older_form(server):
    unknown = "Unknown name \"responseJsonSchema\" at 'generation_config': Cannot find"
    server.say(failed(400, "INVALID_ARGUMENT", unknown), answer(OSLO))
    assert (await agent(server).run("Where?")).output.name == "Oslo"
    assert server.requests[1].body["generationConfig"]["responseSchema"] == SHAPE


@pytest.mark.parametrize(
    ("model", "has_tools", "mode"),
    [
        ("gemini-3.8-flash", True, "native"),
        ("gemini-3.8-flash", False, "native"),
        ("gemini-2.5-flash", True, "tool"),
        ("gemini-2.5-flash", False, "native"),
    ],
)
def test_the_way_is_chosen_by_the_model(model, has_tools, mode):
    assert GeminiProvider(model).output_mode(has_tools=has_tools) == mode


# ------------------------------------------------------------------------ schemas


class Node(BaseModel):
    """A node."""

    kids: list[Node] = []


INTEGER, STRING, NULL = {"type": "integer"}, {"type": "string"}, {"type": "null"}


@pytest.mark.parametrize(
    ("schema", "as_json", "as_openapi"),
    [
        (
            {"type": "object", "properties": {}, "additionalProperties": False},
            {"type": "object", "properties": {}},
            {"type": "object", "properties": {}},
        ),
        (
            {"type": "object", "additionalProperties": {"const": 3}},
            {
                "type": "object",
                "additionalProperties": {"type": "integer", "enum": [3]},
            },
            {"type": "object"},
        ),
        (
            {"anyOf": [INTEGER, NULL], "description": "How many."},
            {"anyOf": [INTEGER, NULL], "description": "How many."},
            {"type": "integer", "nullable": True, "description": "How many."},
        ),
        (
            {"type": ["string", "null"]},
            {"type": ["string", "null"]},
            {"type": "string", "nullable": True},
        ),
        (
            {"oneOf": [INTEGER, STRING, NULL], "discriminator": {"propertyName": "a"}},
            {"anyOf": [INTEGER, STRING, NULL]},
            {"anyOf": [INTEGER, STRING], "nullable": True},
        ),
        (
            {"enum": ["a", "b"]},
            {"type": "string", "enum": ["a", "b"]},
            {"type": "string", "enum": ["a", "b"]},
        ),
        (
            {"enum": ["a", None]},
            {"anyOf": [{"type": "string", "enum": ["a"]}, NULL]},
            {"type": "string", "enum": ["a"], "nullable": True},
        ),
        (
            {"type": "integer", "enum": [1, 2]},
            {"type": "integer", "enum": [1, 2]},
            {"type": "integer", "description": "(one of: [1, 2])"},
        ),
        (
            {"const": True},
            {"type": "boolean", "description": "(enum: [True])"},
            {"type": "boolean", "description": "(enum: [True])"},
        ),
        (
            {"type": "string", "format": "date-time"},
            {"type": "string", "format": "date-time"},
            {"type": "string", "format": "date-time"},
        ),
        (
            {"type": "string", "format": "date"},
            {"type": "string", "format": "date"},
            {"type": "string", "description": "(format: date)"},
        ),
        (
            {"type": "string", "format": "uuid", "pattern": "^a", "description": "Id."},
            {"type": "string", "description": "Id. (format: uuid, pattern: ^a)"},
            {"type": "string", "description": "Id. (format: uuid, pattern: ^a)"},
        ),
        (
            {"type": "array", "items": INTEGER, "minItems": 1, "maxItems": 3},
            {
                "type": "array",
                "items": INTEGER,
                "minItems": 1,
                "description": "(maxItems: 3)",
            },
            {
                "type": "array",
                "items": INTEGER,
                "minItems": 1,
                "description": "(maxItems: 3)",
            },
        ),
        (
            {"type": "array", "prefixItems": [INTEGER, STRING]},
            {"type": "array", "prefixItems": [INTEGER, STRING]},
            {"type": "array", "items": {"anyOf": [INTEGER, STRING]}},
        ),
        (
            {"type": "array"},
            {"type": "array"},
            {"type": "array", "items": STRING},
        ),
        (
            {
                "$defs": {"A": {"type": "integer", "description": "An A."}},
                "properties": {"a": {"$ref": "#/$defs/A", "description": "Mine."}},
                "required": ["a", "b"],
            },
            {
                "properties": {"a": {"type": "integer", "description": "Mine."}},
                "required": ["a"],
            },
            {
                "properties": {"a": {"type": "integer", "description": "Mine."}},
                "required": ["a"],
            },
        ),
        (
            {"allOf": [{"$ref": "#/$defs/A"}], "$defs": {"A": INTEGER}},
            INTEGER,
            INTEGER,
        ),
        (
            {
                "allOf": [
                    {"properties": {"a": INTEGER}, "required": ["a"]},
                    {"properties": {"b": STRING}, "required": ["b"]},
                ],
                "description": "Both.",
            },
            {
                "properties": {"a": INTEGER, "b": STRING},
                "required": ["a", "b"],
                "description": "Both.",
            },
            {
                "properties": {"a": INTEGER, "b": STRING},
                "required": ["a", "b"],
                "description": "Both.",
            },
        ),
        ({"$ref": "#/$defs/Nowhere"}, {}, {}),
        (
            {"properties": {"const": STRING, "$ref": STRING, "enum": STRING}},
            {"properties": {"const": STRING, "$ref": STRING, "enum": STRING}},
            {"properties": {"const": STRING, "$ref": STRING, "enum": STRING}},
        ),
    ],
)
def test_schemas_are_cut_to_what_the_service_takes(schema, as_json, as_openapi):
    """Wire, section 4.1."""
    assert json_form(schema) == as_json
    assert openapi_form(schema) == as_openapi


def test_a_schema_that_holds_itself_ends():
    """Nothing may stand beside a reference, and it ends in the older form."""
    kids = {"items": {"$ref": "#/$defs/Node"}, "type": "array"}
    fit = json_form({k: v for k, v in Node.model_json_schema().items() if k != "title"})
    assert fit["$defs"].keys() == {"Node"}
    assert kids.items() <= fit["properties"]["kids"].items()
    assert kids.items() <= fit["$defs"]["Node"]["properties"]["kids"].items()
    older = openapi_form(Node.model_json_schema())
    assert older["properties"]["kids"]["items"] == {"type": "object"}


def test_definitions_of_the_same_name_are_kept_apart():
    def holder(kind: str, where: str) -> dict:
        held = {"$ref": f"#/{where}/A"}
        return {"type": kind, "properties": {"self": held}}

    fit = json_form(
        {
            "properties": {
                "one": {"$ref": "#/$defs/A"},
                "two": {"$ref": "#/definitions/A"},
            },
            "$defs": {"A": holder("object", "$defs")},
            "definitions": {"A": holder("string", "definitions")},
        }
    )
    assert fit.keys() == {"properties", "$defs"}
    assert [each["type"] for each in fit["$defs"].values()] == ["object", "string"]
    two = fit["properties"]["two"]["properties"]["self"]
    assert fit["$defs"][two["$ref"].rpartition("/")[2]]["type"] == "string"


def test_references_that_grow_without_end_do_not():
    """Each holds the next one twice: 2 to the power of 200 schemas."""
    pair = lambda n: {"x": {"$ref": f"#/$defs/A{n}"}, "y": {"$ref": f"#/$defs/A{n}"}}  # noqa: E731
    definitions = {
        f"A{n}": {"type": "object", "properties": pair(n + 1)} for n in range(200)
    }
    fit = json_form({"$defs": definitions, "$ref": "#/$defs/A0"})
    assert len(str(fit)) < 1_000_000
    assert "A199" in fit["$defs"]


def test_a_schema_is_not_changed_by_writing_it_anew():
    class Mood(BaseModel):
        mood: Literal["good", None] = None

    schema = Mood.model_json_schema()
    before = repr(schema)
    openapi_form(schema)
    assert repr(schema) == before


keywords = st.sampled_from(
    [
        *("type", "properties", "items", "anyOf", "allOf", "oneOf", "enum", "const"),
        *("$ref", "$defs", "format", "required", "additionalProperties", "prefixItems"),
        *("description", "A", "maxItems"),
    ]
)
leaves = st.sampled_from(
    [None, True, 3, "string", "#", "#/$defs/A", "#/properties/A", "date", ["A"], []]
)
schemas = st.recursive(
    leaves,
    lambda inner: (
        st.dictionaries(keywords, inner, max_size=4) | st.lists(inner, max_size=3)
    ),
    max_leaves=12,
)


def keys_in(schema: object) -> set[str]:
    """Name all keywords of a schema; what is called so in ``properties`` is none."""
    if not isinstance(schema, dict):
        return set()
    found = set(schema)
    for name, value in schema.items():
        inner = (
            value.values() if name == "properties" and isinstance(value, dict) else ()
        )
        if name == "items":
            inner = [value]
        elif name in {"anyOf", "prefixItems"} and isinstance(value, list):
            inner = value
        for each in inner:
            found |= keys_in(each)
    return found


@given(st.dictionaries(keywords, schemas, max_size=5))
def test_any_schema_can_be_written_in_the_older_form(schema):
    json_form(schema)
    refused = {"$ref", "$defs", "additionalProperties", "oneOf", "const", "allOf"}
    assert not keys_in(openapi_form(schema)) & refused
