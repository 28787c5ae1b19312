"""What a model is told of a tool: the strict form, and when it is given up."""

from __future__ import annotations

import enum
import json
import pathlib
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import pytest
from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from notebook_agents.errors import AgentConfigurationError
from notebook_agents.tools import to_tool_definition, tool


def schema_of(func, **options):
    return to_tool_definition(func, **options).schema["function"]["parameters"]


def property_of(annotation, **options):
    def f(a): ...

    f.__annotations__ = {"a": annotation}
    return schema_of(f, **options)["properties"]["a"]


class Color(enum.Enum):
    """Of a thing."""

    RED = "red"
    BLUE = "blue"


class City(BaseModel):
    """A place."""

    name: str = Field(description="Its name", min_length=2)
    people: int = 5


class Tree(BaseModel):
    """A node."""

    value: int
    children: list[Tree] = []


class Open(BaseModel):
    """Open."""

    model_config = ConfigDict(extra="allow")
    a: int


class Empty(BaseModel):
    """Nothing."""


class Options(TypedDict, total=False):
    """Some."""

    depth: int


@dataclass
class Point:
    """A place."""

    x: int
    y: int = 0


def test_the_whole_object_has_the_shape_of_openai():
    """Requirements A43 and L8, acceptance checks 8 and 10."""

    @tool
    def search(query: str, tags: list[int], limit: int = 5):
        """Search the shop.

        Args:
            query: What to find
            limit: Most results.
        """

    assert search.__agentapi_tool_schema__ == {
        "type": "function",
        "function": {
            "name": "search",
            "description": "Search the shop.",
            "strict": True,
            "parameters": {
                "type": "object",
                "properties": {
                    "query": {"type": "string", "description": "What to find"},
                    "tags": {
                        "type": "array",
                        "items": {"type": "integer"},
                        "description": "Parameter: tags",
                    },
                    "limit": {
                        "type": ["integer", "null"],
                        "description": "Most results. Default: 5.",
                    },
                },
                "required": ["query", "tags", "limit"],
                "additionalProperties": False,
            },
        },
    }


def test_a_tool_without_parameters_is_strict():
    def now(): ...

    assert schema_of(now) == {
        "type": "object",
        "properties": {},
        "required": [],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (str, {"type": "string"}),
        (bool, {"type": "boolean"}),
        (float | None, {"type": ["number", "null"]}),
        (int | str, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal["a"], {"type": "string", "enum": ["a"]}),
        (Literal["a", 1], {"type": ["integer", "string"], "enum": ["a", 1]}),
        (Annotated[str, Field(pattern="^a")], {"type": "string", "pattern": "^a"}),
        (date, {"type": "string", "format": "date"}),
        (
            tuple[int, int],
            {
                "type": "array",
                "items": {"type": "integer"},
                "minItems": 2,
                "maxItems": 2,
            },
        ),
        (Annotated[int, Field(ge=1)], {"type": "integer", "minimum": 1}),
    ],
    ids=str,
)
def test_types_have_their_schema(annotation, expected):
    """Requirements A41, W12 and W43."""
    found = property_of(annotation)
    assert found.pop("description") == "Parameter: a"
    assert found == expected


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (pathlib.Path, "Parameter: a. Format: path."),
        (set[int], "Parameter: a. No item twice."),
        (Annotated[str, Field(max_length=3)], "Parameter: a. At most 3 characters."),
        (Annotated[str, Field(examples=["x"])], "Parameter: a. Examples: 'x'."),
        (
            Annotated[str, WithJsonSchema({"type": "string", "pattern": "(?=a)"})],
            "Parameter: a. Pattern: (?=a)",
        ),
        (Annotated[str, Field(description="Why?")], "Why?"),
        (Annotated[str, "Text\n  here."], "Text here."),
    ],
    ids=str,
)
def test_what_strict_services_refuse_is_said_in_words(annotation, words):
    found = property_of(annotation)
    assert found.pop("description") == words
    assert found.keys() <= {"type", "items"}


