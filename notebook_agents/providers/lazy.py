"""`LazyProvider`: a model that is named now and made at its first use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from notebook_agents import checks
from notebook_agents.errors import AgentConfigurationError
from notebook_agents.providers.base import BaseProvider, model_label, provider_name
from notebook_agents.providers.registry import (
    Choice,
    check_spec,
    choose_default,
    make_provider,
)

__all__ = ["Client", "LazyProvider"]

Client: TypeAlias = str | BaseProvider | Sequence[str | BaseProvider]
"""How a model is named: as text, as a provider, or as several in order."""


class LazyProvider:
    """A provider, or the name of one.

    Parameters
    ----------
    client : str, BaseProvider, list of these, or None
        ``"provider:model"``, a provider, several of which the next answers
        where one cannot, or None for the default choice.
    model : str, optional
        The model, where ``client`` names only the provider.

    Raises
    ------
    AgentConfigurationError
        If it is none of these, there is no such provider, or two models are
        named.
    """

    def __init__(self, client: Client | None, model: str | None = None) -> None:
        if isinstance(client, list | tuple):
            client = _first_of(client, model)
        given: object = client
        if given == "" or not isinstance(given, str | BaseProvider | None):
            message = (
                f"A model is named as text or given as a provider, not {client!r}; "
                'for example Agent("local").'
            )
            raise AgentConfigurationError(message)
        if isinstance(client, str):
            check_spec(client)
        if model is not None:
            _check_model(model, client)
        self._spec = client if isinstance(client, str) else None
        self._model = model
        self._made = client if isinstance(client, BaseProvider) else None
        self._choice: Choice | None = None

    @property
    def label(self) -> str:
        """What answers, as ``provider:model``."""
        if self._made is not None:
            return model_label(self._made)
        if self._spec is None:
            return "a model chosen at the first run"
        return f"{self._spec}:{self._model}" if self._model else self._spec

    @property
    def names(self) -> tuple[str, str]:
        """The provider and the model, as far as they are known."""
        if self._made is not None:
            return provider_name(self._made), self._made.model
        name, _, model = (self._spec or "").partition(":")
        return name.strip().lower(), model.strip() or self._model or ""

    @property
    def is_named(self) -> bool:
        """Whether the user said which model, or at least whose."""
        return self._spec is not None or (
            self._choice is None and self._made is not None
        )

    @property
    def reason(self) -> str:
        """Why that model was chosen; empty if the user named it."""
        return self._choice.reason if self._choice else ""

    def get(self) -> BaseProvider:
        """Give the provider, made now if it was not.

        Returns
        -------
        BaseProvider
            Ready for a request; nothing has been sent.
        """
        if self._made is None:
            spec = self._spec
            if spec is None:
                self._choice = choose_default()
                spec = self._choice.spec
            self._made = make_provider(spec, model=self._model)
        return self._made


def _check_model(model: object, client: object) -> None:
    checks.not_blank("model", model)
    has_one = isinstance(client, BaseProvider)
    if isinstance(client, str):
        has_one = bool(client.partition(":")[2].strip())
    if has_one:
        checks.fail(
            f"model={model!r} cannot be added to {checks.shown(client)}, which has a "
            "model: name it there."
        )


def _first_of(clients: Sequence[str | BaseProvider], model: str | None) -> BaseProvider:
    """Give a provider that asks several."""
    if model is not None:
        message = (
            f'model={model!r} cannot be that of several; name each as "provider:model".'
        )
        raise AgentConfigurationError(message)
    from notebook_agents.providers.fallback import FallbackProvider

    return FallbackProvider(clients)
