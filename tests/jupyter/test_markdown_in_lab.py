"""The real JupyterLab, which does not sanitise Markdown, is not attacked by it."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest

from notebook_agents.jupyter.markdown import safe_markdown

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

HOSTILE = json.loads((Path(__file__).parent / "hostile.json").read_text("utf-8"))
FRAGMENTS = [
    *("```", "````", "~~~", "`", "``", "\n", "\n\n", "    ", "- ", "> ", "1. ", "# "),
    *("<img src=x onerror=window.__pwned=1>", "<script>window.__pwned=1</script>"),
    *("[a](javascript:window.__pwned=1)", "![a](http://evil.test/f.png)", "$", "|"),
    *('" onmouseover="window.__pwned=1', "http://evil.test/", "\\(", "\\)", "<!--"),
    *("</code></pre>", "text", "\\", "html", "[r]", "[r]: http://evil.test/r.png"),
]
READS_RIGHT = {
    "$a<b$ and \\(c<d\\)": "math",
    "It costs $5 or $6, `x<y` and `$z`.": "It costs $5 or $6, x<y and $z.",
    "- a\n  ```html\n  <b>\n\n  $x\n  ```\n- c": "a <b> $x c",
    "1. a\n    ```bash\n    x\n    y\n    ```\n2. c": "a x y c",
    "```python\nif a <b:\n    c\n```": "if a <b: c",
    "a <b>tag</b> &amp; <https://e.test>": "a <b>tag</b> & https://e.test",
    "|a|\n|-|\n|`p\\|<q>`|": "a p|<q>",
}
CONTROL = '<img src="x" onerror="window.__control=1">'
OUTPUTS = 45  # JupyterLab shows 50 of a cell
SHOW = """\
import json
from IPython.display import display
for text in json.load(open("texts.json"))[{start}:{end}]:
    display({{"text/markdown": text, "text/plain": ""}}, raw=True)
"""
FIND_HARM = """() => {
  const found = [];
  const roots = [...document.querySelectorAll(".jp-RenderedMarkdown")].slice(0, -1);
  roots.forEach((root, index) => root.querySelectorAll("*").forEach(node => {
    const math = node.closest("mjx-container");
    const name = node.localName;
    if (!math && /^(script|iframe|svg|style|form|button|object|embed|math|b)$/.test(name))
      found.push([index, name]);
    if (name === "img" && /evil|logout/.test(node.src))
      found.push([index, node.outerHTML]);
    for (const {name: attribute, value} of node.attributes) {
      if (/^on|^data-commandlinker/.test(attribute)) found.push([index, attribute]);
      if (/^(href|src)$/.test(attribute) && /^\\s*(javascript|vbscript|data:text)/i.test(value))
        found.push([index, value]);
    }
  }));
  return found;
}"""


def _mixtures(count: int) -> list[str]:
    """Mix fragments, the same way each time."""
    number, mixtures = 1, []
    for _ in range(count):
        parts = []
        for _ in range(14):
            number = number * 48271 % 2147483647
            parts.append(FRAGMENTS[number % len(FRAGMENTS)])
        mixtures.append("".join(parts))
    return mixtures


@contextlib.contextmanager
def _shown(lab, name: str, texts: list[str]):
    """Show Markdown as live output; give the page and what it asks of others."""
    (lab.folder / "texts.json").write_text(json.dumps(texts), "utf-8")
    asked: list[str] = []

    def decide(route):
        if route.request.url.startswith((lab.url, "data:", "blob:")):
            route.continue_()
        else:
            asked.append(route.request.url)
            route.abort()

    starts = range(0, len(texts), OUTPUTS)
    cells = [SHOW.format(start=start, end=start + OUTPUTS) for start in starts]
    with lab.notebook(name, *cells) as notebook:
        notebook.page.route("**/*", decide)
        for index in range(len(cells)):
            notebook.run(index)
        shown = "document.querySelectorAll('.jp-RenderedMarkdown').length"
        notebook.page.wait_for_function(f"{shown} === {len(texts)}", timeout=60_000)
        yield notebook.page, asked


def test_nothing_hostile_runs_or_fetches_in_jupyterlab(lab):
    texts = [safe_markdown(text) for text in HOSTILE + _mixtures(150)]
    with _shown(lab, "hostile", [*texts, CONTROL]) as (page, asked):
        # The last output is not made safe: this is how an attack would look.
        page.wait_for_function("window.__control === 1", timeout=60_000)
        page.wait_for_load_state("networkidle")
        harm = page.evaluate(FIND_HARM)
        assert [(texts[index], what) for index, what in harm] == []
        assert page.evaluate("window.__pwned") is None
        assert [url for url in asked if ".test" in url] == []


def test_text_code_and_mathematics_read_right_in_jupyterlab(lab):
    texts = [safe_markdown(text) for text in READS_RIGHT]
    with _shown(lab, "right", texts) as (page, _):
        outputs = page.locator(".jp-RenderedMarkdown")
        outputs.nth(0).locator("mjx-container math").nth(1).wait_for(state="attached")
        math = outputs.nth(0).locator("math mo").all_text_contents()
        read = [" ".join(text.split()) for text in outputs.all_inner_texts()[1:]]
    assert math == ["<", "<"]
    assert read == list(READS_RIGHT.values())[1:]