def test_nested_objects_are_strict_too():
    def f(city: City, point: Point | None = None): ...

    schema = schema_of(f)
    assert schema["properties"]["city"] == {"$ref": "#/$defs/City"}
    assert schema["$defs"]["City"] == {
        "type": "object",
        "description": "A place.",
        "properties": {
            "name": {
                "type": "string",
                "description": "Its name. At least 2 characters.",
            },
            "people": {"type": ["integer", "null"], "description": "Default: 5."},
        },
        "required": ["name", "people"],
        "additionalProperties": False,
    }
    assert schema["$defs"]["Point"]["required"] == ["x", "y"]
    assert {"type": "null"} in schema["properties"]["point"]["anyOf"]


def test_no_words_stand_beside_a_reference():
    def f(city: Annotated[City, "Where."], tree: Annotated[Tree, "Which."]): ...

    schema = schema_of(f)
    assert schema["properties"]["city"]["description"] == "A place. Where."
    assert schema["properties"]["city"]["additionalProperties"] is False
    assert schema["properties"]["tree"] == {
        "anyOf": [{"$ref": "#/$defs/Tree"}],
        "description": "Which.",
    }
    assert list(schema["$defs"]) == ["Tree"]
    assert to_tool_definition(f).relaxed is None


def test_a_default_enum_is_nullable_and_told():
    def f(color: Color = Color.BLUE): ...

    assert schema_of(f)["properties"]["color"] == {
        "type": ["string", "null"],
        "enum": ["red", "blue", None],
        "description": 'Of a thing. Default: "blue".',
    }


def test_a_tagged_union_needs_no_one_of():
    class Cat(BaseModel):
        kind: Literal["cat"]

    class Dog(BaseModel):
        kind: Literal["dog"]

    found = property_of(Annotated[Cat | Dog, Field(discriminator="kind")])
    assert set(found) == {"anyOf", "description"}


@pytest.mark.parametrize(
    ("annotation", "reason"),
    [
        (Any, "'a' takes any value"),
        (dict[str, int], "'a' takes any keys"),
        (dict, "'a' takes any keys"),
        (list, "'a' takes any value"),
        (list[dict[str, str]] | None, "'a' takes any keys"),
        (tuple[int, str], "'a' uses 'prefixItems'"),
        (tuple[()], "'a' takes any items"),
        (Open, "'Open' takes any keys"),
    ],
    ids=str,
)
def test_strict_is_given_up_where_it_would_lose_meaning(annotation, reason):
    def f(a, b: int = 2): ...

    f.__annotations__ = {"a": annotation, "b": int}
    definition = to_tool_definition(f)
    function = definition.schema["function"]
    assert definition.relaxed == reason
    assert function["strict"] is False
    assert function["parameters"]["required"] == ["a"]
    assert function["parameters"]["properties"]["b"] == {
        "type": "integer",
        "default": 2,
        "description": "Parameter: b. Default: 2.",
    }
    with pytest.raises(AgentConfigurationError, match="no strict form"):
        to_tool_definition(f, strict=True)


def test_open_keywords_are_told():
    def f(a: int, **more: int): ...

    definition = to_tool_definition(f)
    parameters = definition.schema["function"]["parameters"]
    assert parameters["additionalProperties"] == {"type": "integer"}
    assert list(parameters["properties"]) == ["a"]
    assert definition.relaxed == "the tool takes any keys"

    def g(**more): ...

    assert schema_of(g)["additionalProperties"] is True


def test_an_empty_model_stays_strict():
    assert to_tool_definition(lambda: 0, name="f").relaxed is None
    assert property_of(Annotated[Empty, "It."]) == {
        "type": "object",
        "properties": {},
        "required": [],
        "additionalProperties": False,
        "description": "Nothing. It.",
    }


def test_unset_keys_of_a_typed_dict_are_nullable():
    found = property_of(Annotated[Options, "Them."])
    assert found["properties"] == {"depth": {"type": ["integer", "null"]}}


def test_two_classes_of_one_name_are_told_apart():
    def other():
        class City(BaseModel):
            zip_code: str

        return City

    def f(a, b): ...

    f.__annotations__ = {"a": list[City], "b": list[other()]}
    assert len(schema_of(f)["$defs"]) == 2


