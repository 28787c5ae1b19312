"""Cards, records and notices: escaped, short, and readable without styles."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notebook_agents.jupyter._words import arguments_text, call_text, capped, duration
from notebook_agents.jupyter.html import (
    ToolCard,
    header,
    notice,
    thinking,
    tool_card,
)
from notebook_agents.jupyter.record import ApprovalRecord
from notebook_agents.messages import Usage

EVIL = '<img src=x onerror="pwn()">&<script>'
TAGS = {"div", "span", "strong", "code", "details", "summary", "pre", "progress"}


class _Reader(HTMLParser):
    """Reads the text of a fragment, and which tags and attributes it uses."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


def _read(bundle: dict[str, str]) -> _Reader:
    reader = _Reader()
    reader.feed(bundle["text/html"])
    return reader


def _record(**changes) -> dict[str, str]:
    facts = {"agent": "helper", "tool": "rm", "args": {"path": "a.csv"}}
    facts |= {"decision": "allow", "by": "person"}
    return ApprovalRecord(**facts | changes).bundle()


def _all_of(text: str) -> list[dict[str, str]]:
    card = ToolCard(tool=text, args={text: text}, label=text, result=text)
    failed = ToolCard(tool=text, state="failed", error=text, detail=text)
    waiting = ToolCard(tool=text, progress=(1, 2, text))
    record = _record(
        agent=text, tool=text, args={text: [text]}, decision=text, reason=text, by=text
    )
    return [
        header(text, model=text, note=text),
        *map(tool_card, (card, failed, waiting)),
        record,
        notice(text, level="error"),
        thinking(text, title=text),
    ]


@given(st.text() | st.just(EVIL))
def test_nothing_is_html_but_what_we_wrote(text):
    for bundle in _all_of(text):
        read = _read(bundle)
        assert read.tags <= TAGS
        assert read.attributes <= {"style", "value", "max"}


@pytest.mark.parametrize("index", range(7))
def test_what_was_given_is_read_as_text(index):
    assert EVIL[:12] in _read(_all_of(EVIL)[index]).text


@given(st.text())
def test_every_bundle_can_be_sent(text):
    for bundle in _all_of(text):
        assert set(bundle) == {"text/html", "text/plain"}
        "".join(bundle.values()).encode("utf-8")


def test_money_in_a_reason_is_no_mathematics():
    markup = _record(reason="$5 and $6")["text/html"]
    assert "<span>$</span>5" in markup


@pytest.mark.parametrize("bundle", _all_of("x"))
def test_styles_stand_at_the_tags(bundle):
    assert not re.search(r"class=|<style|<script|http", bundle["text/html"])


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("running", "● run(a=1) · running"),
        ("waiting", "\N{DOUBLE VERTICAL LINE} run(a=1) · waiting for approval"),
        ("done", "✓ run(a=1) · done"),
        ("failed", "✗ run(a=1) · failed"),
        ("denied", "⊘ run(a=1) · denied"),
        ("cancelled", "■ run(a=1) · stopped"),
    ],
)
def test_a_state_is_said_in_words_too(state, words):
    bundle = tool_card(ToolCard(tool="run", args={"a": 1}, state=state))
    assert bundle["text/plain"].startswith(words)
    assert words in _read(bundle).text


def test_a_failed_card_says_why_in_its_line():
    card = ToolCard(tool="run", state="failed", error="ValueError: no\nmore", seconds=2)
    assert "failed · 2.0 s · ValueError: no" in _read(tool_card(card)).text


def test_a_failed_card_holds_the_traceback():
    card = ToolCard(tool="run", state="failed", error="no", detail="Traceback: x")
    assert "Traceback: x" in _read(tool_card(card)).text


def test_a_running_card_shows_how_far_it_is():
    bundle = tool_card(ToolCard(tool="run", progress=(3, 10, "rows")))
    assert bundle["text/plain"] == "● run() · running · 3 of 10 · rows"
    assert '<progress value="3" max="10"' in bundle["text/html"]


def test_progress_in_words_alone_has_no_number():
    bundle = tool_card(ToolCard(tool="run", progress=(0, None, "Opening")))
    assert bundle["text/plain"].endswith(" · Opening")


def test_progress_without_an_end_has_no_bar():
    bundle = tool_card(ToolCard(tool="run", progress=(3, None, "")))
    assert "<progress" not in bundle["text/html"]


def test_a_result_stands_under_the_call_in_plain_text():
    bundle = tool_card(ToolCard(tool="run", state="done", result="a\nb", seconds=0.5))
    assert bundle["text/plain"] == "✓ run() · done · 500 ms\n  a\n  b"


