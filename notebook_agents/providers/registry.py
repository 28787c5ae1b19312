"""From ``"provider:model"`` to a provider, and the choice of a default."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from notebook_agents import checks
from notebook_agents.errors import AgentConfigurationError
from notebook_agents.providers.base import BaseProvider
from notebook_agents.settings import (
    KEY_NAMES,
    URL_NAMES,
    Settings,
    default_model,
    get_settings,
)
from notebook_agents.spelling import by_name, closest

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

__all__ = [
    "Choice",
    "choose_default",
    "make_provider",
    "provider_names",
    "register_provider",
]

Factory = Callable[[str | None, Settings], BaseProvider]
"""``(model or None, settings) -> provider``."""

_BUILT_IN = {
    "anthropic": "notebook_agents.providers.anthropic:AnthropicProvider",
    "gemini": "notebook_agents.providers.gemini:GeminiProvider",
    "huggingface": "notebook_agents.providers.huggingface:HuggingFaceProvider",
    "llamacpp": "notebook_agents.providers.ollama:LlamaCppProvider",
    "lmstudio": "notebook_agents.providers.ollama:LMStudioProvider",
    "local": "notebook_agents.providers.local:LocalProvider",
    "ollama": "notebook_agents.providers.ollama:OllamaProvider",
    "openai": "notebook_agents.providers.openai:OpenAIProvider",
    "openai-compatible": (
        "notebook_agents.providers.openai_compatible:OpenAICompatibleProvider"
    ),
    "openrouter": "notebook_agents.providers.openrouter:OpenRouterProvider",
}
_FAMILIES = {
    **dict.fromkeys(("gpt-", "chatgpt-", "o1", "o3", "o4"), "openai"),
    "claude": "anthropic",
    "gemini": "gemini",
    "smollm2": "local",
    **dict.fromkeys(("llama", "qwen", "mistral", "gemma", "phi"), "ollama"),
}
"""How names of models begin, and who most likely has them."""
_registered: dict[str, Factory] = {}


@dataclass(frozen=True, slots=True)
class Choice:
    """A model and why it was chosen.

    Parameters
    ----------
    spec : str
        As ``provider`` or ``provider:model``.
    reason : str
        A few words for people.
    """

    spec: str
    reason: str


@by_name
def register_provider(name: str, factory: Factory) -> None:
    """Make a provider known under a name, for the whole process.

    Parameters
    ----------
    name : str
        Compared in lower case, without surrounding blanks.
    factory : callable
        ``(model or None, settings) -> BaseProvider``.

    Raises
    ------
    AgentConfigurationError
        If the name is blank, or the factory takes something else.
    """
    name = _normalized(name)
    if ":" in name:
        checks.fail(f"The name of a provider is all before the colon: {name!r}.")
    checks.function("factory", factory, "a model and the settings")
    try:
        inspect.signature(factory).bind(None, None)
    except TypeError as error:
        checks.fail(
            "factory is called with two arguments, (model or None, settings), which "
            f"it does not take: {error}.",
            error,
        )
    except ValueError:
        pass  # written in C: nobody knows what it takes
    _registered[name] = factory


def choose_default(
    settings: Settings | None = None,
    *,
    ports: Iterable[tuple[str, int]] | None = None,
) -> Choice:
    """Choose a model for an agent that names none.

    Parameters
    ----------
    settings : Settings, optional
        The environment; read now when left out.
    ports : iterable of (str, int), optional
        Providers and the loopback ports where to look for their servers; by
        default where Ollama, LM Studio and llama.cpp usually are.

    Returns
    -------
    Choice
        What to use, and why: what the environment names, the only provider that
        is set up, a server on this machine, else the embedded model.

    Raises
    ------
    AgentConfigurationError
        If several providers are set up and nothing says which to use.
    """
    settings = settings or get_settings()
    if settings.model:
        return Choice(settings.model, "NOTEBOOK_AGENTS_MODEL")
    if settings.default_provider:
        return Choice(settings.default_provider, "DEFAULT_PROVIDER")
    ready = _set_up(settings)
    if len(ready) > 1:
        variables = ", ".join(ready.values())
        names = " or ".join(ready)
        message = (
            f"Several providers are set up ({variables}). "
            f"Say which to use: set DEFAULT_PROVIDER to {names}, or name a model."
        )
        raise AgentConfigurationError(message)
    for name, variable in ready.items():
        return Choice(name, f"{variable} is set")
    from notebook_agents.providers.discovery import find_local_server, loopback_ports

    looked_at = loopback_ports(settings.base_urls) if ports is None else ports
    found = find_local_server(looked_at)
    if found is not None:
        reason = f"answers on this machine, port {found.port}"
        return Choice(f"{found.provider}:{found.model}", reason)
    return Choice("local", "no other model is configured")


def _set_up(settings: Settings) -> dict[str, str]:
    """Find the providers that have what they need, and by which variable."""
    ready = {
        name: " or ".join(KEY_NAMES[name])
        for name in settings.keys
        if name in _BUILT_IN and name not in URL_NAMES
    }
    if "huggingface" in settings.keys:
        ready["huggingface"] = "a Hugging Face token"
    if "openai-compatible" in settings.base_urls:
        ready["openai-compatible"] = URL_NAMES["openai-compatible"]
    return ready


def make_provider(
    spec: str, *, model: str | None = None, settings: Settings | None = None
) -> BaseProvider:
    """Make the provider that a text names.

    Parameters
    ----------
    spec : str
        ``"provider"`` or ``"provider:model"``.
    model : str, optional
        The model, where the text names only the provider.
    settings : Settings, optional
        The environment; read now when left out.

    Returns
    -------
    BaseProvider
        Ready for its first request; nothing has been sent.

    Raises
    ------
    AgentConfigurationError
        If the name is unknown or its key is missing.
    TypeError
        If a registered factory returned something else.
    """
    name, _, rest = spec.partition(":")
    settings = settings or get_settings()
    model = model or rest.strip() or default_model(_normalized(name))
    made: object = _factory(spec, settings)(model, settings)
    if not isinstance(made, BaseProvider):
        message = (
            f"The factory of provider {name!r} returned {type(made).__name__}; "
            "it must return a BaseProvider."
        )
        raise TypeError(message)
    return made


def check_spec(spec: str) -> None:
    """Refuse a text that names no provider, without making one.

    Parameters
    ----------
    spec : str
        ``"provider"`` or ``"provider:model"``.

    Raises
    ------
    AgentConfigurationError
        If there is no provider of that name here.
    """
    name = _normalized(spec.partition(":")[0])
    if name in _BUILT_IN or name in _registered or name in KEY_NAMES:
        return
    if name not in provider_names():
        error = _unknown(spec)
        raise error


def _factory(spec: str, settings: Settings) -> Factory:
    name = _normalized(spec.partition(":")[0])
    if name in _registered:
        return _registered[name]
    if name in _BUILT_IN:
        module, _, attribute = _BUILT_IN[name].partition(":")
        return _from_class(getattr(importlib.import_module(module), attribute))
    for point in _installed():
        if point.name == name:
            return _from_class(point.load())
    if name in KEY_NAMES:
        settings.require_key(name)
    error = _unknown(spec)
    raise error


def _unknown(spec: str) -> AgentConfigurationError:
    if "://" in spec:
        message = f"{spec!r} is a URL: pass LLMClient({spec!r}, model=...) instead."
        return AgentConfigurationError(message)
    known = provider_names()
    meant = _meant(spec, known)
    message = (
        f"There is no provider named {spec.partition(':')[0].strip().lower()!r} here; "
        f'known: {", ".join(known)}. A model is named as "provider:model", such as '
        f'"local:smollm2-135m".{meant}'
    )
    return AgentConfigurationError(message)


def _meant(spec: str, known: Sequence[str]) -> str:
    """Say what the text probably means: a model alone, or a provider misspelt."""
    owner, slash, model = spec.partition("/")
    if slash and owner.lower() in known:
        return f" Did you mean {f'{owner.lower()}:{model}'!r}?"
    for beginning, provider in _FAMILIES.items():
        if spec.lower().startswith(beginning):
            return f" Did you mean {f'{provider}:{spec}'!r}?"
    name, colon, rest = spec.partition(":")
    near = closest(name.strip(), known)
    return f" Did you mean {near + colon + rest!r}?" if near else ""


def _from_class(kind: Callable[..., BaseProvider]) -> Factory:
    from_settings: Factory | None = getattr(kind, "from_settings", None)
    if from_settings is not None:
        return from_settings
    return lambda model, _: kind(model) if model else kind()


def provider_names() -> list[str]:
    """Name all providers that are known here, in order."""
    installed = {point.name for point in _installed()}
    return sorted({*_BUILT_IN, *_registered, *installed})


def _installed() -> EntryPoints:
    """Give what other packages have installed."""
    from importlib.metadata import entry_points  # slow to load, and seldom needed

    return entry_points(group="notebook_agents.providers")


def _normalized(name: str) -> str:
    checks.text("The name of a provider", name)
    name = name.strip().lower()
    if not name:
        message = 'A provider needs a name, as in "local:smollm2-135m".'
        raise AgentConfigurationError(message)
    return name
