"""`Failure`: what goes wrong on the way to a model service, and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from notebook_agents.errors import (
    AgentProviderError,
    ContentFilteredError,
    NotebookAgentsError,
    ProviderReplyError,
    ProviderTimeoutError,
    StreamInterruptedError,
)
from notebook_agents.providers._transport import TransportError, Trouble

__all__ = [
    "KEY_SHAPES",
    "REDACTED",
    "Failure",
    "ServiceFacts",
    "blocked",
    "cut",
    "redact",
    "unreachable",
    "unreadable",
]

REDACTED = "[redacted]"
KEY_SHAPES = (
    r"\bsk-[\w-]{8,}|\b[pr]k-[\w-]{16,}|\bAIza[\w-]{30,}|\bhf_\w{20,}|\bgsk_\w{20,}"
    r"|\bgh[pousr]_\w{20,}|\bxox[abprs]-[\w-]{10,}|\bAKIA[A-Z0-9]{12,}"
)
"""Regular expression of what the keys of well-known services look like."""
MOST_DETAIL = 500
"""Characters of the service's own words that an error repeats."""
SHORTEST_SECRET = 4
"""Characters; anything shorter is part of many words."""


class Failure(Exception):  # noqa: N818 - it never leaves the providers
    """One try that failed, and whether another makes sense.

    Parameters
    ----------
    error : NotebookAgentsError
        What the user gets if it is the last one.
    reason : str
        The same in a few words.
    is_retryable : bool
        Whether the same request may succeed later.
    wait_s : float, optional
        Seconds to wait, if the service said so.
    most_retries : int, optional
        Give up after so many, whatever the user allows.
    """

    def __init__(
        self,
        error: NotebookAgentsError,
        reason: str,
        *,
        is_retryable: bool = False,
        wait_s: float | None = None,
        most_retries: int | None = None,
    ) -> None:
        super().__init__(str(error))
        self.error = error
        self.reason = reason
        self.is_retryable = is_retryable
        self.wait_s = wait_s
        self.most_retries = most_retries

    def retries(self, allowed: int) -> int:
        """Say how often to try again, of as many times as the user allows."""
        if not self.is_retryable:
            return 0
        return allowed if self.most_retries is None else min(allowed, self.most_retries)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceFacts:
    """What an error says about the service it came from.

    Parameters
    ----------
    name : str
        The provider's.
    url : str
        Where requests go.
    model : str
        What was asked for.
    secrets : tuple of str
        What no text may show.
    unreachable_hint : str
        What to do if nobody answers there.
    missing_model_hint : str
        What to do if it has no such model.
    missing_path_hint : str
        What to do if there is nothing at the address.
    """

    name: str
    url: str
    model: str = ""
    secrets: tuple[str, ...] = field(default=(), repr=False)
    unreachable_hint: str = "Is the URL right, and the service running?"
    missing_model_hint: str = "Check its name."
    missing_path_hint: str = "Check the base URL; most end in /v1."


def redact(text: str, secrets: Iterable[str]) -> str:
    """Take secrets out of a text.

    Parameters
    ----------
    text : str
        Any text.
    secrets : iterable of str
        What must not be seen.

    Returns
    -------
    str
        The same, with each secret replaced.

    Examples
    --------
    >>> redact("the key is hunter2", ["hunter2"])
    'the key is [redacted]'
    """
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= SHORTEST_SECRET:
            text = text.replace(secret, REDACTED)
    return text


def unreachable(error: TransportError, service: ServiceFacts) -> Failure:
    """Say why no reply came, or not all of it.

    Parameters
    ----------
    error : TransportError
        What happened.
    service : ServiceFacts
        Whom it is about.

    Returns
    -------
    Failure
        With the error to raise.
    """
    kind = error.kind
    cls, sentence, is_retryable = _TRANSPORT[kind]
    text = sentence.format(
        name=service.name, url=service.url, hint=service.unreachable_hint
    )
    if error.detail and kind in _TELLING:
        text = f"{text} ({cut(error.detail)})"
    facts: dict[str, Any] = {"provider": service.name, "retryable": is_retryable}
    if issubclass(cls, ProviderTimeoutError):
        facts["status_code"] = 504
    facts["original"] = error.original
    told = cls(redact(text, service.secrets), **facts)
    return Failure(told, kind.value, is_retryable=is_retryable)


def unreadable(said: bytes | str, service: ServiceFacts) -> Failure:
    """Say that what came is no reply of a model.

    Parameters
    ----------
    said : bytes or str
        What came.
    service : ServiceFacts
        Whom it is about.

    Returns
    -------
    Failure
        With the error to raise.
    """
    text = said if isinstance(said, str) else said.decode("utf-8", "replace")
    message = (
        f"What {service.name} sent cannot be read as a reply of a model. "
        "Check the base URL, or try another model. "
        f"It was: {redact(cut(text), service.secrets)}"
    )
    return Failure(
        ProviderReplyError(message, provider=service.name), "unreadable reply"
    )


def blocked(why: str, service: ServiceFacts) -> Failure:
    """Say that the service showed nothing of a reply.

    Parameters
    ----------
    why : str
        Its word for the reason.
    service : ServiceFacts
        Whom it is about.

    Returns
    -------
    Failure
        With the error to raise.
    """
    message = f"{service.name} blocked the whole reply ({why}). Ask in other words."
    return Failure(ContentFilteredError(message, provider=service.name), "blocked")


_TRANSPORT: dict[Trouble, tuple[type[AgentProviderError], str, bool]] = {
    Trouble.REFUSED: (
        AgentProviderError,
        "Nothing answers at {url}: the connection was refused. {hint}",
        True,
    ),
    Trouble.DNS: (
        AgentProviderError,
        "The host of {url} is not known. Check the URL and the network connection.",
        True,
    ),
    Trouble.TLS: (
        AgentProviderError,
        "No secure connection to {url}. If a company proxy sits in between, set "
        "CA_BUNDLE_PATH to its certificates, or pass verify=.",
        False,
    ),
    Trouble.CONNECT: (
        AgentProviderError,
        "No connection to {url}. {hint}",
        True,
    ),
    Trouble.PROXY: (
        AgentProviderError,
        "The proxy on the way to {url} did not let the request through. "
        "Check HTTPS_PROXY and NO_PROXY.",
        False,
    ),
    Trouble.CONNECT_TIMEOUT: (
        ProviderTimeoutError,
        "No connection to {url} in time. {hint}",
        True,
    ),
    Trouble.STALL: (
        ProviderTimeoutError,
        "{name} stopped sending. If the model needs that long, pass a larger "
        "stall_timeout=.",
        True,
    ),
    Trouble.DEADLINE: (
        ProviderTimeoutError,
        "The reply of {name} took longer than timeout= allows.",
        False,
    ),
    Trouble.CUT: (
        StreamInterruptedError,
        "The connection to {name} broke before the reply was complete. Run it again.",
        True,
    ),
    Trouble.OVERSIZED: (
        ProviderReplyError,
        "The reply of {name} is too large to be one. Is {url} a model service?",
        False,
    ),
    Trouble.PROTOCOL: (
        ProviderReplyError,
        "What answers at {url} does not speak HTTP as it should. Check the URL.",
        False,
    ),
}
_TELLING = {Trouble.TLS, Trouble.CONNECT, Trouble.PROXY, Trouble.PROTOCOL}


def cut(text: str) -> str:
    """Give at most 500 characters of a service's own words."""
    text = text.strip()
    return text if len(text) <= MOST_DETAIL else text[: MOST_DETAIL - 1] + "…"
