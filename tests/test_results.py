"""A result is its answer, a mapping, and the whole story."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import FrozenInstanceError

import pytest

from notebook_agents import Agent, AgentResult, ScriptedProvider, call, event_from_dict
from notebook_agents.results import mark_displayed


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@pytest.fixture
def result():
    script = [call("add", a=1, b=2), "It is **three**."]
    return Agent(ScriptedProvider(script), [add]).run_sync("1 + 2?")


def test_a_result_reads_as_its_answer(result):
    """Acceptance check 3."""
    assert str(result) == f"{result}" == result["answer"] == "It is **three**."


def test_a_result_is_a_mapping_of_its_fields(result):
    """Acceptance check 3."""
    assert isinstance(result, Mapping)
    assert set(dict(result)) >= {
        "answer",
        "messages",
        "context_tokens",
        "prompt_tokens",
        "completion_tokens",
        "reasoning_tokens",
    }
    assert all(result[name] is getattr(result, name) for name in result)
    assert len(result) == len(dict(result))


@pytest.mark.parametrize("key", ["nothing", "_looks", "summary", 3])
def test_what_is_no_field_is_no_key(result, key):
    assert key not in result
    with pytest.raises(KeyError):
        result[key]


def test_a_result_cannot_be_changed(result):
    with pytest.raises(FrozenInstanceError):
        result.answer = "four"


def test_a_result_can_be_in_a_set(result):
    assert result in {result}
    assert result != AgentResult(answer="It is **three**.")


def test_a_result_says_in_a_line_what_it_took(result):
    assert result.summary().startswith("stop, 2 steps, 1 tool call, ")
    assert repr(result) == f"<AgentResult: {result.summary()}>"


def test_the_calls_are_listed(result):
    [entry] = result.tool_calls
    assert (entry["tool"], entry["args"]) == ("add", {"a": 1, "b": 2})
    assert (entry["content"], entry["failed"]) == ("3", False)


def test_a_result_is_json(result):
    data = json.loads(json.dumps(result.to_dict()))
    assert data["answer"] == result.answer
    assert tuple(map(event_from_dict, data["events"])) == result.events


def test_a_notebook_shows_markdown(result):
    assert result._repr_mimebundle_() == {
        "text/plain": result.answer,
        "text/markdown": result.answer,
    }


def test_what_a_notebook_shows_runs_and_fetches_nothing():
    text = "$5 or $6 <script>x</script> ![a](http://localhost/b.png)"
    bundle = Agent(ScriptedProvider([text])).run_sync("hi")._repr_mimebundle_()
    assert bundle["text/plain"] == text
    shown = bundle["text/markdown"]
    assert "<script" not in shown
    assert "![" not in shown
    assert "[a](http://localhost/b.png)" in shown
    assert "$" not in shown


def test_a_cell_that_streamed_the_answer_does_not_show_it_twice(result):
    """Design, section 17."""
    mark_displayed(result)
    assert result._ipython_display_() is None
    with pytest.raises(NotImplementedError):  # on to the MIME bundle
        result._ipython_display_()
    assert result._repr_mimebundle_()["text/plain"] == result.answer


def test_each_result_has_identifiers_of_its_own():
    agent = Agent(ScriptedProvider(["a", "b"]))
    one, two = agent.run_sync("1"), agent.run_sync("2")
    for name in ("run_id", "trace_id", "message_id"):
        assert getattr(one, name) != getattr(two, name)
    assert one.conversation_id == two.conversation_id
