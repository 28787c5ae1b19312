"""What the pages show runs as it is shown."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
SNIPPETS = sorted(DOCS.glob("snippets/**/*.py"))


@pytest.mark.parametrize("path", SNIPPETS, ids=lambda path: path.stem)
def test_a_snippet_runs(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a snippet may leave a file
    runpy.run_path(str(path))


@pytest.mark.parametrize("path", SNIPPETS, ids=lambda path: path.stem)
def test_a_snippet_is_shown_on_a_page(path):
    name = path.relative_to(DOCS / "snippets").as_posix()
    pages = [page.read_text("utf-8") for page in DOCS.glob("guides/*.md")]
    assert any(f"../snippets/{name}" in page for page in pages)
