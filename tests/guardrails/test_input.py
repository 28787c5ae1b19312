"""What the user says is seen by nobody before the guards have let it through."""

from __future__ import annotations

import asyncio
import threading

import pytest

from notebook_agents import (
    Agent,
    AgentConfigurationError,
    Guard,
    GuardrailBlockedError,
    ScriptedProvider,
    block_keywords,
    strip_pii,
)
from notebook_agents.errors import RunCancelledError
from tests.guardrails.support import SECRET, Told, assert_hidden, hide, refuse

ASK = f"The password is {SECRET}, why?"


async def test_a_blocked_message_makes_no_call_and_leaves_nothing_behind(caplog):
    """Acceptance check 38."""
    told = await Told(["never"], input_guards=[refuse]).run(ASK)
    assert told.model.requests == []
    assert told.agent.memory.all_messages == []
    assert_hidden(told, caplog)


async def test_a_blocked_message_says_which_guard_and_why():
    told = await Told([], input_guards=block_keywords(["swordfish"])).run(ASK)
    error = told.error
    assert isinstance(error, ValueError)
    assert (error.guard, error.stage) == ("block_keywords", "input")
    assert error.reason == "it has a word that is not allowed here"
    assert str(error) == f"Guard 'block_keywords' blocked the message: {error.reason}."


async def test_the_result_of_a_blocked_run_comes_with_the_error():
    told = await Told([], input_guards=refuse).run(ASK)
    result = told.result
    assert result is told.error.result
    assert (result.is_blocked, result.stop_reason, result.steps) == (True, "blocked", 0)
    assert result.answer == str(told.error) == "Guard 'refuse' blocked the message."
    kinds = [event.event for event in result.events]
    assert kinds == ["task", "guardrail", "error"]
    assert result.events[0].prompt == "[withheld]"
    assert told.guardrails == [("input", "refuse", "blocked")]
    assert [event["event"] for event in told.events] == kinds


async def test_a_conversation_goes_on_after_a_blocked_message():
    told = Told(["One.", "Two."], input_guards=[refuse])
    for message in ("first", ASK, "second"):
        await told.run(message)
    assert told.requests()[1] == ["first", "One.", "second"]
    assert told.result.turn_number == 2


async def test_a_changed_message_is_what_the_model_sees_and_what_is_kept(caplog):
    told = await Told(["It is."], input_guards=[hide]).run(ASK)
    changed = "The password is [hidden], why?"
    assert told.requests() == [[changed]]
    assert told.agent.memory.messages[0]["content"] == changed
    assert told.result.new_messages[0]["content"] == changed
    assert told.result.events[0].prompt == changed
    assert told.guardrails == [("input", "hide", "changed")]
    assert_hidden(told, caplog)


async def test_a_guard_that_lets_a_message_pass_is_not_told_of():
    told = await Told(["Hi."], input_guards=[hide, refuse]).run("Hello")
    assert told.guardrails == []
    assert told.error is None


async def test_each_guard_sees_what_the_one_before_left():
    seen = []

    def number(text: str) -> str:
        seen.append(text)
        return f"{text} {len(seen)}"

    guards = [Guard(number, name="a"), strip_pii(), Guard(number, name="b")]
    told = await Told(["ok"], input_guards=guards).run("a@b.de")
    assert seen == ["a@b.de", "[EMAIL] 1"]
    assert told.requests() == [["[EMAIL] 1 2"]]
    names = [guard for _, guard, _ in told.guardrails]
    assert names == ["a", "strip_pii", "b"]


async def test_the_first_guard_that_blocks_is_the_last_that_is_asked():
    asked = []
    await Told([], input_guards=[refuse, asked.append]).run(ASK)
    assert asked == []


async def test_one_guard_alone_needs_no_list():
    told = await Told(["ok"], input_guards=hide).run(ASK)
    assert told.requests() == [["The password is [hidden], why?"]]


async def test_the_list_a_guard_is_in_decides_and_not_its_scope():
    guard = Guard(hide, scope="output")
    told = await Told(["ok"], input_guards=[guard]).run(ASK)
    assert "swordfish" not in told.requests()[0][0]


async def test_a_message_of_which_nothing_is_left_is_blocked():
    told = await Told([], input_guards=lambda _: " ").run(ASK)
    assert (
        str(told.error) == "Guard 'guard' blocked the message: it left nothing of it."
    )
    assert told.guardrails == [("input", "guard", "blocked")]


async def test_half_a_character_is_mended_before_it_is_sent():
    told = await Told(["ok"], input_guards=lambda text: text + "\ud83d").run("x")
    assert told.requests() == [["x\ufffd"]]


async def test_a_variant_of_an_agent_has_its_guards():
    other = ScriptedProvider(["never"])
    agent = Agent("local", input_guards=[refuse]).with_model(other)
    with pytest.raises(GuardrailBlockedError):
        await agent.run(ASK)
    assert other.requests == []


# ------------------------------------------------------------ why it is blocked


