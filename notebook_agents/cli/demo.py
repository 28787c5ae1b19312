"""``notebook-agents demo``: the main job, in a real kernel, in this terminal.

The cells are what a person would type into a notebook. They run in a kernel of
their own, and what they show is printed as it comes.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

from notebook_agents.cli.console import CellPrinter
from notebook_agents.errors import MissingExtraError, NotebookAgentsError

__all__ = ["add_command"]

KERNEL_SECONDS = 60
CELL_SECONDS = 180

SETUP = '''\
%load_ext notebook_agents
from notebook_agents import Agent, serve, tool

sales = {"North": 1204.5, "South": 830.0}

@tool
def sales_of(region: str) -> float:
    """Look up the sales of a region, North or South."""
    return sales[region]

@tool(approval=True, risk="write")
def delete_region(region: str) -> str:
    """Delete a region, North or South, from the sales table."""
    return f"deleted {sales.pop(region)} of {region}"

def must_call(name):
    return {"tool_choice": {"type": "function", "function": {"name": name}}}

writer = Agent("local", name="writer", max_tokens=120)
analyst = Agent("local", [sales_of], name="analyst",
                tool_calling=must_call("sales_of"))
cleaner = Agent("local", [delete_region], name="cleaner",
                tool_calling=must_call("delete_region"))'''

SERVED = """\
import httpx
server = serve(writer)
answer = httpx.post(
    f"{server.url}/chat",
    headers={"Authorization": f"Bearer {server.token}"},
    json={"message": "Name one use of a notebook."},
    timeout=120,
).json()
server.stop()
print("POST /chat answered:", answer["response"])"""

STEPS: tuple[tuple[str, str], ...] = (
    ("Two tools and three agents, all on the embedded model.", SETUP),
    (
        "An answer that streams in.",
        "%%agent writer\nIn two sentences, what is a Jupyter notebook?",
    ),
    (
        "A tool call. A grammar holds this small model: it must call `sales_of`, it\n"
        "takes the argument out of your message, and it must quote the result. The\n"
        "rest of the words are its own.",
        "%%agent analyst\nWhat are the sales of the North?",
    ),
    (
        "A tool that needs approval. Nobody can click here, so the policy says no.\n"
        "The call itself is forced by the grammar, as before.",
        "%%agent cleaner\nDelete the South from the sales.",
    ),
    (
        "The same with `-y allow`: the policy says yes.",
        "%%agent cleaner -y allow\nDelete the South from the sales.",
    ),
    ("The first agent as a web service, asked once.", SERVED),
)

AFTER = """
The embedded model, SmolLM2 with 135 million parameters, is for trying things
out without a key, not for answers to trust. Everything else works the same with
a model of your choice, such as Agent("ollama:llama3.2").

Next, in JupyterLab, where you approve with a click:  make lab
"""


def add_command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
) -> None:
    """Add ``demo`` to the command line."""
    parser = commands.add_parser(
        "demo", help="run an agent in a real kernel, on the embedded model"
    )
    parser.set_defaults(run=run)


def run(_: argparse.Namespace) -> int:
    """Run the cells and print what they show."""
    manager, client = _start_kernel()
    began = time.monotonic()
    try:
        for number, (what, cell) in enumerate(STEPS, 1):
            print(f"\n— {what}\n")
            CellPrinter(number).run(client, cell, timeout=CELL_SECONDS)
    except TimeoutError:
        message = f"A cell of the demo took longer than {CELL_SECONDS} s."
        raise NotebookAgentsError(message) from None
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    print(f"\nAll of this took {time.monotonic() - began:.0f} s.\n{AFTER}")
    return 0


def _start_kernel() -> tuple[Any, Any]:
    try:
        from jupyter_client.manager import start_new_kernel
    except ImportError:
        message = "The demo needs a Jupyter kernel. Run: pip install ipykernel"
        raise MissingExtraError(message) from None
    return start_new_kernel(
        startup_timeout=KERNEL_SECONDS,
        extra_arguments=["--log-level=ERROR"],  # a warning about TCP is no news here
    )
