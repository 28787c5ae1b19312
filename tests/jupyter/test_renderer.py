"""A run is shown in few rounds, soon, and whatever is in it."""

from __future__ import annotations

import asyncio
import itertools
import selectors
from collections import Counter
from types import SimpleNamespace

import pytest

from notebook_agents import Agent, Allow, Orchestrator, ScriptedProvider, call, tool
from notebook_agents.events import (
    ActionEvent,
    AnswerEvent,
    ApprovalRequestedEvent,
    ApprovalResultEvent,
    ErrorEvent,
    GuardrailEvent,
    ObservationEvent,
    Origin,
    RetryEvent,
    TokenEvent,
)
from notebook_agents.jupyter import renderer as renderer_module
from notebook_agents.jupyter.renderer import CellRenderer
from notebook_agents.messages import Usage


class _Selector(selectors.DefaultSelector):
    """Lets time pass at once: who waits for a timer has waited."""

    now = 0.0

    def select(self, timeout=None):
        ready = super().select(0)
        if not ready:
            assert timeout is not None, "nothing more would ever happen"
            self.now += timeout
        return ready


class _Loop(asyncio.SelectorEventLoop):
    """A loop whose clock is its selector's."""

    def __init__(self) -> None:
        self.selector = _Selector()
        super().__init__(self.selector)

    def time(self) -> float:
        return self.selector.now


class _Run:
    """A run that is told what happens."""

    decided_within = ()
    approvals = ()

    def __init__(self) -> None:
        self.recorded = []
        self._news = asyncio.Event()
        self._seq = itertools.count(1)

    def tell(self, kind, step=1, /, **fields) -> None:
        event = kind(Origin("r1", "bot"), next(self._seq), 0.0, step, Usage(), **fields)
        self.recorded.append(event)
        self._news.set()

    async def events(self):
        seen = 0
        while True:
            for event in self.recorded[seen:]:
                seen += 1
                yield event
                if isinstance(event, AnswerEvent | ErrorEvent):
                    return
            self._news.clear()
            await self._news.wait()


class _Screen:
    """What the front end was sent, and when."""

    def __init__(self, now) -> None:
        self.now = now
        self.sent: list[tuple[float, int, dict]] = []
        self.broken = ""
        screen, ids = self, itertools.count(1)

        class Handle:
            def __init__(self) -> None:
                self.id = next(ids)

            def display(self, bundle, *, raw) -> None:
                assert raw
                text = repr(bundle)
                if screen.broken and screen.broken in text:
                    message = "cannot be shown"
                    raise ValueError(message)
                for part in bundle.values():
                    str(part).encode("utf-8")
                screen.sent.append((screen.now(), self.id, bundle))

            update = display

        self.handle = Handle

    @property
    def rounds(self) -> list[float]:
        """The moments at which something was sent."""
        return sorted({at for at, _, _ in self.sent})

    @property
    def shown(self) -> list[dict]:
        """What is on screen, from top to bottom."""
        return list({number: bundle for _, number, bundle in self.sent}.values())

    @property
    def text(self) -> str:
        return "\n".join(bundle["text/plain"] for bundle in self.shown)


@pytest.fixture
def show(monkeypatch):
    """Give a function that shows a story, a coroutine function of a run."""

    def show_(story, *, broken: str = "") -> _Screen:
        with asyncio.Runner(loop_factory=_Loop) as runner:
            now = runner.get_loop().time
            screen = _Screen(now)
            screen.broken = broken
            monkeypatch.setattr(renderer_module, "DisplayHandle", screen.handle)
            clock = SimpleNamespace(monotonic=now)
            monkeypatch.setattr(renderer_module, "time", clock)
            runner.run(_show(story))
        return screen

    return show_


async def _show(story) -> None:
    run = _Run()
    renderer = CellRenderer(agent="bot", model="m")
    following = asyncio.create_task(renderer.follow(run))
    await story(run, renderer)
    await following


def _pairs(moments):
    return itertools.pairwise(moments)


def test_there_are_at_most_ten_rounds_a_second_while_text_streams(show):
    async def story(run, _):
        for _ in range(3000):
            run.tell(TokenEvent, text="word ")
            await asyncio.sleep(0.002)
        run.tell(AnswerEvent, content=("word " * 3000).strip())

    screen = show(story)
    rounds = screen.rounds[:-1]  # the last comes with the end
    assert len(rounds) >= 30
    assert all(later - before > 0.0999 for before, later in _pairs(rounds))


