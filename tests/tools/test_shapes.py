"""Every shape of signature takes JSON and gets the right Python values."""

from __future__ import annotations

import json
import sys
import textwrap
from types import ModuleType
from typing import NamedTuple

import pytest

from notebook_agents.tools import to_tool_definition

PRELUDE = '''
import collections, enum, fractions, functools, ipaddress, pathlib, re, uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import (
    Annotated, Any, Dict, Generic, List, Literal, NamedTuple, NewType, NotRequired,
    Optional, Required, Self, Tuple,
    TypedDict, TypeVar, Union, Unpack,
)
import annotated_types
import pydantic.dataclasses
import typing_extensions
from pydantic import (
    BaseModel, BeforeValidator, ConfigDict, Field, HttpUrl, PositiveInt, SecretStr,
    StrictInt, conint, conlist, constr,
)
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

class Mood(enum.StrEnum):
    GOOD = "good"

class Rights(enum.Flag):
    READ = 1
    WRITE = 2

@dataclass
class Chain:
    value: int
    next: "Chain | None" = None

@dataclass
class Bag:
    items: list[int] = field(default_factory=list)
    tags: set[str] = field(default_factory=set)

@dataclass(frozen=True, kw_only=True, slots=True)
class Cold:
    a: int
    day: date = date(2025, 1, 1)

@pydantic.dataclasses.dataclass
class Checked:
    a: PositiveInt

class Visit(BaseModel):
    model_config = ConfigDict(extra="forbid")
    when: datetime
    where: pathlib.Path
    color: Color = Color.RED
    tags: list[str] = Field(default_factory=list)

class Alias(BaseModel):
    name_: str = Field(alias="name")

class Segment(NamedTuple):
    ends: Pair
    day: date

class Dated(TypedDict):
    day: date

UserId = NewType("UserId", int)
Capital = NewType("Capital", City)
T = TypeVar("T")
OfCity = TypeVar("OfCity", bound=City)
OneOf = TypeVar("OneOf", int, str)
Numbers = typing_extensions.TypeAliasType("Numbers", list[int])
Json = typing_extensions.TypeAliasType(
    "Json", "Union[dict[str, Json], list[Json], int, str, None]"
)

class Box(BaseModel, Generic[T]):
    item: T

@dataclass
class Crate(Generic[T]):
    item: T

class Word(str): ...
class Rows(list): ...
class Count(int): ...
class Moment(datetime): ...
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
        "def f(a: list[list[float]]): return a", '{"a": [[1], [2.5]]}', "[[1.0], [2.5]]"
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
        "def f(t: datetime): return t.astimezone(timezone.utc)",
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
    "time": Shape("def f(t: time): return t", '{"t": "03:04:05"}', "time(3, 4, 5)"),
    "datetime with a zone": Shape(
        "def f(t: Optional[datetime] = None): return t.astimezone(timezone.utc)",
        '{"t": "2025-01-01T02:00:00+02:00"}',
        "datetime(2025, 1, 1, tzinfo=timezone.utc)",
    ),
    "date or number": Shape(
        "def f(t: date | int): return t", '{"t": "2025-01-01"}', "date(2025, 1, 1)"
    ),
    "alias of a type": Shape("def f(n: Numbers): return n", '{"n": [1]}', "[1]"),
    "alias of itself": Shape(
        "def f(j: Json): return j", '{"j": {"a": [1, "x"]}}', "{'a': [1, 'x']}"
    ),
    "text enum": Shape("def f(m: Mood): return m", '{"m": "good"}', "Mood.GOOD"),
    "flag": Shape("def f(r: Rights): return r", '{"r": 2}', "Rights.WRITE"),
    "literal of an enum": Shape(
        "def f(c: Literal[Color.RED, Color.BLUE]): return c",
        '{"c": "red"}',
        "Color.RED",
    ),
    "set of enums": Shape(
        "def f(c: set[Color]): return c", '{"c": ["red"]}', "{Color.RED}"
    ),
    "recursive dataclass": Shape(
        "def f(c: Chain): return c",
        '{"c": {"value": 1, "next": {"value": 2, "next": null}}}',
        "Chain(1, Chain(2))",
    ),
    "default factories": Shape(
        "def f(b: Bag): return b",
        '{"b": {"items": null, "tags": ["x"]}}',
        "Bag(tags={'x'})",
    ),
    "frozen dataclass": Shape(
        "def f(c: Cold): return c",
        '{"c": {"a": 1, "day": "2025-02-02"}}',
        "Cold(a=1, day=date(2025, 2, 2))",
    ),
    "pydantic dataclass": Shape(
        "def f(c: Checked): return c", '{"c": {"a": 1}}', "Checked(1)"
    ),
    "model of many types": Shape(
        "def f(v: Visit): return v",
        '{"v": {"when": "2025-01-01T00:00:00", "where": "a", "color": null, '
        '"tags": null}}',
        "Visit(when=datetime(2025, 1, 1), where=pathlib.Path('a'))",
    ),
    "field with another name": Shape(
        "def f(a: Alias): return a", '{"a": {"name": "x"}}', "Alias(name='x')"
    ),
    "models by name": Shape(
        "def f(c: dict[str, City]): return c",
        '{"c": {"n": {"name": "Oslo"}}}',
        "{'n': City(name='Oslo')}",
    ),
    "tuple of a model and a date": Shape(
        "def f(t: tuple[City, date]): return t",
        '{"t": [{"name": "Oslo"}, "2025-01-01"]}',
        "(City(name='Oslo'), date(2025, 1, 1))",
    ),
    "list of paths": Shape(
        "def f(p: list[pathlib.Path]): return p", '{"p": ["a"]}', "[pathlib.Path('a')]"
    ),
    "nested named tuple": Shape(
        "def f(s: Segment): return s",
        '{"s": [[1, "x"], "2025-01-01"]}',
        "Segment(Pair(1, 'x'), date(2025, 1, 1))",
    ),
    "list of named tuples": Shape(
        "def f(p: list[Pair]): return p", '{"p": [[1, "x"]]}', "[Pair(1, 'x')]"
    ),
    "typed dict with a date": Shape(
        "def f(d: Dated): return d",
        '{"d": {"day": "2025-01-01"}}',
        "{'day': date(2025, 1, 1)}",
    ),
    "new type of a model": Shape(
        "def f(c: Capital): return c", '{"c": {"name": "Oslo"}}', "City(name='Oslo')"
    ),
    "bound type variable": Shape(
        "def f(c: OfCity): return c", '{"c": {"name": "Oslo"}}', "City(name='Oslo')"
    ),
    "type variable of choices": Shape("def f(a: OneOf): return a", '{"a": "x"}', "'x'"),
    "generic model": Shape(
        "def f(b: Box[date]): return b",
        '{"b": {"item": "2025-01-01"}}',
        "Box[date](item=date(2025, 1, 1))",
    ),
    "generic dataclass": Shape(
        "def f(c: Crate[Color]): return c", '{"c": {"item": "red"}}', "Crate(Color.RED)"
    ),
    "constrained types": Shape(
        "def f(a: PositiveInt, b: conint(ge=1), c: constr(min_length=1), "
        "d: Annotated[int, annotated_types.Gt(0)], e: conlist(int, min_length=1)): "
        "return a, b, c, d, e",
        '{"a": 1, "b": 2, "c": "x", "d": 3, "e": [4]}',
        "(1, 2, 'x', 3, [4])",
    ),
    "secret": Shape("def f(s: SecretStr): return s", '{"s": "x"}', "SecretStr('x')"),
    "url": Shape(
        "def f(u: HttpUrl): return u", '{"u": "http://a.b/"}', "HttpUrl('http://a.b/')"
    ),
    "address": Shape(
        "def f(a: ipaddress.IPv4Address): return a",
        '{"a": "1.2.3.4"}',
        "ipaddress.IPv4Address('1.2.3.4')",
    ),
    "pattern": Shape(
        "def f(p: re.Pattern): return p", '{"p": "a+"}', "re.compile('a+')"
    ),
    "deque": Shape(
        "def f(d: collections.deque[int]): return d",
        '{"d": [1]}',
        "collections.deque([1])",
    ),
    "ordered and default dicts": Shape(
        "def f(a: collections.OrderedDict[str, int], "
        "b: collections.defaultdict[str, list[int]]): return a, b",
        '{"a": {"x": 1}, "b": {"y": [2]}}',
        "(collections.OrderedDict(x=1), collections.defaultdict(list, y=[2]))",
    ),
    "counter": Shape(
        "def f(c: collections.Counter[str]): return c",
        '{"c": {"x": 1}}',
        "collections.Counter(x=1)",
    ),
    "fraction": Shape(
        "def f(q: fractions.Fraction): return q",
        '{"q": "1/2"}',
        "fractions.Fraction(1, 2)",
    ),
    "complex number": Shape("def f(c: complex): return c", '{"c": "1+2j"}', "1+2j"),
    "kinds of plain types": Shape(
        "def f(a: Word, b: Rows, c: Count, d: Moment): "
        "return a, b, c, d, *map(type, (a, b, c, d))",
        '{"a": "x", "b": [1], "c": 2, "d": "2025-01-01T00:00:00"}',
        "(Word('x'), Rows([1]), Count(2), Moment(2025, 1, 1), Word, Rows, Count, Moment)",
    ),
    "method that gives itself": Shape(
        """
        class Thing:
            @tool
            def f(self, a: int) -> Self: return a
        f = Thing().f
        """,
        '{"a": 1}',
        "1",
    ),
    "partial method": Shape(
        """
        class Thing:
            def g(self, a: int, b: Color): return a, b
            f = functools.partialmethod(g, 1)
        f = Thing().f
        """,
        '{"b": "red"}',
        "(1, Color.RED)",
    ),
    "named partial of a lambda": Shape(
        "f = tool(functools.partial(lambda a, b: (a, b), b=2), name='f')",
        '{"a": 1}',
        "(1, 2)",
    ),
    "object with real types": Shape(
        """
        class Thing:
            def __call__(self, day: date, color: Color = Color.BLUE): return day, color
        f = Thing()
        """,
        '{"day": "2025-01-01", "color": null}',
        "(date(2025, 1, 1), Color.BLUE)",
    ),
    "generic model in a function": Shape(
        """
        def make():
            U = TypeVar("U")
            class Local(BaseModel, Generic[U]):
                items: list[U]
            @tool
            def f(x: Local[date]): return x.items
            return f
        f = make()
        """,
        '{"x": {"items": ["2025-01-01"]}}',
        "[date(2025, 1, 1)]",
    ),
    "recursive model in a function": Shape(
        """
        def make():
            class Node(BaseModel):
                value: int
                children: list["Node"] = []
            @tool
            def f(node: Node): return node.children[0].value
            return f
        f = make()
        """,
        '{"node": {"value": 1, "children": [{"value": 2, "children": null}]}}',
        "2",
    ),
    "dataclass of an enum in a function": Shape(
        """
        def make():
            class Kind(enum.Enum):
                A = "a"
            @dataclass
            class Local:
                kind: Kind
                other: Optional["Local"] = None
            @tool
            def f(x: Local, *, kind: Kind = Kind.A): return x.other.kind is kind
            return f
        f = make()
        """,
        '{"x": {"kind": "a", "other": {"kind": "a"}}, "kind": null}',
        "True",
    ),
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


STYLES = ["", "from __future__ import annotations"]
OF_ANY_VALUE = {
    "unannotated",
    "any",
    "object",
    "type variable",
    "null for an unannotated default",
    "everything at once",
    "star args after a hole",
    "lambda",
    "named partial of a lambda",
    "built-in",
}


@pytest.fixture
def define(monkeypatch):
    """Give a function that writes a tool in a module, in one of two styles."""

    def define(shape, future):
        module = ModuleType("shapes")
        monkeypatch.setitem(sys.modules, "shapes", module)
        space = module.__dict__
        space["to_definition"] = to_tool_definition
        source = f"{future}\n{PRELUDE}\n{textwrap.dedent(shape.source)}"
        exec(compile(source, "<shape>", "exec", dont_inherit=True), space)  # noqa: S102 - the same source in two styles
        return to_tool_definition(space["f"]), space

    return define


@pytest.mark.parametrize("future", STYLES)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_a_call_reaches_the_function_with_python_values(shape, future, define):
    definition, space = define(shape, future)
    call = definition.bind(shape.arguments)
    result = definition(*call.args, **call.kwargs)
    expected = eval(shape.expected, space)  # noqa: S307 - written above
    assert result == expected
    # In depth: 1 is equal to True, and to a member of an enumeration.
    assert (type(result), repr(result)) == (type(expected), repr(expected))
    # What people edit is read the same way.
    assert definition.rebind(call.values) == call


NULL_IS_NO_DEFAULT = {"optional by bar"}  # None is a value of its own there


@pytest.mark.parametrize("future", STYLES)
@pytest.mark.parametrize(
    "name", [name for name in SHAPES if name not in NULL_IS_NO_DEFAULT]
)
def test_the_strict_form_is_filled_in_and_means_the_same(name, future, define):
    shape = SHAPES[name]
    definition, space = define(shape, future)
    function = definition.schema["function"]
    if not function["strict"]:
        assert definition.relaxed
        return
    given = json.loads(shape.arguments.strip() or "{}")
    whole = {name: given.get(name) for name in function["parameters"]["required"]}
    call = definition.bind(json.dumps(whole))
    expected = eval(shape.expected, space)  # noqa: S307 - written above
    assert repr(definition(*call.args, **call.kwargs)) == repr(expected)


@pytest.mark.parametrize("future", STYLES)
@pytest.mark.parametrize("name", [name for name in SHAPES if name not in OF_ANY_VALUE])
def test_what_an_annotation_says_is_in_the_schema(name, future, define):
    definition, _ = define(SHAPES[name], future)
    properties = definition.schema["function"]["parameters"]["properties"]
    said = {"type", "enum", "anyOf", "$ref"}
    assert not [key for key, schema in properties.items() if not schema.keys() & said]


def test_there_are_many_shapes():
    assert len(SHAPES) >= 150
