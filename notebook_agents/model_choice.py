"""`ModelChoice`: which model answers, why that one, and which others there are."""

from __future__ import annotations

import copy
from typing import Self

from notebook_agents.hosts import current_host
from notebook_agents.providers.lazy import Client, LazyProvider
from notebook_agents.sync import run_sync

__all__ = ["ModelChoice"]


class ModelChoice:
    """What has a model, and can tell which others it might have."""

    _model: LazyProvider

    @property
    def provider_name(self) -> str:
        """Whose model answers; empty until the first run where none was named."""
        return self._model.names[0]

    @property
    def model(self) -> str:
        """The name of the model; empty where the provider chooses it."""
        return self._model.names[1]

    @property
    def model_label(self) -> str:
        """What answers, as ``provider:model``."""
        return self._model.label

    @property
    def model_reason(self) -> str:
        """Why that model was chosen; empty if the user named it."""
        return self._model.reason

    def with_model(self, client: Client) -> Self:
        """Give the same agent on another model.

        Parameters
        ----------
        client : str, BaseProvider or list of these
            As for the constructor.

        Returns
        -------
        Agent
            With the same tools, prompt and memory.
        """
        other = copy.copy(self)
        other._model = LazyProvider(client)  # noqa: SLF001 - of the same class
        return other

    def or_on(self, other: ModelChoice) -> Self:
        """Give this agent, on the model of another one where it names none.

        Parameters
        ----------
        other : Agent
            Whose model to use.

        Returns
        -------
        Agent
            This one, or the same on another model.
        """
        if self._model.is_named:
            return self
        return self.with_model(other._model.get())

    async def models(self) -> list[str]:
        """List the models that the agent's provider offers.

        Returns
        -------
        list of str
            Their names, as the provider spells them; of several providers as
            ``provider:model``.

        Raises
        ------
        AgentConfigurationError
            If a key is missing, or the provider has no list.
        AgentProviderError
            If its service cannot be reached, or refuses.

        Examples
        --------
        >>> import asyncio
        >>> from notebook_agents import Agent, ScriptedProvider
        >>> asyncio.run(Agent(ScriptedProvider([])).models())
        ['script']
        """
        listing = self._model.get().models()
        host = current_host()
        return await (listing if host is None else host.wait_async(listing))

    def models_sync(self) -> list[str]:
        """List the models, as `models` does, from sync code anywhere."""
        listing = self._model.get().models()
        host = current_host()
        return run_sync(listing) if host is None else host.wait(listing)
