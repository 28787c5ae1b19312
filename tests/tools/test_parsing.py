"""Arguments in a model's reply, read outside of a tool."""

from __future__ import annotations

import pytest

from notebook_agents.errors import AgentProviderError
from notebook_agents.tools import parse_tool_args


@pytest.mark.parametrize("text", ["", " \n", "{}"])
def test_blank_text_is_no_arguments(text):
    """Requirement A40."""
    assert parse_tool_args(text) == {}


def test_an_object_is_read():
    """Requirement A40."""
    assert parse_tool_args('{"a": [1, 2.5]}') == {"a": [1, 2.5]}


@pytest.mark.parametrize("text", ["[1]", '{"a": ', "x" * 1000])
def test_anything_else_is_a_provider_error(text):
    """Requirement A40: status 422, and the message holds the first 200 characters."""
    with pytest.raises(AgentProviderError) as caught:
        parse_tool_args(text)
    assert caught.value.status_code == 422
    assert text[:200] in str(caught.value)
    assert text[:201] not in str(caught.value) or len(text) <= 200
