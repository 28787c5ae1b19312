"""Takes the pictures of cells again: ``python -m docs.images.take`` in the root.

Needs the ``dev`` environment, a Chromium, and the weights of the embedded model
(``notebook-agents models pull``). Ends what it started.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from playwright.sync_api import expect

from tests.conftest import find_chromium
from tests.jupyter.lab import Lab, Notebook, running_lab

HERE = Path(__file__).parent
EDGE = 10  # pixels around the cells
WIDTH = 840  # pixels of the page

ONE = (
    '''%load_ext notebook_agents
from notebook_agents import Agent, tool

sales = {"North": 1204.5, "South": 987.0}

@tool
def sales_of(region: str) -> float:
    """Look up the sales of a region, North or South."""
    return sales[region]

@tool(approval=True, risk="write")
def delete_region(region: str) -> str:
    """Delete a region, North or South, from the sales table."""
    return f"deleted {sales.pop(region)}"

analyst = Agent("local", [sales_of], name="analyst", temperature=0)
cleaner = Agent("local", [delete_region], name="cleaner", temperature=0)
await analyst.run("What are the sales of the South?")  # the weights are loaded
analyst.reset_memory()
print("ready")''',
    "%%agent analyst\nWhat are the sales of the North?",
    "%%agent cleaner\nDelete the South from the sales.",
)
SEVERAL = (
    '''%load_ext notebook_agents
from notebook_agents import Agent, ScriptedProvider, call, tool

@tool(approval=True, risk="write")
def delete_rows(table: str, where: str) -> str:
    """Delete rows from a table of this notebook."""
    return "deleted"

@tool(approval=True, risk="network", thread=True)
def send_mail(to: str, text: str) -> str:
    """Send a mail to a colleague."""
    return "sent"

@tool(approval=True, risk="money")
def pay(amount: float, to: str) -> str:
    """Pay an invoice."""
    return "paid"

calls = [
    call("delete_rows", table="sales", where="region = 'South'"),
    call("send_mail", to="ada@example.org", text="The South is gone.\\nA copy is kept."),
    call("pay", amount=119.0, to="Data Cleaners Ltd"),
]
tools = [delete_rows, send_mail, pay]
cleaner = Agent(ScriptedProvider([calls, "Done."]), tools, name="cleaner")
print("ready")''',
    "%%agent cleaner\nTidy up after the South.",
)


def take(notebook: Notebook, name: str, first: int, last: int) -> None:
    """Keep a picture of some cells that follow each other."""
    top = notebook.cell(first).bounding_box()
    end = notebook.cell(last).locator(".nba-card").bounding_box()
    assert top is not None
    assert end is not None
    height = end["y"] + end["height"] - top["y"] + EDGE
    area = {"x": top["x"], "y": top["y"], "width": top["width"], "height": height}
    notebook.page.screenshot(path=HERE / f"{name}.png", clip=area)  # type: ignore[arg-type]


def begin(notebook: Notebook) -> None:
    """Run the first cell and take it off the page."""
    notebook.page.set_viewport_size({"width": WIDTH, "height": 1300})
    notebook.run(0, 120)
    notebook.wait_shown(0, "ready", 60)
    notebook.cell(0).evaluate("cell => { cell.style.display = 'none'; }")


def wait_for_card(notebook: Notebook, cell: int) -> None:
    """Wait until a card asks, and counts the time."""
    notebook.start(cell)
    expect(notebook.cell(cell).get_by_role("timer")).to_contain_text(
        "left", timeout=60_000
    )


def take_all(lab: Lab) -> None:
    """Take every picture."""
    with lab.notebook("one", *ONE) as notebook:
        begin(notebook)
        notebook.run(1, 60)
        wait_for_card(notebook, 2)
        take(notebook, "cell", 1, 2)
        notebook.button(2, "Deny").click()
        notebook.wait_done(2, 60)
    with lab.notebook("several", *SEVERAL) as notebook:
        begin(notebook)
        wait_for_card(notebook, 1)
        card = notebook.cell(1).locator(".nba-call")
        card.nth(1).get_by_role("button", name="Approve", exact=True).click()
        expect(card.nth(1)).to_contain_text("Approved by you")
        expect(notebook.cell(1)).to_contain_text("· done")
        take(notebook, "several", 1, 1)
        notebook.button(1, "Stop run").click()
        notebook.wait_done(1)


if __name__ == "__main__":
    with (
        tempfile.TemporaryDirectory() as folder,
        running_lab(Path(folder), find_chromium() or "") as lab,
    ):
        take_all(lab)