def test_long_arguments_are_shown_in_full_inside_the_card():
    card = ToolCard(tool="run", args={"sql": "select 1\nfrom " + "x" * 60}, result="1")
    assert "from " + "x" * 60 in _read(tool_card(card)).text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "✓ Approved by you: rm(path='a.csv')"),
        ({"by": "policy"}, "✓ Approved by the policy: rm(path='a.csv')"),
        ({"by": "ada"}, "✓ Approved by ada: rm(path='a.csv')"),
        ({"by": "callback"}, "✓ Approved by the callback: rm(path='a.csv')"),
        ({"by": "http"}, "✓ Approved over the web: rm(path='a.csv')"),
        ({"by": "http:ada"}, "✓ Approved by ada over the web: rm(path='a.csv')"),
        (
            {"decision": "deny", "by": "error", "reason": "asking failed"},
            "⊘ Denied: rm(path='a.csv') · asking failed",
        ),
        (
            {"decision": "respond", "reason": "by hand\n\ndone"},
            "✓ Answered by you: rm(path='a.csv') · by hand done",
        ),
        ({"decision": "deny"}, "⊘ Denied by you: rm(path='a.csv')"),
        ({"decision": "stop"}, "⊘ Denied, run stopped by you: rm(path='a.csv')"),
        ({"decision": "deny", "by": "cancelled"}, "■ Cancelled: rm(path='a.csv')"),
        (
            {"decision": "deny", "by": "timeout"},
            "⊘ Expired: rm(path='a.csv') · nobody answered",
        ),
        (
            {"at": 0, "reason": "because"},
            "✓ Approved by you: rm(path='a.csv') · 1970-01-01 00:00 UTC · because",
        ),
    ],
)
def test_a_record_says_what_was_decided_by_whom_and_why(changes, words):
    bundle = _record(**changes)
    assert bundle["text/plain"] == words
    assert words in _read(bundle).text


def test_a_record_holds_the_agent_and_the_arguments():
    text = _read(_record()).text
    assert "Asked by helper" in text
    assert "path: a.csv" in text


def test_a_record_of_an_edited_call_holds_both_versions():
    bundle = _record(asked={"path": "<b>all</b>"})
    text = _read(bundle).text
    assert bundle["text/plain"] == "✓ Approved by you, edited: rm(path='a.csv')"
    assert "path: a.csv" in text
    assert "The model had asked for" in text
    assert "path: <b>all</b>" in text
    assert "edited" not in _read(_record(asked={"path": "a.csv"})).text


@pytest.mark.parametrize(("decision", "by"), [("allow", "session"), ("always", "")])
def test_a_record_of_a_session_says_so(decision, by):
    said = _record(decision=decision, by=by)["text/plain"]
    assert said.startswith("✓ Approved for this session: rm")


@pytest.mark.parametrize(
    ("scope", "until", "lasts"),
    [
        ("tool", None, "every call of rm"),
        ("call", None, "only this exact call"),
        ("tool", 0, "every call of rm until 1970-01-01 00:00 UTC"),
    ],
)
def test_a_record_says_what_is_approved_from_now_on(scope, until, lasts):
    said = _record(decision="always", scope=scope, until=until)["text/plain"]
    assert said == f"✓ Approved for this session by you: rm(path='a.csv') · {lasts}"


@pytest.mark.parametrize("decision", ["deny", "respond"])
def test_what_a_person_wrote_is_kept_whole_inside_the_record(decision):
    text = "word " * 100 + "end"
    bundle = _record(decision=decision, reason=text)
    assert text in _read(bundle).text
    assert len(bundle["text/plain"]) < 200
    assert "The " not in _read(_record(decision=decision, reason="short")).text


def test_the_header_has_names_state_time_and_tokens():
    usage = Usage(prompt_tokens=1200, completion_tokens=34)
    bundle = header("helper", model="m1", state="done", seconds=75, usage=usage)
    words = "✓ helper · m1 · done · 1 min 15 s · 1,200 → 34 tokens"
    assert bundle["text/plain"] == words
    assert _read(bundle).text == words


def test_a_notice_is_one_line():
    assert notice("a\n b", level="warning")["text/plain"] == "⚠︎ Warning: a b"


def test_a_long_thought_shows_its_end():
    plain = thinking("a" * 5000 + "the end")["text/plain"]
    assert "911 characters before" in plain
    assert plain.endswith("the end")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\nb\n", "a\nb"),
        ("x\n" * 21 + "y", "x\n" * 20 + "… 2 more lines"),
        ("x" * 5000, "x" * 4096 + "\n… 904 more characters"),
        ("\x1b[31mred\x1b[0m\r\nb", "red\nb"),
    ],
)
def test_a_body_is_capped(text, shown):
    assert capped(text) == shown


def test_a_call_is_one_short_line():
    line = call_text("run", {"a": "x" * 200, "b": "y\n" * 50, "c": list(range(99))})
    assert "\n" not in line
    assert len(line) < 100


def test_arguments_of_several_lines_stay_readable():
    text = arguments_text({"sql": "select\nfrom", "n": 1, "s": "t"})
    assert text == "sql:\n  select\n  from\nn: 1\ns: t"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(None, ""), (0.25, "250 ms"), (2.34, "2.3 s"), (61, "1 min 1 s")],
)
def test_a_time_is_said_as_people_do(seconds, words):
    assert duration(seconds) == words
