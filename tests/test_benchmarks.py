"""The benchmarks run, whatever the clock says."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

from tests.providers.wire import answer, wire_server

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@pytest.fixture
def adapter(monkeypatch):
    """Load the adapter as the benchmark of agent kits does, from a folder of its own."""
    common = types.ModuleType("adapters.common")
    common.SYSTEM, common.add = "You are a helper.", add
    common.pairs = lambda n: ((f"Question {i}", f"Answer {i}") for i in range(n // 2))
    monkeypatch.setitem(sys.modules, "adapters", types.ModuleType("adapters"))
    monkeypatch.setitem(sys.modules, "adapters.common", common)
    path = BENCHMARKS / "notebook_agents_kit.py"
    spec = importlib.util.spec_from_file_location("adapters.notebook_agents_kit", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def service():
    with wire_server() as running:
        yield running


@pytest.mark.timeout(180)  # a dozen interpreters, that compile everything once
def test_the_times_from_import_to_first_answer_are_told():
    environment = {**os.environ, "PYTHONPATH": str(BENCHMARKS.parent)}
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / "import_time.py"), "1"],
        capture_output=True,
        text=True,
        check=False,
        timeout=170,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    assert "ready to chat is" in done.stdout
    assert "first answer is" in done.stdout


async def test_the_adapter_answers_and_streams(adapter, service):
    service.say(answer("42"), answer("42"))
    agent = adapter.make_agent(service.url, "m")
    assert await adapter.run_once(agent, "Hi") == "42"
    assert [text async for text in adapter.stream(agent, "Hi")] == ["42"]


async def test_the_adapter_runs_tools_on_a_client_of_all_agents(adapter, service):
    service.say("chat/tool_call", answer("42"))
    client = adapter.make_client(service.url, "m")
    agent = adapter.make_agent(service.url, "m", tools=True, client=client)
    assert await adapter.run_tools(agent, "Add") == "42"


async def test_the_adapter_goes_on_with_a_stored_conversation(adapter, service):
    service.say(answer("42"))
    agent = adapter.make_agent(service.url, "m")
    stored = adapter.history(agent, 10)
    assert await adapter.turn(agent, stored, "And?") == "42"
    assert len(service.requests[0].body["messages"]) == 12


def test_the_adapter_serves(adapter, service):
    pytest.importorskip("fastapi")
    app, path, body = adapter.serve(service.url, "m")
    assert path in {route.path for route in app.routes}
    assert body == {"message": "hi"}
