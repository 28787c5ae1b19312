"""The error tree is as it is drawn, and errors survive a process border."""

from __future__ import annotations

import inspect
import pickle
import re

import pytest

from notebook_agents import errors

CLASSES = sorted(
    {getattr(errors, name) for name in errors.__all__}, key=lambda cls: cls.__name__
)


def _drawn() -> list[tuple[str, str]]:
    """Read (class, parent) off the tree in the module's docstring."""
    pairs, path = [], []
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(r"    ([│├└─ ]*)(\w+(?:Error|Retry))\b", line)
        if match:
            depth = len(match[1]) // 4
            path[depth:] = [match[2]]
            pairs.append((match[2], path[depth - 1] if depth else "Exception"))
    return pairs


def _facts_of(cls: type) -> dict[str, str]:
    """Make a value for each keyword-only fact of a class and its bases."""
    inits = [base.__init__ for base in cls.__mro__ if "__init__" in vars(base)]
    return {
        name: f"the {name}"
        for init in inits
        if inspect.isfunction(init)
        for name, parameter in inspect.signature(init).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }


def test_the_drawn_tree_is_the_real_one():
    real = {(cls.__name__, cls.__bases__[0].__name__) for cls in CLASSES}
    assert set(_drawn()) == real


def test_no_class_is_drawn_twice():
    names = [name for name, _ in _drawn()]
    assert len(names) == len(set(names))


def test_every_error_of_the_module_is_exported():
    defined = {
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, BaseException)
    }
    assert defined == set(CLASSES)


@pytest.mark.parametrize("cls", CLASSES)
def test_an_error_survives_pickling_with_its_facts(cls):
    facts = _facts_of(cls)
    error = cls("It went wrong.", **facts)
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert type(again) is cls
    assert str(again) == str(error) == "It went wrong."
    assert vars(again) == vars(error) == facts


@pytest.mark.parametrize("cls", CLASSES)
def test_an_error_needs_nothing_but_a_message(cls):
    assert cls("It went wrong.").args == ("It went wrong.",)


@pytest.mark.parametrize("cls", CLASSES)
def test_a_notebook_shows_an_error_as_one_line(cls):
    lines = cls("It went wrong.")._render_traceback_()
    assert lines == [f"{cls.__name__}: It went wrong."]


@pytest.mark.parametrize(
    ("name", "builtin"),
    [
        ("AgentConfigurationError", ValueError),
        ("AgentProviderError", RuntimeError),
        ("GuardrailBlockedError", ValueError),
        ("MissingExtraError", ImportError),
        ("ProviderTimeoutError", TimeoutError),
        ("ServerStartError", RuntimeError),
        ("ToolTimeoutError", TimeoutError),
    ],
)
def test_a_built_in_except_clause_catches_it_too(name, builtin):
    assert issubclass(getattr(errors, name), builtin)


def test_the_old_name_of_the_provider_error_is_the_same_class():
    assert errors.AgentAPIProviderError is errors.AgentProviderError
