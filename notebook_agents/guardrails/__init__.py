"""Guardrails: functions that look at texts before anybody else does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from notebook_agents._lazy import lazy_names

if TYPE_CHECKING:
    from notebook_agents.guardrails.definition import Guardrail
    from notebook_agents.guardrails.guard import Guard
    from notebook_agents.guardrails.judge import llm_guard
    from notebook_agents.guardrails.keywords import block_keywords
    from notebook_agents.guardrails.pii import strip_pii
    from notebook_agents.guardrails.service import GuardrailService

_HOME = {
    "Guard": "guard",
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

__getattr__, __dir__ = lazy_names(__name__, _HOME)
