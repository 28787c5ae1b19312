"""What is sent of a conversation, through the agent that sends it."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from notebook_agents import (
    Agent,
    HistoryBudget,
    InMemoryStore,
    Message,
    ScriptedProvider,
    call,
)
from notebook_agents.errors import AgentConfigurationError, HistoryError
from notebook_agents.history.budget import limits
from notebook_agents.history.groups import amount_of, estimate_tokens
from notebook_agents.history.pipeline import History
from notebook_agents.history.summary import HEADING
from notebook_agents.memory.record import to_record
from notebook_agents.sync import run_sync
from tests.history.fitness import any_messages, assert_fit, conversations


def look(n: int) -> str:
    """Look something up."""
    return f"found {n} " + "." * 40


def contents(messages):
    return [message.content for message in messages]


def last_sent(provider):
    return list(provider.requests[-1].messages)


def an_agent(turns, script=("done",), **options):
    """Make an agent that has been asked some questions before."""
    provider = ScriptedProvider([f"answer {n}" for n in range(turns)] + list(script))
    agent = Agent(provider, [look], **options)
    for number in range(turns):
        agent.run_sync(f"question {number}")
    return agent, provider


# ------------------------------------------------------------ full or final


async def test_the_model_sees_the_tool_results_of_earlier_turns():
    """Acceptance check 5."""
    provider = ScriptedProvider([call("look", n=1), "one", "two"])
    agent = Agent(provider, [look])
    await agent.run("first")
    await agent.run("second")
    assert len(agent.memory.messages) == 2 + 2
    assert len(agent.memory.all_messages) == 4 + 2
    assert [message.role for message in last_sent(provider)] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]


async def test_or_only_questions_and_answers():
    """Acceptance check 5."""
    provider = ScriptedProvider([call("look", n=1), "one", "two"])
    agent = Agent(provider, [look], history="final")
    await agent.run("first")
    await agent.run("second")
    assert contents(last_sent(provider)) == ["first", "one", "second"]
    assert len(agent.memory.all_messages) == 4 + 2


async def test_only_questions_and_answers_of_messages_that_nobody_tagged():
    first = ScriptedProvider([call("look", n=1), "one"])
    earlier = (await Agent(first, [look]).run("first")).messages
    provider = ScriptedProvider(["two"])
    await Agent(provider, history="final").run("second", prior_messages=earlier)
    assert contents(last_sent(provider)) == ["first", "one", "second"]


@pytest.mark.parametrize("history", ["none", None, 3, {"max_tokens": 3}])
def test_a_history_that_is_none_of_these_is_refused(history):
    with pytest.raises(AgentConfigurationError, match='"full", "final" or a Hist'):
        Agent(ScriptedProvider([]), history=history)


# ------------------------------------------------------------ repair


def a_broken_session(*records):
    session = InMemoryStore().session()
    for record in records:
        session.add(record)
    return session


async def test_a_crashed_conversation_goes_on_and_stays_as_it_is_stored():
    crashed = [
        {"role": "user", "content": "go"},
        to_record(Message("tool", "orphan", tool_call_id="9")),
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "1", "function": {"name": "look", "arguments": "{"}}],
        },
    ]
    session = a_broken_session(*crashed)
    stored = session.all_messages
    provider = ScriptedProvider([call("look", n=1), "done"])
    result = await Agent(provider, [look], memory=session).run("go on")
    for request in provider.requests:
        assert_fit(request.messages, is_open=True)
    assert result.answer == "done"
    assert session.all_messages == [*stored, *result.new_messages]


async def test_a_question_that_was_never_answered_is_asked_with_the_next():
    session = a_broken_session({"role": "user", "content": "Here is the data."})
    provider = ScriptedProvider(["done"])
    result = await Agent(provider, memory=session).run("Sum it up.")
    assert contents(last_sent(provider)) == ["Here is the data.\n\nSum it up."]
    assert contents(map(Message.from_dict, result.messages)) == [
        "Here is the data.",
        "Sum it up.",
        "done",
    ]


@settings(max_examples=150)
@given(any_messages, st.sampled_from(["full", "final"]))
def test_whatever_is_passed_as_prior_messages_what_is_sent_is_fit(messages, history):
    provider = ScriptedProvider([call("look", n=1), "done"])
    agent = Agent(provider, [look], history=history)
    readable = [m.to_dict() for m in messages if m.role in "user assistant tool"]
    for message in readable:
        calls = message.get("tool_calls", [])
        message["tool_calls"] = [c for c in calls if c["function"]["name"]]
    result = agent.run_sync("go", prior_messages=readable)
    for request in provider.requests:
        assert_fit(request.messages, is_open=True)
    assert result.messages[-4:] == result.new_messages


# ------------------------------------------------------------ the budget


def test_the_oldest_turns_are_left_out():
    agent, provider = an_agent(6, history=HistoryBudget(max_messages=5))
    agent.run_sync("now")
    assert contents(last_sent(provider)) == [
        "question 4",
        "answer 4",
        "question 5",
        "answer 5",
        "now",
    ]


def test_what_is_stored_and_told_stays_whole():
    agent, _ = an_agent(6, history=HistoryBudget(max_messages=5))
    result = agent.run_sync("now")
    assert len(agent.memory.messages) == 14
    assert len(result.messages) == 14
    assert result.turn_number == 7


def test_tokens_are_limited_too():
    agent, provider = an_agent(20, history=HistoryBudget(max_tokens=60))
    agent.run_sync("now")
    assert 0 < estimate_tokens(last_sent(provider)) <= 60
    assert len(last_sent(provider)) > 3


def test_the_system_prompt_always_comes_first():
    agent, provider = an_agent(
        6, history=HistoryBudget(max_messages=2), system_prompt="Be brief. " * 99
    )
    agent.run_sync("now")
    assert contents(last_sent(provider)) == ["Be brief. " * 99, "now"]


def test_tool_rounds_of_this_turn_go_when_there_is_nothing_else():
    script = [call("look", n=n) for n in range(5)]
    agent, provider = an_agent(
        2, [*script, "done"], history=HistoryBudget(max_messages=5)
    )
    agent.run_sync("now", max_tool_rounds=5)
    sent = last_sent(provider)
    assert_fit(sent, is_open=True)
    assert contents(sent)[0] == "now"
    assert [m.content[:7] for m in sent if m.role == "tool"] == ["found 3", "found 4"]


def test_a_question_that_is_too_long_is_sent_all_the_same():
    agent, provider = an_agent(2, history=HistoryBudget(max_tokens=5))
    agent.run_sync("now " * 50)
    assert contents(last_sent(provider)) == ["now " * 50]


def test_the_beginning_stays_the_same_for_some_turns():
    """So that a service can cache it."""
    _, provider = an_agent(60, history=HistoryBudget(max_tokens=200))
    firsts = [request.messages[0].content for request in provider.requests[20:]]
    assert len(set(firsts)) <= len(firsts) / 3


def test_old_tool_results_are_cut_and_new_ones_are_not():
    script = [call("look", n=1), "one", call("look", n=2), "two"]
    budget = HistoryBudget(old_result_characters=7)
    agent, provider = an_agent(0, script, history=budget)
    agent.run_sync("first")
    agent.run_sync("second")
    old, new = [m.content for m in last_sent(provider) if m.role == "tool"]
    assert old == "found 1\n[... 41 more characters cut]"
    assert new == look(2)
    assert agent.memory.all_messages[2]["content"] == look(1)


@pytest.mark.parametrize(
    "given",
    [
        {"max_tokens": 0},
        {"max_messages": -1},
        {"max_tokens": "many"},
        {"max_messages": True},
        {"old_result_characters": 0.5},
        {"show": "some"},
        {"summarize": 3},
    ],
)
def test_a_budget_that_cannot_be_is_refused(given):
    with pytest.raises(AgentConfigurationError, match=next(iter(given))):
        HistoryBudget(**given)


@settings(max_examples=300)
@given(
    earlier=conversations(),
    current=conversations(most_turns=1),
    tokens=st.one_of(st.none(), st.integers(1, 300)),
    count=st.one_of(st.none(), st.integers(1, 30)),
    summarize=st.sampled_from([None, lambda messages: "s" * 500]),
)
def test_what_is_sent_fits_unless_question_and_last_round_alone_do_not(
    earlier, current, tokens, count, summarize
):
    current = [Message("user", "now"), *current[1:-1]]
    rename = {c.id: f"new_{c.id}" for m in current for c in m.tool_calls}
    current = [_renamed(message, rename) for message in current]
    history = History(HistoryBudget(tokens, count, summarize=summarize))
    sent = run_sync(history.request(history.earlier(earlier), current))
    assert_fit(sent, is_open=True)
    rounds = [place for place, m in enumerate(current) if m.tool_calls]
    least = [current[0], *(current[rounds[-1] :] if rounds else [])]
    if not amount_of(sent).fits(limits(tokens, count)):
        assert sent == least
    assert sent[len(sent) - len(least) + 1 :] == least[1:]


def _renamed(message, names):
    calls = tuple(replace(c, id=names[c.id]) for c in message.tool_calls)
    answers = names.get(message.tool_call_id)
    return replace(message, tool_calls=calls, tool_call_id=answers)


# ------------------------------------------------------------ the summary


def test_a_summary_stands_for_what_is_left_out():
    asked = []

    def summarize(messages):
        asked.append(messages)
        return f"summary {len(asked)}"

    budget = HistoryBudget(max_messages=5, summarize=summarize)
    agent, provider = an_agent(4, history=budget)
    agent.run_sync("now")
    assert contents(last_sent(provider)) == [
        f"{HEADING}\nsummary 2\n\nquestion 2",
        "answer 2",
        "question 3",
        "answer 3",
        "now",
    ]
    assert [m["content"] for m in asked[0]] == ["question 0", "answer 0"]
    assert [m["content"] for m in asked[1]] == [
        f"{HEADING}\nsummary 1",
        "question 1",
        "answer 1",
    ]


async def test_the_rounds_of_a_turn_do_not_ask_for_the_same_summary_again():
    asked = []

    async def summarize(messages):
        asked.append(messages)
        return "so far"

    budget = HistoryBudget(max_messages=9, summarize=summarize)
    provider = ScriptedProvider(
        [*(f"answer {n}" for n in range(4)), call("look", n=1), call("look", n=2), "d"]
    )
    agent = Agent(provider, [look], history=budget)
    for number in range(4):
        await agent.run(f"question {number}")
    await agent.run("now")
    covered = [[m["content"] for m in messages] for messages in asked]
    assert len(covered) == 2
    assert all(c[0].startswith(HEADING) for c in covered[1:])


async def test_an_agent_may_summarise_and_keeps_nothing_of_it():
    model = ScriptedProvider(["They counted."])
    summarizer = Agent(model)
    provider = ScriptedProvider(["one", "two"])
    budget = HistoryBudget(max_messages=1, summarize=summarizer)
    agent = Agent(provider, history=budget)
    await agent.run("count")
    await agent.run("go on")
    assert contents(last_sent(provider)) == [f"{HEADING}\nThey counted.\n\ngo on"]
    assert summarizer.memory.all_messages == []
    [prompt] = contents(model.requests[0].messages)
    assert "user: count\n\nassistant: one" in prompt


@pytest.mark.parametrize(
    "bad",
    [ScriptedProvider([]), lambda messages: 1 / 0, lambda messages: "", lambda m: 3],
    ids=["agent", "raises", "empty", "number"],
)
async def test_a_summary_that_fails_loses_nothing_but_itself(bad, caplog):
    summarize = Agent(bad) if isinstance(bad, ScriptedProvider) else bad
    provider = ScriptedProvider(["one", "two"])
    budget = HistoryBudget(max_messages=1, summarize=summarize)
    agent = Agent(provider, history=budget)
    await agent.run("first")
    result = await agent.run("second")
    assert result.answer == "two"
    assert contents(last_sent(provider)) == ["second"]
    assert len(agent.memory.messages) == 4
    assert "could not be summarised" in caplog.text


def test_what_could_not_be_summarised_is_in_the_next_summary():
    failing = [False, True, False]

    def summarize(messages):
        if failing.pop(0):
            raise ConnectionError
        return " ".join(message["content"].split("\n")[-1] for message in messages)

    budget = HistoryBudget(max_messages=1, summarize=summarize)
    agent, provider = an_agent(3, history=budget)
    agent.run_sync("now")
    covered = " ".join(f"question {n} answer {n}" for n in range(3))
    assert contents(last_sent(provider)) == [f"{HEADING}\n{covered}\n\nnow"]


async def test_a_summary_that_fails_is_not_tried_again_in_the_same_turn():
    asked = []

    def summarize(messages):
        asked.append(messages)
        raise ConnectionError

    budget = HistoryBudget(max_messages=9, summarize=summarize)
    provider = ScriptedProvider(
        [*(f"answer {n}" for n in range(4)), call("look", n=1), call("look", n=2), "d"]
    )
    agent = Agent(provider, [look], history=budget)
    for number in range(4):
        await agent.run(f"question {number}")
    await agent.run("now")
    assert len(asked) == 2


def test_a_summary_never_grows_without_bound():
    def summarize(messages):
        return "".join(message["content"] for message in messages) + "x" * 50_000

    budget = HistoryBudget(max_tokens=500, summarize=summarize)
    agent, provider = an_agent(0, ["y" * 300] * 40, history=budget)
    for number in range(40):
        agent.run_sync(f"question {number}")
        assert estimate_tokens(last_sent(provider)) <= 500
    assert HEADING in last_sent(provider)[0].content


async def test_a_run_is_stopped_while_a_summary_is_made():
    began = asyncio.Event()

    async def summarize(messages):
        began.set()
        await asyncio.Event().wait()

    provider = ScriptedProvider(["one", "never"])
    budget = HistoryBudget(max_messages=1, summarize=summarize)
    agent = Agent(provider, history=budget)
    await agent.run("first")
    run = agent.start("second")
    await began.wait()
    run.cancel()
    async with asyncio.timeout(20):
        await run.ended()
    assert len(agent.memory.all_messages) == 2


# ------------------------------------------------------------ processors


def test_processors_see_what_is_sent_one_after_the_other():
    seen = []

    def hide(messages):
        seen.append([m["role"] for m in messages])
        return [
            {**m, "content": m["content"].replace("secret", "***")} for m in messages
        ]

    async def shout(messages):
        return [{**m, "content": m["content"].upper()} for m in messages]

    provider = ScriptedProvider([call("look", n=1), "the secret"])
    agent = Agent(
        provider, [look], system_prompt="secret", history_processors=[hide, shout]
    )
    result = agent.run_sync("a secret")
    assert seen == [["user"], ["user", "assistant", "tool"]]
    assert contents(last_sent(provider))[:2] == ["secret", "A ***"]
    assert result.new_messages[0]["content"] == "a secret"
    assert agent.memory.messages[0]["content"] == "a secret"


def test_a_processor_cannot_reach_what_is_stored():
    def spoil(messages):
        for message in messages:
            message["content"] = "spoilt"
        return messages

    agent, provider = an_agent(1, history_processors=spoil)
    result = agent.run_sync("now")
    assert set(contents(last_sent(provider))) == {"spoilt"}
    assert [m["content"] for m in agent.memory.messages[:2]] == [
        "question 0",
        "answer 0",
    ]
    assert result.messages[0]["content"] == "question 0"


def test_a_processor_that_cuts_a_round_in_two_leaves_a_fit_history():
    script = [call("look", n=1), call("look", n=2), "done"]
    agent, provider = an_agent(2, script, history_processors=[lambda m: m[-2:]])
    agent.run_sync("now")
    for request in provider.requests:
        assert_fit(request.messages, is_open=True)


NOT_THERE = "x"


def fail(messages):
    raise KeyError(NOT_THERE)


async def fail_later(messages):
    raise KeyError(NOT_THERE)


@pytest.mark.parametrize(
    ("processor", "said"),
    [
        (fail, "The history processor 'fail' failed: KeyError: 'x'"),
        (fail_later, "The history processor 'fail_later' failed: KeyError: 'x'"),
        (lambda messages: None, "failed: .*list of messages such as"),
        (lambda messages: ["hi"], r"failed: <lambda>\(\)\[0\] is str"),
        (lambda messages: [], "left nothing that a model could answer"),
        (lambda messages: messages[:-1], "left nothing that a model could answer"),
    ],
)
async def test_a_processor_that_fails_is_one_clear_error(processor, said):
    agent = Agent(ScriptedProvider(["one", "never"]))
    await agent.run("first")
    broken = Agent(
        ScriptedProvider(["never"]),
        memory=agent.memory,
        history_processors=[processor],
    )
    before = agent.memory.all_messages
    with pytest.raises(HistoryError, match=said):
        await broken.run("second")
    assert agent.memory.all_messages == before


@pytest.mark.parametrize("processors", [[3], ["trim"], [None]])
def test_a_processor_that_is_no_function_is_refused(processors):
    with pytest.raises(AgentConfigurationError, match="is a function"):
        Agent(ScriptedProvider([]), history_processors=processors)


# ------------------------------------------------------------ what it costs


def test_a_history_that_needs_nothing_is_not_touched():
    messages = [Message("user", "a"), Message("assistant", "b")] * 50
    history = History()
    earlier = history.earlier(messages)
    current = [Message("user", "c")]
    sent = run_sync(history.request(earlier, current))
    assert all(a is b for a, b in zip(sent, [*messages, *current], strict=True))


@pytest.mark.parametrize("history", ["full", HistoryBudget(max_tokens=500)])
async def test_what_a_turn_costs_grows_no_faster_than_the_conversation(history):
    async def seconds(turns):
        session = InMemoryStore().session()
        pair = [Message("user", "q" * 50), Message("assistant", "a" * 50)]
        await session.save(pair * turns)
        provider = ScriptedProvider(["done"] * 5)
        agent = Agent(provider, memory=session, history=history)
        costs = []
        for _ in range(5):
            began = time.thread_time()
            await agent.run("go")
            costs.append(time.thread_time() - began)
        return min(costs)

    assert await seconds(4000) < 30 * await seconds(400)


def test_parts_count_for_what_they_are_and_files_for_a_thousand_tokens():
    parts = [{"type": "text", "text": "x" * 8}, {"type": "image_url", "image_url": {}}]
    assert amount_of([Message("user", parts)]).characters == 8 + 4000
