"""Approval where no click can arrive: the input box asks instead."""

from __future__ import annotations

import pytest

from tests.jupyter.cells import attended_kernel

pytestmark = pytest.mark.notebook


@pytest.fixture(scope="module")
def front_end():
    """Give one kernel for all of these tests."""
    with attended_kernel() as client:
        yield client


CHOICES = "[y]es, [a]lways, [N]o, [e]dit, [r]espond, [q]uit the run: "
ASK = "agent = bot(call('delete', n=1), 'the answer'); log.clear()"
WAYS = [
    "%%agent agent\ndelete",
    "agent.run_sync('x')",
    "await agent.run('x')",
    # As any option, None is the same as leaving it out.
    "agent.run_sync('x', approver=None, namespace=None)",
]


@pytest.mark.parametrize("way", WAYS)
def test_yes_in_the_input_box_runs_the_tool(front_end, way):
    front_end.run(ASK)
    reply = front_end.run(way, "y")
    assert reply.prompts == [f"Run delete(n=1)? {CHOICES}"]
    assert "the answer" in reply.text
    assert "deleted 1" in front_end.run("print(log)").text


@pytest.mark.parametrize("yes", ["approve", "OK", "allow", "Yes!"])
def test_whoever_says_yes_in_other_words_is_understood(front_end, yes):
    front_end.run(ASK)
    front_end.run("agent.run_sync('x')", yes)
    assert "deleted 1" in front_end.run("print(log)").text


@pytest.mark.parametrize("half", ["ok but not today", "yes, in the copy", "sure"])
@pytest.mark.parametrize(("then", "log"), [("y", "deleted 1"), ("n", "[]")])
def test_half_a_yes_is_asked_again_and_runs_nothing(front_end, half, then, log):
    front_end.run(ASK)
    reply = front_end.run("agent.run_sync('x')", half, then)
    again = "Yes or no? y runs it as it is, n and a reason does not; e changes it.\n"
    assert reply.prompts[1] == f"{again}{reply.prompts[0]}"
    assert log in front_end.run("print(log)").text


def test_always_in_the_input_box_asks_no_second_time(front_end):
    twice = ASK.replace("'the answer'", "call('delete', n=2), 'the answer'")
    front_end.run(twice)
    reply = front_end.run("agent.run_sync('x')", "a")
    assert len(reply.prompts) == 1
    said = front_end.run("print(log)").text
    assert "deleted 1" in said
    assert "deleted 2" in said


def test_anything_else_denies_and_is_told_to_the_model(front_end):
    front_end.run(ASK)
    front_end.run("agent.run_sync('x')", "use the test table")
    request = front_end.run("print((await agent.last_run.result()).tool_calls)").text
    assert "use the test table" in request
    assert front_end.run("print(log)").text.strip() == "[]"


def test_quit_ends_the_run(front_end):
    front_end.run(ASK)
    reply = front_end.run("%%agent agent\ndelete", "q")
    assert reply.status == "error"
    assert "RunCancelledError" in reply.text
    assert front_end.run("print(log)").text.strip() == "[]"


CONTENTS = "print(*[c['content'] for c in agent.last_run._result.tool_calls], sep='|')"


def contents(front_end) -> list[str]:
    """Give what the model was told of each call."""
    return front_end.run(CONTENTS).text.rstrip("\n").split("|")


@pytest.mark.parametrize(
    "no", ["n use the copy", "No, use the copy", "deny: use the copy", "use the copy"]
)
def test_a_reason_can_follow_a_no(front_end, no):
    front_end.run(ASK)
    front_end.run("agent.run_sync('x')", no)
    assert contents(front_end) == ["Denied: use the copy. The tool was not run."]


@pytest.mark.parametrize("no", ["n", "NO", "", "no.", "deny"])
def test_a_no_needs_no_reason(front_end, no):
    front_end.run(ASK)
    front_end.run("agent.run_sync('x')", no)
    assert contents(front_end) == ["Denied by the user. The tool was not run."]


def test_arguments_are_changed_as_json(front_end):
    front_end.run(ASK)
    reply = front_end.run("agent.run_sync('x')", "e", '{"n": 7}')
    assert reply.prompts[1].endswith('Now {"n": 1}\nJSON: ')
    assert "Approved by you, edited" in reply.text
    assert "deleted 7" in front_end.run("print(log)").text


def test_arguments_that_do_not_fit_are_said_and_asked_again(front_end):
    front_end.run(ASK)
    wrong = ["{n: 7}", "[7]", '{"n": "many"}', '{"m": 7}', '{"n": NaN}']
    reply = front_end.run("agent.run_sync('x')", "e", *wrong, '{"n": 7}')
    said = [prompt.partition("\n")[0] for prompt in reply.prompts[2:]]
    assert said[0].startswith("This is no JSON: Expecting property name")
    assert said[1] == 'Write a JSON object, such as {"n": 1}.'
    assert "valid integer" in said[2]
    assert 'there is no "m"' in said[3]
    assert said[4] == "This is no JSON: NaN is no number of JSON."
    assert "deleted 7" in front_end.run("print(log)").text


@pytest.mark.parametrize("choice", ["e", "r"])
def test_an_empty_line_goes_back_to_the_question(front_end, choice):
    front_end.run(ASK)
    reply = front_end.run("agent.run_sync('x')", choice, "", "y")
    assert reply.prompts[2] == reply.prompts[0]
    assert "deleted 1" in front_end.run("print(log)").text


