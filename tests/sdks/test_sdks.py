"""The services' own SDKs read every well-formed scenario as it is meant.

So the scenarios are what the services really send, and not what our adapters
happen to read.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from notebook_agents.testing import Scenario, scenario, scenario_names
from notebook_agents.testing.wire import wire_server

pytestmark = [pytest.mark.sdk, pytest.mark.timeout(240)]

HERE = Path(__file__).parent
SDKS = ["openai==3.57.0", "anthropic==2.14.0", "google-genai==3.6.1"]
NEWER = {"unknown_event", "unknown_block", "unknown_delta"}
"""What an SDK passes over, but not when it has to check every field."""


@pytest.fixture(scope="module")
def python(tmp_path_factory) -> str:
    """Give the interpreter of an environment with the SDKs, which are nowhere else."""
    folder = tmp_path_factory.mktemp("sdks")
    python = str(folder / "bin" / "python")
    run("-m", "venv", "--without-pip", str(folder))
    done = run("-m", "pip", "--python", python, "install", "--quiet", *SDKS)
    if done.returncode:
        pytest.skip(f"the SDKs cannot be had: {done.stderr[-500:]}")
    return python


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=200
    )


def status_of(each: Scenario) -> int:
    """Read the status of the reply; something may be said before it."""
    said = b"".join(step for step in each.reply if isinstance(step, bytes))
    statuses = [int(part[:3]) for part in said.split(b"HTTP/1.1 ")[1:]]
    return next(status for status in statuses if status >= 200)


def is_as_meant(each: Scenario, seen: dict) -> bool:
    if seen["error"] or seen["status"] != status_of(each):
        return False
    if each.error:  # the SDK leaves it to its user to see what a reply means
        return True
    calls = [[name, dict(arguments)] for name, arguments in each.calls]
    return seen["text"] == each.text and (not calls or seen["calls"] == calls)


@pytest.mark.parametrize("is_strict", [False, True], ids=["as it is", "checking all"])
@pytest.mark.parametrize(
    ("wire", "sdk"),
    [
        ("chat", "openai"),
        ("responses", "openai"),
        ("anthropic", "anthropic"),
        ("gemini", "gemini"),  # which checks all anyway
    ],
)
def test_an_sdk_reads_every_well_formed_scenario(python, wire, sdk, is_strict):
    names = [name for name in scenario_names(f"{wire}/") if is_read(name, is_strict)]
    assert len(names) > 30
    asked = [
        {
            "name": name,
            "is_streamed": scenario(name).is_streamed,
            "is_strict": is_strict,
        }
        for name in names
    ]
    with wire_server(*names) as server:
        done = subprocess.run(
            [python, str(HERE / f"read_{sdk}.py")],
            input=json.dumps({"url": server.url, "scenarios": asked}),
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        server.assert_done()
    seen = json.loads(done.stdout)
    odd = {n: seen[n] for n in names if not is_as_meant(scenario(n), seen[n])}
    assert odd == {}


def is_read(name: str, is_strict: bool) -> bool:  # noqa: FBT001 - a parameter of the test
    variant = name.partition("/")[2]
    return scenario(name).is_well_formed and not (is_strict and variant in NEWER)
