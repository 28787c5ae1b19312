"""What goes wrong is told without secrets, and logged with its traceback."""

from __future__ import annotations

import json
import logging

import pytest

from notebook_agents import (
    Agent,
    AgentConfigurationError,
    AgentProviderError,
    ScriptedProvider,
    call,
)
from notebook_agents.errors import ProviderAuthError, ProviderTimeoutError
from notebook_agents.memory.in_memory import InMemoryStore
from notebook_agents.providers import FallbackProvider
from notebook_agents.server import serve
from notebook_agents.server.logs import Redaction
from notebook_agents.server.sse import ASKED_AGAIN
from tests.server.support import Gate, agent_of, holding, kinds

SECRET = "hunter2 at postgres://u:p@h"


class _Broken(InMemoryStore):
    """A store that cannot be written."""

    async def save(self, scope, messages, **facts):
        raise OSError(SECRET)


@pytest.mark.parametrize(
    ("error", "status", "name"),
    [
        (RuntimeError(SECRET), 500, "InternalServerError"),
        (AgentConfigurationError(SECRET), 500, "AgentConfigurationError"),
        (AgentProviderError(SECRET, provider_status=401), 502, "AgentProviderError"),
        (ProviderAuthError(SECRET, provider_status=401), 502, "ProviderAuthError"),
        (ProviderTimeoutError(SECRET), 504, "ProviderTimeoutError"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_an_error_of_the_agent_has_its_status_and_keeps_its_words(
    served, caplog, error, status, name
):
    """Requirements, D14, A14 and B38."""
    caller = served(agent_of(error, error))
    response = caller.chat()
    assert response.status_code == status
    body = response.json()
    assert body["error"] == name
    assert SECRET not in response.text
    assert "Traceback" not in response.text
    logged = [r for r in caplog.records if body["trace_id"] in r.getMessage()]
    assert SECRET in logging.Formatter().format(logged[0])
    assert "Traceback" in logging.Formatter().format(logged[0])
    frames = caller.stream()
    assert kinds(frames) == ["error"]
    assert frames[0].data["error"] == name
    assert SECRET not in json.dumps(frames[0].data)


def test_a_missing_key_is_told_before_a_stream_begins(served):
    """Requirements, W2: not an empty stream."""
    caller = served(Agent("openai:gpt-x", name="bot"))
    response = caller.http.post("/chat/stream", json={"message": "Hi"})
    assert response.status_code == 500
    assert response.json()["error"] == "AgentConfigurationError"


def test_the_words_of_a_raising_tool_reach_the_log_and_not_the_client(served, caplog):
    def look_up() -> str:
        """Look something up."""
        raise ValueError(SECRET)

    caller = served(agent_of(call("look_up"), "It failed.", tools=[look_up]))
    frames = caller.stream()
    assert kinds(frames) == ["tool_call", "tool_error", "tool_result", "done"]
    assert SECRET not in json.dumps([frame.data for frame in frames])
    assert frames[1].data["data"]["error"] == "ValueError"
    assert frames[-1].data["errors"] == ["look_up: ValueError"]
    assert SECRET in caplog.text


def test_the_words_of_a_retry_reach_the_log_and_not_the_client(served, caplog):
    caplog.set_level(logging.INFO, "notebook_agents.server")
    first = ScriptedProvider([AgentProviderError(SECRET)])
    second = ScriptedProvider(["Hello!"])
    caller = served(Agent(FallbackProvider([first, second])))
    frames = caller.stream()
    assert kinds(frames) == ["retry", "done"]
    assert frames[0].data["data"] == {
        "step": 1,
        "attempt": 1,
        "wait_s": 0.0,
        "reason": ASKED_AGAIN,
        "discard_partial": False,
    }
    assert SECRET not in json.dumps([frame.data for frame in frames])
    assert SECRET in caplog.text


def test_wrong_arguments_are_told_as_they_are(served):
    def look_up(name: str) -> str:
        """Look something up."""
        return name

    agent = agent_of(call("look_up", raw="[1]"), "It failed.", tools=[look_up])
    assert "object" in served(agent).chat().json()["errors"][0]


def test_a_turn_that_could_not_be_stored_says_so(caller_of):
    server = serve(agent_of("Hello!"), store=_Broken())
    body = caller_of(server).chat().json()
    assert body["response"] == "Hello!"
    assert body["errors"] == ["The turn could not be stored."]


def test_too_many_rounds_are_an_answer_and_not_a_failure(served):
    def again() -> str:
        """Do it again."""
        return "again"

    agent = agent_of(call("again"), call("again"), tools=[again], max_steps=2)
    body = served(agent).chat().json()
    assert body["errors"] == ["max_steps_reached"]


def test_a_slow_agent_is_a_504(served):
    """Requirements, B36."""
    gate = Gate()
    response = served(holding(gate), request_timeout=0.5).chat()
    assert response.status_code == 504
    assert response.json()["error"] == "TimeoutError"
    assert response.json()["detail"] == "Agent did not respond within 0.5s."
    gate.leaving()


def test_a_wrong_path_or_method_has_the_same_shape(served):
    caller = served(agent_of())
    assert caller.http.get("/nowhere").json()["error"] == "NotFound"
    assert caller.http.get("/chat").json()["error"] == "MethodNotAllowed"


def test_a_key_is_taken_out_of_messages_arguments_and_tracebacks():
    redaction = Redaction(["known-secret", "abc"])
    try:
        raise ValueError("known-secret")  # noqa: EM101, TRY301 - the traceback is wanted
    except ValueError as error:
        info = (type(error), error, error.__traceback__)
    message = "%s, Bearer abcdefgh12345678, sk-abcdefghij, /x?token=12345678&a=abc"
    record = logging.LogRecord("x", 40, "p", 1, message, ("known-secret",), info)
    assert redaction.filter(record)
    text = logging.Formatter().format(record)
    assert "known-secret" not in text
    assert "sk-abc" not in text
    assert "12345678" not in text
    assert text.startswith(
        "[redacted], Bearer [redacted], [redacted], /x?token=[redacted]&a=abc"
    )
    assert "ValueError" in text


@pytest.mark.parametrize(
    "key",
    [
        "sk-ant-abcdefgh12345678",
        "AIzaSyA1234567890abcdefghijklmnopqrstuv",
        "hf_abcdefghijklmnopqrstuvwxyz",
        "gsk_abcdefghijklmnopqrstuvwx",
        "ghp_abcdefghijklmnopqrstuvwx",
        "TOKEN abcdefgh",
    ],
)
def test_what_looks_like_a_key_is_taken_out_of_logs(key):
    assert key.split()[-1] not in Redaction(()).redact(f"it was {key}.")


@pytest.mark.parametrize(
    ("template", "args"), [("%s: %s %s", ("known-secret",)), (("known-secret",), (1,))]
)
def test_a_wrong_call_of_a_logger_does_no_harm_and_tells_no_secret(template, args):
    """Logging swallows the error, too, but prints the arguments."""
    record = logging.LogRecord("x", 40, "p", 1, template, args, None)
    assert Redaction(["known-secret"]).filter(record)
    assert "known-secret" not in record.getMessage()
    assert "(its arguments do not fit)" in record.getMessage()
