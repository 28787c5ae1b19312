"""The events of a run become the same segments, live or from a file."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notebook_agents.events import (
    ActionEvent,
    AnswerEvent,
    ApprovalRequestedEvent,
    ApprovalResultEvent,
    ErrorEvent,
    GuardrailEvent,
    ObservationEvent,
    Origin,
    ProgressEvent,
    RetryEvent,
    TaskEvent,
    ThoughtEvent,
    TokenEvent,
    ToolErrorEvent,
    event_from_dict,
)
from notebook_agents.jupyter._blocks import LineReader
from notebook_agents.jupyter.look import Look
from notebook_agents.jupyter.transcript import Transcript
from notebook_agents.messages import Usage

ORIGIN = Origin("r1", "helper")


class _Story:
    """A transcript, and a short way to tell it events."""

    def __init__(self, look=None, **options) -> None:
        self.transcript = Transcript(look, **options)
        self.numbers = itertools.count(1)
        self.events = []

    def tell(self, kind, step=1, /, **fields) -> list[str]:
        event = kind(ORIGIN, next(self.numbers), 0.0, step, Usage(), **fields)
        self.events.append(event)
        return self.transcript.apply(event)

    def say(self, text: str, step: int = 1) -> list[str]:
        return self.tell(TokenEvent, step, text=text)

    def think(self, text: str, step: int = 1) -> list[str]:
        return self.tell(TokenEvent, step, text=text, channel="reasoning")

    def call(self, tool: str = "run", call_id: str = "c1", **args) -> list[str]:
        return self.tell(ActionEvent, tool=tool, args=args, call_id=call_id, label=tool)

    def observe(self, content: str = "ok", call_id: str = "c1", **fields) -> list[str]:
        return self.tell(
            ObservationEvent, tool="run", content=content, call_id=call_id, **fields
        )

    def plain(self) -> list[str]:
        keys = self.transcript.keys
        return [self.transcript.bundle(key)["text/plain"] for key in keys]


@pytest.fixture
def story() -> _Story:
    return _Story()


def test_tokens_go_on_in_one_segment(story):
    assert story.say("Hel") == ["text:1"]
    assert story.say("lo") == ["text:1"]
    assert story.plain() == ["Hello"]


def test_a_text_segment_is_harmless_markdown_and_its_own_plain_text(story):
    story.say("<b>hi</b>")
    bundle = story.transcript.bundle("text:1")
    assert bundle == {
        "text/markdown": "&lt;b>hi&lt;/b>",
        "text/plain": "<b>hi</b>",
    }


def test_reasoning_has_a_segment_that_ends_with_the_answer(story):
    story.think("hm")
    assert story.plain() == ["Thinking…:\n  hm"]
    assert story.say("yes") == ["thinking:1", "text:1"]
    assert story.plain() == ["Thought:\n  hm", "yes"]


def test_a_thought_that_was_streamed_is_not_shown_twice(story):
    story.think("hm")
    story.tell(ThoughtEvent, kind="reasoning", content="hm")
    assert story.plain() == ["Thought:\n  hm"]


def test_a_thought_that_was_not_streamed_is_shown(story):
    story.tell(ThoughtEvent, kind="reasoning", content="hm")
    story.tell(ThoughtEvent, kind="plan", content="I will look.")
    assert story.plain() == ["Thought:\n  hm", "I will look."]


def test_an_answer_that_was_streamed_is_not_shown_twice(story):
    story.say("42 ")
    story.tell(AnswerEvent, content="42")
    assert story.plain() == ["42 "]
    assert story.transcript.is_finished


def test_an_answer_that_was_not_streamed_is_shown(story):
    assert story.tell(AnswerEvent, content="42") == ["text:1"]
    assert story.plain() == ["42"]


def test_an_answer_that_a_guard_changed_replaces_what_was_streamed(story):
    story.say("call 555-1234")
    story.tell(AnswerEvent, content="call [PHONE]")
    assert story.plain() == ["call [PHONE]"]


def test_text_before_and_after_a_call_stands_around_its_card(story):
    story.say("Looking.")
    story.call()
    story.observe()
    story.say("Found.", step=2)
    assert story.transcript.keys == ("text:1", "tool:c1", "text:2")


def test_a_card_follows_its_call_to_the_end(story):
    assert story.call(a=1) == ["tool:c1"]
    progress = {"tool": "run", "call_id": "c1", "done": 1, "total": 2, "message": "m"}
    assert story.tell(ProgressEvent, **progress) == ["tool:c1"]
    assert story.plain() == ["● run(a=1) · running · 1 of 2 · m"]
    assert story.observe("fine", seconds=2.0) == ["tool:c1"]
    assert story.plain() == ["✓ run(a=1) · done · 2.0 s\n  fine"]


def test_a_card_of_a_failed_call_says_why(story):
    story.call()
    story.tell(ToolErrorEvent, tool="run", call_id="c1", error="E: no", detail="trace")
    story.observe("Tool execution failed: E: no", status="failed")
    assert story.plain() == ["✗ run() · failed · E: no"]
    assert "trace" in story.transcript.bundle("tool:c1")["text/html"]


def test_calls_at_the_same_time_have_a_card_each(story):
    story.call(call_id="a")
    story.call(call_id="b")
    assert story.observe(call_id="a") == ["tool:a"]
    assert story.plain() == ["✓ run() · done\n  ok", "● run() · running"]


def test_a_call_id_that_comes_again_has_a_card_of_its_own(story):
    story.call(a=1)
    story.observe("one")
    story.call(a=2)
    story.observe("two")
    assert [line.split("\n")[1] for line in story.plain()] == ["  one", "  two"]


def test_a_question_is_no_segment_but_its_card_waits(story):
    story.call()
    ask = {"tool": "run", "call_id": "c1", "request": {"id": "q"}}
    assert story.tell(ApprovalRequestedEvent, **ask) == ["tool:c1"]
    assert story.plain() == ["\N{DOUBLE VERTICAL LINE} run() · waiting for approval"]


def test_an_approval_leaves_a_record_and_the_call_runs(story):
    story.call(a=1)
    fields = {"request_id": "q", "call_id": "c1", "decision": "allow", "by": "person"}
    changed = story.tell(ApprovalResultEvent, args={"a": 2}, **fields)
    assert changed == ["tool:c1", "approval:q"]
    assert story.plain() == [
        "● run(a=2) · running",
        "✓ Approved by you, edited: run(a=2) · 1970-01-01 00:00 UTC",
    ]


@pytest.mark.parametrize(
    ("by", "word"), [("person", "denied"), ("timeout", "denied"), ("cancelled", "stop")]
)
def test_a_call_that_was_not_allowed_stays_so(story, by, word):
    story.call()
    fields = {"request_id": "q", "call_id": "c1", "decision": "deny", "by": by}
    story.tell(ApprovalResultEvent, **fields)
    story.observe("Denied.", status="denied")
    assert f"run() · {word}" in story.plain()[0]


@pytest.mark.parametrize(
    ("status", "word"),
    [
        ("done", "done"),
        ("failed", "failed"),
        ("denied", "denied"),
        ("cancelled", "stopped"),
    ],
)
def test_a_card_says_how_its_call_ended(story, status, word):
    story.call()
    story.observe("what the model sees", status=status)
    assert story.plain()[0].split("\n")[0].endswith(f"run() · {word}")


@pytest.mark.parametrize(
    ("status", "word"),
    [("failed", "failed"), ("denied", "denied"), ("cancelled", "stopped")],
)
def test_a_card_says_how_its_call_ended_after_an_error_too(story, status, word):
    story.call()
    story.tell(ToolErrorEvent, tool="run", call_id="c1", error="E: no")
    story.observe("what the model sees", status=status)
    assert story.plain() == [f"{story.plain()[0][0]} run() · {word} · E: no"]


def test_a_retry_takes_back_what_was_said(story):
    story.think("old")
    story.say("old")
    changed = story.tell(RetryEvent, attempt=1, wait_s=2.0, discard_partial=True)
    assert changed == ["thinking:1", "text:1", "retry:1"]
    assert story.plain() == ["", "", "• Trying again in 2.0 s"]


def test_what_comes_after_a_retry_in_the_midst_of_code_is_text():
    story = _Story(block_size=100)
    story.say("```py\n" + "code\n" * 50)
    story.tell(RetryEvent, attempt=1, discard_partial=True)
    story.say("Words.\n" * 60)
    bundles = [story.transcript.bundle(key) for key in ("text:1", "text:2")]
    assert all(b["text/markdown"].startswith("Words.") for b in bundles)


def test_what_comes_after_a_retry_takes_the_same_place(story):
    story.say("old")
    story.tell(RetryEvent, attempt=1, wait_s=2.0, reason="busy", discard_partial=True)
    story.say("new")
    story.tell(AnswerEvent, content="new")
    assert story.plain() == ["new", "• Trying again in 2.0 s (busy)"]


def test_a_retry_keeps_the_text_of_the_steps_before(story):
    story.say("first")
    story.call()
    story.observe()
    story.say("old", step=2)
    story.tell(RetryEvent, 2, attempt=1, discard_partial=True)
    assert story.plain()[0] == "first"


def test_a_request_that_waits_for_its_turn_says_so(story):
    story.tell(RetryEvent, attempt=0, wait_s=12.0, reason="waiting for the rate limit")
    assert story.plain() == ["• Asking in 12.0 s (waiting for the rate limit)"]
    story.tell(RetryEvent, 2, attempt=0, reason="waiting for other requests to end")
    assert story.plain()[-1] == ("• Waiting for other requests to end")


def test_another_model_that_is_asked_is_named_once(story):
    story.say("old")
    told = {"attempt": 1, "reason": "a:m: It is down", "model": "b:n"}
    story.tell(RetryEvent, **told, discard_partial=True)
    story.say("new")
    story.tell(RetryEvent, 2, **{**told, "attempt": 0})
    assert story.plain() == ["new", "• Asking b:n instead (a:m: It is down)"]


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"reason": "cancelled"}, "• Stopped."),
        (
            {"reason": "max_steps_reached", "detail": "Too many."},
            "⚠︎ Warning: Too many.",
        ),
        ({"reason": "KeyError", "detail": "'a'"}, "✗ Error: KeyError: 'a'"),
    ],
)
def test_an_error_ends_with_a_notice(story, fields, line):
    story.say("partial")
    story.tell(ErrorEvent, **fields)
    assert story.plain() == ["partial", line]
    assert story.transcript.is_finished


@pytest.mark.parametrize("reason", ["length", "content_filter", "refusal"])
def test_an_answer_that_is_not_whole_says_so(story, reason):
    story.say("partial")
    assert story.tell(AnswerEvent, content="partial", stop_reason=reason)
    assert story.plain()[0] == "partial"
    assert story.plain()[1].startswith("⚠︎ Warning: The ")


def test_a_call_that_was_running_when_the_run_ended_is_stopped(story):
    story.call()
    assert story.tell(ErrorEvent, reason="cancelled") == ["tool:c1", "notice:1"]
    assert story.plain()[0] == "■ run() · stopped"


def test_a_guard_leaves_a_notice(story):
    story.tell(GuardrailEvent, stage="output", guard="strip_pii", action="changed")
    assert story.plain() == ["• Guard strip_pii changed the answer."]


def test_a_guard_that_changed_several_texts_of_tools_is_told_of_once_a_step(story):
    changed = {"stage": "tool", "guard": "strip_pii", "action": "changed"}
    for step in (1, 1, 2):
        story.tell(GuardrailEvent, step, **changed)
    assert story.plain() == ["• Guard strip_pii changed a tool's text."] * 2


def test_a_guard_that_stops_something_leaves_a_warning(story):
    story.tell(GuardrailEvent, stage="tool", guard="words", action="blocked")
    assert story.plain() == ["⚠︎ Warning: Guard words blocked a tool's text."]


def test_the_prompt_is_not_shown(story):
    assert story.tell(TaskEvent, prompt="hi") == []


def test_a_long_text_goes_on_in_a_new_segment():
    story = _Story(block_size=100)
    story.say("words " * 30 + "\n\n")
    story.say("## Next part\n\n")
    story.say("More.")
    assert story.transcript.keys == ("text:1", "text:2")
    assert story.plain()[1] == "## Next part\n\nMore."


def test_a_closed_block_is_not_sent_again():
    story = _Story(block_size=100)
    story.say("words " * 30 + "\n\nA new paragraph.\n")
    assert story.say("More.") == ["text:2"]


def test_long_code_goes_on_as_code_in_a_new_segment():
    story = _Story(block_size=100)
    story.say("```py\n" + "code\n\n" * 50 + "```\n\nText.")
    first, second = (story.transcript.bundle(key) for key in ("text:1", "text:2"))
    assert first["text/markdown"].startswith("```py\ncode\n")
    assert first["text/markdown"].endswith("\n```")
    assert second["text/markdown"].startswith("```py\ncode\n")
    assert second["text/plain"].startswith("code\n")


def test_a_long_table_goes_on_below_its_head_in_a_new_segment():
    story = _Story(block_size=100)
    story.say("| a |\n|---|\n" + "| cell |\n" * 60)
    second = story.transcript.bundle("text:2")
    assert second["text/markdown"].startswith("| a |\n|---|\n| cell |\n")


WITHOUT_A_BREAK = {
    "lines": "ab cd\n",
    "list": "- an item\n",
    "code": "1,2,3,4\n",
    "table": "| cell |\n",
    "quote": "> said\n",
    "one line": "word ",
    "no space": "base64",
}


@pytest.mark.parametrize("kind", WITHOUT_A_BREAK)
def test_each_line_of_a_long_text_is_read_once(kind, monkeypatch):
    """Issue: 40 kB without a blank line took 22 seconds."""
    read_line, sizes = LineReader.read, []

    def read(self, line):
        sizes.append(len(line) + 1)
        return read_line(self, line)

    monkeypatch.setattr(LineReader, "read", read)
    start = {"code": "```csv\n", "table": "| a |\n|-|\n"}.get(kind, "")
    text = start + WITHOUT_A_BREAK[kind] * (40_000 // len(WITHOUT_A_BREAK[kind]))
    story = _Story()
    for at in range(0, len(text), 4):
        story.say(text[at : at + 4])
    assert sum(sizes) < 1.1 * len(text)
    texts = [segment.text for segment in story.transcript.segments]
    assert "".join(texts) == text
    assert max(map(len, texts)) <= 16_384


def test_what_changed_is_found_without_looking_at_all_segments():
    story = _Story()
    for number in range(300):
        story.call(call_id=f"c{number}")
    looked_at = []

    class Segments(dict):
        def __iter__(self):
            looked_at.append(len(self))
            return super().__iter__()

    story.transcript._segments = Segments(story.transcript._segments)
    story.say("Hello")
    looked_at.clear()
    for _ in range(100):
        story.say(" word")
    assert looked_at == []


def test_a_long_thought_shows_its_end(story):
    for number in range(3000):
        story.think(f"step {number}. ")
    (shown,) = story.plain()
    assert "characters before" in shown
    assert shown.endswith("step 2999.")
    assert len(shown) < 5000


def test_a_long_answer_that_was_streamed_in_blocks_is_not_shown_twice():
    story = _Story(block_size=100)
    text = "A paragraph of words.\n\n" * 30
    for piece in text.split(" "):
        story.say(piece + " ")
    before = story.plain()
    story.tell(AnswerEvent, content="".join(before).strip())
    assert story.plain() == before
    assert len(before) > 1


def test_an_open_fence_is_closed_until_it_is_complete(story):
    story.say("```python\nx = 1\n``")
    markdown = story.transcript.bundle("text:1")["text/markdown"]
    assert markdown == "```python\nx = 1\n```"


def test_a_transcript_needs_no_notebook():
    code = """import sys, notebook_agents.jupyter.transcript
