"""Guardrails: functions that look at texts before anybody else does."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from notebook_agents.guardrails.guard import Guard

if TYPE_CHECKING:
    from notebook_agents.guardrails.definition import Guardrail
    from notebook_agents.guardrails.judge import llm_guard
    from notebook_agents.guardrails.keywords import block_keywords
    from notebook_agents.guardrails.pii import strip_pii
    from notebook_agents.guardrails.service import GuardrailService

# Most agents have none of these.
_HOME = {
    "Guardrail": "definition",
    "GuardrailService": "service",
    "block_keywords": "keywords",
    "llm_guard": "judge",
    "strip_pii": "pii",
}

__all__ = [
    "Guard",
    "Guardrail",
    "GuardrailService",
    "block_keywords",
    "llm_guard",
    "strip_pii",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value
