"""`ModelChoice`: which model answers, why that one, and which others there are."""

from __future__ import annotations

from notebook_agents.hosts import current_host
from notebook_agents.providers.lazy import LazyProvider
from notebook_agents.sync import run_sync

__all__ = ["ModelChoice"]


class ModelChoice:
    """What has a model, and can tell which others it might have."""

    _model: LazyProvider

    @property
    def model_label(self) -> str:
        """What answers, as ``provider:model``."""
        return self._model.label

    @property
    def model_reason(self) -> str:
        """Why that model was chosen; empty if the user named it."""
        return self._model.reason

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
