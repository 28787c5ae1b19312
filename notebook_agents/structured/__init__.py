"""Answers of a type: what is asked of the model, and how its text becomes a value."""

from __future__ import annotations

from notebook_agents.structured.answer import TypedAnswer
from notebook_agents.structured.output_type import OutputType

__all__ = ["OutputType", "TypedAnswer"]
