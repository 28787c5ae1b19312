"""How one paragraph of model text is made harmless, character by character.

`Scanner` copies the paragraph and rewrites whatever could become HTML, a link,
an image or mathematics. It writes code, links and mathematics in forms that
every Markdown parser reads alike; all else that could open one of them becomes
a character reference.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from functools import cached_property

from notebook_agents.jupyter._places import Marks, Places, target_ends
from notebook_agents.jupyter._targets import (
    ESCAPED,
    LOCAL_IMAGE,
    character_references,
    code_html,
    label_key,
    safe_url,
)

__all__ = ["DOLLAR", "Scanner"]

DOLLAR = "\0"
"""Stands for a dollar sign that is no mathematics until the text is complete."""


_SPECIAL = re.compile(
    r"[\\`<$!\[\]@]|~{3,}|ftp://|(?<![A-Za-z0-9])(?:https?://|www\.)", re.IGNORECASE
)
_BARE_URL = re.compile(r"[A-Za-z0-9\-._~/:?#=+,;%&]*")
_FTP = re.compile(r"(ftp):(?=//)", re.IGNORECASE)
_AUTOLINK = re.compile(r"<((?:https?://|mailto:)[^\s<>]*|[\w.+-]+@[\w.-]+\w)>", re.I)
_KEPT_ESCAPES = "*_{}#+-.~|>)"
_TITLE = re.compile(r"""\s+(?:"[^"]*"|'[^']*'|\([^()]*\))(?=\s*\))""")
_BLOCK_START = re.compile(r"\n[ \t]*(?:[-*+>#|=]|\d{1,9}[.)])")
_NEEDS_HTML = re.compile(r"[<$@]|!\[|\]\(|\]:|\\begin|\\\\[()\[\]]|://|www\.")
_OPENS_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_LOOKS_LIKE_MATH = re.compile(r"[\\^_=+<>]|^\s.*\s$", re.DOTALL)
_UNSAFE_TEX = re.compile(
    r"\\(?:href|url|style|class|cssId|data|require|unicode|includegraphics|html\w*)"
    r"(?![A-Za-z])|`|://|www\.|(?<!\\)(?:\\\\)*\\\Z"
)
_INLINE_MATH = re.compile(
    r"\$(?![\s$])((?:[^$\\]|\\.){1,2000}?)(?<!\s)\$(?!\$)", re.DOTALL
)
_SPACE = re.compile(r"[ \t\n]")
_DOLLAR_SIGN = re.compile(r"\$")
_LINE_END = re.compile(r"\n")
_ROW_START = re.compile(r"\s*\|")
_TICKS = re.compile(r"`+")
_ENDS_MATH = re.compile(r"(?<!\\)(?:\\{1,2}[)\]]|\\end\{[A-Za-z]*\*?\})")
_CODE_OR_BRACKET = re.compile(r"\\.|`+|[\[\]]", re.DOTALL)
_URL_START = re.compile(r"://|www\.", re.IGNORECASE)
_LONGEST_LABEL = 999  # characters, as in CommonMark


