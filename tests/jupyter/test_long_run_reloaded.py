"""A page that is loaded again while a long run goes on is told the latest of it."""

from __future__ import annotations

import json

import pytest

from tests.jupyter.cells import SETUP
from tests.jupyter.front_end import front_end_of, running_kernel

pytestmark = pytest.mark.notebook

CALLS = 60
MORE = f"""
@tool
async def page(number: int) -> str:
    'Read a page.'
    await asyncio.sleep(0.02)
    return "word " * 1000
pages = [call("page", number=n) for n in range({CALLS})]
script = [call("delete", n=1), *pages, "the end " * 10_000]
agent = Agent(ScriptedProvider(script), [delete, page], max_steps={CALLS + 5})
"""


@pytest.fixture(scope="module")
def cell():
    """Run a cell that asks, in a page that is loaded again before the answer."""
    with running_kernel() as manager, front_end_of(manager, has_subshells=True) as tab:
        assert tab.run(SETUP + MORE).status == "ok"
        cell = tab.start("result = await agent.run('Read')", has_card=True)
        tab.follow(lambda: cell.shows("[card]"))
        cell.load_again()
        tab.follow(lambda: bool(cell.told))
        cell.click("allow")
        tab.follow(lambda: cell.is_done and "instead" in cell.told[-1])
        assert cell.reply.status == "ok"
        yield cell


def test_a_click_is_acknowledged_once_however_often_was_asked():
    with running_kernel() as manager, front_end_of(manager, has_subshells=True) as tab:
        script = "*(call('delete', n=n) for n in range(4)), 'Done.'"
        assert tab.run(f"{SETUP}\nagent = bot({script})").status == "ok"
        cell = tab.start("result = await agent.run('x', max_steps=9)", has_card=True)
        tab.follow(lambda: cell.shows("[card]"))
        cell.load_again()
        tab.follow(lambda: bool(cell.told))
        card = cell.first_card

        def click(name, decision="allow", **row):
            said = {"kind": "decision", "n": name, "decision": decision, **row}
            tab.send_to_widget(card.comm, said)

        for number in range(1, 4):
            click(number)
            tab.follow(lambda: cell.reply.texts.count("[card]") > number)  # noqa: B023
        click("once", id="of no row")
        click("after it", id="of no row")
        tab.follow(lambda: "after it" in card.acknowledged)
        assert card.acknowledged.count("once") == 1
        click("the last", "stop")
        assert "RunCancelledError" in tab.finish(cell).text


def texts(told):
    return [each["text"] for each in told["news"]]


def test_no_round_tells_more_than_a_page_can_take(cell):
    assert len(cell.told) > 3
    assert max(len(json.dumps(texts(told))) for told in cell.told) < 30_000


def test_the_latest_is_told_in_order_and_what_is_left_out_is_counted(cell):
    full = [told for told in cell.told if any("left out" in t for t in texts(told))]
    head, left_out, *latest = texts(full[0])
    assert "agent" in head
    assert left_out.startswith("… ")
    numbers = [int(text.split("number=")[1].split(")")[0]) for text in latest]
    assert numbers == list(range(numbers[0], numbers[-1] + 1))
    assert numbers[0] > 0


def test_the_end_of_a_long_answer_is_told(cell):
    assert texts(cell.told[-1])[-1].rstrip().endswith("the end")


def test_what_the_notebook_keeps_is_whole(cell):
    outputs = [each["text/plain"] for each in cell.told[-1]["instead"]]
    calls = [text for text in outputs if "page(number=" in text]
    assert len(calls) == CALLS
    answer = "".join(outputs[outputs.index(calls[-1]) + 1 :])
    assert "".join(answer.split()) == "theend" * 10_000
