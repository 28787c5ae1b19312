"""The environment, read into frozen `Settings` at the moment of use."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from notebook_agents.errors import AgentConfigurationError

__all__ = ["Settings", "get_settings"]

APPROVE_MODES = ("ask", "deny", "allow")
KEY_NAMES: dict[str, tuple[str, ...]] = {
    "openai": ("OPENAI_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "openrouter": ("OPENROUTER_API_KEY",),
    "huggingface": ("HF_TOKEN", "HUGGINGFACE_API_KEY"),
}
"""Providers that need a key, and the variables it may stand in."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Settings:
    """What the environment says; blank counts as missing.

    Parameters
    ----------
    model : str or None
        ``NOTEBOOK_AGENTS_MODEL``, as ``provider:model``.
    default_provider : str or None
        ``DEFAULT_PROVIDER``.
    approve : str or None
        ``NOTEBOOK_AGENTS_APPROVE``: ``ask``, ``deny`` or ``allow``.
    keys : mapping
        API keys by provider name; never shown by ``repr``.
    """

    model: str | None
    default_provider: str | None
    approve: str | None
    keys: Mapping[str, str]

    def __repr__(self) -> str:
        return (
            f"Settings(model={self.model!r}, default_provider="
            f"{self.default_provider!r}, keys for {sorted(self.keys)})"
        )


def get_settings() -> Settings:
    """Read the environment, and the nearest ``.env`` file below it.

    The file is looked for from the current directory upwards; it never
    overrides a variable that is set.

    Returns
    -------
    Settings
        A snapshot.

    Raises
    ------
    AgentConfigurationError
        If ``NOTEBOOK_AGENTS_APPROVE`` is none of its three words.
    """
    environment = _environment()
    approve = environment.get("NOTEBOOK_AGENTS_APPROVE")
    if approve is not None and approve not in APPROVE_MODES:
        message = (
            f"NOTEBOOK_AGENTS_APPROVE is {approve!r}; "
            f"it must be one of {', '.join(APPROVE_MODES)}."
        )
        raise AgentConfigurationError(message)
    keys = {
        provider: value
        for provider, names in KEY_NAMES.items()
        if (value := next(filter(None, map(environment.get, names)), None))
    }
    return Settings(
        model=environment.get("NOTEBOOK_AGENTS_MODEL"),
        default_provider=environment.get("DEFAULT_PROVIDER"),
        approve=approve,
        keys=keys,
    )


def _environment() -> dict[str, str]:
    return {**_stripped(_dotenv()), **_stripped(os.environ)}


def _stripped(values: Mapping[str, str]) -> dict[str, str]:
    """Drop what is blank, so that it hides nothing."""
    stripped = {name: value.strip() for name, value in values.items()}
    return {name: value for name, value in stripped.items() if value}


def _dotenv() -> Mapping[str, str]:
    here = Path.cwd()
    for folder in (here, *here.parents):
        path = folder / ".env"
        if path.is_file():
            return _read_dotenv(path, path.stat().st_mtime_ns)
    return {}


@functools.lru_cache(maxsize=8)
def _read_dotenv(path: Path, _mtime: int) -> Mapping[str, str]:
    from dotenv import dotenv_values

    return {name: value for name, value in dotenv_values(path).items() if value}
