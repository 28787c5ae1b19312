"""``%agent usage`` and ``%agent history``: sums and rows, as text and as DataFrames."""

from __future__ import annotations

import pytest

from tests.jupyter.cells import attended_kernel, executed, text_of

pytestmark = pytest.mark.notebook

TALK = (
    "calls = ['Let me. ', call('add', a=1, b=2), call('delete', n=1)]",
    "one = bot(calls, 'It is 3.'); two = bot('from two'); gone = bot('x')",
    "%%agent one -y deny\nadd 1 and 2",
    "r = two.run_sync('Who are you?'); gone.run_sync('x'); del gone",
)


@pytest.fixture(scope="module")
def told():
    """Ask a few agents, then for all that can be told of it."""
    cells = (
        "%agent usage",
        "%agent usage two",
        "frame = %agent usage --df\nprint(frame[['agent', 'runs']].to_csv(index=False))",
        "%agent history one",
        "frame = %agent history one --df\n"
        "print(frame.groupby('role').size().to_dict(),"
        " frame['prompt_tokens'].sum() == one.ledger.runs()[0].steps[0].prompt_tokens"
        " + one.ledger.runs()[0].steps[1].prompt_tokens,"
        " frame.loc[frame['decision'] == 'deny', ['tool', 'decided_by']].values.tolist(),"
        " frame.loc[frame['tool'] == 'add', 'args'].item())",
        "%agent history --df one",
        "%agent usage --frame",
        "%agent history one two",
        "%agent usage three",
    )
    notebook = executed(*TALK, *cells, allow_errors=True)
    return {cell.source.partition("\n")[0]: text_of(cell) for cell in notebook.cells}


def test_usage_is_by_agent_and_for_the_whole_kernel(told):
    head, one, two, others, total = told["%agent usage"].strip().splitlines()
    assert head.split() == [
        *("agent", "model", "runs", "model", "calls", "tool", "calls"),
        *("read", "written", "time"),
    ]
    assert one.split()[:5] == ["one", "scripted:script", "1", "2", "2"]
    assert two.split()[:5] == ["two", "scripted:script", "1", "1", "0"]
    assert others.split()[:3] == ["(others)", "scripted:script", "1"]
    assert total.split()[:4] == ["total", "3", "4", "2"]


def test_usage_of_one_agent_has_nothing_of_the_others(told):
    lines = told["%agent usage two"].strip().splitlines()
    assert [line.split()[0] for line in lines] == ["agent", "two"]


def test_usage_is_a_frame_whose_sum_is_the_total(told):
    assert told["frame = %agent usage --df"].split() == [
        *("agent,runs", "one,1", "two,1", "(others),1")
    ]


def test_history_has_a_line_for_each_message_and_call(told):
    user, plan, added, deleted, answer = told["%agent history one"].strip().splitlines()
    assert user == "user: add 1 and 2"
    assert plan.startswith("assistant: Let me. · ")
    assert added.startswith("tool: add(a=1, b=2) → 3 · ")
    assert deleted == (
        "tool: delete(n=1) → Denied: the policy is to deny. The tool was not run. "
        "· denied by policy"
    )
    assert answer.startswith("assistant: It is 3. · ")
    assert "tokens" in answer


def test_history_is_a_frame_that_can_be_grouped(told):
    assert told["frame = %agent history one --df"].strip() == (
        "{'assistant': 2, 'tool': 2, 'user': 1} True "
        "[['delete', 'policy']] {'a': 1, 'b': 2}"
    )
    assert "add 1 and 2" in told["%agent history --df one"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "%agent usage --frame",
            "Only the name of an agent and --df may stand there, not '--frame'",
        ),
        (
            "%agent history one two",
            "Only the name of an agent, --df and -S SESSION may stand there, not 'two'",
        ),
        (
            "%agent usage three",
            "There is no agent named 'three' here; agents: one, two",
        ),
    ],
)
def test_a_mistake_is_one_line(told, line, said):
    assert said in told[line]


def test_looking_at_an_agent_is_not_using_it():
    notebook = executed(
        "one = bot('from one'); two = bot('from two')",
        "%agent use one",
        "%agent history two",
        "%agent usage two",
        "%%agent\nWho are you?",
    )
    assert "Nothing has been said yet." in text_of(notebook.cells[3])
    assert "Nothing has run yet." in text_of(notebook.cells[4])
    assert "from one" in text_of(notebook.cells[5])


def test_a_cell_that_runs_again_counts_twice_and_stands_once():
    with attended_kernel() as client:
        client.run("agent = bot('first', 'again')")
        client.run("%%agent agent\nhi", cell="a")
        client.run("%%agent agent\nhi", cell="a")
        history = client.run("%agent history").text.strip().splitlines()
        assert "total" not in client.run("%agent usage").text
        assert client.run("agent.ledger.totals()['scripted:script'].runs").text == "2"
    assert [line.partition(" · ")[0] for line in history] == [
        "user: hi",
        "assistant: again",
    ]


def test_turns_of_an_earlier_kernel_are_shown_without_what_they_took():
    with attended_kernel() as client:
        client.run("from notebook_agents import open_session")
        client.run("agent = bot('one', memory=open_session('diary'))")
        client.run("%%agent agent\nhi", cell="a")
    with attended_kernel() as client:
        client.run("from notebook_agents import open_session")
        client.run("agent = bot('two', memory=open_session('diary'))")
        client.run("%%agent agent\nhi", cell="b")
        old, new = client.run("%agent history").text.strip().splitlines()[1::2]
    assert old == "assistant: one"
    assert new.startswith("assistant: two · ")


def test_a_memory_of_somebody_elses_has_a_history_too():
    notebook = executed(
        "class Own:\n"
        "    messages = []\n"
        "    def add(self, message): self.messages.append(message)\n"
        "    def reset(self): self.messages.clear()\n",
        "agent = bot(call('add', a=1, b=2), 'It is 3.', memory=Own())",
        "%%agent agent\nadd",
        "%agent history",
    )
    user, answer = text_of(notebook.cells[4]).strip().splitlines()
    assert user == "user: add"
    assert answer.startswith("assistant: It is 3.")


def test_without_pandas_a_frame_is_a_friendly_sentence():
    notebook = executed(
        "import sys; sys.modules['pandas'] = None; agent = bot('x')",
        "%agent usage --df",
        "%agent history agent --df",
        allow_errors=True,
    )
    for cell in notebook.cells[2:]:
        assert "Run: pip install 'notebook-agents[notebook]'" in text_of(cell)
        assert len(text_of(cell).strip().splitlines()) == 1
