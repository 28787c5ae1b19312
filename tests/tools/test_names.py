"""Names of tools are such that every service accepts them."""

from __future__ import annotations

import contextlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notebook_agents.errors import AgentConfigurationError
from notebook_agents.tools.names import check_name, name_from


@pytest.mark.parametrize("name", ["a", "_", "get-it", "A1_b", "x" * 64])
def test_a_valid_name_stays(name):
    assert check_name(name) == name
    assert name_from(name) == name


@pytest.mark.parametrize(
    ("written", "name"),
    [("größe", "gro_e"), ("café", "cafe"), ("x" * 70, "x" * 64), ("ζa", "_a")],
)
def test_a_name_of_python_is_fitted(written, name):
    assert name_from(written) == name


@pytest.mark.parametrize("written", ["<lambda>", "关", ""])
def test_a_name_with_nothing_to_read_is_asked_for(written):
    with pytest.raises(AgentConfigurationError, match="needs a name"):
        name_from(written)


@given(st.text())
def test_whatever_is_accepted_is_valid(written):
    for make in (check_name, name_from):
        with contextlib.suppress(AgentConfigurationError):
            assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", make(written))
