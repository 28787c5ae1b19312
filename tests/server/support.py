"""What the tests of serving share: agents, a client and a strict SSE reader."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from notebook_agents import Agent, ScriptedProvider, call, tool

TIMEOUT = 10.0


@dataclass
class Frame:
    """One server-sent event."""

    event: str
    data: Any
    id: str = ""


def read_frames(lines: Iterator[str]) -> Iterator[Frame]:
    """Read frames as a browser does; comments are frames without data."""
    fields: dict[str, str] = {}
    data: list[str] = []
    for line in lines:
        if not line:
            if data:
                yield Frame(fields["event"], json.loads("\n".join(data)), fields["id"])
            fields, data = {}, []
        elif line.startswith(":"):
            yield Frame("", line)
        else:
            name, _, value = line.partition(": ")
            if name == "data":
                data.append(value)
            else:
                fields[name] = value
    assert not data, "the stream ended within an event"


def kinds(frames: list[Frame]) -> list[str]:
    """Give the names of events, those of intermediates with their type."""
    return [
        frame.data["type"] if frame.event == "intermediate" else frame.event
        for frame in frames
        if frame.event
    ]


class Caller:
    """A client of one server that holds a key."""

    def __init__(self, url: str, token: str | None = None) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.http = httpx.Client(base_url=url, headers=headers, timeout=TIMEOUT)

    def chat(self, message: str = "Hi", **body: Any) -> httpx.Response:
        return self.http.post("/chat", json={"message": message, **body})

    @contextmanager
    def streaming(
        self, message: str = "Hi", query: str = "", **body: Any
    ) -> Iterator[Iterator[Frame]]:
        path, payload = f"/chat/stream{query}", {"message": message, **body}
        with self.http.stream("POST", path, json=payload) as response:
            assert response.status_code == 200, response.read()
            self.last = response
            yield read_frames(response.iter_lines())

    def stream(self, message: str = "Hi", **body: Any) -> list[Frame]:
        with self.streaming(message, **body) as frames:
            return list(frames)


@dataclass
class Gate:
    """Where a tool waits until the test lets it go on."""

    entered: threading.Event = field(default_factory=threading.Event)
    opened: threading.Event = field(default_factory=threading.Event)
    left: threading.Event = field(default_factory=threading.Event)

    def tool(self) -> Callable[..., Any]:
        """Make an async tool that waits here."""

        @tool
        async def hold() -> str:
            """Hold on."""
            self.entered.set()
            try:
                while not self.opened.is_set():  # noqa: ASYNC110 - set by a thread
                    await asyncio.sleep(0.005)
            finally:
                self.left.set()
            return "held"

        return hold

    def entering(self) -> None:
        """Wait until the tool is there."""
        assert self.entered.wait(TIMEOUT)

    def leaving(self) -> None:
        """Wait until the tool has cleaned up."""
        assert self.left.wait(TIMEOUT)


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def erasing(done: list[str]) -> Callable[..., Any]:
    """Make a tool that needs consent and notes what it did."""

    @tool(approval=True, risk="write")
    def erase(table: str) -> str:
        """Erase a table."""
        done.append(table)
        return f"erased {table}"

    return erase


def agent_of(*script: Any, tools: Any = (), name: str = "bot", **options: Any) -> Agent:
    """Make an agent that follows a script."""
    speed = {name: options.pop(name) for name in ("delay", "chunk") if name in options}
    provider = ScriptedProvider(script, **speed)
    return Agent(provider, tools, name=name, **options)


def holding(gate: Gate, *answers: str, **options: Any) -> Agent:
    """Make an agent that waits at a gate before its first answer."""
    script = [call("hold"), *(answers or ("Held.",))]
    return agent_of(*script, tools=[gate.tool()], **options)


def requests_of(agent: Agent) -> list[Any]:
    """List what a scripted agent has sent to its model."""
    requests: list[Any] = agent._model.get().requests
    return requests
