"""Events are plain values that survive being sent."""

from __future__ import annotations

import json
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notebook_agents import events
from notebook_agents.events import ObservationEvent, Origin, TaskEvent, event_from_dict
from notebook_agents.messages import Usage

KINDS = sorted(
    (
        value
        for value in vars(events).values()
        if isinstance(value, type)
        and issubclass(value, events.Event)
        and value is not events.Event
    ),
    key=lambda kind: kind.__name__,
)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
numbers = st.integers(0, 10**9)
plain = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner),
    max_leaves=5,
)
BY_TYPE = {
    "str": texts,
    "int": numbers,
    "bool": st.booleans(),
    "float": st.floats(allow_nan=False, allow_infinity=False),
    "float | None": st.none() | st.floats(0, 1e9),
    "Mapping[str, Any]": st.dictionaries(texts, plain, max_size=3),
}
counts = st.builds(
    Usage,
    context_tokens=numbers,
    prompt_tokens=numbers,
    completion_tokens=numbers,
    reasoning_tokens=numbers,
)


def build(kind):
    """Make any event of a kind, its fields made by their types."""
    shared = {field.name for field in fields(events.Event)} | {"value"}
    own = {f.name: BY_TYPE[f.type] for f in fields(kind) if f.name not in shared}
    return st.builds(
        kind,
        origin=st.builds(Origin, texts, texts),
        seq=st.integers(1),
        ts=BY_TYPE["float"],
        step=numbers,
        usage=counts if kind.counts_tokens else st.just(Usage()),
        **own,
    )


any_event = st.one_of([build(kind) for kind in KINDS])


@given(any_event)
def test_an_event_comes_back_from_json_as_it_was(event):
    assert event_from_dict(json.loads(json.dumps(event.to_dict()))) == event


@given(any_event)
def test_an_event_comes_back_twice_as_it_was(event):
    once = event_from_dict(event.to_dict())
    assert once.to_dict() == event.to_dict()


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_the_common_keys(kind):
    data = kind(Origin("r", "a"), 1, 2.0, 3, Usage()).to_dict()
    assert list(data)[:6] == ["event", "run_id", "seq", "ts", "agent", "step"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_but_two_carries_the_token_counts(kind):
    """Requirement L22."""
    data = kind(Origin("r", "a"), 1, 2.0, 3, Usage(prompt_tokens=7)).to_dict()
    assert ("prompt_tokens" in data) is (kind.event not in {"task", "tool_error"})


def test_the_kinds_are_those_of_the_design():
    """Design, section 5."""
    assert {kind.event for kind in KINDS} == {
        "task",
        "token",
        "thought",
        "action",
        "progress",
        "waiting_for_approval",
        "approval_result",
        "observation",
        "tool_error",
        "guardrail",
        "retry",
        "answer",
        "error",
    }


def test_the_live_value_of_an_observation_stays_here():
    event = ObservationEvent(Origin("r", "a"), 1, 2.0, 3, Usage(), value=object())
    assert "value" not in event.to_dict()
    assert event_from_dict(event.to_dict()) == event


def test_an_event_cannot_be_changed():
    event = TaskEvent(Origin("r", "a"), 1, 2.0, 0, Usage(), prompt="hi")
    with pytest.raises(AttributeError):
        event.prompt = "other"


def test_keys_of_a_later_version_are_ignored():
    event = TaskEvent(Origin("r", "a"), 1, 2.0, 0, Usage(), prompt="hi")
    assert event_from_dict({**event.to_dict(), "colour": "red"}) == event


def test_an_unknown_kind_is_named():
    with pytest.raises(ValueError, match="'dance'"):
        event_from_dict({"event": "dance"})
