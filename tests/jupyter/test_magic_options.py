"""What can be said on the line of ``%%agent``, and after ``%agent``."""

from __future__ import annotations

import pytest

from tests.jupyter.cells import attended_kernel, executed, text_of

pytestmark = pytest.mark.notebook

SEEN = "[m.content for m in agent._model.get().requests[-1].messages]"


def test_variables_are_put_into_the_prompt_unless_raw():
    notebook = executed(
        "agent = bot('a', 'b'); rows = [1, 2]",
        "%%agent agent\nSum {rows} but not {other}",
        SEEN,
        "%%agent agent --raw\nSum {rows}",
        SEEN + "[-1]",
    )
    assert "left as text: {other}" in text_of(notebook.cells[2])
    assert "Sum [1, 2] but not {other}" in text_of(notebook.cells[3])
    assert text_of(notebook.cells[5]) == "'Sum {rows}'"


def test_a_system_prompt_and_a_time_limit_can_be_given_for_one_cell():
    notebook = executed(
        "agent = bot('a', 'slow')",
        "%%agent agent --system 'Be brief.'\nhi",
        SEEN + "[0]",
        "agent._model.get()._delay = 5",
        "%%agent agent --timeout 0.2\nhi",
        allow_errors=True,
    )
    assert text_of(notebook.cells[3]) == "'Be brief.'"
    assert "longer than 0.2 s (--timeout)" in text_of(notebook.cells[5])


def test_a_cell_asks_as_often_as_its_agent_may_and_says_what_ended_it():
    agent = "import notebook_agents; agent = bot(*[call('add', a=1, b=1)] * 12, {})"
    notebook = executed(
        agent.format("max_steps=2"),
        "%%agent agent -o result\nhi",
        "print(result.steps, result.stop_reason)",
        "%%agent agent -o result --max-steps 3\nhi",
        "print(result.steps)",
        agent.format("budget=notebook_agents.Budget(tool_calls=2)"),
        "%%agent agent\nhi",
        agent.format(""),
        "%%agent agent -o result\nhi",
        "print(result.steps)",
    )
    texts = [text_of(cell).strip() for cell in notebook.cells]
    assert texts[3] == "2 max_tool_rounds"
    assert "(2 model calls; max_steps= allows more)" in texts[2]
    assert texts[5] == "3"
    assert "The budget is used up: 2 of 2 tool calls." in texts[7]
    assert texts[10] == "10"


def test_a_cell_that_runs_again_replaces_its_own_turn():
    with attended_kernel() as client:
        client.run("agent = bot('one', 'two', 'three', 'again')")
        client.run("%%agent agent\nfirst", cell="a")
        client.run("%%agent agent\nsecond", cell="b")
        client.run("%%agent agent\nthird", cell="c")
        client.run("%%agent agent\nfirst, rewritten", cell="a")
        told = client.run("%agent history").text
        seen = client.run(SEEN).text
    asked, answered, *_ = told.split("\n")
    assert asked == "user: first, rewritten"
    assert answered.startswith("assistant: again")
    assert told.count("user: ") == 3
    assert "second" not in seen


def test_a_named_session_outlives_a_killed_kernel():
    with attended_kernel() as client:
        client.run("agent = bot('Nice to meet you.')")
        client.run("%%agent agent -S diary\nI am Ada.", cell="a")
    with attended_kernel() as client:
        client.run("agent = bot('Ada.', 'Who?')")
        client.run("%%agent agent -S diary\nWho am I?", cell="b")
        assert "I am Ada." in client.run(SEEN).text
        assert "diary: 4 messages" in client.run("%agent sessions").text
        client.run("%%agent agent -S diary --new\nAnd now?", cell="c")
        assert "I am Ada." not in client.run(SEEN).text


def test_the_line_magic_lists_chooses_and_resets():
    notebook = executed(
        "one = bot('from one'); two = bot('from two')",
        "%agent list",
        "%agent use two",
        "%%agent\nWho are you?",
        "%agent history",
        "%agent reset two",
        "%agent history two",
        "%agent help",
    )
    assert "one: <Agent" in text_of(notebook.cells[2])
    assert "from two" in text_of(notebook.cells[4])
    asked, answered = text_of(notebook.cells[5]).splitlines()
    assert asked == "user: Who are you?"
    assert answered.startswith("assistant: from two")
    assert "Nothing has been said yet" in text_of(notebook.cells[7])
    assert "%agent stop" in text_of(notebook.cells[8])


