"""``import notebook_agents`` is light, needs no extra and keeps its promises."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys

import pytest

import notebook_agents

HEAVY = [
    "IPython",
    "anywidget",
    "docstring_parser",
    "dotenv",
    "fastapi",
    "httpx",
    "ipywidgets",
    "pandas",
    "platformdirs",
    "pydantic",
    "redis",
    "uvicorn",
    "xllamacpp",
]
MOST_NEW_MODULES = 60
# What only some runs need: those with tools, with a budget, in a kept conversation.
SOME_RUNS = [
    "notebook_agents.calls",
    "notebook_agents.database",
    "notebook_agents.providers.fallback",
    "notebook_agents.spending",
    "notebook_agents.structured",
    "notebook_agents.tools.definition",
    "sqlite3",
]
EVERY_RUN = [
    "notebook_agents.budget",
    "notebook_agents.journal",
    "notebook_agents.loop",
    "pydantic_core",
]
PACKAGES = [
    module.name
    for module in pkgutil.iter_modules(
        notebook_agents.__path__, prefix="notebook_agents."
    )
    if module.ispkg
]


def _in_a_fresh_interpreter(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_import_loads_nothing_heavy():
    code = (
        "import sys; before = set(sys.modules); import notebook_agents;"
        "print(*set(sys.modules) - before)"
    )
    new = set(_in_a_fresh_interpreter(code).split())
    assert not new & set(HEAVY)
    assert len(new) < MOST_NEW_MODULES


def test_making_an_agent_loads_nothing_that_only_a_run_needs():
    code = (
        "import sys; from notebook_agents import Agent; Agent('openai:gpt-6-luna');"
        "print(*sys.modules)"
    )
    loaded = set(_in_a_fresh_interpreter(code).split())
    assert not loaded & {*HEAVY, *EVERY_RUN, *SOME_RUNS, "importlib.metadata"}


def test_a_plain_chat_loads_nothing_that_it_does_not_use():
    code = (
        "import sys; from notebook_agents import Agent, ScriptedProvider;"
        "Agent(ScriptedProvider(['Hi'])).run_sync('Hello'); print(*sys.modules)"
    )
    loaded = set(_in_a_fresh_interpreter(code).split())
    assert not loaded & {*HEAVY, *SOME_RUNS}


def test_the_import_needs_none_of_them():
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({HEAVY!r}));"
        "import notebook_agents; print(notebook_agents.__version__)"
    )
    assert _in_a_fresh_interpreter(code).strip() == notebook_agents.__version__


@pytest.mark.parametrize("name", notebook_agents.__all__)
def test_every_promised_name_is_there(name):
    assert getattr(notebook_agents, name) is not None
    assert name in dir(notebook_agents)


def test_the_promised_names_are_sorted_and_said_once():
    assert list(notebook_agents.__all__) == sorted(set(notebook_agents.__all__))


def test_a_name_that_is_not_promised_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        notebook_agents.no_such_name  # noqa: B018 - the access is the test


@pytest.mark.parametrize("name", PACKAGES)
def test_a_sub_package_has_what_it_promises(name):
    face = importlib.import_module(name)
    assert all(hasattr(face, promised) for promised in face.__all__)