assert not {"IPython", "ipywidgets", "pandas", "pydantic", "httpx"} & set(sys.modules)"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30)


def test_images_are_shown_if_they_may_be():
    story = _Story(Look(remote_images=True))
    story.say("![a](https://e.org/a.png)")
    markdown = story.transcript.bundle("text:1")["text/markdown"]
    assert markdown == "![a](https://e.org/a.png)"


texts = st.text("ab\n`#-$<", max_size=60)
call_ids = st.sampled_from(["c1", "c2", ""])
steps = st.integers(1, 2)
tellings = st.lists(
    st.one_of(
        st.tuples(st.just(TokenEvent), steps, st.fixed_dictionaries({"text": texts})),
        st.tuples(
            st.just(TokenEvent),
            steps,
            st.fixed_dictionaries({"text": texts, "channel": st.just("reasoning")}),
        ),
        st.tuples(
            st.just(ThoughtEvent),
            steps,
            st.fixed_dictionaries(
                {"content": texts, "kind": st.sampled_from(["plan", "reasoning"])}
            ),
        ),
        *(
            st.tuples(
                st.just(kind), steps, st.fixed_dictionaries({"call_id": call_ids})
            )
            for kind in (
                ActionEvent,
                ProgressEvent,
                ApprovalRequestedEvent,
                ApprovalResultEvent,
                ToolErrorEvent,
                ObservationEvent,
            )
        ),
        st.tuples(
            st.just(RetryEvent),
            steps,
            st.fixed_dictionaries({"discard_partial": st.booleans()}),
        ),
        st.tuples(
            st.just(AnswerEvent), steps, st.fixed_dictionaries({"content": texts})
        ),
        st.tuples(st.just(ErrorEvent), steps, st.just({"reason": "cancelled"})),
    ),
    max_size=20,
)