class Scanner:
    """Makes one paragraph harmless.

    Parameters
    ----------
    text : str
        The paragraph, without blank lines.
    references : mapping of str to str
        Targets of the reference links, by `label_key`.
    remote_images : bool
        Whether images may be fetched from elsewhere.
    is_label : bool
        Whether the text is the label of a link, which holds no other link.
    in_url : bool
        Whether the text begins within a word that is a link of its own.
    """

    def __init__(
        self,
        text: str,
        references: Mapping[str, str],
        *,
        remote_images: bool = False,
        is_label: bool = False,
        in_url: bool = False,
    ) -> None:
        self._text = text
        self._references = references
        self._remote_images = remote_images
        self._in_link = is_label
        self._begins_in_url = in_url
        self._out: list[str] = []
        self._ticks = Marks(_TICKS, text)
        self._brackets = _matching_brackets(text, self._ticks)
        self._block_starts = Places(_BLOCK_START, text)
        self._line_ends = Places(_LINE_END, text)
        self._spaces = Places(_SPACE, text)
        self._dollars = Places(_DOLLAR_SIGN, text)
        self._math_ends = Marks(_ENDS_MATH, text)
        self._urls = [match.end() for match in _URL_START.finditer(text)]

    def run(self) -> str:
        """Give the harmless paragraph."""
        text, at = self._text, 0
        while match := _SPECIAL.search(text, at):
            self._out.append(text[at : match.start()])
            at = self._take(match.start(), match[0])
        self._out.append(text[at:])
        return "".join(self._out)

    def _take(self, at: int, found: str) -> int:
        """Write what begins at a position; give where it ends."""
        if found[0] == "~":
            return self._write("&#126;" * len(found), at + len(found))
        if len(found) > 1:
            return self._take_bare_url(at, found)
        return {
            "\\": self._take_backslash,
            "`": self._take_ticks,
            "<": self._take_less_than,
            "$": self._take_dollar,
            "!": self._take_exclamation,
            "[": self._take_bracket,
            "]": self._take_closing_bracket,
            "@": self._take_at,
        }[found](at)

    def _write(self, piece: str, end: int) -> int:
        self._out.append(piece)
        return end

    def _take_bare_url(self, at: int, found: str) -> int:
        match = _BARE_URL.match(self._text, at)
        end = match.end() if match else at + len(found)
        url = _FTP.sub(r"\1&#58;", self._text[at:end].replace("&", "&amp;"))
        return self._write(url, end)

    def _take_at(self, at: int) -> int:
        if self._text.startswith("@@", at):
            return self._write("@&#64;", at + 2)
        return self._write("@", at + 1)

    def _take_less_than(self, at: int) -> int:
        link = _AUTOLINK.match(self._text, at)
        if link:
            mail = "" if ":" in link[1] else "mailto:"
            url = safe_url(mail + link[1])
            if url is not None:
                return self._write_link(character_references(link[1]), url, link.end())
        harmless = self._text[at + 1 : at + 2] in {" ", "=", "\n", ""}
        return self._write("<" if harmless else "&lt;", at + 1)

    # Code

    def _take_ticks(self, at: int) -> int:
        ticks = _TICKS.match(self._text, at)
        assert ticks is not None  # noqa: S101 - here stands one
        start = ticks.end()
        end = self._ticks.next(ticks[0], start)
        if end is None or self._block_starts.is_within(start, end):
            return self._write("&#96;" * len(ticks[0]), start)
        return self._write_code(self._text[start:end], ticks[0], end + len(ticks[0]))

    def _write_code(self, code: str, ticks: str, end: int) -> int:
        code = code.replace("\n", " ")
        if not _NEEDS_HTML.search(code) and code.strip():
            return self._write(f"{ticks}{code}{ticks}", end)
        if code.startswith(" ") and code.endswith(" ") and code.strip():
            code = code[1:-1]
        line_end = self._line_ends.last(end)
        if _ROW_START.match(self._text, 0 if line_end is None else line_end + 1):
            code = code.replace("\\|", "|")
        return self._write(code_html(code), end)

    # Mathematics

    def _take_backslash(self, at: int) -> int:
        text = self._text
        if self._is_in_url(at):
            return self._write("%5C", at + 1)
        for opening, closing, dollars in (
            ("\\\\(", "\\\\)", "$"),
            ("\\\\[", "\\\\]", "$$"),
            ("\\(", "\\)", "$"),
            ("\\[", "\\]", "$$"),
        ):
            if text.startswith(opening, at):
                end = self._take_bracketed_math(at, opening, closing, dollars)
                if end is not None:
                    return end
        environment = re.compile(r"\\begin\{[A-Za-z]*\*?\}").match(text, at)
        if environment:
            closing = environment[0].replace("begin", "end", 1)
            end = self._math_ends.next(closing, environment.end())
            if end is not None:
                end += len(closing)
                return self._write_math("", text[at:end], end)
        return self._take_escape(at)

    def _take_bracketed_math(
        self, at: int, opening: str, closing: str, dollars: str
    ) -> int | None:
        begin = at + len(opening)
        end = self._math_ends.next(closing, begin)
        if end is None or self._dollars.is_within(begin, end):
            return None
        body = self._text[begin:end]
        if not body.strip():
            return None
        if opening.endswith("[") and not _LOOKS_LIKE_MATH.search(body):
            return None
        return self._write_math(dollars, body.strip(), end + len(closing))

    def _take_escape(self, at: int) -> int:
        following = self._text[at + 1 : at + 2]
        if following == "$":
            return self._write(DOLLAR, at + 2)
        if following and following in _KEPT_ESCAPES:
            return self._write(f"\\{following}", at + 2)
        if ESCAPED.match(self._text, at):
            return self._write(f"&#{ord(following)};", at + 2)
        opens = self._text.startswith("\\begin", at)
        return self._write("&#92;" if opens or not following else "\\", at + 1)

    def _take_dollar(self, at: int) -> int:
        text = self._text
        if self._is_in_url(at):
            return self._write("%24", at + 1)
        if text.startswith("$$", at):
            end = text.find("$$", at + 2)
            if end > at + 2 and "$" not in text[at + 2 : end].replace("\\$", ""):
                return self._write_math("$$", text[at + 2 : end], end + 2)
            return self._write(DOLLAR * 2, at + 2)
        found = _INLINE_MATH.match(text, at)
        if found and (
            "\\" in found[1] or not text[found.end() : found.end() + 1].isalnum()
        ):
            return self._write_math("$", found[1], found.end())
        return self._write(DOLLAR, at + 1)

    def _write_math(self, dollars: str, body: str, end: int) -> int:
        if _UNSAFE_TEX.search(body) or not _is_balanced(body):
            return self._write(code_html(f"{dollars}{body}{dollars}"), end)
        # A space after "<" changes nothing in TeX and can open no HTML tag;
        # likewise for what could be read as a link if mathematics is off.
        body = _OPENS_TAG.sub("< ", body).replace("](", "] (").replace("]:", "] :")
        body = body.replace("![", "! [").replace("@@", "@ @")
        return self._write(f"{dollars}{body}{dollars}", end)

    def _is_in_url(self, at: int) -> bool:
        # JupyterLab would put the mathematics, unescaped, into the attribute.
        index = bisect_right(self._urls, at)
        if index:
            return not self._spaces.is_within(self._urls[index - 1], at)
        return self._begins_in_url and not self._spaces.is_within(0, at)

    # Links and images

    def _take_closing_bracket(self, at: int) -> int:
        following = self._text[at + 1 : at + 2]
        if following in {"(", ":"}:
            return self._write(f"]&#{ord(following)};", at + 2)
        return self._write("]", at + 1)

    def _take_exclamation(self, at: int) -> int:
        following = self._text[at + 1 : at + 2]
        if following not in {"[", "<", "!"}:
            return self._write("!", at + 1)
        found = self._find_link(at + 1)
        if found is None:
            return self._write("&#33;", at + 1)
        alt, target, end = found
        alt = character_references(alt)
        url = safe_url(target)
        if url is not None and not self._in_link and self._may_show(url):
            return self._write(f"![{alt}]({url})", end)
        return self._write_link(alt, url, end)

    def _may_show(self, url: str) -> bool:
        if self._remote_images and re.match(r"https?://", url):
            return True
        return re.fullmatch(LOCAL_IMAGE, f"{url})", re.IGNORECASE) is not None

    def _take_bracket(self, at: int) -> int:
        found = None if self._in_link else self._find_link(at)
        if found is None:
            return self._write("[", at + 1)
        label, target, end = found
        inner = Scanner(
            label,
            self._references,
            remote_images=self._remote_images,
            is_label=True,
            in_url=self._is_in_url(at),
        )
        return self._write_link(inner.run(), safe_url(target), end)

    def _find_link(self, at: int) -> tuple[str, str, int] | None:
        """Read a link; give its label, its target and where it ends."""
        close = self._brackets.get(at)
        if close is None:
            return None
        inline = self._read_target(close + 1)
        if inline is not None:
            return self._text[at + 1 : close], *inline
        key, end = (at + 1, close), close + 1
        second = self._brackets.get(close + 1)
        if second is not None:
            key = (close + 2, second) if second > close + 2 else key
            end = second + 1
        if key[1] - key[0] > _LONGEST_LABEL:
            return None
        target = self._references.get(label_key(self._text[slice(*key)]))
        return None if target is None else (self._text[at + 1 : close], target, end)

    @cached_property
    def _target_ends(self) -> dict[int, int]:
        return target_ends(self._text)

    def _read_target(self, at: int) -> tuple[str, int] | None:
        """Read ``(target "title")``; give the target and where it ends."""
        text = self._text
        match = re.compile(r"\(\s*(?:<([^<>\n]*)>)?").match(text, at)
        if match is None:
            return None
        end = match.end()
        target = match[1]
        if target is None:
            end = self._target_ends[match.end()]
            target = text[match.end() : end]
        title = _TITLE.match(text, end)
        closing = re.compile(r"\s*\)").match(text, title.end() if title else end)
        return None if closing is None else (target, closing.end())

    def _write_link(self, label: str, url: str | None, end: int) -> int:
        if url is None or self._in_link:
            return self._write(label, end)
        label = label if label.strip() else character_references(url)
        return self._write(f"[{label}]({url})", end)


def _matching_brackets(text: str, ticks: Marks) -> dict[int, int]:
    """Give, for each ``[`` outside code, the position of its ``]``."""
    pairs: dict[int, int] = {}
    opened: list[int] = []
    at = 0
    while found := _CODE_OR_BRACKET.search(text, at):
        at = found.end()
        if found[0][0] == "`":
            end = ticks.next(found[0], at)
            at = at if end is None else end + len(found[0])
        elif found[0] == "[":
            opened.append(found.start())
        elif found[0] == "]" and opened:
            pairs[opened.pop()] = found.start()
    return pairs


def _is_balanced(body: str) -> bool:
    depth = 0
    for match in re.finditer(r"\\.|[{}]", body, re.DOTALL):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth < 0:
            return False
    return depth == 0
