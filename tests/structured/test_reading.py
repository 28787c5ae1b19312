"""How the text of a model becomes a value, and half of a text half of a value."""

from __future__ import annotations

import enum
import json
import string
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
import typing_extensions
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AliasChoices, BaseModel, Field, RootModel

from notebook_agents.structured import OutputType
from notebook_agents.structured.json_text import values_in
from notebook_agents.structured.output_type import MisfitError, name_of

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
WORDS = st.text(string.ascii_letters + " .,!'\n")


class Kind(enum.Enum):
    """What something is."""

    FOOD = "food"
    TOOL = "tool"


class Item(BaseModel):
    """Something on sale."""

    name: str
    price: float = Field(gt=0)
    tags: list[str] = []


class Named(BaseModel):
    """A field that is called otherwise in JSON."""

    first_name: str = Field(alias="firstName")
    age: int


@dataclass(frozen=True, slots=True)
class Order:
    """What somebody wants."""

    item: Item
    count: int
    note: str = "none"
    log: list[str] = field(default_factory=list, init=False)


class Trip(typing_extensions.TypedDict):
    """Where somebody goes."""

    to: str
    on: date
    stops: list[str]


class Tree(BaseModel):
    """Something inside itself."""

    name: str
    parts: list[Tree] = []


class Basket(RootModel[list[Item]]):
    """Several things."""


def growth(kind: Any, text: str) -> list[Any]:
    """Give every value that a growing text has on its way."""
    output = OutputType.of(kind)
    seen: list[Any] = []
    for end in range(len(text) + 1):
        try:
            value = output.read_beginning(text[:end])
        except ValueError:
            continue
        if not seen or value != seen[-1]:
            seen.append(value)
    return seen


# ------------------------------------------------------------------ finding the JSON


@given(JSON)
def test_json_alone_is_read_as_it_is(value):
    assert list(values_in(json.dumps(value))) == [value]


@given(JSON.filter(lambda value: isinstance(value, dict | list)), WORDS, WORDS)
def test_json_is_found_among_words(value, before, after):
    text = f"{before} {json.dumps(value)} {after}"
    assert next(iter(values_in(text))) == value


@given(JSON.filter(lambda value: isinstance(value, dict | list)), WORDS)
def test_json_is_found_in_a_fence(value, words):
    text = f"{words}\n```json\n{json.dumps(value, indent=2)}\n```\n{words}"
    assert next(iter(values_in(text))) == value


@given(st.text())
def test_no_text_breaks_the_search(text):
    assert isinstance(list(values_in(text)), list)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "{" * 50_000, '{"a":' * 20_000, "```" * 30_000]
)
def test_a_text_of_brackets_is_given_up_soon(text):
    assert list(values_in(text)) == []


def test_the_value_that_fits_is_taken_wherever_it_stands():
    text = 'Maybe [1, 2]. {"answer": [3, 4]} See [9].'
    assert OutputType.of(list[int]).read(text) == [3, 4]
    text = 'First {"name": "a"}, better {"name": "Tea", "price": 1}, as in [1].'
    assert OutputType.of(Item).read(text) == Item(name="Tea", price=1)


def test_half_a_list_is_no_word():
    with pytest.raises(MisfitError, match="there is no JSON"):
        OutputType.of(list[str] | str).read('{"answer": ["a", "b')


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"name": "Tea"}', "'answer.price': field required"),
        ('{"name": "Tea", "price": -1}', "'answer.price': input should be greater"),
        ("[]", "input should be an object"),
        ("Hello!", "there is no JSON in it"),
        ("", "there is no JSON in it"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(text, said):
    with pytest.raises(MisfitError, match=said) as caught:
        OutputType.of(Item).read(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (Item, "Item"),
        (list[Item], "list[Item]"),
        (Item | None, "Item | None"),
        (dict[str, date], "dict[str, date]"),
        (int, "int"),
    ],
)
def test_a_type_is_named_without_its_modules(kind, name):
    assert name_of(kind) == name


def test_a_long_name_is_cut():
    kind = (
        enum.Enum("E", {"a": "a"}) | Item | Named | Order | Trip | Tree | Basket | int
    )
    assert len(name_of(dict[str, dict[str, kind]])) <= 60
    assert len(OutputType.of(dict[str, dict[str, kind]]).format.name) <= 64


# ----------------------------------------------------------------- values that grow


