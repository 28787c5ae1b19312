"""Docstrings are true: examples run, parameters are those of the signature."""

from __future__ import annotations

import doctest
import importlib
import io
import pkgutil
import re
from pathlib import Path
from typing import is_typeddict

import pytest
from numpydoc.validate import validate

ROOT = Path(__file__).parents[1]
SOURCES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(
        ".__init__"
    ): path.read_text("utf-8")
    for path in sorted((ROOT / "notebook_agents").rglob("*.py"))
    if "templates" not in path.parts
}
WITH_EXAMPLES = [name for name, text in SOURCES.items() if ">>> " in text]
WITH_PARAMETERS = [
    name for name, text in SOURCES.items() if "Parameters\n    --------" in text
]


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_the_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # an example may leave a file
    report = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    for example in doctest.DocTestFinder().find(importlib.import_module(name)):
        runner.run(example, out=report.write)
    assert runner.failures == 0, report.getvalue()


def _is_private(name: str) -> bool:
    return any(part.startswith("_") for part in name.split("."))


def _mistakes(name: str) -> list[str]:
    if is_typeddict(pkgutil.resolve_name(name)):
        return []  # its keys are no parameters of a signature
    return [
        f"{name}: {text}"
        for code, text in validate(name)["errors"]
        if code in {"PR01", "PR02", "PR03"}
        and not all(map(_is_private, re.findall(r"'(\w+)'", text) or ["public"]))
    ]


@pytest.mark.parametrize("name", WITH_PARAMETERS)
def test_the_parameters_are_those_of_the_signature(name):
    finder = doctest.DocTestFinder(exclude_empty=False)
    told = [
        found.name
        for found in finder.find(importlib.import_module(name))
        if "Parameters\n" in found.docstring and not _is_private(found.name)
    ]
    assert [mistake for each in told for mistake in _mistakes(each)] == []
