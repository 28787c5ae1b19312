"""The notebook's face: ``%%agent``, approval cards and streamed answers."""

from __future__ import annotations

__all__: list[str] = []
