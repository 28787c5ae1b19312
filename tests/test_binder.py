"""The Binder image is built from files that agree with the package."""

from __future__ import annotations

import os
import re
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]


def _extras_in(text: str) -> set[str]:
    return {
        extra.strip()
        for group in re.findall(r"\[([\w, -]+)\]", text)
        for extra in group.split(",")
    }


def test_the_python_of_the_image_is_one_that_the_package_takes():
    runtime = (ROOT / "binder" / "runtime.txt").read_text("utf-8").strip()
    assert SpecifierSet(PROJECT["requires-python"]).contains(
        runtime.removeprefix("python-")
    )


def test_every_extra_that_the_image_installs_exists():
    text = (ROOT / "binder" / "requirements.txt").read_text("utf-8")
    assert _extras_in(text)
    assert _extras_in(text) <= set(EXTRAS)


def test_post_build_can_be_executed():
    script = ROOT / "binder" / "postBuild"
    assert script.read_text("utf-8").startswith("#!")
    assert sys.platform == "win32" or os.access(script, os.X_OK)


def test_the_extra_all_is_all_the_others():
    (only,) = map(Requirement, EXTRAS["all"])
    assert only.name == PROJECT["name"]
    assert only.extras == set(EXTRAS) - {"all"}
