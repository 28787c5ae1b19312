"""What outlives the process has one place, which only its owner can enter."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from notebook_agents.home import home_folder, make_private_folder


def test_the_environment_names_the_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("NOTEBOOK_AGENTS_HOME", str(tmp_path / "kept"))
    assert home_folder() == tmp_path / "kept"
    assert not home_folder().exists()


def test_a_tilde_and_a_relative_path_are_made_out(monkeypatch):
    monkeypatch.setenv("NOTEBOOK_AGENTS_HOME", "~/kept")
    assert home_folder() == Path.home() / "kept"
    monkeypatch.setenv("NOTEBOOK_AGENTS_HOME", "kept")
    assert home_folder() == Path.cwd() / "kept"


@pytest.mark.parametrize("blank", [None, "", "  "])
def test_without_it_the_system_says_where_data_belong(monkeypatch, blank):
    monkeypatch.delenv("NOTEBOOK_AGENTS_HOME")
    if blank is not None:
        monkeypatch.setenv("NOTEBOOK_AGENTS_HOME", blank)
    monkeypatch.setattr(
        "platformdirs.user_data_path", lambda name, **_: Path("/data", name)
    )
    assert home_folder() == Path("/data/notebook-agents")


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_only_its_owner_can_enter(tmp_path):
    folder = make_private_folder(tmp_path / "a" / "b")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_a_folder_that_is_there_keeps_its_mode(tmp_path):
    tmp_path.chmod(0o755)
    make_private_folder(tmp_path)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755
