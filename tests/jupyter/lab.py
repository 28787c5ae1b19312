"""A real JupyterLab in a real browser, as a person would use it."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import nbformat
from playwright.sync_api import Browser, Locator, Page, sync_playwright

CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# So high that a card below a few cells is in sight, where it takes the focus.
VIEWPORT = {"width": 1100, "height": 1400}
START_SECONDS = 60
TRIES = 5


class Lab:
    """One running JupyterLab server and one browser."""

    def __init__(self, url: str, folder: Path, browser: Browser) -> None:
        self.url = url
        self.folder = folder
        self._browser = browser

    @contextlib.contextmanager
    def notebook(
        self, name: str, *cells: str, kernel: str = "python3", page_of: str = "doc/tree"
    ) -> Iterator[Notebook]:
        """Open a new notebook with these cells in a page of its own.

        The page is one of JupyterLab, or of Notebook 7 (``notebooks``).
        """
        path = self.folder / f"{name}.ipynb"
        document = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(cell) for cell in cells],
            metadata={"kernelspec": {"name": kernel, "display_name": kernel}},
        )
        nbformat.write(document, path)
        self._start_kernel(path, kernel)
        page = self._browser.new_page(viewport=VIEWPORT)
        page.set_default_timeout(20_000)
        try:
            # Without the reset, the last page's notebook would be opened as well.
            page.goto(f"{self.url}/{page_of}/{path.name}?reset", timeout=60_000)
            notebook = Notebook(page, path)
            notebook.wait_for_kernel()
            yield notebook
        finally:
            page.close()
            self._end_sessions()

    @contextlib.contextmanager
    def second_page(self, notebook: Notebook) -> Iterator[Notebook]:
        """Open the same notebook in another window."""
        page = self._browser.new_page(viewport=VIEWPORT)
        page.set_default_timeout(20_000)
        try:
            page.goto(notebook.page.url, timeout=60_000)
            yield Notebook(page, notebook.path)
        finally:
            page.close()

    def _start_kernel(self, path: Path, kernel: str) -> None:
        # Before the page opens: it then attaches, and asks for no kernel.
        self._call(
            "POST",
            "sessions",
            {
                "path": path.name,
                "name": path.name,
                "type": "notebook",
                "kernel": {"name": kernel},
            },
        )

    def _end_sessions(self) -> None:
        for session in self._call("GET", "sessions"):
            self._call("DELETE", f"sessions/{session['id']}")

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        answer = httpx.request(method, f"{self.url}/api/{path}", json=body, timeout=20)
        answer.raise_for_status()
        return answer.json() if answer.content else None


class Notebook:
    """One open notebook."""

    def __init__(self, page: Page, path: Path) -> None:
        self.page = page
        self.path = path
        # On a busy machine JupyterLab now and then asks for the kernel first.
        page.add_locator_handler(
            page.locator(".jp-Dialog").filter(has_text="Select Kernel"), _accept
        )

    def wait_for_kernel(self) -> None:
        """Wait until the kernel is idle for the first time."""
        idle = ".jp-Notebook-ExecutionIndicator[data-status='idle']"
        self.cell(0).locator(".cm-content").click(timeout=60_000)
        self.page.locator(idle).first.wait_for(timeout=60_000)

    def cell(self, index: int) -> Locator:
        """Give one code cell."""
        return self.page.locator(".jp-Notebook .jp-CodeCell").nth(index)

    def start(self, index: int) -> None:
        """Run a cell and do not wait for it."""
        before = self.prompt(index)
        for _ in range(TRIES):  # JupyterLab drops a run before its kernel is ready
            self.cell(index).locator(".cm-content").first.click()
            self.page.keyboard.press("Control+Enter")
            with contextlib.suppress(AssertionError):
                wait_until(lambda: self.prompt(index) != before, 3, lambda: "")
                return

    def run(self, index: int, seconds: float = 30) -> str:
        """Run a cell, wait until it is done, and give what it shows."""
        self.start(index)
        self.wait_done(index, seconds)
        return self.shown(index)

    def prompt(self, index: int) -> str:
        """Give what stands in front of a cell, such as ``[*]:``."""
        return self.cell(index).locator(".jp-InputPrompt").first.inner_text().strip()

    def is_busy(self, index: int) -> bool:
        """Tell whether a cell runs."""
        return self.prompt(index).startswith("[*]")

    def has_run(self, index: int) -> bool:
        """Tell whether a cell has run to its end."""
        return self.prompt(index)[1:2].isdigit()

    def wait_done(self, index: int, seconds: float = 30) -> None:
        """Wait until a cell has run."""
        wait_until(lambda: self.has_run(index), seconds, self._state(index))

    def wait_shown(self, index: int, text: str, seconds: float = 20) -> None:
        """Wait until a cell shows a text."""
        wait_until(lambda: text in self.shown(index), seconds, self._state(index))

    def _state(self, index: int) -> Any:
        return lambda: f"cell {index} {self.prompt(index)} shows {self.shown(index)!r}"

    def shown(self, index: int) -> str:
        """Give all text that a cell's outputs show."""
        return "\n".join(self.cell(index).locator(".jp-OutputArea").all_inner_texts())

    def button(self, index: int, name: str) -> Locator:
        """Find a button in a cell's output."""
        return self.cell(index).get_by_role("button", name=name, exact=True)

    def interrupt(self) -> None:
        """Press Stop in the toolbar."""
        self.page.locator('[data-command="notebook:interrupt-kernel"]').first.click()

    def saved(self) -> dict[str, Any]:
        """Save the notebook and give the file."""
        before = self.path.stat().st_mtime_ns
        self.page.keyboard.press("Control+s")
        wait_until(
            lambda: self.path.stat().st_mtime_ns != before, 10, lambda: "not saved"
        )
        document: dict[str, Any] = {}

        def is_whole() -> bool:  # it is read while it is being written
            with contextlib.suppress(json.JSONDecodeError):
                document.update(json.loads(self.path.read_text()))
            return bool(document)

        wait_until(is_whole, 10, lambda: "not whole")
        return document

    def screenshot(self, name: str) -> None:
        """Keep a picture, where the environment names a folder for them."""
        folder = os.environ.get("SCREENSHOTS")
        if folder:
            self.page.screenshot(path=Path(folder) / f"{name}.png")


