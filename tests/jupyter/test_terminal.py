"""Questions in terminal IPython, where ``input()`` reads from a real terminal."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

pty = pytest.importorskip("pty", reason="there are no terminals of this kind")

pytestmark = pytest.mark.notebook

SETUP = """\
from notebook_agents import Agent, ScriptedProvider, call, tool
delete = tool(approval=True, name="delete")(lambda n: f"deleted {n}")
ask = lambda **o: Agent(ScriptedProvider([call("delete", n=1), "."]), [delete], **o)
told = lambda result: print("TOLD", result.tool_calls[0]["content"])
"""
WAYS = {
    "run_sync": "told(ask({}).run_sync('x'))",
    "await": "told(await ask({}).run('x'))",
}


class Terminal:
    """IPython in a terminal, and what stands there."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._text = ""

    def type(self, line: str) -> None:
        """Type a line and press Enter."""
        os.write(self._file, f"{line}\n".encode())

    def wait_for(self, text: str, seconds: float = 20) -> str:
        """Wait for a text to stand there; give what stands behind it."""
        end = time.monotonic() + seconds
        while text not in self._text:
            assert time.monotonic() < end, f"no {text!r} in {self._text!r}"
            if select.select([self._file], [], [], 0.1)[0]:
                self._text += os.read(self._file, 4096).decode(errors="replace")
        self._text = self._text.partition(text)[2]
        return self._text


@pytest.fixture(scope="module")
def terminal() -> Iterator[Terminal]:
    """Open a terminal with IPython in it."""
    ours, its = pty.openpty()
    options = ["--simple-prompt", "--no-banner", "--colors=NoColor"]
    ipython = subprocess.Popen(
        [sys.executable, "-m", "IPython", *options],
        stdin=its,
        stdout=its,
        stderr=its,
        start_new_session=True,
    )
    try:
        terminal = Terminal(ours)
        for number, line in enumerate(SETUP.splitlines(), 1):
            terminal.wait_for(f"In [{number}]:")
            terminal.type(line)
        yield terminal
    finally:
        ipython.kill()
        ipython.wait(10)
        os.close(ours)
        os.close(its)


@pytest.mark.parametrize("way", WAYS)
def test_a_question_is_answered_by_typing(terminal, way):
    terminal.type(WAYS[way].format(""))
    terminal.wait_for("[q]uit the run: ")
    terminal.type("y")
    terminal.wait_for("TOLD deleted 1")


@pytest.mark.parametrize("way", WAYS)
def test_a_question_that_nobody_answers_gives_the_prompt_back(terminal, way):
    """Only a real signal ends a read from a terminal."""
    terminal.type(WAYS[way].format("approval_timeout=0.5"))
    terminal.wait_for("[q]uit the run: ")
    terminal.wait_for("TOLD Denied: nobody answered", seconds=5)
    terminal.type("print(6 * 7)")
    terminal.wait_for("42", seconds=5)