@given(tellings)
def test_serialised_events_give_the_same_transcript(tellings):
    story, again = _Story(block_size=40), Transcript(block_size=40)
    for kind, step, fields in tellings:
        changed = story.tell(kind, step, **fields)
        assert again.apply(event_from_dict(story.events[-1].to_dict())) == changed
    shown = [story.transcript.bundle(key) for key in story.transcript.keys]
    assert [again.bundle(key) for key in again.keys] == shown


@given(tellings)
def test_a_reader_that_shows_what_changed_misses_nothing(tellings):
    story, screen = _Story(block_size=40), {}
    for kind, step, fields in tellings:
        for key in story.tell(kind, step, **fields):
            screen[key] = story.transcript.bundle(key)
        keys = story.transcript.keys
        assert screen == {key: story.transcript.bundle(key) for key in keys}


@given(tellings)
def test_a_bundle_never_has_both_html_and_markdown(tellings):
    story = _Story()
    for kind, step, fields in tellings:
        story.tell(kind, step, **fields)
    for segment in story.transcript.segments:
        rich = "text/markdown" if segment.kind == "text" else "text/html"
        assert set(segment.bundle()) == {rich, "text/plain"}


def test_text_can_be_shown_as_it_was_written():
    story = _Story(Look(verbatim=True), block_size=40)
    text = "**Not bold** $x$ <b>tag</b>\n\n```\ncode that is long\n```\n" * 3
    story.say(text)
    bundles = [story.transcript.bundle(key) for key in story.transcript.keys]
    assert all(set(bundle) == {"text/html", "text/plain"} for bundle in bundles)
    assert "".join(bundle["text/plain"] for bundle in bundles) == text
    assert "&lt;b&gt;tag&lt;/b&gt;" in bundles[0]["text/html"]


