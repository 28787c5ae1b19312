"""What the model reads of a value, and what a person sees of it."""

from __future__ import annotations

import itertools
import json

import pytest

from notebook_agents.tools.observation import (
    BUNDLE_CHARACTERS,
    MODEL_CHARACTERS,
    bundle_of,
    cut,
    is_light,
    text_of,
)


class Rude:
    """Cannot be written."""

    def __repr__(self):
        raise ZeroDivisionError


CIRCLE: list = []
CIRCLE.append(CIRCLE)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is", "as it is"),
        ("", ""),
        (3, "3"),
        (True, "true"),
        ([1, "a", None], '[1,"a",null]'),
        ({"a": {"b": 1}}, '{"a":{"b":1}}'),
        ((1, 2), "[1,2]"),
        (b"\xff", r"b'\xff'"),
        (CIRCLE, "[[...]]"),
    ],
)
def test_a_value_is_text_or_json_or_its_repr(value, text):
    assert text_of(value) == text


def test_nothing_is_said_in_words():
    assert text_of(None) == "Done; the tool returned nothing."


def test_an_object_within_json_is_its_repr():
    assert json.loads(text_of({"a": range(3)}))["a"] in ("range(0, 3)", [0, 1, 2])


@pytest.mark.parametrize("value", [Rude(), [Rude()], {"a": Rude()}, {Rude(): 1}])
def test_a_broken_repr_does_no_harm(value):
    assert "ZeroDivisionError" in text_of(value)


def test_what_never_ends_is_cut_like_any_other_list():
    text = text_of(itertools.count())
    assert text.startswith("[0,1,2,3,")
    assert len(text) < MODEL_CHARACTERS + 50
    assert text_of(iter("abc")) == '["a","b","c"]'


def test_no_more_of_a_long_list_is_written_than_is_shown():
    written = []

    class Part:
        def __repr__(self):
            written.append(self)
            return "part"

    text = text_of({"rows": [[Part()] for _ in range(100_000)]})
    assert text.startswith('{"rows":[["part"],["part"]')
    assert text.endswith(" more characters cut]")
    assert "[... more than " in text
    assert len(written) <= MODEL_CHARACTERS


def test_of_what_is_not_long_the_missing_characters_are_counted():
    assert text_of(["x" * 6000]).endswith("\n[... 4 more characters cut]")
    assert text_of([1] * 3000).endswith("\n[... 1 more characters cut]")


def test_an_iterator_within_json_is_a_list():
    assert text_of({"rows": (n for n in range(3))}) == '{"rows":[0,1,2]}'
    assert text_of([map(str, range(2))]) == '[["0","1"]]'


def test_one_that_never_ends_within_json_is_cut():
    assert text_of({"rows": itertools.count()}).startswith('{"rows":[0,1,2,')


@pytest.mark.parametrize(
    "value",
    [None, True, 1.5, "tea", b"tea", 7, [], {"a": [1, "b", (None, {2})]}, [1] * 100],
)
def test_what_is_short_is_light(value):
    assert is_light(value)


@pytest.mark.parametrize(
    "value",
    [
        "x" * 100_000,
        [1] * 100_000,
        {"rows": [[1, 2]] * 1_000},
        1 << 1_000_000,
        Rude(),
        [Rude()],
        {"a": Rude()},
        map(str, "ab"),
        {"rows": (n for n in "ab")},
        len,
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_long_or_runs_the_code_of_others_is_not_light(value):
    assert not is_light(value)


def test_a_text_of_six_thousand_characters_is_whole():
    """Design, section 5."""
    text = "x" * MODEL_CHARACTERS
    assert (MODEL_CHARACTERS, text_of(text)) == (6000, text)


def test_a_longer_text_is_cut_and_says_so():
    """Acceptance check 36."""
    assert cut("x" * 6001) == "x" * 6000 + "\n[... 1 more characters cut]"


def test_half_a_character_cannot_poison_the_next_request():
    """As in the name of a file that is not UTF-8."""
    assert text_of("caf\udce9").encode() == b"caf?"


# ------------------------------------------------------------ for a person


class Shown:
    """Is shown as it is told."""

    def __init__(self, **shows):
        self.shows = shows

    def _repr_html_(self):
        return self.shows.get("html")

    def _repr_png_(self):
        return self.shows.get("png")

    def _repr_mimebundle_(self, **_):
        return self.shows.get("bundle")


@pytest.mark.parametrize("value", [None, "a", 1, 1.5, True, [1], {"a": 1}, (1,)])
def test_a_plain_value_needs_no_other_form(value):
    assert bundle_of(value) == {}


def test_a_value_is_shown_as_it_wants():
    assert bundle_of(Shown(html="<b>a</b>")) == {"text/html": "<b>a</b>"}


def test_a_picture_is_base64():
    assert bundle_of(Shown(png=b"abc")) == {"image/png": "YWJj"}


def test_data_and_metadata_may_come_together():
    assert bundle_of(Shown(html=("<b>", {"isolated": True}))) == {"text/html": "<b>"}
    bundle = ({"text/plain": "a"}, {"metadata": 1})
    assert bundle_of(Shown(bundle=bundle)) == {"text/plain": "a"}


def test_a_form_that_is_too_long_is_left_out():
    assert bundle_of(Shown(html="x" * (BUNDLE_CHARACTERS + 1))) == {}


def test_a_form_that_fails_is_left_out():
    class Broken:
        def _repr_html_(self):
            raise ZeroDivisionError

    assert bundle_of(Broken()) == {}


def test_a_class_is_not_asked_for_the_form_of_its_objects():
    assert bundle_of(Shown) == {}


def test_what_an_object_says_it_has_is_not_believed():
    """Such as a mock, or a proxy that answers to every name."""

    class Anything:
        def __getattr__(self, name):
            return lambda *_, **__: "<b>"

    assert bundle_of(Anything()) == {}
