"""What a guard is, and what is no guard."""

from __future__ import annotations

import functools
import subprocess
import sys
import textwrap

import pytest

from notebook_agents import (
    Agent,
    AgentConfigurationError,
    Guard,
    ScriptedProvider,
    guardrails,
)


def calm(text: str) -> str:
    return text.capitalize()


class Calm:
    """A guard that is no function."""

    def __call__(self, text: str) -> str:
        return text.capitalize()


def test_a_guard_does_what_its_function_does():
    guard = Guard(calm)
    assert guard("HELLO") == "Hello"
    assert (guard.name, guard.scope, guard.timeout) == ("calm", "both", 30.0)


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (calm, "calm"),
        (functools.partial(functools.partial(calm)), "calm"),
        (Calm(), "Calm"),
        (lambda text: text, "guard"),
        (str.upper, "upper"),
        (Guard(calm, name="mine"), "mine"),
    ],
)
def test_a_guard_has_the_name_of_its_function(function, name):
    assert Guard(function).name == name


def test_a_guard_of_a_guard_keeps_what_is_not_said_anew():
    inner = Guard(calm, name="quiet", scope="input", timeout=2)
    outer = Guard(inner, scope="output")
    assert (outer.name, outer.scope, outer.timeout) == ("quiet", "output", 2.0)
    assert outer.function is calm


def test_a_function_may_carry_its_scope_itself():
    def mine(text: str) -> str:
        return text

    mine.scope = "output"
    assert Guard(mine).scope == "output"


def test_a_guard_says_what_it_is():
    assert repr(Guard(calm, scope="input")) == "<Guard 'calm' for input>"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"function": "calm"}, "A guard is a function of a text, not 'calm'"),
        ({"function": calm, "scope": "in"}, "input, output or both, not 'in'"),
        ({"function": calm, "timeout": 0}, "a number of seconds, not 0"),
        ({"function": calm, "timeout": True}, "a number of seconds, not True"),
        ({"function": calm, "timeout": float("nan")}, "not nan"),
    ],
)
def test_what_cannot_be_right_is_refused(arguments, said):
    with pytest.raises(AgentConfigurationError, match=said):
        Guard(**arguments)


@pytest.mark.parametrize("stage", ["input_guards", "output_guards", "tool_guards"])
@pytest.mark.parametrize("wrong", ["calm", 1, None, [1], ["calm"]])
def test_an_agent_takes_nothing_for_a_guard_that_is_none(stage, wrong):
    with pytest.raises(AgentConfigurationError, match=r"[Gg]uard"):
        Agent(ScriptedProvider([]), **{stage: wrong})


def test_an_agent_without_guards_loads_none_of_the_ready_made_ones():
    code = """
        import sys
        from notebook_agents import Agent, ScriptedProvider, guardrails

        Agent(ScriptedProvider(["x"])).run_sync("go")
        made = {"keywords", "pii", "personal_data", "judge", "definition", "service"}
        loaded = {name for name in made if f"notebook_agents.guardrails.{name}" in sys.modules}
        assert not loaded, loaded
        assert all(getattr(guardrails, name) for name in guardrails.__all__)
    """
    subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], check=True, timeout=30
    )


def test_there_is_nothing_else_in_the_package():
    with pytest.raises(AttributeError, match="no_such_name"):
        guardrails.no_such_name  # noqa: B018 - the access is the test
