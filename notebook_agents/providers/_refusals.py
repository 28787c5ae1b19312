"""What a model service says when it refuses, as an error that says what to do."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from notebook_agents.errors import (
    AgentProviderError,
    ContentFilteredError,
    ContextLengthError,
    ModelNotFoundError,
    NotebookAgentsError,
    ProviderAuthError,
    ProviderRateLimitError,
    ProviderTimeoutError,
)
from notebook_agents.providers._error_words import Words, words_of
from notebook_agents.providers._failures import (
    Failure,
    ServiceFacts,
    cut,
    redact,
    unreadable,
)

__all__ = ["is_error", "is_too_long", "object_in", "refused", "status_of"]

BAD_REQUEST, NO_CREDIT = 400, 402


def refused(
    status: int,
    body: object,
    service: ServiceFacts,
    *,
    wait_s: float | None = None,
    should_retry: bool | None = None,
) -> Failure:
    """Say why the service refused a request.

    Parameters
    ----------
    status : int
        HTTP status, or the code inside an error of a stream; 0 if unknown.
    body : object
        The parsed body, or its text.
    service : ServiceFacts
        Whom it is about.
    wait_s : float, optional
        Seconds to wait, if the service said so.
    should_retry : bool, optional
        Whether to try again, if the service said so.

    Returns
    -------
    Failure
        With the error to raise.
    """
    words = words_of(body)
    if status == BAD_REQUEST and "credit balance is too low" in words.all:
        status = NO_CREDIT  # as everybody but Anthropic says
    wait_s = words.wait_s if wait_s is None else wait_s
    rule = next(rule for rule in _RULES if rule.fits(status, words))
    is_retryable = rule.is_retryable
    if should_retry is False:
        is_retryable = False
    sentence = rule.sentence.format(
        name=service.name,
        url=service.url,
        model=service.model,
        status=status or "an error",
        hint=service.missing_model_hint,
        path_hint=service.missing_path_hint,
    )
    if words.message:
        sentence = f"{sentence} It said: {cut(words.message)}"
    sentence = redact(sentence, service.secrets)
    facts: dict[str, Any] = {}
    if issubclass(rule.error, AgentProviderError):
        facts = {
            "provider": service.name,
            "provider_status": status or None,
            "retryable": is_retryable,
        }
        if issubclass(rule.error, ProviderRateLimitError):
            facts["retry_after"] = wait_s
        if issubclass(rule.error, ProviderTimeoutError):
            facts["status_code"] = 504
    return Failure(
        rule.error(sentence, **facts),
        f"{service.name} answered {status}" if status else f"{service.name} failed",
        is_retryable=is_retryable,
        wait_s=wait_s,
        most_retries=rule.most_retries,
    )


@dataclass(frozen=True, slots=True)
class _Rule:
    error: type[NotebookAgentsError]
    fits: Callable[[int, Words], bool]
    sentence: str
    is_retryable: bool = False
    most_retries: int | None = None


def _status(*wanted: int) -> Callable[[int, Words], bool]:
    return lambda status, _: status in wanted


def _says(pattern: str, *, below: int = 500) -> Callable[[int, Words], bool]:
    search = re.compile(pattern).search
    return lambda status, words: status < below and bool(search(words.all))


def _missing_model(status: int, words: Words) -> bool:
    named = re.search(r"model_not_found|not a valid model", words.all)
    return bool(named) or (status == 404 and "model" in words.all)  # noqa: PLR2004


_too_long = _says(
    r"context[_ ](length|window|size|limit)|maximum context|prompt is too long"
    r"|too many tokens|exceed_context|reduce the length"
    r"|exceeds the maximum number of tokens"
)


def is_too_long(words: Words) -> bool:
    """Tell whether an error is about the length of the whole conversation."""
    return _too_long(BAD_REQUEST, words)


_RULES = (
    _Rule(
        ContextLengthError,
        _too_long,
        "The conversation is longer than {model} can read. Shorten it, or start a "
        "new one.",
    ),
    _Rule(
        ContentFilteredError,
        _says(
            r"content_filter|content_policy|content management policy"
            r"|(usage|bio|cyber)[_ ]polic|policy_violation"
        ),
        "{name} blocked the request because of its content rules. Ask in other words.",
    ),
    _Rule(
        AgentProviderError,
        _status(NO_CREDIT),
        "The account at {name} is out of credit. Add some there.",
    ),
    _Rule(
        ProviderRateLimitError,
        # Google says the same of a quota of this minute as of one that is used up.
        lambda status, words: (
            status == 429  # noqa: PLR2004 - too many requests
            and bool(re.search(r"perminute|retrydelay", words.all))
            and not re.search(r"perday|limit: 0\b", words.all)
        ),
        "Too many requests to {name}. Wait a little, or ask for a higher limit.",
        is_retryable=True,
    ),
    _Rule(
        ProviderRateLimitError,
        _says(r"insufficient_quota|exceeded your current quota|billing_hard_limit"),
        "The quota of this key at {name} is used up. Check plan and billing there.",
    ),
    _Rule(
        AgentProviderError,
        _says(r"tool_use_failed"),
        "The model wrote a tool call that {name} could not read. Run it again.",
        is_retryable=True,
        most_retries=1,
    ),
    _Rule(
        AgentProviderError,
        _says(r"does not support tools|tool(s| use| calling) (is|are) not supported"),
        "{model} cannot call tools. Choose another model, or an agent without tools.",
    ),
    _Rule(
        ModelNotFoundError,
        _missing_model,
        "{name} has no model named {model!r}. {hint}",
    ),
    _Rule(
        ProviderAuthError,
        lambda status, words: (
            status in {401, 403} or bool(re.search(r"api_key_invalid", words.all))
        ),
        "{name} refused the key ({status}). Check that it is right and may use "
        "{model}.",
    ),
    _Rule(
        AgentProviderError,
        _status(404, 405),
        "There is no chat service at {url} ({status}). {path_hint}",
    ),
    _Rule(
        ContextLengthError,
        _status(413),
        "The request is too large for {name}. Shorten the conversation.",
    ),
    _Rule(
        ProviderRateLimitError,
        _status(429),
        "Too many requests to {name}. Wait a little, or ask for a higher limit.",
        is_retryable=True,
    ),
    _Rule(
        ProviderTimeoutError,
        _status(408, 504),
        "{name} gave up waiting for the model ({status}). Run it again.",
        is_retryable=True,
    ),
    _Rule(
        AgentProviderError,
        lambda status, words: (
            status in {409, 425}
            or status >= 500  # noqa: PLR2004 - a fault of the service
            or (not status and bool(re.search(r"overloaded|unavailable", words.all)))
        ),
        "{name} is overloaded or out of order ({status}). Run it again later.",
        is_retryable=True,
    ),
    _Rule(
        AgentProviderError,
        lambda status, _: 300 <= status < 400,  # noqa: PLR2004 - a redirect
        "{url} has moved ({status}). Use the new address as the base URL.",
    ),
    _Rule(
        AgentProviderError,
        lambda status, _: True,
        "{name} did not accept the request ({status}). Change what it objects to.",
    ),
)


_STATUS_OF_WORD = {
    "invalid_request_error": BAD_REQUEST,
    "billing_error": NO_CREDIT,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
    "invalid_prompt": 400,
    "server_error": 500,
    "server_is_overloaded": 503,
    "slow_down": 503,
}
"""What Anthropic and OpenAI would have answered, had they not begun to stream."""


def status_of(body: object) -> int:
    """Find the HTTP status that an error inside a stream names.

    Parameters
    ----------
    body : object
        The parsed error.

    Returns
    -------
    int
        The status; 0 if it names none.
    """
    if isinstance(body, Mapping):
        inner = body.get("error")
        for part in (inner, body):
            if not isinstance(part, Mapping):
                continue
            for name in ("code", "status", "status_code"):
                value = part.get(name)
                if str(value).isdecimal() and 400 <= int(str(value)) <= 599:  # noqa: PLR2004
                    return int(str(value))
        words = words_of(body)
        if "rate_limit" in words.all:
            return 429
        if re.search(r"authentication|invalid_api_key", words.all):
            return 401
        return _STATUS_OF_WORD.get(words.code) or _STATUS_OF_WORD.get(words.kind, 0)
    return 0


def is_error(body: Mapping[str, Any], event: str = "") -> bool:
    """Tell whether an object of a stream is an error.

    Parameters
    ----------
    body : mapping
        The parsed object.
    event : str
        Name of the event that carried it.

    Returns
    -------
    bool
        True for each of the shapes that services use.
    """
    return (
        bool(body.get("error"))
        or body.get("object") == "error"
        or body.get("type") == "error"
        or event == "error"
    )


def object_in(reply: object, service: ServiceFacts) -> dict[str, Any]:
    """Give a whole reply that is an object, and no error in the guise of one.

    Parameters
    ----------
    reply : object
        The parsed reply; some list their models without an object around.
    service : ServiceFacts
        Whom an error is about.

    Returns
    -------
    dict
        The object.

    Raises
    ------
    Failure
        If it is none, or an error.
    """
    if isinstance(reply, list):
        reply = {"data": reply}
    if not isinstance(reply, dict):
        failure = unreadable(str(reply), service)
        raise failure
    if is_error(reply):
        failure = refused(status_of(reply), reply, service)
        raise failure
    return reply
