"""Model text is harmless in every Markdown parser, and still reads right."""

from __future__ import annotations

import json
import re
import time
from html.parser import HTMLParser
from pathlib import Path

import mistune
import pytest
from hypothesis import given
from hypothesis import strategies as st

from notebook_agents.jupyter._splitter import Splitter
from notebook_agents.jupyter.markdown import _seal, safe_markdown

HOSTILE = json.loads((Path(__file__).parent / "hostile.json").read_text("utf-8"))
TAGS = re.findall(
    r"\w+",
    "p a code pre span ol ul li em strong del blockquote table thead tbody tr td th "
    "h1 h2 h3 h4 h5 h6 hr br img input div sup section",
)
ATTRIBUTES = {"href", "src", "alt", "class", "style", "start", "id", "type", "checked"}
FRAGMENTS = st.sampled_from(
    [
        *("```", "````", "~~~", "`", "``", "\n", "\n\n", "    ", "\t", "- ", "1. "),
        *("> ", "| a | b |\n|--|--|\n|", "# ", "<img src=x onerror=pwn()>", "<b", "<"),
        *("<script>", "</pre>", "</code>", "<!--", "<?x", "<![CDATA[", "$", "$$"),
        *(r"\(", r"\)", r"\[", r"\]", r"\\(", r"\\)", r"\begin{a}", r"\end{a}", "{"),
        *("}", "[", "]", "(", ")", "](", "![", "[a](javascript:p)", "[a]: javascript:"),
        *("[a]", "![a](http://e/x.png)", "http://e/", "www.e.x", '" onmouseover="p'),
        *("@@0@@", r"@\@0@@", "&lt;", "&#36;", "\\", "!", "_", "**", "a", "b c", "py"),
        *("\u2028", "\x85", "\0", "\r", "<https://e.x>", "ftp://e", "]:", "=", "---\n"),
    ]
)
texts = st.lists(FRAGMENTS, max_size=24).map("".join)


class _Checker(HTMLParser):
    """Collects what the page of an attacker would need."""

    def __init__(self) -> None:
        super().__init__()
        self.bad: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in TAGS:
            self.bad.append(f"<{tag}>")
        for name, value in attrs:
            if name not in ATTRIBUTES or name == "src":
                self.bad.append(f"{name}={value}")
            if name == "href" and re.match(r"(?!https?:|mailto:)[^/?#]*:", value or ""):
                self.bad.append(f"href={value}")


def _harm_in(markdown: str) -> list[str]:
    checker = _Checker()
    checker.feed(str(mistune.html(markdown)))
    return checker.bad


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_hostile_gets_through_another_parser(text):
    written = safe_markdown(text)
    harm = [found for found in _harm_in(written) if found != "src=plot.png"]
    assert not harm


@given(texts)
def test_no_mixture_of_markup_gets_through(text):
    assert not _harm_in(safe_markdown(text))


@given(texts)
def test_no_tag_of_the_text_is_left_even_in_code(text):
    written = safe_markdown(text)
    assert not re.search(r"<(?=[A-Za-z/!?])(?!/?(?:code|pre|span)>)", written)


@given(texts, st.booleans())
def test_the_last_check_finds_nothing_left_to_do(text, remote_images):
    written = safe_markdown(text, remote_images=remote_images)
    assert _seal(written, remote_images=remote_images) == written


@given(texts)
def test_every_beginning_of_a_text_can_be_shown(text):
    for end in range(len(text)):
        assert not _harm_in(safe_markdown(text[:end], streaming=True))


@given(st.text())
def test_any_text_can_be_written(text):
    safe_markdown(text).encode("utf-8")


