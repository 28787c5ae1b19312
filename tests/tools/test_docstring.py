"""Docstrings are read, whatever is in them."""

from __future__ import annotations

import functools
import operator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from notebook_agents.tools.docstring import Documentation, read_documentation


def documented(text):
    def func(): ...

    func.__doc__ = text
    return read_documentation(func)


def test_no_docstring_is_an_empty_one():
    class Silent:
        def __call__(self): ...

    assert read_documentation(Silent()) == Documentation()
    assert documented(None) == documented("  \n ") == Documentation()


def test_one_line_is_the_summary():
    assert documented(" Do it. ").summary == "Do it."


def test_the_class_speaks_for_an_object_whose_call_says_nothing():
    class Adder:
        """Adds."""

        def __call__(self): ...

    assert read_documentation(Adder()).summary == "Adds."
    assert read_documentation(Adder).summary == "Adds."
    assert read_documentation(functools.partial(Adder())).summary == "Adds."
    assert "item" in read_documentation(operator.itemgetter(1)).summary


def test_a_broken_docstring_keeps_its_first_paragraph():
    # The parser itself fails on this one.
    assert documented("Do\nit.\n\n@param a\n:").summary == "Do it."


pieces = st.sampled_from(
    ["Args:", "    a: x", "Parameters", "----------", "a : int", ":param a: b", "::",
     ":param", ":", ": :", ".. deprecated::", ":type a:", "Returns:", "", "    ", "@param a", "Example", ">>> 1", "a"]
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.lists(pieces | st.text(max_size=10), max_size=12).map("\n".join))
def test_no_docstring_makes_reading_fail(text):
    found = documented(text)
    assert "\n" not in found.summary


@pytest.mark.parametrize("style", ["Args:\n    a: One.", ":param a: One."])
def test_a_section_right_after_the_summary_is_not_part_of_it(style):
    found = documented(f"Do it.\n\n{style}")
    assert found == Documentation("Do it.", {"a": "One."})