class OffTopicError(Exception):
    """An error of the user's own."""


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (GuardrailBlockedError("off topic."), ": off topic."),
        (ValueError("off topic"), ": off topic."),
        (ValueError(), "."),
        (ValueError("  two\n lines "), ": two lines."),
        (ValueError("x" * 1000), f": {'x' * 200}."),
        (ValueError(ASK), "."),
        (ValueError(f"found {SECRET!r}"), "."),
        (ValueError("found HUNTER2"), "."),
        (ValueError("the password is not for me"), ": the password is not for me."),
        (KeyError("hunter2"), ", as it raised KeyError."),
        (OffTopicError("swordfish"), ", as it raised OffTopicError."),
        (UnicodeDecodeError("x", b"swordfish", 0, 1, "no"), ", as it raised UnicodeDecodeError."),
        (SystemExit("swordfish"), ", as it raised RuntimeError."),
        (KeyboardInterrupt(), ", as it raised RuntimeError."),
        (StopIteration("swordfish"), ", as it raised RuntimeError."),
        (asyncio.CancelledError("swordfish"), None),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)  # fmt: skip
@pytest.mark.parametrize("is_async", [False, True])
async def test_whatever_a_guard_raises_blocks_and_quotes_nothing(
    caplog, error, said, is_async
):
    def guard(_text: str) -> str:
        raise error

    async def slow_guard(text: str) -> str:
        return guard(text)

    told = await Told([], input_guards=slow_guard if is_async else guard).run(ASK)
    name = "slow_guard" if is_async else "guard"
    if said is not None:
        assert str(told.error) == f"Guard '{name}' blocked the message{said}"
    assert told.error.guard == name
    assert_hidden(told, caplog)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Swordfish", "swordfish"),
        (
            "The swordfish lies under the old bridge",
            "it says: lies under the OLD  bridge",
        ),
    ],
)
async def test_a_reason_that_is_the_text_or_quotes_it_at_length_is_not_told(
    caplog, text, reason
):
    def guard(_text: str) -> str:
        raise ValueError(reason)

    told = await Told([], input_guards=guard).run(text)
    assert str(told.error) == "Guard 'guard' blocked the message."
    assert_hidden(told, caplog)


async def test_where_a_guard_failed_is_in_the_log(caplog):
    def broken(text: str) -> str:
        return {}[text]

    told = await Told([], input_guards=broken).run(ASK)
    assert "return {}[text]" in caplog.text
    assert_hidden(told, caplog)


@pytest.mark.parametrize(
    ("returned", "kind"),
    [(None, "NoneType"), (True, "bool"), (b"x", "bytes"), (hide, "function")],
)
async def test_a_guard_that_returns_no_text_is_a_mistake_and_lets_nothing_through(
    returned, kind
):
    model = ScriptedProvider(["never"])
    agent = Agent(model, input_guards=lambda _: returned, name="a")
    with pytest.raises(AgentConfigurationError, match=f"'guard' returned {kind}"):
        await agent.run(ASK)
    assert model.requests == []
    assert agent.memory.all_messages == []
    events = [event.to_dict() for event in agent.last_run.recorded]
    assert [event["event"] for event in events] == ["task", "error"]
    assert "swordfish" not in str(events)


async def test_a_guard_that_was_not_made_is_a_mistake():
    agent = Agent(ScriptedProvider([]), input_guards=[block_keywords])
    with pytest.raises(AgentConfigurationError, match="returned Guard"):
        await agent.run("go")


# ------------------------------------------------------------ time


async def test_a_sync_guard_does_not_hold_up_the_loop():
    entered, opened = threading.Event(), threading.Event()

    def wait(text: str) -> str:
        entered.set()
        assert opened.wait(30)
        return text

    run = Agent(ScriptedProvider(["ok"]), input_guards=wait).start("go")
    await asyncio.to_thread(entered.wait, 5)
    opened.set()
    assert (await run.result()).answer == "ok"


async def never(_text: str) -> str:
    await asyncio.Event().wait()
    return ""


async def stubborn(_text: str) -> str:
    """Go on for a while although it is cancelled."""
    for _ in range(15):
        try:
            await asyncio.sleep(0.05)
        except asyncio.CancelledError:
            continue
    return "too late"


@pytest.mark.parametrize("function", [never, stubborn])
async def test_a_guard_that_hangs_blocks_when_its_time_is_up(function):
    guard = Guard(function, timeout=0.02)
    async with asyncio.timeout(20):
        told = await Told([], input_guards=guard).run(ASK)
    assert str(told.error).endswith("the message: it did not decide within 0.02 s.")


async def test_a_sync_guard_that_hangs_blocks_when_its_time_is_up():
    opened = threading.Event()

    def wait(text: str) -> str:
        opened.wait(30)
        return text

    told = await Told([], input_guards=Guard(wait, timeout=0.02)).run(ASK)
    opened.set()
    assert str(told.error).endswith("did not decide within 0.02 s.")


@pytest.mark.parametrize("function", [never, stubborn, "sync"])
async def test_stop_works_while_a_guard_looks(caplog, function):
    opened, entered = threading.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def wait(text: str) -> str:
        loop.call_soon_threadsafe(entered.set)
        opened.wait(30)
        return text

    async def look(text: str) -> str:
        entered.set()
        return await function(text)

    told = Told([], input_guards=wait if function == "sync" else look)
    run = told.agent.start(ASK)
    await entered.wait()
    run.cancel()
    async with asyncio.timeout(20):
        with pytest.raises(RunCancelledError) as caught:
            await run.result()
    opened.set()
    told.result = caught.value.result
    assert told.agent.memory.all_messages == []
    assert told.model.requests == []
    assert_hidden(told, caplog)
