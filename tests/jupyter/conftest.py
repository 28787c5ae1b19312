"""Fixtures for tests in a notebook."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.jupyter.kernels import install_older_kernels
from tests.jupyter.lab import Lab, running_lab


@pytest.fixture(scope="session")
def jupyter_path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give the folder in which Jupyter looks for more kernels."""
    folder = tmp_path_factory.mktemp("jupyter")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_PATH", str(folder))
        yield folder


@pytest.fixture(scope="session")
def older_kernels(jupyter_path: Path) -> None:
    """Install every kernel but the newest."""
    install_older_kernels(jupyter_path)


@pytest.fixture(scope="session")
def lab(
    tmp_path_factory: pytest.TempPathFactory, chromium: str, jupyter_path: Path
) -> Iterator[Lab]:
    """Give one JupyterLab and one browser for all tests."""
    folder: Path = tmp_path_factory.mktemp("lab")
    with running_lab(folder, chromium) as running:
        yield running
