"""``f.form()`` tries a tool by hand, and leaves no widget in the notebook."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
from nbconvert import HTMLExporter
from playwright.sync_api import expect

from notebook_agents import tool
from notebook_agents.jupyter.fields import fields_of
from notebook_agents.jupyter.stack import stacked
from notebook_agents.jupyter.widget import script
from notebook_agents.tools import to_tool_definition
from tests.jupyter.cells import attended_kernel, executed, text_of
from tests.jupyter.lab import wait_until as wait_for

TOOLS = '''
import asyncio, threading, time
from pathlib import Path
from IPython.display import display, HTML
import pandas as pd
from notebook_agents import tool
log = []
sales = pd.DataFrame({"n": [1, 2]})

@tool(risk="read")
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    log.append(threading.current_thread() is threading.main_thread())
    return a + b

@tool
def draw(n: int):
    print("drawing")
    display(HTML("<b>drawn</b>"))
    return {"n": n}

@tool
async def later(text: str) -> str:
    await asyncio.sleep(0)
    log.append(asyncio.get_running_loop() is loop)
    return text

@tool
def fail(): raise KeyError("no <such> key")

@tool
def nothing(): pass

@tool(thread=True)
def apart() -> bool:
    return threading.current_thread() is threading.main_thread()

@tool
def total(frame: pd.DataFrame, column: str = "n") -> int:
    return int(frame[column].sum())

@tool
def count(path: str):
    Path(path).touch()
    for number in range(60):
        yield number
        time.sleep(1)

@tool
def plus(a: int, b: int = 1) -> int:
    return a + b

@tool
def block(path: str):
    try:
        Path(path).touch()
        time.sleep(60)
    finally:
        log.append("cleaned up")

@tool
async def hang(path: str):
    try:
        Path(path).touch()
        await asyncio.sleep(60)
    finally:
        log.append("cleaned up")

loop = asyncio.get_running_loop()
'''


# ------------------------------------------------------------------ the function


def test_a_tool_brings_its_form_and_no_widget_with_it():
    code = (
        "import sys; from notebook_agents import tool\n"
        "@tool\ndef add(a: int): 'Add.'\n"
        "print(add.form, [m for m in ('IPython', 'ipywidgets') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("<bound method ToolDefinition.form")
    assert done.stdout.strip().endswith("[]")


def test_a_form_of_the_users_own_stays():
    class Search:
        form = "a form of my own"

        def __call__(self, query: str) -> str:
            """Search."""
            return query

    search = Search()
    assert tool(name="search")(search).form == "a form of my own"


def test_a_function_that_is_marked_again_has_the_form_of_the_new_mark():
    @tool
    def add(a: int) -> int:
        """Add."""
        return a

    tool(name="plus")(add)
    assert add.form.__self__ is to_tool_definition(add)
    assert add.form.__self__.name == "plus"


def test_outside_a_notebook_a_form_says_what_it_is():
    @tool
    def add(a: int, b: int = 1) -> int:
        """Add."""
        return a + b

    assert repr(add.form()).startswith("Form for add(a, b), which shows in a notebook")


def test_outputs_are_put_below_each_other():
    picture = {"image/png": b"\x89PNG", "text/plain": "<Figure>"}
    text = {"text/plain": "<a> & b"}
    assert stacked([]) == {}
    assert stacked([picture]) == picture
    both = stacked([text, picture, {"text/html": "<i>x</i>", "text/plain": "x"}])
    assert "&lt;a&gt; &amp; b</pre>" in both["text/html"]
    assert '<img src="data:image/png;base64,iVBORw==">' in both["text/html"]
    assert both["text/html"].endswith("<i>x</i>")
    assert both["text/plain"] == "<a> & b\n<Figure>\nx"


# ------------------------------------------------------------------ in a kernel


@pytest.mark.notebook
def test_where_nobody_is_there_is_no_widget():
    notebook = executed(
        TOOLS, "add.form()", "agent = bot(); agent.tools['delete'].form()"
    )
    assert text_of(notebook.cells[2]).startswith("Form for add(a, b), which shows")
    assert text_of(notebook.cells[3]).startswith("Form for delete(n)")
    assert "widget" not in json.dumps(notebook).replace("with widgets", "")


class Screen:
    """What a front end shows of one form, which it fills in and clicks."""

    def __init__(self, client) -> None:
        self._client = client._client
        self._comm = ""
        self.state: dict = {}
        self.outputs: dict = {}
        self.said: list = []

    def open(self, code: str) -> None:
        done = self._client.execute_interactive(
            code, allow_stdin=True, output_hook=self._take, timeout=20
        )
        assert done["content"]["status"] == "ok"

    def send(self, **content) -> None:
        data = {"method": "custom", "content": content}
        message = self._client.session.msg(
            "comm_msg", {"comm_id": self._comm, "data": data}
        )
        self._client.shell_channel.send(message)

    def wait(self, condition) -> None:
        end = time.monotonic() + 10
        while not condition():
            assert time.monotonic() < end, (self.outputs, self.said)
            self._take(self._client.get_iopub_msg(timeout=10))

    def run(self, **changes) -> tuple[dict, dict]:
        """Click Run, and give what stands where the form and its result did."""
        self.send(kind="run", n="1", changes=changes)
        self.wait(lambda: not self.has_form() and len(self.said) > 1)
        form, result = self.outputs.values()
        return form, result

    def has_form(self) -> bool:
        form = next(iter(self.outputs.values()))
        return "application/vnd.jupyter.widget-view+json" in form

    def _take(self, message) -> None:
        kind, content = message["msg_type"], message["content"]
        if kind == "comm_open" and "fields" in content["data"].get("state", {}):
            self._comm, self.state = content["comm_id"], content["data"]["state"]
        elif kind in {"display_data", "update_display_data"}:
            self.outputs[content["transient"]["display_id"]] = content["data"]
        elif kind == "comm_msg" and content["data"].get("method") == "custom":
            self.said.append(content["data"]["content"])
        elif kind == "comm_close" and content["comm_id"] == self._comm:
            self.said.append({"kind": "closed"})


@pytest.fixture(scope="module")
def kernel():
    with attended_kernel() as client:
        client.run(TOOLS)
        yield client


@contextmanager
def form_of(kernel, code):
    screen = Screen(kernel)
    screen.open(code)
    assert screen.has_form()
    yield screen


@pytest.mark.notebook
def test_a_tool_runs_in_the_main_thread_and_the_form_is_gone(kernel):
    with form_of(kernel, "add.form()") as screen:
        assert [field["name"] for field in screen.state["fields"]] == ["a", "b"]
        form, result = screen.run(a="2", b="3")
    assert form["text/plain"].startswith("✓ add(a=2, b=3) · done")
    assert result == {"text/plain": "5"}
    assert kernel.run("print(log.pop())").text.strip() == "True"


@pytest.mark.notebook
def test_what_is_printed_and_drawn_is_shown_above_the_value(kernel):
    with form_of(kernel, "draw.form()") as screen:
        _, result = screen.run(n="1")
    assert "drawing</pre>\n<b>drawn</b>\n" in result["text/html"]
    assert result["text/plain"].startswith("drawing\n")
    assert result["text/plain"].endswith("{'n': 1}")


@pytest.mark.notebook
def test_an_async_tool_runs_on_the_kernels_loop(kernel):
    with form_of(kernel, "later.form()") as screen:
        _, result = screen.run(text="é <b>")
    assert result == {"text/plain": "'é <b>'"}
    assert kernel.run("print(log.pop())").text.strip() == "True"


@pytest.mark.notebook
@pytest.mark.parametrize(
    ("name", "said", "shown"),
    [
        ("fail", "✗ fail() · failed · ", ""),
        ("nothing", "✓ nothing() · done", ""),
        ("apart", "✓ apart() · done", "False"),
    ],
)
def test_whatever_comes_of_it_is_shown(kernel, name, said, shown):
    with form_of(kernel, f"{name}.form()") as screen:
        form, result = screen.run()
    assert form["text/plain"].startswith(said)
    assert result == {"text/plain": shown}
    if name == "fail":
        assert "KeyError: &#x27;no &lt;such&gt; key&#x27;" in form["text/html"]
        assert "raise KeyError" in form["text/html"]
        assert "form.py" not in form["text/html"]


@pytest.mark.notebook
def test_what_does_not_fit_is_said_and_the_form_stays(kernel):
    with form_of(kernel, "plus.form()") as screen:
        for changes, problem in (
            ({}, "'a' is missing"),
            ({"a": "many"}, "a: write a number."),
            ({"a": "1.5"}, "'a': "),
            ({"c": "1"}, "'c' is no field of this form."),
        ):
            screen.said.clear()
            screen.send(kind="run", n="1", changes=changes)
            screen.wait(lambda: len(screen.said) == 2)
            acknowledged, invalid = screen.said
            assert acknowledged == {"kind": "ack", "of": "run", "n": "1"}
            assert invalid["kind"] == "invalid"
            assert problem in invalid["text"]
            assert screen.has_form()
        screen.said.clear()
        _, result = screen.run(a="1")
    assert result == {"text/plain": "2"}


@pytest.mark.notebook
def test_a_variable_of_the_notebook_is_given_by_its_name(kernel):
    with form_of(kernel, "total.form()") as screen:
        screen.send(kind="run", n="1", changes={"frame": "log"})
        screen.wait(lambda: len(screen.said) == 2)
        assert "'log' is a list, not a DataFrame" in screen.said[1]["text"]
        screen.said.clear()
        _, result = screen.run(frame="sales")
    assert result == {"text/plain": "3"}


@pytest.mark.notebook
def test_clicks_that_are_repeated_run_the_tool_once(kernel):
    with form_of(kernel, "add.form()") as screen:
        for _ in range(5):
            screen.send(kind="run", n="1", changes={"a": "1"})
        screen.wait(lambda: not screen.has_form())
    assert kernel.run("print(len(log)); log.clear()").text.strip() == "1"


@pytest.mark.notebook
def test_the_next_form_is_filled_in_with_what_was_tried(kernel):
    with form_of(kernel, "add.form()") as screen:
        screen.run(b="7", a="6")
    with form_of(kernel, "add.form()") as screen:
        fields = screen.state["fields"]
        assert [(field["name"], field["text"]) for field in fields] == [
            ("a", "6"),
            ("b", "7"),
        ]
        _, result = screen.run(b="8")
    assert result == {"text/plain": "14"}


@pytest.mark.notebook
def test_a_form_can_be_closed(kernel):
    with form_of(kernel, "add.form()") as screen:
        screen.send(kind="close")
        screen.wait(lambda: not screen.has_form())
        form, result = screen.outputs.values()
    assert form["text/plain"].startswith("Form for add(a, b)")
    assert result == {"text/plain": ""}


@pytest.mark.notebook
@pytest.mark.parametrize("name", ["block", "hang", "count"])
def test_stop_ends_a_tool_and_not_the_kernel(kernel, name, tmp_path, wait_until):
    began = tmp_path / "began"
    kernel.run("log.clear()")
    with form_of(kernel, f"{name}.form()") as screen:
        screen.send(kind="run", n="1", changes={"path": str(began)})
        wait_until(began.exists)
        kernel._manager.interrupt_kernel()
        screen.wait(lambda: not screen.has_form())
        form, _ = screen.outputs.values()
    assert "failed" in form["text/plain"]
    assert "KeyboardInterrupt" in form["text/plain"]
    cleaned = [] if name == "count" else ["cleaned up"]
    assert kernel.run("print(log, 6 * 7)").text.strip() == f"{cleaned} 42"
    # Not a word of the code, which the traceback shows again.
    code = "print('g' + 'o', flush=True); time.sleep(30)"
    stopped = kernel.run(code, stop_at="go")
    assert "KeyboardInterrupt" in stopped.text


@pytest.mark.notebook
def test_an_agent_that_a_tool_runs_is_not_left_waiting_for_an_answer(kernel):
    """Nobody would see the question: what a tool shows is shown at its end."""
    kernel.run(
        "inner = bot(call('delete', n=1), 'so be it')\n"
        "@tool\ndef ask(q: str):\n    return inner.run_sync(q)"
    )
    with form_of(kernel, "ask.form()") as screen:
        _, result = screen.run(q="hi")
    assert "nobody is there to ask" in result["text/plain"]
    assert result["text/plain"].endswith("so be it")


@pytest.mark.notebook
def test_a_click_while_a_cell_runs_waits_for_its_turn(kernel):
    kernel.run("log.clear()")
    with form_of(kernel, "add.form()") as screen:
        kernel._client.execute("time.sleep(0.5); log.append('the cell')")
        screen.run(a="1")
    assert kernel.run("print(log)").text.strip() == "['the cell', True]"


# -------------------------------------------------------------------- in a page

# A kernel of a few lines: what the form sends it is kept, `hear` is its answer.
PAGE = """
<div id="cell"></div>
<script type="module">
  const form = await import("data:text/javascript;charset=utf-8;base64,SCRIPT");
  const values = {tool: "search", fields: FIELDS, description: "Search.", risk: "read"};
  const listeners = [];
  window.sent = [];
  window.hear = message => listeners.forEach(listener => listener(message));
  const model = {
    get: name => values[name],
    send: message => window.sent.push(message),
    on: (_, listener) => listeners.push(listener),
    off: (_, listener) => listeners.splice(listeners.indexOf(listener), 1),
  };
  window.close_ = form.default.render({model, el: document.getElementById("cell")});
