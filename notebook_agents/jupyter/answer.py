"""Reading an answer as a value: JSON, a table, code or a formula.

A model that is asked for JSON alone still likes to put it into a code fence and
a sentence before it, so each reader takes what it looks for from there too.
Every one raises `ValueError` with a few words that say what is missing.
"""

from __future__ import annotations

import ast
import csv
import io
import json
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from notebook_agents._optional import require
from notebook_agents.jupyter._blocks import read_blocks

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["code_in", "formula_in", "frame_in", "json_in"]

_PYTHON = {"", "ipython", "ipython3", "py", "python", "python3"}
_LATEX = {"latex", "math", "tex"}
_SEPARATORS = "\t;,"
"""Which counts where several fit: a comma stands in texts and in numbers as well."""
_LEAST_LINES = 2  # of a table: a head, and something below it
_BARS = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*")
_DELIMITED = re.compile(
    r"\$\$(?P<a>.+)\$\$|\\\[(?P<b>.+)\\\]|\\\((?P<c>.+)\\\)|\$(?P<d>[^$]+)\$", re.DOTALL
)
_MATHEMATICS = re.compile(r"\$|\\\[|\\\(")
_NO_PROSE = re.compile(r"\\(?:text|mathrm|operatorname|mbox)\s*\{[^{}]*\}|\\[A-Za-z]+")
_PROSE = re.compile(r"(?:\b[A-Za-z]{2,}\b[\s,]+){2}[A-Za-z]{2,}")


def json_in(text: str) -> Any:
    r"""Read the JSON value of an answer.

    Parameters
    ----------
    text : str
        JSON alone, or with a fence around it.

    Returns
    -------
    object
        The value.

    Raises
    ------
    ValueError
        If there is none.

    Examples
    --------
    >>> json_in('Here it is:\n```json\n{"a": 1}\n```')
    {'a': 1}
    """
    problem = ""
    for candidate in (text, *_fenced(text, {"json"}), *_fenced(text, {""})):
        try:
            return json.loads(candidate)
        except RecursionError:
            problem = problem or "it is nested too deeply"
        except ValueError as error:
            problem = problem or str(error)
    raise ValueError(problem)


def frame_in(text: str) -> pd.DataFrame:
    """Read the table of an answer.

    Parameters
    ----------
    text : str
        A Markdown table, JSON records or columns, or CSV with a header line.

    Returns
    -------
    pandas.DataFrame
        The first table there is.

    Raises
    ------
    ValueError
        If there is none.
    MissingExtraError
        If pandas is not installed.
    """
    pandas = require("pandas", extra="notebook")
    frame: pd.DataFrame
    try:
        value = json_in(text)
    except ValueError:
        frame = _frame_of_rows(pandas, _markdown_rows(text) or _csv_rows(text))
    else:
        frame = _frame_of_json(pandas, value)
    return frame


def code_in(text: str) -> str:
    """Read the Python code of an answer: that of its fences, else all of it.

    Parameters
    ----------
    text : str
        The answer.

    Returns
    -------
    str
        The code of one cell.

    Raises
    ------
    ValueError
        If there is none.
    """
    pieces = [code.strip("\n") for code in _fenced(text, _PYTHON) if code.strip()]
    if pieces:
        return "\n\n".join(pieces)
    if _is_program(text.strip()):
        return text.strip()
    message = "there is no Python code in it"
    raise ValueError(message)


def formula_in(text: str) -> str | None:
    """Read the formula of an answer.

    Parameters
    ----------
    text : str
        LaTeX, with or without delimiters or a fence around it.

    Returns
    -------
    str or None
        LaTeX without delimiters; None for a text with formulas of its own,
        which is Markdown already.

    Raises
    ------
    ValueError
        If there is no formula.
    """
    formula = next(_fenced(text, _LATEX), text).strip()
    whole = _DELIMITED.fullmatch(formula)
    inner = next(filter(None, whole.groups()), "").strip() if whole else formula
    if _MATHEMATICS.search(inner):
        return None
    if not inner or _PROSE.search(_NO_PROSE.sub("", inner)):
        message = "there is no formula in it"
        raise ValueError(message)
    return inner


