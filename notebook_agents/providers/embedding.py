"""`Embedder`: what turns texts into vectors, whichever service is behind it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, Protocol, TypeAlias

from notebook_agents.errors import AgentConfigurationError

__all__ = ["Embedder", "Purpose", "in_batches"]

Purpose: TypeAlias = Literal["document", "query"]
"""What a text is: something to be found, or a question that finds it."""


class Embedder(Protocol):
    """What turns texts into vectors: every provider whose service can do so."""

    async def embed(
        self, texts: Sequence[str], *, purpose: Purpose | None = None
    ) -> list[list[float]]:
        """Embed texts.

        Parameters
        ----------
        texts : sequence of str
            Any number.
        purpose : {"document", "query"}, optional
            What they are, for models that tell the two apart.

        Returns
        -------
        list of list of float
            A vector for each text, in the same order, all of one length.
        """


async def in_batches(
    texts: Sequence[str],
    most: int,
    embed: Callable[[list[str]], Awaitable[list[list[float]]]],
) -> list[list[float]]:
    """Embed any number of texts with a service that takes a few at a time.

    Parameters
    ----------
    texts : sequence of str
        Any number.
    most : int
        Texts of one request.
    embed : callable
        Embeds a batch.

    Returns
    -------
    list of list of float
        A vector for each text, in the same order.

    Raises
    ------
    AgentConfigurationError
        If it is one text and no list.
    """
    given: object = texts
    is_list = isinstance(given, Sequence) and not isinstance(given, str)
    if not is_list or not all(isinstance(text, str) for text in texts):
        message = "Pass a list of texts, also for one: embeddings([text])."
        raise AgentConfigurationError(message)
    vectors: list[list[float]] = []
    for start in range(0, len(texts), most):
        vectors += await embed(list(texts[start : start + most]))
    return vectors
