"""A question of the background is answered from another cell."""

from __future__ import annotations

import re

import pytest

from tests.jupyter.cells import attended_kernel

pytestmark = pytest.mark.notebook

TOOLS = """
@tool(approval=True, risk="write")
async def work(n: int, text: str = "") -> str:
    'Work.'
    log.append(n)
    return f"worked {n}"

def start(*calls, **options):
    global worker
    worker = Agent(ScriptedProvider([list(calls), "done"]), [work], name="bot", **options)
    log.clear()
    run, pause = worker.start("go"), threading.Event()
    for _ in range(200):  # a question takes a moment to arise
        if run.approvals or run.is_done:
            break
        pause.wait(0.01)
    return run
"""
TWO = "run = start(call('work', n=1), call('work', n=2))"
SAID = """
result = await run.result()
print([each['content'] for each in result.tool_calls])
print([(each['decision'], each['scope'], each['by']) for each in result.approvals])
"""


@pytest.fixture(scope="module")
def kernel():
    """Give one kernel for all of these tests; its front end shows no card."""
    with attended_kernel() as client:
        client.run(TOOLS)
        yield client


@pytest.fixture
def front_end(kernel):
    """Let no question of one test wait in the next."""
    yield kernel
    kernel.run("%agent deny all")


def waiting(front_end) -> list[str]:
    """Give the identifiers of the calls that wait, as the list shows them."""
    return re.findall(
        r"^([0-9a-f]{12})  ", front_end.run("%agent approvals").text, re.M
    )


def test_the_list_says_that_a_rule_failed(front_end):
    front_end.run("run = start(call('work', n=1), policy={'work': lambda _: 1 / 0})")
    first = front_end.run("%agent approvals").text.splitlines()[0]
    assert first.endswith("the policy failed: ZeroDivisionError: division by zero.")


def test_what_waits_is_listed_with_its_arguments_and_its_time(front_end):
    front_end.run("run = start(call('work', n=1, text='<b>two\\nlines</b>'))")
    text = front_end.run("%agent approvals").text
    first, *rest = text.splitlines()
    assert re.fullmatch(
        r"[0-9a-f]{12}  bot asks to run work · write · (5:00|4:5\d) left", first
    )
    assert rest[:4] == ["    n: 1", "    text:", "      <b>two", "      lines</b>"]
    assert rest[
        4
    ] == f"%agent approve {first[:12]}, %agent deny {first[:12]} WHY or " + (
        f"%agent respond {first[:12]} TEXT answers the first."
    )


def test_nothing_waits_is_said_in_words(front_end):
    assert front_end.run("%agent approvals").text == "Nothing waits.\n"
    reply = front_end.run("%agent approve")
    assert reply.status == "error"
    assert "Nothing waits for an answer." in reply.text


def test_the_only_call_needs_no_name(front_end):
    front_end.run("run = start(call('work', n=1))")
    assert front_end.run("%agent approve").text == "Approved: work.\n"
    assert "['worked 1']" in front_end.run(SAID).text


def test_of_several_calls_each_is_answered_by_its_name(front_end):
    front_end.run(TWO)
    first, second = waiting(front_end)
    reply = front_end.run("%agent approve")
    assert (
        f"Several calls wait; name one: {first} (work), {second} (work)." in reply.text
    )
    assert front_end.run(f"%agent approve {second[:6]}").text == "Approved: work.\n"
    assert front_end.run(f"%agent deny {first} not   today").text == "Denied: work.\n"
    said = front_end.run(SAID).text
    assert "['Denied: not today. The tool was not run.', 'worked 2']" in said
    assert waiting(front_end) == []


@pytest.mark.parametrize(("word", "log"), [("approve", "[1, 2]"), ("deny", "[]")])
def test_all_are_answered_at_once(front_end, word, log):
    front_end.run(TWO)
    front_end.run(f"%agent {word} all")
    front_end.run(SAID)
    assert log in front_end.run("print(sorted(log))").text


def test_for_the_session_answers_the_others_too(front_end):
    front_end.run(TWO)
    front_end.run(f"%agent approve {waiting(front_end)[0]} session")
    said = front_end.run(SAID).text
    assert "[('always', 'tool', 'person'), ('allow', '', 'session')]" in said


def test_a_call_is_approved_for_the_session_without_the_others(front_end):
    front_end.run(TWO)
    front_end.run(f"%agent approve {waiting(front_end)[0]} call")
    assert len(waiting(front_end)) == 1
    front_end.run("%agent deny")
    said = front_end.run(SAID).text
    assert "[('always', 'call', 'person'), ('deny', '', 'person')]" in said


def test_a_person_answers_in_place_of_the_tool(front_end):
    front_end.run("run = start(call('work', n=1))")
    (name,) = waiting(front_end)
    assert "needs the text" in front_end.run(f"%agent respond {name}").text
    assert front_end.run(f"%agent respond {name} by hand").text == "Answered: work.\n"
    said = front_end.run(SAID).text
    assert "['by hand']" in said
    assert "[('respond', '', 'person')]" in said
    assert "by hand · answered by you" in front_end.run("%agent history worker").text


def test_a_call_that_is_named_wrongly_is_left_alone(front_end):
    front_end.run("run = start(call('work', n=1))")
    (name,) = waiting(front_end)
    for line in ("approve 0000zzzz", "approve x y z", f"approve {name} for ever"):
        assert front_end.run(f"%agent {line}").status == "error"
    assert waiting(front_end) == [name]


def test_a_question_of_an_agent_that_was_replaced_is_found_as_well(front_end):
    front_end.run("agent = bot(call('delete', n=1), 'done'); run = agent.start('x')")
    front_end.run("agent = bot('something else')")
    front_end.run("%agent approve")
    assert "['deleted 1']" in front_end.run(SAID).text


WITHOUT_CARDS = """
from notebook_agents.jupyter import kernel
shows, kernel.shows_cards = kernel.shows_cards, lambda: False
run = start(call('work', n=1))
while not run.approvals: await asyncio.sleep(0.02)
await asyncio.sleep(0.2)
"""


def test_where_no_card_can_be_made_the_cell_says_how_to_answer(front_end):
    reply = front_end.run(WITHOUT_CARDS)
    said = (
        "bot asks to run work(n=1). %agent approvals lists what waits, %agent approve"
    )
    assert said in reply.text
    assert "[card]" not in reply.text
    front_end.run("%agent approve")
    assert "['worked 1']" in front_end.run(SAID).text
    front_end.run("kernel.shows_cards = shows")


def test_a_run_that_is_stopped_takes_its_questions_along(front_end):
    front_end.run(TWO)
    assert len(waiting(front_end)) == 2
    front_end.run("run.cancel()\nawait run.ended()")
    assert waiting(front_end) == []


SERVE = """
import httpx
from notebook_agents import serve
served = Agent(ScriptedProvider([call('work', n=5), 'done']), [work], name='served')
server = serve(served)
web = httpx.AsyncClient(headers={'Authorization': f'Bearer {server.token}'}, timeout=20)
asking = asyncio.create_task(web.post(f'{server.url}/chat', json={'message': 'go'}))
while not server.approvals: await asyncio.sleep(0.02)
"""


def test_a_call_of_a_served_agent_is_answered_as_well(front_end):
    front_end.run(SERVE)
    assert "served asks to run work" in front_end.run("%agent approvals").text
    front_end.run("%agent approve")
    said = "print((await asking).json()['response']); server.stop()"
    assert front_end.run(said).text == "done\n"