</script>
"""
SCHEMA = {
    "properties": {
        "query": {"type": "string", "description": "What <b>to</b> look for."},
        "limit": {"type": "integer", "default": 5},
        "exact": {"type": "boolean"},
        "tags": {"type": "array"},
    }
}


@pytest.fixture
def page(lab, request):
    """Show one form in an empty page whose clock is ours."""
    fields = getattr(request, "param", fields_of(SCHEMA, {}))
    opened = lab._browser.new_page()
    opened.set_default_timeout(5000)
    opened.clock.install(time=0)
    opened.clock.pause_at(1)
    encoded = base64.b64encode(script("form.js").encode()).decode()
    page = PAGE.replace("SCRIPT", encoded).replace("FIELDS", json.dumps(fields))
    opened.set_content(page)
    opened.get_by_role("button", name="Run").wait_for()
    yield opened
    opened.close()


def status(page):
    return page.locator(".nba-status")


def sent(page) -> list[dict]:
    return page.evaluate("window.sent")


def hear(page, **message) -> None:
    page.evaluate("message => window.hear(message)", message)


@pytest.mark.browser
def test_only_what_was_written_is_sent(page):
    page.get_by_label("query").fill("<i>tea</i>")
    page.get_by_label("limit").fill("12345678901234567890")
    page.get_by_label("exact").select_option("false")
    page.get_by_role("button", name="Run").click()
    assert sent(page)[0]["changes"] == {
        "query": "<i>tea</i>",
        "limit": "12345678901234567890",
        "exact": "false",
    }
    assert status(page).inner_text() == "Running…"
    assert page.locator(".nba-field:enabled").count() == 0
    assert page.get_by_label("query").get_attribute("placeholder") == (
        "What <b>to</b> look for."
    )


@pytest.mark.browser
@pytest.mark.parametrize(
    ("label", "key", "runs"),
    [
        ("query", "Enter", True),
        ("exact", "Enter", True),
        ("tags", "Enter", False),
        ("query", "a", False),
    ],
)
def test_enter_in_a_field_of_one_line_runs(page, label, key, runs):
    page.get_by_label(label).press(key)
    assert bool(sent(page)) == runs


@pytest.mark.browser
def test_a_click_is_repeated_until_the_kernel_has_heard_it(page):
    page.get_by_role("button", name="Run").click()
    page.clock.run_for(1000)
    heard = len(sent(page))
    assert heard > 1
    hear(page, kind="ack", of="run", n=sent(page)[0]["n"])
    page.clock.run_for(60_000)
    assert len(sent(page)) == heard
    assert status(page).inner_text() == "Running…"


@pytest.mark.browser
def test_a_kernel_that_is_busy_or_gone_is_told(page):
    page.get_by_role("button", name="Run").click()
    page.clock.run_for(5500)
    expect(status(page)).to_have_text(
        "The kernel is busy, or was restarted: then run the cell again."
    )
    assert page.get_by_role("button", name="Close").is_enabled()
    hear(page, kind="ack", of="run", n=sent(page)[0]["n"])
    assert status(page).inner_text() == "Running…"


@pytest.mark.browser
def test_what_does_not_fit_is_said_in_place_and_can_be_mended(page):
    page.get_by_label("query").fill("tea")
    page.get_by_label("limit").fill("many")
    page.get_by_role("button", name="Run").click()
    n = sent(page)[0]["n"]
    hear(page, kind="ack", of="run", n=n)
    hear(page, kind="invalid", n=n, text="'exact' is missing (expected: boolean).")
    expect(page.get_by_label("exact")).to_be_focused()
    page.get_by_role("button", name="Run").click()
    n = sent(page)[-1]["n"]
    hear(page, kind="invalid", n=n, text="limit: write <b>a</b> number.")
    assert page.get_by_role("alert").inner_text() == "limit: write <b>a</b> number."
    assert status(page).inner_text() == ""
    expect(page.get_by_label("limit")).to_be_focused()
    page.get_by_label("limit").fill("3")
    page.get_by_role("button", name="Run").click()
    again = sent(page)[-1]
    assert again["changes"] == {"query": "tea", "limit": "3"}
    assert again["n"] != n
    assert page.get_by_role("alert").inner_text() == ""
    # The kernel's late word about the first attempt is not one about the second.
    hear(page, kind="invalid", n=n, text="late")
    assert status(page).inner_text() == "Running…"


@pytest.mark.browser
@pytest.mark.parametrize("page", [[]], indirect=True)
def test_a_tool_without_arguments_has_a_form_too(page):
    page.get_by_role("button", name="Run").click()
    assert sent(page)[0]["changes"] == {}
    hear(page, kind="invalid", n=sent(page)[0]["n"], text="no")
    assert page.get_by_role("alert").inner_text() == "no"


@pytest.mark.browser
def test_a_form_that_is_taken_away_listens_no_more(page):
    page.get_by_role("button", name="Run").click()
    page.evaluate("window.close_()")
    before = len(sent(page))
    page.clock.run_for(60_000)
    hear(page, kind="invalid", n=sent(page)[0]["n"], text="late")
    assert len(sent(page)) == before
    assert page.get_by_role("alert").inner_text() == ""


# ----------------------------------------------------------------- in JupyterLab


@pytest.mark.browser
@pytest.mark.timeout(180)
def test_a_person_tries_a_tool_and_saves(lab):
    cells = (TOOLS, "draw.form()", "add.form()", "block.form()", "print(log[-1:])")
    with lab.notebook("form", *cells) as notebook:
        notebook.run(0)
        notebook.run(1)
        cell = notebook.cell(1)
        expect(cell.get_by_label("n", exact=True)).to_be_focused()
        notebook.page.keyboard.type("two")
        notebook.page.keyboard.press("Enter")
        expect(cell.get_by_role("alert")).to_have_text("n: write a number.")
        notebook.screenshot("form-invalid")
        cell.get_by_label("n", exact=True).fill("2")
        notebook.page.keyboard.press("Enter")
        notebook.wait_shown(1, "{'n': 2}")
        notebook.wait_shown(1, "drawing")
        expect(cell.locator("b")).to_have_text("drawn")

        # Another try is one key press away, and begins with what was there.
        notebook.page.keyboard.press("Control+Enter")
        expect(cell.get_by_label("n", exact=True)).to_have_value("2")
        expect(cell.get_by_label("n", exact=True)).to_be_focused()
        notebook.page.keyboard.press("Enter")
        notebook.wait_shown(1, "{'n': 2}")
        notebook.screenshot("form-done")

        notebook.run(2)
        notebook.button(2, "Close").click()
        notebook.wait_shown(2, "Form for add(a, b)")
        notebook.run(3)
        notebook.cell(3).get_by_label("path").fill("began")
        notebook.button(3, "Run").click()
        wait_for((lab.folder / "began").exists, 10, lambda: notebook.shown(3))
        notebook.interrupt()
        notebook.wait_shown(3, "KeyboardInterrupt")
        assert "['cleaned up']" in notebook.run(4)

        saved = notebook.saved()
        assert "widget-view" not in json.dumps(saved)
        assert "widgets" not in saved["metadata"]
        page, _ = HTMLExporter().from_filename(str(notebook.path))
        assert "<b>drawn</b>" in page
        assert "nba-card" not in page
