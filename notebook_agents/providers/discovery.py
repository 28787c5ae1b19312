"""Model servers that already run on this machine, found by asking them."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from pydantic_core import from_json

__all__ = [
    "LOOPBACK_PORTS",
    "Found",
    "chat_model_in",
    "find_local_server",
    "is_loopback",
    "loopback_ports",
    "models_in",
]

LOOPBACK_PORTS: tuple[tuple[str, int], ...] = (
    ("ollama", 11434),
    ("lmstudio", 1234),
    ("llamacpp", 8080),
)
"""Names of providers and the ports where they usually are, by preference."""
PROBE_SECONDS = 0.2
"""How long to look, in all."""
MOST_BYTES = 2**20

_ANSWERS_OTHERWISE = re.compile(
    r"(?i)embed|rerank|whisper|\btts\b|bge-|minilm|\be5-|\bgte-|stable-diffusion|flux"
)


@dataclass(frozen=True, slots=True)
class Found:
    """A server that answers.

    Parameters
    ----------
    provider : str
        Name of the provider that speaks to it.
    model : str
        A model of its list that can chat.
    port : int
        Where on the loopback it is.
    """

    provider: str
    model: str
    port: int


def chat_model_in(listing: object) -> str | None:
    """Choose a model from the answer to ``GET /v1/models``.

    Parameters
    ----------
    listing : object
        The parsed answer, whatever it is.

    Returns
    -------
    str or None
        The first that does not embed, rank, listen or draw.

    Examples
    --------
    >>> chat_model_in({"data": [{"id": "nomic-embed-text"}, {"id": "llama3.2"}]})
    'llama3.2'
    """
    names = models_in(listing)
    return next((name for name in names if not _ANSWERS_OTHERWISE.search(name)), None)


def models_in(listing: object) -> list[str]:
    """List the models in the answer to ``GET /v1/models``, or in one like it.

    Parameters
    ----------
    listing : object
        The parsed answer, whatever it is.

    Returns
    -------
    list of str
        Their names, in its order; without those that say they cannot write.

    Examples
    --------
    >>> models_in({"data": [{"id": "llama3.2"}, {"id": "gemma3"}]})
    ['llama3.2', 'gemma3']
    >>> models_in({"models": [{"name": "models/gemini-3.8-flash"}]})
    ['gemini-3.8-flash']
    """
    models, key = listing, "id"
    if isinstance(listing, Mapping):
        models = listing.get("data")
        if models is None:  # as Gemini and Ollama have it
            models, key = listing.get("models"), "name"
    names = (
        model.get(key)
        for model in (models if isinstance(models, list) else ())
        if isinstance(model, Mapping) and _can_write(model)
    )
    return [
        name.removeprefix("models/") for name in names if isinstance(name, str) and name
    ]


def _can_write(model: Mapping[str, Any]) -> bool:
    ways = model.get("supportedGenerationMethods")  # Gemini's
    return not isinstance(ways, list) or "generateContent" in ways


def is_loopback(host: str | None) -> bool:
    """Tell whether a host is this machine.

    Parameters
    ----------
    host : str or None
        A name or an address.

    Returns
    -------
    bool
        True for the loopback only.
    """
    return host in {"localhost", "::1"} or (host or "").startswith("127.")


def loopback_ports(base_urls: Mapping[str, str]) -> list[tuple[str, int]]:
    """Say where to look, also where the environment has moved a server.

    Parameters
    ----------
    base_urls : mapping of str to str
        Base URLs by provider; those of other machines are left alone.

    Returns
    -------
    list of (str, int)
        Names of providers and their ports.
    """
    places = []
    for name, port in LOOPBACK_PORTS:
        parts = urlsplit(base_urls.get(name, ""))
        if not parts.hostname:
            places.append((name, port))
        elif is_loopback(parts.hostname) and parts.port:
            places.append((name, parts.port))
    return places


def find_local_server(
    ports: Iterable[tuple[str, int]] = LOOPBACK_PORTS,
    *,
    seconds: float = PROBE_SECONDS,
) -> Found | None:
    """Look for a model server on the loopback.

    Parameters
    ----------
    ports : iterable of (str, int)
        Names of providers and their ports, by preference.
    seconds : float
        How long to look, in all.

    Returns
    -------
    Found or None
        The first by preference of those that answered in time.

    Notes
    -----
    Works inside a running event loop, which it blocks for at most `seconds`;
    where nothing listens the refusal comes at once.
    """
    wanted = list(ports)
    answers: list[Found] = []

    def look() -> None:
        with asyncio.Runner() as runner:
            runner.run(_ask_all(wanted, answers, seconds))

    thread = threading.Thread(target=look, daemon=True, name="notebook-agents-probe")
    thread.start()
    thread.join()
    names = [name for name, _ in wanted]
    return min(answers, key=lambda found: names.index(found.provider), default=None)


async def _ask_all(
    ports: Iterable[tuple[str, int]], answers: list[Found], seconds: float
) -> None:
    async def ask(provider: str, port: int) -> None:
        model = chat_model_in(await _models_at(port))
        if model is not None:
            answers.append(Found(provider, model, port))

    tasks = [asyncio.create_task(ask(name, port)) for name, port in ports]
    if not tasks:
        return
    _, late = await asyncio.wait(tasks, timeout=seconds)
    for task in late:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _models_at(port: int) -> object:
    """Ask one server, in HTTP/1.0: its answer ends with its length or its connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(
            b"GET /v1/models HTTP/1.0\r\nHost: 127.0.0.1:%d\r\n"
            b"Accept: application/json\r\nConnection: close\r\n\r\n" % port
        )
        head = await reader.readuntil(b"\r\n\r\n")
        if head.split(maxsplit=2)[1:2] != [b"200"]:
            return None
        length = re.search(rb"(?im)^content-length:\s*(\d+)", head)
        wanted = min(int(length[1]), MOST_BYTES) if length else MOST_BYTES
        body = bytearray()
        while len(body) < wanted and (more := await reader.read(wanted - len(body))):
            body += more
    finally:
        writer.transport.abort()
    return from_json(body)
