"""A smoke run in Notebook 7: ask, approve, answer, stop."""

from __future__ import annotations

import pytest

from tests.jupyter.lab import Lab
from tests.jupyter.test_busy_cell import SETUP

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]


def test_a_busy_cell_asks_is_approved_and_is_stopped_in_notebook_7(lab: Lab):
    cells = (
        SETUP,
        "agent = asks('All **done**.')",
        "%%agent agent\nDelete the rows of the North",
        "agent = bot('word ' * 4000, delay=0.02)",
        "%%agent agent\ncount",
        "print(log, 6 * 7)",
    )
    with lab.notebook("seven", *cells, page_of="notebooks") as notebook:
        notebook.run(0)
        notebook.wait_shown(0, "ready")
        notebook.run(1)
        notebook.start(2)
        notebook.button(2, "Approve").click()
        notebook.wait_done(2)
        notebook.wait_shown(2, "Approved by you")
        notebook.wait_shown(2, "done")
        notebook.run(3)
        notebook.start(4)
        notebook.wait_shown(4, "word word")
        notebook.interrupt()
        notebook.wait_done(4, 10)
        notebook.wait_shown(4, "KeyboardInterrupt")
        notebook.run(5)
        notebook.wait_shown(5, "['deleted in MainThread'] 42")
