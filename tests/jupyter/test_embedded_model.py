"""The whole way on a real model: prompt, tool, Approve, answer."""

from __future__ import annotations

import pytest

pytestmark = [
    pytest.mark.browser,
    pytest.mark.local_model,
    pytest.mark.timeout(180),
]

SETUP = '''
%load_ext notebook_agents
from notebook_agents import Agent, tool

sales = {"North": 1204.5, "South": 830.0}

@tool(approval=True, risk="write")
def delete_region(region: str) -> str:
    """Delete a region, North or South, from the sales table."""
    return f"deleted {sales.pop(region)} of {region}"

must_call = {"tool_choice": {"type": "function", "function": {"name": "delete_region"}}}
cleaner = Agent("local", [delete_region], name="cleaner", tool_calling=must_call)
writer = Agent("local", name="writer", max_tokens=400)
'''


def test_prompt_tool_approve_and_answer_on_the_embedded_model(lab, weights):
    """The call is forced by the grammar; its arguments and the answer are not."""
    setup = f"%env NOTEBOOK_AGENTS_LOCAL_MODEL={weights}\n{SETUP}"
    cells = (setup, "%%agent cleaner\nDelete the South from the sales.", "sales")
    with lab.notebook("embedded", *cells) as notebook:
        notebook.run(0)
        notebook.start(1)
        approve = notebook.button(1, "Approve")
        approve.wait_for(timeout=60_000)
        assert "South" in notebook.shown(1)
        approve.click()
        notebook.wait_done(1, 60)
        notebook.wait_shown(1, "Approved by you")
        notebook.wait_shown(1, "done")
        notebook.run(2)
        notebook.wait_shown(2, "{'North': 1204.5}")
        saved = notebook.saved()["cells"][1]["outputs"]
        answers = [
            output["data"]["text/markdown"]
            for output in saved
            if "text/markdown" in output.get("data", {})
        ]
        assert any(answers)


def test_stop_ends_a_streaming_answer_of_the_embedded_model(lab, weights):
    cells = (
        f"%env NOTEBOOK_AGENTS_LOCAL_MODEL={weights}\n{SETUP}",
        "%%agent writer\nWrite a long story about the sea, with many chapters.",
        "%%agent writer\nSay hello.",
    )
    with lab.notebook("embedded-stop", *cells) as notebook:
        notebook.run(0)
        notebook.start(1)
        notebook.wait_shown(1, "the", 60)
        assert notebook.is_busy(1)
        notebook.interrupt()
        notebook.wait_done(1, 5)
        notebook.wait_shown(1, "KeyboardInterrupt")
        notebook.run(2, 60)
        notebook.wait_shown(2, "done")
