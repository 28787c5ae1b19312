"""What the pages show runs as it is shown."""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", DOCS / "index.md", *sorted(DOCS.glob("guides/*.md"))]
SNIPPETS = sorted(DOCS.glob("snippets/**/*.py"))
FENCE = re.compile(r"^```(\S*) ?(.*?)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
MAGIC = re.compile(r"^(\w+ = )?%", re.MULTILINE)


def _is_a_script(path: Path) -> bool:
    """Tell whether a snippet runs outside of a notebook, where no file may await."""
    try:
        compile(path.read_bytes(), path, "exec")
    except SyntaxError:
        return False
    return True


SCRIPTS = [path for path in SNIPPETS if _is_a_script(path)]


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_snippet_runs_as_a_script(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a snippet may leave a file
    runpy.run_path(str(path))


@pytest.mark.parametrize("path", SNIPPETS, ids=lambda path: path.stem)
def test_a_snippet_is_shown_on_a_page(path):
    name = path.relative_to(DOCS / "snippets").as_posix()
    pages = [page.read_text("utf-8") for page in DOCS.glob("guides/*.md")]
    assert any(f"../snippets/{name}" in page for page in pages)


def _cells(page: Path) -> list[str]:
    """Give what a reader would paste into cells, in the order of the page."""
    cells = []
    for kind, rest, body in FENCE.findall(page.read_text("utf-8")):
        if kind == "{literalinclude}":
            cells.append((page.parent / rest).read_text("utf-8"))
        elif kind == "python" or MAGIC.search(body):
            cells.append(body)
    # Nothing is opened to others, and no port is taken that may be in use.
    return [
        cell.replace('"0.0.0.0"', '"127.0.0.1"').replace("port=8000", "port=0")
        for cell in cells
    ]


@pytest.fixture(scope="module")
def faults() -> dict[str, str | None]:
    """Run the cells of all pages, and tell what was wrong with each page."""
    ended = subprocess.run(
        [sys.executable, "-m", "tests.cells_of_pages"],
        input=json.dumps({page.stem: _cells(page) for page in PAGES}),
        cwd=ROOT,
        env={
            **os.environ,
            "NOTEBOOK_AGENTS_MODEL": "local",
            "AZURE_OPENAI_API_KEY": "x",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return json.loads(ended.stdout.splitlines()[-1])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_cells_of_a_page_run_one_after_the_other_in_a_notebook(page, faults):
    assert faults[page.stem] is None, faults[page.stem]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_cell_of_a_page_prints_a_token_into_the_notebook(page):
    assert not re.search(r"print\(.*\.token\b", "".join(_cells(page)))
