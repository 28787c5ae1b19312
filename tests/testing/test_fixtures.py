"""The fixtures for pytest, in a project of somebody else."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

CONFTEST = 'pytest_plugins = ["notebook_agents.testing.fixtures"]\n'
START = """
import socket
from notebook_agents import Agent
from notebook_agents.providers import OpenAICompatibleProvider

def agent_on(server):
    provider = OpenAICompatibleProvider(server.url, "m", max_retries=0)
    return Agent(provider)

"""
RECORDS = """
def test_it(cassette, wire_server):
    wire_server.say("chat/answer")
    assert str(agent_on(wire_server).run_sync("Hi")) == "Hello."
"""


@pytest.fixture
def outcome_of(tmp_path):
    """Give a function that runs a test in a folder, the same one each time."""
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")

    def run(code: str) -> str:
        (tmp_path / "test_it.py").write_text(START + code)
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", tmp_path],
            cwd=tmp_path,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
            timeout=50,
        )
        return done.stdout

    return run


def test_a_service_is_served(outcome_of):
    code = """
def test_it(wire_server):
    wire_server.say("chat/answer")
    assert str(agent_on(wire_server).run_sync("Hi")) == "Hello."
    assert wire_server.requests[0].body["messages"][0]["content"] == "Hi"
"""
    assert "1 passed" in outcome_of(code)


def test_the_network_is_refused(outcome_of):
    code = """
def test_it(no_network):
    try:
        socket.create_connection(("192.0.2.1", 80))
    except RuntimeError:
        pass
"""
    assert "The network was tried" in outcome_of(code)


def test_a_test_records_once_and_replays_from_then_on(outcome_of, tmp_path):
    assert "1 passed" in outcome_of(RECORDS)
    [tape] = (tmp_path / "cassettes").iterdir()
    assert tape.name == "test_it.test_it.json"
    replays = RECORDS.replace('wire_server.say("chat/answer")', "pass")
    assert "1 passed" in outcome_of(replays)
    assert "did not come" in outcome_of("def test_it(cassette): pass")


def test_a_test_that_fails_records_nothing(outcome_of, tmp_path):
    assert "1 failed" in outcome_of(RECORDS + "    assert False\n")
    assert not (tmp_path / "cassettes").exists()


def test_a_test_that_fails_is_told_once(outcome_of):
    outcome_of(RECORDS)
    said = outcome_of("def test_it(cassette): assert False")
    assert "1 failed" in said
    assert "error" not in said


def test_nothing_else_here_needs_pytest():
    code = (
        "import sys; sys.modules['pytest'] = None;"
        "from notebook_agents import testing;"
        "[getattr(testing, name) for name in testing.__all__]"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, timeout=50)
    assert done.returncode == 0


def test_looking_at_the_package_loads_none_of_its_parts():
    code = (
        "import sys; import notebook_agents.testing;"
        "print([name for name in sys.modules if name.startswith('notebook_agents.')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        timeout=50,
    )
    parts = {"_lazy", "_version", "testing"}
    assert set(eval(done.stdout)) == {f"notebook_agents.{each}" for each in parts}  # noqa: S307
