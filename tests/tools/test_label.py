"""A label tells a person what a call does, and decides nothing."""

from __future__ import annotations

import datetime as dt

import pytest

from notebook_agents import Agent, ScriptedProvider, call, tool

LABEL = "Search {query}, up to {limit:d} hits"


async def labels(function, arguments, **options):
    """Give the label of a call, and what came of the run."""
    work = tool(name="work", **options)(function)
    agent = Agent(ScriptedProvider([call("work", **arguments), "done"]), [work])
    result = await agent.run("go")
    (action,) = [event for event in result.events if event.event == "action"]
    assert str(result) == "done"
    return action.label


def search(query: str, limit: int = 5) -> str:
    """Search."""
    return query * limit


@pytest.mark.parametrize("given", [{}, {"limit": None}, {"limit": 5}])
async def test_a_default_is_shown_where_the_call_has_no_value(given):
    label = await labels(search, {"query": "tea", **given}, label=LABEL)
    assert label == "Search tea, up to 5 hits"


async def test_null_is_shown_where_it_is_a_value_of_its_own():
    def wait(until: int | None = 5) -> str:
        return "waited"

    label = await labels(wait, {"until": None}, label="Wait until {until}")
    assert label == "Wait until None"


@pytest.mark.parametrize(
    ("label", "arguments"),
    [
        ("{limit:d} of {query}", {"query": "tea", "limit": "many"}),  # wrong, and told
        ("{query:d}", {"query": "tea"}),
        ("{query.name}", {"query": "tea"}),
        ("{query[name]}", {"query": "tea"}),
        ("{limit[0]}", {"query": "tea"}),
        ("{query:{limit}.3q}", {"query": "tea"}),
        ("{query}, {limit}", {}),  # not even whole
    ],
)
async def test_a_label_that_cannot_be_filled_in_is_shown_as_it_is(label, arguments):
    assert await labels(search, arguments, label=label) == label


async def test_a_default_that_cannot_be_shown_does_no_harm():
    class Shy(dt.date):
        def __format__(self, spec):
            raise ZeroDivisionError

    def book(day: dt.date = Shy(2025, 1, 6)) -> str:  # noqa: B008 - what is tested
        return f"booked {day.year}"

    assert await labels(book, {}, label="Book {day}") == "Book {day}"


@pytest.mark.parametrize("label", [None, "", "{query}"])
async def test_without_a_label_the_name_is_shown(label):
    assert await labels(search, {"query": ""}, label=label) == "work"
