"""The encoder of server-sent events."""

from __future__ import annotations

import pytest

from notebook_agents.server.sse import encode_event, encode_json


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_line_of_the_data_gets_its_own_field(end):
    """WHATWG, section 9.2: each of the three ends a line."""
    assert encode_event(f"a{end}{end}b") == b"data: a\ndata: \ndata: b\n\n"


@pytest.mark.parametrize("field", ["id", "event"])
@pytest.mark.parametrize("evil", ["a\nb", "a\rb", "a\0b"])
def test_a_field_cannot_smuggle_in_another(field, evil):
    with pytest.raises(ValueError, match=field):
        encode_event("x", **{field: evil})


def test_data_without_a_name_or_an_id_is_just_data():
    assert encode_event("x") == b"data: x\n\n"


def test_json_is_one_line_for_every_reader():
    frame = encode_json("done", {"text": "a\n\x85\u2028\u2029b"}, id=3)
    assert frame == (
        b'id: 3\nevent: done\ndata: {"text":"a\\n\\u0085\\u2028\\u2029b"}\n\n'
    )
    assert len(frame.decode().splitlines()) == 4


def test_json_holds_what_json_has_no_word_for():
    class Odd:
        def __str__(self) -> str:
            return "odd"

    frame = encode_json("x", {"never": float("inf"), "odd": Odd()}, id=1)
    assert b'{"never":null,"odd":"odd"}' in frame