def _accept(dialog: Locator) -> None:
    dialog.locator("button.jp-mod-accept").click()


def wait_until(condition: Any, seconds: float, state: Any) -> None:
    """Look about every 30 ms until a condition holds."""
    pause = threading.Event()
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not within {seconds} s: {state()}"
        pause.wait(0.03)


@contextlib.contextmanager
def running_lab(folder: Path, chromium: str) -> Iterator[Lab]:
    """Start JupyterLab and a browser; stop both at the end."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    with (folder / "server.log").open("w") as log:
        server = subprocess.Popen(
            _command(port), cwd=folder, env=_environment(folder), stdout=log, stderr=log
        )
        try:
            wait_until(lambda: _answers(url), START_SECONDS, lambda: _log(folder))
            with sync_playwright() as play:
                browser = play.chromium.launch(
                    executable_path=chromium, headless=True, args=CHROMIUM_FLAGS
                )
                try:
                    yield Lab(url, folder, browser)
                finally:
                    browser.close()
        finally:
            server.terminate()
            server.wait(20)


def _command(port: int) -> list[str]:
    return [
        sys.executable,
        "-m",
        "jupyter",
        "lab",
        "--no-browser",
        "--allow-root",
        "--ip=127.0.0.1",
        f"--port={port}",
        "--IdentityProvider.token=",
        "--ServerApp.disable_check_xsrf=True",
        "--LabApp.news_url=None",
    ]


def _environment(folder: Path) -> dict[str, str]:
    """Give the server a home of its own, without questions about news."""
    settings = folder / ".settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True, exist_ok=True)
    (settings / "notification.jupyterlab-settings").write_text('{"fetchNews": "false"}')
    return {
        **os.environ,
        "JUPYTERLAB_SETTINGS_DIR": str(folder / ".settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(folder / ".workspaces"),
        "JUPYTER_CONFIG_DIR": str(folder / ".config"),
    }


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/api", timeout=1).is_success
    except httpx.HTTPError:
        return False


def _log(folder: Path) -> str:
    return (folder / "server.log").read_text()[-2000:]
