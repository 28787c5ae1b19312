"""A stand-in for model services, as they really talk: `wire_server`.

Each scenario is one reply of one wire format: ``chat`` (OpenAI's chat completions
and everything compatible), ``responses`` (OpenAI), ``anthropic`` (Messages) and
``gemini`` (generateContent).
"""

from __future__ import annotations

from notebook_agents.testing.wire.catalogue import scenario, scenario_names
from notebook_agents.testing.wire.replies import (
    CUT,
    HOLD,
    Reply,
    Wait,
    chunk,
    event,
    head,
    streamed,
    whole,
)
from notebook_agents.testing.wire.scenarios import Scenario
from notebook_agents.testing.wire.server import WireRequest, WireServer, wire_server

__all__ = [
    "CUT",
    "HOLD",
    "Reply",
    "Scenario",
    "Wait",
    "WireRequest",
    "WireServer",
    "chunk",
    "event",
    "head",
    "scenario",
    "scenario_names",
    "streamed",
    "whole",
    "wire_server",
]