def _fenced(text: str, languages: set[str]) -> Iterator[str]:
    """Give the code of the fences in some languages."""
    for block in read_blocks(text.replace("\r\n", "\n").split("\n")):
        language = block.info.split(maxsplit=1)[0].lower() if block.info else ""
        if block.kind == "fence" and language.strip("{}.") in languages:
            yield "\n".join(block.lines)


def _frame_of_json(pandas: Any, value: Any) -> Any:
    """Make a table of a JSON value that holds one."""
    if isinstance(value, dict) and len(value) == 1:
        (only,) = value.values()
        value = only if _is_records(only) else value
    if _is_records(value):
        return pandas.DataFrame.from_records(value)
    if isinstance(value, dict) and value:
        is_columns = all(isinstance(each, list | dict) for each in value.values())
        try:
            return pandas.DataFrame(value if is_columns else [value])
        except ValueError as error:
            message = f"its columns do not make a table ({error})"
            raise ValueError(message) from error
    message = "its JSON is no list of records"
    raise ValueError(message)


def _is_records(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, dict) for each in value)


def _frame_of_rows(pandas: Any, rows: Sequence[Sequence[str]]) -> Any:
    """Make a table of text; pandas finds out what is a number and what is missing."""
    if not rows:
        message = "there is no JSON, no CSV and no Markdown table in it"
        raise ValueError(message)
    written = io.StringIO()
    csv.writer(written).writerows(rows)
    written.seek(0)
    return pandas.read_csv(written, skip_blank_lines=False)


def _markdown_rows(text: str) -> list[list[str]]:
    """Find the first table of a Markdown text; none are no rows."""
    lines = [line.strip() for line in text.splitlines()]
    for at in range(1, len(lines)):
        is_rule = _RULE.fullmatch(lines[at]) and "|" in lines[at - 1]
        if not is_rule or len(_cells(lines[at])) != len(_cells(lines[at - 1])):
            continue
        rows = [_cells(lines[at - 1])]
        for line in lines[at + 1 :]:
            if "|" not in line:
                break
            rows.append((_cells(line) + [""] * len(rows[0]))[: len(rows[0])])
        return rows
    return []


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|")
    if inner.endswith("|") and not inner.endswith(r"\|"):
        inner = inner[:-1]
    return [cell.replace(r"\|", "|").strip() for cell in _BARS.split(inner)]


def _csv_rows(text: str) -> list[list[str]]:
    """Find a table in CSV; a text whose lines are not alike is none."""
    found = next(filter(_is_table, _csv_candidates(text)), [])
    return [[cell.strip() for cell in row] for row in found]


def _csv_candidates(text: str) -> Iterator[list[list[str]]]:
    for fence in _fenced(text, {"csv", "tsv"}):
        tables = [_split(fence, separator) for separator in _SEPARATORS]
        yield from (rows for rows in tables if rows and len(rows[0]) > 1)
        if all(len(rows[0]) == 1 for rows in tables if rows):
            yield from tables  # no separator stands in the head, so it is one column
    for part in (*_fenced(text, {"", "text"}), text):
        tables = [_split(part, separator) for separator in _SEPARATORS]
        # What has one column, or none, counts as prose here.
        yield from (rows for rows in tables if not _is_prose(rows))


def _split(text: str, separator: str) -> list[list[str]]:
    """Read the lines of CSV, as they are."""
    try:
        lines = csv.reader(io.StringIO(text.strip()), delimiter=separator)
        return [row for row in lines if row]
    except csv.Error:
        return []


def _is_table(rows: Sequence[Sequence[str]]) -> bool:
    return len(rows) >= _LEAST_LINES and len({len(row) for row in rows}) == 1


def _is_prose(rows: Sequence[Sequence[str]]) -> bool:
    """Tell whether lines are sentences with as many commas by chance."""
    later = [cell for row in rows for cell in row[1:]]
    has_number = any(re.search(r"\d", cell) for cell in later)
    return not has_number and all(cell.startswith(" ") for cell in later)


def _is_program(text: str) -> bool:
    """Tell whether a text is Python that does something, and no word or number."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(
        not isinstance(node, ast.Expr)
        or not isinstance(node.value, ast.Name | ast.Constant | ast.Tuple)
        for node in body
    )
