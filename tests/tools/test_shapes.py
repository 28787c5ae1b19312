"""Every shape of signature takes JSON and gets the right Python values."""

from __future__ import annotations

import sys
import textwrap
from types import ModuleType
from typing import NamedTuple

import pytest

from notebook_agents.tools import to_tool_definition

PRELUDE = '''
import enum, functools, pathlib, uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import (
    Annotated, Any, Dict, List, Literal, NamedTuple, NewType, NotRequired, Optional,
    Required, Tuple,
    TypedDict, TypeVar, Union, Unpack,
)
import typing_extensions
from pydantic import BaseModel, BeforeValidator, Field, StrictInt
from notebook_agents.tools import tool

class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"

class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2

@dataclass
class Point:
    x: int
    y: int = 0

@dataclass
class Line:
    start: Point
    end: Point

class City(BaseModel):
    """A place."""
    name: str
    people: int = 5

class Trip(BaseModel):
    stops: list[City]
    color: Color = Color.RED

class Tree(BaseModel):
    value: int
    children: "list[Tree]" = []

class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int

class Dog(BaseModel):
    kind: Literal["dog"]
    tricks: list[str] = []

class Options(TypedDict, total=False):
    depth: int
    name: str

class Query(TypedDict):
    text: str
    options: Options

class Node(TypedDict):
    value: Required[int]
    next: NotRequired[list[int]]

class Page(typing_extensions.TypedDict):
    number: int

class Pair(NamedTuple):
    left: int
    right: str = "r"

UserId = NewType("UserId", int)
T = TypeVar("T")
'''


class Shape(NamedTuple):
    """One function, a call of it and what it has to return."""

    source: str
    arguments: str
    expected: str


