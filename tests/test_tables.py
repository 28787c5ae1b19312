"""A run as a table."""

from __future__ import annotations

import pandas as pd

from notebook_agents import Agent, ScriptedProvider, call, tool
from notebook_agents.tables import COLUMNS


@tool(approval=True)
def rm(path: str) -> str:
    """Remove a file."""
    return f"removed {path}"


async def framed(*script, **options):
    result = await Agent(ScriptedProvider(script), [rm]).run("Go", **options)
    return result.to_frame()


async def test_a_run_has_a_row_for_each_event_but_none_for_a_piece_of_text():
    frame = await framed(call("rm", path="a"), "Gone.", policy="allow")
    kinds = ["task", "action", "approval_result", "observation", "answer"]
    assert frame["event"].tolist() == kinds
    assert frame["text"].dropna().tolist() == ["Go", "removed a", "Gone."]
    assert frame["args"].dropna().tolist() == [{"path": "a"}] * 2
    assert frame["status"].dropna().tolist() == ["allow", "done", "stop"]
    assert frame["by"].dropna().tolist() == ["policy"]


async def test_times_and_tokens_can_be_counted_with():
    frame = await framed("Hi there.")
    assert isinstance(frame["time"].dtype, pd.DatetimeTZDtype)
    assert frame["completion_tokens"].max() == 2
    assert frame["time"].is_monotonic_increasing


async def test_a_denial_has_its_reason():
    frame = await framed(call("rm", path="a"), "Left.", policy="deny")
    denied = frame[frame["event"] == "approval_result"].iloc[0]
    assert (denied["status"], denied["text"]) == ("deny", "the policy is to deny")


async def test_the_columns_are_always_the_same():
    frame = await framed("Hi.")
    assert tuple(frame.columns) == COLUMNS
