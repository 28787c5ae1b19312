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


@settings(max_examples=200)
@given(st.lists(pieces | st.text(max_size=10), max_size=12).map("\n".join))
def test_no_docstring_makes_reading_fail(text):
    found = documented(text)
    assert "\n" not in found.summary


EVERY_STYLE = {
    "Google": """Find things.

        Looks everywhere.

        Args:
            query (str): What to find,
                in words: any.
            limit: How many.
            *rest: More.

        Returns:
            list: Things.
        """,
    "Google without blank lines": """Find things.
        Args:
            query: What to find, in words: any.
            limit: How many.
            rest: More.
        """,
    "several sections": """Find things.

        Args:
            query: What to find, in words: any.

        Keyword Args:
            limit: How many.
            rest: More.
        """,
    "NumPy": """
        Find things.

        Parameters
        ----------
        query : str
            What to find,
            in words: any.
        limit : int, default 5
            How many.
        *rest
            More.

        Returns
        -------
        list
            Things.
        """,
    "Sphinx": """Find
        things.

        :param query: What to find, in words: any.
        :type query: str
        :param int limit: How many.
        :param rest: More.
        :returns: Things.
        """,
    "Epytext": """Find things.

        @param query: What to find, in words: any.
        @param limit: How many.
        @param rest: More.
        """,
}


@pytest.mark.parametrize("text", EVERY_STYLE.values(), ids=EVERY_STYLE.keys())
def test_every_style_says_the_same(text):
    assert documented(text) == Documentation(
        "Find things.",
        {
            "query": "What to find, in words: any.",
            "limit": "How many.",
            "rest": "More.",
        },
    )


@pytest.mark.parametrize(
    "text",
    [
        "Args:\n    a: One.",
        "Parameters\n----------\na : int\n    One.",
        ":param a: One.\n",
    ],
)
def test_a_docstring_may_tell_of_the_parameters_alone(text):
    assert documented(f"\n{text}\n") == Documentation("", {"a": "One."})


@pytest.mark.parametrize("style", ["Args:\n    a: One.", ":param a: One."])
def test_a_section_right_after_the_summary_is_not_part_of_it(style):
    found = documented(f"Do it.\n\n{style}")
    assert found == Documentation("Do it.", {"a": "One."})