SHAPES = {
    "nothing": Shape("def f(): return 1", "{}", "1"),
    "blank text": Shape("def f(): return 1", "  ", "1"),
    "plain types": Shape(
        "def f(a: int, b: float, c: str, d: bool): return a, b, c, d",
        '{"a": 1, "b": 2.5, "c": "x", "d": true}',
        "(1, 2.5, 'x', True)",
    ),
    "unannotated": Shape("def f(a, b=2): return a, b", '{"a": [1]}', "([1], 2)"),
    "any": Shape("def f(a: Any): return a", '{"a": {"b": null}}', "{'b': None}"),
    "object": Shape("def f(a: object): return a", '{"a": 1}', "1"),
    "none": Shape("def f(a: None): return a", '{"a": null}', "None"),
    "default left out": Shape("def f(a: int = 5): return a", "{}", "5"),
    "default by null": Shape("def f(a: int = 5): return a", '{"a": null}', "5"),
    "null for an unannotated default": Shape(
        "def f(a=5): return a", '{"a": null}', "5"
    ),
    "implicit optional": Shape("def f(a: int = None): return a", '{"a": null}', "None"),
    "optional": Shape("def f(a: Optional[int] = 5): return a", '{"a": null}', "None"),
    "required optional": Shape("def f(a: Optional[int]): return a", '{"a": 3}', "3"),
    "optional by bar": Shape("def f(a: int | None = 5): return a", "{}", "5"),
    "union": Shape("def f(a: Union[int, str]): return a", '{"a": "x"}', "'x'"),
    "union by bar": Shape("def f(a: int | str): return a", '{"a": 7}', "7"),
    "union of list and number": Shape(
        "def f(a: list[int] | int | None = None): return a", '{"a": [1]}', "[1]"
    ),
    "list": Shape("def f(a: list[int]): return a", '{"a": [1, 2]}', "[1, 2]"),
    "typing list": Shape("def f(a: List[str]): return a", '{"a": ["x"]}', "['x']"),
    "bare list": Shape("def f(a: list): return a", '{"a": [1, "x"]}', "[1, 'x']"),
    "sequence": Shape("def f(a: Sequence[int]): return list(a)", '{"a": [1]}', "[1]"),
    "iterable": Shape("def f(a: Iterable[int]): return list(a)", '{"a": [1]}', "[1]"),
    "nested list": Shape(
        "def f(a: list[list[float]]): return a", '{"a": [[1], [2.5]]}', "[[1], [2.5]]"
    ),
    "set": Shape("def f(a: set[int]): return a", '{"a": [1, 1, 2]}', "{1, 2}"),
    "frozen set": Shape(
        "def f(a: frozenset[str]): return a", '{"a": ["x"]}', "frozenset({'x'})"
    ),
    "tuple": Shape(
        "def f(a: tuple[int, str]): return a", '{"a": [1, "x"]}', "(1, 'x')"
    ),
    "pair of equals": Shape(
        "def f(a: Tuple[float, float]): return a", '{"a": [1, 2]}', "(1.0, 2.0)"
    ),
    "long tuple": Shape(
        "def f(a: tuple[int, ...]): return a", '{"a": [1, 2]}', "(1, 2)"
    ),
    "dict": Shape("def f(a: dict[str, int]): return a", '{"a": {"k": 1}}', "{'k': 1}"),
    "dict by number": Shape(
        "def f(a: Dict[int, str]): return a", '{"a": {"1": "x"}}', "{1: 'x'}"
    ),
    "mapping": Shape(
        "def f(a: Mapping[str, list[int]]): return dict(a)",
        '{"a": {"k": [1]}}',
        "{'k': [1]}",
    ),
    "literal": Shape(
        "def f(a: Literal['x', 'y'] = 'x'): return a", '{"a": "y"}', "'y'"
    ),
    "mixed literal": Shape(
        "def f(a: Literal['x', 1, None]): return a", '{"a": 1}', "1"
    ),
    "enum": Shape("def f(a: Color): return a", '{"a": "red"}', "Color.RED"),
    "enum default": Shape(
        "def f(a: Color = Color.BLUE): return a", '{"a": null}', "Color.BLUE"
    ),
    "int enum": Shape("def f(a: Level): return a", '{"a": 2}', "Level.HIGH"),
    "list of enums": Shape(
        "def f(a: list[Color]): return a", '{"a": ["red"]}', "[Color.RED]"
    ),
    "model": Shape(
        "def f(a: City): return a",
        '{"a": {"name": "Oslo", "people": 1}}',
        "City(name='Oslo', people=1)",
    ),
    "null in a model": Shape(
        "def f(a: City): return a",
        '{"a": {"name": "Oslo", "people": null}}',
        "City(name='Oslo')",
    ),
    "nested models": Shape(
        "def f(trip: Trip): return trip",
        '{"trip": {"stops": [{"name": "A", "people": null}], "color": "blue"}}',
        "Trip(stops=[City(name='A')], color=Color.BLUE)",
    ),
    "recursive model": Shape(
        "def f(tree: Tree): return tree",
        '{"tree": {"value": 1, "children": [{"value": 2, "children": null}]}}',
        "Tree(value=1, children=[Tree(value=2)])",
    ),
    "optional model": Shape(
        "def f(a: City | None = None): return a",
        '{"a": {"name": "A", "people": null}}',
        "City(name='A')",
    ),
    "union of models": Shape(
        "def f(pet: Cat | Dog): return pet",
        '{"pet": {"kind": "dog", "tricks": null}}',
        "Dog(kind='dog')",
    ),
    "tagged union": Shape(
        "def f(pet: Annotated[Cat | Dog, Field(discriminator='kind')]): return pet",
        '{"pet": {"kind": "cat", "lives": 9}}',
        "Cat(kind='cat', lives=9)",
    ),
    "dataclass": Shape(
        "def f(p: Point): return p", '{"p": {"x": 1, "y": null}}', "Point(1)"
    ),
    "nested dataclass": Shape(
        "def f(l: Line): return l",
        '{"l": {"start": {"x": 1}, "end": {"x": 2, "y": 3}}}',
        "Line(Point(1), Point(2, 3))",
    ),
    "list of dataclasses": Shape(
        "def f(p: list[Point] = []): return p", '{"p": [{"x": 1}]}', "[Point(1)]"
    ),
    "typed dict": Shape(
        "def f(q: Query): return q",
        '{"q": {"text": "x", "options": {"depth": 1, "name": null}}}',
        "{'text': 'x', 'options': {'depth': 1}}",
    ),
    "optional typed dict": Shape(
        "def f(q: Optional[Options] = None): return q",
        '{"q": {"depth": 2}}',
        "{'depth': 2}",
    ),
    "list of typed dicts": Shape(
        "def f(q: Annotated[list[Options], 'Some.']): return q",
        '{"q": [{"depth": 2}]}',
        "[{'depth': 2}]",
    ),
    "typed dict or null by bar": Shape(
        "def f(q: Options | None): return q", '{"q": {"depth": 2}}', "{'depth': 2}"
    ),
    "bare iterable": Shape("def f(a: Iterable): return a", '{"a": [1]}', "[1]"),
    "newer typed dict": Shape(
        "def f(page: Page): return page", '{"page": {"number": 1}}', "{'number': 1}"
    ),
    "named tuple": Shape("def f(p: Pair): return p", '{"p": [1, "x"]}', "Pair(1, 'x')"),
    "datetime": Shape(
        "def f(t: datetime): return t",
        '{"t": "2025-01-02T03:04:05Z"}',
        "datetime(2025, 1, 2, 3, 4, 5, tzinfo=timezone.utc)",
    ),
    "date": Shape(
        "def f(t: date): return t", '{"t": "2025-01-02"}', "date(2025, 1, 2)"
    ),
    "timedelta": Shape(
        "def f(t: timedelta): return t", '{"t": "PT90S"}', "timedelta(seconds=90)"
    ),
    "uuid": Shape(
        "def f(i: uuid.UUID): return i",
        '{"i": "12345678-1234-5678-1234-567812345678"}',
        "uuid.UUID('12345678-1234-5678-1234-567812345678')",
    ),
    "path": Shape(
        "def f(p: pathlib.Path): return p", '{"p": "a/b"}', "pathlib.Path('a/b')"
    ),
    "decimal": Shape("def f(d: Decimal): return d", '{"d": "1.50"}', "Decimal('1.50')"),
    "bytes": Shape("def f(b: bytes): return b", '{"b": "xy"}', "b'xy'"),
    "new type": Shape("def f(u: UserId): return u", '{"u": 1}', "1"),
    "type variable": Shape("def f(t: T): return t", '{"t": [1]}', "[1]"),
    "annotated text": Shape(
        "def f(a: Annotated[int, 'A.']): return a", '{"a": 1}', "1"
    ),
    "annotated field": Shape(
        "def f(a: Annotated[int, Field(ge=1, alias=None)]): return a", '{"a": 1}', "1"
    ),
    "default in a field": Shape(
        "def f(a: Annotated[int, Field(default=7)]): return a", "{}", "7"
    ),
    "field as default": Shape(
        "def f(a: int = Field(7, ge=1)): return a", '{"a": null}', "7"
    ),
    "field with factory": Shape(
        "def f(a: list[int] = Field(default_factory=lambda: [1])): return a",
        "{}",
        "[1]",
    ),
    "required field as default": Shape(
        "def f(a: int = Field(description='A.')): return a", '{"a": 2}', "2"
    ),
    "validator": Shape(
        "def f(a: Annotated[int, BeforeValidator(lambda v: v * 2)]): return a",
        '{"a": 2}',
        "4",
    ),
    "strict type": Shape("def f(a: StrictInt): return a", '{"a": 2}', "2"),
    "strict date": Shape(
        "def f(a: Annotated[date, Field(strict=True)]): return a",
        '{"a": "2025-01-02"}',
        "date(2025, 1, 2)",
    ),
    "keyword only": Shape(
        "def f(*, a: int, b: int = 2): return a, b", '{"a": 1}', "(1, 2)"
    ),
    "positional only": Shape(
        "def f(a: int, b: int = 2, /, c: int = 3): return a, b, c",
        '{"a": 1, "c": 9}',
        "(1, 2, 9)",
    ),
    "hole in positional only": Shape(
        "def f(a: int = 1, b: int = 2, c: int = 3, /): return a, b, c",
        '{"b": 9}',
        "(1, 9, 3)",
    ),
    "star args": Shape(
        "def f(a: int, *rest: int): return a, rest",
        '{"a": 1, "rest": [2, 3]}',
        "(1, (2, 3))",
    ),
    "star args left out": Shape(
        "def f(a: int, *rest: int): return a, rest",
        '{"a": 1, "rest": null}',
        "(1, ())",
    ),
    "star args after a hole": Shape(
        "def f(a: int, b: int = 5, *rest, c: int = 6): return a, b, rest, c",
        '{"a": 1, "rest": ["x"]}',
        "(1, 5, ('x',), 6)",
    ),
    "star kwargs": Shape(
        "def f(a: int, **more: int): return a, more",
        '{"a": 1, "k": 2, "l": 3}',
        "(1, {'k': 2, 'l': 3})",
    ),
    "everything at once": Shape(
        "def f(a, /, b, *c, d, e=1, **g): return a, b, c, d, e, g",
        '{"a": 1, "b": 2, "c": [3], "d": 4, "x": 5}',
        "(1, 2, (3,), 4, 1, {'x': 5})",
    ),
    "unpacked keywords": Shape(
        "def f(**options: Unpack[Options]): return options",
        '{"depth": 3, "name": null}',
        "{'depth': 3}",
    ),
    "unpacked keywords with a required one": Shape(
        "def f(**node: Unpack[Node]): return node['value']", '{"value": 3}', "3"
    ),
    "unpacked places": Shape(
        "def f(*a: Unpack[tuple[int, str]]): return a", '{"a": [1, "x"]}', "(1, 'x')"
    ),
    "awkward names": Shape(
        "def f(schema: str, copy: int, json: bool, model_config: int, self: int, "
        "values: int, tool: int): return schema, copy, json, model_config, self, tool",
        '{"schema": "s", "copy": 1, "json": true, "model_config": 2, "self": 3, '
        '"values": 4, "tool": 5}',
        "('s', 1, True, 2, 3, 5)",
    ),
    "names with underscores": Shape(
        "def f(_a: int, __b: int = 2): return _a, __b", '{"_a": 1}', "(1, 2)"
    ),
    "letters of the world": Shape(
        "def f(größe: int): return größe", '{"größe": 1}', "1"
    ),
    "string annotation": Shape(
        "def f(c: 'Color'): return c", '{"c": "red"}', "Color.RED"
    ),
    "string inside a list": Shape(
        "def f(c: list['Color']): return c", '{"c": ["red"]}', "[Color.RED]"
    ),
    "string inside optional": Shape(
        "def f(c: Optional['Color'] = None): return c", '{"c": "red"}', "Color.RED"
    ),
    "model in a function": Shape(
        """
        def make():
            class Local(BaseModel):
                a: int
            def f(x: Local): return x.a
            return to_definition(f)
        f = make()
        """,
        '{"x": {"a": 1}}',
        "1",
    ),
    "marked in a function": Shape(
        """
        def make():
            class Local(BaseModel):
                a: int
            @tool
            def f(x: Local): return x.a
            return f
        f = make()
        """,
        '{"x": {"a": 1}}',
        "1",
    ),
    "neighbours in a function": Shape(
        """
        def make():
            @dataclass
            class Dot:
                x: int
            @dataclass
            class Stroke:
                dots: list[Dot]
            @tool
            def f(stroke: Stroke, dots: list[Dot]): return stroke.dots[0].x, dots[0].x
            return f
        f = make()
        """,
        '{"stroke": {"dots": [{"x": 1}]}, "dots": [{"x": 2}]}',
        "(1, 2)",
    ),
    "typed dict in a function": Shape(
        """
        def make():
            class Part(TypedDict):
                x: int
            class Whole(TypedDict):
                parts: list[Part]
            @tool
            def f(whole: Whole): return whole
            return f
        f = make()
        """,
        '{"whole": {"parts": [{"x": 1}]}}',
        "{'parts': [{'x': 1}]}",
    ),
    "two functions deep": Shape(
        """
        def outer():
            class Local(enum.Enum):
                A = "a"
            def inner():
                @tool
                def f(x: Local): return x.name
                return f
            return inner()
        f = outer()
        """,
        '{"x": "a"}',
        "'A'",
    ),
    "method": Shape(
        """
        class Box:
            size = 3
            @tool
            def f(self, a: int): return self.size + a
        f = Box().f
        """,
        '{"a": 1}',
        "4",
    ),
    "method with a class of the class": Shape(
        """
        class Box:
            class Kind(enum.Enum):
                A = "a"
            @tool
            def f(self, kind: Kind): return kind.name
        f = Box().f
        """,
        '{"kind": "a"}',
        "'A'",
    ),
    "static method": Shape(
        """
        class Box:
            @tool
            @staticmethod
            def f(a: int): return a
        f = Box.f
        """,
        '{"a": 1}',
        "1",
    ),
    "class method": Shape(
        """
        class Box:
            @tool
            @classmethod
            def f(cls, a: int): return cls.__name__, a
        f = Box.f
        """,
        '{"a": 1}',
        "('Box', 1)",
    ),
    "object with call": Shape(
        """
        class Adder:
            def __call__(self, a: int, b: int = 1): return a + b
        f = Adder()
        """,
        '{"a": 1}',
        "2",
    ),
    "class": Shape("f = Point", '{"x": 1}', "Point(1)"),
    "partial": Shape(
        """
        def g(a: int, b: int, c: int = 3): return a, b, c
        f = functools.partial(g, 1)
        """,
        '{"b": 2}',
        "(1, 2, 3)",
    ),
    "partial with a keyword": Shape(
        """
        def g(secret: str, a: int, b: int = 2): return secret, a, b
        f = functools.partial(g, secret="s")
        """,
        '{"a": 1}',
        "('s', 1, 2)",
    ),
    "partial of a method": Shape(
        """
        class Box:
            def g(self, a: int, b: Color): return a, b
        f = functools.partial(Box().g, 1)
        """,
        '{"b": "red"}',
        "(1, Color.RED)",
    ),
    "lambda": Shape("f = tool(lambda a, b=2: (a, b), name='f')", '{"a": 1}', "(1, 2)"),
    "wrapped": Shape(
        """
        def plus_one(g):
            @functools.wraps(g)
            def wrapper(*args, **kwargs): return g(*args, **kwargs) + 1
            return wrapper
        @plus_one
        @tool
        def f(a: int): return a
        """,
        '{"a": 1}',
        "2",
    ),
    "cached": Shape(
        """
        @functools.lru_cache
        def f(a: int): return a
        """,
        '{"a": 1}',
        "1",
    ),
    "built-in": Shape("f = len", '{"obj": [1, 2]}', "2"),
    "text holding a list": Shape(
        "def f(a: list[int]): return a", '{"a": "[1, 2]"}', "[1, 2]"
    ),
    "text holding a model": Shape(
        "def f(a: City): return a", '{"a": "{\\"name\\": \\"A\\"}"}', "City(name='A')"
    ),
    "text in a model holding a list": Shape(
        "def f(a: Trip): return a.stops",
        '{"a": {"stops": "[{\\"name\\": \\"A\\"}]"}}',
        "[City(name='A')]",
    ),
    "text for a number": Shape("def f(a: int): return a", '{"a": "5"}', "5"),
    "text that stays text": Shape(
        "def f(a: str | list[int]): return a", '{"a": "[1]"}', "'[1]'"
    ),
}


@pytest.mark.parametrize("future", ["", "from __future__ import annotations"])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_a_call_reaches_the_function_with_python_values(shape, future, monkeypatch):
    module = ModuleType("shapes")
    monkeypatch.setitem(sys.modules, "shapes", module)
    space = module.__dict__
    space["to_definition"] = to_tool_definition
    source = f"{future}\n{PRELUDE}\n{textwrap.dedent(shape.source)}"
    exec(compile(source, "<shape>", "exec", dont_inherit=True), space)  # noqa: S102 - the same source in two styles
    definition = to_tool_definition(space["f"])
    call = definition.bind(shape.arguments)
    result = definition(*call.args, **call.kwargs)
    expected = eval(shape.expected, space)  # noqa: S307 - written above
    assert result == expected
    assert type(result) is type(expected)
    # What people edit is read the same way.
    assert definition.rebind(call.values) == call