def test_text_is_on_screen_within_150_ms_though_the_model_pauses(show):
    told: list[float] = []

    async def story(run, _):
        now = asyncio.get_running_loop().time
        for burst in range(30):
            for _ in range(burst * 7):
                run.tell(TokenEvent, text="ab cd\n")
                await asyncio.sleep(0.003)
            run.tell(TokenEvent, text=f"mark{burst}.\n")
            told.append(now())
            await asyncio.sleep(2)
        run.tell(AnswerEvent, content="")

    screen = show(story)
    for burst, at in enumerate(told):
        mark = f"mark{burst}."
        first = next(t for t, _, b in screen.sent if mark in b["text/plain"])
        assert first - at < 0.1501


def test_sixty_calls_at_once_are_shown_in_the_same_few_rounds(show):
    async def story(run, _):
        ids = [f"c{number}" for number in range(60)]
        for call_id in ids:
            run.tell(ActionEvent, tool="run", call_id=call_id)
            await asyncio.sleep(0.001)
        for call_id in ids:
            bundle = {"text/html": "<table></table>"}
            run.tell(ObservationEvent, tool="run", call_id=call_id, bundle=bundle)
            await asyncio.sleep(0.001)
        run.tell(AnswerEvent, content="done")

    screen = show(story)
    assert len(screen.rounds) <= 4
    assert len(screen.shown) == 1 + 60 + 60 + 1
    updates = Counter(number for _, number, _ in screen.sent)
    assert max(updates.values()) <= 4


def test_questions_at_once_make_no_rounds_of_their_own(show):
    async def story(run, renderer):
        for number in range(60):
            run.tell(ActionEvent, tool="run", call_id=f"c{number}")
        renderer.catch_up()
        for number in range(60):
            request = {"id": f"q{number}"}
            call = {"tool": "run", "call_id": f"c{number}"}
            run.tell(ApprovalRequestedEvent, request=request, **call)
            renderer.catch_up()
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.5)
        run.tell(ErrorEvent, reason="cancelled")

    assert len(show(story).rounds) <= 5


def test_what_led_to_a_question_stands_above_it(show):
    async def story(run, renderer):
        run.tell(TokenEvent, text="I will")
        await asyncio.sleep(0.01)
        run.tell(TokenEvent, text=" ask.")
        run.tell(ActionEvent, tool="delete", call_id="c1")
        renderer.catch_up()
        handle = renderer_module.DisplayHandle()
        handle.display({"text/plain": "QUESTION"}, raw=True)
        run.tell(AnswerEvent, content="I will ask.")

    text = show(story).text
    assert text.index("I will ask.") < text.index("delete()") < text.index("QUESTION")


def test_the_clock_belongs_to_a_round(show):
    async def story(run, _):
        for _ in range(200):
            run.tell(TokenEvent, text="word ")
            await asyncio.sleep(0.0301)
        run.tell(AnswerEvent, content=("word " * 200).strip())

    rounds = show(story).rounds[:-1]
    assert all(later - before > 0.0999 for before, later in _pairs(rounds))


def test_a_long_answer_without_a_break_is_sent_a_few_times_only(show):
    text = "1,2,3,4\n" * 25_000

    async def story(run, _):
        run.tell(TokenEvent, text="```csv\n")
        for start in range(0, len(text), 400):
            run.tell(TokenEvent, text=text[start : start + 400])
            await asyncio.sleep(0.02)  # 20 kB a second
        run.tell(AnswerEvent, content=f"```csv\n{text}".strip())

    sent = show(story).sent
    characters = sum(len(part) for _, _, bundle in sent for part in bundle.values())
    assert characters < 12 * len(text)


SURROGATES = "half \ud83d of \udfff one"


def test_halves_of_characters_are_replaced_everywhere(show):
    async def story(run, renderer):
        run.tell(TokenEvent, text=SURROGATES, channel="reasoning")
        run.tell(TokenEvent, text=SURROGATES)
        call = {"tool": SURROGATES, "call_id": "c1"}
        run.tell(ActionEvent, args={SURROGATES: [SURROGATES]}, **call)
        renderer.catch_up()
        bundle = {"text/plain": SURROGATES, "application/json": {"a": [SURROGATES]}}
        run.tell(ObservationEvent, content=SURROGATES, bundle=bundle, **call)
        run.tell(ErrorEvent, reason="max_steps_reached", detail=SURROGATES)

    screen = show(story)
    assert screen.text.count("half \ufffd of \ufffd one") >= 4
    assert screen.shown[-2]["application/json"] == {"a": ["half \ufffd of \ufffd one"]}