def test_a_model_grows_field_by_field():
    text = '{"name": "Tea", "price": 2.5, "tags": ["hot"]}'
    assert growth(Item, text) == [
        Item.model_construct(name=None, price=None, tags=[]),
        *(
            Item.model_construct(name=name, price=None, tags=[])
            for name in ("", "T", "Te", "Tea")
        ),
        Item.model_construct(name="Tea", price=2.5, tags=[]),
        *(
            Item.model_construct(name="Tea", price=2.5, tags=[tag])
            for tag in ("", "h", "ho", "hot")
        ),
    ]


def test_a_number_is_shown_when_it_is_whole():
    assert growth(list[int], '{"answer": [12, 345]}') == [[], [12], [12, 345]]


def test_a_date_is_shown_when_it_is_whole():
    text = '{"to": "Oslo", "on": "2026-11-30", "stops": []}'
    dates = [value.get("on") for value in growth(Trip, text)]
    assert set(dates) == {None, date(2026, 11, 30)}


def test_a_moment_is_shown_when_it_is_whole():
    """Else the 2 of a year would be two seconds after 1970."""
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    assert growth(datetime, '{"answer": "2026-01-01T00:00:00Z"}') == [moment]
    assert growth(list[Decimal], '{"answer": ["1.50"]}') == [[], [Decimal("1.50")]]


def test_text_in_a_choice_of_types_grows():
    text = '{"answer": ["Oslo"]}'
    assert growth(list[str | date], text)[1:] == [
        [text] for text in ("", "O", "Os", "Osl", "Oslo")
    ]
    assert growth(list[Any], text)[-2:] == [["Osl"], ["Oslo"]]


def test_a_field_of_several_names_grows():
    class Several(BaseModel):
        number: int = Field(validation_alias=AliasChoices("one", "two"))

    assert growth(Several, '{"one": 12}')[-1].number == 12


def test_what_is_iterable_grows_as_a_list():
    assert growth(Iterable[int], '{"answer": [1]}') == [[], [1]]


def test_a_word_of_several_is_shown_when_it_is_whole():
    assert growth(list[Kind], '{"answer": ["tool"]}') == [[], [Kind.TOOL]]


def test_a_dataclass_grows_and_what_it_holds():
    text = '{"item": {"name": "Tea", "price": 1}, "count": 2, "note": "soon"}'
    first, *_, last = growth(Order, text)
    assert (first.item, first.count, first.note, first.log) == (None, None, "none", [])
    assert last == OutputType.of(Order).read(text)


def test_a_model_inside_itself_grows_by_whole_parts():
    text = '{"answer": {"name": "a", "parts": [{"name": "b", "parts": []}]}}'
    last = growth(Tree, text)[-1]
    assert last == OutputType.of(Tree).read(text)


def test_a_list_of_models_grows():
    text = '[{"name": "Tea", "price": 1}, {"name": "Mi'
    assert growth(Basket, f'{{"answer": {text}')[-1].root == [
        Item(name="Tea", price=1),
        Item.model_construct(name="Mi", price=None, tags=[]),
    ]


def test_a_field_is_found_by_its_name_in_json():
    assert growth(Named, '{"firstName": "Ada", "age": 36}')[-1] == Named(
        firstName="Ada", age=36
    )


def test_a_fence_and_words_before_it_are_not_in_the_way():
    text = 'Here [it] is:\n```json\n{"name": "Te'
    assert growth(Item, text)[-1].name == "Te"


def test_text_grows_as_it_is():
    assert OutputType.of(str).read_beginning("Hel") == "Hel"


@given(st.lists(st.builds(Item, name=st.text(), price=st.floats(0.1, 1e6))))
def test_the_last_of_what_grows_is_the_whole(items):
    text = json.dumps({"answer": [item.model_dump() for item in items]})
    output = OutputType.of(list[Item])
    assert output.read_beginning(text) == output.read(text) == items


@given(st.data())
def test_any_beginning_is_a_value_or_a_value_error(data):
    value = {
        "name": data.draw(st.text()),
        "price": 1.5,
        "tags": data.draw(st.lists(st.text())),
    }
    text = json.dumps(value)
    end = data.draw(st.integers(0, len(text)))
    try:
        part = OutputType.of(Item).read_beginning(text[:end])
    except ValueError:
        return
    assert isinstance(part, Item)
    assert part.name is None or value["name"].startswith(part.name)