@pytest.mark.parametrize(
    "text",
    [
        "# A heading\n\nA paragraph with *emphasis*, `code` and 2 < 3.",
        "- one\n- two\n  - three\n\n1. four",
        "```python\nx = y[0](z) if a < b else {}\n```",
        "| a | b |\n|---|--:|\n| 1 | 2 |",
        "[docs](https://example.org/a_b#c) and <br".replace("<br", "https://e.org"),
        "> quote\n> goes on",
        "- [ ] open\n- [x] done",
        "Inline $x_1^2$ and\n\n$$\n\\sum_i x_i\n$$",
        "![plot](plot.png)",
    ],
)
def test_plain_markdown_stays_as_it_is(text):
    assert safe_markdown(text) == text


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a <b>bold</b>", "a &lt;b>bold&lt;/b>"),
        ("`<b>`", "<code>&#60;b&#62;</code>"),
        ("```html\n<b>\n\n</b>\n```", "<pre><code>"),
        (
            "- a\n  ```\n  <b>\n  ```\n- c",
            "- a\n  <pre><code>&#60;b&#62;</code></pre>\n- c",
        ),
        ("    <b>", "<pre><code>&#60;b&#62;</code></pre>"),
        ("<https://e.org/?a&b>", "(https://e.org/?a&amp;b)"),
        ("<me@e.org>", "(mailto:me@e.org)"),
        ("&copy; &lt;b&gt;", "&copy; &lt;b&gt;"),
    ],
)
def test_html_becomes_text(text, written):
    assert written in safe_markdown(text)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("[a](javascript:x)", "a"),
        ("[a](JAVA&#115;cript:x)", "a"),
        ("[a](<java\tscript:x>)", "a"),
        ("[a](data:text/html,x)", "a"),
        ("[a](vbscript:x)", "a"),
        ("[a](file:///etc/passwd)", "a"),
        ("[a](//e.org/x)", "[a](https://e.org/x)"),
        ("[a](x.ipynb#part)", "[a](x.ipynb#part)"),
        ("[a](HTTPS://e.org 'title')", "[a](https://e.org)"),
        (
            "[a][r] [r][]\n\n[r]: https://e.org",
            "[a](https://e.org) [r](https://e.org)\n",
        ),
        ("[a][r]\n\n[r]: javascript:x", "a\n"),
        ("[INFO]: ready", "[INFO]&#58; ready"),
        ("[a](http://e.org/$x$)", "[a](http://e.org/%24x%24)"),
    ],
)
def test_only_checked_links_stay_links(text, written):
    assert safe_markdown(text) == written


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("![a](https://e.org/x.png)", "[a](https://e.org/x.png)"),
        ("![a][r]\n\n[r]: https://e.org/x", "[a](https://e.org/x)\n"),
        ("![a](//e.org/x)", "[a](https://e.org/x)"),
        ("![a](data:image/svg+xml,x)", "a"),
        ("![a](/logout)", "[a](/logout)"),
        ("!<https://e.org>", "&#33;[https&#58;//e&#46;org](https://e.org)"),
        ("[![a](http://e.org/i)](http://e.org)", "[a](http://e.org)"),
    ],
)
def test_an_image_from_elsewhere_becomes_a_link(text, written):
    assert safe_markdown(text) == written


def test_images_from_the_web_are_shown_when_they_may_be():
    text = "![a](https://e.org/x.png) ![b](data:image/svg+xml,x)"
    written = safe_markdown(text, remote_images=True)
    assert written == "![a](https://e.org/x.png) b"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (r"\(x < y\) and \[ x=1 \]", "$x < y$ and $$x=1$$"),
        ("$a<b$", "$a< b$"),
        (r"\[1\]", "&#91;1&#93;"),
        (r"`\(x\)`", r"`\(x\)`"),
        ("It costs $5.", "It costs \\$5."),
        ("$5 to $6", "<span>&#36;</span>5 to <span>&#36;</span>6"),
        (r"\begin{a}x<y\end{a}", r"\begin{a}x< y\end{a}"),
        (
            r"$\href{x}{y}$",
            r"<code>&#36;&#92;href&#123;x&#125;&#123;y&#125;&#36;</code>",
        ),
    ],
)
def test_mathematics_is_told_from_money(text, written):
    assert safe_markdown(text) == written


def test_an_open_fence_is_closed():
    assert safe_markdown("```python\nx = 1", streaming=True) == "```python\nx = 1\n```"


@pytest.mark.parametrize("end", ["\n`", "\n``"])
def test_half_a_closing_fence_is_not_shown(end):
    text = "```python\nx = 1"
    assert safe_markdown(text + end, streaming=True) == f"{text}\n```"


def test_a_fence_with_a_hostile_language_keeps_only_its_word():
    assert safe_markdown('```py"onx=y\na\n```') == "```py\na\n```"


@pytest.mark.parametrize("line", ["A-->B", "A@{ img: 'http://e/x' }", "%%{init: {}}%%"])
def test_a_diagram_that_could_fetch_is_shown_as_its_source(line):
    written = safe_markdown(f"```mermaid\nflowchart LR\n{line}\n```")
    assert written.startswith("```mermaid") == (line == "A-->B")


@pytest.mark.parametrize(
    "piece",
    [
        "[",
        "`",
        "`a``",
        "$",
        "![",
        "<",
        "[a](",
        "> ",
        "- ",
        r"\(",
        "(`",
        "a_",
        "$a ",
        "\n",
    ],
)
@pytest.mark.timeout(10)
def test_a_text_made_to_be_slow_is_not(piece):
    assert safe_markdown(piece * 9000)