def test_the_line_on_top_names_the_model_that_is_asked_instead(show):
    async def story(run, _):
        run.tell(RetryEvent, attempt=1, reason="m: It is down", model="other:n")
        run.tell(AnswerEvent, content="Hello.")

    screen = show(story)
    [top] = [each["text/plain"] for each in screen.shown if "bot" in str(each)]
    assert "other:n" in top
    assert " m ·" not in top


def test_what_cannot_be_shown_ends_nothing(show, caplog):
    async def story(run, renderer):
        run.tell(TokenEvent, text="unshowable")
        renderer.catch_up()
        await asyncio.sleep(0.5)
        run.tell(TokenEvent, text=" still")
        await asyncio.sleep(0.5)
        run.tell(ActionEvent, tool="run", call_id="c1")
        run.tell(AnswerEvent, content="unshowable still")

    screen = show(story, broken="unshowable")
    assert "run()" in screen.text
    assert "done" in screen.shown[0]["text/plain"]
    assert caplog.text.count("could not be shown: text:1") == 1


def test_the_header_says_waiting_as_long_as_any_call_waits(show):
    states = []

    async def story(run, renderer):
        def header() -> str:
            return renderer._header_bundle()["text/plain"].split(" · ")[2]

        await asyncio.sleep(0)  # it begins to follow
        for number in "12":
            run.tell(ActionEvent, tool="run", call_id=number)
            request = {"id": number}
            run.tell(ApprovalRequestedEvent, call_id=number, request=request)
        for number in "12":
            renderer.catch_up()
            states.append(header())
            run.tell(ApprovalResultEvent, call_id=number, request_id=number)
        renderer.catch_up()
        states.append(header())
        run.tell(AnswerEvent, content="")
        await asyncio.sleep(0)

    show(story)
    assert states == ["waiting for approval", "waiting for approval", "running"]


async def test_the_header_says_waiting_while_a_member_of_a_team_waits():
    says = {"waiting": asyncio.Event(), "running": asyncio.Event()}

    class Output:
        def display(self, bundle, *, raw):
            assert raw
            for word, event in says.items():
                if f"team · m · {word}" in bundle["text/plain"]:
                    event.set()

        update = display

    class Person:
        async def ask(self, pending):
            renderer.catch_up()
            await says["waiting"].wait()
            says["running"].clear()
            pending.decide(Allow(), by="person")

    @tool(approval=True)
    async def delete() -> str:
        await says["running"].wait()
        return "deleted"

    member = Agent(ScriptedProvider([call("delete"), "Done."]), [delete])
    script = [call("delegate", agent_name="m", task="x"), "The end."]
    team = Orchestrator(ScriptedProvider(script), {"m": member}, name="team")
    renderer = CellRenderer(agent="team", model="m", make_output=lambda _: Output())
    run = team.start("x", approver=Person())
    await renderer.follow(run)
    assert (await run.result()).tool_calls[0]["content"] == "Done."


def test_an_event_that_cannot_be_read_is_left_out(show, caplog):
    async def story(run, _):
        run.tell(ApprovalRequestedEvent, tool="run", call_id="c1", request={})
        run.tell(AnswerEvent, content="the end")

    assert "the end" in show(story).text
    assert "waiting_for_approval" in caplog.text


def test_a_guard_that_ends_the_run_is_told_of_by_the_error_of_the_cell_alone(show):
    async def story(run, _):
        run.tell(GuardrailEvent, stage="tool", guard="words", action="blocked")
        run.tell(GuardrailEvent, stage="output", guard="words", action="changed")
        run.tell(GuardrailEvent, stage="output", guard="words", action="blocked")
        run.tell(ErrorEvent, reason="GuardrailBlockedError", detail="no")

    lines = show(story).text.splitlines()[1:]
    assert lines == [
        "⚠︎ Warning: Guard words blocked a tool's text.",
        "• Guard words changed the answer.",
    ]


def test_markdown_of_a_tool_is_made_harmless_and_its_html_stays(show):
    markdown = "<script>x</script> **bold** [a](javascript:x)"
    table = "<table><tr><td>1</td></tr></table>"

    async def story(run, _):
        for bundle in ({"text/markdown": markdown}, {"text/html": table}):
            run.tell(ObservationEvent, tool="run", call_id="c1", bundle=bundle)
        run.tell(AnswerEvent, content="")

    shown = show(story).shown
    assert shown[2]["text/markdown"] == "&lt;script>x&lt;/script> **bold** a"
    assert shown[3] == {"text/plain": "", "text/html": table}
