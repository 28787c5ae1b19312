"""Fixtures for tests in a notebook."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.jupyter.lab import Lab, running_lab


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory, chromium: str) -> Iterator[Lab]:
    """Give one JupyterLab and one browser for all tests."""
    folder: Path = tmp_path_factory.mktemp("lab")
    with running_lab(folder, chromium) as running:
        yield running
