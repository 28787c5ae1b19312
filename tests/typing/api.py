"""Never run: mypy checks that a user's code has the types it should have."""

from typing import assert_type

from notebook_agents.errors import (
    AgentAPIProviderError,
    AgentProviderError,
    MissingExtraError,
    ProviderRateLimitError,
)
from notebook_agents.events import Event, TokenEvent, event_from_dict


def read_an_error(error: ProviderRateLimitError) -> None:
    assert_type(error.retry_after, float | None)
    assert_type(error.provider_status, int | None)
    assert_type(error.retryable, bool)


def catch_an_error(error: ValueError | AgentAPIProviderError) -> None:
    if isinstance(error, MissingExtraError):
        assert_type(error.extra, str)
    elif isinstance(error, AgentProviderError):
        assert_type(error.provider, str)


def read_an_event(event: Event) -> None:
    assert_type(event_from_dict(event.to_dict()), Event)
    if isinstance(event, TokenEvent):
        assert_type(event.text, str)
