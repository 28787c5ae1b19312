"""Model text as Markdown that no front end can be attacked with.

JupyterLab does not sanitise the Markdown of a live output, so everything that
runs code or fetches something is taken out here. Two rules hold whatever the
text is and whichever parser reads it: a ``<`` of the text never stands where it
would begin a tag, and a link or an image has a target that was checked. Code
that would break them is written as one line of escaped HTML.

References
----------
.. [1] CommonMark 0.31.2, https://spec.commonmark.org/0.31.2/
.. [2] JupyterLab 4.6, packages/rendermime/src/latex.ts and
   packages/markedparser-extension/src/index.ts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from notebook_agents.jupyter._blocks import Block, read_blocks
from notebook_agents.jupyter._inline import DOLLAR, Scanner
from notebook_agents.jupyter._targets import (
    LINK_TARGET,
    LOCAL_IMAGE,
    code_html,
    label_key,
)

__all__ = ["safe_bundle", "safe_markdown"]

_LINE_ENDS = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_SURROGATES = re.compile(r"[\ud800-\udfff]")
_INFO = re.compile(r"[A-Za-z0-9_+#.\-]{1,40}")
_PARTIAL_FENCE = re.compile(r"[\s>]*(?:`{1,2}|~{1,2})$")
_DEFINITION = re.compile(
    r""" {0,3}\[((?!\^)[^\[\]]+)\]:\s*(?:<([^<>]*)>|((?>[^\s<]*[./:#]\S*)))(?:\s+["'(].*)?\s*$"""
)
_MERMAID_FETCHES = re.compile(
    r"//|https?:|url|img|image|icon|data:|script|click|href|[<&@\\`]|%%|#\w+;|\A\s*---"
    r"|!\[",
    re.IGNORECASE,
)
_UNSAFE_DEFINITION = r"\s*(?:<|\S*[:&\\]|//)"
_UNCALM = re.compile(
    r"<[A-Za-z/!?]|!\[|@@\d|\\begin|\\end|\\\\[()\[\]]"
    rf"|\]:{_UNSAFE_DEFINITION}|(?<!\S)(?>\S*?(?:://|www\.))\S*[$\\]|\]\((?!{LINK_TARGET})"
)
_TAG = r"(?P<tag><)(?=[A-Za-z/!?])(?!/?(?:code|pre|span)>)"
_LINK = rf"(?<=\])(?P<link>\()(?!{LINK_TARGET})"
_REFERENCE = rf"(?<=\])(?P<definition>:)(?={_UNSAFE_DEFINITION})"
_LOCAL = rf"(?P<image>!)(?=\[)(?!\[[^\[\]]*\]\({LOCAL_IMAGE})"
_REMOTE = rf"(?P<image>!)(?=\[)(?!\[[^\[\]]*\]\((?:{LOCAL_IMAGE}|https?://))"
_SEAL = re.compile(f"{_TAG}|{_LINK}|{_REFERENCE}|{_LOCAL}", re.IGNORECASE)
_SEAL_WITH_IMAGES = re.compile(f"{_TAG}|{_LINK}|{_REFERENCE}|{_REMOTE}", re.IGNORECASE)


def safe_markdown(
    text: str, *, remote_images: bool = False, streaming: bool = False
) -> str:
    r"""Make the Markdown that a model wrote harmless.

    Parameters
    ----------
    text : str
        As the model wrote it; may end anywhere.
    remote_images : bool, default False
        Whether images may be fetched from the web. If not, they become links.
    streaming : bool, default False
        Whether more text will follow; the beginning of a fence in the last
        line is then not shown.

    Returns
    -------
    str
        Markdown in which raw HTML is text, links go to ``http``, ``https``,
        ``mailto`` or relative targets only, and ``\(..\)`` and ``\[..\]`` are
        ``$..$`` and ``$$..$$``. An open code fence is closed.

    Examples
    --------
    >>> safe_markdown("<script>alert(1)</script> or `x[0]`")
    '&lt;script>alert(1)&lt;/script> or `x[0]`'
    >>> safe_markdown("[here](javascript:alert(1))")
    'here'
    """
    lines = _clean(text).split("\n")
    if streaming and _PARTIAL_FENCE.match(lines[-1]):
        lines.pop()
    blocks = list(read_blocks(lines))
    references = _references(blocks)
    written: list[str] = []
    for block in blocks:
        if block.kind == "text":
            written += _write_text(block, references, remote_images=remote_images)
        else:
            written += _write_code(block)
    return _seal(_settle_dollars("\n".join(written)), remote_images=remote_images)


def safe_bundle(shown: Mapping[str, Any]) -> dict[str, Any]:
    """Give the MIME bundle of an object, in which any Markdown is made harmless."""
    bundle = {"text/plain": "", **shown}
    markdown = bundle.get("text/markdown")
    if isinstance(markdown, str):
        bundle["text/markdown"] = safe_markdown(markdown)
    return bundle


def _clean(text: str) -> str:
    """Give every line end as a line feed; drop what no text should have."""
    text = _CONTROLS.sub("", _LINE_ENDS.sub("\n", text))
    return _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", text)


def _references(blocks: Iterable[Block]) -> dict[str, str]:
    """Collect the targets that reference links name; the first one counts."""
    targets: dict[str, str] = {}
    for block in blocks:
        for line in block.lines if block.kind == "text" else ():
            found = _DEFINITION.match(line)
            if found:
                targets.setdefault(label_key(found[1]), found[2] or found[3] or "")
    return targets


def _write_text(
    block: Block, references: Mapping[str, str], *, remote_images: bool
) -> list[str]:
    lines = [line for line in block.lines if not _DEFINITION.match(line)]
    if not lines:
        return []
    scanner = Scanner("\n".join(lines), references, remote_images=remote_images)
    return [scanner.run()]


def _write_code(block: Block) -> list[str]:
    """Write code so that it is read as we read it, or could not do harm."""
    if block.kind == "blank":
        return list(block.lines)
    code = "\n".join(block.lines)
    info = _INFO.match(block.info)
    language = info[0] if info else ""
    following = re.sub(r"[^>]", " ", block.prefix)
    if not _is_calm(code, language, nested=block.kind != "fence" or bool(following)):
        return [block.prefix + code_html(code, block=True)]
    if block.kind == "indented":
        return [f"{following}    {line}".rstrip() for line in block.lines]
    longest = max((len(run) for run in re.findall("`+", code)), default=0)
    fence = "`" * max(3, longest + 1)
    return [
        f"{block.prefix}{fence}{language}",
        *(f"{following}{line}".rstrip(" ") for line in block.lines),
        f"{following}{fence}",
    ]


def _is_calm(code: str, language: str, *, nested: bool) -> bool:
    """Tell whether code does no harm even where it is not read as code."""
    if language.lower() == "mermaid" and _MERMAID_FETCHES.search(code):
        return False
    # JupyterLab looks for mathematics in code that is not at the margin.
    return not (_UNCALM.search(code) or (nested and "$" in code))


def _settle_dollars(text: str) -> str:
    """Write the dollar signs that are no mathematics."""
    # MathJax pairs them in the finished page, where an escape is gone already;
    # an element of its own keeps one apart.
    if text.count(DOLLAR) + text.count("$") == 1:
        return text.replace(DOLLAR, "\\$")
    return text.replace(DOLLAR, "<span>&#36;</span>")


def _seal(text: str, *, remote_images: bool) -> str:
    """Make sure of the two rules, whatever was missed before."""
    pattern = _SEAL_WITH_IMAGES if remote_images else _SEAL
    return pattern.sub(lambda found: f"&#{ord(found[0])};", text)
