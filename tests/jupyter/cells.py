"""Cells run in a real kernel, with and without a person to answer."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import nbclient
import nbformat

from tests.jupyter.front_end import FrontEnd, front_end_of, running_kernel

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


NO_CARDS = """
import notebook_agents.jupyter.waiting_calls as asking
asking.READY_SECONDS = asking.LATE_SECONDS = 0.1
"""
"""No card will say that it is on screen, so nothing need wait for one."""


@contextlib.contextmanager
def attended_kernel() -> Iterator[FrontEnd]:
    """Start a kernel with a person at a front end that shows no widgets."""
    with running_kernel() as manager, front_end_of(manager) as front_end:
        assert front_end.run(SETUP + NO_CARDS).status == "ok"
        yield front_end