def test_a_verbose_transcript_is_open_and_whole():
    long = "\n".join(f"line {number}" for number in range(100))
    story = _Story(Look(verbose=True))
    story.think(long)
    story.call(n=1)
    story.observe(long)
    thought, card = (story.transcript.bundle(key) for key in ("thinking:1", "tool:c1"))
    for bundle in (thought, card):
        assert bundle["text/html"].startswith("<details open ")
        assert "line 99" in bundle["text/html"]
        assert "line 99" in bundle["text/plain"]
    assert "Arguments" in card["text/html"]


WRITTEN = '{"vendor": "A_b_c", "items": [1, 2]}'


def test_an_answer_of_a_type_is_code_as_it_comes():
    story = _Story()
    story.tell(TaskEvent, 0, prompt="x", output="Invoice")
    story.say(WRITTEN[:19])
    markdown = story.transcript.bundle("text:1")["text/markdown"]
    assert markdown == '```json\n{"vendor": "A_b_c",\n```'


def test_an_answer_of_a_type_is_laid_out_at_its_end():
    story = _Story()
    story.tell(TaskEvent, 0, prompt="x", output="Invoice")
    story.say(WRITTEN)
    story.tell(AnswerEvent, content=WRITTEN)
    bundle = story.transcript.bundle("text:1")
    assert bundle["text/markdown"].startswith('```json\n{\n  "vendor": "A_b_c",\n')
    assert bundle["text/markdown"].endswith("\n}\n```")
    assert json.loads(bundle["text/plain"]) == json.loads(WRITTEN)


