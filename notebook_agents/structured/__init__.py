"""Answers of a type: what is asked of the model, and how its text becomes a value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from notebook_agents._lazy import lazy_names

if TYPE_CHECKING:
    from notebook_agents.structured.answer import TypedAnswer
    from notebook_agents.structured.output_type import OutputType

_HOME = {"OutputType": "output_type", "TypedAnswer": "answer"}

__all__ = ["OutputType", "TypedAnswer"]

__getattr__, __dir__ = lazy_names(__name__, _HOME)
