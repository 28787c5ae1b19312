"""The code keeps the shape that lets a stranger read it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from notebook_agents import events

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "notebook_agents"
# Templates are text that a command copies, not modules of the package.
MODULES = sorted(p for p in PACKAGE.rglob("*.py") if "templates" not in p.parts)
TESTS = sorted((ROOT / "tests").rglob("*.py"))
LONGEST_MODULE = 400  # lines: what fits in one sitting
LONGEST_LOOP = 200  # lines: the loop is read as prose


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_a_module_fits_in_one_sitting(path):
    most = LONGEST_LOOP if path == PACKAGE / "loop.py" else LONGEST_MODULE
    lines = len(path.read_text("utf-8").splitlines())
    assert lines <= most


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_a_module_starts_by_saying_what_lives_there(path):
    assert ast.get_docstring(ast.parse(path.read_text("utf-8")))


def test_every_folder_of_modules_is_a_package():
    folders = {path.parent for path in MODULES}
    assert not [_name(f) for f in folders if not (f / "__init__.py").exists()]


def _names_of_the_face(path: Path) -> set[str]:
    """Find what a module imports from ``notebook_agents`` itself, not a submodule."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "notebook_agents":
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {a.name for a in node.names if a.name == "notebook_agents"}
    return {
        name
        for name in names
        if not (PACKAGE / name).is_dir() and not (PACKAGE / f"{name}.py").exists()
    }


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_no_module_goes_round_the_layers_through_the_public_face(path):
    assert not _names_of_the_face(path)


def test_how_it_works_names_only_modules_that_exist():
    text = (ROOT / "docs" / "how-it-works.md").read_text("utf-8")
    named = set(re.findall(r"`(notebook_agents(?:\.\w+)+)`", text))
    real = {".".join(p.relative_to(ROOT).with_suffix("").parts) for p in MODULES}
    real |= {name.removesuffix(".__init__") for name in real}
    assert named
    assert named - real == set()


def test_how_it_works_tells_every_kind_of_event():
    text = (ROOT / "docs" / "how-it-works.md").read_text("utf-8")
    told = set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE))
    kinds = {
        value.event
        for value in vars(events).values()
        if isinstance(value, type) and issubclass(value, events.Event) and value.event
    }
    assert told == kinds


@pytest.mark.parametrize("path", TESTS, ids=_name)
def test_no_test_sleeps(path):
    calls = [
        n
        for n in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(n, ast.Call)
    ]
    assert "time.sleep" not in {ast.unparse(call.func) for call in calls}