def test_a_long_answer_of_a_type_goes_on_as_code():
    story = _Story(block_size=200)
    story.tell(TaskEvent, 0, prompt="x", output="list[int]")
    text = json.dumps({"answer": list(range(400))})
    story.say(text)
    story.tell(AnswerEvent, content=text)
    bundles = [story.transcript.bundle(key) for key in story.transcript.keys]
    assert len(bundles) > 2
    assert all(b["text/markdown"].startswith("```json\n") for b in bundles)
    assert json.loads("".join(b["text/plain"] for b in bundles)) == json.loads(text)


def test_an_answer_that_is_corrected_is_taken_back():
    story = _Story()
    story.tell(TaskEvent, 0, prompt="x", output="Invoice")
    story.say("Hm.")
    why = "the answer is no Invoice: there is no JSON in it"
    story.tell(RetryEvent, attempt=1, reason=why, discard_partial=True)
    story.say(WRITTEN, 2)
    story.tell(AnswerEvent, 2, content=WRITTEN)
    first, note, second = story.plain()
    assert (first, note) == ("", f"• Trying again ({why})")
    assert json.loads(second) == json.loads(WRITTEN)


def test_words_of_an_answer_of_a_type_are_text():
    story = _Story()
    story.tell(TaskEvent, 0, prompt="x", output="Invoice")
    story.say("Here it is:\n\n```json\n{}\n```")
    assert story.transcript.bundle("text:1")["text/markdown"].startswith("Here it is:")


def test_json_is_shown_as_it_was_written_where_that_is_asked_for():
    story = _Story(Look(verbatim=True))
    story.tell(TaskEvent, 0, prompt="x", output="Invoice")
    story.say(WRITTEN)
    story.tell(AnswerEvent, content=WRITTEN)
    assert story.plain() == [WRITTEN]
