"""Runs the cells of pages as notebooks do: ``python -m tests.cells_of_pages``.

On the standard input are the pages, as JSON: for each its sources, in order. They
run in IPython while a loop runs, as in a kernel; only the process is the same for
all of them, since kernels take long to begin. The standard output ends with a line
of JSON: what was wrong with each page, or null.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import re
import sys
import tempfile

from IPython.core.error import UsageError
from IPython.core.interactiveshell import ExecutionResult, InteractiveShell

from notebook_agents import register_provider
from notebook_agents.errors import NotebookAgentsError
from notebook_agents.providers.base import ModelRequest
from notebook_agents.providers.scripted import PlayedProvider
from notebook_agents.testing import no_network

NEEDS = "# Needs "
"""How a cell begins that needs what is not here, and has to say so in these words."""
MISSING = re.compile(r"Missing API key|plot\.png|Unfinished runs.*: none|Nothing waits")


class StandIn(PlayedProvider):
    """Stands for the embedded model, and answers what every format can read."""

    name, model = "local", "stand-in"

    async def item(self, request: ModelRequest) -> str:
        """Answer the same to everything."""
        del request
        return '[{"region": "North", "sales": 1204.5}]'


async def fault_of_page(cells: list[str]) -> str | None:
    """Run cells until one of them does not do what it should.

    Returns
    -------
    str or None
        What was wrong.
    """
    shell = InteractiveShell.instance()
    try:
        for cell in cells:
            code = shell.transform_cell(cell)
            ended = await shell.run_cell_async(cell, transformed_cell=code)
            if fault := fault_of_cell(cell, ended):
                return f"{fault} in this cell:\n\n{cell}"
    finally:
        atexit.unregister(shell.atexit_operations)  # which collect garbage, for each
        InteractiveShell.clear_instance()
    return None


def fault_of_cell(cell: str, ended: ExecutionResult) -> str | None:
    """Say what was wrong with how a cell ended."""
    error = ended.error_before_exec or ended.error_in_exec
    if cell.startswith(NEEDS):
        is_said = isinstance(error, (NotebookAgentsError, UsageError))
        is_missing = is_said and MISSING.search(str(error))
        return None if is_missing else f"{error!r}, no word about what is missing,"
    return None if error is None else repr(error)


def main() -> None:
    """Run the pages on the standard input, each in a folder of its own."""
    register_provider("local", lambda _model, _settings: StandIn())
    faults = {}
    for name, cells in json.load(sys.stdin).items():
        with tempfile.TemporaryDirectory() as folder, no_network():
            os.chdir(folder)
            faults[name] = asyncio.run(fault_of_page(cells))  # noqa: TID251
            os.chdir("/")
    print(json.dumps(faults))  # noqa: T201


if __name__ == "__main__":
    main()
