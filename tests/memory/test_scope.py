"""A scope says whose conversation it is, and its key keeps them apart."""

from __future__ import annotations

import hashlib
import json
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notebook_agents import MemoryScope, create_conversation_id

ID = "00000000-0000-0000-0000-000000000001"
PARTS = ("user_id", "tenant_id", "agent_id", "source_id")
# Stores on disk depend on this value: it must never change.
GOLDEN = "7a8c600da7551c252b13653438f61bd0329edd723c50c147cb189f1a1b085aa9"


def test_a_new_conversation_has_a_random_identifier():
    one, two = create_conversation_id(), MemoryScope().conversation_id
    assert one != two
    assert uuid.UUID(one).version == uuid.UUID(two).version == 4


@pytest.mark.parametrize(
    "spelling", [ID, ID.replace("-", ""), f"{{{ID}}}", f"urn:uuid:{ID}"]
)
def test_any_spelling_of_an_identifier_means_the_same(spelling):
    """Acceptance check 14."""
    assert MemoryScope(conversation_id=spelling).conversation_id == ID


@pytest.mark.parametrize("wrong", ["", "abc", None, 3])
def test_what_is_no_identifier_is_refused(wrong):
    with pytest.raises(ValueError, match="UUID"):
        MemoryScope(conversation_id=wrong)


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("blank", ["", "  "])
def test_a_blank_part_is_refused(part, blank):
    """Acceptance check 14."""
    with pytest.raises(ValueError, match=part):
        MemoryScope(**{part: blank})


def test_the_key_of_a_plain_conversation_is_its_identifier():
    """Acceptance check 14."""
    assert MemoryScope(conversation_id=ID).key == ID


def test_the_key_of_a_scope_is_golden():
    """Acceptance check 14, requirement A58."""
    scope = MemoryScope(
        conversation_id=ID, user_id="ada", tenant_id="t", agent_id="a", source_id="s"
    )
    assert scope.key == GOLDEN


@given(
    st.fixed_dictionaries({}, optional={p: st.text("ab ", min_size=1) for p in PARTS})
)
def test_the_key_is_a_digest_of_stable_json(parts):
    parts = {name: value for name, value in parts.items() if value.strip()}
    scope = MemoryScope(conversation_id=ID, **parts)
    everything = {"conversation_id": ID, **dict.fromkeys(PARTS), **parts}
    text = json.dumps(everything, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(text.encode()).hexdigest()
    assert scope.key == (digest if parts else ID)


@pytest.mark.parametrize("part", PARTS)
def test_any_other_part_makes_another_key(part):
    """Acceptance check 14."""
    same = dict.fromkeys(PARTS, "x")
    one = MemoryScope(conversation_id=ID, **same)
    two = MemoryScope(conversation_id=ID, **{**same, part: "y"})
    assert one.key != two.key


def test_the_metadata_are_the_parts_and_the_key():
    scope = MemoryScope(conversation_id=ID, user_id="ada")
    assert scope.metadata == {
        "conversation_id": ID,
        "user_id": "ada",
        "tenant_id": None,
        "agent_id": None,
        "source_id": None,
        "scope_key": scope.key,
    }


@pytest.mark.parametrize(
    ("wanted", "fits"),
    [
        ({}, True),
        ({"user_id": None}, True),
        ({"user_id": "ada"}, True),
        ({"user_id": "bob"}, False),
        ({"user_id": "ada", "tenant_id": "t"}, False),
    ],
)
def test_a_filter_that_is_none_fits_everything(wanted, fits):
    """Acceptance check 14."""
    assert MemoryScope(user_id="ada").matches(**wanted) is fits


def test_a_scope_is_a_value():
    assert MemoryScope(conversation_id=ID) == MemoryScope(conversation_id=ID)
    with pytest.raises(AttributeError):
        MemoryScope().user_id = "ada"