def test_a_front_end_that_never_says_anything_useful_is_denied(front_end):
    front_end.run(ASK)
    reply = front_end.run("agent.run_sync('x')", "e", *["nonsense"] * 30)
    assert len(reply.prompts) == 20
    assert front_end.run("print(log)").text.strip() == "[]"


def test_an_answer_can_take_the_place_of_the_tool(front_end):
    front_end.run(ASK)
    reply = front_end.run("agent.run_sync('x')", "r", "Already <b>gone</b>.")
    assert "Answered by you: delete(n=1)" in reply.text
    assert contents(front_end) == ["Already <b>gone</b>."]
    assert front_end.run("print(log)").text.strip() == "[]"


SEVERAL = "agent = bot([call('delete', n=i) for i in (1, 2, 3)], 'done'); log.clear()"


def test_several_calls_are_asked_one_after_the_other(front_end):
    front_end.run(SEVERAL)
    reply = front_end.run("%%agent agent\ndelete", "y", "n not this", "y")
    starts = [prompt.partition("?")[0] for prompt in reply.prompts]
    assert starts == [f"({i} of 3) Run delete(n={i})" for i in (1, 2, 3)]
    assert contents(front_end) == [
        "deleted 1",
        "Denied: not this. The tool was not run.",
        "deleted 3",
    ]


def test_all_of_them_are_approved_once_they_have_been_listed(front_end):
    front_end.run(SEVERAL)
    reply = front_end.run("agent.run_sync('x')", "n", "all", "n", "all", "y")
    assert "[all] yes to all" in reply.prompts[0]
    listed = "Run all 2?\n  delete(n=2)\n  delete(n=3)\n[y]es, [N]o: "
    assert reply.prompts[2] == reply.prompts[4] == listed
    assert "['deleted 2', 'deleted 3']" in front_end.run("print(log)").text


def test_always_answers_the_others_of_the_same_tool(front_end):
    front_end.run(SEVERAL)
    reply = front_end.run("agent.run_sync('x')", "a")
    assert len(reply.prompts) == 1
    assert reply.text.count("Approved for this session") == 3


def test_quit_leaves_none_of_them_to_ask(front_end):
    front_end.run(SEVERAL)
    reply = front_end.run("agent.run_sync('x')", "q")
    assert len(reply.prompts) == 1
    assert "Denied, run stopped by you: delete(n=1)" in reply.text
    assert reply.text.count("Cancelled: delete") == 2


TOOLS = """
@tool(approval=True)
def write(path: str, text: str) -> str:
    'Write a file.'
    log.append(len(text))
    return 'written'

def writer(**args):
    return Agent(ScriptedProvider([call('write', **args), 'done']), [write])
log.clear()
"""


def test_a_huge_argument_is_shortened_until_it_is_asked_for(front_end):
    front_end.run(TOOLS)
    code = "r = writer(path='a.txt', text='word ' * 200_000).run_sync('x')"
    reply = front_end.run(code, "v", "y")
    assert all(len(prompt) < 600 for prompt in reply.prompts)
    assert 'write(path="a.txt", text="word word' in reply.prompts[0]
    assert "[v]iew in full" in reply.prompts[0]
    viewed = next(text for text in reply.texts if text.startswith("path: a.txt"))
    assert 90_000 < len(viewed) < 110_000
    assert "more" in viewed[-30:]
    assert "1000000" in front_end.run("print(log)").text


def test_nothing_in_a_prompt_moves_the_cursor_or_turns_the_text(front_end):
    front_end.run(TOOLS)
    evil = "\x1b[2J\x9b2J\u202egpj.exe\n\x7f"
    code = f"r = writer(path={evil!r}, text='t').run_sync('x')"
    reply = front_end.run(code, "n")
    assert reply.prompts[0].isprintable()


NESTED = """
inner = Agent(ScriptedProvider([call('delete', n=1), 'inner done']), [delete],
              name='inner', approval_timeout={timeout})

@tool(thread=True)
def delegate() -> str:
    'Ask another agent.'
    return str(inner.run_sync('go'))

agent = Agent(ScriptedProvider([call('delegate'), 'outer done']), [delegate])
log.clear()
"""


@pytest.mark.parametrize(("answer", "log"), [("y", "['deleted 1']"), (None, "[]")])
def test_an_agent_in_the_thread_of_a_tool_asks_in_the_cell(front_end, answer, log):
    """Only there an unanswered question can be taken back."""
    front_end.run(NESTED.format(timeout=60 if answer else 1))
    reply = front_end.run("print(agent.run_sync('x'))", answer)
    assert (reply.status, len(reply.prompts)) == ("ok", 1)
    assert "outer done" in reply.text
    assert log in front_end.run("print(log)").text


RULE = """
agent = bot(call("delete", n=1), "ok", policy={"delete": lambda args: args["m"] > 1})
"""


def test_a_rule_that_failed_is_named_above_the_question(front_end):
    front_end.run(RULE)
    reply = front_end.run("agent.run_sync('x')", "n")
    told, question = reply.prompts[0].split("\n")
    assert told == "The rule 'delete' of the policy failed: KeyError: 'm'."
    assert question == f"Run delete(n=1)? {CHOICES}"


BUDGET = """
from notebook_agents import Budget
agent = bot([call("add", a=1, b=2)] * 2, "done", budget=Budget(tool_calls=1))
"""


def test_a_question_about_the_budget_is_no_call(front_end):
    front_end.run(BUDGET)
    reply = front_end.run("print(agent.run_sync('x'))", "e", '{"tool_calls": 7}')
    choices = "[y]es, [N]o, [e]dit, [q]uit the run: "
    assert reply.prompts[0].endswith(choices)
    assert "done" in reply.text
