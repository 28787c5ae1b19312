"""Texts to vectors, as Gemini's batchEmbedContents has it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from notebook_agents.providers.embedding import Purpose

__all__ = ["embedding_body", "vectors_in"]

_TOLD_BY_TYPE = re.compile(r"(text-)?embedding-0|gemini-embedding-0")
"""Models that are told by a type what a text is; later ones by words in it."""
_TYPES = {"document": "RETRIEVAL_DOCUMENT", "query": "RETRIEVAL_QUERY"}
_WORDS = {"document": "title: none | text: ", "query": "task: search result | query: "}


def embedding_body(
    texts: Sequence[str],
    *,
    model: str,
    purpose: Purpose | None = None,
    dimensions: int | None = None,
) -> dict[str, Any]:
    """Write a request.

    Parameters
    ----------
    texts : sequence of str
        At most 100.
    model : str
        The model that embeds.
    purpose : {"document", "query"}, optional
        What they are.
    dimensions : int, optional
        Length of a vector.

    Returns
    -------
    dict
        The body: a request for each text, since two in one give one vector.
    """
    asked: dict[str, Any] = {"model": f"models/{model}"}
    if dimensions is not None:
        asked["outputDimensionality"] = dimensions
    words = ""
    if purpose is not None and _TOLD_BY_TYPE.match(model):
        asked["taskType"] = _TYPES[purpose]
    elif purpose is not None:
        words = _WORDS[purpose]
    return {
        "requests": [
            {**asked, "content": {"parts": [{"text": words + text}]}} for text in texts
        ]
    }


def vectors_in(reply: Mapping[str, Any], number: int) -> list[list[float]]:
    """Read a reply.

    Parameters
    ----------
    reply : mapping
        As it came.
    number : int
        How many vectors were asked for.

    Returns
    -------
    list of list of float
        In the order of the texts.

    Raises
    ------
    ValueError
        If they are not there; also a LookupError or a TypeError.
    """
    vectors = [[*map(float, item["values"])] for item in reply["embeddings"]]
    if len(vectors) != number or not all(vectors):
        message = f"{len(vectors)} vectors came for {number} texts"
        raise ValueError(message)
    return vectors