def test_a_default_that_json_cannot_hold_is_not_told():
    class Odd:
        pass

    def f(a: Any = Odd, b: float = float("nan"), c: str = "x" * 200, d=None): ...

    properties = schema_of(f)["properties"]
    assert properties["a"] == {"description": "Parameter: a"}
    assert properties["b"] == {"type": "number", "description": "Parameter: b"}
    assert properties["c"]["description"] == "Parameter: c"
    assert "default" not in properties["d"]


def test_titles_go_but_a_parameter_named_title_stays():
    def f(title: str, city: City): ...

    text = json.dumps(schema_of(f))
    assert text.count('"title"') == 2  # as a property and as required
    assert "Title" not in text


def test_every_schema_is_json():
    def f(a: set[int] = {1}, b: date = date(2025, 1, 2), c: Color = Color.RED): ...  # noqa: B006 - the point

    text = json.dumps(to_tool_definition(f).schema)
    assert "2025-01-02" in text


@pytest.mark.parametrize(
    "docstring",
    [
        "Do it\nnow.\n\nMore.\n\nArgs:\n    a (int): The a\n        of it.\n    *rest: Others.",
        "Do it\nnow.\n\nMore.\n\nParameters\n----------\na : int\n    The a of it.\n*rest\n    Others.",
        "Do it\nnow.\n\n:param a: The a of it.\n:param rest: Others.",
    ],
    ids=["google", "numpy", "sphinx"],
)
def test_docstrings_of_every_style_are_read(docstring):
    def f(a: int, *rest: int): ...

    f.__doc__ = docstring
    definition = to_tool_definition(f)
    assert definition.description == "Do it now."
    properties = definition.schema["function"]["parameters"]["properties"]
    assert properties["a"]["description"] == "The a of it."
    assert properties["rest"]["description"] == "Others."


def test_numpy_names_that_share_a_line_share_the_text():
    def f(a: int, b: int):
        """Add.

        Parameters
        ----------
        a, b : int
            A number.
        """

    properties = schema_of(f)["properties"]
    assert {item["description"] for item in properties.values()} == {"A number."}


def test_the_words_next_to_the_type_win_over_the_docstring():
    def f(a: Annotated[int, "Near."], b: Annotated[int, Field(description="Near.")]):
        """Do.

        Args:
            a: Far.
            b: Far.
        """

    properties = schema_of(f)["properties"]
    assert {item["description"] for item in properties.values()} == {"Near."}


def test_models_that_share_a_part_are_not_recursive():
    class Leaf(BaseModel):
        a: int

    class Left(BaseModel):
        leaf: Leaf

    class Right(BaseModel):
        leaf: Leaf
        left: Left

    class Top(BaseModel):
        left: Left
        right: Right

    def f(top: Annotated[Top, "All."]): ...

    schema = schema_of(f)
    assert schema["properties"]["top"]["type"] == "object"
    assert list(schema["$defs"]) == ["Leaf", "Left", "Right"]


def test_a_choice_with_a_default_is_nullable():
    def f(a: int | str = 1, b: Tree | None = None, c: Tree = Tree(value=1)): ...  # noqa: B008 - the point

    properties = schema_of(f)["properties"]
    null = {"type": "null"}
    assert properties["a"]["anyOf"] == [{"type": "integer"}, {"type": "string"}, null]
    assert properties["b"]["anyOf"] == [{"$ref": "#/$defs/Tree"}, null]
    assert properties["c"]["anyOf"] == [{"$ref": "#/$defs/Tree"}, null]


def test_an_unset_model_of_a_typed_dict_is_nullable():
    class Trip(TypedDict):
        city: NotRequired[City]

    def f(trip: Trip): ...

    found = schema_of(f)["properties"]["trip"]["properties"]["city"]
    assert found == {"anyOf": [{"$ref": "#/$defs/City"}, {"type": "null"}]}


def test_a_class_with_a_long_default_tells_only_what_it_is():
    class Trip(BaseModel):
        city: City = City(name="x" * 100)

    def f(trip: Trip): ...

    found = schema_of(f)["properties"]["trip"]["properties"]["city"]
    assert found["description"] == "A place."