def _letters(number: int) -> str:
    return "".join(chr(ord("a") + number // 26**place % 26) for place in range(3))


MADE_TO_BE_SLOW = {
    "code": lambda size: "`a``b" * (size // 5),
    "code of many lengths": lambda size: "".join(
        "`" * length + "a" for length in range(1, int((2 * size) ** 0.5))
    ),
    "code across blocks": lambda size: "`a\n- b`" * (size // 8),
    "links that never end": lambda size: "[a](" * (size // 4),
    "parentheses in open links": lambda size: "[a](" * 30 + "()" * (size // 2),
    "brackets in brackets": lambda size: "[" * (size // 2) + "]" * (size // 2),
    "names of environments": lambda size: "".join(
        f"\\begin{{{_letters(number)}}}" for number in range(size // 11)
    ),
    "mathematics with a dollar": lambda size: r"\(" * (size // 2) + r"$\)",
    "dollars in a link": lambda size: "http://a" + "$" * size,
    "dots in a definition": lambda size: "[a]: " + "." * (size // 8) + " b",
    "links in code": lambda size: "```\n" + "www." * (size // 4) + "\n```",
    "code far inside": lambda size: "- " * (size // 4) + "```\n" + "\n" * (size // 2),
}


@pytest.mark.parametrize("kind", MADE_TO_BE_SLOW)
def test_a_text_of_sixteen_times_the_size_takes_about_sixteen_times_as_long(kind):
    def seconds(size: int) -> float:
        text = MADE_TO_BE_SLOW[kind](size)
        began = time.thread_time()
        safe_markdown(text)
        return time.thread_time() - began

    few = max(seconds(12_000) for _ in range(3))
    assert seconds(192_000) < 120 * few  # looking at all of it for each mark: 256


def _cut(text: str, limit: int) -> tuple[str, str, str] | None:
    """Give what stands before a cut, what is put at its place, and the rest."""
    cut = Splitter(limit).add(text)
    return None if cut is None else (text[: cut.at], cut.lead, text[cut.at :])


@pytest.mark.parametrize(
    "part",
    [
        "A new paragraph.\n",
        "# Heading\n",
        "```py\ncode\n```\n",
        "Title\n=====\n",
    ],
)
def test_a_long_text_is_cut_where_something_new_begins(part):
    before = "One.\n\n" + "word " * 20 + "\n\n"
    assert _cut(before + part, 60) == (before, "", part)


def test_a_heading_needs_no_blank_line_before_it():
    assert _cut("word " * 20 + "\n# Heading\n", 60)[2] == "# Heading\n"


@pytest.mark.parametrize(
    "text",
    [
        "short\n\ntext\n",
        "```\n" + "x\n\n" * 30 + "yyyyyyy",
        "- a\n\n" + "  words\n\n" * 12 + "- another",
        "| a |\n|---|\n" + "| cells |\n" * 9,
        "$$\n" + "x + y\n" * 30 + "$$",
        "word " * 40,
    ],
)
def test_code_lists_tables_and_paragraphs_are_not_cut_early(text):
    assert _cut(text, 60) is None


@pytest.mark.parametrize(
    ("text", "lead", "rest"),
    [
        ("- words of a list\n" * 8, "", "- words of a list\n"),
        ("2. words of a list\n" * 8, "", "2. words of a list\n"),
        ("```py\n" + "code\n\n" * 30, "```py\n", "code\n\n"),
        ("> ~~~\n" + "> code\n" * 30, "> ~~~\n", "> code\n"),
        ("| a |\n|-|\n" + "| cell |\n" * 18, "| a |\n|-|\n", "| cell |\n"),
        ("Text.\n\n" + "    code\n" * 18, "", "    code\n"),
    ],
)
def test_what_is_longer_than_twice_the_limit_is_cut_between_its_lines(text, lead, rest):
    before, found, after = _cut(text, 60)
    assert found == lead
    assert after.startswith(rest)
    assert 60 < len(before) <= 130


@pytest.mark.parametrize(
    ("text", "lead"),
    [
        ("ab cd\n" * 100, ""),
        ("1. Always the first.\n" * 100, ""),
        ("> quoted\n" * 100, ""),
        ("word " * 100, ""),
        ("x" * 400, ""),
        ("```\n" + "x" * 400, "```\n"),
        ("- a\n  ```py\n" + "  code\n" * 100, "  ```py\n"),
    ],
)
def test_every_text_is_cut_at_four_times_the_limit(text, lead):
    before, found, rest = _cut(text, 60)
    assert found == lead
    assert 180 < len(before) <= 240
    assert before[-1] in "\n " or "x" in before[-1]
    assert rest


def test_a_table_whose_head_is_long_is_not_repeated():
    head = "|" + "a" * 100 + "|\n|-|\n"
    assert _cut(head + "| cell |\n" * 40, 60)[1] == ""


@given(st.lists(FRAGMENTS, min_size=5).map("".join))
def test_a_cut_keeps_every_character(text):
    cut = _cut(text, 10)
    assert cut is None or (cut[0] and cut[2] and cut[0] + cut[2] == text)


@given(st.lists(FRAGMENTS, min_size=5).map("".join), st.integers(1, 7))
def test_a_text_is_cut_alike_in_whatever_pieces_it_comes(text, size):
    splitter, cut = Splitter(10), None
    for start in range(0, len(text), size):
        cut = cut or splitter.add(text[start : start + size])
    assert cut == Splitter(10).add(text)


@pytest.mark.parametrize("space", ["  ", "    ", "\t"])
def test_code_right_below_the_text_of_a_list_item_is_code(space):
    text = f"1. Do this:\n{space}```bash\n{space}pip install x\n{space}```\n2. Done."
    assert "```bash" in safe_markdown(text).split("\n")[1]
    assert "pip install x" in safe_markdown(text).split("\n")[2]