def test_a_call_of_a_background_run_is_answered_from_another_cell():
    with attended_kernel() as client:
        client.run("agent = bot(call('delete', n=1), 'done'); run = agent.start('x')")
        client.run("while not run.approvals: await asyncio.sleep(0.02)")
        assert client.run("%agent approve").text.strip() == "Approved: delete."
        assert client.run("print(await run.result(), log)").text.strip() == (
            "done ['deleted 1']"
        )
        client.run("agent = bot(call('delete', n=2), 'so be it')")
        client.run("run = agent.start('x')")
        client.run("while not run.approvals: await asyncio.sleep(0.02)")
        client.run("%agent deny not today")
        assert "not today" in client.run("print((await run.result()).approvals)").text


def test_the_line_magic_says_what_it_does_not_know():
    notebook = executed(
        "agent = bot()", "%agent What is this", "%agent approve", allow_errors=True
    )
    assert "%agent has no 'What'" in text_of(notebook.cells[2])
    assert "Nothing waits for an answer." in text_of(notebook.cells[3])


def test_tools_can_be_chosen_for_one_cell():
    notebook = executed(
        "agent = bot('a', 'b')",
        "%%agent agent -t add\nhi",
        "[t['function']['name'] for t in agent._model.get().requests[-1].tools]",
        "%%agent agent --no-tools\nhi",
        "list(agent._model.get().requests[-1].tools), sorted(agent.tools)",
        "%%agent agent -t fly\nhi",
        "agent.last_run.recorded[-1].content",
        allow_errors=True,
    )
    assert text_of(notebook.cells[7]) == "'b'"
    assert text_of(notebook.cells[3]) == "['add']"
    assert text_of(notebook.cells[5]) == "([], ['add', 'delete'])"
    assert "bot has no tool 'fly'; its tools: add, delete" in text_of(notebook.cells[6])


def test_quiet_shows_the_text_alone():
    notebook = executed(
        "agent = bot(call('add', a=1, b=2), 'It is 3.')", "%%agent agent -q\nadd"
    )
    assert text_of(notebook.cells[2]) == "It is 3."


def test_an_error_can_be_shown_instead_of_raised():
    notebook = executed("agent = bot()", "%%agent agent --on-error show\nhi", "'on'")
    assert "AgentProviderError: The script has no line left" in text_of(
        notebook.cells[2]
    )
    assert text_of(notebook.cells[3]) == "'on'"


@pytest.fixture(scope="module")
def mistaken():
    """Give a kernel with an agent and a tool."""
    with attended_kernel() as client:
        client.run("agent = bot('never'); analyst = bot('never')")
        yield client


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("%%agent agent -o agent\nx", "-o agent would overwrite an agent"),
        ("%%agent agent -o analyst\nx", "-o analyst would overwrite an agent"),
        ("%%agent agent -o delete\nx", "-o delete would overwrite a tool"),
        (
            '%%agent agent -s "Be brief\nx',
            'A quote is not closed ("Be brief). %%agent?',
        ),
        ("%agent lst", "%agent has no 'lst'. Did you mean 'list'?"),
        ("%agent hist", "%agent has no 'hist'. Did you mean 'history'?"),
        ("%agent use analist", "Did you mean 'analyst'?"),
        ("%agent use call", "named 'call' here (call is of type function); agents: "),
        ("%agent use call", 'in a cell: agent = Agent("local")'),
        ("%agent history -S", "-S needs the name of a session."),
        ("%agent reset a b", "Only the name of an agent and -S SESSION may stand"),
        ("%agent stop a b", "Only the name of an agent may stand there, not 'b'."),
        ('%%agent agent -S "  "\nx', "-S needs a name that is not blank."),
    ],
)
def test_a_mistake_on_a_line_is_told_in_one_line(mistaken, cell, said):
    reply = mistaken.run(cell)
    assert reply.status == "error"
    assert reply.text.startswith("UsageError: ")
    assert said in reply.text
    assert len(reply.text.strip().splitlines()) == 1


def test_names_in_a_system_prompt_are_reported_too(mistaken):
    mistaken.run("agent = bot('a')")
    reply = mistaken.run("%%agent agent -s 'For {who} in {city[name]}'\nHi {who} {it}")
    assert "left as text: {who}, {it}, {city[name]}" in reply.text


@pytest.mark.parametrize(
    ("kind", "name", "begins"),
    [
        ("cell", "agent", "::\n\n  %%agent [-m MODEL]"),
        ("cell", "tool", "::\n\n  %%tool [--approval]"),
        ("line", "agent", "%agent approvals List the calls"),
    ],
)
def test_each_magic_has_its_own_help(mistaken, kind, name, begins):
    find = f"get_ipython().find_{kind}_magic({name!r}).__doc__.startswith({begins!r})"
    assert mistaken.run(f"print({find})").text.strip() == "True"
