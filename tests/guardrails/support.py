"""What the tests of guards in a run share."""

from __future__ import annotations

import json
import traceback
from typing import Any

import pytest

from notebook_agents import Agent, AgentResult, GuardrailBlockedError, ScriptedProvider

SECRET = "hunter2 and the swordfish"


def hide(text: str) -> str:
    """Take the secret out of a text."""
    return text.replace(SECRET, "[hidden]")


def refuse(text: str) -> str:
    """Block a text that has the secret, and say too much."""
    if SECRET in text:
        message = f"this is a secret: {text}"
        raise ValueError(message)
    return text


class Told:
    """An agent, and everything that leaves it: results, events, memory, logs."""

    def __init__(self, script: Any, tools: Any = (), **options: Any) -> None:
        self.events: list[dict[str, Any]] = []
        self.model = ScriptedProvider(script, chunk=3)
        self.agent = Agent(self.model, tools, on_event=self.events.append, **options)
        self.result: AgentResult[Any] | None = None
        self.error: GuardrailBlockedError | None = None

    async def run(self, message: str = "go", **options: Any) -> Told:
        """Run the agent to its end, blocked or not."""
        try:
            self.result = await self.agent.run(message, **options)
        except GuardrailBlockedError as error:
            self.error, self.result = error, error.result
        return self

    @property
    def guardrails(self) -> list[tuple[str, str, str]]:
        """What is told of guards, as stage, guard and action."""
        assert self.result is not None
        return [
            (event.stage, event.guard, event.action)
            for event in self.result.events
            if event.event == "guardrail"
        ]

    def everything(self) -> str:
        """Write down all that can be seen of the run from outside."""
        assert self.result is not None
        assert self.agent.last_run is not None
        seen: list[Any] = [
            self.events,
            self.result.to_dict(),
            self.agent.memory.all_messages,
            [event.to_dict() for event in self.agent.last_run.recorded],
        ]
        if self.error is not None:
            seen += [str(self.error), repr(self.error)]
            seen += traceback.format_exception(self.error)
        return json.dumps(seen, ensure_ascii=False, default=repr)

    def requests(self) -> list[list[str]]:
        """List what the model was sent, text by text."""
        return [
            [message.content for message in request.messages]
            for request in self.model.requests
        ]


def assert_hidden(told: Told, caplog: pytest.LogCaptureFixture) -> None:
    """Fail if a part of the secret is to be seen anywhere."""
    for seen in (told.everything(), caplog.text):
        assert "hunter2" not in seen
        assert "swordfish" not in seen
