"""From a fresh interpreter to an agent and its first answer, next to the floors.

Usage: ``python benchmarks/import_time.py [rounds]``
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping

from notebook_agents.testing import wire_server
from notebook_agents.testing.wire import event, streamed
from notebook_agents.testing.wire.chat import DONE, STOP, delta

ANSWER = streamed(event(delta(content="Hello!")), STOP, DONE)
# The least that a program needs for a chat: ask a service and read its answer.
ASK = """
import asyncio, json, httpx, pydantic
async def main():
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    async with httpx.AsyncClient() as client:
        url = "URL/chat/completions"
        async with client.stream("POST", url, json=body | {"stream": True}) as reply:
            async for line in reply.aiter_lines():
                if line.startswith("data: {"):
                    json.loads(line[6:])
asyncio.run(main())
"""
CHAT = """
from notebook_agents import Agent
from notebook_agents.providers import OpenAICompatibleProvider
agent = Agent(OpenAICompatibleProvider("URL", "m", "sk-of-nobody"))
assert agent.run_sync("Hi").answer == "Hello!"
"""
CASES = {
    "bare interpreter": "pass",
    "import notebook_agents": "import notebook_agents",
    "import httpx, pydantic": "import httpx, pydantic",
    "ready to chat": "from notebook_agents import Agent; Agent('openai:gpt-6-luna')",
    "ask with httpx": ASK,
    "first answer": CHAT,
}


def measure(rounds: int) -> dict[str, float]:
    """Time each case in a fresh interpreter, the cases taking turns.

    Parameters
    ----------
    rounds : int
        How often each case is timed.

    Returns
    -------
    dict of str to float
        Mean CPU time of each case, in milliseconds; by the clock it is the same on
        a machine at rest, and several times as long on a shared one.
    """
    times: dict[str, list[float]] = {name: [] for name in CASES}
    with tempfile.TemporaryDirectory() as folder, wire_server() as service:
        # Byte code as an install has it, also where the environment forbids it:
        # compiling again each time is not what a user waits for.
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for turn in range(rounds + 1):
            service.say(ANSWER, ANSWER)
            for name, code in CASES.items():
                taken = _seconds(code.replace("URL", service.url), environment)
                if turn:  # the first one warms the disk and the byte code
                    times[name].append(taken * 1e3)
    # A mean, since the system counts in steps that are coarse for a single one.
    return {name: sum(values) / rounds for name, values in times.items()}


def _seconds(code: str, environment: Mapping[str, str]) -> float:
    before = os.times()
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    after = os.times()
    user = after.children_user - before.children_user
    return user + after.children_system - before.children_system


def main() -> None:
    """Print one line for each case, and the ratios to the floors."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    means = measure(rounds)
    bare = means.pop("bare interpreter")
    over = {name: value - bare for name, value in means.items()}
    print(f"bare interpreter: {bare:.0f} ms; the rest is over it, {rounds} rounds")
    for name, value in over.items():
        print(f"{name:24} {value:6.1f} ms")
    for name, floor in (
        ("ready to chat", "import httpx, pydantic"),
        ("first answer", "ask with httpx"),
    ):
        print(f"{name} is {over[name] / over[floor]:.2f} x {floor} (target 1.3)")


if __name__ == "__main__":
    main()
