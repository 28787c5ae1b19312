"""The environment, read into frozen `Settings` at the moment of use."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from notebook_agents.errors import AgentConfigurationError, ProviderSetupError

__all__ = ["Settings", "default_model", "get_settings"]

APPROVE_MODES: tuple[str, ...] = ("ask", "policy", "allow", "deny")
KEY_NAMES: dict[str, tuple[str, ...]] = {
    "openai": ("OPENAI_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "openrouter": ("OPENROUTER_API_KEY",),
    "huggingface": ("HF_TOKEN", "HUGGINGFACE_API_KEY"),
    "openai-compatible": ("LLM_API_KEY",),
}
"""Providers that take a key, and the variables it may stand in."""
URL_NAMES = {
    "huggingface": "HUGGINGFACE_BASE_URL",
    "openai-compatible": "LLM_BASE_URL",
    "ollama": "OLLAMA_HOST",
    "lmstudio": "LMSTUDIO_BASE_URL",
    "llamacpp": "LLAMACPP_BASE_URL",
}
"""Providers whose base URL may be set, and the variable it stands in."""
MODEL_NAMES = {
    "openai": "NOTEBOOK_AGENTS_OPENAI_MODEL",
    "anthropic": "NOTEBOOK_AGENTS_ANTHROPIC_MODEL",
    "gemini": "NOTEBOOK_AGENTS_GEMINI_MODEL",
    "openrouter": "NOTEBOOK_AGENTS_OPENROUTER_MODEL",
    "huggingface": "NOTEBOOK_AGENTS_HUGGINGFACE_MODEL",
}
"""Providers with a model of their own by default, and what may name another."""
OLLAMA_PORT = 11434
_NAMES = (
    *("NOTEBOOK_AGENTS_MODEL", "NOTEBOOK_AGENTS_APPROVE", "DEFAULT_PROVIDER"),
    *("LLM_MODEL", "EMBED_MODEL", "CA_BUNDLE_PATH"),
    *(name for names in KEY_NAMES.values() for name in names),
    *URL_NAMES.values(),
)


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
        ``NOTEBOOK_AGENTS_APPROVE``: ``ask``, ``policy``, ``deny`` or ``allow``.
    keys : mapping
        API keys by provider name; never shown by ``repr``.
    base_urls : mapping
        Base URLs by provider name, such as ``LLM_BASE_URL``.
    llm_model : str or None
        ``LLM_MODEL``, the model at ``LLM_BASE_URL``.
    embed_model : str or None
        ``EMBED_MODEL``, the model there that embeds.
    ca_bundle : str or None
        ``CA_BUNDLE_PATH``, a file of certificates to trust.
    """

    model: str | None
    default_provider: str | None
    approve: str | None
    keys: Mapping[str, str]
    base_urls: Mapping[str, str] = field(default_factory=dict)
    llm_model: str | None = None
    embed_model: str | None = None
    ca_bundle: str | None = None

    def __repr__(self) -> str:
        return (
            f"Settings(model={self.model!r}, default_provider="
            f"{self.default_provider!r}, keys for {sorted(self.keys)})"
        )

    def require_key(self, provider: str) -> str:
        """Give the key of a provider that needs one.

        Parameters
        ----------
        provider : str
            Name of the provider.

        Returns
        -------
        str
            The key.

        Raises
        ------
        ProviderSetupError
            If it is not set; the message names the variable.
        """
        key = self.keys.get(provider)
        if key is None:
            message = (
                f"Missing API key for provider {provider!r}. "
                f"Set {KEY_NAMES[provider][0]} in your environment or .env file."
            )
            raise ProviderSetupError(message)
        return key


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
        If ``NOTEBOOK_AGENTS_APPROVE`` is none of ``ask``, ``policy``, ``allow`` and ``deny``.
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
        base_urls=_base_urls(environment),
        llm_model=environment.get("LLM_MODEL"),
        embed_model=environment.get("EMBED_MODEL"),
        ca_bundle=environment.get("CA_BUNDLE_PATH"),
    )


def _base_urls(environment: Mapping[str, str]) -> dict[str, str]:
    found = {
        provider: environment[name]
        for provider, name in URL_NAMES.items()
        if name in environment
    }
    if "ollama" in found:
        found["ollama"] = _ollama_url(found["ollama"])
    return found


def _ollama_url(host: str) -> str:
    """Give the base URL for ``OLLAMA_HOST``, which says where the server listens."""
    scheme, _, rest = host.rpartition("://")
    rest = rest.rstrip("/").removesuffix("/v1").rstrip("/")
    name, colon, port = rest.partition(":")
    if not scheme and not colon:
        port = str(OLLAMA_PORT)
    if name in {"", "0.0.0.0"}:  # noqa: S104 - "anywhere" to listen, here to ask
        name = "127.0.0.1"
    return f"{scheme or 'http'}://{name}{':' if port else ''}{port}/v1"


def default_model(provider: str) -> str | None:
    """Read which model to take of a provider where none is named.

    Parameters
    ----------
    provider : str
        Name of the provider.

    Returns
    -------
    str or None
        What the environment says, such as ``NOTEBOOK_AGENTS_OPENAI_MODEL``.
    """
    name = MODEL_NAMES.get(provider)
    return _environment((name,)).get(name) if name else None


def _environment(names: Iterable[str] = _NAMES) -> dict[str, str]:
    """Read what is asked for at each request, so no more than that."""
    return {**_known(_dotenv(), names), **_known(os.environ, names)}


def _known(values: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """Pick our variables, but for blank ones, so that those hide nothing."""
    return {
        name: value
        for name in names
        if name in values and (value := _unquoted(values[name].strip()))
    }


def _unquoted(value: str) -> str:
    """Drop quotation marks, which some tools that set variables leave in place."""
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
    return value[1:-1].strip() if is_quoted else value


def _dotenv() -> Mapping[str, str]:
    for path in _places(Path.cwd()):
        if path.is_file():
            return _read_dotenv(path, path.stat().st_mtime_ns)
    return {}


@functools.lru_cache(maxsize=8)
def _places(here: Path) -> tuple[Path, ...]:
    return tuple(folder / ".env" for folder in (here, *here.parents))


@functools.lru_cache(maxsize=8)
def _read_dotenv(path: Path, _mtime: int) -> Mapping[str, str]:
    from dotenv import dotenv_values

    return {name: value for name, value in dotenv_values(path).items() if value}
