"""Cells run in a real kernel, with and without a person to answer."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import nbclient
import nbformat
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager, start_new_kernel

SETUP = '''
%load_ext notebook_agents
import asyncio, threading, time
from notebook_agents import Agent, ScriptedProvider, call, tool

log = []

@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    log.append(threading.current_thread().name)
    return a + b

@tool(approval=True)
def delete(n: int) -> str:
    """Delete rows."""
    log.append(f"deleted {n}")
    return f"deleted {n}"

def bot(*script, **options):
    return Agent(ScriptedProvider(script), [add, delete], name="bot", **options)
'''


def executed(*cells: str, allow_errors: bool = False) -> nbformat.NotebookNode:
    """Run cells as nbclient and nbconvert do: with nobody there."""
    document = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell) for cell in (SETUP, *cells)]
    )
    client = nbclient.NotebookClient(
        document, timeout=40, kernel_name="python3", allow_errors=allow_errors
    )
    client.execute()
    return document


def text_of(cell: nbformat.NotebookNode) -> str:
    """Give everything a cell shows, as plain text."""
    return "\n".join(_text(output) for output in cell.outputs)


def _text(output: Any) -> str:
    if output["output_type"] == "stream":
        return str(output["text"])
    if output["output_type"] == "error":
        return "\n".join(output["traceback"])
    return str(output["data"].get("text/plain", ""))


@dataclass
class Reply:
    """What a cell gave."""

    status: str
    texts: list[str] = field(default_factory=list)
    prompts: list[str] = field(default_factory=list)
    next_inputs: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join(self.texts)


class Client:
    """A front end that shows no widgets and answers input boxes."""

    def __init__(self, client: BlockingKernelClient, manager: KernelManager) -> None:
        self._client = client
        self._manager = manager

    def is_alive(self) -> bool:
        """Tell whether the kernel's process is there."""
        return bool(self._manager.is_alive())

    def run(
        self, code: str, *answers: str | None, stop_at: str = "", cell: str = ""
    ) -> Reply:
        """Run a cell; each input box gets the next answer.

        The cell is interrupted once it shows ``stop_at``; ``cell`` is the
        identifier that a notebook would send along.
        """
        left = list(answers)
        reply = Reply("")

        def output(message: dict[str, Any]) -> None:
            content = message["content"]
            if message["msg_type"] == "stream":
                reply.texts.append(content["text"])
            elif message["msg_type"] == "error":
                reply.texts.append("\n".join(content["traceback"]))
            elif "data" in content:
                reply.texts.append(content["data"].get("text/plain", ""))
            if stop_at and stop_at in (reply.texts or [""])[-1]:
                self._manager.interrupt_kernel()

        def answer(message: dict[str, Any]) -> None:
            reply.prompts.append(message["content"]["prompt"])
            text = left.pop(0)
            if text is not None:  # else the person says nothing
                self._client.input(text)

        self._client.session.metadata = {"cellId": cell} if cell else {}
        done = self._client.execute_interactive(
            code,
            allow_stdin=True,
            output_hook=output,
            stdin_hook=answer,
            timeout=40,
        )
        reply.status = done["content"]["status"]
        for payload in done["content"].get("payload", ()):
            if payload["source"] == "set_next_input":
                reply.next_inputs.append(payload["text"])
        return reply


@contextlib.contextmanager
def attended_kernel() -> Iterator[Client]:
    """Start a kernel whose front end claims that a person is there."""
    manager, client = start_new_kernel(kernel_name="python3")
    try:
        front_end = Client(client, manager)
        assert front_end.run(SETUP).status == "ok"
        yield front_end
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
