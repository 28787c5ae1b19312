"""What a service answers when it is asked for its models."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Any

from notebook_agents.errors import (
    AgentConfigurationError,
    ModelNotFoundError,
    NotebookAgentsError,
)
from notebook_agents.providers._failures import ServiceFacts, unreadable
from notebook_agents.providers.discovery import models_in

__all__ = ["listed"]

_NOT_THERE = frozenset({404, 405})


async def listed(
    asking: Awaitable[Mapping[str, Any]], service: ServiceFacts
) -> list[str]:
    """Give the names in a list of models.

    Parameters
    ----------
    asking : awaitable of mapping
        Gives the answer of the service.
    service : ServiceFacts
        Whom an error is about.

    Returns
    -------
    list of str
        In the order of the service.

    Raises
    ------
    AgentConfigurationError
        If it has no such list.
    NotebookAgentsError
        If it cannot be asked, or answers something else.
    """
    try:
        listing = await asking
    except NotebookAgentsError as error:
        if not _says_that_it_is_not_there(error):
            raise
        message = (
            f"{service.name} at {service.url} has no list of models. Look up what "
            "there is in its documentation."
        )
        raise AgentConfigurationError(message) from error
    if not any(isinstance(listing.get(name), list) for name in ("data", "models")):
        raise unreadable(str(listing), service).error
    return models_in(listing)


def _says_that_it_is_not_there(error: NotebookAgentsError) -> bool:
    # A 404 that speaks of models is taken for one about the model.
    status = getattr(error, "provider_status", None)
    return isinstance(error, ModelNotFoundError) or status in _NOT_THERE
